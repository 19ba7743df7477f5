#include "reduce/shot_motion.h"

#include "core/memory.h"
#include "linalg/eigen.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

su_status su_linear_motion_create(int64_t count, const double *squares, su_linear_motion *out, su_error *err)
{
    su_status status;
    memset(out, 0, sizeof *out);
    out->count = count, out->squares = squares;
    double first = 0;
    for (int64_t k = count - 1; k >= 0; k--)
        if (squares[k] > 1e-9 * squares[count - 1]) first = squares[k];
    out->beta = first > 0 ? 2 * 0.1 / sqrt(first) : 0;
    SU_GO(SU_ALLOC(&out->q, count, "rehearsal", err));
    SU_GO(SU_ALLOC(&out->before, count, "rehearsal", err));
    SU_GO(SU_ALLOC(&out->force, count, "rehearsal", err));
    su_linear_motion_start(out);
done:
    return status;
}

void su_linear_motion_free(su_linear_motion *motion)
{
    free(motion->q), free(motion->before), free(motion->force), free(motion->states);
}

void su_linear_motion_start(su_linear_motion *motion)
{
    memset(motion->q, 0, (size_t)motion->count * sizeof(double));
    memset(motion->before, 0, (size_t)motion->count * sizeof(double));
    motion->fresh = 1;
}

su_status su_linear_motion_frame(su_linear_motion *motion, const double *force, double dt, su_error *err)
{
    if (motion->frames == motion->room) {
        int64_t room = motion->room ? 2 * motion->room : 128;
        double *grown = realloc(motion->states, (size_t)(room * motion->count) * sizeof *grown);
        if (!grown) return su_fail(err, SU_AGAIN, "out of memory for the rehearsal");
        motion->states = grown, motion->room = room;
    }
    int substeps = (int)fmax(1, ceil(90 * dt - 1e-9));
    double h = dt / substeps;
    for (int64_t k = 0; k < motion->count; k++) {
        double square = motion->squares[k], drag = motion->beta * square / h;
        double from = motion->fresh ? force[k] : motion->force[k];
        for (int i = 1; i <= substeps; i++) {
            double push = from + (force[k] - from) * i / substeps, q = motion->q[k];
            double next = (push + (2 * q - motion->before[k]) / (h * h) + drag * q) / (1 / (h * h) + drag + square);
            motion->before[k] = q, motion->q[k] = next;
        }
        motion->force[k] = force[k];
    }
    memcpy(motion->states + motion->frames++ * motion->count, motion->q, (size_t)motion->count * sizeof(double));
    motion->fresh = 0;
    return SU_OK;
}

su_status su_linear_motion_principal(const su_linear_motion *motion, int64_t keep, double *directions, int64_t *count,
                                     su_error *err)
{
    int64_t c = motion->count;
    double *vectors = NULL, *values = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&vectors, c * c, "rehearsal", err));
    SU_GO(SU_ALLOC(&values, c, "rehearsal", err));
    for (int64_t f = 0; f < motion->frames; f++)
        cblas_dsyr(CblasColMajor, CblasLower, (int)c, 1.0 / (double)motion->frames, motion->states + f * c, 1, vectors, (int)c);
    SU_GO(su_eigen_symmetric(c, vectors, values, err));
    *count = 0;
    while (*count < keep && *count < c && values[c - 1 - *count] > 1e-6 * values[c - 1]) {
        int64_t from = c - 1 - *count;
        for (int64_t i = 0; i < c; i++) directions[*count * c + i] = sqrt(values[from]) * vectors[from * c + i];
        ++*count;
    }
done:
    free(vectors), free(values);
    return status;
}

su_status su_linear_motion_extremes(const su_linear_motion *motion, int64_t keep, double *states, int64_t *count,
                                    su_error *err)
{
    int64_t c = motion->count, F = motion->frames;
    double *nearest = NULL, first = 0;   /* squared distance to the nearest of those chosen, or to rest */
    su_status status;
    SU_GO(SU_ALLOC(&nearest, F, "rehearsal", err));
    for (int64_t f = 0; f < F; f++) nearest[f] = cblas_ddot((int)c, motion->states + f * c, 1, motion->states + f * c, 1);
    for (*count = 0; *count < keep && *count < F; ++*count) {
        int64_t far = 0;
        for (int64_t f = 1; f < F; f++)
            if (nearest[f] > nearest[far]) far = f;
        if (*count == 0) first = nearest[far];
        if (!(nearest[far] > 4e-4 * first) || nearest[far] == 0) break;
        const double *at = motion->states + far * c;
        memcpy(states + *count * c, at, (size_t)c * sizeof *states);
        for (int64_t f = 0; f < F; f++) {
            double square = 0;
            for (int64_t i = 0; i < c; i++) square += (motion->states[f * c + i] - at[i]) * (motion->states[f * c + i] - at[i]);
            nearest[f] = fmin(nearest[f], square);
        }
    }
    status = SU_OK;
done:
    free(nearest);
    return status;
}
