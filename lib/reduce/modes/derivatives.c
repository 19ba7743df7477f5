#include "reduce/modes/derivatives.h"

#include "core/memory.h"
#include "physics/second_derivative.h"
#include "geometry/mat3.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 128 };

/* Gradients of `count` displacement fields on one tet, A[c count + i]; u (n slots, 3 count) by free vertex. */
static void field_gradients(const su_elastic *elastic, int64_t e, int64_t count, const double *u, double *A)
{
    double g[12];
    su_shape_gradients(elastic->inverse + 9 * e, g);
    memset(A, 0, 9 * (size_t)count * sizeof *A);
    for (int a = 0; a < 4; a++) {
        int64_t f = elastic->free_index[elastic->tets[4 * e + a]];
        if (f < 0) continue;
        for (int i = 0; i < 3; i++) {
            const double *from = u + (3 * f + i) * count;
            for (int j = 0; j < 3; j++) {
                double *to = A + (3 * i + j) * count;
                for (int64_t k = 0; k < count; k++) to[k] += from[k] * g[3 * a + j];
            }
        }
    }
}

/* Forces of one tet for all pairs: f[(3 a + i) pairs + p] = volume sum_j Q_ij g_aj */
static void pair_forces(const su_elastic *elastic, int64_t e, int64_t pairs, const double *Q, double *f)
{
    const double *inverse = elastic->inverse + 9 * e;
    double volume = elastic->volume[e];
    for (int i = 0; i < 3; i++) {
        const double *q0 = Q + 3 * i * pairs, *q1 = q0 + pairs, *q2 = q1 + pairs;
        double *f0 = f + i * pairs, *f1 = f0 + 3 * pairs, *f2 = f1 + 3 * pairs, *f3 = f2 + 3 * pairs;
        for (int64_t p = 0; p < pairs; p++) {
            double a = volume * q0[p], b = volume * q1[p], c = volume * q2[p];
            f1[p] = inverse[0] * a + inverse[1] * b + inverse[2] * c;
            f2[p] = inverse[3] * a + inverse[4] * b + inverse[5] * c;
            f3[p] = inverse[6] * a + inverse[7] * b + inverse[8] * c;
            f0[p] = -(f1[p] + f2[p] + f3[p]);
        }
    }
}

static void transpose(int64_t rows, int64_t columns, const double *in, double *out, int threads)
{
    enum { TILE = 32 };
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i0 = 0; i0 < rows; i0 += TILE)
        for (int64_t j0 = 0; j0 < columns; j0 += TILE)
            for (int64_t i = i0; i < rows && i < i0 + TILE; i++)
                for (int64_t j = j0; j < columns && j < j0 + TILE; j++) out[j * rows + i] = in[i * columns + j];
}

typedef struct workspace {
    double *phi, *y; /* (size,count): fields by dof */
    double *sum;     /* (size,pairs) */
    double *parts;   /* (BATCH,12,pairs) */
    int64_t room;    /* scratch (threads,room) */
    double *scratch;
} workspace;

/* Batches as in fem/elastic.c: kernels in parallel, then every thread adds to its own vertices in the order of tets. */
static void accumulate(const su_elastic *elastic, const double *x, const su_mode_pairs *of, workspace *work,
                       int threads)
{
    int64_t count = of->count, pairs = of->pairs;
#pragma omp parallel num_threads(threads)
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        int64_t first = elastic->free_count * me / team, last = elastic->free_count * (me + 1) / team;
        double *A = work->scratch + me * work->room, *B = A + 9 * count, *Q = B + 9 * count, *scratch = Q + 9 * pairs;
        for (int64_t from = 0; from < elastic->t; from += BATCH) {
            int64_t to = from + BATCH < elastic->t ? from + BATCH : elastic->t;
#pragma omp for schedule(static)
            for (int64_t e = from; e < to; e++) {
                const int32_t *tet = elastic->tets + 4 * e;
                if (elastic->free_index[tet[0]] < 0 && elastic->free_index[tet[1]] < 0 &&
                    elastic->free_index[tet[2]] < 0 && elastic->free_index[tet[3]] < 0)
                    continue;
                double F[9];
                su_elastic_gradient(elastic, x, e, F);
                field_gradients(elastic, e, count, work->phi, A);
                field_gradients(elastic, e, count, work->y, B);
                su_material_second_derivative(elastic->material, elastic->mu[e], elastic->lambda[e], F,
                                              &(su_direction_pairs){count, A, B, pairs, of->pair}, Q, scratch);
                pair_forces(elastic, e, pairs, Q, work->parts + 12 * pairs * (e - from));
            }
            for (int64_t e = from; e < to; e++)
                for (int a = 0; a < 4; a++) {
                    int64_t f = elastic->free_index[elastic->tets[4 * e + a]];
                    if (f < first || f >= last) continue;
                    const double *part = work->parts + (12 * (e - from) + 3 * a) * pairs;
                    double *sum = work->sum + 3 * f * pairs;
                    for (int64_t k = 0; k < 3 * pairs; k++) sum[k] += part[k];
                }
#pragma omp barrier
        }
    }
}

su_status su_stiffness_derivatives(const su_elastic *elastic, const double *x, const su_mode_pairs *of, double *out,
                                   int threads, su_error *err)
{
    int64_t size = elastic->pattern.size, count = of->count, pairs = of->pairs;
    workspace work = {.room = 18 * count + 9 * pairs + su_second_derivative_scratch(count, pairs)};
    su_arena arena = {0};
    su_status status;
    SU_GO(SU_TAKE_ALL(&arena, "modal derivatives", err, SU_WANT(work.phi, size * count),
                      SU_WANT(work.sum, size * pairs), SU_WANT(work.parts, 12 * pairs * BATCH),
                      SU_WANT(work.scratch, threads * work.room)));
    transpose(count, size, of->phi, work.phi, threads);
    work.y = work.phi;
    if (of->y != of->phi) {
        SU_GO(SU_TAKE_ALL(&arena, "modal derivatives", err, SU_WANT(work.y, size * count)));
        transpose(count, size, of->y, work.y, threads);
    }
    accumulate(elastic, x, of, &work, threads);
    transpose(size, pairs, work.sum, out, threads);
done:
    su_arena_free(&arena);
    return status;
}
