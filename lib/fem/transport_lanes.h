/* What a displacement that is carried from one rest shape to the next lacks, by tets in vector lanes. */
#ifndef SU_FEM_TRANSPORT_LANES_H
#define SU_FEM_TRANSPORT_LANES_H

#include "core/vector_set.h"

#include <stdint.h>

/* A displacement on its way, all of vertices (n,3) or tets (t,.). */
typedef struct su_carried {
    const int32_t *tets;   /* (t,4) */
    const double *inverse; /* (t,9) D_m^-1, neutral */
    const double *weight;  /* (t) mu_e V_e, N m */
    const double *u;       /* where it comes from, m */
    const double *turned;  /* the same, turned with the vertices, m */
    const double *R0, *R1; /* (t,9) R_e at both rest shapes */
} su_carried;

/* For one set of vector units, of tets [first, to): the gradient that u has, turned with the tet, and `turned` lacks.
 */
typedef struct su_carried_kernels {
    /* size (t,2) of the strain of each tet and of what is missing, mu V |.|^2, N m */
    void (*sizes)(const su_carried *way, int64_t first, int64_t to, double *size);
    /* pull (t,12) of the corners of each tet, N */
    void (*pulls)(const su_carried *way, int64_t first, int64_t to, double *pull);
} su_carried_kernels;

extern const su_carried_kernels su_carried_kernels_base, su_carried_kernels_avx2, su_carried_kernels_avx512;

#endif
