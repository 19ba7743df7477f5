#include "box.h"

#include <stdlib.h>
#include <string.h>

double box_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*state >> 11) / (double)(1ull << 52) - 1.0;
}

double *box_constant(int64_t count, double value)
{
    double *array = malloc((size_t)count * sizeof *array);
    for (int64_t i = 0; i < count; i++) array[i] = value;
    return array;
}

box_mesh box_mesh_create(int nx, int ny, int nz, double lx, double ly, double lz)
{
    box_mesh box = {.n = (int64_t)(nx + 1) * (ny + 1) * (nz + 1), .t = 6 * (int64_t)nx * ny * nz};
    box.vertices = malloc(3 * (size_t)box.n * sizeof *box.vertices);
    box.tets = malloc(4 * (size_t)box.t * sizeof *box.tets);
    int64_t v = 0, e = 0;
    for (int i = 0; i <= nx; i++)
        for (int j = 0; j <= ny; j++)
            for (int k = 0; k <= nz; k++, v++)
                box.vertices[3 * v] = lx * i / nx, box.vertices[3 * v + 1] = ly * j / ny,
                                 box.vertices[3 * v + 2] = lz * k / nz;
    /* Kuhn: a path of three edges along the axes in each of six orders; mirrored from cell to cell, so that the mesh as
     * a whole prefers no diagonal. */
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++)
                for (int o = 0; o < 6; o++) {
                    int flip[3] = {i & 1, j & 1, k & 1};
                    int at[3] = {flip[0], flip[1], flip[2]};
                    int32_t *tet = box.tets + 4 * e++;
                    for (int c = 0; c < 4; c++) {
                        if (c) at[orders[o][c - 1]] ^= 1;
                        tet[c] = (int32_t)(((i + at[0]) * (ny + 1) + j + at[1]) * (nz + 1) + k + at[2]);
                    }
                    int odd = (o >= 3) ^ flip[0] ^ flip[1] ^ flip[2];
                    if (odd) {
                        int32_t swap = tet[2];
                        tet[2] = tet[3], tet[3] = swap;
                    }
                }
    return box;
}

void box_mesh_free(box_mesh *box)
{
    free(box->vertices);
    free(box->tets);
    memset(box, 0, sizeof *box);
}

void box_mesh_jitter(box_mesh *box, double amount)
{
    uint64_t state = 99;
    double low[3], high[3];
    for (int i = 0; i < 3; i++) low[i] = high[i] = box->vertices[i];
    for (int64_t v = 0; v < box->n; v++)
        for (int i = 0; i < 3; i++) {
            if (box->vertices[3 * v + i] < low[i]) low[i] = box->vertices[3 * v + i];
            if (box->vertices[3 * v + i] > high[i]) high[i] = box->vertices[3 * v + i];
        }
    double cell[3]; /* from the first cell's far corner: the last vertex of the first tet's path is it or its mirror */
    for (int i = 0; i < 3; i++) {
        cell[i] = 0;
        for (int c = 1; c < 4; c++) {
            double d = box->vertices[3 * box->tets[c] + i] - box->vertices[3 * box->tets[0] + i];
            if (d > cell[i]) cell[i] = d;
            if (-d > cell[i]) cell[i] = -d;
        }
    }
    for (int64_t v = 0; v < box->n; v++)
        for (int i = 0; i < 3; i++) {
            double *x = &box->vertices[3 * v + i];
            double shift = amount * cell[i] * box_random(&state);
            if (*x > low[i] && *x < high[i]) *x += shift;
        }
}
