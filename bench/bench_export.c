/* Frames rebuilt a second: u = U(p) q, rotations included, and A u on the skin, before any file is written. */
#include "character.h"
#include "runtime/subspace/reconstruct.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 11, FRAMES = 64 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds a frame; all: u of all the flesh as well as the skin. */
static double measure(const character *c, bool all, int64_t *carrying, double *spread)
{
    su_error err = {0};
    su_reconstruct *rec;
    if (su_reconstruct_create(&c->model, SU_COROTATED, all ? 0 : c->model.nbar, NULL, 1, &rec, &err) != SU_OK) abort();
    const int32_t *list;
    *carrying = su_reconstruct_flesh(rec, &list);
    int64_t needed = su_reconstruct_skin_needed(rec, &list), nbar = c->model.nbar, m = c->sizes.m;
    double *skin = su_calloc(FRAMES * 3 * needed + 8, 8), *w = su_calloc(FRAMES * m, 8),
           *q = su_calloc(FRAMES * 100, 8);
    double *out = su_calloc(FRAMES * 3 * nbar, 8), *u = all ? su_calloc(FRAMES * 3 * c->model.n, 8) : NULL,
           times[BATCHES];
    for (int f = 0; f < FRAMES; f++) {
        su_shot_sample_skin(c->shot, f, 0, needed, list, 1, skin + 3 * f * needed);
        for (int i = 0; i < m; i++) w[f * m + i] = 1.0 / (double)m;
        for (int i = 0; i < 100; i++) q[100 * f + i] = 1e-3 * i;
    }
    for (int b = 0; b < BATCHES; b++) {
        double start = seconds();
        su_reconstruct_frames(rec, FRAMES, skin, w, w, q, u, out);
        times[b] = (seconds() - start) / FRAMES;
    }
    free(skin), free(w), free(q), free(out), free(u);
    su_reconstruct_free(rec);
    return bench_median(BATCHES, times, spread);
}

int main(void)
{
    const int poses[] = {4, 16};
    printf("one thread, r = 100, 6 regions, 16,464 tets, 16,002 skin vertices\n");
    for (int k = 0; k < 2; k++) {
        character_sizes sizes = {.cells = 14,
                                 .skin = 16002,
                                 .r = 100,
                                 .regions = 6,
                                 .m = poses[k],
                                 .tets = 10,
                                 .points = 10,
                                 .frames = FRAMES,
                                 .fps = 30};
        character c;
        character_create(&c, &sizes);
        for (int all = 0; all < 2; all++) {
            double spread;
            int64_t carrying;
            double median = measure(&c, all, &carrying, &spread);
            printf("  m = %2d: %6.1f us a frame, %5.0f frames a second (±%.0f %%)   %s\n", sizes.m, 1e6 * median,
                   1 / median, 100 * spread, all ? "skin, and u of all the flesh" : "skin");
            if (!all && k == 0)
                printf("          (%lld of %lld flesh vertices carry the skin)\n", (long long)carrying,
                       (long long)c.model.n);
        }
        character_free(&c);
    }
    return 0;
}
