/* The linear part of the reduced elastic force, K(p) q: roots of reduced stiffness at a number of anchors, blended to an instant and
 * squared (reduce/anchors.h says why).
 * Cubature tets then stand only for what a force has beyond its linearization about the rest shape (docs/reduction.md).
 * Matrices are packed: for each 8 rows, columns from the first of them to `lead`, their strict upper triangle and half the
 * diagonal, so that K = T + T'. */
#ifndef SU_RUNTIME_LINEAR_FORCE_H
#define SU_RUNTIME_LINEAR_FORCE_H

#include "runtime/model_runtime.h"
#include "runtime/pose_part.h"

/* Entries of one packed matrix, with a gap of 8 rows that kernels may read; a multiple of SU_MIX. */
int64_t su_linear_entries(int64_t size, int64_t lead);
/* K (r,r) symmetric into packed, which holds zeros. */
void su_linear_pack(int64_t r, int64_t lead, const double *K, float *packed);
/* full (lead,lead) = K, both triangles. */
void su_linear_unpack(int64_t size, int64_t lead, const float *packed, float *full);

/* out (lead) += factor * K q, q (lead). */
void su_linear_times(const su_runtime_model *model, const float *packed, double factor, const double *q, double *out);
/* A (lead,lead) += factor * K, upper triangle. */
void su_linear_add(const su_runtime_model *model, const float *packed, double factor, double *A);

/* What linear elasticity about the rest shape would answer to strains is taken off, as far as the anchors are trusted (matrices
 * of an instant have the part of trust in them that its pose decides): stress (lanes of 9) -= trust * factor * volume P0, P0 = mu (G + G') + lambda tr G;
 * derivative (lanes of 45, NULL: left alone) -= trust * volume * dP0/dG. stiffness: on mu, lambda. */
void su_linear_subtract(const su_runtime_model *model, const su_pose *pose, double trust, double stiffness, const double *strain,
                        double factor, double *stress, float *derivative);
/* Energy of that linear answer for element e at strain G (9), J. */
double su_linear_energy(const su_pose *pose, double trust, double stiffness, int64_t e, const double G[9]);

#endif
