/* Regions of the flesh for localized modes (PSSD section 7): bounded biharmonic weights from handles. */
#ifndef SU_REDUCE_REGIONS_H
#define SU_REDUCE_REGIONS_H

#include "core/error.h"
#include "geometry/tetmesh.h"

#include <stdint.h>

/* W (count,n): for each region the function with least biharmonic energy W' L M^-1 L W within [0, 1] that is 1 at its
 * own handles and 0 at the others (Jacobson et al. 2011, without partition of unity; L the finite-element Laplacian, M
 * lumped volumes). region_of (n): the region whose handles hold a vertex (handles.h), -1: none. Vertices of parts
 * without any handle get 0. By active sets from the function without bounds, each region on its own surroundings
 * (bounds kept to 1e-5, forces to 5e-3 of the largest). *iterations, which may be NULL: the most factorizations of a
 * region; from 80 on its active sets did not settle, and its weights are cut off at their bounds. Regions beside each
 * other on the threads; the result does not depend on their number. */
su_status su_bounded_biharmonic(const su_tet_mesh *mesh, int64_t count, const int32_t *region_of, double *W,
                                int *iterations, int threads, su_error *err);

/* kappa of a bake: how fast motion fades towards the border of a region; smaller is later. Chosen. */
#define SU_REGION_FADE 0.5

/* In place: W' = ((W - eta)/(1 - eta))^kappa where W > eta, else 0. */
void su_region_sharpen(int64_t count, double *W, double eta, double kappa);

/* share (d): r modes on d regions, at least one each: in eights, what is over to the first regions, where that gives no
 * region over a quarter more than another, since kernels take eight columns at once and 17 cost as much as 24; else as
 * evenly as can be. */
void su_region_shares(int64_t r, int64_t d, int64_t *share);

#endif
