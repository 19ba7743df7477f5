#include "rig/sequence_params.h"

#include "core/lapack.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_FRAMES = 256, BLOCK = 2048 };

/* Frames spread over all clips. */
static void spread_frames(int clips, const su_anim *anims, int64_t total, int64_t count, const float **frames)
{
    int64_t n = 3 * anims[0].nbar, before = 0;
    int clip = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t frame = count > 1 ? i * (total - 1) / (count - 1) : 0;
        while (clip + 1 < clips && frame >= before + anims[clip].F) before += anims[clip++].F;
        frames[i] = anims[clip].points + n * (frame - before);
    }
}

/* rows (count,BLOCK): displacement from the neutral skin in columns from .. from + width - 1. */
static void read_block(int64_t count, const float *const *frames, const double *neutral, int64_t from, int64_t width,
                       double *rows)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < width; k++) rows[BLOCK * i + k] = (double)frames[i][from + k] - neutral[from + k];
}

/* Method of snapshots: far fewer frames than vertices. gram (count,count), zeroed. */
static void gram_of(int64_t count, const float *const *frames, const double *neutral, int64_t n, double *rows,
                    double *gram)
{
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t width = n - from < BLOCK ? n - from : BLOCK;
        read_block(count, frames, neutral, from, width, rows);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j <= i; j++) {
                double sum = 0.0;
                for (int64_t k = 0; k < width; k++) sum += rows[BLOCK * i + k] * rows[BLOCK * j + k];
                gram[count * i + j] += sum;
            }
    }
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < i; j++) gram[count * j + i] = gram[count * i + j];
}

/* Unit length, and one sign, whatever LAPACK gives. */
static void normalize(int64_t n, double *row)
{
    double norm = 0.0;
    int64_t largest = 0;
    for (int64_t k = 0; k < n; k++) {
        norm += row[k] * row[k];
        if (fabs(row[k]) > fabs(row[largest])) largest = k;
    }
    norm = row[largest] < 0.0 ? -sqrt(norm) : sqrt(norm);
    for (int64_t k = 0; k < n; k++) row[k] /= norm;
}

su_status su_sequence_basis(int clips, const su_anim *anims, int64_t most, double rest, double **basis, int64_t *s,
                            su_error *err)
{
    su_arena scratch = {0};
    su_status status = SU_OK;
    int64_t n = 3 * anims[0].nbar, total = 0;
    const double *neutral = anims[0].neutral;
    *basis = NULL, *s = 0;
    for (int i = 0; i < clips; i++) total += anims[i].F;
    int64_t count = total < MOST_FRAMES ? total : MOST_FRAMES;
    const float **frames = su_arena_alloc(&scratch, count, sizeof *frames);
    double *rows = su_arena_alloc(&scratch, count * BLOCK, sizeof *rows);
    double *gram = su_arena_alloc(&scratch, count * count, sizeof *gram);
    double *value = su_arena_alloc(&scratch, count, sizeof *value);
    if (!frames || !rows || !gram || !value) {
        status = su_fail(err, SU_AGAIN, "not enough memory for parameters of %lld frames", (long long)count);
        goto done;
    }
    spread_frames(clips, anims, total, count, frames);
    gram_of(count, frames, neutral, n, rows, gram);
    double trace = 0.0, kept = 0.0;
    for (int64_t i = 0; i < count; i++) trace += gram[count * i + i];
    int info = LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'L', (lapack_int)count, gram, (lapack_int)count, value);
    if (info != 0) {
        status = su_fail(err, su_lapack_status(info, SU_NUMERICS),
                         "the principal motions of the sequence could not be found");
        goto done;
    }
    while (*s < most && *s < count && trace - kept > rest * trace && value[count - 1 - *s] > 1e-12 * trace)
        kept += value[count - 1 - (*s)++];
    SU_GO(SU_ALLOC(basis, *s * n, "principal motions", err));
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t width = n - from < BLOCK ? n - from : BLOCK;
        read_block(count, frames, neutral, from, width, rows);
        for (int64_t c = 0; c < *s; c++)
            for (int64_t i = 0; i < count; i++)
                for (int64_t k = 0; k < width; k++)
                    (*basis)[n * c + from + k] += gram[count * i + count - 1 - c] * rows[BLOCK * i + k];
    }
    for (int64_t c = 0; c < *s; c++) normalize(n, *basis + n * c);
done:
    su_arena_free(&scratch);
    return status;
}

void su_sequence_project(int64_t nbar, const double *mean, int64_t s, const double *basis, const float *points,
                         double *p)
{
    for (int64_t c = 0; c < s; c++) {
        double sum = 0.0;
        for (int64_t k = 0; k < 3 * nbar; k++) sum += basis[3 * nbar * c + k] * ((double)points[k] - mean[k]);
        p[c] = sum;
    }
}
