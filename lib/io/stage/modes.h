/* supple.modes (docs/formats.md). Linear modes and derivatives of some example poses. */
#ifndef SU_IO_MODES_H
#define SU_IO_MODES_H

#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_modes {
    su_file file;
    int64_t k;                    /* poses inside */
    int64_t r;                    /* modes */
    int64_t n;                    /* flesh vertices */
    int64_t linear;               /* linear modes r̂, all regions */
    int64_t d;                    /* regions */
    int64_t offset_count;         /* k + 1 */
    int64_t row_offset_count;     /* R + 1 contact rows */
    int64_t z;                    /* contact coefficients */
    int32_t *pose;                /* (k) */
    double *modes;                /* (k,r,n,3) orthonormal in M within a region, 1/sqrt(kg) */
    double *eigenvalues;          /* (k,linear) rad²/s² */
    double *region_weights;       /* (d,n) W' */
    int32_t *mode_region;         /* (r) ascending */
    int32_t *contact_offsets;     /* (offset_count) optional */
    int32_t *contact_row_offsets; /* (row_offset_count) optional */
    int32_t *contact_vertices;    /* (z) optional */
    double *contact_coefficients; /* (z,3) optional */
} su_modes;

extern const su_schema su_modes_schema;

/* As su_schema_load, _save and _free. */
su_status su_modes_load(const char *path, su_modes *modes, su_error *err);
su_status su_modes_save(const char *path, const su_modes *modes, su_error *err);
void su_modes_free(su_modes *modes);

#endif
