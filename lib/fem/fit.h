/* The flesh fitted to the skin of an example pose (PSSD eq. 3): the shape x that minimizes
 *
 *     sum_v a_v |(A x - skin)_v|^2 / D^2 + gamma E(x) / (E V)
 *
 * with skin area weights a_v that sum to 1, D the diagonal, V the volume and E(x) the stable neo-Hookean energy about
 * the neutral shape, which stays finite where the start has inverted tets. Where it may not pass through itself,
 * springs that grow until it does not (docs/contact.md, eq. 1) are added at the end. */
#ifndef SU_FEM_FIT_H
#define SU_FEM_FIT_H

#include "core/error.h"
#include "core/progress.h"

#include <stdint.h>

/* All arrays borrowed. */
typedef struct su_fit_problem {
    int64_t n, t, nbar, held_count;
    const double *vertices;   /* (n,3) neutral flesh */
    const int32_t *tets;      /* (t,4) */
    const int32_t *held;      /* vertices tied to the place they have in the start */
    const int32_t *embed_tet; /* (nbar) */
    const double *embed_bary; /* (nbar,4) A */
    const double *area;       /* (nbar) a_v, sum 1; 0 leaves a skin vertex out */
    double diagonal;          /* D, m */
    double gamma;             /* dimensionless */
    double residual;          /* wanted, over D: gamma is made smaller until it is met; 0: gamma as it is */
    double poisson;
    double deepest; /* over D: flesh inside itself may be so deep; 0: as deep as the skin has it */
} su_fit_problem;

typedef struct su_fit_report {
    int iterations;    /* Newton steps */
    double residual;   /* sqrt(sum a_v |A x - skin|^2) / D */
    double largest;    /* largest |A x - skin| / D over the vertices with weight */
    int64_t collapsed; /* tets below 0.1 of their neutral volume at the end (docs/formats.md, convention 8) */
    int64_t inverted;  /* tets without positive volume at the end */
    double gamma;      /* the one it ended with */
    double held_off;   /* largest distance of a held vertex from where it belongs, over D */
    double deepest;    /* contact of the flesh with itself at the end, over D; 0 where nothing asks for it */
} su_fit_report;

typedef struct su_fit_solver su_fit_solver;

/* Assembles what all poses share: pattern, its analysis, the data term. One thread may use a solver at a time. */
su_status su_fit_solver_create(const su_fit_problem *problem, su_fit_solver **out, su_error *err);
void su_fit_solver_free(su_fit_solver *solver);

/* x (n,3): in, the start, with held vertices where they belong; out, the fitted shape. skin (nbar,3). An
 * as-rigid-as-possible layout, su_untangle on what that leaves closed, then Newton with projected element Hessians,
 * su_volume_barrier keeping open tets open. Repeated with a smaller gamma, at most down to gamma/4096, until the
 * residual is as wanted: each time the one that should meet it were the residual a power of gamma, between a quarter
 * and a 64th of the last. Below gamma/16 the hold on held vertices softens as well. Then flesh that passes through
 * itself is pushed apart, where the problem asks for it. */
su_status su_fit_pose(su_fit_solver *solver, const double *skin, double *x, su_fit_report *report, int threads,
                      const su_progress *progress, su_error *err);

/* Held vertices that belong to one bone alone: no tet around them has a corner held by another bone. firm (held_count)
 * receives them, the number is returned. Where bones meet, carrying every vertex by its own bone would crush the tets
 * between them, so there the fit decides. */
int64_t su_fit_firm(int64_t n, int64_t t, const int32_t *tets, int64_t held_count, const int32_t *held,
                    const int32_t *held_bone, int32_t *firm, su_error *err);

/* area (nbar): a third of the area of each triangle around a skin vertex, over the sum; 0 where skip (NULL: none) is
 * set. */
su_status su_skin_area_weights(int64_t nbar, const double *skin, int64_t triangles, const int32_t *triangle,
                               const uint8_t *skip, double *area, su_error *err);

#endif
