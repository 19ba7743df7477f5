/* Steps in skinning eigenmodes; see kernels_clusters.h. Included by kernels_set_body.h. */

static void cluster_gradients(int64_t panels, int64_t K, int64_t stride, const float *A, const double *Z,
                              const double *start, double *F)
{
    for (int64_t p = 0; p < panels; p++)
        for (int part = 0; part < PARTS; part++) {
            doubles sum[9];
            const float *a = A + SU_CLUSTER_ROWS * p * K + part * DOUBLES;
            int64_t at = SU_CLUSTER_MATRICES * p + part * DOUBLES;
            EACH_ENTRY (e) sum[e] = start ? AT(doubles, start + at + 8 * e) : (doubles){0};
            for (int64_t k = 0; k < K; k++, a += SU_CLUSTER_ROWS) {
                doubles a0 = WIDEN_AT(a), a1 = WIDEN_AT(a + 8), a2 = WIDEN_AT(a + 16);
                UNROLL_FOR (int i = 0; i < 3; i++) {
                    double z = Z[i * stride + k];
                    sum[3 * i] += z * a0, sum[3 * i + 1] += z * a1, sum[3 * i + 2] += z * a2;
                }
            }
            EACH_ENTRY (e) AT(doubles, F + at + 8 * e) = sum[e];
        }
}

/* Rows of A whose sums are kept in registers at a time. */
#if defined(SU_AVX512)
enum { GATHER_ROWS = 8 };
#else
enum { GATHER_ROWS = 2 };
#endif

/* sum[i][n] += the sums of `rows` (a constant) rows of A from A on, over all clusters. */
INLINE void gather_rows(int rows, int64_t panels, int64_t K, const float *A, const double *S,
                        doubles (*sum)[GATHER_ROWS])
{
    for (int64_t p = 0; p < panels; p++)
        UNROLL_FOR (int part = 0; part < PARTS; part++)
            UNROLL_FOR (int j = 0; j < 3; j++) {
                const double *s = S + SU_CLUSTER_MATRICES * p + 8 * j + part * DOUBLES;
                const float *a = A + SU_CLUSTER_ROWS * p * K + 8 * j + part * DOUBLES;
                doubles s0 = AT(doubles, s), s1 = AT(doubles, s + SU_CLUSTER_ROWS),
                        s2 = AT(doubles, s + 2 * SU_CLUSTER_ROWS);
                UNROLL_FOR (int n = 0; n < rows; n++) {
                    doubles v = WIDEN_AT(a + SU_CLUSTER_ROWS * n);
                    sum[0][n] += s0 * v, sum[1][n] += s1 * v, sum[2][n] += s2 * v;
                }
            }
}

static void cluster_gather(int64_t panels, int64_t K, int64_t stride, const float *A, const double *S, double *out)
{
    for (int64_t k = 0; k < stride; k += GATHER_ROWS) {
        doubles sum[3][GATHER_ROWS];
        UNROLL_FOR (int i = 0; i < 3; i++)
            UNROLL_FOR (int n = 0; n < GATHER_ROWS; n++) sum[i][n] = (doubles){0};
        if (k + GATHER_ROWS <= K)
            gather_rows(GATHER_ROWS, panels, K, A + SU_CLUSTER_ROWS * k, S, sum);
        else /* the last ones: as many as are there */
            for (int64_t n = 0; k + n < K; n++)
                gather_rows(1, panels, K, A + SU_CLUSTER_ROWS * (k + n), S, (doubles(*)[GATHER_ROWS]) & sum[0][n]);
#if defined(SU_AVX512)
        UNROLL_FOR (int i = 0; i < 3; i++) sum_lanes(sum[i], (v8 *)(out + i * stride + k));
#else
        for (int i = 0; i < 3; i++)
            for (int n = 0; n < GATHER_ROWS; n++) {
                double total = 0;
                for (int lane = 0; lane < DOUBLES; lane++) total += sum[i][n][lane];
                out[i * stride + k + n] = total;
            }
#endif
    }
}

/* Steps of Newton's method at most, and the square of the last turn (rad^2) below which the next would be rounding. */
enum { ROTATION_STEPS = 12 };
#define ROTATION_END 1e-9
/* Minors and, squared, the determinant of Newton's matrix over its size above which it is definite: rounding is 1e-16.
 */
#define DEFINITE 1e-12

/* c = a' b, or a b, of 3 x 3 matrices in lanes. */
INLINE void lanes_tmul(const doubles *a, const doubles *b, doubles *c)
{
    UNROLL_FOR (int i = 0; i < 3; i++)
        UNROLL_FOR (int j = 0; j < 3; j++) c[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
}

INLINE void lanes_mul(const doubles *a, const doubles *b, doubles *c)
{
    UNROLL_FOR (int i = 0; i < 3; i++)
        UNROLL_FOR (int j = 0; j < 3; j++)
            c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

/* tr(R'F) is maximal where the axis w of R'F is 0; its second derivative by a turn is -(tr(S) 1 - S), S = (R'F +
 * F'R)/2. Where that is definite it is the largest maximum; elsewhere steps of Müller et al. 2016 lead there. */
static void cluster_rotations(int64_t panels, const double *F, double *R, uint8_t *hard)
{
    for (int64_t p = 0; p < panels; p++) {
        uint8_t bits = 0;
        for (int part = 0; part < PARTS; part++) {
            doubles f[9], r[9], s[9], c[9];
            int64_t at = SU_CLUSTER_MATRICES * p + part * DOUBLES;
            longs busy = {0};
            EACH_ENTRY (e) f[e] = AT(doubles, F + at + 8 * e), r[e] = AT(doubles, R + at + 8 * e);
            for (int step = 0; step < ROTATION_STEPS; step++) {
                lanes_tmul(r, f, s);
                doubles w0 = s[7] - s[5], w1 = s[2] - s[6], w2 = s[3] - s[1], trace = s[0] + s[4] + s[8];
                doubles a = s[4] + s[8], b = s[0] + s[8], d = s[0] + s[4];
                doubles xy = -0.5 * (s[1] + s[3]), xz = -0.5 * (s[2] + s[6]), yz = -0.5 * (s[5] + s[7]);
                doubles c00 = b * d - yz * yz, c01 = xz * yz - xy * d, c02 = xy * yz - xz * b, c11 = a * d - xz * xz,
                        c12 = xy * xz - a * yz, c22 = a * b - xy * xy;
                doubles det = a * c00 + xy * c01 + xz * c02, size = a * a + b * b + d * d;
                /* definite, and not so flat that rounding decides */
                longs good = (longs)(a > 0) & (longs)(c22 > DEFINITE * size) &
                             (longs)(det * det > DEFINITE * DEFINITE * size * size * size) & (longs)(det > 0);
                doubles over = 1 / WHERE(good, det, WHERE((longs)(trace > 0), trace, -trace) + 1e-300);
                doubles v0 = WHERE(good, c00 * w0 + c01 * w1 + c02 * w2, w0) * over,
                        v1 = WHERE(good, c01 * w0 + c11 * w1 + c12 * w2, w1) * over,
                        v2 = WHERE(good, c02 * w0 + c12 * w1 + c22 * w2, w2) * over;
                doubles turn = v0 * v0 + v1 * v1 + v2 * v2;
                /* no more than a radian at a time */
                doubles shorten = WHERE((longs)(turn > 1.0), 1 / (1 + turn), turn * 0 + 1);
                v0 *= shorten, v1 *= shorten, v2 *= shorten;
                busy = ~(good & (longs)(turn < ROTATION_END));
                /* Cayley's rotation of (v0, v1, v2): c = 1 + ([v] + [v]^2 / 2) / (1 + v^2 / 4) */
                doubles square = v0 * v0 + v1 * v1 + v2 * v2, g = 1 / (1 + 0.25 * square), h = 0.5 * g;
                c[0] = 1 - h * (v1 * v1 + v2 * v2), c[4] = 1 - h * (v0 * v0 + v2 * v2),
                c[8] = 1 - h * (v0 * v0 + v1 * v1);
                c[1] = h * v0 * v1 - g * v2, c[3] = h * v0 * v1 + g * v2, c[2] = h * v0 * v2 + g * v1,
                c[6] = h * v0 * v2 - g * v1, c[5] = h * v1 * v2 - g * v0, c[7] = h * v1 * v2 + g * v0;
                lanes_mul(r, c, s);
                EACH_ENTRY (e) r[e] = s[e];
                masks left = (masks)busy;
                if (!ANY_LANE(left)) break;
            }
            lanes_tmul(r, r, s); /* rounding out of it: R (3 - R'R) / 2 */
            EACH_ENTRY (e) s[e] = (e % 4 == 0 ? 1.5 : 0) - 0.5 * s[e];
            lanes_mul(r, s, c);
            EACH_ENTRY (e) AT(doubles, R + at + 8 * e) = c[e];
            UNROLL_FOR (int lane = 0; lane < DOUBLES; lane++)
                if (busy[lane] || !(c[0][lane] <= 2)) bits |= (uint8_t)(1 << (part * DOUBLES + lane));
        }
        hard[p] = bits;
    }
}

static double cluster_corotational(int64_t panels, const double *vmu, const double *vlambda, const double *F,
                                   const double *R, double *S)
{
    doubles energy = {0};
    for (int64_t p = 0; p < panels; p++)
        for (int part = 0; part < PARTS; part++) {
            int64_t at = SU_CLUSTER_MATRICES * p + part * DOUBLES;
            doubles mu = AT(doubles, vmu + 8 * p + part * DOUBLES),
                    lambda = AT(doubles, vlambda + 8 * p + part * DOUBLES);
            doubles trace = {0}, square = {0}, f[9], r[9];
            EACH_ENTRY (e) {
                f[e] = AT(doubles, F + at + 8 * e), r[e] = AT(doubles, R + at + 8 * e);
                trace += f[e] * r[e], square += (f[e] - r[e]) * (f[e] - r[e]);
            }
            trace -= 3.0;
            energy += mu * square + 0.5 * lambda * trace * trace;
            EACH_ENTRY (e) AT(doubles, S + at + 8 * e) = 2 * mu * (f[e] - r[e]) + lambda * trace * r[e];
        }
    double total = 0;
    for (int lane = 0; lane < DOUBLES; lane++) total += energy[lane];
    return total;
}

static void cluster_triple(int64_t size, const double *B, const double *x, double *y)
{
    for (int64_t row = 0; row < size; row += 8)
        for (int part = 0; part < PARTS; part++) {
            const double *b = B + row + part * DOUBLES;
            doubles s[3][2] = {{{0}}};
            for (int64_t k = 0; k < size; k += 2) {
                UNROLL_FOR (int n = 0; n < 2; n++) {
                    doubles v = AT(doubles, b + (k + n) * size);
                    UNROLL_FOR (int i = 0; i < 3; i++) s[i][n] += x[i * size + k + n] * v;
                }
            }
            for (int i = 0; i < 3; i++) AT(doubles, y + i * size + row + part * DOUBLES) = s[i][0] + s[i][1];
        }
}
