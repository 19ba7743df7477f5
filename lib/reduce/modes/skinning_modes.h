/* Skinning eigenmodes (docs/skinning.md, eq. 29; FCD section 4): the lowest eigenpairs of the weights' stiffness among
 * the fields that no row of the rig sees. */
#ifndef SU_REDUCE_SKINNING_MODES_H
#define SU_REDUCE_SKINNING_MODES_H

#include "core/progress.h"
#include "reduce/modes/complementarity.h"
#include "reduce/modes/weight_stiffness.h"

#include <stdint.h>

/* All pointers borrowed. */
typedef struct su_skinning_problem {
    int64_t n, t;
    const double *vertices;                  /* (n,3) neutral */
    const int32_t *tets;                     /* (t,4) */
    const uint8_t *held;                     /* (n) 1: the weight is 0 there; NULL: free everywhere */
    const double *young, *poisson, *density; /* (t) */
    const su_complementarity *rig;           /* NULL: unconstrained */
    su_covariance covariance;
    const su_progress *progress; /* may stop it; NULL: nobody does */
} su_skinning_problem;

typedef struct su_skinning_report {
    int64_t free_vertices, rows; /* unknowns, independent rows of the rig */
    int64_t steps, applications; /* of the eigensolver; columns that H was applied to */
    double residual;             /* largest |error| left in a mode of length 1, as su_eigen_block estimates it */
    double seconds_assembly, seconds_factor, seconds_eigen;
} su_skinning_report;

/* eigenvalues (k) rad^2/s^2, ascending, not negative; weights (n,k) orthonormal in the lumped mass, 0 at held vertices.
 * SU_INPUT where k is more than the free vertices less the rows. report may be NULL. */
su_status su_skinning_modes(const su_skinning_problem *problem, int64_t k, double *eigenvalues, double *weights,
                            su_skinning_report *report, su_error *err);

#endif
