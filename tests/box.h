/* Test meshes: boxes of tets. */
#ifndef SU_TESTS_BOX_H
#define SU_TESTS_BOX_H

#include <stdint.h>

/* A box [0,lx] x [0,ly] x [0,lz] of nx * ny * nz cells, six tets each (Kuhn).
 * Vertex (i,j,k) has number (i (ny + 1) + j)(nz + 1) + k. */
typedef struct box_mesh {
    int64_t n, t;
    double *vertices;
    int32_t *tets;
} box_mesh;

box_mesh box_mesh_create(int nx, int ny, int nz, double lx, double ly, double lz);
void box_mesh_free(box_mesh *box);
/* Moves interior vertices by up to `amount` of a cell, to break symmetry; deterministic. */
void box_mesh_jitter(box_mesh *box, double amount);
/* Reproducible numbers in [-1, 1]. */
double box_random(uint64_t *state);
/* Array of `count` equal numbers, freed by the caller. */
double *box_constant(int64_t count, double value);

#endif
