#include "runtime/forces/contact_points.h"

#include "core/order.h"
#include "geometry/mat3.h"
#include "geometry/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Upper triangles of rank-one updates are the most that pairs cost; clones keep each compiled for its vectors. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define CLONES
#endif

void su_reduced_contact_count(su_reduced_contact_counts *counts, int64_t count, const su_contact_pair *pairs)
{
    int64_t pressed = 0;
    for (int64_t k = 0; k < count; k++) {
        if (!su_contact_pressed(pairs + k)) continue;
        pressed++;
        counts->deepest = fmax(counts->deepest, pairs[k].depth - pairs[k].allowed);
    }
    counts->pressed += pressed;
    if (pressed > counts->most_pressed) counts->most_pressed = pressed;
}

su_status su_contact_points_create(int64_t n, const int32_t *place, const int32_t *point, const su_subspace *subspace,
                                   su_contact_points *out, su_error *err)
{
    su_contact_points p = {.n = n, .place = place, .point = point, .r = subspace->r, .lead = subspace->lead};
    int32_t *pair = NULL;
    su_status status;
    SU_GO(SU_TAKE_ALL(&p.arena, "contact", err, SU_WANT(p.order, n), SU_WANT(p.chosen, n), SU_WANT(p.packed, 3 * n),
                      SU_WANT(p.rows, 3 * p.lead), SU_WANT(p.q, p.lead)));
    SU_GO(SU_ALLOC(&pair, 2 * n, "contact", err));
    for (int64_t v = 0; v < n; v++) pair[2 * v] = place[v], pair[2 * v + 1] = (int32_t)v;
    su_sort(pair, (size_t)n, 2 * sizeof *pair, su_order_int32); /* by place, which no two vertices share */
    for (int64_t v = 0; v < n; v++) p.order[v] = pair[2 * v + 1];
    *out = p;
    p = (su_contact_points){0};
done:
    free(pair);
    su_contact_points_free(&p);
    return status;
}

void su_contact_points_free(su_contact_points *points)
{
    su_arena_free(&points->arena);
    *points = (su_contact_points){0};
}

void su_contact_points_place(su_contact_points *p, const uint8_t *wanted, const double *q, const double *state,
                             double *y)
{
    int64_t count = 0, n = p->n;
    for (int64_t i = 0; i < n; i++)
        if (!wanted || wanted[p->order[i]]) p->chosen[count++] = p->place[p->order[i]];
    p->subspace->places(p->subspace->self, p->instant, q, state, count, p->chosen, p->packed);
    count = 0;
    for (int64_t i = 0; i < n; i++)
        if (!wanted || wanted[p->order[i]])
            memcpy(y + 3 * (int64_t)p->order[i], p->packed + 3 * count++, 3 * sizeof *y);
}

void su_contact_points_enter(su_contact_points *p, const void *instant, const su_subspace *subspace)
{
    p->instant = instant, p->subspace = subspace, p->at_q = false;
}

bool su_contact_points_look(su_contact_points *p, const uint8_t *wanted, const double *q, double *y)
{
    size_t bytes = (size_t)p->lead * sizeof *q;
    if (p->at_q && memcmp(p->q, q, bytes) == 0) return false;
    su_contact_points_place(p, wanted, q, NULL, y);
    memcpy(p->q, q, bytes);
    return p->at_q = true;
}

/* row (lead) = U' axis of the pair's corners by their shares */
static void pair_row(su_contact_points *p, const int32_t corner[4], const double share[4], const double axis[3],
                     double *row)
{
    memset(row, 0, (size_t)p->lead * sizeof *row);
    for (int c = 0; c < 4; c++)
        if (share[c] != 0 && p->point[corner[c]] >= 0)
            p->subspace->add_force(p->subspace->self, p->instant, p->point[corner[c]], share[c], axis, row);
}

void su_contact_points_row(su_contact_points *p, const su_contact_pair *pair, double *row)
{
    int32_t corner[4];
    double share[4], axis[3];
    su_contact_corners(p->body, pair, corner, share);
    for (int i = 0; i < 3; i++) axis[i] = -pair->normal[i];
    pair_row(p, corner, share, axis, row);
}

CLONES static void add_outer(int64_t r, int64_t lead, double factor, const double *a, const double *b, double *A)
{
    for (int64_t j = 0; j < r; j++) {
        double scaled = factor * a[j], *row = A + j * lead;
        if (scaled == 0) continue;
        for (int64_t n = j; n < r; n++) row[n] += scaled * b[n];
    }
}

/* N of the vertex's own block of a pair's tangent, whose share is 1; its rank is one where a face was hit. */
static void own_block(const su_contact_body *body, const su_contact_pair *pair, const double *y, bool face, double N[9])
{
    double K[144];
    for (int i = 0; i < 9; i++) N[i] = pair->stiffness * pair->normal[i / 3] * pair->normal[i % 3];
    if (face) return;
    su_contact_tangent(body, pair, y, true, K);
    for (int i = 0; i < 3; i++) memcpy(N + 3 * i, K + 12 * i, 3 * sizeof *K);
}

static void respond(su_contact_points *p, const su_contact_pair *pair, const double *y, const double *x, double *out,
                    double *A)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    bool face = pair->plane || (pair->bary[0] > 0 && pair->bary[1] > 0 && pair->bary[2] > 0);
    int rank = face ? 1 : 3;
    int32_t corner[4];
    double share[4], N[9], g[3], d[3] = {0}, Nd[3];
    su_contact_corners(p->body, pair, corner, share);
    own_block(p->body, pair, y, face, N);
    for (int c = 0; c < 4 && x; c++)
        for (int i = 0; i < 3; i++) d[i] += share[c] * (y[3 * (int64_t)corner[c] + i] - x[3 * (int64_t)corner[c] + i]);
    su_mulv3(N, d, Nd);
    for (int i = 0; i < 3; i++) g[i] = -pair->stiffness * (pair->depth - pair->allowed) * pair->normal[i] - Nd[i];
    for (int k = 0; k < rank; k++) {
        double *row = p->rows + k * p->lead;
        pair_row(p, corner, share, face ? pair->normal : axes[k], row);
        double size = face ? su_dot3(g, pair->normal) : g[k];
        for (int64_t j = 0; j < p->r; j++) out[j] += size * row[j];
    }
    if (!A) return;
    if (face) {
        add_outer(p->r, p->lead, pair->stiffness, p->rows, p->rows, A);
        return;
    }
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++)
            add_outer(p->r, p->lead, N[3 * k + l], p->rows + k * p->lead, p->rows + l * p->lead, A);
}

double su_contact_points_respond(su_contact_points *p, int64_t count, const su_contact_pair *pairs, const double *y,
                                 const double *x, double *out, double *A)
{
    for (int64_t k = 0; k < count; k++)
        if (su_contact_pressed(pairs + k)) respond(p, pairs + k, y, x, out, A);
    return su_contact_energy(count, pairs);
}

/* Two unit vectors that span the plane with this unit normal. */
static void span_plane(const double n[3], double t[2][3])
{
    int least = fabs(n[0]) <= fabs(n[1]) && fabs(n[0]) <= fabs(n[2]) ? 0 : fabs(n[1]) <= fabs(n[2]) ? 1 : 2;
    double axis[3] = {least == 0, least == 1, least == 2}, size;
    su_cross3(n, axis, t[0]);
    size = su_norm3(t[0]);
    for (int i = 0; i < 3; i++) t[0][i] /= size;
    su_cross3(n, t[0], t[1]);
}

/* The tangent is secant times the plane's projection on what the four vertices move by as their shares are: two rows.
 */
static void hold(su_contact_points *p, const su_contact_slip *slip, const double *y, const double *x, double *out,
                 double *A)
{
    double t[2][3], d[3] = {0}, *rows = p->rows, *couple = p->rows + 2 * p->lead;
    span_plane(slip->normal, t);
    for (int c = 0; c < 4 && x; c++)
        for (int i = 0; i < 3; i++) {
            int64_t at = 3 * (int64_t)slip->corner[c] + i;
            d[i] += slip->share[c] * (y[at] - x[at]);
        }
    pair_row(p, slip->corner, slip->turn, slip->normal, couple);
    for (int k = 0; k < 2; k++) {
        double *row = rows + k * p->lead, size = slip->secant * (su_dot3(slip->way, t[k]) - su_dot3(d, t[k]));
        pair_row(p, slip->corner, slip->share, t[k], row);
        for (int64_t j = 0; j < p->r; j++) out[j] += size * row[j];
        if (A) add_outer(p->r, p->lead, slip->secant, row, row, A);
    }
    for (int64_t j = 0; j < p->r; j++) out[j] += slip->secant * couple[j];
}

double su_contact_points_hold(su_contact_points *p, int64_t count, const su_contact_grip *grips, const double *y,
                              const double *x, double *out, double *A)
{
    double energy = 0;
    for (int64_t k = 0; k < count; k++) {
        su_contact_slip slip;
        if (!(grips[k].limit > 0) || !su_contact_grip_slip(p->body, grips + k, y, &slip)) continue;
        hold(p, &slip, y, x, out, A);
        energy += slip.energy;
    }
    return energy;
}
