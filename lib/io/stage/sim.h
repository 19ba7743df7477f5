/* supple.sim (docs/formats.md). A simulated shot: reduced coordinates, or displacements of the full space. */
#ifndef SU_IO_SIM_H
#define SU_IO_SIM_H

#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_sim {
    su_file file;
    int64_t F;              /* frames */
    int64_t r;              /* modes */
    int64_t m;              /* example poses */
    int64_t n;              /* flesh vertices (full space only) */
    int64_t full;           /* frames K of a reduced shot whose displacement is not U q */
    double *times;          /* (F) s */
    double *q;              /* (F,r) optional: reduced */
    double *qdot;           /* (F,r) optional: over the last substep, 1/s */
    double *weights;        /* (F,m) w */
    double *basis_weights;  /* (F,m) optional: b */
    double *energy;         /* (F,3) kinetic, elastic, gravity, J */
    int32_t *iterations;    /* (F) */
    int32_t *status;        /* (F) 0 ok, 1 halved, 2 damped, 3 failed */
    double *error_estimate; /* (F) optional: RMS of U(p) q less u of the full space, m */
    int32_t *contacts;      /* (F) optional: pairs of the flesh with itself that press */
    double *contact_depth;  /* (F) optional: deepest of them, beyond what is allowed, m */
    double *rig_depth;      /* (F) optional: how deep the rig's own shape lies in itself, m */
    double *u;              /* (F,n,3) optional: full space, root frame, m */
    int32_t *full_frame;    /* (full) optional: ascending; whose displacement is the full space's */
    float *full_u;          /* (full,n,3) optional: their displacement, in place of U q */
    int64_t substeps;       /* of path */
    double *path; /* (F,substeps,r) optional, not in the file: q at the end of each substep that leads to a frame; 0
                   * where motion starts */
} su_sim;

extern const su_schema su_sim_schema;

/* Room for F frames of a run in the full space, all 0 but for times (F), copied: no optional array but u, which waits
 * in a file beside the output and not in memory. Frees with the file. */
su_status su_sim_take_full(su_sim *sim, const char *output, int64_t F, int64_t m, int64_t n, const double *times,
                           su_error *err);

/* As su_schema_load, _save and _free. */
su_status su_sim_load(const char *path, su_sim *sim, su_error *err);
su_status su_sim_save(const char *path, const su_sim *sim, su_error *err);
void su_sim_free(su_sim *sim);

#endif
