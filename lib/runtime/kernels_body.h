/* Body of kernels_*.c: included once for each instruction set, after SU_KERNELS, SU_KERNELS_NAME, TILE_I and TILE_J (how
 * many rows times vectors of a product are held in registers) are set. */

#include "runtime/kernels_vector.h"

static void rows_times(int64_t rows, int64_t stride, const double *A, const double *x, double *out)
{
    for (int64_t k = 0; k < rows; k += 8, A += 8 * stride) {
        v8 sum[8] = {{0}}, result;
        for (int64_t j = 0; j < stride; j += 8) {
            v8 at = *(const v8 *)(x + j);
            UNROLL for (int i = 0; i < 8; i++) sum[i] += *(const v8 *)(A + i * stride + j) * at;
        }
        sum_lanes(sum, &result);
        if (rows - k >= 8) *(v8u *)(out + k) = result;
        else memcpy(out + k, &result, (size_t)(rows - k) * sizeof *out);
    }
}

static void rows_combine(int64_t rows, int64_t stride, const double *A, const double *x, double *sum)
{
    int64_t j = 0;
    for (; j + 24 <= stride; j += 24) {
        v8 a = *(v8 *)(sum + j), b = *(v8 *)(sum + j + 8), c = *(v8 *)(sum + j + 16);
        for (int64_t k = 0; k < rows; k++) {
            const double *row = A + k * stride + j;
            v8 factor = SPLAT(x[k]);
            a += factor * *(const v8 *)row, b += factor * *(const v8 *)(row + 8), c += factor * *(const v8 *)(row + 16);
        }
        *(v8 *)(sum + j) = a, *(v8 *)(sum + j + 8) = b, *(v8 *)(sum + j + 16) = c;
    }
    for (; j < stride; j += 8) {
        v8 a = *(v8 *)(sum + j);
        for (int64_t k = 0; k < rows; k++) a += SPLAT(x[k]) * *(const v8 *)(A + k * stride + j);
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

/* Square root by lanes; compilers turn the loop into one instruction. */
INLINE void square_root(v8 *x)
{
    UNROLL for (int lane = 0; lane < 8; lane++) (*x)[lane] = sqrt((*x)[lane]);
}

/* One Jacobi rotation in the plane (p, r) of the symmetric s (row-major), accumulated in q. */
INLINE void rotate_plane(v8 s[9], v8 q[9], int p, int r)
{
    int k = 3 - p - r;
    v8 off = s[3 * p + r], difference = s[4 * r] - s[4 * p], one = SPLAT(1.0);
    v8 size = difference * difference + 4 * off * off;
    square_root(&size);
    v8 denominator = WHERE(difference < 0, difference - size, difference + size);
    m8 still = denominator == 0;
    v8 t = 2 * off / WHERE(still, one, denominator);
    v8 c = 1 + t * t;
    square_root(&c);
    c = 1 / c;
    v8 sine = t * c, x, y;
    x = s[3 * p + k], y = s[3 * r + k];
    s[3 * p + k] = s[3 * k + p] = c * x - sine * y;
    s[3 * r + k] = s[3 * k + r] = sine * x + c * y;
    s[4 * p] -= t * off, s[4 * r] += t * off;
    s[3 * p + r] = s[3 * r + p] = SPLAT(0.0);
    UNROLL for (int i = 0; i < 3; i++) {
        x = q[3 * i + p], y = q[3 * i + r];
        q[3 * i + p] = c * x - sine * y, q[3 * i + r] = sine * x + c * y;
    }
}

/* F = u diag(s) v' for lanes with det F > 0. */
INLINE void decompose(const v8 F[9], v8 u[9], v8 s[3], v8 v[9])
{
    v8 C[9];
    UNROLL for (int a = 0; a < 3; a++)
        UNROLL for (int b = 0; b < 3; b++) C[3 * a + b] = F[a] * F[b] + F[3 + a] * F[3 + b] + F[6 + a] * F[6 + b];
    UNROLL for (int k = 0; k < 9; k++) v[k] = SPLAT(k % 4 == 0 ? 1.0 : 0.0);
    for (int sweep = 0; sweep < 4; sweep++) {
        rotate_plane(C, v, 0, 1);
        rotate_plane(C, v, 0, 2);
        rotate_plane(C, v, 1, 2);
    }
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

INLINE void respond_to(const su_response *what, su_material material, bool derivative)
{
    for (int64_t e = 0; e < what->count; e += 8) {
        const v8 *strain = (const v8 *)(what->strain + 9 * e);
        v8 *stress = (v8 *)(what->stress + 9 * e);
        v8 mu = what->stiffness * *(const v8 *)(what->mu + e), lambda = what->stiffness * *(const v8 *)(what->lambda + e);
        v8 volume = *(const v8 *)(what->volume + e), F[9], G[9], P[9], u[9], s[3], v[9], minus[3] = {{0}};
        UNROLL for (int k = 0; k < 9; k++) G[k] = strain[k], F[k] = G[k] + (k % 4 == 0 ? 1.0 : 0.0);
        v8 det = F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
        v8 size = {0};
        UNROLL for (int k = 0; k < 9; k++) size += F[k] * F[k];
        /* Too flat for singular vectors from F'F alone, or not finite: scalar code. */
        m8 bad = ~((det > 0.05) & (size < 100));
        UNROLL for (int k = 0; k < 9; k++) F[k] = WHERE(bad, SPLAT(k % 4 == 0 ? 1.0 : 0.0), F[k]), G[k] = WHERE(bad, SPLAT(0.0), G[k]);
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

/* W (9,stride) = D B of one element, D[45] at stride 8; force += B' t. */
INLINE void element_product(int64_t stride, const double *B, const double *D, const double *t, double *W, double *force)
{
    double full[9][9], f[9];
    int at = 0;
    for (int i = 0; i < 9; i++) {
        f[i] = t[8 * i];
        for (int j = i; j < 9; j++, at++) full[i][j] = full[j][i] = D[8 * at];
    }
    for (int64_t j = 0; j < stride; j += 8) {
        v8 b[9], sum = *(v8 *)(force + j);
        UNROLL for (int i = 0; i < 9; i++) b[i] = *(const v8 *)(B + i * stride + j), sum += f[i] * b[i];
        *(v8 *)(force + j) = sum;
        UNROLL for (int i = 0; i < 9; i++) {
            v8 w = full[i][0] * b[0];
            UNROLL for (int k = 1; k < 9; k++) w += full[i][k] * b[k];
            *(v8 *)(W + i * stride + j) = w;
        }
    }
}

static void tangent(int64_t first, int64_t count, int64_t stride, const double *B, const double *derivative, const double *t,
                    double *work, double *tile, double *force)
{
    int64_t blocks = stride / 8;
    for (int64_t at = 0; at < count; at += 8) {
        int64_t chunk = count - at < 8 ? count - at : 8;
        const double *here = B + 9 * at * stride;
        for (int64_t k = 0; k < chunk; k++) {
            int64_t e = first + at + k, lanes = e / 8 * 8;
            element_product(stride, here + 9 * k * stride, derivative + SU_DERIVATIVE_ENTRIES * lanes + e % 8,
                            t + 9 * lanes + e % 8, work + 9 * k * stride, force);
        }
        for (int64_t i = 0; i < blocks; i++)
            product_row(9 * chunk, stride, here + 8 * i, work, i, blocks, stride, tile + 8 * i * stride, 1.0);
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

const su_kernels SU_KERNELS = {SU_KERNELS_NAME, rows_times, rows_combine, turned_strain, respond, tangent, cholesky, solve,
                               inertia};
