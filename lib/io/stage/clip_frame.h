/* Frames of clips as people write them and programs name them: "CLIP:FRAME", CLIP the clip's name or that of its file,
 * FRAME in the clip's own numbers, which begin at the animation's frame_start. */
#ifndef SU_IO_CLIP_FRAME_H
#define SU_IO_CLIP_FRAME_H

#include "io/stage/anim.h"

#include <stddef.h>

/* Room for the name of any frame: a file's name (NAME_MAX), a colon, a number. */
enum { SU_CLIP_FRAME_ROOM = 256 + 32 };

typedef struct su_clip_frame {
    int clip;      /* which of the clips */
    int64_t frame; /* of its frames, from 0 */
} su_clip_frame;

/* File name without folder and endings: "run" of "out/run.anim.npz". */
void su_clip_stem(const char *path, char *out, size_t room);

/* The clip's own number of a frame. */
double su_clip_frame_number(const su_anim *anim, int64_t frame);

/* "run:63" of "out/run.anim.npz" and 63. */
void su_clip_frame_name(const char *path, double number, char *out, size_t room);

/* Finds what `text` names among `count` clips and the files they came from. `option` is for messages. SU_USAGE where
 * there is no such clip or no such frame. */
su_status su_clip_frame_find(int count, const su_anim *clips, const char *const *paths, const char *option,
                             const char *text, su_clip_frame *out, su_error *err);

#endif
