#include "runtime/forces/all_pairs.h"

#include "contact/kept_pairs.h"
#include "core/memory.h"
#include "core/threads.h"
#include "runtime/forces/contact_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct contact {
    su_contact_body body;
    su_contact_finder *finder;
    su_kept_pairs kept; /* of the step at hand */
    su_contact_points points;
    su_contact_terms terms; /* of these */
    bool allow_overlap;
    double *x, *y; /* (n,3) rest positions, positions looked at last */
    bool prepared; /* a step leads to the next state that is kept */
    bool lost;     /* there was no memory: forces are not finite */
    int64_t acting;
    double friction;
    double *before;         /* (n,3) where the flesh was at the state reached, with friction */
    su_contact_grips grips; /* of the pairs that pressed when the step began */
    su_reduced_contact_counts counts;
} contact;

/* Pairs and terms at c->y, which is that of the points' q or, where x is not NULL, of a displacement y - x. */
static void meet(contact *c, const double *x)
{
    int64_t met;
    c->counts.searches++, c->counts.tested += c->body.surface_count;
    c->lost = c->lost || su_kept_pairs_meet(&c->kept, c->y, &met, NULL) != SU_OK ||
              !su_contact_terms_reserve(&c->terms, c->kept.count, c->grips.count);
    if (c->lost) return;
    c->acting = su_contact_terms_look(&c->terms, &c->points, 0, c->kept.count, c->kept.pairs, c->y, x);
    su_contact_terms_grip(&c->terms, &c->points, 0, c->grips.count, c->grips.grip, c->y, x);
}

/* Friction of the pairs at c->y in a step of h seconds from c->before on. */
static void grip(contact *c, double h)
{
    if (!(c->friction > 0) || !(h > 0)) return;
    c->lost = c->lost ||
              !su_contact_grip_all(&c->body, c->kept.count, c->kept.pairs, c->friction, h, c->before, &c->grips) ||
              !su_contact_terms_reserve(&c->terms, c->kept.count, c->grips.count);
    if (!c->lost) su_contact_terms_grip(&c->terms, &c->points, 0, c->grips.count, c->grips.grip, c->y, c->x);
}

static int64_t look(void *self, const double *q)
{
    contact *c = self;
    double started = su_seconds();
    if (q && su_contact_points_look(&c->points, q, c->y)) meet(c, NULL);
    c->counts.seconds += su_seconds() - started;
    return c->acting;
}

static void keep(void *self, const void *instant, const su_subspace *subspace, const su_state *reached)
{
    contact *c = self;
    if (!c->prepared) { /* a start: nothing has been looked for there */
        su_contact_points_enter(&c->points, instant, subspace);
        if (c->friction > 0) su_contact_points_place(&c->points, reached->q, NULL, c->before);
        return;
    }
    c->prepared = false;
    if (c->friction > 0) look(c, reached->q), memcpy(c->before, c->y, (size_t)(3 * c->body.n) * sizeof *c->y);
    su_reduced_contact_count(&c->counts, c->kept.count, c->kept.pairs);
    c->counts.most_seconds = fmax(c->counts.most_seconds, c->counts.seconds - c->counts.before);
}

static int64_t prepare(void *self, const void *instant, const su_subspace *subspace, const su_state *now, double h,
                       double *load)
{
    contact *c = self;
    double started = su_seconds();
    (void)load;
    c->counts.before = c->counts.seconds;
    su_contact_points_enter(&c->points, instant, subspace);
    c->prepared = h > 0, c->lost = false, c->grips.count = 0;
    su_contact_points_place(&c->points, NULL, NULL, c->x);
    su_contact_points_place(&c->points, NULL, now->subspace, c->y);
    if (c->allow_overlap) su_contact_finder_allow(c->finder, c->x);
    su_kept_pairs_begin(&c->kept, NULL);
    su_contact_terms_begin(&c->terms);
    meet(c, c->x);
    grip(c, h);
    c->counts.steps++;
    c->counts.seconds += su_seconds() - started;
    return 1; /* what is apart here may meet at q */
}

static double evaluate(void *self, const double *q, double *out, double *A)
{
    contact *c = self;
    double started = su_seconds();
    if (c->lost) out[0] = NAN;
    double energy = su_contact_terms_evaluate(&c->terms, q, out, A);
    c->counts.seconds += su_seconds() - started;
    return energy;
}

static void release(void *self)
{
    contact *c = self;
    su_contact_terms_free(&c->terms);
    su_contact_points_free(&c->points);
    su_kept_pairs_free(&c->kept);
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
    SU_GO(su_kept_pairs_create(&c->body, c->finder, &c->kept, err));
    SU_GO(su_contact_points_create(what->n, what->place, what->point, subspace, &c->points, err));
    SU_GO(su_contact_terms_create(subspace, &c->terms, err));
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
                        .look = look,
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
    *pairs = c->kept.pairs, *points = &c->points, *y = c->y, *x = c->x;
    return c->kept.count;
}
