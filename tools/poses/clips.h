/* The clips from which poses are chosen, with their parameters in one space. */
#ifndef POSES_CLIPS_H
#define POSES_CLIPS_H

#include "core/tool.h"
#include "io/stage/anim.h"
#include "io/table.h"

#include <stdint.h>

/* A sculpt that has a name and parameters of its own (--sculpt NAME=FILE): no frame of a clip, or one found by them. */
typedef struct named_sculpt {
    const char *name, *params, *rigged; /* files, NULL: none; rigged: what the rig shows there */
    su_table table;                     /* of params: one row */
    double *points;                     /* (nbar,3) of rigged, root frame; owned by the arena */
    double root[16];                    /* where it stands in the world */
    int64_t frame;                      /* among all */
} named_sculpt;

typedef struct clips {
    su_arena arena;
    int named_count;
    named_sculpt *named; /* (named_count) those with `rigged` count as frames behind all clips, in this order */
    int count;
    su_anim *anim;  /* (count) */
    int64_t *first; /* (count + 1) number of the first frame of each clip among all */
    int64_t frames; /* of the clips and of named sculpts behind them */
    int64_t s;
    const char **names; /* (s) parameters that differ from the neutral pose anywhere */
    double *params;     /* (frames,s) */
    double *range;      /* (s) spread, the neutral pose included */
    double *basis;      /* (s,3 nbar) where the clips have no parameters of their own; owned by the arena */
} clips;

/* Splits --sculpt NAME=FILE, --params NAME=FILE and --rigged NAME=FILE; the first use of a zeroed c. */
su_status clips_name(su_tool *tool, const su_list *sculpt, const su_list *params, const su_list *rigged, clips *c);
/* Loads all inputs; they must be one character. world: of the named shapes, see shape_read. */
su_status clips_load(su_tool *tool, bool world, clips *c);
void clips_free(clips *c);
/* A named sculpt, or CLIP:FRAME (io/stage/clip_frame.h), to a frame among all. option: for messages. */
su_status clips_find(const clips *c, const su_list *inputs, const char *option, const char *text, int64_t *frame,
                     su_error *err);
/* The points of a shape in the character's vertex order as its skin (nbar,3) in the root frame. world: the shape stands
 * in the world of the file at `root` (16), else in the root frame, metres. *spread: how far welded vertices lie apart,
 * m. */
su_status shape_read(const clips *c, const char *path, const double *root, bool world, double *points, double *spread,
                     su_error *err);
/* Parameters of a shot that is not among the clips, in their space: (anim.F,s) of the arena. Parameters that move in it
 * and that the clips do not know are warned about by name. */
su_status clips_map(su_tool *tool, clips *c, const su_anim *anim, const char *path, double **params);
/* The clip of a frame; `count` where it is a named sculpt, *which then. */
int clips_of(const clips *c, int64_t frame, int *which);

#endif
