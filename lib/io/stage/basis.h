/* supple.basis (docs/formats.md). Aligned bases of all example poses, turned back to the neutral pose. */
#ifndef SU_IO_BASIS_H
#define SU_IO_BASIS_H

#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_basis {
    su_file file;
    int64_t m;              /* bases: one a pose, or one for all */
    int64_t r;              /* modes */
    int64_t n;              /* flesh vertices */
    int64_t d;              /* regions */
    int64_t columns;        /* m + 1 + s columns of basis_rbf */
    int64_t s;              /* rig parameters */
    int64_t f;              /* states that one basis for all poses was made from */
    double *basis;          /* (m,r,n,3) Û_i */
    double *rotations;      /* (m,n,4) quaternions w,x,y,z neutral to pose */
    double *gram;           /* (m,m,r,r) Û_iᵀ M Û_j */
    int32_t *parent;        /* (m) -1 at the neutral pose */
    double *angles;         /* (m,r) rad */
    double *basis_rbf;      /* (m,columns) optional: B of docs/formats.md, convention 7 */
    double *param_scale;    /* (s) */
    int32_t *mode_region;   /* (r) */
    double *region_weights; /* (d,n) */
    double *state_q;        /* (f,r) optional: reduced coordinates of those states */
    double *state_force;    /* (f,r) optional: elastic forces of the flesh there, in the basis */
    double *state_contact;  /* (f,r) optional: forces of the flesh on itself there, in the basis */
    int32_t *state_shot;    /* (f) optional: shot of each, as listed in meta `shots` */
    int32_t *state_frame;   /* (f) optional: its frame, from 0 */
    int32_t *state_start;   /* (f) optional: frame from which it was played, at rest there; -1: coarsely */
} su_basis;

extern const su_schema su_basis_schema;

/* As su_schema_load, _save and _free. */
su_status su_basis_load(const char *path, su_basis *basis, su_error *err);
su_status su_basis_save(const char *path, const su_basis *basis, su_error *err);
void su_basis_free(su_basis *basis);

#endif
