#include "runtime/forces/contact_points.h"

#include "core/order.h"
#include "geometry/mat3.h"
#include "geometry/vector.h"
#include "runtime/kernels/kernel_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    const su_kernel_set *set;
    su_status status;
    SU_GO(su_kernel_set_find(&set, err));
    p.kernels = &set->step;
    SU_GO(SU_TAKE_ALL(&p.arena, "contact", err, SU_WANT(p.order, n), SU_WANT(p.vertex, n), SU_WANT(p.chosen, n),
                      SU_WANT(p.packed, 3 * n), SU_WANT(p.row, p.lead),
                      SU_WANT(p.rows, SU_CONTACT_ROWS * p.lead + SU_LANES), SU_WANT(p.q, p.lead)));
    SU_GO(SU_ALLOC(&pair, 2 * n, "contact", err));
    for (int64_t v = 0; v < n; v++) pair[2 * v] = place[v], pair[2 * v + 1] = (int32_t)v;
    su_sort(pair, (size_t)n, 2 * sizeof *pair, su_order_int32); /* by place, which no two vertices share */
    for (int64_t v = 0; v < n; v++) p.order[v] = pair[2 * v + 1];
    su_contact_points_want(&p, NULL);
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

void su_contact_points_want(su_contact_points *p, const uint8_t *wanted)
{
    p->count = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int32_t v = p->order[i];
        if (wanted && !wanted[v]) continue;
        p->vertex[p->count] = v, p->chosen[p->count++] = p->place[v];
    }
}

/* y (n,3) of those from number `first` on. */
static void place_from(su_contact_points *p, int64_t first, const double *q, const double *state, double *y)
{
    int64_t count = p->count - first;
    p->subspace->places(p->subspace->self, p->instant, q, state, count, p->chosen + first, p->packed);
    for (int64_t i = 0; i < count; i++)
        for (int c = 0; c < 3; c++) y[3 * (int64_t)p->vertex[first + i] + c] = p->packed[3 * i + c];
}

void su_contact_points_place(su_contact_points *p, const double *q, const double *state, double *y)
{
    place_from(p, 0, q, state, y);
}

void su_contact_points_add(su_contact_points *p, int64_t count, const int32_t *vertex, double *y)
{
    int64_t first = p->count;
    for (int64_t i = 0; i < count; i++) p->vertex[p->count] = vertex[i], p->chosen[p->count++] = p->place[vertex[i]];
    place_from(p, first, p->q, NULL, y);
}

void su_contact_points_enter(su_contact_points *p, const void *instant, const su_subspace *subspace)
{
    p->instant = instant, p->subspace = subspace, p->at_q = false;
}

bool su_contact_points_look(su_contact_points *p, const double *q, double *y)
{
    size_t bytes = (size_t)p->lead * sizeof *q;
    if (p->at_q && memcmp(p->q, q, bytes) == 0) return false;
    su_contact_points_place(p, q, NULL, y);
    memcpy(p->q, q, bytes);
    return p->at_q = true;
}

/* row (lead) = U' axis of the pair's corners by their shares */
static void pair_row(su_contact_points *p, const int32_t corner[4], const double share[4], const double axis[3],
                     double *row)
{
    int32_t points[4];
    for (int c = 0; c < 4; c++) points[c] = p->point[corner[c]];
    memset(row, 0, (size_t)p->lead * sizeof *row);
    p->subspace->add_force(p->subspace->self, p->instant, 4, points, share, axis, row);
}

void su_contact_points_row(su_contact_points *p, const su_contact_pair *pair, double *row)
{
    int32_t corner[4];
    double share[4], axis[3];
    su_contact_corners(p->body, pair, corner, share);
    for (int i = 0; i < 3; i++) axis[i] = -pair->normal[i];
    pair_row(p, corner, share, axis, row);
}

/* ---- products of rows ---- */

static void finish_products(su_contact_points *p, double *A)
{
    if (p->count_rows) p->kernels->gram(p->count_rows, p->r, p->lead, p->rows, A);
    p->count_rows = 0;
}

/* out += size U'axis of a pair's corners by their shares, and A (may be NULL) += factor (U'axis)(U'axis)'. */
static void add_rank(su_contact_points *p, const int32_t corner[4], const double share[4], const double axis[3],
                     double size, double factor, double *out, double *A)
{
    float *scaled = p->rows + p->count_rows * p->lead;
    double root = sqrt(factor);
    pair_row(p, corner, share, axis, p->row);
    for (int64_t j = 0; j < p->r; j++) out[j] += size * p->row[j];
    if (!A) return;
    for (int64_t j = 0; j < p->lead; j++) scaled[j] = (float)(root * p->row[j]);
    if (++p->count_rows == SU_CONTACT_ROWS) finish_products(p, A);
}

/* ---- pairs that press ---- */

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

/* Unit directions beside its normal in which a pair's semidefinite tangent (contact_forces.h) is stiff as well: none
 * where a face was hit, across an edge one, around a corner two. */
static int sideways(const su_contact_body *body, const su_contact_pair *pair, const double *y, double t[2][3])
{
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    int end[3], count = 0;
    for (int i = 0; i < 3; i++)
        if (pair->bary[i] > 0) end[count++] = corner[i];
    if (pair->plane || count == 3) return 0;
    if (count == 1) {
        span_plane(pair->normal, t);
        return 2;
    }
    double edge[3], size;
    su_sub3(y + 3 * (int64_t)end[1], y + 3 * (int64_t)end[0], edge);
    su_cross3(edge, pair->normal, t[0]);
    size = su_norm3(t[0]);
    for (int i = 0; i < 3; i++) t[0][i] /= size;
    return size > 0;
}

/* The vertex's own block of the tangent is k (n n' + (1 - allowed / depth) sum t t'); the others are that by their
 * shares. */
static void respond(su_contact_points *p, const su_contact_pair *pair, const double *y, const double *x, double *out,
                    double *A)
{
    int32_t corner[4];
    double share[4], t[2][3], d[3] = {0}, over = pair->depth - pair->allowed;
    su_contact_corners(p->body, pair, corner, share);
    for (int c = 0; c < 4 && x; c++)
        for (int i = 0; i < 3; i++) d[i] += share[c] * (y[3 * (int64_t)corner[c] + i] - x[3 * (int64_t)corner[c] + i]);
    double factor = pair->stiffness;
    add_rank(p, corner, share, pair->normal, -factor * (over + su_dot3(pair->normal, d)), factor, out, A);
    factor *= over / pair->depth;
    int count = sideways(p->body, pair, y, t);
    for (int k = 0; k < count && (A || x); k++)
        add_rank(p, corner, share, t[k], -factor * su_dot3(t[k], d), factor, out, A);
}

double su_contact_points_respond(su_contact_points *p, int64_t count, const su_contact_pair *pairs, const double *y,
                                 const double *x, double *out, double *A)
{
    for (int64_t k = 0; k < count; k++)
        if (su_contact_pressed(pairs + k)) respond(p, pairs + k, y, x, out, A);
    finish_products(p, A);
    return su_contact_energy(count, pairs);
}

/* ---- friction ---- */

/* The tangent is secant times the plane's projection on what the four vertices move by as their shares are: two rows.
 */
static void hold(su_contact_points *p, const su_contact_slip *slip, const double *y, const double *x, double *out,
                 double *A)
{
    double t[2][3], d[3] = {0};
    span_plane(slip->normal, t);
    for (int c = 0; c < 4 && x; c++)
        for (int i = 0; i < 3; i++) {
            int64_t at = 3 * (int64_t)slip->corner[c] + i;
            d[i] += slip->share[c] * (y[at] - x[at]);
        }
    for (int k = 0; k < 2; k++)
        add_rank(p, slip->corner, slip->share, t[k], slip->secant * (su_dot3(slip->way, t[k]) - su_dot3(d, t[k])),
                 slip->secant, out, A);
    add_rank(p, slip->corner, slip->turn, slip->normal, slip->secant, 0, out, NULL);
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
    finish_products(p, A);
    return energy;
}
