/* Panels whose tets stand abreast, sixteen of them in the lanes of vectors; part of kernels_step_body.h. B is
 * [sixteen][column][9][16]: with few columns no lane is idle, and only the upper triangle of the tangent is computed,
 * where rows of columns fill their vectors in part. */

/* Tets of which the products are summed in float, in each lane, before they are summed in double. */
enum { ABREAST_FLOATS = 8 };

/* What of B the lanes from `part` on hold; of the derivative: ENTRY(D, i, k). */
#define B_AT(j, k) WIDE(B + SU_ABREAST_COLUMN * (j), k)

/* w = D b of column j. */
INLINE void abreast_column(int64_t j, const float *B, const float *D, floats w[9])
{
    floats b[9];
    EACH_ENTRY (k) b[k] = B_AT(j, k);
    if (FLOATS == 16) { /* each entry is read once where there are registers for that */
        EACH_ENTRY (k) w[k] = ENTRY(D, 0, k) * b[0];
        UNROLL_FOR (int k = 1; k < 9; k++) w[0] += ENTRY(D, 0, k) * b[k];
        UNROLL_FOR (int i = 1; i < 9; i++)
            UNROLL_FOR (int k = i; k < 9; k++) {
                floats d = ENTRY(D, i, k);
                w[k] += d * b[i];
                if (k > i) w[i] += d * b[k];
            }
    } else {
        EACH_ENTRY (i) {
            w[i] = ENTRY(D, i, 0) * b[0];
            UNROLL_FOR (int k = 1; k < 9; k++) w[i] += ENTRY(D, i, k) * b[k];
        }
    }
}

/* Columns j .. j + count - 1 of the upper triangle: sums (vectors; those of column j start at j (j + 1) / 2) += B' D B.
 * count: a constant. */
INLINE void abreast_columns(int count, int64_t j, const float *B, const float *D, floats *sums)
{
    floats w[2][9], *one = sums + j * (j + 1) / 2, *other = one + j + 1;
    UNROLL_FOR (int n = 0; n < count; n++) abreast_column(j + n, B, D, w[n]);
    for (int64_t i = 0; i <= j; i++) {
        floats first = one[i], second = {0};
        if (count == 2) second = other[i];
        EACH_ENTRY (k) {
            floats b = B_AT(i, k);
            first += b * w[0][k];
            if (count == 2) second += b * w[1][k];
        }
        one[i] = first;
        if (count == 2) other[i] = second;
    }
    if (count == 2) {
        floats last = other[j + 1];
        EACH_ENTRY (k) last += B_AT(j + 1, k) * w[1][k];
        other[j + 1] = last;
    }
}

/* tile (columns,stride), upper triangle, += the lanes of sums; room for seven vectors behind them. */
INLINE void add_abreast(int64_t columns, int64_t stride, floats *sums, double *tile)
{
    int64_t count = columns * (columns + 1) / 2, i = 0, j = 0;
    for (int64_t at = 0; at < count; at += 8) {
        f8 all;
        sum_floats(sums + at, &all);
        for (int n = 0; n < 8 && at + n < count; n++) {
            tile[i * stride + j] += (double)all[n];
            if (i++ == j) i = 0, j++;
        }
    }
}

static void tangent_abreast(int64_t count, int64_t columns, int64_t stride, const float *B, const float *derivative,
                            float *work, double *tile)
{
    floats *sums = (floats *)work;
    for (int64_t e = 0; e < count; e += 16) {
        if (e % (16 * ABREAST_FLOATS) == 0) memset(sums, 0, (size_t)(columns * (columns + 1) / 2 + 7) * sizeof *sums);
        for (int part = 0; part < 16; part += FLOATS) {
            const float *own = B + 9 * columns * e + part, *D = derivative + su_derivative_at(e + part);
            int64_t j = 0;
            for (; FLOATS == 16 && j + 2 <= columns; j += 2) abreast_columns(2, j, own, D, sums);
            for (; j < columns; j++) abreast_columns(1, j, own, D, sums);
        }
        if ((e + 16) % (16 * ABREAST_FLOATS) == 0 || e + 16 == count) add_abreast(columns, stride, sums, tile);
    }
}

static void force_abreast(int64_t count, int64_t columns, const float *B, const double *t, double *force)
{
    for (int64_t j = 0; j < columns; j += 8) {
        doubles sum[8] = {{0}};
        v8 result;
        for (int64_t n = 0; n < 8 && j + n < columns; n++) {
            doubles even = {0}, odd = {0};
            for (int64_t e = 0; e < count; e += 16) {
                const float *b = B + 9 * columns * e + SU_ABREAST_COLUMN * (j + n);
                const double *at = t + 9 * e;
                EACH_ENTRY (k)
                    UNROLL_FOR (int part = 0; part < 8; part += DOUBLES) {
                        even += AT(doubles, at + 8 * k + part) * WIDEN_AT(b + 16 * k + part);
                        odd += AT(doubles, at + 9 * SU_LANES + 8 * k + part) * WIDEN_AT(b + 16 * k + 8 + part);
                    }
            }
            sum[n] = even + odd;
        }
        sum_doubles(sum, &result);
        for (int64_t n = 0; n < 8 && j + n < columns; n++) force[j + n] += result[n];
    }
}

static void strain_abreast(int64_t count, int64_t columns, const float *B, const double *q, double *strain)
{
    for (int64_t e = 0; e < count; e += 16)
        for (int part = 0; part < 16; part += DOUBLES) {
            const float *b = B + 9 * columns * e + part;
            doubles sum[9] = {{0}};
            for (int64_t j = 0; j < columns; j++, b += SU_ABREAST_COLUMN)
                EACH_ENTRY (k) sum[k] += q[j] * WIDEN_AT(b + 16 * k);
            EACH_ENTRY (k) AT(doubles, strain + su_strain_at(e + part) + SU_LANES * k) = sum[k];
        }
}

static void strain_abreast_float(int64_t count, int64_t columns, const float *B, const float *q, double *strain)
{
    for (int64_t e = 0; e < count; e += 16)
        for (int part = 0; part < 16; part += FLOATS) {
            const float *b = B + 9 * columns * e + part;
            floats sum[9] = {{0}};
            for (int64_t j = 0; j < columns; j++, b += SU_ABREAST_COLUMN)
                EACH_ENTRY (k) sum[k] += q[j] * WIDE(b, k);
            EACH_ENTRY (k)
                UNROLL_FOR (int half = 0; half < 2; half++)
                    AT(doubles, strain + su_strain_at(e + part + half * DOUBLES) + SU_LANES * k) =
                        WIDEN_FEW(HALF(sum[k], half));
        }
}

#undef B_AT
