/* Measures of a tetrahedral mesh: boundary, volume, dihedral angles, parts. */
#ifndef SU_GEOMETRY_TETMESH_H
#define SU_GEOMETRY_TETMESH_H

#include "core/error.h"

#include <stdint.h>

/* A mesh under construction. Owned arrays. */
typedef struct su_tets {
    int64_t n, t;
    double *x;     /* (n,3) */
    int32_t *tets; /* (t,4) det[b-a, c-a, d-a] > 0 */
} su_tets;

/* A mesh as functions read it, whoever owns it. */
typedef struct su_tet_mesh {
    int64_t n, t;
    const double *x;     /* (n,3) neutral shape */
    const int32_t *tets; /* (t,4) as in su_tets */
} su_tet_mesh;

void su_tets_free(su_tets *mesh);

/* The four faces of a tet (a,b,c,d), counter-clockwise from outside; face i is opposite corner i. */
extern const int su_tet_face[4][3];

double su_tet_volume(const double *x, const int32_t *tet);
/* Masses (n), kg: a quarter of each tet's, density (t) kg/m^3, at each of its corners (docs/formats.md, convention 4).
 */
void su_lumped_mass(int64_t n, const double *vertices, int64_t t, const int32_t *tets, const double *density,
                    double *mass);
/* Cosines of the six dihedral angles; the largest belongs to the smallest angle. Returns it (2 for a flat tet). */
double su_tet_dihedral_cosine(const double *a, const double *b, const double *c, const double *d);

/* Barycentric coordinates of p; they sum to 1. */
void su_tet_barycentric(const double *x, const int32_t *tet, const double p[3], double bary[4]);

/* neighbour (t,4): the tet across face i, -1 at the boundary. SU_FAILED where three tets share a face. */
su_status su_tet_neighbours(int64_t t, const int32_t *tets, int32_t *neighbour, su_error *err);
/* What is around each vertex: of v the simplices (count, corners each: tets or triangles) from start[v] to start[v + 1]
 * in list (corners count), ascending. start (n + 1) holds zeros. */
void su_simplices_around(int64_t n, int64_t count, const int32_t *simplices, int corners, int64_t *start,
                         int32_t *list);
/* Boundary triangles, outward, in order of tets; owner (b) is the tet of each (NULL: not wanted). Caller frees both. */
su_status su_tet_boundary(int64_t t, const int32_t *tets, int64_t *b, int32_t **surface, int32_t **owner,
                          su_error *err);
/* part (t): tets joined through shared faces, numbered by their first tet; returns the count in *parts. Parts that only
 * share an edge or a vertex hang together by a hinge, which carries no torque. */
su_status su_tet_parts(int64_t t, const int32_t *tets, int32_t *part, int64_t *parts, su_error *err);

/* The finite-element Laplacian of a mesh by rows, all entries of each, ascending: L_ab = sum of V g_a . g_b. */
typedef struct su_laplacian {
    int64_t *start; /* (n + 1) */
    int32_t *column;
    double *value;
} su_laplacian;

/* volume (n), which holds zeros: lumped volumes, m^3; NULL: not wanted. Released after errors too. */
su_status su_laplacian_create(const su_tet_mesh *mesh, su_laplacian *L, double *volume, su_error *err);
void su_laplacian_free(su_laplacian *L);

typedef struct su_tet_quality {
    double volume; /* m^3, sum */
    double smallest_volume;
    double dihedral_min;        /* degrees */
    double dihedral_percentile; /* first percentile over all dihedral angles, degrees */
} su_tet_quality;

su_status su_tet_measure(const su_tets *mesh, su_tet_quality *out, su_error *err);

#endif
