/* Which joints are a human's hips, arms and fingers, whatever they are called: what a motion knows of a body. */
#ifndef SU_RIG_HUMAN_BONES_H
#define SU_RIG_HUMAN_BONES_H

#include "core/error.h"
#include "core/memory.h"

#include <stdbool.h>
#include <stdint.h>

/* Limbs in the order in which they hang on each other. */
typedef enum su_human_part {
    SU_HUMAN_NONE,
    SU_HUMAN_HIPS,
    SU_HUMAN_SPINE,
    SU_HUMAN_NECK,
    SU_HUMAN_HEAD,
    SU_HUMAN_SHOULDER,
    SU_HUMAN_UPPER_ARM,
    SU_HUMAN_LOWER_ARM,
    SU_HUMAN_HAND,
    SU_HUMAN_UPPER_LEG,
    SU_HUMAN_LOWER_LEG,
    SU_HUMAN_FOOT,
    SU_HUMAN_TOES,
    SU_HUMAN_THUMB,
    SU_HUMAN_INDEX,
    SU_HUMAN_MIDDLE,
    SU_HUMAN_RING,
    SU_HUMAN_LITTLE,
    SU_HUMAN_PARTS
} su_human_part;

typedef struct su_human_bone {
    int8_t part;     /* su_human_part */
    int8_t side;     /* 1 left, -1 right, 0 neither */
    int16_t nth, of; /* of a spine, a neck, a finger: which of how many, from the body on */
} su_human_bone;

/* bone (nodes), of a skeleton whose parents (-1: none) stand before their children; names may hold NULL. Names say what
 * limbs, fingers and head are, in English, behind a word that most of them begin with ("mixamorig:", "Bip01", "DEF-");
 * hips are what both legs and the head hang on, spine what lies between them and the joint that both arms hang on (the
 * last of it), neck what lies behind that. *is_human: head, arms and legs are there and hang together; else no bone is
 * one. Scratch comes from the arena. */
su_status su_human_bones_find(int64_t nodes, const char *const *names, const int32_t *parent, su_arena *arena,
                              su_human_bone *bone, bool *is_human, su_error *err);

/* Of one body what is `bone` in another: of chains of different lengths the one as far along; -1: none. */
int32_t su_human_bone_like(const su_human_bone *bone, int64_t nodes, const su_human_bone *bones);

#endif
