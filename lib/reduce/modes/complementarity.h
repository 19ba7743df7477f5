/* What keeps the rig's own motions out of the flesh's (docs/skinning.md, eq. 29 and 30; FCD section 4, Zhang et al.
 * 2020 for the leak). */
#ifndef SU_REDUCE_COMPLEMENTARITY_H
#define SU_REDUCE_COMPLEMENTARITY_H

#include "core/error.h"
#include "geometry/tetmesh.h"

#include <stdint.h>

/* Length over which the skin diffuses inwards by default, as a part of the flesh's diagonal. */
#define SU_LEAK_LENGTH 0.1

/* How a rig moves the flesh, as far as it is linear: bones with weights, and shapes. Owned arrays. */
typedef struct su_rig_motions {
    int64_t n, bones, shapes;
    int64_t *start;  /* (bones + 1) */
    int32_t *vertex; /* ascending within a bone */
    double *weight;  /* w of those vertices, not 0 */
    double *shape;   /* (shapes,n,3) c, m */
} su_rig_motions;

/* Ties S of the flesh to the skin, borrowed (docs/formats.md, supple.tet). */
typedef struct su_skin_ties {
    int64_t n, nbar, ties;
    const int32_t *index;
    const double *weight;
} su_skin_ties;

/* The skinning weights (nbar,bones) of the skin and shapes (shapes,nbar,3), carried to the flesh by its ties; either
 * count may be 0. */
su_status su_rig_motions_create(const su_skin_ties *ties, int64_t bones, const float *weights, int64_t shapes,
                                const double *skin_shapes, su_rig_motions *out, su_error *err);
/* One bone that carries everything. */
su_status su_rig_motions_rigid(int64_t n, su_rig_motions *out, su_error *err);
void su_rig_motions_free(su_rig_motions *rig);

/* D (n): 0 on the surface (b,3), 1 where it is largest, between them how far from the surface a vertex is to
 * diffusion over `length` (m): e of (M + length^2 L) e = M 1, e = 0 on the surface, divided by its largest value. Flesh
 * without vertices inside: 1. */
su_status su_leak_diffuse(const su_tet_mesh *mesh, int64_t b, const int32_t *surface, double length, double *leak,
                          su_error *err);

/* Rows on scalar fields over the same vertices, each divided by the square root of the vertices' masses. */
typedef struct su_row_panel {
    int64_t rows, count;
    int32_t *vertex; /* (count) ascending */
    double *value;   /* (count,rows) */
} su_row_panel;

typedef struct su_complementarity {
    int64_t panel_count, rows; /* rows of J_w M^-1/2 altogether, independent, of length 1 */
    su_row_panel *panels;
    double *gram;     /* (rows,rows) J_w M^-1 J_w' */
    int64_t motions;  /* as supple.skinning has them: rows of D M J over the flesh, independent, of norm 1 */
    double *rig_rows; /* (motions,n) */
    int64_t shapes;
    double *rig_shapes; /* (shapes,n,3) */
} su_complementarity;

/* J_w of the rig: for each bone D m w times the ten monomials of second degree, for each component of a shape D m c
 * times the four of first degree; about any origin, for these span the same. Held vertices (held (n), 1; NULL: none)
 * have no part. Rows are orthonormalized bone by bone in M^-1 and those that then depend on others are left out
 * (pivoted Cholesky factor of their Gram matrix; 1e-6 of a row's length). mass (n) kg, leak (n). */
su_status su_complementarity_create(const su_rig_motions *rig, const double *vertices, const double *mass,
                                    const double *leak, const uint8_t *held, su_complementarity *out, su_error *err);
void su_complementarity_free(su_complementarity *c);

#endif
