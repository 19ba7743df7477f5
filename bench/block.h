/* A bent block of tets held at one end, with contact rows as detection makes them. */
#ifndef SU_BENCH_BLOCK_H
#define SU_BENCH_BLOCK_H

#include <stdint.h>

typedef struct block {
    int nx, ny, nz, contacts;
    int64_t n, t, held_count;
    double *x, *young, *poisson, *density;
    int32_t *tets, *held;
    int32_t *row_offsets, *row_vertices;   /* (contacts + 1), (4 contacts) */
    double *row_coefficients;              /* (4 contacts,3) */
} block;

/* nx x ny x nz cells of six tets; 3 nx (ny + 1) (nz + 1) free degrees of freedom. Aborts without memory. */
block block_create(int nx, int ny, int nz, int contacts);
void block_free(block *b);

#endif
