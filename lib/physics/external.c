#include "physics/external.h"

#include "geometry/mat3.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What a file that does not say otherwise means (docs/runtime.md, "Forces from outside"). */
#define USUAL_STIFFNESS 2e6 /* N/m^3 of depth: carries a character's weight on its soles at a few millimetres */
#define USUAL_FRICTION 0.5  /* skin on most grounds */
#define USUAL_DRAG 1.2      /* kg/(m^2 s): the density of air times 1 m/s */
#define USUAL_POINTS 300
#define USUAL_RATE 24.0 /* frames/s of meshes in files without times */
/* Least rate, earliest start and least scale of such a file: what is beyond is a slip of the pen. */
#define LEAST_RATE 1e-6
#define EARLIEST -1e9
#define LEAST_SCALE 1e-9

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
    source->rate = number(from, "rate", USUAL_RATE, LEAST_RATE), source->start = number(from, "start", 0, EARLIEST);
    source->scale = number(from, "scale", 1, LEAST_SCALE);
    double thickness = number(from, "thickness", INFINITY, 0);
    if (e->arena.failed) return su_fail(err, SU_AGAIN, "not enough memory for the colliders");
    if (!source->file || isnan(source->rate + source->start + source->scale + thickness))
        return bad(
            err,
            "a mesh has a 'file', and may have a 'neutral' file and numbers 'rate', 'start', 'scale', 'thickness'");
    c->mesh = su_arena_alloc(&e->arena, 1, sizeof *c->mesh);
    if (!c->mesh) return su_fail(err, SU_AGAIN, "not enough memory for the colliders");
    c->mesh->thickness = thickness;
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
    c->friction = number(from, "friction", USUAL_FRICTION, 0);
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
    e->drag = number(from, "drag", USUAL_DRAG, 0);
    if (!numbers(json_object_get(from, "velocity"), 3, e->wind) || !isfinite(e->gust + e->gust_rate + e->drag))
        return bad(err, "'wind' has a 'velocity' [x, y, z], and numbers >= 0 'gust', 'rate', 'drag'");
    return SU_OK;
}

/* ---- points ---- */

static void skin_areas(const su_load_skin *skin, double *area)
{
    const double *x = skin->neutral;
    memset(area, 0, (size_t)skin->nbar * sizeof *area);
    for (int64_t t = 0; t < skin->T; t++) {
        double a[3], b[3], n[3];
        const int32_t *v = skin->triangles + 3 * t;
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

static su_status choose_points(const json_t *points, int64_t forces, const su_load_skin *skin, su_external *e,
                               su_error *err)
{
    int64_t nbar = skin->nbar;
    double *area = NULL;
    su_status status;
    int64_t listed = json_is_array(points) ? (int64_t)json_array_size(points) : 0;
    int64_t wanted = json_is_integer(points) ? json_integer_value(points) : points ? listed : USUAL_POINTS;
    if ((points && !json_is_array(points) && !json_is_integer(points)) || wanted < 0)
        return bad(err, "'points' is a number of points or a list of skin vertices");
    if (e->colliders == 0 && e->drag == 0) wanted = 0;
    if (wanted > nbar) wanted = nbar;
    e->vertex = su_arena_alloc(&e->arena, wanted + forces, sizeof *e->vertex);
    e->area = su_arena_alloc(&e->arena, wanted + forces, sizeof *e->area);
    if (!e->vertex || !e->area) return su_fail(err, SU_AGAIN, "not enough memory for the contact points");
    SU_GO(SU_ALLOC(&area, nbar, "areas", err));
    skin_areas(skin, area);
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
        SU_GO(spread_points(wanted, nbar, skin->neutral, area, e, err));
    }
    status = SU_OK;
done:
    free(area);
    return status;
}

su_status su_external_spread(int64_t count, const su_load_skin *skin, su_external *e, su_error *err)
{
    double *area = NULL;
    su_status status;
    memset(e, 0, sizeof *e);
    if (count > skin->nbar) count = skin->nbar;
    e->vertex = su_arena_alloc(&e->arena, count, sizeof *e->vertex);
    e->area = su_arena_alloc(&e->arena, count, sizeof *e->area);
    SU_GO(e->vertex && e->area ? SU_OK : su_fail(err, SU_AGAIN, "not enough memory for the contact points"));
    SU_GO(SU_ALLOC(&area, skin->nbar, "areas", err));
    skin_areas(skin, area);
    SU_GO(spread_points(count, skin->nbar, skin->neutral, area, e, err));
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
    out->from = number(from, "from", -INFINITY, -INFINITY), out->to = number(from, "to", INFINITY, -INFINITY);
    if (!numbers(json_object_get(from, "force"), 3, out->force) || isnan(out->from) || isnan(out->to))
        return bad(err, "a point force has a 'vertex', a 'force' [x, y, z], and times 'from' and 'to'");
    while (k < e->points && e->vertex[k] != v) k++;
    if (k == e->points) e->vertex[e->points] = (int32_t)v, e->area[e->points++] = 0;
    out->point = k;
    return SU_OK;
}

su_status su_external_parse(const json_t *root, const su_load_skin *skin, su_external *e, su_error *err)
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
    e->stiffness = number(root, "stiffness", USUAL_STIFFNESS, 0);
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
    SU_GO(choose_points(json_object_get(root, "points"), count, skin, e, err));
    for (; e->forces < count; e->forces++)
        SU_GO(parse_force(json_array_get(forces, (size_t)e->forces), skin->nbar, e, e->force + e->forces, err));
    status = SU_OK;
done:
    if (status != SU_OK) su_external_free(e);
    return status;
}

static void share_areas(const su_load_points *points, su_external *e)
{
    const double *neutral = points->neutral, *x = points->x;
    memset(e->area, 0, (size_t)e->points * sizeof *e->area);
    for (int64_t t = 0; t < points->T; t++) {
        double a[3], b[3], n[3], centre[3], best = INFINITY;
        const double *corner[3];
        int64_t nearest = 0;
        for (int i = 0; i < 3; i++) corner[i] = x + 3 * (int64_t)points->triangles[3 * t + i];
        su_sub3(corner[1], corner[0], a), su_sub3(corner[2], corner[0], b), su_cross3(a, b, n);
        for (int c = 0; c < 3; c++) centre[c] = (corner[0][c] + corner[1][c] + corner[2][c]) / 3;
        for (int64_t k = 0; k < e->points; k++) {
            double d = su_distance3(neutral + 3 * (int64_t)e->vertex[k], centre);
            if (d < best) best = d, nearest = k;
        }
        e->area[nearest] += 0.5 * sqrt(su_dot3(n, n));
    }
}

su_status su_external_create(const su_load_points *points, int64_t colliders, su_external *e, su_error *err)
{
    const int32_t *list = points->list;
    int64_t nbar = points->nbar, count = !list && points->count > nbar ? nbar : points->count;
    double *none = NULL;
    su_status status;
    memset(e, 0, sizeof *e);
    e->stiffness = USUAL_STIFFNESS, e->gust_rate = 1;
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
        SU_GO(spread_points(count, nbar, points->neutral, none, e, err));
    }
    share_areas(points, e);
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
