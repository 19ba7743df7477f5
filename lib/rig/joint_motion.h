/* Motion of a skeleton along a path through its clips, with noise in every joint within the joint's own range. */
#ifndef SU_RIG_JOINT_MOTION_H
#define SU_RIG_JOINT_MOTION_H

#include "core/error.h"
#include "core/memory.h"
#include "rig/clip_path.h"

#include <stdint.h>

/* Numbers of a joint's state: rotation vector against the neutral pose (rad), translation (m), stretch (3x3):
 * bone = above . [R_neutral exp(v) S | t]. Frames are blended in these numbers, as the rig parameters are: what lies
 * between two poses then lies between them in the parameters too, whatever way round is shorter. */
enum { SU_JOINT_STATE = 15, SU_JOINT_AXES = 9 /* rotation vector, translation, log of scale: three each */ };

/* The frames that there are, joint by joint, and what they say of each joint's range. */
typedef struct su_joint_frames {
    su_arena arena;
    int64_t B, frames;
    int32_t *above;     /* (B) joint that each is relative to, -1: the root frame; above[b] < b */
    double *state;      /* (frames,B,SU_JOINT_STATE) */
    double *neutral;    /* (B,4) rotation at the neutral pose, quaternion */
    double *low, *high; /* (B,SU_JOINT_AXES) over all frames */
    double *speed;      /* (B) largest angular speed within a clip, rad/s */
} su_joint_frames;

/* Borrowed. */
typedef struct su_joint_tree {
    int64_t B;
    const double *rest;    /* (B,16) */
    const int32_t *parent; /* (B) each less than its own index */
    const int32_t *twin;   /* (B) an earlier joint that each is fixed to (a node that two meshes bind), or -1 */
} su_joint_tree;

/* Where its joints are in some sources of frames. Borrowed. */
typedef struct su_joint_sources {
    int32_t count;
    const su_path_source *source;
    const double *const *bones; /* of each source (frames,B,16) */
    const int64_t *near;        /* frame among all, of an earlier source, or -1 */
} su_joint_sources;

/* Rotation vectors are unwrapped over the frames of a source, the first against frame near[source] (-1: at most half a
 * turn). */
su_status su_joint_frames_create(const su_joint_tree *tree, const su_joint_sources *from, su_joint_frames *out,
                                 su_error *err);
void su_joint_frames_free(su_joint_frames *frames);

/* Largest difference of the rotation vectors of two frames, rad. */
double su_joint_distance(const su_joint_frames *frames, int64_t a, int64_t b);
/* How long a fade between two frames takes for no joint to turn faster than in the clips, s. */
double su_joint_fade(const su_joint_frames *frames, int64_t a, int64_t b);

typedef struct su_joint_noise {
    uint64_t seed;
    double share;    /* amplitude of the noise, of each range's half */
    double diagonal; /* m: size of the character */
} su_joint_noise;

/* bones (F,B,16) in the root frame at times k / fps. */
su_status su_joint_motion(const su_joint_frames *frames, const su_path *path, const su_joint_noise *noise, int64_t F,
                          double fps, double *bones, su_error *err);

/* The noise of one parameter: three bands, the faster two swelling and fading with the body and by themselves. */
typedef struct su_axis_noise su_axis_noise;
/* For `count` parameters; stream: a number apart for each set. Owned by the arena; NULL without memory. */
su_axis_noise *su_axis_noise_make(su_arena *arena, uint64_t seed, uint64_t stream, int64_t count);
/* What is added to parameter k at a time: within share of half the range [low, high] about the value `centre`, and
 * never far out of the range. */
double su_axis_noise_at(const su_axis_noise *noise, int64_t k, double time, double centre, double low, double high,
                        double share, double least);

#endif
