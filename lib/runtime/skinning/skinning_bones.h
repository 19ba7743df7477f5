/* Poses of a rig by linear blend skinning straight from its bones: the same numbers as skinning_rig.h makes from the
 * skin, linear in the bones and so independent of the mesh (FCD section 8.2). What is free of stress is then the
 * rotation of a cluster's own mean gradient where the rest is turned. */
#ifndef SU_RUNTIME_SKINNING_BONES_H
#define SU_RUNTIME_SKINNING_BONES_H

#include "core/error.h"
#include "core/memory.h"
#include "runtime/skinning/skinning_rig.h"

#include <stdint.h>

typedef struct su_skinning_bones {
    const su_skinning_model *model; /* borrowed */
    int64_t bones, rows, stride;    /* rows 4 (bones + 1): the last stands still; padded to a multiple of 8 */
    float *A;                       /* (panels,rows,3,8) gradients of clusters by the bones' entries, 1/m */
    double *rig;                    /* (rows,stride of the model) sum of m phi by the same */
    double *carried;                /* (clusters,stride of the model) sum of m phi of each cluster's vertices, kg^1/2 */
    double *strain;                 /* (rows,stride of the model) of a neutral rest; else NULL */
    double *mass;                   /* (rows,rows) sum of m j j' of vertices that are j of the bones' entries, kg */
    double gravity[3];              /* m/s^2: what is carried; 0: nothing */
    su_arena arena;
} su_skinning_bones;

/* weights (nbar,bones): the skin's; skin (nbar,3) that the bones move: bones are given from where this is the shape,
 * the identity leaving it there. */
su_status su_skinning_bones_create(const su_skinning_model *model, const su_sim_settings *settings, int64_t bones,
                                   const float *weights, const double *skin, su_skinning_bones *out, su_error *err);
void su_skinning_bones_free(su_skinning_bones *of);
/* The instant of bones (bones,3,4), rotation and translation of each from the neutral pose, root frame. room
 * (3,stride): scratch. */
void su_skinning_bones_pose(const su_skinning_bones *of, const double *bones, const double Q[9], const double c[3],
                            double *room, su_skinning_instant *out);

/* Kinetic energy, J, of flesh that goes along with bones, and the one that stands still in the root frame, whose
 * entries change by speed (bones + 1,3,4) a second. */
double su_skinning_bones_energy(const su_skinning_bones *of, const double *speed);

#endif
