/* Blend shapes that one weight goes through, one after another: FBX's in-between targets, UsdSkel's inbetweens.
 * Internal to lib/io. */
#ifndef SU_IO_SHAPE_CHANNELS_H
#define SU_IO_SHAPE_CHANNELS_H

#include "io/scene/scene.h"

/* Shape k is whole at full[k], and in between the nearest two mix. */
typedef struct su_shape_channel {
    double weight; /* where no curve sets it; 1 is 100 per cent */
    int64_t shapes;
    double *full; /* (shapes) */
} su_shape_channel;

/* The share of each shape of a channel at a weight. */
void su_shape_shares(const su_shape_channel *channel, double weight, double *share);
/* Keys of channels, which a track has, become keys of their shapes, with further ones where a channel passes a shape
 * between two keys. shapes: of all channels. 1: not enough memory. */
int su_shape_mix_keys(su_arena *arena, int64_t channels, const su_shape_channel *channel, int64_t shapes,
                      su_scene_morph_channel *track);
/* What a shape is called that is whole at another weight than 1, in per cent: smile@50. */
const char *su_shape_between(su_arena *arena, const char *name, double full);

#endif
