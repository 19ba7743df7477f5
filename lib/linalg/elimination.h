/* Constraints that bind vertices as wholes, solved for one vertex each: u = Z y with a sparse Z over the vertices left.
 *
 * Tied contacts are multi-point constraints, a vertex being a combination of the corners of a triangle in all three
 * directions. Z'KZ is then the stiffness of a mesh that is glued there, as sparse as K and smaller, and a constrained
 * solve costs what a free one does. (PSSD section 6 takes a null-space basis too, for rows of any kind, whose fill it
 * has to cut off.) */
#ifndef SU_LINALG_ELIMINATION_H
#define SU_LINALG_ELIMINATION_H

#include "linalg/sparse.h"

#include <stdint.h>

/* Constraint rows C on the degrees of freedom, in compressed rows. */
typedef struct su_constraint_rows {
    int64_t rows;
    int64_t *start;  /* (rows + 1) */
    int64_t *column; /* degree of freedom */
    double *value;
} su_constraint_rows;

void su_constraint_rows_free(su_constraint_rows *C);
/* y = C x, one number a row. */
void su_constraint_multiply(const su_constraint_rows *C, const double *x, double *y);

/* Z in compressed rows, one row a vertex, the same in x, y and z. Zero-initialize; owned arrays. */
typedef struct su_elimination {
    int64_t vertices, kept; /* degrees of freedom are three times as many */
    int64_t *start;         /* (vertices + 1) */
    int32_t *column;        /* vertices kept, by their numbers among those; a vertex kept has itself alone */
    double *weight;
} su_elimination;

/* Solves three rows in a row of C that say the same in x, y and z (dofs 3 v + i) for one vertex each, in their order
 * and by substitution into each other, and takes them out of C. Rows that depend on those before (1e-8 of the longest
 * row) are dropped. Others stay, written for the dofs kept: rows of other forms, and those that would make a vertex
 * depend on more than a dozen. Where nothing can be eliminated, kept = vertices. */
su_status su_elimination_create(int64_t vertices, su_constraint_rows *C, su_elimination *Z, su_error *err);
void su_elimination_free(su_elimination *Z);

/* *reduced (new, owns its pattern) = Z'KZ. K has 3 x 3 blocks by vertices, as su_elastic.pattern. The pattern of the
 * result depends on that of K alone. */
su_status su_elimination_reduce(const su_elimination *Z, const su_sparse *K, su_sparse *reduced, su_error *err);

/* u (columns,3 vertices) = Z y, and y (columns,3 kept) = Z' u; not in place. */
void su_elimination_expand(const su_elimination *Z, int64_t columns, const double *y, double *u);
void su_elimination_restrict(const su_elimination *Z, int64_t columns, const double *u, double *y);

#endif
