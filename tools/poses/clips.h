/* The clips from which poses are chosen, with their parameters in one space. */
#ifndef POSES_CLIPS_H
#define POSES_CLIPS_H

#include "core/tool.h"
#include "io/anim.h"

#include <stdint.h>

typedef struct clips {
    su_arena arena;
    int count;
    su_anim *anim;             /* (count) */
    int64_t *first;            /* (count + 1) number of the first frame of each clip among all */
    int64_t frames;
    int64_t s;
    const char **names;        /* (s) parameters that differ from the neutral pose anywhere */
    double *params;            /* (frames,s) */
    double *range;             /* (s) spread, the neutral pose included */
    double *basis;             /* (s,3 nbar) where the clips have no parameters of their own; owned by the arena */
} clips;

/* Loads all inputs; they must be one character. */
su_status clips_load(su_tool *tool, clips *out);
void clips_free(clips *c);
/* "CLIP:FRAME", CLIP the clip's name or its file's, FRAME in the clip's own numbers, to a frame among all. option: for
 * messages. */
su_status clips_find(const clips *c, const su_list *inputs, const char *option, const char *text, int64_t *frame,
                     su_error *err);
/* The clip of a frame. */
int clips_of(const clips *c, int64_t frame);
/* File name without folder and endings: "run" of "out/run.anim.npz". */
void clips_stem(const char *path, char *out, size_t room);

#endif
