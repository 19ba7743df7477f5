/* Curves of FBX by their keys, of all its versions. Internal to lib/io. */
#ifndef SU_IO_FBX_KEYS_H
#define SU_IO_FBX_KEYS_H

#include <stdint.h>

/* KeyAttrFlags of a key: what the curve does up to the next one, how its tangents are made, and whether they say their
 * lengths. Automatic tangents are those of a cubic that are neither TCB nor USER. */
enum {
    SU_FBX_CONSTANT = 0x2,
    SU_FBX_CUBIC = 0x8,
    SU_FBX_OF_NEXT = 0x100,  /* of a constant: the value of the next key */
    SU_FBX_TCB = 0x200,      /* KeyAttrDataFloat has tension, continuity and bias (Kochanek, Bartels 1984) */
    SU_FBX_USER = 0x400,     /* it has the slopes */
    SU_FBX_LEVEL = 0x1000,   /* automatic: 0 beside a key of the same value */
    SU_FBX_WHOLE = 0x2000,   /* automatic: of the line between the neighbours, wherever the key is in time */
    SU_FBX_CLAMPED = 0x4000, /* automatic: goes beyond no key */
    SU_FBX_LENGTH_RIGHT = 0x01000000,
    SU_FBX_LENGTH_LEFT = 0x02000000 /* of the next key */
};

typedef struct su_fbx_key {
    int64_t time; /* ticks */
    double value;
    uint32_t flags;
    float right, left, third; /* KeyAttrDataFloat: slopes of this key and of the next one, 1/s, or what flags say */
    double right_length, left_length; /* of their tangents, over the distance of the keys; 1/3 where nobody says */
} su_fbx_key;

typedef struct su_fbx_curve {
    int64_t count;
    su_fbx_key *key; /* (count), times rising */
} su_fbx_curve;

/* Ticks; times of broken files may lie farther apart than whole numbers go. */
double su_fbx_distance(int64_t from, int64_t to);
/* The curve between key k and the next one, at a time there, ticks. */
double su_fbx_between(const su_fbx_curve *of, int64_t k, double time);
/* Its value at a key: that of the next one, where a constant is of that. */
double su_fbx_at_key(const su_fbx_curve *of, int64_t k);

#endif
