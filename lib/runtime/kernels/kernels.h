/* The vector kernels of stepping, in one source compiled for several instruction sets and chosen at run time. Arrays
 * are 64-byte aligned; lengths called padded are multiples of 8. Panels and derivatives of the stress are stored in
 * float, what is not said to be float is computed in double. */
#ifndef SU_RUNTIME_KERNELS_H
#define SU_RUNTIME_KERNELS_H

#include "physics/material.h"

#include <stdbool.h>
#include <stdint.h>

/* Elements in lanes: entry a of element e stands at [(e / 8 * entries + a) * 8 + e % 8]; derivatives in float have 16
 * lanes. */
enum {
    SU_LANES = 8,
    SU_DERIVATIVE_LANES = 16,
    SU_DERIVATIVE_ENTRIES = 45,
    SU_ABREAST_COLUMN = 9 * SU_DERIVATIVE_LANES /* a column of B of sixteen tets abreast (9,16) */
};
/* The next multiple of SU_LANES. */
static inline int64_t su_padded(int64_t count) { return (count + SU_LANES - 1) / SU_LANES * SU_LANES; }
/* Where entry 0 of an element stands: of the nine of a strain or stress, the others SU_LANES apart, and of a
 * derivative. */
static inline int64_t su_strain_at(int64_t e) { return e / SU_LANES * SU_LANES * 9 + e % SU_LANES; }
static inline int64_t su_derivative_at(int64_t e)
{
    return e / SU_DERIVATIVE_LANES * SU_DERIVATIVE_LANES * SU_DERIVATIVE_ENTRIES + e % SU_DERIVATIVE_LANES;
}

/* Elastic response of all elements at F = 1 + strain. */
typedef struct su_response {
    su_material material;
    int64_t count;             /* padded elements */
    const double *mu, *lambda; /* (count) */
    const double *volume;      /* (count) */
    double stiffness;          /* factor on mu and lambda */
    const double *strain;      /* lanes, 9 entries, row-major */
    bool project;              /* clip negative eigenvalues */
    double linear;             /* stress is less linear * D strain (0: the stress itself) */
    double *stress;            /* lanes, 9 entries: volume * (P - linear D strain) */
    float *derivative;         /* lanes, 45 entries: upper triangle of volume * dP/dF by rows; NULL: not wanted */
    double damping;        /* adds damping * held (strain - carried) to the stress, damping * held to the derivative */
    const float *held;     /* lanes, 45 entries; may be NULL where damping is 0 */
    const double *carried; /* lanes, 9 entries */
    uint8_t *irregular;    /* (count / 8) out: bit set where the lane was left to the scalar code (inverted or nearly
                            * flat, or a stretch block that is not definite) */
} su_response;

/* Products of one panel, `count` elements from element `first`, whose B stand row by row. */
typedef struct su_panel_products {
    int64_t first, count, columns, stride;
    const float *B;          /* (count,9,stride) */
    const float *derivative; /* lanes, 45 entries, of all elements, as the next */
    const double *stress;    /* lanes, 9 entries; NULL: no force */
    float *work;             /* (72 stride + 8) */
    double *tile;            /* (columns,stride) */
    double *force;           /* (stride) */
} su_panel_products;

/* The inertial load of a step that ends at instant 1 and began at 0, after one that began at -1. */
typedef struct su_inertia_load {
    int64_t count;                             /* padded */
    const double *acceleration;                /* (3,count) of the rig, in the world */
    const double *turn1, *turn0, *turn_before; /* (9,count) P from the neutral pose into the world; turn0 NULL: no
                                                * displacements */
    const double *u0, *u_before;               /* (3,count) displacements, turned back to the neutral pose, m */
    double ratio, h;                           /* of the step to the one before; s */
} su_inertia_load;

typedef struct su_kernels {
    const char *name;
    /* out[k] = row k of A (rows, stride padded) times x (stride). Reads up to 7 rows beyond the last. */
    void (*rows_times)(int64_t rows, int64_t stride, const float *A, const double *x, double *out);
    /* The same in float. */
    void (*rows_times_float)(int64_t rows, int64_t stride, const float *A, const float *x, double *out);
    /* sum (stride) += A' x, x (rows) */
    void (*rows_combine)(int64_t rows, int64_t stride, const float *A, const double *x, double *sum);
    /* u (4,3,count), displacements turned back to the neutral pose, at the corners of tets: from that of the first
     * corner, at base (count) in still (3,kept), and the tet's strain (lanes): R u_c = R u_0 + strain (x_c - x_0).
     * rotation (4,9,count); gradient (12,count) of shape functions, which knows the edges; 0 in the padding. */
    void (*corners)(int64_t count, int64_t kept, const int32_t *base, const double *still, const float *rotation,
                    const double *gradient, const double *strain, double *u);
    /* The way back at another instant: strain (lanes) = sum over corners of (R u) g'. */
    void (*turned_strain)(int64_t count, const float *rotation, const double *u, const double *gradient,
                          double *strain);
    void (*respond)(const su_response *what);
    /* tile += B' D B, force += B' t with D the derivative, t the stress. The upper triangle is meant; left of it up to
     * fifteen entries of a row are written as well. The products of eight elements are summed in float, their sums in
     * double. */
    void (*tangent)(const su_panel_products *what);
    /* C (columns,stride) += R'R, R (depth,stride), which is read up to eight entries beyond its end. Of C as of the
     * tangent's tile; products are summed in float, their sums in double. */
    void (*gram)(int64_t depth, int64_t columns, int64_t stride, const float *R, double *C);
    /* Panels whose tets stand abreast: B [count / 16][columns][9][16], count a multiple of 16 and the first tet one of
     * sixteens. The same tangent, its upper triangle alone; lanes sum products of eight elements in float. work:
     * columns (columns + 1) / 2 + 7 times 16 entries. */
    void (*tangent_abreast)(int64_t count, int64_t columns, int64_t stride, const float *B, const float *derivative,
                            float *work, double *tile);
    /* force (columns) += B' t; strain (lanes) = B q, and in float. t, strain and derivative start at the panel's first
     * tet. */
    void (*force_abreast)(int64_t count, int64_t columns, const float *B, const double *t, double *force);
    void (*strain_abreast)(int64_t count, int64_t columns, const float *B, const double *q, double *strain);
    void (*strain_abreast_float)(int64_t count, int64_t columns, const float *B, const float *q, double *strain);
    /* A = U'U in place, upper triangle by rows, size padded, lead padded; inverse (size): 1 / diagonal. False where A
     * is not positive definite or not finite. */
    bool (*cholesky)(int64_t size, int64_t lead, double *A, double *inverse);
    /* x = (U'U)^-1 x */
    void (*solve)(int64_t size, int64_t lead, const double *U, const double *inverse, double *x);

    /* Largest |a - b|^2 of points by component (3,count); b NULL: 0. */
    double (*largest_square)(int64_t count, const double *a, const double *b);
    /* z (3,count) = P1'(acceleration) + ((1 + ratio)(1 - P1'P0) u0 - ratio (1 - P1'P_1) u_1) / h^2, turned back to the
     * neutral pose. */
    void (*inertia)(const su_inertia_load *what, double *z);
} su_kernels;

#endif
