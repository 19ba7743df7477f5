/* A rig that plays a clip, for hosts of supple_runtime.h that have none of their own: previews, tests, a first step
 * before a game's own rig takes its place. The clip is a shot as `supple import` writes it (.anim.npz), sampled at any
 * time by the splines that `supple sim` follows. */
#ifndef SUPPLE_CLIP_H
#define SUPPLE_CLIP_H

#include "supple_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct supple_clip supple_clip;

/* For this runtime's character: its parameters by name, its needed skin points. The runtime must outlive the clip. NULL
 * on failure, with a sentence in message (size bytes). */
supple_clip *supple_clip_open(const char *anim_path, const supple_runtime *runtime, char *message, size_t size);
void supple_clip_close(supple_clip *clip);

/* Seconds from the first frame to the last, and frames a second. */
double supple_clip_seconds(const supple_clip *clip);
double supple_clip_rate(const supple_clip *clip);

/* What supple_set_pose wants, `seconds` after the first frame (held at both ends): parameters (supple_parameters),
 * points (needed,3) in the root frame, root frame to world (4,4). */
void supple_clip_pose(const supple_clip *clip, double seconds, double *parameters, double *points, double root[16]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
