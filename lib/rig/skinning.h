/* Where the nodes of a scene are at a time, and linear blend skinning. */
#ifndef SU_RIG_SKINNING_H
#define SU_RIG_SKINNING_H

#include "io/scene/scene.h"

#include <stdint.h>

/* local (nodes,16): node to its parent, as su_scene_pose has it to the scene. */
void su_scene_local(const su_scene *scene, const su_scene_clip *clip, double time, double *local);

/* world (nodes,16): node to scene, in the scene's own unit and axes, at a time (s) of the clip (NULL: the node pose).
 * Translation and scale are interpolated linearly, rotation by slerp on the shorter arc; stepped and cubic
 * tracks as glTF 2.0 (appendix C) says; outside its keys a track holds. */
void su_scene_pose(const su_scene *scene, const su_scene_clip *clip, double time, double *world);

/* local (16): a node to another one above it, of their poses in world (nodes,16); as it is in the scene where there is
 * none (-1) or that has no inverse. */
void su_node_in(const double *world, int32_t above, int32_t node, double local[16]);

/* weights (shapes) of the blend shapes of a mesh under a node at a time; defaults where no channel drives them. */
void su_scene_shape_weights(const su_scene *scene, const su_scene_clip *clip, double time, int32_t node,
                            const su_scene_mesh *mesh, double *weights);

/* Skinning weights as rows: those of vertex v are at start[v] .. start[v + 1]; each row sums to 1. Borrowed. */
typedef struct su_skin {
    int64_t vertices;
    const int64_t *start; /* (vertices + 1) */
    const int32_t *bone;
    const double *weight;
} su_skin;

/* out (vertices,3): sum_j w_j T_j p, transforms (bones,16). */
void su_skin_points(const su_skin *skin, const double *points, const double *transforms, int threads, double *out);

/* The same by dual quaternions (Kavan et al. 2008, "Geometric skinning with approximate dual quaternion blending"): no
 * collapsing at bent joints. Each transform is split into a stretch, blended linearly, and a rigid motion, blended as a
 * dual quaternion on the side of the vertex's heaviest bone. room (bones,17) is scratch of the caller. */
void su_skin_points_dual(const su_skin *skin, int64_t bones, const double *points, const double *transforms,
                         int threads, double *room, double *out);

#endif
