/* Products with panels in bfloat16, of every set of vector units, against sums one by one. */
#include "box.h"
#include "core/vector_set.h"
#include "linalg/bfloat16.h"
#include "linalg/half_panels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

enum { MOST = 70 };

/* A panel, what is kept of it, and vectors of either length. */
typedef struct panel {
    int width, height, tiles;
    double given[MOST * MOST];
    float kept[MOST * MOST], wide[MOST], tall[MOST + SU_HALF_ROWS];
    uint32_t words[MOST * (MOST + SU_HALF_ROWS)];
} panel;

static float unpacked(float x)
{
    uint32_t bits = (uint32_t)su_bfloat16(x) << 16;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void make(int width, int height, uint64_t *state, panel *p)
{
    *p = (panel){.width = width, .height = height, .tiles = su_half_tiles(height)};
    for (int k = 0; k < width * height; k++) p->given[k] = box_random(state), p->kept[k] = unpacked((float)p->given[k]);
    for (int c = 0; c < width; c++) p->wide[c] = (float)box_random(state);
    for (int r = 0; r < height; r++) p->tall[r] = (float)box_random(state);
    assert_true(su_half_words(width, height) <= (int64_t)(sizeof p->words / sizeof *p->words));
    su_half_pack(width, height, p->given, p->words);
}

/* To the rounding of so many terms. */
static void compare(const su_half_panels *panels, const panel *p)
{
    float out[MOST + SU_HALF_ROWS + 1], *at = out + 1; /* at no vector's boundary */
    panels->multiply(p->width, p->tiles, p->words, p->wide, at);
    for (int r = 0; r < SU_HALF_ROWS * p->tiles; r++) {
        double sum = 0, size = 1;
        for (int c = 0; c < p->width && r < p->height; c++) {
            double term = (double)p->kept[c * p->height + r] * (double)p->wide[c];
            sum += term, size += fabs(term);
        }
        assert_near((double)at[r] / size, sum / size, 1e-6);
    }
    panels->multiply_transposed(p->width, p->tiles, p->words, p->tall, at);
    for (int c = 0; c < p->width; c++) {
        double sum = 0, size = 1;
        for (int r = 0; r < p->height; r++) {
            double term = (double)p->kept[c * p->height + r] * (double)p->tall[r];
            sum += term, size += fabs(term);
        }
        assert_near((double)at[c] / size, sum / size, 1e-6);
    }
}

static void products_are_right(void **unused)
{
    (void)unused;
    uint64_t state = 9;
    panel *p = malloc(sizeof *p);
    for (int width = 1; width <= 25; width++)
        for (int height = width; height <= MOST; height += 11) {
            make(width, height, &state, p);
            for (int set = 0; set <= (int)su_vector_set_here(); set++) compare(SU_OF_SET(su_half_panels, set), p);
        }
    free(p);
}

/* A farm's machines give the same bytes, whatever they have beyond AVX2. */
static void sets_with_fused_products_agree(void **unused)
{
    (void)unused;
    uint64_t state = 4;
    float a[MOST + SU_HALF_ROWS], b[MOST + SU_HALF_ROWS];
    if (su_vector_set_here() < SU_VECTORS_AVX512) skip();
    panel *p = malloc(sizeof *p);
    for (int width = 1; width <= 25; width++) {
        make(width, MOST, &state, p);
        su_half_panels_avx2.multiply(width, p->tiles, p->words, p->wide, a);
        su_half_panels_avx512.multiply(width, p->tiles, p->words, p->wide, b);
        assert_memory_equal(a, b, (size_t)(SU_HALF_ROWS * p->tiles) * sizeof *a);
        su_half_panels_avx2.multiply_transposed(width, p->tiles, p->words, p->tall, a);
        su_half_panels_avx512.multiply_transposed(width, p->tiles, p->words, p->tall, b);
        assert_memory_equal(a, b, (size_t)width * sizeof *a);
    }
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(sets_with_fused_products_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
