/* Loops over blocks of SU_LANES columns, for one set of vector units (core/vector_begin.h). */

typedef float lanes __attribute__((vector_size(SU_VECTOR_BYTES), aligned(4), may_alias));
enum { LANES = SU_VECTOR_BYTES / 4 };
/* Vectors that are kept in registers at once, of sixteen or thirty-two. */
enum { AT_ONCE = 8 };
_Static_assert(SU_LANES % LANES == 0 && SU_LANES % AT_ONCE == 0, "whole vectors, whole groups of them");

/* The vector of row r, from the numbers that it begins at in the first. */
#define ROW(x, r) (*(lanes *)((x) + (int64_t)SU_LANES * (r)))
#define ROW_OF(x, r) (*(const lanes *)((x) + (int64_t)SU_LANES * (r)))
#define EACH_PART(part) for (int part = 0; part < SU_LANES; part += LANES)

static void products(int64_t rows, const float *v, const float *w, double *C)
{
    EACH_PART(part)
    for (int some = 0; some < SU_LANES; some += AT_ONCE) {
        lanes sum[AT_ONCE] = {{0}};
        for (int64_t i = 0; i < rows; i++)
            for (int a = 0; a < AT_ONCE; a++) sum[a] += v[SU_LANES * i + some + a] * ROW_OF(w + part, i);
        for (int a = 0; a < AT_ONCE; a++)
            for (int c = 0; c < LANES; c++) C[(some + a) * SU_LANES + part + c] += (double)sum[a][c];
    }
}

static void combine(int64_t rows, const float *v, const double *C, int64_t stride, float factor, float *w)
{
    EACH_PART(part)
    for (int some = 0; some < SU_LANES; some += AT_ONCE) {
        lanes c[AT_ONCE];
        float of[AT_ONCE][LANES];
        for (int a = 0; a < AT_ONCE; a++)
            for (int l = 0; l < LANES; l++) of[a][l] = factor * (float)C[(some + a) * stride + part + l];
        memcpy(c, of, sizeof c);
        for (int64_t i = 0; i < rows; i++) {
            lanes sum = ROW(w + part, i);
            for (int a = 0; a < AT_ONCE; a++) sum += v[SU_LANES * i + some + a] * c[a];
            ROW(w + part, i) = sum;
        }
    }
}

/* Columns of L in one pass over the rows below them, so that a row is loaded once for all. */
enum { STRIP = AT_ONCE };

SU_INLINE void forward_part(int width, int height, const float *L, float *x)
{
    for (int j = 0; j < width; j += STRIP) {
        int some = width - j < STRIP ? width - j : STRIP;
        const float *own = L + (int64_t)j * height;
        lanes y[STRIP];
        for (int a = 0; a < some; a++) {
            lanes sum = ROW(x, j + a);
            for (int b = 0; b < a; b++) sum -= own[(int64_t)b * height + j + a] * y[b];
            ROW(x, j + a) = y[a] = sum / own[(int64_t)a * height + j + a];
        }
        if (some == STRIP)
            for (int r = j + STRIP; r < height; r++) {
                lanes sum = ROW(x, r);
                for (int b = 0; b < STRIP; b++) sum -= own[(int64_t)b * height + r] * y[b];
                ROW(x, r) = sum;
            }
        else
            for (int r = j + some; r < height; r++)
                for (int b = 0; b < some; b++) ROW(x, r) -= own[(int64_t)b * height + r] * y[b];
    }
}

static void forward(int width, int height, const float *L, float *x)
{
    EACH_PART(part) forward_part(width, height, L, x + part);
}

SU_INLINE void backward_part(int width, int height, const float *L, float *x)
{
    for (int j = (width - 1) / STRIP * STRIP; j >= 0; j -= STRIP) {
        int some = width - j < STRIP ? width - j : STRIP;
        const float *own = L + (int64_t)j * height;
        lanes sum[STRIP] = {{0}};
        if (some == STRIP)
            for (int r = j + STRIP; r < height; r++) {
                lanes here = ROW(x, r);
                for (int b = 0; b < STRIP; b++) sum[b] += own[(int64_t)b * height + r] * here;
            }
        else
            for (int r = j + some; r < height; r++)
                for (int b = 0; b < some; b++) sum[b] += own[(int64_t)b * height + r] * ROW(x, r);
        for (int a = some - 1; a >= 0; a--) {
            lanes left = ROW(x, j + a) - sum[a];
            for (int b = a + 1; b < some; b++) left -= own[(int64_t)a * height + j + b] * ROW(x, j + b);
            ROW(x, j + a) = left / own[(int64_t)a * height + j + a];
        }
    }
}

static void backward(int width, int height, const float *L, float *x)
{
    EACH_PART(part) backward_part(width, height, L, x + part);
}

const su_lane_kernels SU_IN_SET(su_lane_kernels) = {products, combine, forward, backward};
