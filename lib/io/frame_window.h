/* A few frames around the one that is written, and the motion between them: velocities, and samples for motion blur. */
#ifndef SU_IO_FRAME_WINDOW_H
#define SU_IO_FRAME_WINDOW_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Reach 1: central differences. From 2 on the derivative of the cubic spline through all frames (natural at its ends),
 * of which a frame j frames away carries 0.27^j. */
enum { SU_REACH_DIFFERENCES = 1, SU_REACH_SPLINE = 6 };

typedef struct su_frame_window su_frame_window;

/* values: floats of a frame. reach 0: the frame itself only. Memory for 2 reach + 3 frames. */
su_status su_frame_window_create(int64_t values, int reach, su_frame_window **out, su_error *err);
void su_frame_window_free(su_frame_window *window);

/* Room (values) for the next frame, numbered from `first` of the first call on; valid until 2 reach + 2 more have come.
 * cut: the motion jumps between the frame before and this one. */
float *su_frame_window_push(su_frame_window *window, int64_t first, bool cut);
/* How many frames behind the newest one may stand whose neighbours are all there; the last frames of a shot need none.
 */
int su_frame_window_delay(const su_frame_window *window);
/* A frame that is still here, as it was pushed. */
const float *su_frame_window_frame(const su_frame_window *window, int64_t frame);
/* At frame + fraction, -1 < fraction < 1: cubic between frames, straight on beyond the first, the last and cuts.
 * position, velocity (values; a frame): may be NULL. */
void su_frame_window_sample(const su_frame_window *window, int64_t frame, double fraction, float *position,
                            float *velocity);

#endif
