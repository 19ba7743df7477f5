#include "reduce/modes/skinning_frequency.h"

#include "core/memory.h"
#include "geometry/vector.h"
#include "linalg/eigen.h"
#include "linalg/sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of U that are multiplied at a time. */
enum { COLUMNS = 12 };
/* A function is spanned by those before it where less than this share of its norm in the mass (squared) is its own. */
#define SPANNED 1e-8

/* w_b times 1, x, y, z of the free vertices, orthonormal in the mass: rows (functions,free), *count of them left. */
static su_status make_functions(const su_elastic *elastic, const double *vertices, int64_t k, const double *weights,
                                double **out, int64_t *count, su_error *err)
{
    int64_t free_count = elastic->free_count;
    const int32_t *vertex = elastic->free_vertex;
    double centre[3] = {0, 0, 0}, spread = 0, *rows, *mass;
    *out = NULL, *count = 0;
    SU_TRY(SU_ALLOC(&mass, free_count, "skinning modes", err));
    su_status status = SU_ALLOC(out, 4 * k * free_count, "skinning modes", err);
    if (status != SU_OK) goto done;
    rows = *out;
    for (int64_t f = 0; f < free_count; f++) {
        mass[f] = elastic->mass[vertex[f]];
        for (int c = 0; c < 3; c++) centre[c] += vertices[3 * (int64_t)vertex[f] + c] / (double)free_count;
    }
    for (int64_t f = 0; f < free_count; f++)
        for (int c = 0; c < 3; c++) spread = fmax(spread, fabs(vertices[3 * (int64_t)vertex[f] + c] - centre[c]));
    for (int64_t i = 0; i < 4 * k; i++) {
        double *row = rows + *count * free_count;
        for (int64_t f = 0; f < free_count; f++) {
            int64_t v = vertex[f], c = i % 4;
            row[f] = weights[k * v + i / 4] * (c == 0 ? 1 : (vertices[3 * v + c - 1] - centre[c - 1]) / spread);
        }
        double before = su_weighted_dot(free_count, mass, row, row);
        for (int turn = 0; turn < 2; turn++) /* Gram and Schmidt, twice against rounding */
            for (int64_t j = 0; j < *count; j++) {
                const double *other = rows + j * free_count;
                double product = su_weighted_dot(free_count, mass, row, other);
                for (int64_t f = 0; f < free_count; f++) row[f] -= product * other[f];
            }
        double after = su_weighted_dot(free_count, mass, row, row);
        if (!(after > SPANNED * before)) continue;
        for (int64_t f = 0; f < free_count; f++) row[f] /= sqrt(after);
        (*count)++;
    }
done:
    free(mass);
    return status;
}

/* U'KU (3 count,3 count), column 3 a + i the function a along axis i. */
static su_status reduce_stiffness(const su_elastic *elastic, const double *vertices, int64_t count,
                                  const double *functions, int threads, double *reduced, su_error *err)
{
    int64_t free_count = elastic->free_count, r = 3 * count, dofs = 3 * free_count;
    su_sparse K = {0};
    double *u = NULL, *y;
    su_status status;
    SU_GO(su_sparse_clone_pattern(&elastic->pattern, &K, err));
    SU_GO(SU_ALLOC(&u, 2 * COLUMNS * dofs, "skinning modes", err));
    y = u + COLUMNS * dofs;
    su_elastic_stiffness(elastic, vertices, false, &K, threads);
    for (int64_t first = 0; first < r; first += COLUMNS) {
        int64_t some = r - first < COLUMNS ? r - first : COLUMNS;
        memset(u, 0, (size_t)(some * dofs) * sizeof *u);
        for (int64_t c = 0; c < some; c++)
            for (int64_t f = 0; f < free_count; f++)
                u[c * dofs + 3 * f + (first + c) % 3] = functions[(first + c) / 3 * free_count + f];
        SU_GO(su_sparse_multiply_many(&K, some, u, y, threads, err));
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t b = 0; b < count; b++)
            for (int64_t c = 0; c < some; c++) {
                double sum[3] = {0, 0, 0};
                for (int64_t f = 0; f < free_count; f++)
                    for (int j = 0; j < 3; j++) sum[j] += functions[b * free_count + f] * y[c * dofs + 3 * f + j];
                for (int j = 0; j < 3; j++) reduced[(3 * b + j) * r + first + c] = sum[j];
            }
    }
done:
    free(u);
    su_sparse_free(&K);
    return status;
}

su_status su_skinning_frequency(const su_elastic *elastic, const double *vertices, int64_t k, const double *weights,
                                int threads, double *value, su_error *err)
{
    double *functions = NULL, *reduced = NULL, *values = NULL;
    int64_t count = 0;
    su_status status;
    SU_GO(make_functions(elastic, vertices, k, weights, &functions, &count, err));
    int64_t r = 3 * count;
    if (r == 0) SU_GO(su_fail(err, SU_INPUT, "the skinning modes move nothing"));
    SU_GO(SU_ALLOC_ALL("skinning modes", err, SU_WANT(reduced, r * r), SU_WANT(values, r)));
    SU_GO(reduce_stiffness(elastic, vertices, count, functions, threads, reduced, err));
    SU_GO(su_eigen_symmetric(r, reduced, values, err));
    *value = values[0];
done:
    free(functions), free(reduced), free(values);
    return status;
}
