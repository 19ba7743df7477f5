#include "physics/collider_mesh.h"

#include "core/order.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- once ---- */

/* A side of a triangle as seen from its lower vertex. */
typedef struct half_edge {
    int32_t low, high, triangle;
    int8_t corner, rising; /* rising: runs from low to high */
} half_edge;

static int by_vertices(const void *a, const void *b)
{
    const half_edge *s = a, *t = b;
    if (s->low != t->low) return s->low < t->low ? -1 : 1;
    if (s->high != t->high) return s->high < t->high ? -1 : 1;
    return (s->triangle > t->triangle) - (s->triangle < t->triangle);
}

static su_status find_neighbours(su_collider_mesh *mesh, su_error *err)
{
    int64_t count = 3 * mesh->triangles, opposed = 0;
    half_edge *sides;
    SU_TRY(SU_ALLOC(&sides, count, "a collider's edges", err));
    for (int64_t k = 0; k < count; k++) {
        int32_t a = mesh->triangle[k], b = mesh->triangle[k - k % 3 + (k + 1) % 3];
        sides[k] = (half_edge){a < b ? a : b, a < b ? b : a, (int32_t)(k / 3), (int8_t)(k % 3), a < b};
    }
    su_sort(sides, (size_t)count, sizeof *sides, by_vertices);
    for (int64_t k = 0, end; k < count; k = end) {
        for (end = k + 1; end < count && sides[end].low == sides[k].low && sides[end].high == sides[k].high;) end++;
        if (end - k == 2 && sides[k].rising == sides[k + 1].rising) opposed++;
        for (int64_t i = k; i < end; i++)
            mesh->neighbour[3 * (int64_t)sides[i].triangle + sides[i].corner] = end - k == 1 ? -1
                                                                                : end - k == 2
                                                                                    ? sides[2 * k + 1 - i].triangle
                                                                                    : -2;
        if (end - k == 1) mesh->border[sides[k].low] = mesh->border[sides[k].high] = 1;
    }
    free(sides);
    if (!opposed) return SU_OK;
    return su_fail(err, SU_INPUT, "at %lld edges two triangles disagree on which side is outside: orient the mesh",
                   (long long)opposed);
}

static su_status check(const su_collider_mesh *mesh, su_error *err)
{
    if (mesh->frames < 1 || mesh->vertices < 1 || mesh->triangles < 1)
        return su_fail(err, SU_INPUT, "a mesh collider of %lld frames, %lld vertices, %lld triangles is none",
                       (long long)mesh->frames, (long long)mesh->vertices, (long long)mesh->triangles);
    for (int64_t k = 0; k < mesh->frames; k++)
        if (!isfinite(mesh->times[k]) || (k > 0 && !(mesh->times[k] > mesh->times[k - 1])))
            return su_fail(err, SU_INPUT, "the time of frame %lld does not rise", (long long)k);
    for (int64_t k = 0; k < mesh->frames * mesh->vertices * 3; k++)
        if (!isfinite(mesh->points[k]))
            return su_fail(err, SU_INPUT, "vertex %lld of frame %lld is not a finite point",
                           (long long)(k / 3 % mesh->vertices), (long long)(k / 3 / mesh->vertices));
    for (int64_t k = 0; k < 3 * mesh->triangles; k++)
        if (mesh->triangle[k] < 0 || mesh->triangle[k] >= mesh->vertices)
            return su_fail(err, SU_INPUT, "triangle %lld names vertex %d of %lld", (long long)(k / 3),
                           (int)mesh->triangle[k], (long long)mesh->vertices);
    return SU_OK;
}

su_status su_collider_mesh_finish(su_collider_mesh *mesh, su_arena *arena, su_error *err)
{
    SU_TRY(check(mesh, err));
    mesh->neighbour = su_arena_alloc(arena, 3 * mesh->triangles, sizeof *mesh->neighbour);
    mesh->border = su_arena_alloc(arena, mesh->vertices, sizeof *mesh->border);
    mesh->boxes = su_arena_alloc(arena, 6 * mesh->frames, sizeof *mesh->boxes);
    if (!mesh->neighbour || !mesh->border || !mesh->boxes)
        return su_fail(err, SU_AGAIN, "not enough memory for a collider");
    for (int64_t k = 0; k < mesh->frames; k++) {
        double *box = mesh->boxes + 6 * k;
        for (int i = 0; i < 3; i++) box[i] = INFINITY, box[3 + i] = -INFINITY;
        for (int64_t v = 0; v < mesh->vertices; v++)
            for (int i = 0; i < 3; i++) {
                double value = mesh->points[3 * (k * mesh->vertices + v) + i];
                box[i] = fmin(box[i], value), box[3 + i] = fmax(box[3 + i], value);
            }
    }
    return find_neighbours(mesh, err);
}

/* ---- at one time ---- */

/* Frames left and right of t, and the share of the right one. */
static double between(const su_collider_mesh *mesh, double t, int64_t *left, int64_t *right)
{
    int64_t low = 0, high = mesh->frames; /* times[low - 1] <= t < times[high] */
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (mesh->times[middle] <= t)
            low = middle + 1;
        else
            high = middle;
    }
    *left = low > 0 ? low - 1 : 0;
    *right = low < mesh->frames ? low : mesh->frames - 1;
    return *left < *right && low > 0 ? (t - mesh->times[*left]) / (mesh->times[*right] - mesh->times[*left]) : 0;
}

static void vertex_at(const su_collider_mesh *mesh, int64_t left, int64_t right, double share, int64_t v, double out[3])
{
    const double *a = mesh->points + 3 * (left * mesh->vertices + v),
                 *b = mesh->points + 3 * (right * mesh->vertices + v);
    for (int i = 0; i < 3; i++) out[i] = a[i] + share * (b[i] - a[i]);
}

su_status su_collider_state_create(const su_collider_mesh *mesh, su_collider_state *state, su_error *err)
{
    *state = (su_collider_state){.mesh = mesh, .time = NAN};
    state->x = su_arena_alloc(&state->arena, 3 * mesh->vertices, sizeof(double));
    state->face_normal = su_arena_alloc(&state->arena, 3 * mesh->triangles, sizeof(double));
    state->vertex_normal = su_arena_alloc(&state->arena, 3 * mesh->vertices, sizeof(double));
    su_status status = state->x && state->face_normal && state->vertex_normal
                           ? su_boxtree_of_triangles(mesh->points, mesh->triangles, mesh->triangle, &state->tree, err)
                           : su_fail(err, SU_AGAIN, "not enough memory for a collider");
    if (status != SU_OK) su_collider_state_free(state);
    return status;
}

void su_collider_state_free(su_collider_state *state)
{
    su_boxtree_free(&state->tree);
    su_arena_free(&state->arena);
    memset(state, 0, sizeof *state);
}

static void normals(su_collider_state *state)
{
    const su_collider_mesh *mesh = state->mesh;
    memset(state->vertex_normal, 0, (size_t)(3 * mesh->vertices) * sizeof(double));
    for (int64_t k = 0; k < mesh->triangles; k++) {
        double edge[3][3], *n = state->face_normal + 3 * k;
        for (int i = 0; i < 3; i++)
            su_sub3(state->x + 3 * (int64_t)mesh->triangle[3 * k + (i + 1) % 3],
                    state->x + 3 * (int64_t)mesh->triangle[3 * k + i], edge[i]);
        su_cross3(edge[0], edge[1], n);
        double size = sqrt(su_dot3(n, n));
        for (int i = 0; i < 3; i++) n[i] = size > 0 ? n[i] / size : 0;
        for (int i = 0; i < 3; i++) {
            const double *out = edge[i], *in = edge[(i + 2) % 3];
            double angle = atan2(size, -su_dot3(out, in));
            for (int c = 0; c < 3; c++)
                state->vertex_normal[3 * (int64_t)mesh->triangle[3 * k + i] + c] += angle * n[c];
        }
    }
}

static void move_to(su_collider_state *state, double t)
{
    const su_collider_mesh *mesh = state->mesh;
    int64_t left, right;
    double share = between(mesh, t, &left, &right);
    for (int64_t v = 0; v < mesh->vertices; v++) vertex_at(mesh, left, right, share, v, state->x + 3 * v);
    su_boxtree_refit_triangles(&state->tree, state->x, mesh->triangle);
    normals(state);
    state->time = t;
}

/* The pseudonormal of the feature that holds the point; false on a border. */
static bool pseudonormal(const su_collider_state *state, int32_t triangle, const double bary[3], double out[3])
{
    const su_collider_mesh *mesh = state->mesh;
    const int32_t *v = mesh->triangle + 3 * (int64_t)triangle;
    memcpy(out, state->face_normal + 3 * (int64_t)triangle, 3 * sizeof *out);
    for (int i = 0; i < 3; i++) {
        if (bary[i] == 1) {
            memcpy(out, state->vertex_normal + 3 * (int64_t)v[i], 3 * sizeof *out);
            return !mesh->border[v[i]];
        }
        if (bary[i] > 0 || bary[(i + 1) % 3] == 1 || bary[(i + 2) % 3] == 1) continue;
        int32_t other = mesh->neighbour[3 * (int64_t)triangle + (i + 1) % 3]; /* opposite of corner i */
        for (int c = 0; c < 3 && other >= 0; c++) out[c] += state->face_normal[3 * (int64_t)other + c];
        return other != -1;
    }
    return true;
}

double su_collider_mesh_depth(su_collider_state *state, double t, const double y[3], double margin, double normal[3],
                              int32_t *triangle, double bary[3])
{
    const su_collider_mesh *mesh = state->mesh;
    int64_t left, right;
    between(mesh, t, &left, &right);
    for (int i = 0; i < 3; i++) {
        double low = fmin(mesh->boxes[6 * left + i], mesh->boxes[6 * right + i]);
        double high = fmax(mesh->boxes[6 * left + 3 + i], mesh->boxes[6 * right + 3 + i]);
        if (y[i] < low - margin || y[i] > high + margin) return -INFINITY;
    }
    if (state->time != t) move_to(state, t);
    double distance = su_closest_point(&state->tree, state->x, mesh->triangle, y, INFINITY, triangle, bary), side[3],
           d[3];
    if (*triangle < 0) return -INFINITY; /* y is no finite point */
    const int32_t *v = mesh->triangle + 3 * (int64_t)*triangle;
    for (int i = 0; i < 3; i++) {
        d[i] = y[i];
        for (int j = 0; j < 3; j++) d[i] -= bary[j] * state->x[3 * (int64_t)v[j] + i];
    }
    bool solid = pseudonormal(state, *triangle, bary, side);
    double along = su_dot3(d, side), size = sqrt(su_dot3(side, side));
    double depth = along < 0 ? distance : -distance;
    if ((depth > 0 && !solid) || depth > mesh->thickness || depth < -margin) return -INFINITY;
    /* on the surface the difference has no direction */
    bool apart = distance > 1e-12 * (fabs(y[0]) + fabs(y[1]) + fabs(y[2]) + 1);
    for (int i = 0; i < 3; i++) normal[i] = apart ? -d[i] / depth : size > 0 ? side[i] / size : i == 1;
    return depth;
}

void su_collider_mesh_point(const su_collider_mesh *mesh, double t, int32_t triangle, const double bary[3],
                            double out[3])
{
    int64_t left, right;
    double share = between(mesh, t, &left, &right);
    memset(out, 0, 3 * sizeof *out);
    for (int j = 0; j < 3; j++) {
        double x[3];
        vertex_at(mesh, left, right, share, mesh->triangle[3 * (int64_t)triangle + j], x);
        for (int i = 0; i < 3; i++) out[i] += bary[j] * x[i];
    }
}
