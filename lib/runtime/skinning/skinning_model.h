/* What stepping in skinning eigenmodes reads of a model (docs/skinning.md, sections 1 and 2): the space, its stiffness,
 * and the clusters. Coordinates are those of functions that are orthonormal in the mass, so that M_phi is 1; functions
 * that the others span already are left out. Matrices are (stride,stride), symmetric, 0 from K on. */
#ifndef SU_RUNTIME_SKINNING_MODEL_H
#define SU_RUNTIME_SKINNING_MODEL_H

#include "core/error.h"
#include "core/memory.h"
#include "io/stage/model.h"
#include "physics/material.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/subspace/skinning_space.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_skinning_model {
    const su_model *source;            /* borrowed */
    const su_cluster_kernels *kernels; /* of this processor */
    const su_kernels *linear;          /* dense Cholesky of the same set */
    int64_t rows;                      /* of Z in a file, 4 k */
    int64_t K, stride;                 /* rows of the coordinates here, and padded to a multiple of 8 */
    int64_t clusters, panels;          /* panels of eight clusters */
    su_skinning_frame frame;
    double diagonal; /* of the flesh's bounding box, m */
    su_material material;
    bool arap;             /* lambda = 0 everywhere: local and global steps descend by themselves */
    bool neutral_rest;     /* stress is measured from the neutral shape as it is (meta `rest`) */
    float *A;              /* (panels,K,3,8) eq. 31, 1/m */
    double *vmu, *vlambda; /* (8 panels) V mu and V lambda of clusters, J; 0 in the padding */
    double *T;             /* (K,rows): phi here is T times that of eq. 28, and orthonormal in the mass */
    double *stiffness;     /* 2 sum V mu g g' of all tets, 1/s^2 */
    double *remainder;     /* the same less that of the clusters: what varies within them */
    double *weight;        /* (stride) sum of m phi, kg^1/2 */
    double total_mass;     /* kg */
    double *vertex_mass;   /* (n) kg */
    double *tet_gradient;  /* (t,4,3) of the shape functions, 1/m */
    double *tet_vmu;       /* (t) V mu, J */
    int64_t *part_start;   /* (clusters + 1) into the next two */
    int32_t *part_vertex;  /* vertices of each cluster, */
    double *part_share;    /* and their share of its V mu; those of a cluster sum to 1 */
    int64_t bytes;
    su_arena arena;
} su_skinning_model;

/* source is borrowed. */
su_status su_skinning_model_create(const su_model *source, su_skinning_model *out, su_error *err);
void su_skinning_model_free(su_skinning_model *model);

/* phi here from sums over vertices of eq. 28's: out (columns,stride) = T in, in (columns,rows) one column after the
 * other; and coordinates as a file has them: out (rows,3) = T' Z, Z (3,stride). */
void su_skinning_transform(const su_skinning_model *model, int64_t columns, const double *in, double *out);
void su_skinning_to_file(const su_skinning_model *model, const double *Z, double *out);

/* The rotations nearest to F of all clusters, from those in R, in lanes of (panels,9,8). */
void su_skinning_rotations(const su_skinning_model *model, const double *F, double *R);

#endif
