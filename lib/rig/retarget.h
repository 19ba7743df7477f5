/* A clip on another skeleton: joints turn in the world as those of the other do, whatever their own axes are. */
#ifndef SU_RIG_RETARGET_H
#define SU_RIG_RETARGET_H

#include "io/scene/scene.h"
#include "rig/human_bones.h"

/* A node of the clip's scene and the one here that moves as it does. */
typedef struct su_joint_pair {
    int32_t there, here;
    su_human_bone bone; /* SU_HUMAN_NONE: not a human's */
} su_joint_pair;

/* Channels of `clip`, which moves `from`, for nodes of `scene`: with rest rotations S_i there and T_i here (bind poses,
 * else node poses) and A the right-angled rotation that brings the skeletons nearest to each other,
 *     R_i(t) = A S_i(t) S_i' A' C_i T_i,
 * C_i what takes the bones here from their rest pose into that of the other (arms that hang to arms that are spread):
 * of a human its arms, legs and fingers, of any other skeleton each joint that one other hangs on. Joints that hang on
 * none that is paired (of a human its hips) also go where it does, and others move in their parents, by ways taken
 * *size times as long: legs here over legs there, of others the median bone. Both rest poses count as standing on one
 * ground, by their lowest joints. Keys stand where the clip's do, at most 1/30 s apart. Of the pairs here none stands
 * for parts of one node (links). out: its channel, channels of the scene's arena. */
su_status su_retarget(const su_scene *from, const su_scene_clip *clip, su_scene *scene, int64_t pairs,
                      const su_joint_pair *pair, su_scene_clip *out, double *size, su_error *err);

#endif
