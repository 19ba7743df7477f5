/* Poses of a rig by linear blend skinning straight from its bones: the same numbers as skinning_rig.h makes from the
 * skin, linear in the bones and so independent of the mesh (FCD section 8.2). Where the rest is turned what is free of
 * stress is the rotation of a cluster's mean of the smooth gradients, in place of its mean of their rotations; and
 * relative gravity turns with the nodes of the smoothing, as vertices weigh them, in place of with the vertices. Flesh
 * without a smoothing (a posed rest, neutral there) turns with its clusters' own gradients. */
#ifndef SU_RUNTIME_SKINNING_BONES_H
#define SU_RUNTIME_SKINNING_BONES_H

#include "core/error.h"
#include "core/memory.h"
#include "runtime/skinning/skinning_rig.h"

#include <stdint.h>

typedef struct su_skinning_bones {
    const su_skinning_model *model; /* borrowed */
    int64_t bones, rows, stride;    /* rows 4 (bones + 1): the last stands still; padded to a multiple of 8 */
    int64_t room;                   /* doubles of scratch that a pose takes */
    float *A;                       /* (panels,rows,3,8) gradients of clusters by the bones' entries, 1/m; NULL where
                                     * N is made of the nodes' */
    double *rig;                    /* (rows,stride of the model) sum of m phi by the same */
    int64_t nodes;                  /* of the smoothing; without one the clusters */
    float *node;                    /* (panels of nodes,rows,3,8) their gradients, as A (or A itself) */
    int64_t *share_start;           /* (clusters + 1) into the next two; NULL with A */
    int32_t *share_node;            /* nodes of each cluster, */
    double *share;                  /* and what it takes of them */
    double *carried;                /* (nodes,stride of the model) sum of m phi, as vertices weigh nodes, kg^1/2 */
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
 * (of->room): scratch. */
void su_skinning_bones_pose(const su_skinning_bones *of, const double *bones, const double Q[9], const double c[3],
                            double *room, su_skinning_instant *out);

/* Kinetic energy, J, of flesh that goes along with bones, and the one that stands still in the root frame, whose
 * entries change by speed (bones + 1,3,4) a second. */
double su_skinning_bones_energy(const su_skinning_bones *of, const double *speed);

#endif
