/* The kernels of stepping (runtime/kernels/kernels.h); part of kernels_set_body.h, after TILE_I and TILE_J
 * (how many rows times vectors of a product are held in registers) and GROUPS (vectors of elements whose axes are
 * sought side by side, as each is one long chain of dependent operations) are set. */

#include "runtime/kernels/kernels_response_body.h"

#define LOAD_F(p) WIDEN(AT(f8, p))

/* As many of eight numbers as are meant, or all. */
INLINE void store_some(int64_t count, const v8 *from, double *out)
{
    if (count >= 8)
        AT(v8u, out) = *from;
    else
        memcpy(out, from, (size_t)count * sizeof *out);
}

static void rows_times(int64_t rows, int64_t stride, const float *A, const double *x, double *out)
{
    for (int64_t k = 0; k < rows; k += 8, A += 8 * stride) {
        doubles sum[8] = {{0}};
        v8 result;
        for (int64_t j = 0; j < stride; j += DOUBLES) {
            doubles at = AT(doubles, x + j);
            UNROLL_FOR (int i = 0; i < 8; i++) sum[i] += WIDEN_AT(A + i * stride + j) * at;
        }
        sum_doubles(sum, &result);
        store_some(rows - k, &result, out + k);
    }
}

static void rows_times_float(int64_t rows, int64_t stride, const float *A, const float *x, double *out)
{
    for (int64_t k = 0; k < rows; k += 8, A += 8 * stride) {
        floats sum[8] = {{0}};
        f8 result;
        int64_t j = 0;
        for (; j + FLOATS <= stride; j += FLOATS) {
            floats at = AT(floats_u, x + j);
            UNROLL_FOR (int i = 0; i < 8; i++) sum[i] += AT(floats_u, A + i * stride + j) * at;
        }
#if defined(SU_AVX512)
        if (j < stride)
            UNROLL_FOR (int i = 0; i < 8; i++) {
                f8 none = {0}, rest = AT(f8, A + i * stride + j) * AT(f8, x + j);
                sum[i] += TOGETHER(rest, none);
            }
#endif
        sum_floats(sum, &result);
        v8 all = WIDEN(result);
        store_some(rows - k, &all, out + k);
    }
}

INLINE void combine_columns(int vectors, int64_t rows, int64_t stride, const float *A, const double *x, double *sum)
{
    doubles all[3];
    UNROLL_FOR (int n = 0; n < vectors; n++) all[n] = AT(doubles, sum + DOUBLES * n);
    for (int64_t k = 0; k < rows; k++, A += stride)
        UNROLL_FOR (int n = 0; n < vectors; n++) all[n] += x[k] * WIDEN_AT(A + DOUBLES * n);
    UNROLL_FOR (int n = 0; n < vectors; n++) AT(doubles, sum + DOUBLES * n) = all[n];
}

static void rows_combine(int64_t rows, int64_t stride, const float *A, const double *x, double *sum)
{
    int64_t j = 0;
    for (; j + 3 * DOUBLES <= stride; j += 3 * DOUBLES) combine_columns(3, rows, stride, A + j, x, sum + j);
    for (; j < stride; j += DOUBLES) combine_columns(1, rows, stride, A + j, x, sum + j);
}

/* out = R x, or R' x, R (9,count) of floats at a tet's lane. */
INLINE void turn_corner(const float *R, int64_t count, bool back, const v8 x[3], v8 out[3])
{
    UNROLL_FOR (int a = 0; a < 3; a++) {
        out[a] = (v8){0};
        UNROLL_FOR (int b = 0; b < 3; b++) out[a] += LOAD_F(R + (back ? 3 * b + a : 3 * a + b) * count) * x[b];
    }
}

static void corners(int64_t count, int64_t kept, const int32_t *base, const double *still, const float *rotation,
                    const double *gradient, const double *strain, double *u)
{
    for (int64_t e = 0; e < count; e += 8) {
        const int32_t *at = base + e;
        const v8 *G = (const v8 *)(strain + 9 * e);
        v8 g[9], C[9], first[3], own[3], moved[3];
        EACH_ENTRY (i) g[i] = AT(v8, gradient + (3 + i) * count + e);
        UNROLL_FOR (int a = 0; a < 3; a++) {
            const double *s = still + a * kept;
            own[a] = (v8){s[at[0]], s[at[1]], s[at[2]], s[at[3]], s[at[4]], s[at[5]], s[at[6]], s[at[7]]};
            AT(v8, u + a * count + e) = own[a];
        }
        turn_corner(rotation + e, count, false, own, first);
        COFACTORS(g, C);
        v8 det = g[0] * C[0] + g[1] * C[1] + g[2] * C[2];
        v8 inverse = 1 / WHERE(det == 0, SPLAT(1.0), det);
        UNROLL_FOR (int c = 0; c < 3; c++) { /* edges: the inverse of the gradients */
            v8 edge[3];
            UNROLL_FOR (int a = 0; a < 3; a++) edge[a] = C[3 * c + a] * inverse;
            UNROLL_FOR (int a = 0; a < 3; a++)
                moved[a] = first[a] + G[3 * a] * edge[0] + G[3 * a + 1] * edge[1] + G[3 * a + 2] * edge[2];
            turn_corner(rotation + 9 * (c + 1) * count + e, count, true, moved, own);
            UNROLL_FOR (int a = 0; a < 3; a++) AT(v8, u + (3 * (c + 1) + a) * count + e) = own[a];
        }
    }
}

static void turned_strain(int64_t count, const float *rotation, const double *u, const double *gradient, double *strain)
{
    for (int64_t e = 0; e < count; e += 8) {
        v8 out[9] = {{0}};
        UNROLL_FOR (int c = 0; c < 4; c++) {
            v8 x[3], moved[3];
            UNROLL_FOR (int a = 0; a < 3; a++) x[a] = AT(v8, u + (3 * c + a) * count + e);
            turn_corner(rotation + 9 * c * count + e, count, false, x, moved);
            UNROLL_FOR (int a = 0; a < 3; a++)
                UNROLL_FOR (int b = 0; b < 3; b++)
                    out[3 * a + b] += moved[a] * AT(v8, gradient + (3 * c + b) * count + e);
        }
        EACH_ENTRY (a) AT(v8, strain + 9 * e + 8 * a) = out[a];
    }
}

/* ---- products ---- */

/* C (TILE_I rows, `vectors` of doubles wide) -= sum over k < depth of A[k][0..TILE_I) W[k][0..], rows `lead` apart. */
INLINE void product_tile(int vectors, int64_t depth, int64_t lead, const double *A, const double *W, double *C)
{
    doubles sum[TILE_I][TILE_J] = {{{0}}};
    for (int64_t k = 0; k < depth; k++, A += lead, W += lead) {
        doubles w[TILE_J];
        UNROLL_FOR (int j = 0; j < vectors; j++) w[j] = AT(doubles, W + DOUBLES * j);
        UNROLL_FOR (int i = 0; i < TILE_I; i++)
            UNROLL_FOR (int j = 0; j < vectors; j++) sum[i][j] += A[i] * w[j];
    }
    UNROLL_FOR (int i = 0; i < TILE_I; i++)
        UNROLL_FOR (int j = 0; j < vectors; j++) AT(doubles, C + i * lead + DOUBLES * j) -= sum[i][j];
}

/* Rows first .. first + 7 of the matrix less the products of those above, columns from `first` to the end. */
INLINE void product_row(int64_t first, int64_t end, int64_t lead, double *A)
{
    for (int64_t i = first; i < first + 8; i += TILE_I) {
        int64_t j = first;
        for (; TILE_J >= 3 && j + 3 * DOUBLES <= end; j += 3 * DOUBLES)
            product_tile(3, first, lead, A + i, A + j, A + i * lead + j);
        for (; TILE_J >= 2 && j + 2 * DOUBLES <= end; j += 2 * DOUBLES)
            product_tile(2, first, lead, A + i, A + j, A + i * lead + j);
        for (; j < end; j += DOUBLES) product_tile(1, first, lead, A + i, A + j, A + i * lead + j);
    }
}

/* ---- the reduced tangent ----
 * In float, by the widest vectors there are: while those are under way, half as wide ones go through one port alone on
 * processors that have both, so that eight columns cost as much as sixteen. */
#define ADD_LOW(to, from) (AT(doubles, to) += WIDEN_FEW(HALF(from, 0)))
#define ADD_FLOATS(to, from) (ADD_LOW(to, from), AT(doubles, (to) + DOUBLES) += WIDEN_FEW(HALF(from, 1)))

/* C (rows, `vectors` wide, stride) += sum_k A[k][0..rows) W[k][0..], both of `depth` rows; rows and vectors are
 * constants for the compiler. low: only the first eight columns. Few sums would wait for themselves: they take two
 * strands of the depth. */
INLINE void product_block(int rows, int vectors, bool low, int64_t depth, int64_t stride, const float *A,
                          const float *W, double *C)
{
    const int strands = rows * vectors <= TILE_I ? 2 : 1;
    floats sum[2][8][TILE_J] = {{{{0}}}};
    int64_t k = 0;
    for (; k + strands <= depth; k += strands, A += strands * stride, W += strands * stride)
        UNROLL_FOR (int s = 0; s < strands; s++) {
            floats w[TILE_J];
            UNROLL_FOR (int j = 0; j < vectors; j++) w[j] = AT(floats_u, W + s * stride + FLOATS * j);
            UNROLL_FOR (int i = 0; i < rows; i++)
                UNROLL_FOR (int j = 0; j < vectors; j++) sum[s][i][j] += A[s * stride + i] * w[j];
        }
    if (k < depth)
        UNROLL_FOR (int i = 0; i < rows; i++)
            UNROLL_FOR (int j = 0; j < vectors; j++) sum[0][i][j] += A[i] * AT(floats_u, W + FLOATS * j);
    UNROLL_FOR (int i = 0; i < rows; i++)
        UNROLL_FOR (int j = 0; j < vectors; j++) {
            floats all = sum[0][i][j];
            if (strands == 2) all += sum[1][i][j];
            if (low)
                ADD_LOW(C + i * stride + FLOATS * j, all);
            else
                ADD_FLOATS(C + i * stride + FLOATS * j, all);
        }
}

/* Rows from `row` of the upper triangle of A' W, `rows` of them (a constant), with eight columns more on the left where
 * that fills the vectors; W is read up to eight entries beyond its end. */
INLINE void product_rows(int rows, int64_t row, int64_t depth, int64_t stride, const float *A, const float *W,
                         double *C)
{
    int64_t j = row / 8 * 8;
    A += row, C += row * stride;
    if (FLOATS == 16 && (stride - j) % 16 != 0) {
        if (j == 0) product_block(rows, 1, true, depth, stride, A, W, C);
        j += j == 0 ? 8 : -8;
    }
    for (; TILE_J >= 3 && j + 3 * FLOATS <= stride; j += 3 * FLOATS)
        product_block(rows, 3, false, depth, stride, A, W + j, C + j);
    for (; TILE_J >= 2 && j + 2 * FLOATS <= stride; j += 2 * FLOATS)
        product_block(rows, 2, false, depth, stride, A, W + j, C + j);
    for (; j < stride; j += FLOATS) product_block(rows, 1, false, depth, stride, A, W + j, C + j);
}

#define LAST_ROWS(rows)                                                                                                \
    case rows:                                                                                                         \
        product_rows(rows, full, depth, stride, A, W, C);                                                              \
        break

/* C (columns,stride) += A' W, both of `depth` rows; as product_rows says. */
INLINE void product_upper(int64_t columns, int64_t depth, int64_t stride, const float *A, const float *W, double *C)
{
    int64_t full = columns / TILE_I * TILE_I;
    for (int64_t i = 0; i < full; i += TILE_I) product_rows(TILE_I, i, depth, stride, A, W, C);
    switch (columns - full) {
        LAST_ROWS(1);
        LAST_ROWS(2);
        LAST_ROWS(3);
        LAST_ROWS(4);
        LAST_ROWS(5);
        LAST_ROWS(6);
        LAST_ROWS(7);
    }
}

static void gram(int64_t depth, int64_t columns, int64_t stride, const float *R, double *C)
{
    product_upper(columns, depth, stride, R, R, C);
}

/* `vectors` (a constant) from column j of W (9,stride) = D B of one element, D[45] at stride 16. Three rows side by
 * side, as each sum is one long chain. */
INLINE void product_columns(int vectors, int64_t stride, int64_t j, const float *B, const float *D, float *W)
{
    floats b[9][2];
    __asm__("" : "+r"(D)); /* entries are read where they are used; kept over a loop they would fill the stack */
    EACH_ENTRY (i)
        UNROLL_FOR (int n = 0; n < vectors; n++) b[i][n] = AT(floats_u, B + i * stride + j + n * FLOATS);
    UNROLL_FOR (int i = 0; i < 9; i += 3) {
        floats w[3][2];
        EACH_ENTRY (k)
            UNROLL_FOR (int a = 0; a < 3; a++)
                UNROLL_FOR (int n = 0; n < vectors; n++)
                    w[a][n] = k == 0 ? D[16 * UPPER(i + a, k)] * b[k][n] : w[a][n] + D[16 * UPPER(i + a, k)] * b[k][n];
        UNROLL_FOR (int a = 0; a < 3; a++)
            UNROLL_FOR (int n = 0; n < vectors; n++) AT(floats_u, W + (i + a) * stride + j + n * FLOATS) = w[a][n];
    }
}

INLINE void element_product(int64_t stride, const float *B, const float *D, float *W)
{
    int64_t j = 0;
    for (; FLOATS == 16 && j + 32 <= stride; j += 32) product_columns(2, stride, j, B, D, W);
    for (; j + FLOATS <= stride; j += FLOATS) product_columns(1, stride, j, B, D, W);
    if (j == stride) return;
    if (stride > 8)
        product_columns(1, stride, stride - 16, B, D, W); /* eight alone would cost as much */
    else
        for (int64_t i = 0; i < 9; i++) {
            f8 sum = {0};
            EACH_ENTRY (k) sum += D[16 * UPPER(i, k)] * AT(f8, B + k * stride);
            AT(f8, W + i * stride) = sum;
        }
}

/* force (`vectors`, a constant) += B' t of `count` elements from element `first`, in double; rows `stride` apart. */
INLINE void force_columns(int vectors, int64_t first, int64_t count, int64_t stride, const float *B, const double *t,
                          double *force)
{
    doubles even[4], odd[4] = {{0}};
    UNROLL_FOR (int j = 0; j < vectors; j++) even[j] = AT(doubles, force + DOUBLES * j);
    for (int64_t e = first; e < first + count; e++, B += 9 * stride) {
        const double *at = t + su_strain_at(e);
        EACH_ENTRY (i)
            UNROLL_FOR (int j = 0; j < vectors; j++) {
                doubles b = WIDEN_AT(B + i * stride + DOUBLES * j);
                if (i % 2 == 0)
                    even[j] += at[8 * i] * b;
                else
                    odd[j] += at[8 * i] * b;
            }
    }
    UNROLL_FOR (int j = 0; j < vectors; j++) AT(doubles, force + DOUBLES * j) = even[j] + odd[j];
}

static void tangent(const su_panel_products *what)
{
    const int64_t first = what->first, count = what->count, columns = what->columns, stride = what->stride;
    const float *B = what->B, *derivative = what->derivative;
    const double *t = what->stress;
    float *work = what->work;
    double *tile = what->tile, *force = what->force;
    for (int64_t at = 0; at < count; at += 8) {
        int64_t chunk = count - at < 8 ? count - at : 8, depth = 9 * chunk, j = 0;
        const float *here = B + 9 * at * stride;
        for (int64_t k = 0; k < chunk; k++) {
            int64_t e = first + at + k;
            element_product(stride, here + 9 * k * stride, derivative + su_derivative_at(e), work + 9 * k * stride);
        }
        for (; t && j + 4 * DOUBLES <= stride; j += 4 * DOUBLES)
            force_columns(4, first + at, chunk, stride, here + j, t, force + j);
        for (; t && j + 2 * DOUBLES <= stride; j += 2 * DOUBLES)
            force_columns(2, first + at, chunk, stride, here + j, t, force + j);
        for (; t && j < stride; j += DOUBLES) force_columns(1, first + at, chunk, stride, here + j, t, force + j);
        product_upper(columns, depth, stride, here, work, tile);
    }
}

#include "runtime/kernels/kernels_abreast_body.h"

/* ---- Cholesky: A = U'U, block rows of 8, left-looking ---- */

static bool cholesky(int64_t size, int64_t lead, double *A, double *inverse)
{
    int64_t blocks = size / 8;
    for (int64_t ib = 0; ib < blocks; ib++) {
        double *rows = A + 8 * ib * lead;
        product_row(8 * ib, size, lead, A);
        doubles diagonal[8][PARTS];
        UNROLL_FOR (int i = 0; i < 8; i++)
            UNROLL_FOR (int p = 0; p < PARTS; p++) diagonal[i][p] = AT(doubles, rows + i * lead + 8 * ib + DOUBLES * p);
        UNROLL_FOR (int i = 0; i < 8; i++) {
            double pivot = diagonal[i][i / DOUBLES][i % DOUBLES];
            if (!(pivot > 0 && pivot < INFINITY)) return false;
            double scale = 1 / sqrt(pivot);
            inverse[8 * ib + i] = scale;
            UNROLL_FOR (int p = 0; p < PARTS; p++) diagonal[i][p] *= scale;
            UNROLL_FOR (int k = i + 1; k < 8; k++) {
                double factor = diagonal[i][k / DOUBLES][k % DOUBLES];
                UNROLL_FOR (int p = 0; p < PARTS; p++) diagonal[k][p] -= factor * diagonal[i][p];
            }
        }
        UNROLL_FOR (int i = 0; i < 8; i++)
            UNROLL_FOR (int p = 0; p < PARTS; p++) AT(doubles, rows + i * lead + 8 * ib + DOUBLES * p) = diagonal[i][p];
        for (int64_t j = 8 * (ib + 1); j < 8 * blocks; j += DOUBLES) {
            doubles x[8];
            UNROLL_FOR (int i = 0; i < 8; i++) x[i] = AT(doubles, rows + i * lead + j);
            UNROLL_FOR (int i = 0; i < 8; i++) {
                x[i] *= inverse[8 * ib + i];
                UNROLL_FOR (int k = i + 1; k < 8; k++) x[k] -= rows[i * lead + 8 * ib + k] * x[i];
                AT(doubles, rows + i * lead + j) = x[i];
            }
        }
    }
    return true;
}

static void solve(int64_t size, int64_t lead, const double *U, const double *inverse, double *x)
{
    int64_t blocks = size / 8;
    for (int64_t ib = 0; ib < blocks; ib++) { /* U'y = b, columns of U' are rows of U */
        const double *rows = U + 8 * ib * lead;
        double *y = x + 8 * ib;
        for (int i = 0; i < 8; i++) {
            y[i] *= inverse[8 * ib + i];
            for (int k = i + 1; k < 8; k++) y[k] -= rows[i * lead + 8 * ib + k] * y[i];
        }
        for (int64_t j = 8 * (ib + 1); j < 8 * blocks; j += DOUBLES) {
            doubles sum = AT(doubles, x + j);
            UNROLL_FOR (int i = 0; i < 8; i++) sum -= y[i] * AT(doubles, rows + i * lead + j);
            AT(doubles, x + j) = sum;
        }
    }
    for (int64_t ib = blocks - 1; ib >= 0; ib--) { /* U x = y */
        const double *rows = U + 8 * ib * lead;
        v8 sum[8] = {{0}}, result;
        for (int64_t jb = ib + 1; jb < blocks; jb++) {
            v8 at = AT(v8, x + 8 * jb);
            UNROLL_FOR (int i = 0; i < 8; i++) sum[i] += AT(v8, rows + i * lead + 8 * jb) * at;
        }
        sum_lanes(sum, &result);
        double *y = x + 8 * ib;
        for (int i = 7; i >= 0; i--) {
            double value = y[i] - result[i];
            for (int k = i + 1; k < 8; k++) value -= rows[i * lead + 8 * ib + k] * y[k];
            y[i] = value * inverse[8 * ib + i];
        }
    }
}

static double largest_square(int64_t count, const double *a, const double *b)
{
    v8 most = {0};
    for (int64_t k = 0; k < count; k += 8) {
        v8 square = {0};
        UNROLL_FOR (int c = 0; c < 3; c++) {
            v8 d = AT(v8, a + c * count + k);
            if (b) d -= AT(v8, b + c * count + k);
            square += d * d;
        }
        most = WHERE((most < square) | (square != square), square, most); /* keeps what is not a number */
    }
    double result = most[0];
    for (int k = 1; k < 8; k++) result = result < most[k] || isnan(most[k]) ? most[k] : result;
    return result;
}

/* ---- inertia ---- */

static void inertia(const su_inertia_load *what, double *z)
{
    const int64_t count = what->count;
    const double *turn1 = what->turn1, *turn0 = what->turn0, *turn_before = what->turn_before, *u0 = what->u0;
    v8 newer = SPLAT((1 + what->ratio) / (what->h * what->h)), older = SPLAT(what->ratio / (what->h * what->h));
    for (int64_t k = 0; k < count; k += 8) {
        v8 a[3], still[3] = {{0}};
        UNROLL_FOR (int c = 0; c < 3; c++) a[c] = AT(v8, what->acceleration + c * count + k);
        if (turn0) {
            v8 x[3], y[3];
            UNROLL_FOR (int c = 0; c < 3; c++) {
                x[c] = newer * AT(v8, u0 + c * count + k);
                y[c] = older * AT(v8, what->u_before + c * count + k);
                still[c] = x[c] - y[c];
            }
            UNROLL_FOR (int c = 0; c < 3; c++)
                UNROLL_FOR (int b = 0; b < 3; b++)
                    a[c] += AT(v8, turn_before + (3 * c + b) * count + k) * y[b] -
                            AT(v8, turn0 + (3 * c + b) * count + k) * x[b];
        }
        UNROLL_FOR (int c = 0; c < 3; c++) {
            v8 sum = still[c];
            UNROLL_FOR (int b = 0; b < 3; b++) sum += AT(v8, turn1 + (3 * b + c) * count + k) * a[b];
            AT(v8, z + c * count + k) = sum;
        }
    }
}
