/* A bent block of tets held at one end, with contact rows as detection makes them. */
#ifndef SU_BENCH_BLOCK_H
#define SU_BENCH_BLOCK_H

#include <stdint.h>

typedef struct block {
    int nx, ny, nz, contacts;
    int64_t n, t, held_count;
    double *x, *young, *poisson, *density;
    int32_t *tets, *held;
    int32_t *row_offsets, *row_vertices; /* (contacts + 1), (4 contacts) */
    double *row_coefficients;            /* (4 contacts,3) */
    int32_t *tie_offsets,
        *tie_vertices; /* (3 contacts + 1), (12 contacts): the same contacts, vertex and triangle moving as one */
    double *tie_coefficients; /* (12 contacts,3), in chains that no detection makes */
} block;

/* A block with a slot from a quarter of its length on, bent so that its two prongs lie on each other; their meshes do
 * not match. */
typedef struct prongs {
    int64_t n, t, b, held_count, free_dofs;
    double *neutral, *x, *young, *poisson, *density; /* open, closed */
    int32_t *tets, *surface, *held;
    uint8_t *is_held;
    double length; /* of a cell */
} prongs;

/* The prongs touch from the share `closed` of their length on. */
prongs prongs_create(int nx, int ny, int nz, double closed);
void prongs_free(prongs *f);

/* nx x ny x nz cells of six tets; 3 nx (ny + 1) (nz + 1) free degrees of freedom. Aborts without memory. */
block block_create(int nx, int ny, int nz, int contacts);
void block_free(block *b);

#endif
