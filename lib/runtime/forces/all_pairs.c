#include "runtime/forces/all_pairs.h"

#include "core/memory.h"
#include "core/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct contact {
    su_contact_body body;
    su_contact_finder *finder;
    su_contact_points points;
    bool allow_overlap;
    double *x, *y; /* (n,3) rest positions, positions looked at last */
    bool prepared; /* a step leads to the next state that is kept */
    const su_contact_pair *pairs;
    int64_t count;
    double friction;
    double *before;         /* (n,3) where the flesh was at the state reached, with friction */
    su_contact_grips grips; /* of the pairs that pressed when the step began */
    su_reduced_contact_counts counts;
} contact;

/* The pairs at c->y; none without memory, and out is then not a number. */
static void find(contact *c, double *out)
{
    c->counts.searches++, c->counts.tested += c->body.surface_count;
    if (su_contact_find(c->finder, c->y, &c->pairs, &c->count, NULL) == SU_OK) return;
    c->count = 0;
    if (out) out[0] = NAN;
}

/* Friction of the pairs at c->y in a step of h seconds from c->before on; none without memory, as above. */
static void grip(contact *c, double h, double *out)
{
    c->grips.count = 0;
    if (!(c->friction > 0) || !(h > 0)) return;
    if (!su_contact_grip_all(&c->body, c->count, c->pairs, c->friction, h, c->before, &c->grips)) out[0] = NAN;
}

static void keep(void *self, const void *instant, const su_subspace *subspace, const su_state *reached)
{
    contact *c = self;
    double started = su_seconds();
    if (!c->prepared) { /* a start: nothing has been looked for there */
        su_contact_points_enter(&c->points, instant, subspace);
        if (c->friction > 0) su_contact_points_place(&c->points, reached->q, NULL, c->before);
        return;
    }
    c->prepared = false;
    if (su_contact_points_look(&c->points, reached->q, c->y)) find(c, NULL);
    if (c->friction > 0) memcpy(c->before, c->y, (size_t)(3 * c->body.n) * sizeof *c->y);
    su_reduced_contact_count(&c->counts, c->count, c->pairs);
    c->counts.seconds += su_seconds() - started;
    c->counts.most_seconds = fmax(c->counts.most_seconds, c->counts.seconds - c->counts.before);
}

static int64_t prepare(void *self, const void *instant, const su_subspace *subspace, const su_state *now, double h,
                       double *load)
{
    contact *c = self;
    double started = su_seconds();
    c->counts.before = c->counts.seconds;
    su_contact_points_enter(&c->points, instant, subspace);
    c->prepared = h > 0;
    su_contact_points_place(&c->points, NULL, NULL, c->x);
    su_contact_points_place(&c->points, NULL, now->subspace, c->y);
    if (c->allow_overlap) su_contact_finder_allow(c->finder, c->x);
    find(c, load);
    grip(c, h, load);
    c->counts.steps++;
    c->counts.seconds += su_seconds() - started;
    return 1; /* what is apart here may meet at q */
}

static double evaluate(void *self, const double *q, double *out, double *A)
{
    contact *c = self;
    double started = su_seconds();
    if (q && su_contact_points_look(&c->points, q, c->y)) find(c, out);
    double energy = su_contact_points_respond(&c->points, c->count, c->pairs, c->y, q ? NULL : c->x, out, A);
    energy += su_contact_points_hold(&c->points, c->grips.count, c->grips.grip, c->y, q ? NULL : c->x, out, A);
    c->counts.seconds += su_seconds() - started;
    return energy;
}

static void release(void *self)
{
    contact *c = self;
    su_contact_points_free(&c->points);
    su_contact_finder_free(c->finder);
    su_contact_body_free(&c->body);
    free(c->x), free(c->y), free(c->before), free(c->grips.grip);
    free(c);
}

su_status su_all_pairs_create(const su_all_pairs *what, const su_subspace *subspace, su_contact *out, su_error *err)
{
    contact *c;
    double *k = NULL;
    su_status status;
    SU_TRY(SU_ALLOC(&c, 1, "contact", err));
    c->allow_overlap = what->allow_overlap, c->friction = what->friction;
    SU_GO(su_contact_body_create(what->n, what->neutral, what->t, what->tets, &c->body, err));
    SU_GO(su_contact_finder_create(&c->body, what->threads, &c->finder, err));
    SU_GO(su_contact_points_create(what->n, what->place, what->point, subspace, &c->points, err));
    SU_GO(SU_ALLOC_ALL("contact", err, SU_WANT(k, what->n), SU_WANT(c->x, 3 * what->n), SU_WANT(c->y, 3 * what->n),
                       SU_WANT(c->before, 3 * what->n)));
    c->points.body = &c->body;
    su_contact_stiffness(&c->body, what->young, what->poisson, k);
    for (int64_t v = 0; v < what->n; v++) k[v] *= what->stiffness;
    su_contact_finder_set_stiffness(c->finder, k);
    *out = (su_contact){.self = c,
                        .state_size = c->friction > 0 ? 3 * what->n : 0,
                        .state = c->before,
                        .counts = &c->counts,
                        .keep = keep,
                        .prepare = prepare,
                        .evaluate = evaluate,
                        .release = release};
done:
    free(k);
    if (status != SU_OK) release(c);
    return status;
}

int64_t su_all_pairs_met(const su_contact *all, const su_contact_pair **pairs, su_contact_points **points,
                         const double **y, const double **x)
{
    contact *c = all->self;
    *pairs = c->pairs, *points = &c->points, *y = c->y, *x = c->x;
    return c->count;
}
