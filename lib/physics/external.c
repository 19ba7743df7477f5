#include "physics/external.h"

#include "geometry/mat3.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double STICK_SPEED = 5e-3; /* m/s: below it friction holds */

/* ---- reading ---- */

static su_status bad(su_error *err, const char *what) { return su_fail(err, SU_INPUT, "forces: %s", what); }

static bool numbers(const json_t *list, int count, double *out)
{
    if (!json_is_array(list) || (int)json_array_size(list) != count) return false;
    for (int i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, (size_t)i);
        if (!json_is_number(item) || !isfinite(json_number_value(item))) return false;
        out[i] = json_number_value(item);
    }
    return true;
}

/* A number >= low under `key`, or `usual` where there is none; NAN where it is neither. */
static double number(const json_t *object, const char *key, double usual, double low)
{
    const json_t *item = json_object_get(object, key);
    if (!item) return usual;
    double value = json_is_number(item) ? json_number_value(item) : NAN;
    return isfinite(value) && value >= low ? value : NAN;
}

static su_status known_keys(const json_t *object, const char *const *names, su_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        int i = 0;
        while (names[i] && strcmp(names[i], key)) i++;
        if (!names[i]) return su_fail(err, SU_INPUT, "forces: '%s' is not known here", key);
    }
    return SU_OK;
}

static su_status parse_motion(const json_t *list, su_external *e, su_collider *c, su_error *err)
{
    if (!list) return SU_OK;
    if (!json_is_array(list) || json_array_size(list) == 0) return bad(err, "'motion' is a list of [time, x, y, z]");
    int64_t keys = (int64_t)json_array_size(list);
    c->key_time = su_arena_alloc(&e->arena, keys, sizeof(double));
    c->key_offset = su_arena_alloc(&e->arena, 3 * keys, sizeof(double));
    if (!c->key_time || !c->key_offset) return su_fail(err, SU_AGAIN, "not enough memory for the colliders");
    for (int64_t k = 0; k < keys; k++) {
        double row[4];
        if (!numbers(json_array_get(list, (size_t)k), 4, row)) return bad(err, "'motion' is a list of [time, x, y, z]");
        if (k > 0 && !(row[0] > c->key_time[k - 1])) return bad(err, "the times of a 'motion' must rise");
        c->key_time[k] = row[0];
        memcpy(c->key_offset + 3 * k, row + 1, 3 * sizeof(double));
    }
    c->keys = keys;
    return SU_OK;
}

static const char *text(const json_t *object, const char *key, su_external *e)
{
    const char *found = json_string_value(json_object_get(object, key));
    char *copy = found ? su_arena_alloc(&e->arena, (int64_t)strlen(found) + 1, 1) : NULL;
    return copy ? strcpy(copy, found) : NULL;
}

static su_status parse_mesh(const json_t *from, su_external *e, su_collider *c, su_error *err)
{
    su_mesh_source *source = &c->source;
    c->shape = SU_MESH;
    source->file = text(from, "file", e), source->neutral = text(from, "neutral", e);
    source->rate = number(from, "rate", 24, 1e-6), source->start = number(from, "start", 0, -1e9);
    source->scale = number(from, "scale", 1, 1e-9);
    double thickness = number(from, "thickness", 1e300, 0);
    if (e->arena.failed) return su_fail(err, SU_AGAIN, "not enough memory for the colliders");
    if (!source->file || isnan(source->rate + source->start + source->scale + thickness))
        return bad(
            err,
            "a mesh has a 'file', and may have a 'neutral' file and numbers 'rate', 'start', 'scale', 'thickness'");
    c->mesh = su_arena_alloc(&e->arena, 1, sizeof *c->mesh);
    if (!c->mesh) return su_fail(err, SU_AGAIN, "not enough memory for the colliders");
    c->mesh->thickness = thickness < 1e300 ? thickness : INFINITY;
    return SU_OK;
}

static su_status parse_collider(const json_t *from, su_external *e, su_collider *c, su_error *err)
{
    static const char *const keys[] = {"shape",  "point",    "normal",    "centre", "from",    "to",
                                       "radius", "friction", "motion",    "file",   "neutral", "rate",
                                       "start",  "scale",    "thickness", NULL};
    if (!json_is_object(from)) return bad(err, "a collider is an object");
    SU_TRY(known_keys(from, keys, err));
    const char *shape = json_string_value(json_object_get(from, "shape"));
    c->radius = number(from, "radius", 0, 0);
    c->friction = number(from, "friction", 0.5, 0);
    if (!(c->radius >= 0) || !(c->friction >= 0)) return bad(err, "'radius' and 'friction' are numbers >= 0");
    if (shape && strcmp(shape, "plane") == 0) {
        c->shape = SU_PLANE;
        if (!numbers(json_object_get(from, "point"), 3, c->a) || !numbers(json_object_get(from, "normal"), 3, c->b) ||
            !(su_dot3(c->b, c->b) > 0))
            return bad(err, "a plane has a 'point' and a 'normal'");
        double size = sqrt(su_dot3(c->b, c->b));
        for (int i = 0; i < 3; i++) c->b[i] /= size;
    } else if (shape && strcmp(shape, "sphere") == 0) {
        c->shape = SU_SPHERE;
        if (!numbers(json_object_get(from, "centre"), 3, c->a) || !(c->radius > 0))
            return bad(err, "a sphere has a 'centre' and a 'radius'");
    } else if (shape && strcmp(shape, "capsule") == 0) {
        c->shape = SU_CAPSULE;
        if (!numbers(json_object_get(from, "from"), 3, c->a) || !numbers(json_object_get(from, "to"), 3, c->b) ||
            !(c->radius > 0))
            return bad(err, "a capsule has 'from', 'to' and a 'radius'");
    } else if (shape && strcmp(shape, "mesh") == 0) {
        SU_TRY(parse_mesh(from, e, c, err));
    } else {
        return bad(err, "a collider's 'shape' is plane, sphere, capsule or mesh");
    }
    return parse_motion(json_object_get(from, "motion"), e, c, err);
}

static su_status parse_wind(const json_t *from, su_external *e, su_error *err)
{
    static const char *const keys[] = {"velocity", "gust", "rate", "drag", NULL};
    if (!from) return SU_OK;
    if (!json_is_object(from)) return bad(err, "'wind' is an object");
    SU_TRY(known_keys(from, keys, err));
    e->gust = number(from, "gust", 0, 0), e->gust_rate = number(from, "rate", 1, 0),
    e->drag = number(from, "drag", 1.2, 0);
    if (!numbers(json_object_get(from, "velocity"), 3, e->wind) || !isfinite(e->gust + e->gust_rate + e->drag))
        return bad(err, "'wind' has a 'velocity' [x, y, z], and numbers >= 0 'gust', 'rate', 'drag'");
    return SU_OK;
}

/* ---- points ---- */

static void skin_areas(int64_t nbar, const double *x, int64_t T, const int32_t *triangles, double *area)
{
    memset(area, 0, (size_t)nbar * sizeof *area);
    for (int64_t t = 0; t < T; t++) {
        double a[3], b[3], n[3];
        const int32_t *v = triangles + 3 * t;
        su_sub3(x + 3 * (int64_t)v[1], x + 3 * (int64_t)v[0], a);
        su_sub3(x + 3 * (int64_t)v[2], x + 3 * (int64_t)v[0], b);
        su_cross3(a, b, n);
        for (int c = 0; c < 3; c++) area[v[c]] += sqrt(su_dot3(n, n)) / 6;
    }
}

/* Farthest points of the neutral skin, from vertex 0; each takes the area of the vertices nearest to it. */
static su_status spread_points(int64_t wanted, int64_t nbar, const double *x, const double *area, su_external *e,
                               su_error *err)
{
    double *far = NULL;
    int32_t *owner = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&far, nbar, "contact points", err));
    SU_GO(SU_ALLOC(&owner, nbar, "contact points", err));
    for (int64_t v = 0; v < nbar; v++) far[v] = INFINITY;
    for (int64_t next = 0; e->points < wanted;) {
        e->vertex[e->points] = (int32_t)next;
        int64_t best = 0;
        for (int64_t v = 0; v < nbar; v++) {
            double d = su_distance3(x + 3 * v, x + 3 * next);
            if (d < far[v]) far[v] = d, owner[v] = (int32_t)e->points;
            if (far[v] > far[best]) best = v;
        }
        e->points++;
        if (!(far[best] > 0)) break;
        next = best;
    }
    for (int64_t v = 0; v < nbar; v++) e->area[owner[v]] += area[v];
    status = SU_OK;
done:
    free(far), free(owner);
    return status;
}

static su_status choose_points(const json_t *points, int64_t forces, int64_t nbar, const double *x, int64_t T,
                               const int32_t *triangles, su_external *e, su_error *err)
{
    double *area = NULL;
    su_status status;
    int64_t listed = json_is_array(points) ? (int64_t)json_array_size(points) : 0;
    int64_t wanted = json_is_integer(points) ? json_integer_value(points) : points ? listed : 300;
    if ((points && !json_is_array(points) && !json_is_integer(points)) || wanted < 0)
        return bad(err, "'points' is a number of points or a list of skin vertices");
    if (e->colliders == 0 && e->drag == 0) wanted = 0;
    if (wanted > nbar) wanted = nbar;
    e->vertex = su_arena_alloc(&e->arena, wanted + forces, sizeof *e->vertex);
    e->area = su_arena_alloc(&e->arena, wanted + forces, sizeof *e->area);
    if (!e->vertex || !e->area) return su_fail(err, SU_AGAIN, "not enough memory for the contact points");
    SU_GO(SU_ALLOC(&area, nbar, "areas", err));
    skin_areas(nbar, x, T, triangles, area);
    if (listed > 0 && wanted > 0) {
        for (int64_t k = 0; k < wanted; k++) {
            const json_t *item = json_array_get(points, (size_t)k);
            int64_t v = json_is_integer(item) ? json_integer_value(item) : -1;
            if (v < 0 || v >= nbar) {
                status = su_fail(err, SU_INPUT, "forces: 'points' names skin vertex %lld of %lld", (long long)v,
                                 (long long)nbar);
                goto done;
            }
            e->vertex[e->points] = (int32_t)v, e->area[e->points++] = area[v];
        }
    } else if (wanted > 0) {
        SU_GO(spread_points(wanted, nbar, x, area, e, err));
    }
    status = SU_OK;
done:
    free(area);
    return status;
}

su_status su_external_spread(int64_t count, int64_t nbar, const double *neutral, int64_t T, const int32_t *triangles,
                             su_external *e, su_error *err)
{
    double *area = NULL;
    su_status status;
    memset(e, 0, sizeof *e);
    if (count > nbar) count = nbar;
    e->vertex = su_arena_alloc(&e->arena, count, sizeof *e->vertex);
    e->area = su_arena_alloc(&e->arena, count, sizeof *e->area);
    SU_GO(e->vertex && e->area ? SU_OK : su_fail(err, SU_AGAIN, "not enough memory for the contact points"));
    SU_GO(SU_ALLOC(&area, nbar, "areas", err));
    skin_areas(nbar, neutral, T, triangles, area);
    SU_GO(spread_points(count, nbar, neutral, area, e, err));
done:
    if (status != SU_OK) su_external_free(e);
    free(area);
    return status;
}

static su_status parse_force(const json_t *from, int64_t nbar, su_external *e, su_point_force *out, su_error *err)
{
    static const char *const keys[] = {"vertex", "force", "from", "to", NULL};
    if (!json_is_object(from)) return bad(err, "a point force is an object");
    SU_TRY(known_keys(from, keys, err));
    const json_t *vertex = json_object_get(from, "vertex");
    int64_t v = json_is_integer(vertex) ? json_integer_value(vertex) : -1, k = 0;
    if (v < 0 || v >= nbar)
        return su_fail(err, SU_INPUT, "forces: a point force names skin vertex %lld of %lld", (long long)v,
                       (long long)nbar);
    out->from = number(from, "from", -1e300, -1e300), out->to = number(from, "to", 1e300, -1e300);
    if (!numbers(json_object_get(from, "force"), 3, out->force) || isnan(out->from) || isnan(out->to))
        return bad(err, "a point force has a 'vertex', a 'force' [x, y, z], and times 'from' and 'to'");
    while (k < e->points && e->vertex[k] != v) k++;
    if (k == e->points) e->vertex[e->points] = (int32_t)v, e->area[e->points++] = 0;
    out->point = k;
    return SU_OK;
}

su_status su_external_parse(const json_t *root, int64_t nbar, const double *neutral, int64_t T,
                            const int32_t *triangles, su_external *e, su_error *err)
{
    static const char *const keys[] = {"colliders", "wind", "forces", "points", "stiffness", NULL};
    memset(e, 0, sizeof *e);
    su_status status;
    const json_t *colliders = json_object_get(root, "colliders"), *forces = json_object_get(root, "forces");
    if (!json_is_object(root)) return bad(err, "not an object");
    SU_GO(known_keys(root, keys, err));
    if ((colliders && !json_is_array(colliders)) || (forces && !json_is_array(forces))) {
        status = bad(err, "'colliders' and 'forces' are lists");
        goto done;
    }
    e->stiffness = number(root, "stiffness", 2e6, 0);
    if (isnan(e->stiffness)) {
        status = bad(err, "'stiffness' is a number >= 0");
        goto done;
    }
    int64_t count = (int64_t)json_array_size(forces);
    e->colliders = (int64_t)json_array_size(colliders);
    e->collider = su_arena_alloc(&e->arena, e->colliders, sizeof *e->collider);
    e->force = su_arena_alloc(&e->arena, count, sizeof *e->force);
    if (!e->collider || !e->force) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the colliders");
        goto done;
    }
    for (int64_t k = 0; k < e->colliders; k++)
        SU_GO(parse_collider(json_array_get(colliders, (size_t)k), e, e->collider + k, err));
    SU_GO(parse_wind(json_object_get(root, "wind"), e, err));
    SU_GO(choose_points(json_object_get(root, "points"), count, nbar, neutral, T, triangles, e, err));
    for (; e->forces < count; e->forces++)
        SU_GO(parse_force(json_array_get(forces, (size_t)e->forces), nbar, e, e->force + e->forces, err));
    status = SU_OK;
done:
    if (status != SU_OK) su_external_free(e);
    return status;
}

static void share_areas(su_external *e, const double *neutral, const double *x, int64_t T, const int32_t *triangles)
{
    memset(e->area, 0, (size_t)e->points * sizeof *e->area);
    for (int64_t t = 0; t < T; t++) {
        double a[3], b[3], n[3], centre[3], best = INFINITY;
        const double *corner[3];
        int64_t nearest = 0;
        for (int i = 0; i < 3; i++) corner[i] = x + 3 * (int64_t)triangles[3 * t + i];
        su_sub3(corner[1], corner[0], a), su_sub3(corner[2], corner[0], b), su_cross3(a, b, n);
        for (int c = 0; c < 3; c++) centre[c] = (corner[0][c] + corner[1][c] + corner[2][c]) / 3;
        for (int64_t k = 0; k < e->points; k++) {
            double d = su_distance3(neutral + 3 * (int64_t)e->vertex[k], centre);
            if (d < best) best = d, nearest = k;
        }
        e->area[nearest] += 0.5 * sqrt(su_dot3(n, n));
    }
}

su_status su_external_create(int64_t count, const int32_t *list, int64_t nbar, const double *neutral, const double *x,
                             int64_t T, const int32_t *triangles, int64_t colliders, su_external *e, su_error *err)
{
    double *none = NULL;
    su_status status;
    memset(e, 0, sizeof *e);
    e->stiffness = 2e6, e->gust_rate = 1;
    if (!list && count > nbar) count = nbar;
    e->vertex = su_arena_alloc(&e->arena, count, sizeof *e->vertex);
    e->area = su_arena_alloc(&e->arena, count, sizeof *e->area);
    e->force = su_arena_alloc(&e->arena, count, sizeof *e->force);
    e->collider = su_arena_alloc(&e->arena, colliders, sizeof *e->collider);
    double *keys = su_arena_alloc(&e->arena, 8 * colliders, sizeof *keys);
    if (!e->vertex || !e->area || !e->force || !e->collider || !keys) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the contact points");
        goto done;
    }
    for (int64_t c = 0; c < colliders; c++)
        e->collider[c] = (su_collider){.keys = 2, .key_time = keys + 8 * c, .key_offset = keys + 8 * c + 2};
    for (int64_t k = 0; list && k < count; k++) {
        if (list[k] < 0 || list[k] >= nbar) {
            status =
                su_fail(err, SU_USAGE, "there is no skin vertex %d, the skin has %lld", (int)list[k], (long long)nbar);
            goto done;
        }
        e->vertex[e->points++] = list[k];
    }
    if (!list) {
        SU_GO(SU_ALLOC(&none, nbar, "areas", err));
        SU_GO(spread_points(count, nbar, neutral, none, e, err));
    }
    share_areas(e, neutral, x, T, triangles);
    status = SU_OK;
done:
    free(none);
    if (status != SU_OK) su_external_free(e);
    return status;
}

void su_external_free(su_external *e)
{
    su_arena_free(&e->arena);
    memset(e, 0, sizeof *e);
}

/* ---- colliders ---- */

static void offset_at(const su_collider *c, double t, double out[3])
{
    memset(out, 0, 3 * sizeof *out);
    if (c->keys == 0) return;
    int64_t k = 0;
    while (k < c->keys && c->key_time[k] <= t) k++;
    const double *right = c->key_offset + 3 * (k < c->keys ? k : c->keys - 1),
                 *left = c->key_offset + 3 * (k > 0 ? k - 1 : 0);
    double share = k > 0 && k < c->keys ? (t - c->key_time[k - 1]) / (c->key_time[k] - c->key_time[k - 1]) : 0;
    for (int i = 0; i < 3; i++) out[i] = left[i] + share * (right[i] - left[i]);
}

/* What a contact is with: a point of a mesh. */
typedef struct touch {
    int32_t triangle;
    double bary[3];
} touch;

static double depth_below(const su_loads *loads, int64_t index, const double y[3], double margin, double n[3],
                          touch *at)
{
    const su_collider *c = loads->external->collider + index;
    double offset[3], d[3];
    offset_at(c, loads->t, offset);
    for (int i = 0; i < 3; i++) d[i] = y[i] - offset[i] - c->a[i];
    if (c->shape == SU_MESH)
        return su_collider_mesh_depth(loads->states + index, loads->t, d, margin, n, &at->triangle, at->bary);
    if (c->shape == SU_PLANE) {
        memcpy(n, c->b, 3 * sizeof *n);
        return -su_dot3(d, n);
    }
    if (c->shape == SU_CAPSULE) {
        double axis[3];
        su_sub3(c->b, c->a, axis);
        double size = su_dot3(axis, axis), along = size > 0 ? fmin(fmax(su_dot3(d, axis) / size, 0), 1) : 0;
        for (int i = 0; i < 3; i++) d[i] -= along * axis[i];
    }
    double distance = sqrt(su_dot3(d, d));
    for (int i = 0; i < 3; i++) n[i] = distance > 0 ? d[i] / distance : i == 1;
    return c->radius - distance;
}

double su_loads_depth(const su_loads *loads, int64_t c, const double y[3], double margin, double normal[3])
{
    touch at;
    return depth_below(loads, c, y, margin, normal, &at);
}

/* How far the collider's material at a touched point has moved during the step. */
static void moved(const su_loads *loads, int64_t index, const touch *at, double out[3])
{
    const su_collider *c = loads->external->collider + index;
    double before[3], after[3];
    offset_at(c, loads->t - loads->h, before);
    offset_at(c, loads->t, after);
    su_sub3(after, before, out);
    if (c->shape != SU_MESH) return;
    su_collider_mesh_point(c->mesh, loads->t - loads->h, at->triangle, at->bary, before);
    su_collider_mesh_point(c->mesh, loads->t, at->triangle, at->bary, after);
    for (int i = 0; i < 3; i++) out[i] += after[i] - before[i];
}

/* ---- during a step ---- */

su_status su_loads_create(const su_external *external, const int32_t *embed_tet, const double *embed_bary,
                          const int32_t *tets, su_loads *loads, su_error *err)
{
    int64_t count = external->points;
    *loads = (su_loads){.external = external};
    int32_t *corner = su_arena_alloc(&loads->arena, 4 * count, sizeof *corner);
    double *bary = su_arena_alloc(&loads->arena, 4 * count, sizeof *bary);
    loads->skin = su_arena_alloc(&loads->arena, 3 * count + 8, sizeof(double));
    loads->now = su_arena_alloc(&loads->arena, 3 * count, sizeof(double));
    loads->steady = su_arena_alloc(&loads->arena, 3 * count, sizeof(double));
    loads->contact = su_arena_alloc(&loads->arena, 8 * count, sizeof(double));
    loads->state_count = external->colliders;
    loads->states = su_arena_alloc(&loads->arena, external->colliders, sizeof *loads->states);
    su_status status = SU_OK;
    if (!corner || !bary || !loads->skin || !loads->now || !loads->steady || !loads->contact || !loads->states)
        status = su_fail(err, SU_AGAIN, "not enough memory for the contact points");
    for (int64_t c = 0; c < external->colliders && status == SU_OK; c++) {
        const su_collider_mesh *mesh = external->collider[c].mesh;
        if (!mesh) continue;
        status = mesh->boxes ? su_collider_state_create(mesh, loads->states + c, err)
                             : su_fail(err, SU_INPUT, "the mesh '%s' was not read", external->collider[c].source.file);
    }
    if (status != SU_OK) {
        su_loads_free(loads);
        return status;
    }
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < 4; i++) {
            int64_t v = external->vertex[k];
            corner[4 * k + i] = tets[4 * (int64_t)embed_tet[v] + i];
            bary[4 * k + i] = embed_bary[4 * v + i];
        }
    loads->corner = corner, loads->bary = bary;
    return SU_OK;
}

void su_loads_free(su_loads *loads)
{
    for (int64_t c = 0; loads->states && c < loads->state_count; c++) su_collider_state_free(loads->states + c);
    su_arena_free(&loads->arena);
    memset(loads, 0, sizeof *loads);
}

void su_loads_place(const su_loads *loads, int64_t k, const double a[3], double y[3])
{
    double x[3];
    for (int i = 0; i < 3; i++) x[i] = loads->skin[3 * k + i] + a[i];
    su_mulv3(loads->Q, x, y);
    for (int i = 0; i < 3; i++) y[i] += loads->c[i];
}

void su_loads_prepare(su_loads *loads, int64_t k, const double y[3])
{
    const su_external *e = loads->external;
    double *steady = loads->steady + 3 * k, *contact = loads->contact + 8 * k;
    double gust = 1 + e->gust * sin(2 * M_PI * e->gust_rate * loads->t), deepest = 0;
    memset(contact, 0, 8 * sizeof *contact);
    for (int i = 0; i < 3; i++) {
        double velocity = loads->h > 0 ? (y[i] - loads->now[3 * k + i]) / loads->h : 0;
        steady[i] = e->drag * e->area[k] * (gust * e->wind[i] - velocity);
    }
    for (int64_t f = 0; f < e->forces; f++)
        if (e->force[f].point == k && loads->t >= e->force[f].from && loads->t <= e->force[f].to)
            for (int i = 0; i < 3; i++) steady[i] += e->force[f].force[i];
    if (!(loads->h > 0)) return;
    for (int64_t c = 0; c < e->colliders; c++) {
        const su_collider *collider = e->collider + c;
        touch at;
        double n[3], along[3], depth = depth_below(loads, c, y, 0, n, &at);
        if (!(depth > deepest)) continue;
        deepest = depth;
        moved(loads, c, &at, along);
        for (int i = 0; i < 3; i++) contact[i] = n[i], contact[4 + i] = loads->now[3 * k + i] + along[i];
        contact[3] = collider->friction * e->stiffness * e->area[k] * depth;
    }
}

double su_loads_evaluate(const su_loads *loads, int64_t k, const double y[3], double force[3], double *H)
{
    const su_external *e = loads->external;
    const double *steady = loads->steady + 3 * k, *contact = loads->contact + 8 * k;
    double world[3], hessian[9] = {0}, energy = -su_dot3(steady, y), stiff = e->stiffness * e->area[k];
    memcpy(world, steady, sizeof world);
    for (int64_t c = 0; c < e->colliders && stiff > 0; c++) {
        touch at;
        double n[3], depth = depth_below(loads, c, y, 0, n, &at);
        if (!(depth > 0)) continue;
        energy += 0.5 * stiff * depth * depth;
        for (int i = 0; i < 3; i++) {
            world[i] += stiff * depth * n[i];
            for (int j = 0; j < 3; j++) hessian[3 * i + j] += stiff * n[i] * n[j];
        }
    }
    if (contact[3] > 0) {
        double slip[3], hold = STICK_SPEED * loads->h, along = 0;
        for (int i = 0; i < 3; i++) slip[i] = y[i] - contact[4 + i];
        along = su_dot3(slip, contact);
        for (int i = 0; i < 3; i++) slip[i] -= along * contact[i];
        double size = sqrt(su_dot3(slip, slip)), secant = contact[3] / fmax(size, hold);
        energy += size > hold ? contact[3] * (size - 0.5 * hold) : 0.5 * secant * size * size;
        for (int i = 0; i < 3; i++) {
            world[i] -= secant * slip[i];
            for (int j = 0; j < 3; j++) hessian[3 * i + j] += secant * ((i == j) - contact[i] * contact[j]);
        }
    }
    su_tmulv3(loads->Q, world, force);
    if (H) {
        double turned[9];
        su_mul33(hessian, loads->Q, turned);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                H[3 * i + j] = 0;
                for (int l = 0; l < 3; l++) H[3 * i + j] += loads->Q[3 * l + i] * turned[3 * l + j];
            }
    }
    return energy;
}
