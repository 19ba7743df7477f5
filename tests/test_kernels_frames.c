/* Kernels of reconstruction in every instruction set this processor has, against plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/kernels/kernel_set.h"
#include "core/memory.h"
#include "near.h"
#include "runtime/kernels/kernels_frames.h"

#include <stdlib.h>
#include <string.h>

/* The group of a set that these tests are about; NULL where this processor cannot run it. */
static const su_frame_kernels *kernels_of(const char *name)
{
    const su_kernel_set *set = su_kernel_set_choose(name);
    return set ? &set->frames : NULL;
}

enum { GROUPS = 3, ROWS = 11, VERTICES = 29, FLESH = 23, SKIN = 37 };

static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / (double)(1 << 23) - 1.0;
}

static float *random_floats(int64_t count, uint64_t *state)
{
    float *out = su_calloc(count, sizeof *out);
    for (int64_t i = 0; i < count; i++) out[i] = (float)noise(state);
    return out;
}

static void check_combine(const su_frame_kernels *k, uint64_t *state)
{
    float *block = random_floats(ROWS * 3 * VERTICES, state), *c = random_floats(GROUPS * ROWS * 16, state);
    float *u = random_floats(GROUPS * FLESH * 48, state), *before = su_calloc(GROUPS * FLESH * 48, sizeof *before);
    int32_t slot[VERTICES];
    for (int v = 0; v < VERTICES; v++)
        slot[v] = v < 9 || v % 5 == 0 ? -1 : v % FLESH; /* a run of eight that nobody wants */
    memcpy(before, u, GROUPS * FLESH * 48 * sizeof *u);
    k->combine(GROUPS, ROWS, VERTICES, block, c, slot, FLESH, u);
    for (int g = 0; g < GROUPS; g++)
        for (int f = 0; f < 16; f++)
            for (int s = 0; s < FLESH; s++)
                for (int a = 0; a < 3; a++) {
                    double sum = (double)before[48 * (g * FLESH + s) + 16 * a + f];
                    for (int v = 0; v < VERTICES; v++)
                        for (int row = 0; slot[v] == s && row < ROWS; row++)
                            sum += (double)c[16 * (g * ROWS + row) + f] * (double)block[row * 3 * VERTICES + 3 * v + a];
                    assert_near(u[48 * (g * FLESH + s) + 16 * a + f], sum, 3e-6);
                }
    float one[3 * VERTICES];
    k->combine_one(ROWS, 3 * VERTICES, block, c, one);
    for (int at = 0; at < 3 * VERTICES; at++) {
        double sum = 0;
        for (int row = 0; row < ROWS; row++) sum += (double)c[row] * (double)block[row * 3 * VERTICES + at];
        assert_near(one[at], sum, 3e-6);
    }
    free(block), free(c), free(u), free(before);
}

static void check_turn(const su_frame_kernels *k, uint64_t *state)
{
    float *u = random_floats(FLESH * 48, state), *before = su_calloc(FLESH * 48, sizeof *before);
    float *R = random_floats(FLESH * 144, state);
    memcpy(before, u, FLESH * 48 * sizeof *u);
    k->turn(FLESH, R, u);
    for (int v = 0; v < FLESH; v++)
        for (int a = 0; a < 3; a++)
            for (int f = 0; f < 16; f++) {
                double sum = 0.0;
                for (int b = 0; b < 3; b++)
                    sum += (double)R[144 * v + 16 * (3 * a + b) + f] * (double)before[48 * v + 16 * b + f];
                assert_near(u[48 * v + 16 * a + f], sum, 1e-6);
            }
    free(u), free(before), free(R);
}

static void check_output(const su_frame_kernels *k, uint64_t *state)
{
    float *u = random_floats(FLESH * 48, state), *weight = random_floats(4 * SKIN, state);
    int32_t corner[4 * SKIN];
    double *rows = su_calloc(16 * (3 * SKIN + 1), sizeof *rows), *out[16];
    for (int i = 0; i < 4 * SKIN; i++) corner[i] = (int32_t)((noise(state) + 1.0) * 0.5 * (FLESH - 1));
    for (int frames = 1; frames <= 16; frames += 5) {
        for (int skin = 0; skin < 2; skin++) {
            int count = skin ? SKIN : FLESH;
            for (int f = 0; f < 16; f++) out[f] = rows + f * (3 * count + 1);
            for (int i = 0; i < 16 * (3 * count + 1); i++) rows[i] = -7.0;
            if (skin)
                k->embed(frames, SKIN, corner, weight, u, out);
            else
                k->separate(frames, FLESH, u, out);
            for (int f = 0; f < 16; f++) {
                assert_true(out[f][3 * count] == -7.0); /* nothing behind the end */
                for (int i = 0; i < 3 * count; i++) {
                    double want = skin ? 0.0 : (double)u[16 * i + f];
                    for (int c = 0; skin && c < 4; c++)
                        want += (double)weight[4 * (i / 3) + c] *
                                (double)u[48 * corner[4 * (i / 3) + c] + 16 * (i % 3) + f];
                    assert_near(out[f][i], f < frames ? want : -7.0, skin ? 1e-6 : 0.0);
                }
            }
        }
    }
    free(u), free(weight), free(rows);
}

static void kernels_agree_with_plain_loops(void **unused)
{
    (void)unused;
    static const char *const names[] = {"base", "avx2", "avx512"};
    uint64_t state = 9;
    int found = 0;
    for (int i = 0; i < 3; i++) {
        const su_frame_kernels *k = kernels_of(names[i]);
        if (!k) continue;
        found++;
        check_combine(k, &state);
        check_turn(k, &state);
        check_output(k, &state);
    }
    assert_true(found > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_agree_with_plain_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
