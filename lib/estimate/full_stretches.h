/* Stretches of a reduced shot that are played in the full space: which frames, and their displacements
 * (docs/reduction.md, section 6). Each begins in the reduced state, displacement and velocity, and fades back
 * into the reduced motion at its end. */
#ifndef SU_ESTIMATE_FULL_STRETCHES_H
#define SU_ESTIMATE_FULL_STRETCHES_H

#include "core/memory.h"
#include "estimate/error_estimate.h"

#include <stdint.h>

/* Tolerance of bakes: with it shots of five characters of four makers were within 0.05 % of their motion of what 1e-8
 * gives, at half of the time (docs/notes/2026-11-error.md). */
#define SU_PLAY_TOLERANCE 1e-3

/* Frames first .. last are full, those from `fade` on with a falling share: 1 just before, 0 behind the last. A stretch
 * that the shot ends with does not fade: fade = last + 1. */
typedef struct su_full_stretch {
    int64_t first, fade, last;
} su_full_stretch;

typedef struct su_full_stretches {
    int64_t count;
    su_full_stretch *stretch; /* (count) ascending, apart */
    int64_t frames;           /* of all stretches */
    double seconds;           /* that playing took */
    int64_t damped, failed;   /* steps of the full simulation */
    su_arena arena;
} su_full_stretches;

/* Stretches around all frames whose estimate (F) m exceeds the limit, and around those whose status (F; NULL: none) is
 * SU_STATUS_DAMPED or worse. frame_seconds: of one frame. */
su_status su_full_stretches_choose(int64_t F, const double *estimate, double limit, const int32_t *status,
                                   double frame_seconds, su_full_stretches *out, su_error *err);
void su_full_stretches_free(su_full_stretches *stretches);

/* Plays them beside the reduced run, Newton to `tolerance`, relative to the forces. u (frames,n,3) m, root frame:
 * displacements of the frames of stretches. status (F): that of the full simulation where nothing else is in a frame;
 * where they mix, the worse. estimate (F): goes from what it is just before a stretch to what it is just behind. The
 * same for any number of threads. progress may be NULL. */
su_status su_full_stretches_play(const su_estimate_inputs *inputs, su_full_stretches *stretches, double tolerance,
                                 int threads, float *u, int32_t *status, double *estimate, su_progress *progress,
                                 su_error *err);

#endif
