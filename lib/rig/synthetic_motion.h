/* A motion of the rig's own, made from its clips and example poses: training material that covers their ranges and
 * speeds. */
#ifndef SU_RIG_SYNTHETIC_MOTION_H
#define SU_RIG_SYNTHETIC_MOTION_H

#include "core/progress.h"
#include "io/stage/anim.h"
#include "io/stage/poses.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_synthetic_options {
    double seconds, fps; /* length, s; frames per second */
    double share;        /* noise about the path, of half of each parameter's range */
    uint64_t seed;
    int threads;
} su_synthetic_options;

/* A clip and where it came from, for messages. */
typedef struct su_synthetic_clip {
    const su_anim *anim;
    const char *path;
} su_synthetic_clip;

typedef struct su_synthetic su_synthetic;

/* poses and clips are borrowed for the life of the motion; poses_path is for messages. SU_INPUT where they are not one
 * character, or where there is one frame in all. */
su_status su_synthetic_create(const su_poses *poses, const char *poses_path, int clips, const su_synthetic_clip *clip,
                              const su_synthetic_options *options, su_synthetic **out, su_error *err);
void su_synthetic_free(su_synthetic *motion);

/* All but points: owned by the motion, or borrowed from the first clip. meta is NULL. */
const su_anim *su_synthetic_anim(const su_synthetic *motion);
int64_t su_synthetic_params(const su_synthetic *motion, const char *const **names);
/* True where joints were moved; else frames of the clips were blended, and *why says why (a clause). */
bool su_synthetic_of_joints(const su_synthetic *motion, const char **why);
/* points (nbar,3) of a frame in the root frame. */
su_status su_synthetic_points(const su_synthetic *motion, int64_t frame, double *points, su_error *err);

/* How the motion compares with the clips: rad/s at the joints that move in both. */
typedef struct su_synthetic_report {
    double clip_speed, speed; /* 99th percentile of the joints' angular speeds, rad/s; 0 without joints */
    double covered; /* part of the clips' parameter ranges that the motion covers, mean over the parameters that move */
} su_synthetic_report;
su_status su_synthetic_measure(const su_synthetic *motion, su_synthetic_report *report, su_error *err);

/* Writes the supple.anim; points go out frame by frame. To meta are added the clip's name, fps, names, and what made
 * it. */
su_status su_synthetic_save(const su_synthetic *motion, const char *path, json_t *meta, su_progress *progress,
                            su_error *err);

#endif
