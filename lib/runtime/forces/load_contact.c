#include "runtime/forces/load_contact.h"

#include "core/memory.h"
#include "geometry/vector.h"
#include "geometry/mat3.h"

#include <stdlib.h>
#include <string.h>

/* Diagonals of the flesh within which a point counts as near a collider, m: what a step moves it by and more
 * (SU_STRIDE), so that it cannot pass a surface unseen. */
static const double near_margin = 0.05;

typedef struct contact {
    su_loads *loads;
    const int32_t *point; /* (points,4) */
    su_instant_frame *frame;
    int64_t r, lead;
    double diagonal;
    double *rows;         /* (points,3,lead) A U of points near a collider */
    double *shift;        /* (points,3) u* of the points */
    int32_t *near_points; /* (near) */
    int64_t near;
    su_arena arena;
} contact;

/* Displacement of load point k, root frame: that of a state turned to the instant. */
static void load_displacement(const contact *l, const void *instant, const su_subspace *subspace, const su_state *state,
                              int64_t k, double a[3])
{
    memset(a, 0, 3 * sizeof *a);
    for (int i = 0; i < 4; i++)
        if (l->point[4 * k + i] >= 0)
            subspace->add_displacement(subspace->self, instant, state->subspace, l->point[4 * k + i],
                                       l->loads->bary[4 * k + i], a);
}

/* out (lead) += (A U)' f of load point k, f (3) in the root frame. */
static void add_load(const contact *l, const void *instant, const su_subspace *subspace, int64_t k, const double f[3],
                     double *out)
{
    subspace->add_force(subspace->self, instant, 4, l->point + 4 * k, l->loads->bary + 4 * k, f, out);
}

static void keep(void *self, const void *instant, const su_subspace *subspace, const su_state *reached)
{
    contact *l = self;
    su_loads *loads = l->loads;
    l->frame(instant, loads->Q, loads->c);
    for (int64_t k = 0; k < loads->external->points; k++) {
        double a[3];
        load_displacement(l, instant, subspace, reached, k, a);
        su_loads_place(loads, k, a, loads->now + 3 * k);
    }
}

static int64_t prepare(void *self, const void *instant, const su_subspace *subspace, const su_state *now, double h,
                       double *load)
{
    contact *l = self;
    su_loads *loads = l->loads;
    const double margin = near_margin * l->diagonal;
    loads->h = h;
    l->frame(instant, loads->Q, loads->c);
    l->near = 0;
    for (int64_t k = 0; k < loads->external->points; k++) {
        double *a = l->shift + 3 * k, y[3], f[3], n[3];
        load_displacement(l, instant, subspace, now, k, a);
        su_loads_place(loads, k, a, y);
        su_loads_prepare(loads, k, y);
        bool near = h == 0;
        for (int64_t c = 0; c < loads->external->colliders && !near; c++)
            near = su_loads_depth(loads, c, y, margin, n) > -margin;
        if (near && loads->external->colliders > 0) {
            double *rows = l->rows + 3 * l->near * l->lead;
            memset(rows, 0, (size_t)(3 * l->lead) * sizeof *rows);
            for (int c = 0; c < 3; c++) {
                double axis[3] = {c == 0, c == 1, c == 2};
                add_load(l, instant, subspace, k, axis, rows + c * l->lead);
            }
            l->near_points[l->near++] = (int32_t)k;
        } else {
            su_tmulv3(loads->Q, loads->steady + 3 * k, f);
            for (int c = 0; c < 3; c++) f[c] = -f[c];
            add_load(l, instant, subspace, k, f, load);
        }
    }
    return l->near;
}

static double evaluate(void *self, const double *q, double *out, double *A)
{
    contact *l = self;
    int64_t r = l->r, lead = l->lead;
    double energy = 0;
    for (int64_t i = 0; i < l->near; i++) {
        int64_t k = l->near_points[i];
        const double *rows = l->rows + 3 * i * lead;
        double a[3], y[3], f[3], H[9], size = 0;
        for (int c = 0; c < 3; c++) a[c] = q ? su_dot(r, rows + c * lead, q) : l->shift[3 * k + c];
        su_loads_place(l->loads, k, a, y);
        energy += su_loads_evaluate(l->loads, k, y, f, H);
        for (int c = 0; c < 9; c++) size += H[c] * H[c];
        if (!q)
            for (int c = 0; c < 3; c++) f[c] += H[3 * c] * a[0] + H[3 * c + 1] * a[1] + H[3 * c + 2] * a[2];
        for (int64_t j = 0; j < r; j++) out[j] -= rows[j] * f[0] + rows[lead + j] * f[1] + rows[2 * lead + j] * f[2];
        if (!A || size == 0) continue;
        for (int64_t j = 0; j < r; j++) {
            double w[3];
            for (int c = 0; c < 3; c++)
                w[c] = H[3 * c] * rows[j] + H[3 * c + 1] * rows[lead + j] + H[3 * c + 2] * rows[2 * lead + j];
            double *row = A + j * lead;
            for (int64_t n = j; n < r; n++)
                row[n] += w[0] * rows[n] + w[1] * rows[lead + n] + w[2] * rows[2 * lead + n];
        }
    }
    return energy;
}

static void release(void *self)
{
    contact *l = self;
    su_arena_free(&l->arena);
    free(l);
}

su_status su_load_contact_create(su_loads *loads, const int32_t *point, const su_subspace *subspace,
                                 su_instant_frame *frame, su_contact *out, su_error *err)
{
    contact *l;
    int64_t points = loads->external->points, lead = subspace->lead;
    SU_TRY(SU_ALLOC(&l, 1, "contact points", err));
    l->loads = loads, l->point = point, l->frame = frame;
    l->r = subspace->r, l->lead = lead, l->diagonal = subspace->diagonal;
    su_status status = SU_TAKE_ALL(&l->arena, "the contact points", err, SU_WANT(l->rows, 3 * points * lead),
                                   SU_WANT(l->shift, 3 * points), SU_WANT(l->near_points, points));
    if (status != SU_OK) {
        release(l);
        return status;
    }
    *out = (su_contact){.self = l, .keep = keep, .prepare = prepare, .evaluate = evaluate, .release = release};
    return SU_OK;
}
