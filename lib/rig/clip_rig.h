/* The rig that animations carry with them, where they do: bones that move the skin and give the parameters. */
#ifndef SU_RIG_CLIP_RIG_H
#define SU_RIG_CLIP_RIG_H

#include "io/stage/anim.h"
#include "rig/character.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_clip_rig {
    su_character character; /* what skinning and parameters ask for; its arena owns what is not the first clip's */
    int32_t *twin;          /* (B) an earlier bone that each is fixed to: a node that two meshes bind; -1: none */
    bool dual;              /* skinned by dual quaternions, not linearly */
} su_clip_rig;

/* NULL where all clips have the same bones and blend shapes, by name, in the same place at the neutral pose; else what
 * is wrong, a clause. diagonal: size of the character, m. */
const char *su_same_bones(int clips, const su_anim *const *clip, double diagonal);
/* The rig of the clips. *why is NULL where it reproduces some frames of each clip (1e-4 of the diagonal) and all its
 * parameters (1e-3), else a clause that says what it does not. The clips must outlive the rig, which is to be freed
 * either way. */
su_status su_clip_rig_create(int clips, const su_anim *const *clip, double diagonal, su_clip_rig *rig, const char **why,
                             su_error *err);
void su_clip_rig_free(su_clip_rig *rig);

/* Doubles of scratch that su_clip_rig_points asks for. */
int64_t su_clip_rig_room(const su_clip_rig *rig);
/* points (nbar,3) in the root frame of bones (B,16) and shape_weights (K). */
void su_clip_rig_points(const su_clip_rig *rig, const double *bones, const double *shape_weights, int threads,
                        double *room, double *points);
/* out (rows,K): blend-shape weights out of params (rows,s) named by the file's meta; 0 where it has none of that name.
 */
void su_clip_rig_shape_weights(const su_clip_rig *rig, const su_file *file, int64_t rows, int64_t s,
                               const double *params, double *out);

/* Number of a name in meta param_names, -1: none. */
int64_t su_param_number(const su_file *file, int64_t s, const char *name);

#endif
