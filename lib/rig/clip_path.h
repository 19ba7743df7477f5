/* A way through the frames of clips: which frames show at a time, and with which weights. Entries follow each other,
 * each a stretch of one clip played at its own speed or a frame that is held; each fades into the next. */
#ifndef SU_RIG_CLIP_PATH_H
#define SU_RIG_CLIP_PATH_H

#include "core/error.h"
#include "core/memory.h"

#include <stdbool.h>
#include <stdint.h>

#define SU_PATH_PEAK 1.875 /* largest speed of a fade, times its mean speed (a polynomial of degree 5) */

typedef struct su_path_source {
    int64_t first, frames; /* numbers of its frames among those of all sources */
    double fps;            /* Hz */
    const double *root;    /* (frames,16) root frame to world */
    bool cyclic;           /* its last frame is its first: it may go on */
    double turn[16];       /* cyclic: root motion of one cycle, about the vertical and along the ground */
} su_path_source;

typedef struct su_path_entry {
    int32_t source;
    double begin, fade;   /* s: its weight grows from 0 at begin to 1 at begin + fade, when the entry before has left */
    double origin, speed; /* frame at begin; frames per second of the path, 0: held */
    double place[16];     /* world of the clip to world of the path: about the vertical and along the ground */
} su_path_entry;

typedef struct su_path_options {
    uint64_t seed;
    double seconds;
    int32_t clips;           /* the first so many sources are clips to be played (at least one); the others are poses */
    bool walk;               /* stretches of a walk over held frames alternate with played ones */
    double slowest, fastest; /* of playing, times the clip's own speed */
    bool backwards;          /* clips may be played backwards */
    int candidates;          /* of so many random places to join a clip to the one before, the most alike is taken */
    double fade;             /* s: shortest fade */
    double centre[3];        /* m: the point that keeps its place on the ground where entries meet */
    /* How far two frames lie apart, and how long a fade between them takes (s) at an ordinary speed. */
    double (*distance)(const void *context, int64_t a, int64_t b);
    double (*duration)(const void *context, int64_t a, int64_t b);
    const void *context;
} su_path_options;

typedef struct su_path {
    su_arena arena;
    const su_path_source *sources; /* borrowed */
    double centre[3];
    int64_t count;
    su_path_entry *entry;
} su_path;

/* Marks a clip whose last frame is its first, and finds its turn. */
void su_path_close(su_path_source *source, const double centre[3]);
/* The path begins at frame 0 of source `start`. */
su_status su_path_create(int32_t sources, const su_path_source *source, int32_t start, const su_path_options *options,
                         su_path *out, su_error *err);
void su_path_free(su_path *path);

/* Frames and weights that make up a time, over both entries: their number. */
int su_path_terms(const su_path *path, double time, int64_t frame[8], double weight[8]);
/* out (width): rows (all frames, width) blended so. */
void su_path_blend(const su_path *path, double time, int64_t width, const double *rows, double *out);
/* Root frame to world (16) of the path at a time, rigid. */
void su_path_root(const su_path *path, double time, double root[16]);

#endif
