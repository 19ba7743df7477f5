/* Where a body is soft, from its shape and its joints: thick flesh is, thin parts and what joints call hard are not. */
#ifndef SU_FEM_BODY_STIFFNESS_H
#define SU_FEM_BODY_STIFFNESS_H

#include "geometry/mirror.h"
#include "geometry/tetmesh.h"

#include <stdbool.h>
#include <stdint.h>

/* The skin and what its vertices follow. All borrowed. */
typedef struct su_body_skin {
    int64_t nbar, bones;
    const int32_t *embed_tet; /* (nbar) tet that holds each skin vertex */
    const uint8_t *rigid;     /* (nbar) 1: follows the rig and has no say; NULL: none */
    const float *weights;     /* (nbar,bones) skinning weights; NULL: joints have no say */
    const double *stiffness;  /* (bones) of the flesh of each joint, over that of soft flesh */
    const su_mirror *mirror;  /* plane in which the skin mirrors itself: both sides count as equally thick; or NULL */
} su_body_skin;

/* factor (t) on Young's modulus, 1 in thick flesh, smooth: the joints' stiffness s, blended in its logarithm by the
 * skinning weights and spread like paint (fem/paint.h); with `thickness` times
 *   (H/h)^2 where the local half-thickness h is below H, that of the thickest quarter of the soft volume (V/s^2). A
 * beam of half-thickness h and length L swings with h/L^2 sqrt(E/rho), so with E ~ h^-2 a thin part swings no lower
 * than a thick one as long as it; (h/H)^2 where it is above H, to the power of 1 - 1/s. What joints call hard is held
 * inside (geometry/held.h), and a layer of c h on that core swings with sqrt(E/rho) / (c h): with E ~ h^2 a large skull
 * stands as still as a small one. Both are SU_BODY_RANGE at most. */
#define SU_BODY_RANGE 100.0
su_status su_body_stiffness(const su_tets *mesh, bool thickness, const su_body_skin *skin, int threads, double *factor,
                            su_error *err);

#endif
