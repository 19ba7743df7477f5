/* Principal shapes of an animation: the few directions whose weighted sums follow all frames best. */
#ifndef SU_LINALG_PRINCIPAL_H
#define SU_LINALG_PRINCIPAL_H

#include "core/error.h"
#include "linalg/sparse.h"

#include <stdint.h>

typedef struct su_principal {
    int64_t count;       /* shapes: at most wanted, fewer where fewer span everything */
    float *mean;         /* (columns) over the frames */
    float *shapes;       /* (count,columns), the most important first; weights reach 1 in size */
    float *weights;      /* (frames,count) */
    double rms, largest; /* what is left: root mean square and largest length over frames and points (3 columns each) */
    double motion;       /* root mean square of the motion about the mean, for comparison */
} su_principal;

/* values (frames,columns), columns a multiple of 3. wanted: the most shapes; bound: fewer where so many leave no more
 * than this, as rms below says (0: all that are wanted). Works on the frames x frames matrix of products: memory of a
 * few blocks of columns besides the result. Signs are fixed: the largest weight of each shape is positive. */
su_status su_principal_shapes(int64_t frames, int64_t columns, const float *values, int64_t wanted, double bound,
                              su_principal *out, su_error *err);
void su_principal_free(su_principal *principal);

/* Counts principal directions in M + kappa K, orthonormal in M all the same, with the kappa at which what they leave of
 * the candidates is as large in M as in kappa K: so the product of the two is least that so many directions can leave.
 * Found by fixed point from 0, `rounds` times (0: M alone). The vectors known: eigenvectors of K y = lambda M y, or
 * none; beside others the product is near the least only. */
typedef struct su_balance {
    const su_sparse *stiffness; /* (size,size) K, semidefinite */
    int64_t rounds;
    int threads;
    double kappa; /* out, of the units of M over those of K */
} su_balance;

typedef struct su_pca {
    int64_t size, known, wanted, candidate_count;
    const double *mass;  /* (size) diagonal M */
    double *vectors;     /* (known + wanted,size): those known, orthonormal in M, and behind them those found */
    double *candidates;  /* (candidate_count,size); overwritten */
    double shortest;     /* of the longest candidate in the norm that counts; 0: only what rounding leaves */
    su_balance *balance; /* NULL: in M */
} su_pca;

/* The leading principal directions in M of the candidates, after the span of the vectors known is removed. Directions
 * below `shortest` do not count. Where there are too few: SU_INPUT, or with `got` (else NULL) as many as there are. */
su_status su_mass_pca(const su_pca *pca, int64_t *got, su_error *err);

#endif
