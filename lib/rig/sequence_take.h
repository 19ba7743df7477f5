/* A mesh sequence without a rig (OBJ frames, PC2, MDD, Alembic) as a supple.anim: welded, in metres, in its root frame.
 */
#ifndef SU_RIG_SEQUENCE_TAKE_H
#define SU_RIG_SEQUENCE_TAKE_H

#include "core/progress.h"
#include "io/stage/anim.h"
#include "io/cache/sequence.h"

#include <stdint.h>

typedef struct su_sequence_options {
    double unit, scale;       /* m per unit of the file (0: choose as su_choose_unit), and a factor after it (0: 1) */
    int up;                   /* 0 x, 1 y, 2 z */
    double rate;              /* frames per second where the file carries no times; 0: 24 */
    double fps;               /* of the result; 0: that of the file. Between frames positions follow cubic splines */
    double first, last;       /* frame numbers (time * fps); NAN: the sequence's own ends */
    double number;            /* what to call the first frame; NAN: its own number */
    const char *const *rigid; /* objects that only follow, by name */
    int rigid_count;
    int64_t neutral_frame; /* number of the frame (counted from 0) that is the neutral pose; -1: the neutral mesh that
                              the sequence was opened with, else frame 0 */
} su_sequence_options;

typedef struct su_sequence_take {
    su_sequence *sequence; /* borrowed */
    su_anim anim;          /* all but points; file.meta belongs to the caller until it is saved */
    double unit, fps, start, frame_start, size[3], diagonal;
    int unit_guessed, up;
    int64_t moved_apart;      /* source vertices that lie together in the neutral pose only, and stay apart */
    int64_t degenerate;       /* triangles left out */
    double convert[16];       /* file to world */
    double shift[3];          /* world to the neutral pose */
    double *times;            /* (sequence frames) s */
    const char **param_names; /* (anim.s) borrowed, where the caller has set params; NULL: none */
    int32_t *first;           /* (nbar) source vertex of each skin vertex */
} su_sequence_take;

/* Reads every frame once. path: for messages. */
su_status su_sequence_take_create(su_sequence *sequence, const char *path, const su_sequence_options *options,
                                  su_progress *progress, su_sequence_take *out, su_error *err);
void su_sequence_take_free(su_sequence_take *take);
/* Reads every frame again, fits its root frame and writes it; four frames in memory. Adds clip, fps, frame_start,
 * source_unit, source_up and the names to meta. */
su_status su_sequence_take_save(su_sequence_take *take, const char *path, const char *clip, json_t *meta,
                                su_progress *progress, su_error *err);

#endif
