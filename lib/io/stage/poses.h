/* supple.poses (docs/formats.md). The example poses p_i with their skins. */
#ifndef SU_IO_POSES_H
#define SU_IO_POSES_H

#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_poses {
    su_file file;
    int64_t m;             /* example poses */
    int64_t nbar;          /* skin vertices n̄ */
    int64_t T;             /* triangles */
    int64_t s;             /* rig parameters */
    int64_t a;             /* sculpted poses and the neutral */
    int64_t B;             /* bones */
    int64_t K;             /* blend shapes */
    int64_t mean_size;     /* 3n̄ where PCA parameters exist */
    double *neutral;       /* (nbar,3) X̄, m */
    int32_t *triangles;    /* (T,3) */
    double *params;        /* (m,s) p_i */
    double *param_scale;   /* (s) */
    double *shapes;        /* (m,nbar,3) corrected skin, root frame, m; [0] = neutral */
    double *rigged;        /* (m,nbar,3) before correction */
    double *psd_params;    /* (a,s) optional */
    double *psd_shapes;    /* (a,nbar,3) optional: δ̄ */
    double *psd_rbf;       /* (a,a) optional */
    double *param_mean;    /* (mean_size) optional */
    double *param_basis;   /* (s,mean_size) optional */
    double *young;         /* (m,nbar) optional */
    double *poisson;       /* (m,nbar) optional */
    float *weights;        /* (nbar,B) optional */
    double *bone_segments; /* (B,2,3) optional */
    double *bone_rest;     /* (B,4,4) optional */
    int32_t *bone_parent;  /* (B) optional */
    double *bones;         /* (m,B,4,4) optional: bone to root frame at each example pose */
    double *morphs;        /* (K,nbar,3) optional */
    uint8_t *rigid;        /* (nbar) optional */
} su_poses;

extern const su_schema su_poses_schema;

/* As su_schema_load, _save and _free. */
su_status su_poses_load(const char *path, su_poses *poses, su_error *err);
su_status su_poses_save(const char *path, const su_poses *poses, su_error *err);
void su_poses_free(su_poses *poses);

#endif
