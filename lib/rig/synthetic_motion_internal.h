/* Shared by the files that make a synthetic motion. */
#ifndef SU_RIG_SYNTHETIC_MOTION_INTERNAL_H
#define SU_RIG_SYNTHETIC_MOTION_INTERNAL_H

#include "rig/clip_path.h"
#include "rig/clip_rig.h"
#include "rig/joint_motion.h"
#include "rig/synthetic_motion.h"

struct su_synthetic {
    su_arena arena;
    const su_poses *poses;
    int clips;
    const su_synthetic_clip *clip;
    const su_anim **clip_anim; /* (clips) */
    su_synthetic_options options;
    su_anim anim;       /* file.meta NULL; arrays of the arena or of the first clip */
    const char **names; /* (anim.s) */
    const char *why;    /* NULL: joints were moved */
    double diagonal, centre[3];

    int32_t sources; /* clips, then example poses */
    su_path_source *source;
    int64_t *near;     /* (sources) of poses: the frame that they are most like; poses stand in the world as it does */
    int64_t frames;    /* of all sources */
    float *features;   /* (frames,3 FEATURES) */
    double skin_speed; /* of features in the clips, diagonals a second */
    su_path path;
    su_joint_frames joints; /* B 0: none */

    su_clip_rig rig;       /* without joints: empty, or not to be used */
    double *shape_weights; /* (F,K) */
};

#endif
