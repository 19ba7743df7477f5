/* Body of kernels_*.c: included once for each instruction set, after SU_KERNELS, SU_KERNELS_NAME, TILE_I and TILE_J (how
 * many rows times vectors of a product are held in registers) are set. */

#include "runtime/kernels_vector.h"

#define LOAD_F(p) WIDEN(*(const f8 *)(p))

static void rows_times(int64_t rows, int64_t stride, const float *A, const double *x, double *out)
{
    for (int64_t k = 0; k < rows; k += 8, A += 8 * stride) {
        v8 sum[8] = {{0}}, result;
        for (int64_t j = 0; j < stride; j += 8) {
            v8 at = *(const v8 *)(x + j);
            UNROLL for (int i = 0; i < 8; i++) sum[i] += LOAD_F(A + i * stride + j) * at;
        }
        sum_lanes(sum, &result);
        if (rows - k >= 8) *(v8u *)(out + k) = result;
        else memcpy(out + k, &result, (size_t)(rows - k) * sizeof *out);
    }
}

static void rows_combine(int64_t rows, int64_t stride, const float *A, const double *x, double *sum)
{
    int64_t j = 0;
    for (; j + 24 <= stride; j += 24) {
        v8 a = *(v8 *)(sum + j), b = *(v8 *)(sum + j + 8), c = *(v8 *)(sum + j + 16);
        for (int64_t k = 0; k < rows; k++) {
            const float *row = A + k * stride + j;
            v8 factor = SPLAT(x[k]);
            a += factor * LOAD_F(row), b += factor * LOAD_F(row + 8), c += factor * LOAD_F(row + 16);
        }
        *(v8 *)(sum + j) = a, *(v8 *)(sum + j + 8) = b, *(v8 *)(sum + j + 16) = c;
    }
    for (; j < stride; j += 8) {
        v8 a = *(v8 *)(sum + j);
        for (int64_t k = 0; k < rows; k++) a += SPLAT(x[k]) * LOAD_F(A + k * stride + j);
        *(v8 *)(sum + j) = a;
    }
}

static void turned_strain(int64_t count, int64_t chosen, const int32_t *corner, const double *rotation, const double *u,
                          const double *gradient, double *moved, double *strain)
{
    for (int64_t k = 0; k < chosen; k += 8)
        for (int a = 0; a < 3; a++) {
            v8 sum = {0};
            for (int b = 0; b < 3; b++)
                sum += *(const v8 *)(rotation + (3 * a + b) * chosen + k) * *(const v8 *)(u + b * chosen + k);
            *(v8 *)(moved + a * chosen + k) = sum;
        }
    for (int64_t e = 0; e < count; e += 8) {
        v8 out[9] = {{0}};
        for (int c = 0; c < 4; c++) {
            const int32_t *at = corner + c * count + e;
            v8 x[3];
            for (int a = 0; a < 3; a++) {
                const double *m = moved + a * chosen;
                x[a] = (v8){m[at[0]], m[at[1]], m[at[2]], m[at[3]], m[at[4]], m[at[5]], m[at[6]], m[at[7]]};
            }
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) out[3 * a + b] += x[a] * *(const v8 *)(gradient + (3 * c + b) * count + e);
        }
        for (int a = 0; a < 9; a++) *(v8 *)(strain + 9 * e + 8 * a) = out[a];
    }
}

/* ---- the elastic response ---- */

INLINE void square_root(v8 *x)
{
    UNROLL for (int lane = 0; lane < 8; lane++) (*x)[lane] = sqrt((*x)[lane]);
}

/* One Jacobi rotation in the plane (p, r) of the symmetric s (row-major), accumulated in q. */
INLINE void rotate_plane(f16 s[9], f16 q[9], int p, int r)
{
    int k = 3 - p - r;
    f16 off = s[3 * p + r], difference = s[4 * r] - s[4 * p], zero = {0}, one = zero + 1.0f;
    off = WHERE_F((off < 1e-12f) & (off > -1e-12f), zero, off);   /* its square would be a slow denormal number */
    f16 size = difference * difference + 4 * off * off;
    square_root_f(&size);
    f16 denominator = WHERE_F(difference < 0, difference - size, difference + size);
    m16 still = denominator == 0;
    f16 t = 2 * off / WHERE_F(still, one, denominator);
    f16 c = 1 + t * t;
    square_root_f(&c);
    c = 1 / c;
    f16 sine = t * c, x, y;
    x = s[3 * p + k], y = s[3 * r + k];
    s[3 * p + k] = s[3 * k + p] = c * x - sine * y;
    s[3 * r + k] = s[3 * k + r] = sine * x + c * y;
    s[4 * p] -= t * off, s[4 * r] += t * off;
    s[3 * p + r] = s[3 * r + p] = zero;
    UNROLL for (int i = 0; i < 3; i++) {
        x = q[3 * i + p], y = q[3 * i + r];
        q[3 * i + p] = c * x - sine * y, q[3 * i + r] = sine * x + c * y;
    }
}

/* Principal axes v of F'F of twice eight elements, found in float: what is built on them is good to 1e-7. */
INLINE void principal_axes(const v8 F[2][9], v8 v[2][9])
{
    f16 C[9], q[9];
    UNROLL for (int a = 0; a < 3; a++)
        UNROLL for (int b = 0; b < 3; b++) {
            f8 half[2];
            UNROLL for (int n = 0; n < 2; n++) {
                /* F'F - 1 keeps its digits; the axes are the same */
                v8 sum = F[n][a] * F[n][b] + F[n][3 + a] * F[n][3 + b] + F[n][6 + a] * F[n][6 + b] - (a == b ? 1.0 : 0.0);
                half[n] = NARROW(sum);
            }
            C[3 * a + b] = TOGETHER(half[0], half[1]);
            q[3 * a + b] = (f16){0};
            q[3 * a + b] += a == b ? 1.0f : 0.0f;
        }
    for (int sweep = 0; sweep < 4; sweep++) {
        rotate_plane(C, q, 0, 1);
        rotate_plane(C, q, 0, 2);
        rotate_plane(C, q, 1, 2);
    }
    UNROLL for (int k = 0; k < 9; k++) {
        v[0][k] = WIDEN(LOW_FLOATS(q[k]));
        v[1][k] = WIDEN(HIGH_FLOATS(q[k]));
    }
}

/* F = u diag(s) v' for lanes with det F > 0; v, nearly orthonormal, is made so. */
INLINE void decompose(const v8 F[9], v8 u[9], v8 s[3], v8 v[9])
{
    UNROLL for (int k = 0; k < 2; k++) {
        if (k == 1) {
            v8 dot = v[0] * v[1] + v[3] * v[4] + v[6] * v[7];
            UNROLL for (int i = 0; i < 3; i++) v[3 * i + 1] -= dot * v[3 * i];
        }
        v8 scale = 1.5 - 0.5 * (v[k] * v[k] + v[3 + k] * v[3 + k] + v[6 + k] * v[6 + k]);
        UNROLL for (int i = 0; i < 3; i++) v[3 * i + k] *= scale;
    }
    v[2] = v[3] * v[7] - v[6] * v[4], v[5] = v[6] * v[1] - v[0] * v[7], v[8] = v[0] * v[4] - v[3] * v[1];
    UNROLL for (int k = 0; k < 3; k++) {
        v8 x[3], size = {0};
        UNROLL for (int i = 0; i < 3; i++) {
            x[i] = F[3 * i] * v[k] + F[3 * i + 1] * v[3 + k] + F[3 * i + 2] * v[6 + k];
            size += x[i] * x[i];
        }
        square_root(&size);
        s[k] = size;
        v8 inverse = 1 / size;
        UNROLL for (int i = 0; i < 3; i++) u[3 * i + k] = x[i] * inverse;
    }
}

/* What differs between materials: block A of stretches (diagonal, and off[k] of the pair without k), twist and flip of each
 * pair (see fem/material.c). mu and lambda are Smith's for neo-Hookean. */
INLINE void spectrum(su_material material, const v8 *mu_of, const v8 *lambda_of, const v8 s[3], const v8 minus[3], v8 diagonal[3],
                     v8 off[3], v8 twist[3], v8 flip[3])
{
    v8 mu = *mu_of, lambda = *lambda_of, square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
    if (material == SU_NEOHOOKEAN) {
        v8 ic = 1 / (square + 1), c = mu * (1 - ic), d = 2 * mu * ic * ic;
        v8 j = minus[0] + minus[1] + minus[2] + minus[0] * minus[1] + minus[0] * minus[2] + minus[1] * minus[2] +
               minus[0] * minus[1] * minus[2];
        v8 pressure = lambda * j - 0.75 * mu;
        UNROLL for (int k = 0; k < 3; k++) {
            int a = (k + 1) % 3, b = (k + 2) % 3;
            v8 area = s[a] * s[b];
            twist[k] = c + pressure * s[k];
            flip[k] = c - pressure * s[k];
            diagonal[k] = c + d * s[k] * s[k] + lambda * area * area;
            off[k] = d * area + lambda * s[k] * s[k] * area + pressure * s[k];
        }
    } else if (material == SU_STVK) {
        v8 trace = 0.5 * ((s[0] + 1) * minus[0] + (s[1] + 1) * minus[1] + (s[2] + 1) * minus[2]);
        UNROLL for (int k = 0; k < 3; k++) {
            int a = (k + 1) % 3, b = (k + 2) % 3;
            v8 sum = s[a] * s[a] + s[b] * s[b] - 1, area = s[a] * s[b];
            twist[k] = mu * (sum - area) + lambda * trace;
            flip[k] = mu * (sum + area) + lambda * trace;
            diagonal[k] = mu * (3 * s[k] * s[k] - 1) + lambda * (trace + s[k] * s[k]);
            off[k] = lambda * area;
        }
    } else {
        v8 stretch = minus[0] + minus[1] + minus[2];
        UNROLL for (int k = 0; k < 3; k++) {
            int a = (k + 1) % 3, b = (k + 2) % 3;
            twist[k] = 2 * mu + (2 * lambda * stretch - 4 * mu) / MAXIMUM(s[a] + s[b], SPLAT(1e-6));
            flip[k] = 2 * mu;
            diagonal[k] = 2 * mu + lambda;
            off[k] = lambda;
        }
    }
}

/* P by lanes; exact zero at strain 0. G = F - 1. */
INLINE void stress_of(su_material material, const v8 *mu_of, const v8 *lambda_of, const v8 F[9], const v8 G[9], const v8 u[9],
                      const v8 minus[3], const v8 v[9], v8 P[9])
{
    v8 mu = *mu_of, lambda = *lambda_of;
    if (material == SU_NEOHOOKEAN) {
        v8 C[9], square = {0};
        C[0] = F[4] * F[8] - F[5] * F[7], C[1] = F[5] * F[6] - F[3] * F[8], C[2] = F[3] * F[7] - F[4] * F[6];
        C[3] = F[2] * F[7] - F[1] * F[8], C[4] = F[0] * F[8] - F[2] * F[6], C[5] = F[1] * F[6] - F[0] * F[7];
        C[6] = F[1] * F[5] - F[2] * F[4], C[7] = F[2] * F[3] - F[0] * F[5], C[8] = F[0] * F[4] - F[1] * F[3];
        UNROLL for (int k = 0; k < 9; k++) square += F[k] * F[k];
        v8 second = G[0] * G[4] - G[1] * G[3] + G[0] * G[8] - G[2] * G[6] + G[4] * G[8] - G[5] * G[7];
        v8 third = G[0] * (G[4] * G[8] - G[5] * G[7]) - G[1] * (G[3] * G[8] - G[5] * G[6]) +
                   G[2] * (G[3] * G[7] - G[4] * G[6]);
        v8 c = mu * (1 - 1 / (square + 1)), pressure = lambda * (G[0] + G[4] + G[8] + second + third) - 0.75 * mu;
        UNROLL for (int k = 0; k < 9; k++) P[k] = c * F[k] + pressure * C[k];
    } else if (material == SU_STVK) {
        v8 S[9], trace;
        UNROLL for (int a = 0; a < 3; a++)
            UNROLL for (int b = 0; b < 3; b++)
                S[3 * a + b] = 0.5 * (G[a] * G[b] + G[3 + a] * G[3 + b] + G[6 + a] * G[6 + b] + G[3 * a + b] + G[3 * b + a]);
        trace = S[0] + S[4] + S[8];
        UNROLL for (int k = 0; k < 9; k++) S[k] *= 2 * mu;
        UNROLL for (int k = 0; k < 3; k++) S[4 * k] += lambda * trace;
        UNROLL for (int a = 0; a < 3; a++)
            UNROLL for (int b = 0; b < 3; b++)
                P[3 * a + b] = F[3 * a] * S[b] + F[3 * a + 1] * S[3 + b] + F[3 * a + 2] * S[6 + b];
    } else {
        v8 stretch = minus[0] + minus[1] + minus[2], p[3];
        UNROLL for (int k = 0; k < 3; k++) p[k] = 2 * mu * minus[k] + lambda * stretch;
        UNROLL for (int a = 0; a < 3; a++)
            UNROLL for (int b = 0; b < 3; b++)
                P[3 * a + b] = u[3 * a] * p[0] * v[3 * b] + u[3 * a + 1] * p[1] * v[3 * b + 1] + u[3 * a + 2] * p[2] * v[3 * b + 2];
    }
}

/* s - 1 of each stretch without cancellation: from G'u and the symmetric part, (s^2 - 1)/(s + 1) with s^2 - 1 = v'(2E)v. */
INLINE void stretches_less_one(const v8 G[9], const v8 s[3], const v8 v[9], v8 minus[3])
{
    UNROLL for (int k = 0; k < 3; k++) {
        v8 g[3], sum = {0};
        UNROLL for (int i = 0; i < 3; i++) {
            g[i] = G[3 * i] * v[k] + G[3 * i + 1] * v[3 + k] + G[3 * i + 2] * v[6 + k];
            sum += g[i] * g[i] + 2 * g[i] * v[3 * i + k];
        }
        minus[k] = sum / (s[k] + 1);
    }
}

/* D = sum over the spectrum of outer products of u_a v_b', upper triangle by rows, times volume. */
INLINE void put_together(const v8 u[9], const v8 v[9], const v8 *volume_of, const v8 diagonal[3], const v8 off[3],
                         const v8 twist[3], const v8 flip[3], double *out)
{
    v8 volume = *volume_of;
    /* X_ab = D of the pair basis applied: columns W_ab = u_a v_b' */
    v8 W[3][3][9];
    UNROLL for (int a = 0; a < 3; a++)
        UNROLL for (int b = 0; b < 3; b++)
            UNROLL for (int k = 0; k < 9; k++) W[a][b][k] = u[3 * (k / 3) + a] * v[3 * (k % 3) + b];
    int at = 0;
    for (int i = 0; i < 9; i++) {
        v8 X[3][3];
        UNROLL for (int k = 0; k < 3; k++) {
            int a = (k + 1) % 3, b = (k + 2) % 3;
            v8 sum = 0.5 * volume * (flip[k] + twist[k]), difference = 0.5 * volume * (flip[k] - twist[k]);
            X[k][k] = volume * (diagonal[k] * W[k][k][i] + off[b] * W[a][a][i] + off[a] * W[b][b][i]);
            X[a][b] = sum * W[a][b][i] + difference * W[b][a][i];
            X[b][a] = sum * W[b][a][i] + difference * W[a][b][i];
        }
        for (int j = i; j < 9; j++, at++) {
            v8 sum = {0};
            UNROLL for (int a = 0; a < 3; a++) UNROLL for (int b = 0; b < 3; b++) sum += X[a][b] * W[a][b][j];
            *(v8 *)(out + 8 * at) = sum;
        }
    }
}

/* Clips the spectrum; returns lanes whose block of stretches is not definite. */
INLINE void clip(const v8 diagonal[3], const v8 off[3], v8 twist[3], v8 flip[3], m8 *indefinite)
{
    v8 zero = {0};
    UNROLL for (int k = 0; k < 3; k++) twist[k] = MAXIMUM(twist[k], zero), flip[k] = MAXIMUM(flip[k], zero);
    v8 minor = diagonal[0] * diagonal[1] - off[2] * off[2];
    v8 det = diagonal[2] * minor - off[0] * (diagonal[0] * off[0] - off[2] * off[1]) +
             off[1] * (off[2] * off[0] - diagonal[1] * off[1]);
    *indefinite = ~((diagonal[0] > 0) & (minor > 0) & (det > 0));
}

/* G = strain, F = 1 + G of eight elements; bad: lanes too flat for singular vectors from F'F alone, or not finite, which
 * the scalar code takes; they get F = 1 here. */
INLINE void load_strain(const su_response *what, int64_t e, v8 G[9], v8 F[9], m8 *bad)
{
    const v8 *strain = (const v8 *)(what->strain + 9 * e);
    UNROLL for (int k = 0; k < 9; k++) G[k] = strain[k], F[k] = G[k] + (k % 4 == 0 ? 1.0 : 0.0);
    v8 det = F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
    v8 size = {0};
    UNROLL for (int k = 0; k < 9; k++) size += F[k] * F[k];
    *bad = ~((det > 0.05) & (size < 100));
    UNROLL for (int k = 0; k < 9; k++)
        F[k] = WHERE(*bad, SPLAT(k % 4 == 0 ? 1.0 : 0.0), F[k]), G[k] = WHERE(*bad, SPLAT(0.0), G[k]);
}

INLINE void respond_eight(const su_response *what, su_material material, bool derivative, int64_t e, const v8 G[9],
                          const v8 F[9], v8 v[9], m8 *bad_at)
{
    v8 *stress = (v8 *)(what->stress + 9 * e);
    v8 mu = what->stiffness * *(const v8 *)(what->mu + e), lambda = what->stiffness * *(const v8 *)(what->lambda + e);
    v8 volume = *(const v8 *)(what->volume + e), P[9], u[9], s[3], minus[3] = {{0}};
    m8 bad = *bad_at;
    if (material == SU_NEOHOOKEAN) {
        lambda += 5.0 / 6.0 * mu;
        mu *= 4.0 / 3.0;
    }
    if (derivative || material == SU_COROTATIONAL) {
        decompose(F, u, s, v);
        stretches_less_one(G, s, v, minus);
    }
    stress_of(material, &mu, &lambda, F, G, u, minus, v, P);
    UNROLL for (int k = 0; k < 9; k++) P[k] *= volume;
    if (derivative) {
        v8 diagonal[3], off[3], twist[3], flip[3];
        double *D = what->derivative + SU_DERIVATIVE_ENTRIES * e;
        spectrum(material, &mu, &lambda, s, minus, diagonal, off, twist, flip);
        if (what->project) {
            m8 indefinite;
            clip(diagonal, off, twist, flip, &indefinite);
            bad |= indefinite & (m8)(volume != 0);
        }
        put_together(u, v, &volume, diagonal, off, twist, flip, D);
        if (what->linear != 0) {
            v8 sum[9] = {{0}};
            int at = 0;
            for (int i = 0; i < 9; i++)
                for (int j = i; j < 9; j++, at++) {
                    v8 d = *(const v8 *)(D + 8 * at);
                    sum[i] += d * G[j];
                    if (j > i) sum[j] += d * G[i];
                }
            UNROLL for (int k = 0; k < 9; k++) P[k] -= what->linear * sum[k];
        }
    }
    UNROLL for (int k = 0; k < 9; k++) stress[k] = P[k];
    uint8_t mask = 0;
    for (int lane = 0; lane < 8; lane++) mask |= (uint8_t)((bad[lane] != 0) << lane);
    what->irregular[e / 8] = mask;
}

INLINE void respond_to(const su_response *what, su_material material, bool derivative)
{
    for (int64_t e = 0; e < what->count; e += 16) {
        v8 F[2][9], G[2][9], v[2][9];
        m8 bad[2];
        for (int n = 0; n < 2; n++)   /* a last one alone is taken twice */
            load_strain(what, e + 8 * n < what->count ? e + 8 * n : e, G[n], F[n], bad + n);
        if (derivative || material == SU_COROTATIONAL) principal_axes((const v8(*)[9])F, v);
        for (int n = 0; n < 2 && e + 8 * n < what->count; n++)
            respond_eight(what, material, derivative, e + 8 * n, G[n], F[n], v[n], bad + n);
    }
}

static void respond(const su_response *what)
{
    bool derivative = what->derivative != NULL;
    switch (what->material) {
    case SU_STVK:
        if (derivative) respond_to(what, SU_STVK, true);
        else respond_to(what, SU_STVK, false);
        return;
    case SU_NEOHOOKEAN:
        if (derivative) respond_to(what, SU_NEOHOOKEAN, true);
        else respond_to(what, SU_NEOHOOKEAN, false);
        return;
    default:
        if (derivative) respond_to(what, SU_COROTATIONAL, true);
        else respond_to(what, SU_COROTATIONAL, false);
    }
}

/* ---- products ---- */

/* C (TILE_I rows from C, `vectors` v8 wide, lead) += sign * sum_k A[k][0..TILE_I) W[k][0..], both with row stride. */
INLINE void product_tile(int64_t depth, int64_t stride, const double *A, const double *W, int64_t lead, double *C,
                         int vectors, double sign)
{
    v8 sum[TILE_I][3] = {{{0}}};
    for (int64_t k = 0; k < depth; k++, A += stride, W += stride) {
        v8 w[3];
        UNROLL for (int j = 0; j < vectors; j++) w[j] = *(const v8 *)(W + 8 * j);
        UNROLL for (int i = 0; i < TILE_I; i++) {
            v8 a = SPLAT(A[i]);
            UNROLL for (int j = 0; j < vectors; j++) sum[i][j] += a * w[j];
        }
    }
    UNROLL for (int i = 0; i < TILE_I; i++)
        UNROLL for (int j = 0; j < vectors; j++) *(v8 *)(C + i * lead + 8 * j) += sign * sum[i][j];
}

/* 8 rows of C from block row ib, columns from block jb to the end (blocks of 8). */
INLINE void product_row(int64_t depth, int64_t stride, const double *A, const double *W, int64_t jb, int64_t blocks,
                        int64_t lead, double *C, double sign)
{
    for (int i = 0; i < 8; i += TILE_I) {
        int64_t j = jb;
        for (; TILE_J >= 3 && j + 3 <= blocks; j += 3)
            product_tile(depth, stride, A + i, W + 8 * j, lead, C + i * lead + 8 * j, 3, sign);
        for (; TILE_J >= 2 && j + 2 <= blocks; j += 2)
            product_tile(depth, stride, A + i, W + 8 * j, lead, C + i * lead + 8 * j, 2, sign);
        for (; j < blocks; j++) product_tile(depth, stride, A + i, W + 8 * j, lead, C + i * lead + 8 * j, 1, sign);
    }
}

/* Entry (i, k) of a symmetric 9 x 9 matrix stored as its upper triangle by rows. */
#define UPPER(i, k) ((i) <= (k) ? (i) * (17 - (i)) / 2 + (k) : (k) * (17 - (k)) / 2 + (i))

/* `vectors` (a constant) v8 of W (9,stride) = D B and of a copy of B of one element, D[45] and t[9] at stride 8; force +=
 * B' t. */
INLINE void element_columns(int vectors, int64_t stride, const float *B, const double *D, const double *t, double *W,
                            double *copy, double *force)
{
    v8 b[9][2];
    UNROLL for (int j = 0; j < vectors; j++) {
        v8 sum = *(v8 *)(force + 8 * j);
        UNROLL for (int i = 0; i < 9; i++) {
            b[i][j] = LOAD_F(B + i * stride + 8 * j);
            *(v8 *)(copy + i * stride + 8 * j) = b[i][j];
            sum += t[8 * i] * b[i][j];
        }
        *(v8 *)(force + 8 * j) = sum;
    }
    UNROLL for (int i = 0; i < 9; i++) {
        v8 w[2];
        UNROLL for (int j = 0; j < vectors; j++) w[j] = D[8 * UPPER(i, 0)] * b[0][j];
        UNROLL for (int k = 1; k < 9; k++)
            UNROLL for (int j = 0; j < vectors; j++) w[j] += D[8 * UPPER(i, k)] * b[k][j];
        UNROLL for (int j = 0; j < vectors; j++) *(v8 *)(W + i * stride + 8 * j) = w[j];
    }
}

INLINE void element_product(int64_t stride, const float *B, const double *D, const double *t, double *W, double *copy,
                            double *force)
{
    int64_t j = 0;
    for (; j + 16 <= stride; j += 16) {
        __asm__("" : "+r"(D));   /* entries are read where they are used; kept over the loop they would fill the stack */
        element_columns(2, stride, B + j, D, t, W + j, copy + j, force + j);
    }
    if (j < stride) element_columns(1, stride, B + j, D, t, W + j, copy + j, force + j);
}

/* `count` rows (a constant for the compiler) of C, `blocks` v8 wide: C += A' W as in product_tile. Depth in two strands, as
 * few rows alone would wait for their own sums. */
INLINE void product_few(int count, int64_t depth, int64_t stride, const double *A, const double *W, int64_t blocks, double *C)
{
    int64_t j = 0;
    for (; j + 3 <= blocks; j += 3) {
        v8 even[3][3] = {{{0}}}, odd[3][3] = {{{0}}};
        const double *a = A, *w = W + 8 * j;
        int64_t k = 0;
        for (; k + 2 <= depth; k += 2, a += 2 * stride, w += 2 * stride)
            UNROLL for (int n = 0; n < 3; n++) {
                v8 x = *(const v8 *)(w + 8 * n), y = *(const v8 *)(w + stride + 8 * n);
                UNROLL for (int i = 0; i < count; i++) even[i][n] += a[i] * x, odd[i][n] += a[stride + i] * y;
            }
        for (; k < depth; k++, a += stride, w += stride)
            UNROLL for (int n = 0; n < 3; n++)
                UNROLL for (int i = 0; i < count; i++) even[i][n] += a[i] * *(const v8 *)(w + 8 * n);
        UNROLL for (int i = 0; i < count; i++)
            UNROLL for (int n = 0; n < 3; n++) *(v8 *)(C + i * stride + 8 * (j + n)) += even[i][n] + odd[i][n];
    }
    for (; j < blocks; j++) {
        v8 even[3] = {{0}}, odd[3] = {{0}};
        const double *a = A, *w = W + 8 * j;
        int64_t k = 0;
        for (; k + 2 <= depth; k += 2, a += 2 * stride, w += 2 * stride) {
            v8 x = *(const v8 *)w, y = *(const v8 *)(w + stride);
            UNROLL for (int i = 0; i < count; i++) even[i] += a[i] * x, odd[i] += a[stride + i] * y;
        }
        for (; k < depth; k++, a += stride, w += stride)
            UNROLL for (int i = 0; i < count; i++) even[i] += a[i] * *(const v8 *)w;
        UNROLL for (int i = 0; i < count; i++) *(v8 *)(C + i * stride + 8 * j) += even[i] + odd[i];
    }
}

static void tangent(int64_t first, int64_t count, int64_t columns, int64_t stride, const float *B, const double *derivative,
                    const double *t, double *work, double *tile, double *force)
{
    int64_t full = columns / 8, blocks = stride / 8;
    for (int64_t at = 0; at < count; at += 8) {
        int64_t chunk = count - at < 8 ? count - at : 8, depth = 9 * chunk;
        double *here = work + 72 * stride;   /* B of the chunk in double */
        for (int64_t k = 0; k < chunk; k++) {
            int64_t e = first + at + k, lanes = e / 8 * 8;
            element_product(stride, B + 9 * (at + k) * stride, derivative + SU_DERIVATIVE_ENTRIES * lanes + e % 8,
                            t + 9 * lanes + e % 8, work + 9 * k * stride, here + 9 * k * stride, force);
        }
        for (int64_t i = 0; i < full; i++)
            product_row(depth, stride, here + 8 * i, work, i, full, stride, tile + 8 * i * stride, 1.0);
        /* Columns beyond the last whole block: as rows, which are as many as they are. */
        for (int64_t i = 8 * full; i < columns;) {
            int64_t rows = columns - i < 3 ? columns - i : 3;
            const double *a = here + i;
            double *c = tile + i * stride;
            if (rows == 3) product_few(3, depth, stride, a, work, blocks, c);
            else if (rows == 2) product_few(2, depth, stride, a, work, blocks, c);
            else product_few(1, depth, stride, a, work, blocks, c);
            i += rows;
        }
    }
}

/* ---- Cholesky: A = U'U, block rows of 8, left-looking ---- */

static bool cholesky(int64_t size, int64_t lead, double *A, double *inverse)
{
    int64_t blocks = size / 8;
    for (int64_t ib = 0; ib < blocks; ib++) {
        double *rows = A + 8 * ib * lead;
        product_row(8 * ib, lead, A + 8 * ib, A, ib, blocks, lead, rows, -1.0);
        v8 diagonal[8];
        UNROLL for (int i = 0; i < 8; i++) diagonal[i] = *(v8 *)(rows + i * lead + 8 * ib);
        UNROLL for (int i = 0; i < 8; i++) {
            double pivot = diagonal[i][i];
            if (!(pivot > 0 && pivot < INFINITY)) return false;
            double scale = 1 / sqrt(pivot);
            inverse[8 * ib + i] = scale;
            diagonal[i] *= scale;
            UNROLL for (int k = i + 1; k < 8; k++) diagonal[k] -= diagonal[i][k] * diagonal[i];
        }
        UNROLL for (int i = 0; i < 8; i++) *(v8 *)(rows + i * lead + 8 * ib) = diagonal[i];
        for (int64_t jb = ib + 1; jb < blocks; jb++) {
            v8 x[8];
            UNROLL for (int i = 0; i < 8; i++) x[i] = *(v8 *)(rows + i * lead + 8 * jb);
            UNROLL for (int i = 0; i < 8; i++) {
                x[i] *= inverse[8 * ib + i];
                UNROLL for (int k = i + 1; k < 8; k++) x[k] -= rows[i * lead + 8 * ib + k] * x[i];
                *(v8 *)(rows + i * lead + 8 * jb) = x[i];
            }
        }
    }
    return true;
}

static void solve(int64_t size, int64_t lead, const double *U, const double *inverse, double *x)
{
    int64_t blocks = size / 8;
    for (int64_t ib = 0; ib < blocks; ib++) {   /* U'y = b, columns of U' are rows of U */
        const double *rows = U + 8 * ib * lead;
        double *y = x + 8 * ib;
        for (int i = 0; i < 8; i++) {
            y[i] *= inverse[8 * ib + i];
            for (int k = i + 1; k < 8; k++) y[k] -= rows[i * lead + 8 * ib + k] * y[i];
        }
        for (int64_t jb = ib + 1; jb < blocks; jb++) {
            v8 sum = *(v8 *)(x + 8 * jb);
            UNROLL for (int i = 0; i < 8; i++) sum -= y[i] * *(const v8 *)(rows + i * lead + 8 * jb);
            *(v8 *)(x + 8 * jb) = sum;
        }
    }
    for (int64_t ib = blocks - 1; ib >= 0; ib--) {   /* U x = y */
        const double *rows = U + 8 * ib * lead;
        v8 sum[8] = {{0}}, result;
        for (int64_t jb = ib + 1; jb < blocks; jb++) {
            v8 at = *(const v8 *)(x + 8 * jb);
            UNROLL for (int i = 0; i < 8; i++) sum[i] += *(const v8 *)(rows + i * lead + 8 * jb) * at;
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

static void symmetric_times(int64_t size, int64_t lead, const double *K, const double *x, double *y)
{
    for (int64_t j = 0; j < lead; j += 8) *(v8 *)(y + j) = (v8){0};
    for (int64_t i = 0; i < size; i += 8) {
        v8 dots[8] = {{0}}, result;
        for (int64_t j = i; j < size; j += 8) {
            v8 at = *(const v8 *)(x + j), sum = *(v8 *)(y + j);
            UNROLL for (int n = 0; n < 8; n++) {
                v8 row = *(const v8 *)(K + (i + n) * lead + j);
                dots[n] += row * at;
                sum += x[i + n] * row;
            }
            *(v8 *)(y + j) = sum;
        }
        sum_lanes(dots, &result);
        UNROLL for (int n = 0; n < 8; n++) result[n] -= K[(i + n) * lead + i + n] * x[i + n];
        *(v8 *)(y + i) += result;
    }
}

static double largest_square(int64_t count, const double *a, const double *b)
{
    v8 most = {0};
    for (int64_t k = 0; k < count; k += 8) {
        v8 square = {0};
        UNROLL for (int c = 0; c < 3; c++) {
            v8 d = *(const v8 *)(a + c * count + k) - *(const v8 *)(b + c * count + k);
            square += d * d;
        }
        most = WHERE(square <= most, most, square);   /* keeps what is not a number */
    }
    double result = most[0];
    for (int k = 1; k < 8; k++) result = most[k] <= result ? result : most[k];
    return result;
}

/* ---- inertia ---- */

static void inertia(int64_t count, const double *acceleration, const double *turn1, const double *turn0, const double *u0,
                    const double *turn_1, const double *u_1, double ratio, double h, double *z)
{
    v8 newer = SPLAT((1 + ratio) / (h * h)), older = SPLAT(ratio / (h * h));
    for (int64_t k = 0; k < count; k += 8) {
        v8 a[3], still[3] = {{0}};
        UNROLL for (int c = 0; c < 3; c++) a[c] = *(const v8 *)(acceleration + c * count + k);
        if (turn0) {
            v8 x[3], y[3];
            UNROLL for (int c = 0; c < 3; c++) {
                x[c] = newer * *(const v8 *)(u0 + c * count + k);
                y[c] = older * *(const v8 *)(u_1 + c * count + k);
                still[c] = x[c] - y[c];
            }
            UNROLL for (int c = 0; c < 3; c++)
                UNROLL for (int b = 0; b < 3; b++)
                    a[c] += *(const v8 *)(turn_1 + (3 * c + b) * count + k) * y[b] -
                            *(const v8 *)(turn0 + (3 * c + b) * count + k) * x[b];
        }
        UNROLL for (int c = 0; c < 3; c++) {
            v8 sum = still[c];
            UNROLL for (int b = 0; b < 3; b++) sum += *(const v8 *)(turn1 + (3 * b + c) * count + k) * a[b];
            *(v8 *)(z + c * count + k) = sum;
        }
    }
}

const su_kernels SU_KERNELS = {SU_KERNELS_NAME, rows_times, rows_combine, turned_strain, respond, tangent,
                               cholesky, solve, symmetric_times, largest_square, inertia};
