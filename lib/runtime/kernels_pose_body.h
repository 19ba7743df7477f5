/* Body of kernels_pose_*.c: included once for each instruction set, after SU_KERNELS and SU_KERNELS_NAME are set. */

#include "runtime/kernels_vector.h"

typedef float f8 __attribute__((vector_size(32), aligned(32), may_alias));
typedef float f8u __attribute__((vector_size(32), aligned(4), may_alias));

#define WIDEN(x) __builtin_convertvector(x, v8)
#define NARROW(x) __builtin_convertvector(x, f8)

INLINE void transpose(const v8 a[8], v8 out[8])
{
    v8 b[8], c[8];
    UNROLL for (int k = 0; k < 4; k++) b[2 * k] = LOW1(a[2 * k], a[2 * k + 1]), b[2 * k + 1] = HIGH1(a[2 * k], a[2 * k + 1]);
    UNROLL for (int k = 0; k < 2; k++) {
        c[4 * k] = LOW2(b[4 * k], b[4 * k + 2]), c[4 * k + 1] = LOW2(b[4 * k + 1], b[4 * k + 3]);
        c[4 * k + 2] = HIGH2(b[4 * k], b[4 * k + 2]), c[4 * k + 3] = HIGH2(b[4 * k + 1], b[4 * k + 3]);
    }
    UNROLL for (int k = 0; k < 4; k++) out[k] = LOW_HALVES(c[k], c[4 + k]), out[k + 4] = HIGH_HALVES(c[k], c[4 + k]);
}

static void interleave(int64_t count, const double *const in[SU_FRAMES], double *out)
{
    for (int64_t at = 0; at < count; at += 8, out += 64) {
        v8 a[8], b[8];
        UNROLL for (int k = 0; k < 8; k++) a[k] = *(const v8u *)(in[k] + at);
        transpose(a, b);
        UNROLL for (int k = 0; k < 8; k++) *(v8 *)(out + 8 * k) = b[k];
    }
}

static void separate(int64_t count, const double *in, double *const out[SU_FRAMES])
{
    int64_t at = 0;
    for (; at + 8 <= count; at += 8, in += 64) {
        v8 a[8], b[8];
        UNROLL for (int k = 0; k < 8; k++) a[k] = *(const v8 *)(in + 8 * k);
        transpose(a, b);
        UNROLL for (int k = 0; k < 8; k++) *(v8u *)(out[k] + at) = b[k];
    }
    for (; at < count; at++, in += 8)
        for (int k = 0; k < 8; k++) out[k][at] = in[k];
}

static void combine_rows(int64_t rows, int64_t width, int64_t row_stride, const float *block, const double *coefficients,
                         int64_t out_stride, double *out)
{
    for (int64_t at = 0; at < width; at += 24) {
        v8 sum[8][3] = {{{0}}};
        const float *row = block + at;
        for (int64_t k = 0; k < rows; k++, row += row_stride) {
            v8 x = WIDEN(*(const f8u *)row), y = WIDEN(*(const f8u *)(row + 8)), z = WIDEN(*(const f8u *)(row + 16));
            const double *c = coefficients + 8 * k;
            UNROLL for (int f = 0; f < 8; f++) sum[f][0] += c[f] * x, sum[f][1] += c[f] * y, sum[f][2] += c[f] * z;
        }
        UNROLL for (int f = 0; f < 8; f++)
            UNROLL for (int j = 0; j < 3; j++) *(v8 *)(out + f * out_stride + at + 8 * j) = sum[f][j];
    }
}

static void turn(int64_t count, const double *rotation, double *u)
{
    for (int64_t k = 0; k < count; k++) {
        const v8 *R = (const v8 *)(rotation + 72 * k);
        v8 *at = (v8 *)(u + 24 * k), x = at[0], y = at[1], z = at[2];
        UNROLL for (int a = 0; a < 3; a++) at[a] = R[3 * a] * x + R[3 * a + 1] * y + R[3 * a + 2] * z;
    }
}

static void embed(int64_t count, const int32_t *corner, const double *weight, const double *u, double *out)
{
    for (int64_t k = 0; k < count; k++, corner += 4, weight += 4) {
        v8 sum[3] = {{0}};
        UNROLL for (int c = 0; c < 4; c++) {
            const v8 *at = (const v8 *)(u + 24 * (int64_t)corner[c]);
            UNROLL for (int a = 0; a < 3; a++) sum[a] += weight[c] * at[a];
        }
        UNROLL for (int a = 0; a < 3; a++) *(v8 *)(out + 24 * k + 8 * a) = sum[a];
    }
}

static void rest(int64_t count, int64_t m, int64_t ties, const double *base, const int32_t *index, const double *weight,
                 const double *corrections, const double *skin, const double *w, double *x)
{
    for (int64_t v = 0; v < count; v++, base += 3, index += ties, weight += ties, x += 24) {
        v8 sum[3];
        UNROLL for (int c = 0; c < 3; c++) sum[c] = SPLAT(base[c]);
        for (int64_t k = 0; k < ties; k++) {
            const double *at = skin + 24 * (int64_t)index[k];
            UNROLL for (int c = 0; c < 3; c++) sum[c] += weight[k] * *(const v8 *)(at + 8 * c);
        }
        for (int64_t i = 0; i < m; i++, corrections += 3) {
            v8 wi = *(const v8 *)(w + 8 * i);
            UNROLL for (int c = 0; c < 3; c++) sum[c] += corrections[c] * wi;
        }
        UNROLL for (int c = 0; c < 3; c++) *(v8 *)(x + 8 * c) = sum[c];
    }
}

/* ---- rotations ---- */

/* 1 / sqrt(x), x > 0 and within the range of float: a float estimate and two Newton steps. */
INLINE void inverse_root(const v8 *x, v8 *out)
{
    f8 seed = NARROW(*x);
    UNROLL for (int lane = 0; lane < 8; lane++) seed[lane] = sqrtf(seed[lane]);
    seed = 1.0f / seed;
    v8 y = WIDEN(seed), half = 0.5 * *x;
    y *= 1.5 - half * y * y;
    y *= 1.5 - half * y * y;
    *out = y;
}

/* Tets whose long chains of dependent operations run side by side. */
enum { BATCH = 4 };

/* Davenport's matrix of F: K = [tr F, z'; z, F + F' - tr F] = [a x y z; x b e f; y e c g; z f g d], z the axial part. */
typedef struct davenport {
    v8 a, b, c, d, x, y, z, e, f, g;
} davenport;

INLINE void davenport_of(const v8 F[9], davenport *K)
{
    K->a = F[0] + F[4] + F[8], K->b = F[0] - F[4] - F[8], K->c = F[4] - F[0] - F[8], K->d = F[8] - F[0] - F[4];
    K->x = F[7] - F[5], K->y = F[2] - F[6], K->z = F[3] - F[1];
    K->e = F[1] + F[3], K->f = F[2] + F[6], K->g = F[5] + F[7];
}

/* Its characteristic polynomial l^4 - 2 square l^2 - 8 det l + whole, square = |F|^2. flat: lanes where F is too flat, or
 * inverted, for the largest root to be simple. */
INLINE void characteristic(const v8 F[9], v8 *square, v8 *eight_det, v8 *whole, m8 *flat)
{
    davenport K;
    davenport_of(F, &K);
    v8 t = {0};
    UNROLL for (int k = 0; k < 9; k++) t += F[k] * F[k];
    v8 det = F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
    *flat = ~((det > 0) & (det * det > 1e-4 * t * t * t));
    *square = t;
    *eight_det = 8 * det;
    v8 n23 = K.y * K.f - K.e * K.z;
    *whole = (K.a * K.b - K.x * K.x) * (K.c * K.d - K.g * K.g) - (K.a * K.e - K.x * K.y) * (K.e * K.d - K.g * K.f) +
             (K.a * K.f - K.x * K.z) * (K.e * K.g - K.c * K.f) + (K.x * K.e - K.b * K.y) * (K.y * K.d - K.g * K.z) -
             (K.x * K.f - K.b * K.z) * (K.y * K.g - K.c * K.z) + n23 * n23;
}

/* The largest root, s0 + s1 + s2, by Newton from its upper bound sqrt(3) |F|; slopes need no more than float. */
INLINE void largest_roots(const v8 square[BATCH], const v8 eight_det[BATCH], const v8 whole[BATCH], v8 root[BATCH])
{
    v8 step[BATCH];
    UNROLL for (int n = 0; n < BATCH; n++) {
        f8 seed = NARROW(3 * square[n]);
        UNROLL for (int lane = 0; lane < 8; lane++) seed[lane] = sqrtf(seed[lane]);
        root[n] = WIDEN(seed);
    }
    UNROLL for (int k = 0; k < 4; k++)
        UNROLL for (int n = 0; n < BATCH; n++) {
            v8 l = root[n], twice = 2 * square[n];
            v8 value = ((l * l - twice) * l - eight_det[n]) * l + whole[n];
            if (k < 3) {
                v8 slope = (4 * l * l - 2 * twice) * l - eight_det[n];
                step[n] = WIDEN(1.0f / NARROW(slope));
            }
            root[n] = l - value * step[n];
        }
}

/* Eigenvector, not yet of unit length: the column of the adjugate of K - root (rank one, +- q q') with the largest diagonal. */
INLINE void eigenvector(const v8 F[9], const v8 *root, v8 q[4])
{
    davenport K;
    davenport_of(F, &K);
    v8 a = K.a - *root, b = K.b - *root, c = K.c - *root, d = K.d - *root;
    v8 x = K.x, y = K.y, z = K.z, e = K.e, f = K.f, g = K.g;
    v8 n01 = a * b - x * x, n02 = a * e - x * y, n03 = a * f - x * z, n12 = x * e - b * y, n13 = x * f - b * z, n23 = y * f - e * z;
    v8 m02 = y * g - c * z, m03 = y * d - g * z, m12 = e * g - c * f, m13 = e * d - g * f, m23 = c * d - g * g;
    v8 A00 = b * m23 - e * m13 + f * m12, A11 = a * m23 - y * m03 + z * m02;
    v8 A22 = d * n01 - f * n03 + z * n13, A33 = c * n01 - e * n02 + y * n12;
    v8 A01 = y * m13 - x * m23 - z * m12, A02 = d * n12 - g * n13 + f * n23, A03 = c * n13 - g * n12 - e * n23;
    v8 A12 = g * n03 - d * n02 - z * n23, A13 = g * n02 - c * n03 + y * n23, A23 = e * n03 - g * n01 - y * n13;
    /* all diagonal entries have one sign: squares compare their sizes */
    v8 best = A00 * A00, value = A11 * A11;
    m8 better = value > best;
    q[0] = WHERE(better, A01, A00), q[1] = WHERE(better, A11, A01), q[2] = WHERE(better, A12, A02), q[3] = WHERE(better, A13, A03);
    best = WHERE(better, value, best), value = A22 * A22, better = value > best;
    q[0] = WHERE(better, A02, q[0]), q[1] = WHERE(better, A12, q[1]), q[2] = WHERE(better, A22, q[2]), q[3] = WHERE(better, A23, q[3]);
    best = WHERE(better, value, best), value = A33 * A33, better = value > best;
    q[0] = WHERE(better, A03, q[0]), q[1] = WHERE(better, A13, q[1]), q[2] = WHERE(better, A23, q[2]), q[3] = WHERE(better, A33, q[3]);
}

/* The lanes that `characteristic` left, one by one. */
static void scalar_quaternion(const v8 F[9], const m8 *flat, v8 q[4])
{
    for (int lane = 0; lane < 8; lane++) {
        if (!(*flat)[lane]) continue;
        double one[9], R[9], value[4];
        for (int k = 0; k < 9; k++) one[k] = F[k][lane];
        su_nearest_rotation(one, R);
        su_quaternion_of(R, value);
        for (int k = 0; k < 4; k++) q[k][lane] = value[k];
    }
}

INLINE void deformation(const su_ring_tet *tet, const double *x, v8 F[9])
{
    const double *corner[4];
    v8 edges[9];
    UNROLL for (int c = 0; c < 4; c++) corner[c] = x + 24 * (int64_t)tet->vertex[c];
    UNROLL for (int a = 0; a < 3; a++)
        UNROLL for (int c = 0; c < 3; c++)
            edges[3 * a + c] = *(const v8 *)(corner[c + 1] + 8 * a) - *(const v8 *)(corner[0] + 8 * a);
    UNROLL for (int a = 0; a < 3; a++)
        UNROLL for (int b = 0; b < 3; b++)
            F[3 * a + b] = edges[3 * a] * tet->inverse[b] + edges[3 * a + 1] * tet->inverse[3 + b] +
                           edges[3 * a + 2] * tet->inverse[6 + b];
}

/* Each point's sums: 4 numbers for the first quaternion, which sets the sign, then 4 for the sum. */
INLINE void add_quaternion(const su_ring_tet *tet, const v8 q[4], double *sums)
{
    for (int c = 0; c < 4; c++) {
        if (tet->point[c] < 0) continue;
        v8 *sum = (v8 *)(sums + 64 * (int64_t)tet->point[c]);
        if (tet->first[c]) {
            UNROLL for (int i = 0; i < 4; i++) sum[i] = q[i], sum[4 + i] = tet->volume * q[i];
            continue;
        }
        v8 dot = sum[0] * q[0] + sum[1] * q[1] + sum[2] * q[2] + sum[3] * q[3];
        v8 weight = WHERE(dot < 0, SPLAT(-tet->volume), SPLAT(tet->volume));
        UNROLL for (int i = 0; i < 4; i++) sum[4 + i] += weight * q[i];
    }
}

static void rotations(int64_t tets, const su_ring_tet *tet, int64_t points, const double *x, double *sums, double *rotation)
{
    for (int64_t k = 0; k < tets; k += BATCH) {
        v8 F[BATCH][9], square[BATCH], eight_det[BATCH], whole[BATCH], root[BATCH], q[BATCH][4], size[BATCH], norm[BATCH];
        m8 flat[BATCH], any = {0};
        for (int n = 0; n < BATCH; n++) {   /* the last batch repeats its last tet */
            deformation(tet + (k + n < tets ? k + n : tets - 1), x, F[n]);
            characteristic(F[n], square + n, eight_det + n, whole + n, flat + n);
            any |= flat[n];
        }
        largest_roots(square, eight_det, whole, root);
        for (int n = 0; n < BATCH; n++) {
            eigenvector(F[n], root + n, q[n]);
            size[n] = MAXIMUM(q[n][0] * q[n][0] + q[n][1] * q[n][1] + q[n][2] * q[n][2] + q[n][3] * q[n][3], SPLAT(1e-30));
        }
        UNROLL for (int n = 0; n < BATCH; n++) inverse_root(size + n, norm + n);
        for (int n = 0; n < BATCH; n++) UNROLL for (int i = 0; i < 4; i++) q[n][i] *= norm[n];
        if (any[0] | any[1] | any[2] | any[3] | any[4] | any[5] | any[6] | any[7])
            for (int n = 0; n < BATCH; n++) scalar_quaternion(F[n], flat + n, q[n]);
        for (int n = 0; n < BATCH && k + n < tets; n++) add_quaternion(tet + k + n, q[n], sums);
    }
    for (int64_t k = 0; k < points; k++, rotation += 72) {
        const v8 *sum = (const v8 *)(sums + 64 * k + 32);
        v8 size = MAXIMUM(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2] + sum[3] * sum[3], SPLAT(1e-30)), norm;
        inverse_root(&size, &norm);
        v8 w = sum[0] * norm, a = sum[1] * norm, b = sum[2] * norm, c = sum[3] * norm, *R = (v8 *)rotation;
        R[0] = 1 - 2 * (b * b + c * c), R[1] = 2 * (a * b - w * c), R[2] = 2 * (a * c + w * b);
        R[3] = 2 * (a * b + w * c), R[4] = 1 - 2 * (a * a + c * c), R[5] = 2 * (b * c - w * a);
        R[6] = 2 * (a * c - w * b), R[7] = 2 * (b * c + w * a), R[8] = 1 - 2 * (a * a + b * b);
    }
}

/* ---- rest shapes of tets ---- */

static void shapes(int64_t count, const int32_t *corner, const double *neutral_inverse, const double *x, double *gradient,
                   double *volume, uint8_t *collapsed)
{
    for (int64_t k = 0; k < count; k++, corner += 4, neutral_inverse += 9, gradient += 96, volume += 8) {
        v8 E[9], C[9], *g = (v8 *)gradient;
        UNROLL for (int a = 0; a < 3; a++)
            UNROLL for (int c = 0; c < 3; c++)
                E[3 * a + c] = *(const v8 *)(x + 24 * (int64_t)corner[c + 1] + 8 * a) -
                               *(const v8 *)(x + 24 * (int64_t)corner[0] + 8 * a);
        C[0] = E[4] * E[8] - E[5] * E[7], C[1] = E[2] * E[7] - E[1] * E[8], C[2] = E[1] * E[5] - E[2] * E[4];
        C[3] = E[5] * E[6] - E[3] * E[8], C[4] = E[0] * E[8] - E[2] * E[6], C[5] = E[2] * E[3] - E[0] * E[5];
        C[6] = E[3] * E[7] - E[4] * E[6], C[7] = E[1] * E[6] - E[0] * E[7], C[8] = E[0] * E[4] - E[1] * E[3];
        v8 det = E[0] * C[0] + E[1] * C[3] + E[2] * C[6];
        double scale = neutral_inverse[0] * (neutral_inverse[4] * neutral_inverse[8] - neutral_inverse[5] * neutral_inverse[7]) -
                       neutral_inverse[1] * (neutral_inverse[3] * neutral_inverse[8] - neutral_inverse[5] * neutral_inverse[6]) +
                       neutral_inverse[2] * (neutral_inverse[3] * neutral_inverse[7] - neutral_inverse[4] * neutral_inverse[6]);
        m8 flat = ~(det * scale >= 0.1);
        v8 inverse = 1 / WHERE(flat, SPLAT(1.0), det);
        UNROLL for (int b = 0; b < 3; b++) {
            UNROLL for (int c = 0; c < 3; c++) g[3 * (c + 1) + b] = C[3 * c + b] * inverse;
            g[b] = -g[3 + b] - g[6 + b] - g[9 + b];
        }
        *(v8 *)volume = det * (1.0 / 6.0);
        uint8_t mask = 0;
        for (int lane = 0; lane < 8; lane++) mask |= (uint8_t)((flat[lane] != 0) << lane);
        collapsed[k] = mask;
    }
}

static void materials(int64_t count, int64_t m, const double *weight, const double *young, const double *poisson,
                      const double *blend, double *volume, double *mu, double *lambda)
{
    for (int64_t k = 0; k < count; k++) {
        v8 w = {0}, E = {0}, nu = {0};
        for (int64_t i = 0; i < m; i++) {
            v8 b = *(const v8 *)(blend + 8 * i);
            w += b * weight[i * count + k], E += b * young[i * count + k], nu += b * poisson[i * count + k];
        }
        *(v8 *)(volume + 8 * k) *= w;
        *(v8 *)(mu + 8 * k) = E / (2 * (1 + nu));
        *(v8 *)(lambda + 8 * k) = E * nu / ((1 + nu) * (1 - 2 * nu));
    }
}

static void world(int64_t count, const int32_t *point, const double *rotation, const double *x, const double *Q,
                  const double *c, double *turn, double *out)
{
    for (int64_t k = 0; k < count; k++) {
        const v8 *R = (const v8 *)(rotation + 72 * (int64_t)point[k]), *at = (const v8 *)(x + 24 * (int64_t)point[k]);
        const v8 *q = (const v8 *)Q;
        UNROLL for (int a = 0; a < 3; a++) {
            UNROLL for (int b = 0; b < 3; b++)
                *(v8 *)(turn + 72 * k + 8 * (3 * a + b)) = q[3 * a] * R[b] + q[3 * a + 1] * R[3 + b] + q[3 * a + 2] * R[6 + b];
            *(v8 *)(out + 24 * k + 8 * a) =
                *(const v8 *)(c + 8 * a) + (q[3 * a] * at[0] + q[3 * a + 1] * at[1] + q[3 * a + 2] * at[2]);
        }
    }
}

/* ---- rows ---- */

static void blend_rows(int64_t frames, int64_t m, int64_t stride, const float *source, const double *b,
                       const double *const scale[SU_FRAMES], double *const rows[SU_FRAMES])
{
    for (int64_t at = 0; at < 3 * stride; at += 8) {
        v8 sum[8] = {{0}};
        for (int64_t i = 0; i < m; i++) {
            v8 s = WIDEN(*(const f8 *)(source + i * 3 * stride + at));
            UNROLL for (int f = 0; f < 8; f++) sum[f] += b[8 * i + f] * s;
        }
        for (int64_t f = 0; f < frames; f++) *(v8 *)(rows[f] + at) = sum[f] * *(const v8 *)(scale[f] + at % stride);
    }
}

static void build_B(int64_t stride, const int32_t *tap_start, const su_tap *taps, const double *const rows[4],
                    const int64_t row_stride[4], const double *const R[4], const double *g, double *B)
{
    for (int64_t j = 0; j < stride; j += 8) {
        v8 sum[9] = {{0}};
        for (int c = 0; c < 4; c++, tap_start++) {
            if (!R[c] || tap_start[0] == tap_start[1]) continue;
            v8 x = {0}, y = {0}, z = {0};
            for (int32_t k = tap_start[0]; k < tap_start[1]; k++) {
                const double *row = rows[c] + taps[k].offset;
                v8 mask = *(const v8 *)taps[k].mask;
                x += mask * *(const v8u *)row;
                y += mask * *(const v8u *)(row + row_stride[c]);
                z += mask * *(const v8u *)(row + 2 * row_stride[c]);
            }
            const double *r = R[c], *at = g + 24 * c;
            UNROLL for (int a = 0; a < 3; a++) {
                v8 turned = r[24 * a] * x + r[24 * a + 8] * y + r[24 * a + 16] * z;
                UNROLL for (int b = 0; b < 3; b++) sum[3 * a + b] += at[8 * b] * turned;
            }
        }
        UNROLL for (int a = 0; a < 9; a++) *(v8 *)(B + a * stride + j) = sum[a];
    }
}

static void gram(const su_gram_block *what, int64_t from)
{
    int64_t m = what->m;
    const double *source = what->source;
    for (int64_t a = 0; a < what->rows; a++)
        for (int64_t at = 0; at < what->stride; at += 8, source += 8 * m * m) {
            v8 sum[3][4] = {{{0}}};
            const double *s = source;
            for (int64_t j = 0; j < m; j++) {
                v8 T[4] = {{0}};
                for (int64_t i = 0; i < m; i++, s += 8) {
                    v8 entry = *(const v8 *)s;
                    UNROLL for (int f = 0; f < 4; f++) T[f] += what->left[8 * i + from + f] * entry;
                }
                UNROLL for (int k = 0; k < 3; k++)
                    UNROLL for (int f = 0; f < 4; f++) sum[k][f] += what->right[k][8 * j + from + f] * T[f];
            }
            UNROLL for (int k = 0; k < 3; k++)
                UNROLL for (int f = 0; f < 4; f++) {
                    double *out = what->out[k][from + f];
                    if (out)
                        *(v8 *)(out + a * what->stride + at) = sum[k][f] * what->left_scale[from + f][a] *
                                                               *(const v8u *)(what->right_scale[k][from + f] + at);
                }
        }
}

static void gram_block(const su_gram_block *what)
{
    for (int64_t from = 0; from < what->frames; from += 4) gram(what, from);
}

const su_pose_kernels SU_KERNELS = {SU_KERNELS_NAME, interleave, separate, combine_rows, turn, embed, rest, rotations, shapes, materials, world, blend_rows,
                                     build_B, gram_block};
