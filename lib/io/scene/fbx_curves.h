/* The curves of an FBX as its keys have them, constant, straight or cubic: assimp takes keys alone and goes straight
 * between them, which turns a joint with a jerk at each. Internal to lib/io. */
#ifndef SU_IO_FBX_CURVES_H
#define SU_IO_FBX_CURVES_H

#include "core/memory.h"

#include <stddef.h>
#include <stdint.h>

/* Frames a second of a TimeMode; 0: it is none. custom: of the mode that says so. */
double su_fbx_rate(double mode, double custom);

/* A binary FBX with a key a frame where its own lie farther apart and something moves between them, in its bytes anew,
 * from the arena: *size is theirs. The data itself where there is nothing to do or it is broken; NULL where there is no
 * memory. */
char *su_fbx_sample_curves(char *data, size_t *size, su_arena *arena);

#endif
