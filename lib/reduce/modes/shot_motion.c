#include "reduce/modes/shot_motion.h"

#include "core/memory.h"
#include "linalg/eigen.h"
#include "physics/settings.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Squared frequencies below this part of the largest are rigid motions. */
#define RIGID 1e-9
/* Squared size, over the largest direction's, below which directions are not made. */
#define SMALLEST 1e-6

su_status su_linear_motion_create(int64_t count, const double *squares, su_linear_motion *out, su_error *err)
{
    su_status status;
    memset(out, 0, sizeof *out);
    out->count = count, out->squares = squares;
    double first = 0;
    for (int64_t k = count - 1; k >= 0; k--)
        if (squares[k] > RIGID * squares[count - 1]) first = squares[k];
    out->beta = first > 0 ? 2 * su_sim_defaults().damping / sqrt(first) : 0;
    SU_GO(SU_ALLOC_ALL("rehearsal", err, SU_WANT(out->q, count), SU_WANT(out->before, count),
                       SU_WANT(out->force, count)));
    su_linear_motion_start(out);
done:
    return status;
}

void su_linear_motion_free(su_linear_motion *motion)
{
    free(motion->q), free(motion->before), free(motion->force), free(motion->states), free(motion->shot);
}

void su_linear_motion_start(su_linear_motion *motion)
{
    memset(motion->q, 0, (size_t)motion->count * sizeof(double));
    memset(motion->before, 0, (size_t)motion->count * sizeof(double));
    motion->fresh = 1;
    motion->shots++;
}

su_status su_linear_motion_frame(su_linear_motion *motion, const double *force, double dt, su_error *err)
{
    if (motion->frames == motion->room) {
        int64_t room = motion->room ? 2 * motion->room : 128;
        double *grown = realloc(motion->states, (size_t)(room * motion->count) * sizeof *grown);
        if (!grown) return su_fail(err, SU_AGAIN, "out of memory for the rehearsal");
        motion->states = grown;
        int64_t *numbers = realloc(motion->shot, (size_t)room * sizeof *numbers);
        if (!numbers) return su_fail(err, SU_AGAIN, "out of memory for the rehearsal");
        motion->shot = numbers, motion->room = room;
    }
    int substeps = su_sim_substeps(dt);
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
    motion->shot[motion->frames] = motion->shots;
    memcpy(motion->states + motion->frames++ * motion->count, motion->q, (size_t)motion->count * sizeof(double));
    motion->fresh = 0;
    return SU_OK;
}

su_status su_linear_motion_weights(const su_linear_motion *motion, double gain, double *weights, su_error *err)
{
    double *squares, *frames = NULL, largest = 0;
    SU_TRY(SU_ALLOC(&squares, motion->shots + 1, "rehearsal", err));
    su_status status = SU_ALLOC(&frames, motion->shots + 1, "rehearsal", err);
    if (status != SU_OK) goto done;
    for (int64_t f = 0; f < motion->frames; f++) {
        const double *q = motion->states + f * motion->count;
        squares[motion->shot[f]] += cblas_ddot((int)motion->count, q, 1, q, 1), frames[motion->shot[f]] += 1;
    }
    for (int64_t k = 0; k <= motion->shots; k++)
        if (frames[k] > 0) squares[k] = sqrt(squares[k] / frames[k]), largest = fmax(largest, squares[k]);
    for (int64_t f = 0; f < motion->frames; f++)
        weights[f] = largest > 0 ? largest / fmax(squares[motion->shot[f]], largest / gain) : 1;
done:
    free(squares), free(frames);
    return status;
}

su_status su_linear_motion_principal(const su_linear_motion *motion, int64_t keep, double gain, double *directions,
                                     int64_t *count, su_error *err)
{
    int64_t c = motion->count;
    double *vectors = NULL, *values = NULL, *weights = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&weights, motion->frames, "rehearsal", err));
    SU_GO(su_linear_motion_weights(motion, gain, weights, err));
    SU_GO(SU_ALLOC_ALL("rehearsal", err, SU_WANT(vectors, c * c), SU_WANT(values, c)));
    for (int64_t f = 0; f < motion->frames; f++)
        cblas_dsyr(CblasColMajor, CblasLower, (int)c, weights[f] * weights[f] / (double)motion->frames,
                   motion->states + f * c, 1, vectors, (int)c);
    SU_GO(su_eigen_symmetric(c, vectors, values, err));
    *count = 0;
    while (*count < keep && *count < c && values[c - 1 - *count] > SMALLEST * values[c - 1]) {
        int64_t from = c - 1 - *count;
        for (int64_t i = 0; i < c; i++) directions[*count * c + i] = sqrt(values[from]) * vectors[from * c + i];
        ++*count;
    }
done:
    free(vectors), free(values), free(weights);
    return status;
}
