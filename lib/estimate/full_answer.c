#include "estimate/full_answer.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <stdbool.h>
#include <string.h>

static double dot(int64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void turn(const su_full_answer *s, const double *turns, bool back, const double *from, double *to)
{
    for (int64_t f = 0; f < s->free_count; f++) {
        double R[9];
        su_quaternion_matrix(turns + 4 * (int64_t)s->free_vertex[f], R);
        if (back) su_tmulv3(R, from + 3 * f, to + 3 * f);
        else su_mulv3(R, from + 3 * f, to + 3 * f);
    }
}

/* z = R K_neutral^-1 R' b */
static su_status precondition(const su_full_answer *s, int64_t count, const double *b, double *z, int threads, su_error *err)
{
    int64_t dofs = 3 * s->free_count;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < count; i++) turn(s, s->turn[i], true, b + i * dofs, z + i * dofs);
    SU_TRY(su_cholesky_solve(s->neutral, count, z, z, err));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < count; i++) turn(s, s->turn[i], false, z + i * dofs, z + i * dofs);
    return SU_OK;
}

/* One step of one state. first: the direction begins with z. */
static void step(const su_sparse *K, bool first, double *b, double *x, const double *z, double *p, double *Kp, double *before)
{
    int64_t dofs = K->size;
    double now = dot(dofs, b, z), share = first || *before == 0 ? 0 : now / *before;
    for (int64_t k = 0; k < dofs; k++) p[k] = z[k] + share * p[k];
    su_sparse_multiply(K, p, Kp);
    double stiff = dot(dofs, p, Kp), length = stiff > 0 ? now / stiff : 0;
    for (int64_t k = 0; k < dofs; k++) x[k] += length * p[k], b[k] -= length * Kp[k];
    *before = now;
}

su_status su_full_answer_solve(const su_full_answer *s, int64_t count, int steps, double *b, double *x, int threads, su_error *err)
{
    enum { MOST = 64 };
    int64_t dofs = 3 * s->free_count;
    double *z = s->work, *p = z + count * dofs, *Kp = p + count * dofs, before[MOST];
    if (count > MOST) return su_fail(err, SU_USAGE, "at most %d states at once", MOST);
    memset(x, 0, (size_t)(count * dofs) * sizeof *x);
    for (int k = 0; k < steps; k++) {
        SU_TRY(precondition(s, count, b, z, threads, err));
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t i = 0; i < count; i++)
            step(s->K[i], k == 0, b + i * dofs, x + i * dofs, z + i * dofs, p + i * dofs, Kp + i * dofs, before + i);
    }
    return SU_OK;
}
