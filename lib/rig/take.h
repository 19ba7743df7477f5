/* A clip of a character, sampled at uniform frames: what goes into a supple.anim. */
#ifndef SU_RIG_TAKE_H
#define SU_RIG_TAKE_H

#include "core/progress.h"
#include "io/cache/sequence.h"
#include "rig/character.h"
#include "rig/node_tree.h"
#include "rig/parameters.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Linear blend skinning, dual quaternions. */
#define SU_SKINNING_NAMES "lbs|dqs"

typedef struct su_take_range {
    int64_t frames;
    double fps;
    double start;       /* s: time of the first frame on the clip's own clock */
    double shift;       /* s, added to the times that are stored: renumbered frames */
    double frame_start; /* number of the first frame: (start + shift) * fps */
} su_take_range;

/* fps 0: the rate of the file, else of the clip's keys where that is a usual one (10 to 240), else 30. first, last:
 * frame numbers (time * fps) that cut the clip; NAN: its own ends. number: what to call the first frame; NAN: first.
 * SU_INPUT where nothing is left, or more than 10 million frames. */
su_status su_take_frames(const su_scene *scene, const su_scene_clip *clip, double fps, double first, double last,
                         double number, su_take_range *range, su_error *err);

typedef struct su_take {
    su_arena arena;
    const su_character *character;
    su_take_range range;
    double *root;          /* (F,16) */
    double *bones;         /* (F,B,16) in the root frame */
    double *shape_weights; /* (F,K) */
    su_parameters parameters;
    su_node_tree tree;
    float *node_keys;      /* (F,nodes,SU_NODE_KEY) */
    double *object_frames; /* (F,objects,16) each object's node at every frame, m; NULL: none moves */
    int dual;              /* which of SU_SKINNING_NAMES */
    su_sequence *shown;    /* borrowed; NULL: none (su_take_show) */
    int32_t *shown_vertex; /* (nbar) source vertex of each skin vertex */
} su_take;

/* Everything but the points. The character must outlive the take. */
su_status su_take_create(const su_character *character, const su_scene_clip *clip, const su_take_range *range,
                         su_take *out, su_error *err);
void su_take_free(su_take *take);
/* Whether neither joints, blend shapes, root nor objects leave their first frame (by more than keys of 32 bits are
 * off): the clip moves other nodes than those of the character. */
bool su_take_is_still(const su_take *take);
/* points (nbar,3) of a frame in the root frame; room (nbar,3) and matrices (B,33) are scratch of the
 * caller. */
void su_take_points(const su_take *take, int64_t frame, int threads, double *room, double *matrices, double *points);

/* From here on su_take_save writes the positions of a cache instead of what skinning gives: what the program that has
 * the rig shows (correctives, lattices, muscles). Frame k of the cache is frame k of the take, its vertices are the
 * source's in their order, its space is the file's. It must stay open. SU_INPUT where counts differ; path is for the
 * message. */
su_status su_take_show(su_take *take, su_sequence *shown, const char *path, su_error *err);

/* Writes the supple.anim; points go out frame by frame. meta: su_tool_meta and settings; clip, fps, frame_start,
 * source_unit, source_up and the names are added here. */
su_status su_take_save(const su_take *take, const char *path, const su_scene_clip *clip, json_t *meta, int threads,
                       su_progress *progress, su_error *err);

#endif
