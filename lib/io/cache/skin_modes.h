/* Flesh in skinning modes for vertex shaders (docs/export.md): what each vertex has of every mode, and an affine map of
 * every mode a frame, as a JSON description beside binary numbers. */
#ifndef SU_IO_SKIN_MODES_H
#define SU_IO_SKIN_MODES_H

#include "core/error.h"
#include "io/cache/cache_layout.h"

#include <stdbool.h>
#include <stdint.h>

/* u_v = sum over modes b of T_b phi_vb, T_b (3,4). Arrays are borrowed. */
typedef struct su_skin_modes {
    int64_t vertices, modes, frames;
    const float *phi;     /* (vertices,modes,4); NULL: phi_vb = weight_vb (rest_v, 1) */
    const float *weights; /* (vertices,modes) signed; where phi is NULL */
    const float *rest;    /* (vertices,3) where phi is NULL */
    const float *maps;    /* (frames,modes,3,4) T_b by rows, in the output's units and axes */
    bool root_space;      /* maps are without the motion of the root frame */
} su_skin_modes;

/* path: of the JSON file, `name.json`; the numbers go to name.bin beside it, little-endian f32. layout: frames, names,
 * units. Both files appear whole or not at all. */
su_status su_skin_modes_save(const char *path, const su_skin_modes *skin, const su_cache_layout *layout, su_error *err);

#endif
