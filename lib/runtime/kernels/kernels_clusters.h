/* The vector kernels of a step in skinning eigenmodes (docs/skinning.md), in one source compiled for several
 * instruction sets. Clusters stand in panels of eight: entry a of the 3 x 3 matrix of cluster c is at su_strain_at(c) +
 * 8 a. Coordinates Z (K,3) are stored by columns of `stride` entries, a multiple of 8, with zeros from K on. All arrays
 * are 64-byte aligned. */
#ifndef SU_RUNTIME_KERNELS_CLUSTERS_H
#define SU_RUNTIME_KERNELS_CLUSTERS_H

#include <stdint.h>

/* Numbers that the eight clusters of a panel take: matrices (9,8), a row of each A (3,8). */
enum { SU_CLUSTER_MATRICES = 9 * 8, SU_CLUSTER_ROWS = 3 * 8 };

typedef struct su_cluster_kernels {
    const char *name;
    /* F = start + Z' A of all clusters (eq. 31). A (panels,K,3,8) in float; start NULL: 0. */
    void (*gradients)(int64_t panels, int64_t K, int64_t stride, const float *A, const double *Z, const double *start,
                      double *F);
    /* The way back: out = sum over clusters of A_c S_c'. */
    void (*gather)(int64_t panels, int64_t K, int64_t stride, const float *A, const double *S, double *out);
    /* The proper rotation nearest to each F, by Newton's method from the rotations in R, to rounding. Sets bits of
     * `hard` (panels) where a lane did not come to an end; its R is of no use then. */
    void (*rotations)(int64_t panels, const double *F, double *R, uint8_t *hard);
    /* Corotational stress of all clusters, S = V (2 mu (F - R) + lambda tr(R'F - 1) R). vmu, vlambda (8 panels): V mu,
     * V lambda. Returns the energy. */
    double (*corotational)(int64_t panels, const double *vmu, const double *vlambda, const double *F, const double *R,
                           double *S);
    /* y = B x, B (size,size) symmetric, size = stride a multiple of 8. */
    void (*triple)(int64_t size, const double *B, const double *x, double *y);
} su_cluster_kernels;

#endif
