/* Regions of the flesh for localized modes (PSSD section 7): bounded biharmonic weights from handles. */
#ifndef SU_REDUCE_REGIONS_H
#define SU_REDUCE_REGIONS_H

#include "core/error.h"

#include <stdint.h>

/* A handle is a point (both ends equal) or a segment at the neutral pose. */
typedef struct su_handle {
    char name[64];
    double ends[6];
} su_handle;

/* Reads `name,x,y,z` or `name,x,y,z,x,y,z` a line; empty lines and lines that start with # are skipped. *handles is the
 * caller's, freed by free(). SU_INPUT with the line in the message. */
su_status su_handles_read(const char *path, int64_t *count, su_handle **handles, su_error *err);

/* The flesh vertices of each handle: a point is its nearest vertex, a segment the corners of the tets it crosses (its
 * nearest vertex where it crosses none). handle_of (n): handle that holds a vertex, -1: none. SU_INPUT where two handles
 * claim one vertex. */
su_status su_handle_vertices(int64_t n, const double *vertices, int64_t t, const int32_t *tets, int64_t count,
                             const su_handle *handles, int32_t *handle_of, su_error *err);

/* W (count,n): for each handle the function with least biharmonic energy W' L M^-1 L W within [0, 1] that is 1 at its own
 * handle and 0 at the others (Jacobson et al. 2011, without partition of unity; L the finite-element Laplacian, M lumped
 * volumes). Vertices of parts without any handle get 0. By ADMM with one factorization for all handles. *iterations: the
 * most that a handle took; *residual: largest distance from the bounds that was cut off at the end. Either may be NULL. */
su_status su_bounded_biharmonic(int64_t n, const double *vertices, int64_t t, const int32_t *tets, int64_t count,
                                const int32_t *handle_of, double *W, int *iterations, double *residual, su_error *err);

/* In place: W' = ((W - eta)/(1 - eta))^kappa where W > eta, else 0. */
void su_region_sharpen(int64_t count, double *W, double eta, double kappa);

#endif
