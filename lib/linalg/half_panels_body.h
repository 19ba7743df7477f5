/* Products with panels in bfloat16, for one set of vector units (core/vector_begin.h). */

typedef float lanes __attribute__((vector_size(SU_VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(SU_VECTOR_BYTES), aligned(4), may_alias));
enum { LANES = SU_VECTOR_BYTES / 4, PARTS = SU_HALF_ROWS / LANES }; /* vectors of a tile's rows */
enum { PAIRS = 4 / PARTS };                                         /* of columns whose sums stay in registers */

SU_INLINE lanes even(words x) { return (lanes)(x << 16); }
SU_INLINE lanes odd(words x) { return (lanes)(x & 0xffff0000u); }

static void multiply(int width, int tiles, const uint32_t *P, const float *y, float *out)
{
    for (int t = 0; t < tiles; t++, out += SU_HALF_ROWS) {
        lanes sum[4][PARTS] = {{{0}}};
        int c = 0;
        for (; c + 4 <= width; c += 4, P += 2 * SU_HALF_ROWS)
            for (int k = 0; k < PARTS; k++) {
                const words *here = (const words *)(P + LANES * k),
                            *next = (const words *)(P + SU_HALF_ROWS + LANES * k);
                sum[0][k] += even(*here) * y[c], sum[1][k] += odd(*here) * y[c + 1];
                sum[2][k] += even(*next) * y[c + 2], sum[3][k] += odd(*next) * y[c + 3];
            }
        for (; c < width; c += 2, P += SU_HALF_ROWS)
            for (int k = 0; k < PARTS; k++) {
                const words *here = (const words *)(P + LANES * k);
                sum[0][k] += even(*here) * y[c];
                if (c + 1 < width) sum[1][k] += odd(*here) * y[c + 1];
            }
        for (int k = 0; k < PARTS; k++) *(lanes *)(out + LANES * k) = sum[0][k] + sum[1][k] + (sum[2][k] + sum[3][k]);
    }
}

/* The sums of SU_HALF_ROWS numbers each, halves by halves, whatever a vector holds. */
#if SU_VECTOR_BYTES >= 32
SU_INLINE void sum_rows(lanes v[2 * PAIRS][PARTS], float out[2 * PAIRS])
{
    typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
    eight half[4], two[2], one;
    for (int group = 0; group < 2 * PAIRS; group += 4) {
        for (int k = 0; k < 4; k++) {
#if SU_VECTOR_BYTES == 64
            lanes x = v[group + k][0];
            half[k] = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
#else
            half[k] = v[group + k][0] + v[group + k][1];
#endif
        }
        for (int k = 0; k < 2; k++)
            two[k] = __builtin_shufflevector(half[2 * k], half[2 * k + 1], 0, 1, 2, 3, 8, 9, 10, 11) +
                     __builtin_shufflevector(half[2 * k], half[2 * k + 1], 4, 5, 6, 7, 12, 13, 14, 15);
        one = __builtin_shufflevector(two[0], two[1], 0, 1, 4, 5, 8, 9, 12, 13) +
              __builtin_shufflevector(two[0], two[1], 2, 3, 6, 7, 10, 11, 14, 15);
        for (int k = 0; k < 4; k++) out[group + k] = one[2 * k] + one[2 * k + 1];
    }
}
#else
SU_INLINE void sum_rows(lanes v[2 * PAIRS][PARTS], float out[2 * PAIRS])
{
    for (int c = 0; c < 2 * PAIRS; c++) {
        lanes sum = v[c][0] + v[c][2] + (v[c][1] + v[c][3]);
        out[c] = sum[0] + sum[2] + (sum[1] + sum[3]);
    }
}
#endif

/* out (columns) = of P' y those of so many pairs of columns; columns is that or one less. stride: words from tile to
 * tile. */
SU_INLINE void multiply_pairs(int pairs, int columns, int stride, int tiles, const uint32_t *P, const float *y,
                              float *out)
{
    lanes sum[2 * PAIRS][PARTS] = {{{0}}};
    float all[2 * PAIRS];
    for (int t = 0; t < tiles; t++, P += stride, y += SU_HALF_ROWS)
        for (int c = 0; c < pairs; c++)
            for (int k = 0; k < PARTS; k++) {
                words here = *(const words *)(P + SU_HALF_ROWS * c + LANES * k);
                lanes with = *(const lanes *)(y + LANES * k);
                sum[2 * c][k] += even(here) * with, sum[2 * c + 1][k] += odd(here) * with;
            }
    sum_rows(sum, all);
    for (int c = 0; c < columns; c++) out[c] = all[c];
}

static void multiply_transposed(int width, int tiles, const uint32_t *P, const float *y, float *out)
{
    int pairs = (width + 1) / 2, stride = SU_HALF_ROWS * pairs;
    for (; pairs > PAIRS; pairs -= PAIRS, width -= 2 * PAIRS, P += SU_HALF_ROWS * PAIRS, out += 2 * PAIRS)
        multiply_pairs(PAIRS, 2 * PAIRS, stride, tiles, P, y, out);
    switch (pairs) { /* so that sums stay in registers */
    case 1:
        multiply_pairs(1, width, stride, tiles, P, y, out);
        break;
#if SU_VECTOR_BYTES >= 32
    case 2:
        multiply_pairs(2, width, stride, tiles, P, y, out);
        break;
#endif
#if SU_VECTOR_BYTES == 64
    case 3:
        multiply_pairs(3, width, stride, tiles, P, y, out);
        break;
    case 4:
        multiply_pairs(4, width, stride, tiles, P, y, out);
#endif
    }
}

const su_half_panels SU_IN_SET(su_half_panels) = {multiply, multiply_transposed};
