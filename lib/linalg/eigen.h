/* Lowest eigenpairs of K y = lambda M y with diagonal M > 0, given only the inverse of K. */
#ifndef SU_LINALG_EIGEN_H
#define SU_LINALG_EIGEN_H

#include "core/error.h"
#include "core/progress.h"

#include <stdint.h>

/* x = S b for `columns` vectors, one after the other; S symmetric: the inverse of K, of K + shift M, or the inverse of
 * K on the null space of constraints (semidefinite then). x may be b. */
typedef struct su_inverse {
    su_status (*apply)(void *context, int64_t columns, const double *b, double *x, su_error *err);
    void *context;
} su_inverse;

/* Told how far a run is: eigenvalues converged so far, solves done so far. May be called often; must not last. */
typedef struct su_eigen_watch {
    void (*tell)(void *context, int64_t converged, int64_t wanted, int64_t applications);
    void *context;
} su_eigen_watch;

/* K y = lambda M y. All borrowed. */
typedef struct su_eigen_problem {
    int64_t size;
    int64_t rank;                /* dimension of the range of S: size, less the constraints */
    const double *mass;          /* (size) M */
    su_inverse inverse;          /* S */
    double shift;                /* S is the inverse of K + shift M */
    const su_eigen_watch *watch; /* NULL: none */
    const su_progress *progress;
} su_eigen_problem;

/* The `count` lowest eigenvalues, ascending, and vectors (count,size), orthonormal in M, by ARPACK in shift-invert mode
 * on M^1/2 S M^1/2 (its standard symmetric form) from a fixed start vector; a last application of S and a Rayleigh-Ritz
 * step over all vectors follow, which take the stiff error out. The component of largest size of each vector is
 * positive (of nearly equal ones the first), so results are reproducible; repeated eigenvalues give some basis of their
 * space. SU_NUMERICS where ARPACK does not converge, SU_INPUT where count > rank. applications (may be NULL): number of
 * columns S was applied to. Threads of an OpenMP team may call it; their ARPACK runs wait for each other. */
su_status su_eigen_lowest(const su_eigen_problem *problem, int64_t count, double *values, double *vectors,
                          int64_t *applications, su_error *err);

/* Ascending eigenvalues (size) and orthonormal eigenvectors, one after the other, of the dense symmetric matrix in
 * `matrix` (size,size; overwritten by the vectors). LAPACK dsyevd. */
su_status su_eigen_symmetric(int64_t size, double *matrix, double *values, su_error *err);

/* The same of A v = l B v, with v'Bv = 1. B (size,size), definite, is overwritten. dependent: what is wrong where it is
 * not definite. LAPACK dsygvd. */
su_status su_eigen_generalized(int64_t size, double *A, double *B, double *values, const char *dependent,
                               su_error *err);

/* Turns a vector so that its component of largest size (the first within 1e-6 of it) is positive. */
void su_eigen_fix_sign(int64_t size, double *vector);

#endif
