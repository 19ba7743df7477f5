/* supple.fit (docs/formats.md). The flesh at the example poses: fitted rest shapes, corrections, materials. */
#ifndef SU_IO_FIT_H
#define SU_IO_FIT_H

#include "geometry/rotation_field.h"
#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_fit {
    su_file file;
    int64_t k;           /* poses inside */
    int64_t n;           /* flesh vertices */
    int64_t t;           /* tets */
    int64_t m;           /* example poses */
    int64_t s;           /* rig parameters */
    int64_t a;           /* sculpted poses and the neutral */
    int64_t nbar;        /* skin vertices n̄ (psd) */
    int64_t mean_size;   /* 3n̄ where PCA parameters exist */
    int64_t n1;          /* n + 1 where rotations are smoothed */
    int64_t z;           /* entries of the smoothing */
    int32_t *pose;       /* (k) */
    double *shapes;      /* (k,n,3) x_i, m */
    double *corrections; /* (k,n,3) δ_i, m */
    double *params;      /* (m,s) p_i */
    double *param_scale; /* (s) */
    double *rbf;         /* (m,m) biharmonic weights */
    double *young;       /* (k,t) Pa */
    double *poisson;     /* (k,t) */
    double *density;     /* (t) kg/m³ */
    int32_t *turn_start; /* (n1) optional: first entry of each vertex */
    int32_t *turn_node;  /* (z) optional */
    double *turn_weight; /* (z) optional: φ */
    double *psd_params;  /* (a,s) optional */
    double *psd_shapes;  /* (a,nbar,3) optional */
    double *psd_rbf;     /* (a,a) optional */
    double *param_mean;  /* (mean_size) optional */
    double *param_basis; /* (s,mean_size) optional */
} su_fit;

extern const su_schema su_fit_schema;

/* As su_schema_load, _save and _free. */
su_status su_fit_load(const char *path, su_fit *fit, su_error *err);
su_status su_fit_save(const char *path, const su_fit *fit, su_error *err);
void su_fit_free(su_fit *fit);

/* The smoothing of the rotations, borrowed; without nodes where the rest shape is that of the pose (meta `rest`). */
su_smoothing su_fit_smoothing(const su_fit *fit);

#endif
