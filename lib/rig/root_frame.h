/* The rigid frame that is factored out of every frame of a shot (docs/formats.md, convention 2). */
#ifndef SU_RIG_ROOT_FRAME_H
#define SU_RIG_ROOT_FRAME_H

#include <stdint.h>

/* root (16) such that p_world = root p_root: the motion of a bone from `rest` to `now` (16 each) without scale; the
 * bone's origin keeps its place in the root frame. rest must be rigid. */
void su_root_from_bone(const double *now, const double *rest, double *root);
/* Without a skeleton: the best rigid fit of the neutral skin to the points of the frame, both (nbar,3). */
void su_root_from_points(int64_t nbar, const double *neutral, const double *points, double *root);
/* Inverse of a rigid transform. */
void su_rigid_inverse(const double *m, double *out);

#endif
