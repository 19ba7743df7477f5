/* The pose-dependent basis of a model: region blocks, and the column normalization of PSSD eq. 15.
 *   U(p)_v = R_v(p) sum_i b_i(p) U^_{i,v} Y(p)        corotated (default)
 *   U(p)_v =        sum_i w_i(p) R_{i,v} U^_{i,v} Y(p)  linear: the paper's eq. 14
 * Linear is the same expression with blocks turned to their poses, R = 1 and b = w. */
#ifndef SU_RUNTIME_REDUCED_BASIS_H
#define SU_RUNTIME_REDUCED_BASIS_H

#include "core/error.h"
#include "io/stage/model.h"
#include "rig/interpolation.h"

#include <stdint.h>

/* m is the number of bases: that of the example poses, or 1 for all of them; then b is not read and counts as 1.
 * Columns of U are ordered by region. Blocks are borrowed from the model, or owned copies when linear. */
typedef struct su_reduced_basis {
    int64_t m, r, d, n;
    su_interpolation interpolation;
    int64_t *first_mode;      /* (d+1) first column of each region */
    const int32_t **vertices; /* (d) vertices of each region */
    int64_t *vertex_count;    /* (d) */
    const float **blocks;     /* (d) each (m, modes of the region, vertices, 3) */
    double *mass;             /* (n) lumped masses, kg */
    double *norms;            /* (m,m,r) diagonals of the Gram matrices */
    const double *gram;       /* (m,m,r,r) */

    su_arena arena;
} su_reduced_basis;

/* Columns of a region. */
static inline int64_t su_region_modes(const su_reduced_basis *basis, int64_t region)
{
    return basis->first_mode[region + 1] - basis->first_mode[region];
}

/* Borrows from the model. Linear needs the model's rotations (SU_INPUT without). */
su_status su_reduced_basis_create(const su_model *model, su_interpolation interpolation, su_reduced_basis *basis,
                                  su_error *err);
void su_reduced_basis_free(su_reduced_basis *basis);

/* Y (r): 1 / max(norm of each blended column, 0.1) for blend weights b (m; not read where m = 1). */
void su_reduced_basis_scale(const su_reduced_basis *basis, const double *b, double *scale);

#endif
