/* Bases of several example poses made comparable: turned back to the neutral pose, where they are matched by Procrustes
 * along a tree of poses (PSSD section 5.1; docs/formats.md, conventions 11 and 12). A basis is r rows of n vertices
 * times 3. */
#ifndef SU_REDUCE_ALIGN_H
#define SU_REDUCE_ALIGN_H

#include "core/error.h"

#include <stdint.h>

/* out_v = R_v in_v of every row (back != 0: R_v' in_v). quaternions (n,4); in and out (r,n,3), out may be in. */
void su_turn_basis(int64_t r, int64_t n, const double *quaternions, int back, const double *in, double *out,
                   int threads);

/* C (r,r) = A M B', M = diag of mass (n) three times each; A, B (r,n,3). Summed in fixed blocks: the result does not
 * depend on the number of threads. */
su_status su_mass_product(int64_t r, int64_t n, const double *mass, const double *A, const double *B, double *C,
                          int threads, su_error *err);

/* Greedy tree from pose 0 (PSSD section 5.1, end): again and again the nearest pair, by |(p_i - p_j) o scale|, of a
 * pose inside and one outside; ties go to the lower numbers. parent (m), parent[0] = -1; order (m): parents first. */
void su_alignment_tree(int64_t m, int64_t s, const double *params, const double *scale, int32_t *parent,
                       int32_t *order);

/* What is aligned; all borrowed. */
typedef struct su_alignment {
    int64_t m, r, n, s;
    const double *params, *scale; /* (m,s), (s) */
    const double *mass;           /* (n) */
    const double *rotations;      /* (m,n,4) neutral to pose */
    const int32_t *mode_region;   /* (r) ascending */
} su_alignment;

/* Rotates the columns of `basis` within each region so that it is as near as can be to `parent` in the mass norm (PSSD
 * eq. 11, 12): afterwards the region's diagonal block of basis M parent' is symmetric positive semidefinite. Both
 * (r,n,3), turned back to the neutral pose. angles (r) rad: subspace angles, ascending within a region. Of `what` it
 * needs mass and regions. */
su_status su_procrustes(const su_alignment *what, const double *parent, double *basis, double *angles, int threads,
                        su_error *err);

/* Everything in place: modes in pose coordinates become the aligned bases of the neutral pose. basis (m,r,n,3): U_i in,
 * aligned and turned back out. parent (m), angles (m,r). */
su_status su_align(const su_alignment *what, double *basis, int32_t *parent, double *angles, int threads,
                   su_error *err);

/* gram (m,m,r,r) = Û_i' M Û_j; gram[j,i] is exactly the transpose of gram[i,j]. */
su_status su_gram(int64_t m, int64_t r, int64_t n, const double *mass, const double *basis, double *gram, int threads,
                  su_error *err);

#endif
