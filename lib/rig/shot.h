/* A shot as the simulators see it: skin, parameters and root frame at any time, by natural cubic splines over the
 * frames (docs/formats.md, convention 17), with the parameters mapped onto those of the model and PSD corrections
 * applied. */
#ifndef SU_RIG_SHOT_H
#define SU_RIG_SHOT_H

#include "core/error.h"
#include "io/stage/anim.h"
#include "rig/rig_space.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What a shot is mapped onto; arrays borrowed. */
typedef struct su_shot_target {
    su_rig_space rig;      /* parameters, sculpts; its m poses are not looked at beyond the neutral one */
    int64_t nbar;          /* skin vertices */
    const double *neutral; /* (nbar,3); NULL where not known: topology is checked by count only */
} su_shot_target;

typedef struct su_shot su_shot;

/* The most sculpted poses that a shot takes. */
enum { SU_SHOT_SCULPTS = 4096 };

/* anim is borrowed for the life of the shot. teleports: frame numbers k such that the spline is cut before frame k.
 * Fails with SU_INPUT on other topology. *unknown (may be NULL) receives a JSON array of names of parameters that move
 * in the shot and that the target does not know (new reference). */
su_status su_shot_create(const su_anim *anim, const char *path, const su_shot_target *target, int teleport_count,
                         const int *teleports, su_shot **out, json_t **unknown, su_error *err);
void su_shot_free(su_shot *shot);

int64_t su_shot_frames(const su_shot *shot);
int64_t su_shot_skin(const su_shot *shot); /* vertices */
/* True where the spline is cut between the frame before and this one. */
bool su_shot_cut(const su_shot *shot, int64_t frame);

/* Where an instant lies: the spline there is here f(frame) + there f(next) + here_second f''(frame) + there_second
 * f''(next). */
typedef struct su_shot_segment {
    int64_t frame, next;
    double here, there, here_second, there_second;
} su_shot_segment;
su_shot_segment su_shot_segment_at(const su_shot *shot, int64_t frame, double fraction);
/* Splines of all that frames have but the skin: second derivatives (F,width) of f (F,width), and the value at an
 * instant, out (width). */
void su_shot_spline(const su_shot *shot, int64_t width, const double *f, double *second);
void su_shot_blend(su_shot_segment at, int64_t width, const double *f, const double *second, double *out);
/* Skin (nbar,3) of a frame before corrections. */
const float *su_shot_points(const su_shot *shot, int64_t frame);
/* The skin's spline at an instant: here f(frame) + there f(next) + sum over i < count of bend[i] (f(k - 1) - 2 f(k) +
 * f(k
 * + 1)), k = first + i. No sum of bends where the instant is a frame. */
enum { SU_SHOT_REACH = 12, SU_SHOT_BENDS = 2 * SU_SHOT_REACH + 2, SU_SHOT_FRAMES = SU_SHOT_BENDS + 2 };
typedef struct su_shot_weights {
    int64_t frame, next, first, count;
    double here, there, bend[SU_SHOT_BENDS];
} su_shot_weights;
su_shot_weights su_shot_weights_at(const su_shot *shot, int64_t frame, double fraction);
/* Corrections to be added at parameters p (s): their number, at most `a` of the rig; weights (.), *shapes
 * (.,nbar,3). */
int64_t su_shot_sculpts(const su_shot *shot, const double *p, double *weights, const double **shapes);

/* The rig at frame + fraction (0 <= fraction <= 1; on the segment that starts at `frame`): p (s); rotation (9)
 * row-major and translation (3) of the root frame. Each may be NULL. Thread-safe, as the next one. */
void su_shot_sample(const su_shot *shot, int64_t frame, double fraction, double *p, double *rotation,
                    double *translation);
/* The skin there: skin (count,3) of the vertices `list` (NULL: all, whatever count), corrected, root frame. */
void su_shot_sample_skin(const su_shot *shot, int64_t frame, double fraction, int64_t count, const int32_t *list,
                         int threads, double *skin);

#endif
