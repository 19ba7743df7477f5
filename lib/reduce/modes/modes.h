/* Linear modes and modal derivatives of one region of the flesh at one example pose (PSSD section 5, eq. 10; sections 6
 * and 7, eq. 31-35). */
#ifndef SU_REDUCE_MODES_H
#define SU_REDUCE_MODES_H

#include "core/progress.h"
#include "fem/elastic.h"
#include "linalg/constrained_inverse.h"
#include "reduce/modes/contact.h"

#include <stdbool.h>
#include <stdint.h>

/* What the modes depend on. All pointers borrowed. */
typedef struct su_mode_problem {
    const su_elastic *elastic; /* rest shape and material of the pose set; held: to the rig, or outside the region */
    const double *x;           /* (n,3) the rest shape */
    const double *weights;     /* (n) W' > 0 on the free vertices; NULL: ones */
    const su_contact_rows *contact; /* rows C u = 0 (docs/formats.md, convention 10); NULL: none */
    bool keep_rigid; /* rigid motions of parts without held vertices: count among the modes, else left out */
    const su_eigen_watch *watch; /* NULL: nobody wants to know */
    const su_progress *progress; /* may stop it; NULL: nobody does */
} su_mode_problem;

typedef struct su_mode_report {
    bool projected;       /* K at the rest shape was indefinite (collapsed tets): element-wise projection */
    int64_t applications; /* solves with K, in columns */
    int64_t constraints;  /* independent contact rows */
    int64_t rigid;        /* rigid motions of floating parts */
    double residual;      /* largest ||K y - lambda W M W y|| / ||K y||, forces of constraints taken out */
    double seconds_factor, seconds_eigen, seconds_derivatives, seconds_pca;
} su_mode_report;

/* Least number of linear modes that is at least `linear` and, with all its derivatives, gives r columns. */
int64_t su_modes_least_linear(int64_t r, int64_t linear);

/* eigenvalues (linear), rad^2/s^2; modes (r,n,3): the linear modes W y, then the leading mass-PCA
 * directions of the derivatives W z_ij scaled by lambda_1^2/(lambda_i lambda_j) after the linear span is removed
 * (docs/formats.md, convention 9). All are orthonormal in M and exactly 0 at held vertices. Needs r <= linear +
 * linear (linear + 1)/2 and as many free degrees of freedom. report may be NULL. */
su_status su_modes_solve(const su_mode_problem *problem, int64_t linear, int64_t r, double *eigenvalues, double *modes,
                         su_mode_report *report, int threads, su_error *err);

#endif
