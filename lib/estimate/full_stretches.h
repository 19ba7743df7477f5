/* Stretches of a reduced shot that are played in the full space: which frames, and their displacements
 * (docs/reduction.md, section 6). Each begins in the reduced state, displacement and velocity, and fades back
 * into the reduced motion at its end. */
#ifndef SU_ESTIMATE_FULL_STRETCHES_H
#define SU_ESTIMATE_FULL_STRETCHES_H

#include "core/memory.h"
#include "estimate/error_estimate.h"

#include <stdbool.h>
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

/* Frames of a shot, and how many a stretch begins before and ends behind the frames that it is for, and fades. */
typedef struct su_stretch_rule {
    int64_t F, run_in, fade;
} su_stretch_rule;

/* frame_seconds: of one frame. */
su_stretch_rule su_stretch_rule_of(int64_t F, double frame_seconds);
/* Room for the stretches of a shot; none are there. */
su_status su_full_stretches_create(int64_t F, su_full_stretches *out, su_error *err);
void su_full_stretches_free(su_full_stretches *stretches);
/* Frame k, behind all before it, is to be played in the full space: the last stretch goes on to there where it comes
 * near, else a new one begins (true), at `from` (<= k) or as long before k as the rule has it, whichever is later. */
bool su_full_stretches_reach(su_full_stretches *stretches, const su_stretch_rule *rule, int64_t k, int64_t from);

typedef struct su_full_options {
    double bound;     /* of the shot's motion, relative; INFINITY: only for steps that were damped or failed */
    double tolerance; /* of Newton, relative to the forces */
    int threads;
    /* Called once, before the first stretch is played: room (F,n,3) for the displacements of all frames. */
    su_status (*room)(void *self, float **u, su_error *err);
    void *self;
} su_full_options;

/* Estimates the error of a shot in the order of its frames, and plays it in the full space where the estimate exceeds
 * the bound or the reduced run's steps were damped or failed, until the full motion itself says that the reduced one is
 * near enough again. u (frames,n,3) m, root frame: displacements of the frames of stretches. status (F): that of the
 * full simulation where nothing else is in a frame; where they mix, the worse. estimate (F): outside of stretches; in
 * them it goes from what it is where one begins to what the full motion says where it ends. total: of the reduced run
 * alone, by the estimate or, in stretches, by the full motion. The same for any number of threads. SU_NUMERICS where
 * the full space fails. progress may be NULL. */
su_status su_full_stretches_play(const su_estimate_inputs *inputs, const su_full_options *options,
                                 su_full_stretches *stretches, int32_t *status, double *estimate,
                                 su_estimate_total *total, su_progress *progress, su_error *err);

#endif
