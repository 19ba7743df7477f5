#include "beam.h"

#include "fem/elastic.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/tetmesh.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

static void *take(int64_t count, size_t size)
{
    void *p = calloc((size_t)(count > 0 ? count : 1), size);
    if (!p) abort();
    return p;
}

/* The cube cut along its diagonal (Kuhn): six tets, one a permutation of the axes, conforming from cell to cell. */
static const int paths[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
static const int odd[6] = {0, 1, 1, 0, 0, 1};

beam beam_create(int nx, int ny, int nz, double length, double height, double width)
{
    beam b = {.length = length, .height = height, .width = width};
    int step[3] = {(ny + 1) * (nz + 1), nz + 1, 1};
    b.n = (int64_t)(nx + 1) * (ny + 1) * (nz + 1);
    b.t = 6LL * nx * ny * nz;
    b.held_count = (int64_t)(ny + 1) * (nz + 1);
    b.vertices = take(3 * b.n, sizeof(double));
    b.tets = take(4 * b.t, sizeof(int32_t));
    b.held = take(b.held_count, sizeof(int32_t));
    b.young = take(b.t, sizeof(double));
    b.poisson = take(b.t, sizeof(double));
    b.density = take(b.t, sizeof(double));
    double *x = b.vertices;
    for (int i = 0; i <= nx; i++)
        for (int j = 0; j <= ny; j++)
            for (int k = 0; k <= nz; k++, x += 3)
                x[0] = length * i / nx, x[1] = height * ((double)j / ny - 0.5), x[2] = width * ((double)k / nz - 0.5);
    for (int32_t v = 0; v < b.held_count; v++) b.held[v] = v;
    int32_t *tet = b.tets;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++)
                for (int p = 0; p < 6; p++, tet += 4) {
                    tet[0] = i * step[0] + j * step[1] + k * step[2];
                    for (int c = 0; c < 3; c++) tet[c + 1] = tet[c] + step[paths[p][c]];
                    if (odd[p]) {
                        int32_t swap = tet[1];
                        tet[1] = tet[2], tet[2] = swap;
                    }
                }
    for (int64_t e = 0; e < b.t; e++) b.young[e] = 1e5, b.poisson[e] = 0.4, b.density[e] = 1000;
    return b;
}

void beam_free(beam *b)
{
    free(b->vertices);
    free(b->tets);
    free(b->held);
    free(b->young);
    free(b->poisson);
    free(b->density);
    *b = (beam){0};
}

void beam_bend(const beam *b, double angle, double *out)
{
    double curvature = angle / b->length;
    for (int64_t v = 0; v < b->n; v++) {
        const double *x = b->vertices + 3 * v;
        double a = curvature * x[0];
        /* sin(a)/k and (1 - cos a)/k, good for k = 0 as well */
        double along = a == 0 ? x[0] : x[0] * sin(a) / a, half = sin(0.5 * a);
        double aside = a == 0 ? 0 : x[0] * 2 * half * half / a;
        double y = x[1], z = x[2];
        out[3 * v] = along - y * sin(a), out[3 * v + 1] = aside + y * cos(a), out[3 * v + 2] = z;
    }
}

void beam_turn(const beam *b, const double axis[3], double angle, const double shift[3], double *out)
{
    double s = sin(0.5 * angle), q[4] = {cos(0.5 * angle), s * axis[0], s * axis[1], s * axis[2]}, r[9];
    su_quaternion_matrix(q, r);
    for (int64_t v = 0; v < b->n; v++) {
        su_mulv3(r, b->vertices + 3 * v, out + 3 * v);
        for (int i = 0; i < 3; i++) out[3 * v + i] += shift[i];
    }
}

void beam_mass(const beam *b, double *mass) { su_lumped_mass(b->n, b->vertices, b->t, b->tets, b->density, mass); }

void beam_modes(const beam *b, const double *rest, int r, double *modes, double *eigenvalues)
{
    su_elastic elastic;
    su_sparse K;
    if (su_elastic_create(&elastic,
                          &(su_elastic_body){.mesh = {b->n, b->t, b->vertices, b->tets},
                                             .held_count = b->held_count,
                                             .held = b->held,
                                             .material = SU_STVK,
                                             .young = b->young,
                                             .poisson = b->poisson,
                                             .density = b->density},
                          NULL) != SU_OK ||
        su_sparse_clone_pattern(&elastic.pattern, &K, NULL) != SU_OK)
        abort();
    su_elastic_set_rest(&elastic, rest, NULL, 1);
    su_elastic_stiffness(&elastic, rest, false, &K, 1);
    /* M^-1/2 K M^-1/2 y = lambda y */
    int size = (int)K.size, found = 0;
    double *A = take((int64_t)size * size, sizeof *A), *values = take(size, sizeof *values);
    double *vectors = take((int64_t)size * r, sizeof *vectors), *scale = take(size, sizeof *scale);
    int *support = take(2 * (int64_t)r, sizeof *support);
    for (int i = 0; i < size; i++) scale[i] = 1 / sqrt(elastic.mass[elastic.free_vertex[i / 3]]);
    for (int64_t c = 0; c < size; c++)
        for (int64_t e = K.start[c]; e < K.start[c + 1]; e++)
            A[c * size + K.row[e]] = K.value[e] * scale[c] * scale[K.row[e]];
    if (LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'L', size, A, size, 0, 0, 1, r, 0, &found, values, vectors, size,
                       support) != 0 ||
        found != r)
        abort();
    for (int64_t k = 0; k < r; k++) {
        for (int64_t i = 0; i < 3 * b->n; i++) modes[3 * k * b->n + i] = 0;
        for (int i = 0; i < size; i++)
            modes[3 * (k * b->n + elastic.free_vertex[i / 3]) + i % 3] = vectors[k * size + i] * scale[i];
        if (eigenvalues) eigenvalues[k] = values[k];
    }
    free(A), free(values), free(vectors), free(scale), free(support);
    su_sparse_free(&K);
    su_elastic_free(&elastic);
}
