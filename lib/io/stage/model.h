/* supple.model (docs/formats.md). All that the run time and export need for one character. */
#ifndef SU_IO_MODEL_H
#define SU_IO_MODEL_H

#include "geometry/rotation_field.h"
#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_model {
    su_file file;
    int64_t m;                      /* example poses */
    int64_t r;                      /* modes */
    int64_t n;                      /* flesh vertices */
    int64_t t;                      /* tets */
    int64_t ties;                   /* skin vertices that each flesh vertex follows */
    int64_t nbar;                   /* skin vertices n̄ */
    int64_t s;                      /* rig parameters */
    int64_t d;                      /* regions */
    int64_t c;                      /* cubature tets */
    int64_t ci;                     /* inertia vertices c' */
    int64_t a;                      /* sculpted poses and the neutral */
    int64_t fixed_count;            /* held vertices */
    int64_t columns;                /* columns of basis_rbf */
    int64_t bases;                  /* bases Û: one for all poses, or m */
    int64_t n1;                     /* n + 1 where rotations are smoothed */
    int64_t z;                      /* entries of the smoothing */
    int64_t region_size;            /* entries of region_vertices */
    int64_t d1;                     /* d + 1 */
    int64_t block_size;             /* entries of basis_blocks */
    int64_t mean_size;              /* 3n̄ where PCA parameters exist */
    int64_t b;                      /* boundary triangles */
    int64_t k;                      /* skinning modes; then r = 12 k and there are no bases */
    double *vertices;               /* (n,3) neutral flesh, m */
    int32_t *tets;                  /* (t,4) */
    int32_t *surface;               /* (b,3) */
    int32_t *fixed;                 /* (fixed_count) */
    double *neutral;                /* (nbar,3) X̄, m */
    int32_t *embed_tet;             /* (nbar) */
    double *embed_bary;             /* (nbar,4) */
    int32_t *shepard_index;         /* (n,ties) */
    double *shepard_weight;         /* (n,ties) */
    uint8_t *rigid;                 /* (nbar) optional */
    double *params;                 /* (m,s) p_i */
    double *param_scale;            /* (s) */
    double *rbf;                    /* (m,m) */
    double *corrections;            /* (m,n,3) δ_i, m */
    int32_t *turn_start;            /* (n1) optional: smoothing of the rotations, as in supple.fit */
    int32_t *turn_node;             /* (z) optional */
    double *turn_weight;            /* (z) optional */
    double *young;                  /* (m,c) Pa, of the cubature tets */
    double *poisson;                /* (m,c) */
    double *density;                /* (t) kg/m³ */
    double *psd_params;             /* (a,s) optional */
    double *psd_shapes;             /* (a,nbar,3) optional */
    double *psd_rbf;                /* (a,a) optional */
    double *param_mean;             /* (mean_size) optional */
    double *param_basis;            /* (s,mean_size) optional */
    int32_t *region_vertices;       /* (region_size) vertices of each region, ascending within it */
    int32_t *region_vertex_offsets; /* (d1) */
    float *basis_blocks;            /* (block_size) Û: per region a block (bases, r_region, vertices, 3) */
    int64_t *basis_block_offsets;   /* (d1) */
    int32_t *mode_region;           /* (r) */
    double *gram;                   /* (bases,bases,r,r); NULL for skinning modes */

    double *basis_rbf;         /* (m,columns) optional */
    double *rotations;         /* (m,n,4) optional: quaternions w,x,y,z neutral to example pose; only the linear
                                * interpolation of the paper, U(p) = sum w_i R_i U_i, needs them */
    int32_t *cubature_tets;    /* (c) into tets */
    double *cubature_weights;  /* (m,c) */
    double *linear_stiffness;  /* (r,r) optional: D, what the tets lack of the linear force, the same at all poses */
    int32_t *inertia_vertices; /* (ci) into vertices */
    double *inertia_weights;   /* (ci) multiply lumped masses; one set for all poses */
    double *skinning_weights;  /* (n,k) optional: skinning eigenmodes W */
    int32_t *cluster;          /* (c) optional: cluster of each cubature tet, numbered without gaps */
} su_model;

extern const su_schema su_model_schema;

/* Factor on the stiffness of contact of the flesh with itself in the model's subspace (meta `contact_softness`); 1
 * where it was made from motion without. */
double su_model_contact_softness(const su_model *model);

/* As su_schema_load, _save and _free. */
su_status su_model_load(const char *path, su_model *model, su_error *err);
su_status su_model_save(const char *path, const su_model *model, su_error *err);
void su_model_free(su_model *model);

/* The smoothing of the rotations, borrowed; without nodes where the rest shape is that of the pose. */
su_smoothing su_model_smoothing(const su_model *model);

#endif
