#include "physics/loads.h"

#include "geometry/mat3.h"

#include <math.h>
#include <string.h>

static const double STICK_SPEED = 5e-3; /* m/s: below it friction holds */

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
