#include "block.h"
#include "geometry/tetmesh.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *room(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p) abort();
    return p;
}

static void make_mesh(block *b)
{
    static const int paths[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int odd[6] = {0, 1, 1, 0, 0, 1};
    const int nx = b->nx, ny = b->ny, nz = b->nz, step[3] = {(ny + 1) * (nz + 1), nz + 1, 1};
    double *at = b->x;
    int32_t *tet = b->tets;
    for (int i = 0; i <= nx; i++)
        for (int j = 0; j <= ny; j++)
            for (int k = 0; k <= nz; k++, at += 3) {
                double angle = 2.0 * i / nx, radius = 0.8 - 0.5 * j / ny;
                at[0] = radius * sin(angle), at[1] = radius * cos(angle), at[2] = 0.4 * k / nz;
            }
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++)
                for (int p = 0; p < 6; p++, tet += 4) {
                    tet[0] = i * step[0] + j * step[1] + k * step[2];
                    for (int c = 0; c < 3; c++) tet[c + 1] = tet[c] + step[paths[p][c]];
                    if (!odd[p]) { /* radius falls with j: the axes are left-handed */
                        int32_t swap = tet[1];
                        tet[1] = tet[2], tet[2] = swap;
                    }
                }
}

/* A vertex of one side against a triangle of the other, along a normal. */
static void make_rows(block *b)
{
    const int nx = b->nx, nz = b->nz, step[3] = {(b->ny + 1) * (nz + 1), nz + 1, 1};
    for (int r = 0; r < b->contacts; r++) {
        int32_t v = (nx / 2 - 1 + r / (nz - 1)) * step[0] + (1 + r % (nz - 1)) * step[2];
        int32_t triangle = v - (nx / 3) * step[0];
        int32_t corners[4] = {v, triangle, triangle + step[0], triangle + step[2]};
        if (r % 2) corners[0] = triangle, corners[1] = v, corners[2] = v - step[0], corners[3] = v + step[2];
        const double weight[4] = {1, -0.5, -0.3, -0.2}, norm = sqrt(1 + 0.25 + 0.09 + 0.04);
        for (int c = 0; c < 4; c++) {
            b->row_vertices[4 * r + c] = corners[c];
            b->row_coefficients[3 * (4 * r + c)] = 0.6 * weight[c] / norm;
            b->row_coefficients[3 * (4 * r + c) + 1] = 0.8 * weight[c] / norm;
        }
        b->row_offsets[r + 1] = 4 * (r + 1);
        for (int i = 3 * r; i < 3 * r + 3; i++) {
            memcpy(b->tie_vertices + 4 * i, corners, sizeof corners);
            for (int c = 0; c < 4; c++) b->tie_coefficients[3 * (4 * i + c) + i % 3] = weight[c] / norm;
            b->tie_offsets[i + 1] = 4 * (i + 1);
        }
    }
}

static double *constant(int64_t count, double value)
{
    double *a = room((size_t)count, sizeof *a);
    for (int64_t i = 0; i < count; i++) a[i] = value;
    return a;
}

block block_create(int nx, int ny, int nz, int contacts)
{
    block b = {.nx = nx, .ny = ny, .nz = nz, .contacts = contacts};
    b.n = (int64_t)(nx + 1) * (ny + 1) * (nz + 1), b.t = 6LL * nx * ny * nz,
    b.held_count = (int64_t)(ny + 1) * (nz + 1);
    b.x = room(3 * (size_t)b.n, sizeof *b.x), b.tets = room(4 * (size_t)b.t, sizeof *b.tets);
    b.held = room((size_t)b.held_count, sizeof *b.held);
    for (int i = 0; i < b.held_count; i++) b.held[i] = i;
    b.row_offsets = room((size_t)contacts + 1, sizeof *b.row_offsets);
    b.row_vertices = room(4 * (size_t)contacts + 1, sizeof *b.row_vertices);
    b.row_coefficients = room(12 * (size_t)contacts + 1, sizeof *b.row_coefficients);
    b.tie_offsets = room(3 * (size_t)contacts + 1, sizeof *b.tie_offsets);
    b.tie_vertices = room(12 * (size_t)contacts + 1, sizeof *b.tie_vertices);
    b.tie_coefficients = room(36 * (size_t)contacts + 1, sizeof *b.tie_coefficients);
    b.young = constant(b.t, 1e5), b.poisson = constant(b.t, 0.45), b.density = constant(b.t, 1000);
    make_mesh(&b);
    make_rows(&b);
    return b;
}

void block_free(block *b)
{
    free(b->x), free(b->tets), free(b->held), free(b->row_offsets), free(b->row_vertices), free(b->row_coefficients);
    free(b->tie_offsets), free(b->tie_vertices), free(b->tie_coefficients), free(b->young), free(b->poisson),
        free(b->density);
    memset(b, 0, sizeof *b);
}

/* A vertex of the grid when the prongs are open, and when they are closed. */
static void fork_vertex(const int cells[3], const int at[3], double closed, double *X, double *x)
{
    const double size[3] = {4, 2.5, 1.5}, slot = size[1] / cells[1];
    bool upper = at[1] > cells[1] / 2;
    for (int i = 0; i < 3; i++) X[i] = size[i] * at[i] / cells[i];
    double s = fmax((X[0] - 1) / 3, 0);
    if (upper) X[0] += 0.2 * s * (1 - s), X[2] += 0.1 * s * X[2] * (size[2] - X[2]); /* vertices do not meet vertices */
    s = fmin(fmax((X[0] - 1) / 3, 0) / closed, 1);
    memcpy(x, X, 3 * sizeof *x);
    x[1] += (upper ? -0.5 : 0.5) * slot * s * s * (3 - 2 * s);
}

prongs prongs_create(int nx, int ny, int nz, double closed)
{
    static const int paths[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int odd[6] = {0, 1, 1, 0, 0, 1};
    const int cells[3] = {nx, ny, nz}, step[3] = {(ny + 1) * (nz + 1), nz + 1, 1};
    prongs f = {
        .n = (int64_t)(nx + 1) * (ny + 1) * (nz + 1), .held_count = (int64_t)(ny + 1) * (nz + 1), .length = 4.0 / nx};
    f.neutral = room(3 * (size_t)f.n, sizeof *f.neutral), f.x = room(3 * (size_t)f.n, sizeof *f.x);
    f.tets = room(24 * (size_t)nx * (size_t)ny * (size_t)nz, sizeof *f.tets);
    f.held = room((size_t)f.held_count, sizeof *f.held), f.is_held = room((size_t)f.n, 1);
    for (int64_t v = 0; v < f.n; v++)
        fork_vertex(cells, (const int[3]){(int)(v / step[0]), (int)(v / step[1] % (ny + 1)), (int)(v % (nz + 1))},
                    closed, f.neutral + 3 * v, f.x + 3 * v);
    for (int i = 0; i < f.held_count; i++) f.held[i] = i, f.is_held[i] = 1;
    f.free_dofs = 3 * (f.n - f.held_count);
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++)
                for (int p = 0; p < 6 && (j != ny / 2 || 4 * i < nx); p++) {
                    int32_t *tet = f.tets + 4 * f.t++;
                    tet[0] = i * step[0] + j * step[1] + k * step[2];
                    for (int c = 0; c < 3; c++) tet[c + 1] = tet[c] + step[paths[p][c]];
                    if (odd[p]) {
                        int32_t swap = tet[1];
                        tet[1] = tet[2], tet[2] = swap;
                    }
                }
    f.young = constant(f.t, 1e5), f.poisson = constant(f.t, 0.45), f.density = constant(f.t, 1000);
    if (su_tet_boundary(f.t, f.tets, &f.b, &f.surface, NULL, NULL)) abort();
    return f;
}

void prongs_free(prongs *f)
{
    free(f->neutral), free(f->x), free(f->tets), free(f->surface), free(f->held), free(f->is_held);
    free(f->young), free(f->poisson), free(f->density);
    memset(f, 0, sizeof *f);
}
