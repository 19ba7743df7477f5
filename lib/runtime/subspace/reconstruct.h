/* From reduced coordinates back to displacements: u = U(p) q on the flesh and A u on the skin, frames in blocks. */
#ifndef SU_RUNTIME_RECONSTRUCT_H
#define SU_RUNTIME_RECONSTRUCT_H

#include "core/error.h"
#include "io/stage/model.h"
#include "io/stage/sim.h"
#include "rig/shot.h"
#include "runtime/subspace/reduced_basis.h"

#include <stdint.h>

typedef struct su_reconstruct su_reconstruct;

/* Frames that one call handles best; scratch is allocated for as many. */
enum { SU_RECONSTRUCT_BLOCK = 64 };

/* model is borrowed. list (count): the skin vertices wanted. Only the flesh that carries them is evaluated then, and u
 * covers only that flesh. list NULL: all skin vertices, with count 0 and all of the flesh, with any other count as with
 * a list. */
su_status su_reconstruct_create(const su_model *model, su_interpolation interpolation, int64_t count,
                                const int32_t *list, int threads, su_reconstruct **out, su_error *err);
void su_reconstruct_free(su_reconstruct *reconstruct);

/* The skin points that must be given (ascending), and the flesh vertices that u has (all of the flesh without a list).
 */
int64_t su_reconstruct_skin_needed(const su_reconstruct *reconstruct, const int32_t **list);
int64_t su_reconstruct_flesh(const su_reconstruct *reconstruct, const int32_t **list);

/* Any number of frames: skin (frames,needed,3) corrected skin in the root frame, w and b (frames,m), q (frames,r).
 * u (frames,flesh,3) and displacement A u (frames,count,3; zero at rigid vertices), root frame, m; either may be NULL.
 * A frame's bytes depend neither on the block it came in nor on the threads. */
void su_reconstruct_frames(su_reconstruct *reconstruct, int64_t frames, const double *skin, const double *w,
                           const double *b, const double *q, double *u, double *displacement);

/* One frame alone, as live models want it: the same but for the rounding of float, in a fifth of the time. skin, w and
 * b as above, not read of skinning modes; q (r); u (flesh,3), displacement (count,3); either may be NULL. */
void su_reconstruct_one(su_reconstruct *reconstruct, const double *skin, const double *w, const double *b,
                        const double *q, double *u, double *displacement);

/* The same in two parts, for hosts that know poses ahead: rotations of as many as SU_REST_FRAMES frames
 * (kernels_pose.h) in the lanes of vectors, which take hardly longer than those of one; then a frame of them, to the
 * same bits as alone. They last until the next call of su_reconstruct_turn, su_reconstruct_one or
 * su_reconstruct_frames. */
void su_reconstruct_turn(su_reconstruct *reconstruct, int64_t frames, const double *skin, const double *w);
void su_reconstruct_turned(su_reconstruct *reconstruct, int64_t frame, const double *w, const double *b,
                           const double *q, double *u, double *displacement);

/* What is wanted of frames of a shot, in the root frame, m; each may be NULL. */
typedef struct su_shot_motion {
    double *u;            /* (frames,n,3) of the flesh */
    double *displacement; /* (frames,nbar,3) A u */
    double *points;       /* (frames,nbar,3) corrected skin + A u */
} su_shot_motion;

/* Frames first .. first + frames - 1 of a shot (frames <= SU_RECONSTRUCT_BLOCK), reduced or full-space, all skin
 * vertices (the reconstruct must have been made without a list; for u with count 0). */
su_status su_reconstruct_shot(su_reconstruct *reconstruct, const su_shot *shot, const su_sim *sim, int64_t first,
                              int64_t frames, const su_shot_motion *wanted, su_error *err);

/* How the sim file was made: meta "interpolation", corotated where absent. */
su_interpolation su_sim_interpolation(const su_sim *sim);

#endif
