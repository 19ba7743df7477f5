/* A model of skinning modes that is stepped live, pose by pose, as runtime/supple_runtime.h does it. */
#ifndef SU_RUNTIME_SKINNING_LIVE_H
#define SU_RUNTIME_SKINNING_LIVE_H

#include "core/error.h"
#include "physics/loads.h"
#include "physics/settings.h"
#include "runtime/skinning/skinning_step.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_skinning_live {
    su_skinning_model model;
    su_skinning_rig rig;
    su_sim_settings settings;
    su_skinning_work *work;
    su_skinning_stepper *stepper;
    su_skinning_instant at, next; /* of the pose set last; one after a start */
    int64_t needed;
    int32_t *list; /* (needed) skin vertices that a pose is made from, ascending: all that the flesh is tied to */
    su_arena arena;
} su_skinning_live;

/* source and external (no points: none) are borrowed; settings resolved. */
su_status su_skinning_live_create(const su_model *source, const su_sim_settings *settings, int iterations,
                                  const su_external *external, su_skinning_live **out, su_error *err);
void su_skinning_live_free(su_skinning_live *live);

/* The pose that the next step leads to: parameters p (s), skin (needed,3) corrected, root frame. start: the flesh
 * begins there, at rest on the rig. */
void su_skinning_live_pose(su_skinning_live *live, const double *p, const double *skin, const double Q[9],
                           const double c[3], bool start);
/* Where it has begun, or steps at that pose led (stepped): with the velocity of the rig towards another pose, h seconds
 * later. */
void su_skinning_live_start(su_skinning_live *live, const double *p, const double *skin, const double Q[9],
                            const double c[3], bool stepped, double h);
/* From the next step on. */
void su_skinning_live_set_gravity(su_skinning_live *live, const su_sim_settings *settings);
/* As su_shot_stepper's, to the pose set last. */
bool su_skinning_live_step(su_skinning_live *live, double h, double beta, double extra, int *iterations);

#endif
