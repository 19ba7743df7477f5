#include "runtime/forces/contact_terms.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "runtime/kernels/kernel_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 3 }; /* rows of a pair: its normal, and two sideways */

su_status su_contact_terms_create(const su_subspace *subspace, su_contact_terms *out, su_error *err)
{
    su_contact_terms t = {.r = subspace->r, .lead = subspace->lead};
    const su_kernel_set *set;
    su_status status;
    SU_GO(su_kernel_set_find(&set, err));
    t.kernels = &set->step;
    SU_GO(SU_TAKE_ALL(&t.arena, "contact", err, SU_WANT(t.row, t.lead),
                      SU_WANT(t.scaled, SU_CONTACT_ROWS * t.lead + SU_LANES)));
    *out = t;
    t = (su_contact_terms){0};
done:
    su_contact_terms_free(&t);
    return status;
}

void su_contact_terms_free(su_contact_terms *t)
{
    free(t->terms), free(t->rows), free(t->grips), free(t->grip_rows);
    su_arena_free(&t->arena);
    *t = (su_contact_terms){0};
}

void su_contact_terms_begin(su_contact_terms *t) { t->count = t->grip_count = 0; }

static int64_t grown(int64_t room, int64_t count) { return count > 2 * room ? count : 2 * room; }

static bool grow(void **array, int64_t count, size_t size)
{
    void *larger = realloc(*array, (size_t)count * size);
    if (larger) *array = larger;
    return larger != NULL;
}

bool su_contact_terms_reserve(su_contact_terms *t, int64_t count, int64_t grips)
{
    size_t row = (size_t)t->lead * sizeof(float);
    if (count > t->room) {
        int64_t room = grown(t->room, count);
        if (!grow((void **)&t->terms, room, sizeof *t->terms) || !grow((void **)&t->rows, room, DIRECTIONS * row))
            return false;
        t->room = room;
    }
    if (grips > t->grip_room) {
        int64_t room = grown(t->grip_room, grips);
        if (!grow((void **)&t->grips, room, sizeof *t->grips) || !grow((void **)&t->grip_rows, room, 2 * row))
            return false;
        t->grip_room = room;
    }
    if (count > t->count) memset(t->terms + t->count, 0, (size_t)(count - t->count) * sizeof *t->terms);
    if (grips > t->grip_count) memset(t->grips + t->grip_count, 0, (size_t)(grips - t->grip_count) * sizeof *t->grips);
    t->count = count, t->grip_count = grips;
    return true;
}

/* ---- a look ---- */

static double dot(int64_t count, const float *row, const double *q)
{
    double sum[4] = {0};
    for (int64_t k = 0; k + 3 < count; k += 4)
        for (int i = 0; i < 4; i++) sum[i] += (double)row[k + i] * q[k + i];
    return sum[0] + sum[1] + sum[2] + sum[3]; /* count is a multiple of 8 */
}

/* row (lead) += U'axis of four corners by their shares. Returns that times the points' q, or the same of y - x. */
static double add_row(su_contact_terms *t, su_contact_points *p, const int32_t corner[4], const double share[4],
                      const double axis[3], const double *y, const double *x, float *row)
{
    double sum = 0;
    su_contact_points_project(p, corner, share, axis, t->row);
    for (int64_t j = 0; j < t->lead; j++) {
        float value = (float)t->row[j];
        row[j] += value;
        if (!x) sum += (double)value * p->q[j];
    }
    for (int c = 0; c < 4 && x; c++)
        for (int i = 0; i < 3; i++) {
            int64_t at = 3 * (int64_t)corner[c] + i;
            sum += share[c] * axis[i] * (y[at] - x[at]);
        }
    return sum;
}

/* The same row alone. */
static double take_row(su_contact_terms *t, su_contact_points *p, const int32_t corner[4], const double share[4],
                       const double axis[3], const double *y, const double *x, float *row)
{
    memset(row, 0, (size_t)t->lead * sizeof *row);
    return add_row(t, p, corner, share, axis, y, x, row);
}

/* Unit directions beside its normal in which a pair's semidefinite tangent (contact_forces.h) is stiff as well. */
static int sideways(const su_contact_body *body, const su_contact_pair *pair, const double *y, double t[2][3])
{
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    int end[3], count = 0;
    for (int i = 0; i < 3; i++)
        if (pair->bary[i] > 0) end[count++] = corner[i];
    if (pair->plane || count == 3) return 0;
    if (count == 1) {
        su_span_plane(pair->normal, t);
        return 2;
    }
    double edge[3], size;
    su_sub3(y + 3 * (int64_t)end[1], y + 3 * (int64_t)end[0], edge);
    su_cross3(edge, pair->normal, t[0]);
    size = su_norm3(t[0]);
    for (int i = 0; i < 3; i++) t[0][i] /= size;
    return size > 0;
}

static void look(su_contact_terms *t, su_contact_points *p, int64_t at, const su_contact_pair *pair, const double *y,
                 const double *x)
{
    su_contact_term *term = t->terms + at;
    int32_t corner[4];
    double share[4], direction[2][3], over = pair->depth - pair->allowed;
    float *row = t->rows + DIRECTIONS * at * t->lead;
    term->pressed = true;
    term->stiffness = pair->stiffness, term->beside = pair->stiffness * over / pair->depth;
    su_contact_corners(p->body, pair, corner, share);
    term->over = over + take_row(t, p, corner, share, pair->normal, y, x, row);
    term->sides = sideways(p->body, pair, y, direction);
    for (int k = 0; k < term->sides; k++)
        term->moved[k] = -take_row(t, p, corner, share, direction[k], y, x, row + (k + 1) * t->lead);
}

int64_t su_contact_terms_look(su_contact_terms *t, su_contact_points *p, int64_t first, int64_t count,
                              const su_contact_pair *pairs, const double *y, const double *x)
{
    int64_t acting = 0;
    for (int64_t k = 0; k < count; k++) {
        su_contact_term *term = t->terms + first + k;
        if (su_contact_pressed(pairs + k))
            look(t, p, first + k, pairs + k, y, x);
        else
            term->pressed = false, term->sides = 0;
        acting += term->stiffness > 0;
    }
    return acting;
}

void su_contact_terms_grip(su_contact_terms *t, su_contact_points *p, int64_t first, int64_t count,
                           const su_contact_grip *grips, const double *y, const double *x)
{
    for (int64_t k = 0; k < count; k++) {
        su_grip_term *term = t->grips + first + k;
        float *row = t->grip_rows + 2 * (first + k) * t->lead;
        su_contact_slip slip;
        term->limit = 0;
        if (!su_contact_grip_slip(p->body, grips + k, y, &slip)) continue;
        term->limit = grips[k].limit, term->hold = grips[k].hold, term->secant = slip.secant;
        for (int i = 0; i < 2; i++, row += t->lead) {
            double there = take_row(t, p, slip.corner, slip.couple[i], slip.normal, y, x, row);
            there += add_row(t, p, slip.corner, slip.share, slip.axis[i], y, x, row);
            term->way[i] = slip.way[i] - there;
        }
    }
}

/* ---- between looks ---- */

static void finish_products(su_contact_terms *t, double *A)
{
    if (t->scaled_count) t->kernels->gram(t->scaled_count, t->r, t->lead, t->scaled, A);
    t->scaled_count = 0;
}

/* A += factor row row' */
static void add_product(su_contact_terms *t, double factor, const float *row, double *A)
{
    float *scaled = t->scaled + t->scaled_count * t->lead;
    float root = (float)sqrt(factor);
    for (int64_t j = 0; j < t->lead; j++) scaled[j] = root * row[j];
    if (++t->scaled_count == SU_CONTACT_ROWS) finish_products(t, A);
}

static void add(int64_t count, double factor, const float *row, double *out)
{
    for (int64_t j = 0; j < count; j++) out[j] += factor * (double)row[j];
}

static double press(su_contact_terms *t, int64_t at, const double *q, double *out, double *A)
{
    const su_contact_term *term = t->terms + at;
    const float *row = t->rows + DIRECTIONS * at * t->lead;
    double over = term->over - (q ? dot(t->lead, row, q) : 0), energy = 0;
    if (q ? over > 0 : term->pressed) {
        energy = 0.5 * term->stiffness * over * over;
        add(t->r, -term->stiffness * over, row, out);
        if (A) add_product(t, term->stiffness, row, A);
    }
    for (int k = 0; k < term->sides; k++) {
        row += t->lead;
        double moved = term->moved[k] + (q ? dot(t->lead, row, q) : 0);
        energy += 0.5 * term->beside * moved * moved;
        add(t->r, term->beside * moved, row, out);
        if (A) add_product(t, term->beside, row, A);
    }
    return energy;
}

static double hold(su_contact_terms *t, int64_t at, const double *q, double *out, double *A)
{
    const su_grip_term *grip = t->grips + at;
    const float *row = t->grip_rows + 2 * at * t->lead;
    double way[2];
    for (int i = 0; i < 2; i++) way[i] = grip->way[i] + (q ? dot(t->lead, row + i * t->lead, q) : 0);
    double secant, size = sqrt(way[0] * way[0] + way[1] * way[1]);
    double energy = su_contact_slip_energy(grip->limit, grip->hold, size, &secant);
    if (!q) secant = grip->secant;
    for (int i = 0; i < 2; i++) {
        add(t->r, secant * way[i], row + i * t->lead, out);
        if (A) add_product(t, secant, row + i * t->lead, A);
    }
    return energy;
}

double su_contact_terms_evaluate(su_contact_terms *t, const double *q, double *out, double *A)
{
    double energy = 0;
    for (int64_t k = 0; k < t->count; k++)
        if (t->terms[k].stiffness > 0) energy += press(t, k, q, out, A);
    for (int64_t k = 0; k < t->grip_count; k++)
        if (t->grips[k].limit > 0) energy += hold(t, k, q, out, A);
    finish_products(t, A);
    return energy;
}
