/* The elastic response by lanes; part of kernels_step_body.h. Stresses are computed in double, their derivative in
 * float, twice as many elements in a vector: what it is multiplied with, B, is stored in float too. */

#define LAW_REAL doubles
#define LAW(name) law_##name
#define LAW_LARGER(a, b) WHERE((a) > (b), a, (doubles){0} + (b))
#include "physics/material_law.h"

INLINE void square_root(doubles *x)
{
    UNROLL_FOR (int lane = 0; lane < DOUBLES; lane++) (*x)[lane] = sqrt((*x)[lane]);
}

/* What is off the diagonal below this is 0: its square would be a slow denormal number. */
static const float NO_SHEAR = 1e-12f;

/* One Jacobi rotation in the plane (p, r) of GROUPS vectors of symmetric matrices s (row-major), accumulated in q. */
INLINE void rotate_plane(floats s[GROUPS][9], floats q[GROUPS][9], int p, int r)
{
    int k = 3 - p - r;
    floats off[GROUPS], half[GROUPS], inverse[GROUPS], turned[GROUPS], square[GROUPS], zero = {0};
    UNROLL_FOR (int n = 0; n < GROUPS; n++) {
        half[n] = 0.5f * (s[n][4 * r] - s[n][4 * p]);
        off[n] = s[n][3 * p + r];
        off[n] = WHERE((off[n] < NO_SHEAR) & (off[n] > -NO_SHEAR), zero, off[n]);
        square[n] = half[n] * half[n] + off[n] * off[n];
    }
    UNROLL_FOR (int n = 0; n < GROUPS; n++) inverse_root(square + n, inverse + n); /* finite, about 3e19, for 0 */
    UNROLL_FOR (int n = 0; n < GROUPS; n++) {
        floats larger = WHERE(half[n] < 0, -half[n], half[n]);
        square[n] = 0.5f + 0.5f * larger * inverse[n]; /* of the cosine, at least 1/2; tan 2t = off / half */
    }
    UNROLL_FOR (int n = 0; n < GROUPS; n++) inverse_root(square + n, turned + n);
    UNROLL_FOR (int n = 0; n < GROUPS; n++) {
        floats c = square[n] * turned[n], sine = 0.5f * off[n] * inverse[n] * turned[n], x, y;
        sine = WHERE(half[n] < 0, -sine, sine);
        floats t = sine * turned[n];
        x = s[n][3 * p + k], y = s[n][3 * r + k];
        s[n][3 * p + k] = s[n][3 * k + p] = c * x - sine * y;
        s[n][3 * r + k] = s[n][3 * k + r] = sine * x + c * y;
        s[n][4 * p] -= t * off[n], s[n][4 * r] += t * off[n];
        s[n][3 * p + r] = s[n][3 * r + p] = zero;
        UNROLL_FOR (int i = 0; i < 3; i++) {
            x = q[n][3 * i + p], y = q[n][3 * i + r];
            q[n][3 * i + p] = c * x - sine * y, q[n][3 * i + r] = sine * x + c * y;
        }
    }
}

/* Principal axes v of F'F, from G = F - 1: F'F - 1 keeps its digits and has the same axes. Three sweeps of Jacobi
 * rotations leave 1e-4 at most, which is plenty for clipping; four leave rounding. */
INLINE void principal_axes(const floats G[GROUPS][9], int sweeps, floats v[GROUPS][9])
{
    floats C[GROUPS][9];
    UNROLL_FOR (int n = 0; n < GROUPS; n++)
        UNROLL_FOR (int a = 0; a < 3; a++)
            UNROLL_FOR (int b = 0; b < 3; b++) {
                const floats *g = G[n];
                C[n][3 * a + b] = g[3 * a + b] + g[3 * b + a] + g[a] * g[b] + g[3 + a] * g[3 + b] + g[6 + a] * g[6 + b];
                v[n][3 * a + b] = (floats){0} + (a == b ? 1.0f : 0.0f);
            }
    for (int sweep = 0; sweep < sweeps; sweep++) {
        rotate_plane(C, v, 0, 1);
        rotate_plane(C, v, 0, 2);
        rotate_plane(C, v, 1, 2);
    }
}

/* F = u diag(s) v' for lanes with det F > 0, v given. */
INLINE void decompose_f(const floats F[9], const floats v[9], floats u[9], floats s[3])
{
    UNROLL_FOR (int k = 0; k < 3; k++) {
        floats x[3], size = {0}, inverse;
        UNROLL_FOR (int i = 0; i < 3; i++) {
            x[i] = F[3 * i] * v[k] + F[3 * i + 1] * v[3 + k] + F[3 * i + 2] * v[6 + k];
            size += x[i] * x[i];
        }
        inverse_root(&size, &inverse);
        s[k] = size * inverse;
        UNROLL_FOR (int i = 0; i < 3; i++) u[3 * i + k] = x[i] * inverse;
    }
}

/* The same in double, which makes v, found in float, orthonormal. */
INLINE void decompose(const doubles F[9], doubles u[9], doubles s[3], doubles v[9])
{
    UNROLL_FOR (int k = 0; k < 2; k++) {
        if (k == 1) {
            doubles dot = v[0] * v[1] + v[3] * v[4] + v[6] * v[7];
            UNROLL_FOR (int i = 0; i < 3; i++) v[3 * i + 1] -= dot * v[3 * i];
        }
        doubles scale = 1.5 - 0.5 * (v[k] * v[k] + v[3 + k] * v[3 + k] + v[6 + k] * v[6 + k]);
        UNROLL_FOR (int i = 0; i < 3; i++) v[3 * i + k] *= scale;
    }
    v[2] = v[3] * v[7] - v[6] * v[4], v[5] = v[6] * v[1] - v[0] * v[7], v[8] = v[0] * v[4] - v[3] * v[1];
    UNROLL_FOR (int k = 0; k < 3; k++) {
        doubles x[3], size = {0};
        UNROLL_FOR (int i = 0; i < 3; i++) {
            x[i] = F[3 * i] * v[k] + F[3 * i + 1] * v[3 + k] + F[3 * i + 2] * v[6 + k];
            size += x[i] * x[i];
        }
        square_root(&size);
        s[k] = size;
        doubles inverse = 1 / size;
        UNROLL_FOR (int i = 0; i < 3; i++) u[3 * i + k] = x[i] * inverse;
    }
}

/* s - 1 of each stretch without cancellation: from G'u and the symmetric part, (s^2 - 1)/(s + 1) with s^2 - 1 =
 * v'(2E)v. */
INLINE void stretches_less_one(const doubles G[9], const doubles s[3], const doubles v[9], doubles minus[3])
{
    UNROLL_FOR (int k = 0; k < 3; k++) {
        doubles g[3], sum = {0};
        UNROLL_FOR (int i = 0; i < 3; i++) {
            g[i] = G[3 * i] * v[k] + G[3 * i + 1] * v[3 + k] + G[3 * i + 2] * v[6 + k];
            sum += g[i] * g[i] + 2 * g[i] * v[3 * i + k];
        }
        minus[k] = sum / (s[k] + 1);
    }
}

/* What the derivative takes over from the stress: P = c F + pressure C for neo-Hookean, C the cofactors, and d =
 * dc/d(F:F) times two; for corotational, pressure = lambda (sum of stretches - 3). */
typedef struct coefficients {
    doubles c, d, pressure;
} coefficients;

/* P of a vector of elements; exact zero at strain 0. G = F - 1; v: principal axes, for corotational alone, which also
 * leaves u and s there. mu and lambda are the law's own. */
INLINE void stress_of(su_material material, const doubles *mu_of, const doubles *lambda_of, const doubles F[9],
                      const doubles G[9], doubles v[9], doubles u[9], doubles s[3], doubles P[9], coefficients *out)
{
    if (material != SU_COROTATIONAL) {
        law_stress(material, mu_of, lambda_of, F, G, P, &out->c, &out->d, &out->pressure);
    } else {
        doubles mu = *mu_of, lambda = *lambda_of;
        doubles minus[3], p[3];
        decompose(F, u, s, v);
        stretches_less_one(G, s, v, minus);
        doubles stretch = minus[0] + minus[1] + minus[2];
        out->pressure = lambda * stretch;
        UNROLL_FOR (int k = 0; k < 3; k++) p[k] = 2 * mu * minus[k] + lambda * stretch;
        UNROLL_FOR (int a = 0; a < 3; a++)
            UNROLL_FOR (int b = 0; b < 3; b++)
                P[3 * a + b] = u[3 * a] * p[0] * v[3 * b] + u[3 * a + 1] * p[1] * v[3 * b + 1] +
                               u[3 * a + 2] * p[2] * v[3 * b + 2];
    }
}

/* ---- the derivative ---- */

/* Entry (i, k) of a symmetric 9 x 9 matrix stored as its upper triangle by rows; of a derivative, lanes from D on. */
#define UPPER(i, k) ((i) <= (k) ? (i) * (17 - (i)) / 2 + (k) : (k) * (17 - (k)) / 2 + (i))
#define ENTRY(D, i, k) AT(floats, (D) + SU_DERIVATIVE_LANES * UPPER(i, k))

/* D = sum over `terms` (a constant) of weighted x x', the weights already in wx. */
INLINE void outer_products(int terms, const floats (*x)[9], const floats (*wx)[9], float *D)
{
    EACH_ENTRY (i)
        for (int j = i; j < 9; j++) {
            floats sum = wx[0][i] * x[0][j];
            UNROLL_FOR (int t = 1; t < terms; t++) sum += wx[t][i] * x[t][j];
            ENTRY(D, i, j) = sum;
        }
}

/* The vectors u_a v_b' + sign u_b v_a' of the pair without k, of square 2: x[k], and wx[k] = weight[k] x[k]. */
INLINE void pair_vectors(const floats u[9], const floats v[9], const floats *sign, const floats weight[3],
                         floats x[3][9], floats wx[3][9])
{
    floats turned[9];
    EACH_ENTRY (k) turned[k] = *sign * u[k];
    UNROLL_FOR (int k = 0; k < 3; k++) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        UNROLL_FOR (int i = 0; i < 3; i++)
            UNROLL_FOR (int j = 0; j < 3; j++) {
                floats entry = u[3 * i + a] * v[3 * j + b] + turned[3 * i + b] * v[3 * j + a];
                x[k][3 * i + j] = entry, wx[k][3 * i + j] = weight[k] * entry;
            }
    }
}

/* Where the block of stretches, diagonal and off[k] of the pair without k, is not definite. */
INLINE void indefinite_block(const floats diagonal[3], const floats off[3], masks *out)
{
    floats minor = diagonal[0] * diagonal[1] - off[2] * off[2];
    floats det = diagonal[2] * minor - off[0] * (diagonal[0] * off[0] - off[2] * off[1]) +
                 off[1] * (off[2] * off[0] - diagonal[1] * off[1]);
    *out = ~((diagonal[0] > 0) & (minor > 0) & (det > 0));
}

/* D + c 1 */
INLINE void add_diagonal(const floats *c, float *D)
{
    EACH_ENTRY (i) ENTRY(D, i, i) += *c;
}

/* c 1 + d F F' + lambda C C' + pressure dC/dF, C the cofactors, and s (F - C)(F - C)' with s of SU_TISSUE. Its
 * eigenvalues for the pair without k are c + pressure s_k on antisymmetric and c - pressure s_k on symmetric vectors of
 * u and v (twists, flips): only one family can be negative. */
INLINE void smith_derivative(su_material material, const floats F[9], const floats v[9], const floats *c_of,
                             const floats *d_of, const floats *lambda_of, const floats *pressure_of,
                             const floats *stiffening_of, bool project, float *D, masks *bad)
{
    floats c = *c_of, d = *d_of, lambda = *lambda_of, p = *pressure_of, stiffening = *stiffening_of;
    floats x[6][9], wx[6][9], *C = x[1];
    const int terms = material == SU_TISSUE ? 3 : 2; /* before those of the projection */
    COFACTORS(F, C);
    EACH_ENTRY (k) x[0][k] = F[k], wx[0][k] = d * F[k], wx[1][k] = lambda * C[k];
    if (material == SU_TISSUE)
        EACH_ENTRY (k) x[2][k] = F[k] - C[k], wx[2][k] = stiffening * x[2][k];
    if (project) {
        floats u[9], s[3], weight[3], diagonal[3], off[3], slope[3], zero = {0};
        floats size = WHERE(p < 0, -p, p), sign = WHERE(p < 0, zero - 1.0f, zero + 1.0f);
        decompose_f(F, v, u, s);
        UNROLL_FOR (int k = 0; k < 3; k++) {
            floats area = s[(k + 1) % 3] * s[(k + 2) % 3], excess = size * s[k] - c;
            weight[k] = 0.5f * WHERE(excess > 0, excess, zero);
            diagonal[k] = c + d * s[k] * s[k] + lambda * area * area;
            off[k] = d * area + lambda * s[k] * s[k] * area + p * s[k];
            slope[k] = s[k] - area;
        }
        if (material == SU_TISSUE)
            UNROLL_FOR (int k = 0; k < 3; k++) {
                diagonal[k] += stiffening * slope[k] * slope[k];
                off[k] += stiffening * slope[(k + 1) % 3] * slope[(k + 2) % 3];
            }
        indefinite_block(diagonal, off, bad);
        pair_vectors(u, v, &sign, weight, x + terms, wx + terms);
        outer_products(terms + 3, (const floats(*)[9])x, (const floats(*)[9])wx, D);
    } else {
        outer_products(terms, (const floats(*)[9])x, (const floats(*)[9])wx, D);
    }
    add_diagonal(&c, D);
    UNROLL_FOR (int m = 0; m < 3; m++)
        UNROLL_FOR (int n = 0; n < 3; n++) {
            int i = (m + 1) % 3, j = (m + 2) % 3, k = (n + 1) % 3, l = (n + 2) % 3;
            ENTRY(D, 3 * i + k, 3 * j + l) += p * F[3 * m + n];
            ENTRY(D, 3 * i + l, 3 * j + k) -= p * F[3 * m + n];
        }
}

/* D_ab,cd = delta_ac S_db + lambda F_ab F_cd + mu (delta_bd (F F')_ac + F_ad F_cb). Flips are positive unless the
 * element is crushed, which the scalar code takes. */
INLINE void stvk_derivative(const floats F[9], const floats G[9], const floats v[9], const floats *mu_of,
                            const floats *lambda_of, bool project, float *D, masks *bad)
{
    floats mu = *mu_of, lambda = *lambda_of, S[9], B[9], x[5][9], wx[5][9];
    UNROLL_FOR (int a = 0; a < 3; a++)
        UNROLL_FOR (int b = 0; b < 3; b++) {
            S[3 * a + b] =
                0.5f * (G[a] * G[b] + G[3 + a] * G[3 + b] + G[6 + a] * G[6 + b] + G[3 * a + b] + G[3 * b + a]);
            B[3 * a + b] = mu * (F[3 * a] * F[3 * b] + F[3 * a + 1] * F[3 * b + 1] + F[3 * a + 2] * F[3 * b + 2]);
        }
    floats trace = lambda * (S[0] + S[4] + S[8]);
    EACH_ENTRY (k) S[k] *= 2 * mu, x[0][k] = F[k], wx[0][k] = lambda * F[k];
    UNROLL_FOR (int k = 0; k < 3; k++) S[4 * k] += trace;
    if (project) {
        floats u[9], s[3], weight[3], diagonal[3], off[3], zero = {0}, sign = zero - 1.0f;
        masks crushed = {0};
        decompose_f(F, v, u, s);
        UNROLL_FOR (int k = 0; k < 3; k++) {
            int a = (k + 1) % 3, b = (k + 2) % 3;
            floats sum = s[a] * s[a] + s[b] * s[b] - 1, area = s[a] * s[b], twist = mu * (sum - area) + trace;
            weight[k] = -0.5f * WHERE(twist < 0, twist, zero);
            diagonal[k] = mu * (3 * s[k] * s[k] - 1) + trace + lambda * s[k] * s[k];
            off[k] = lambda * area;
            crushed |= mu * (sum + area) + trace < 0;
        }
        indefinite_block(diagonal, off, bad);
        *bad |= crushed;
        pair_vectors(u, v, &sign, weight, x + 1, wx + 1);
        outer_products(4, (const floats(*)[9])x, (const floats(*)[9])wx, D);
    } else {
        outer_products(1, (const floats(*)[9])x, (const floats(*)[9])wx, D);
    }
    EACH_ENTRY (i)
        for (int j = i; j < 9; j++) {
            int a = i / 3, b = i % 3, c = j / 3, d = j % 3;
            floats sum = mu * F[3 * a + d] * F[3 * c + b];
            if (a == c) sum += S[3 * d + b];
            if (b == d) sum += B[3 * a + c];
            ENTRY(D, i, j) += sum;
        }
}

/* 2 mu 1 + lambda R R' + sum over pairs of (twist - 2 mu) t t'; flips are 2 mu. */
INLINE void corotational_derivative(const floats u[9], const floats s[3], const floats v[9], const floats *mu_of,
                                    const floats *lambda_of, const floats *pressure_of, bool project, float *D)
{
    floats mu = *mu_of, lambda = *lambda_of, x[5][9], wx[5][9], weight[3], zero = {0}, sign = zero - 1.0f,
           twice = 2 * mu;
    EACH_ENTRY (i) {
        x[0][i] =
            u[i / 3 * 3] * v[i % 3 * 3] + u[i / 3 * 3 + 1] * v[i % 3 * 3 + 1] + u[i / 3 * 3 + 2] * v[i % 3 * 3 + 2];
        wx[0][i] = lambda * x[0][i];
    }
    UNROLL_FOR (int k = 0; k < 3; k++) {
        floats sum = s[(k + 1) % 3] + s[(k + 2) % 3];
        floats twist = twice + (2 * *pressure_of - 4 * mu) /
                                   WHERE(sum > (float)SU_LEAST_STRETCH, sum, zero + (float)SU_LEAST_STRETCH);
        if (project) twist = WHERE(twist < 0, zero, twist);
        weight[k] = 0.5f * (twist - twice);
    }
    pair_vectors(u, v, &sign, weight, x + 1, wx + 1);
    outer_products(4, (const floats(*)[9])x, (const floats(*)[9])wx, D);
    add_diagonal(&twice, D);
}

/* ---- both ---- */

/* Singular vectors come from F'F, which squares what F is: volume ratios above the first, and |F|^2 below the second,
 * leave them all digits that the stress needs. */
static const double FLATTEST = 0.05, LARGEST_SQUARE = 100;

/* G = strain, F = 1 + G of the elements from e on; bad: lanes too flat for singular vectors from F'F alone, or not
 * finite, which the scalar code takes; they get F = 1 here. */
INLINE void load_strain(const su_response *what, int64_t e, doubles G[9], doubles F[9], longs *bad)
{
    const double *strain = what->strain + su_strain_at(e);
    doubles zero = {0};
    EACH_ENTRY (k) G[k] = AT(doubles, strain + SU_LANES * k), F[k] = G[k] + (k % 4 == 0 ? 1.0 : 0.0);
    doubles det =
        F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) + F[2] * (F[3] * F[7] - F[4] * F[6]);
    doubles size = {0};
    EACH_ENTRY (k) size += F[k] * F[k];
    *bad = ~((det > FLATTEST) & (size < LARGEST_SQUARE));
    EACH_ENTRY (k) F[k] = WHERE(*bad, zero + (k % 4 == 0 ? 1.0 : 0.0), F[k]), G[k] = WHERE(*bad, zero, G[k]);
}

/* P += factor D x, D from the lanes of P on. */
INLINE void add_product(const float *D, double factor, const doubles x[9], doubles P[9])
{
    doubles sum[9] = {{0}};
    EACH_ENTRY (i)
        for (int j = i; j < 9; j++) {
            doubles d = WIDEN_AT(D + SU_DERIVATIVE_LANES * UPPER(i, j));
            sum[i] += d * x[j];
            if (j > i) sum[j] += d * x[i];
        }
    EACH_ENTRY (k) P[k] += factor * sum[k];
}

/* Strains of as many elements as a vector has floats, in two halves; a last half alone is taken twice. */
typedef struct strains {
    doubles F[2][9], G[2][9];
    longs bad[2];
} strains;

INLINE void respond_group(const su_response *what, su_material material, bool derivative, bool project, int64_t e,
                          const strains *x, const floats Gf[9], floats vf[9])
{
    doubles P[2][9], u[2][9], v[2][9], s[2][3], mu[2], lambda[2], volume[2];
    floats Ff[9], uf[9], sf[3];
    coefficients at[2];
    EACH_ENTRY (k) Ff[k] = Gf[k] + (k % 4 == 0 ? 1.0f : 0.0f);
    if (material == SU_COROTATIONAL)
        EACH_ENTRY (k) v[0][k] = WIDEN_FEW(HALF(vf[k], 0)), v[1][k] = WIDEN_FEW(HALF(vf[k], 1));
    for (int n = 0; n < 2; n++) {
        int64_t from = e + DOUBLES * n < what->count ? e + DOUBLES * n : e;
        mu[n] = what->stiffness * AT(doubles, what->mu + from);
        lambda[n] = what->stiffness * AT(doubles, what->lambda + from);
        volume[n] = AT(doubles, what->volume + from);
        law_parameters(material, mu + n, lambda + n);
        stress_of(material, mu + n, lambda + n, x->F[n], x->G[n], v[n], u[n], s[n], P[n], at + n);
        EACH_ENTRY (k) P[n][k] *= volume[n];
    }
    masks indefinite = {0};
    float *D = derivative ? what->derivative + su_derivative_at(e) : NULL;
    const float *held = what->damping != 0 ? what->held + su_derivative_at(e) : NULL;
    if (derivative) {
        floats m = BOTH(volume[0] * mu[0], volume[1] * mu[1]), l = BOTH(volume[0] * lambda[0], volume[1] * lambda[1]);
        floats p = {0}, c, d;
        if (material != SU_STVK) p = BOTH(volume[0] * at[0].pressure, volume[1] * at[1].pressure);
        if (law_smith(material)) {
            floats stiffening =
                BOTH(volume[0] * law_stiffening(mu), volume[1] * law_stiffening(mu + 1)); /* unused by neo-Hookean */
            c = BOTH(volume[0] * at[0].c, volume[1] * at[1].c), d = BOTH(volume[0] * at[0].d, volume[1] * at[1].d);
            if (project)
                smith_derivative(material, Ff, vf, &c, &d, &l, &p, &stiffening, true, D, &indefinite);
            else
                smith_derivative(material, Ff, vf, &c, &d, &l, &p, &stiffening, false, D, &indefinite);
        } else if (material == SU_STVK) {
            if (project)
                stvk_derivative(Ff, Gf, vf, &m, &l, true, D, &indefinite);
            else
                stvk_derivative(Ff, Gf, vf, &m, &l, false, D, &indefinite);
        } else {
            EACH_ENTRY (k) uf[k] = BOTH(u[0][k], u[1][k]), vf[k] = BOTH(v[0][k], v[1][k]);
            UNROLL_FOR (int k = 0; k < 3; k++) sf[k] = BOTH(s[0][k], s[1][k]);
            corotational_derivative(uf, sf, vf, &m, &l, &p, project, D);
        }
        indefinite &= BOTH(volume[0], volume[1]) != 0;
    }
    floats linear[9] = {{0}};
    if (derivative && what->linear != 0) /* as exact as the products that it balances */
        EACH_ENTRY (i) {
            linear[i] = ENTRY(D, i, 0) * Gf[0];
            UNROLL_FOR (int j = 1; j < 9; j++) linear[i] += ENTRY(D, i, j) * Gf[j];
        }
    for (int n = 0; n < 2 && e + DOUBLES * n < what->count; n++) {
        int64_t from = e + DOUBLES * n, lane = su_strain_at(from);
        if (derivative && what->linear != 0)
            EACH_ENTRY (k) P[n][k] -= what->linear * WIDEN_FEW(HALF(linear[k], n));
        if (what->damping != 0) {
            doubles rate[9];
            EACH_ENTRY (k)
                rate[k] =
                    AT(doubles, what->strain + lane + SU_LANES * k) - AT(doubles, what->carried + lane + SU_LANES * k);
            add_product(held + DOUBLES * n, what->damping, rate, P[n]);
        }
        EACH_ENTRY (k) AT(doubles, what->stress + lane + SU_LANES * k) = P[n][k];
        for (int i = 0; i < DOUBLES; i++)
            if (x->bad[n][i] != 0 || indefinite[DOUBLES * n + i] != 0)
                what->irregular[from / SU_LANES] |= (uint8_t)(1 << (from % SU_LANES + i));
    }
    if (derivative && what->damping != 0)
        for (int k = 0; k < SU_DERIVATIVE_ENTRIES; k++)
            AT(floats, D + SU_DERIVATIVE_LANES * k) +=
                (float)what->damping * AT(floats, held + SU_DERIVATIVE_LANES * k);
}

INLINE void respond_to(const su_response *what, su_material material, bool derivative)
{
    const bool project = derivative && what->project;
    memset(what->irregular, 0, (size_t)(what->count / SU_LANES));
    for (int64_t e = 0; e < what->count; e += FLOATS * GROUPS) {
        strains x[GROUPS];
        floats G[GROUPS][9], v[GROUPS][9] = {{{0}}}; /* axes, where they are wanted */
        for (int n = 0; n < 2 * GROUPS; n++)
            load_strain(what, e + DOUBLES * n < what->count ? e + DOUBLES * n : e, x[n / 2].G[n % 2], x[n / 2].F[n % 2],
                        x[n / 2].bad + n % 2);
        UNROLL_FOR (int n = 0; n < GROUPS; n++)
            EACH_ENTRY (k) G[n][k] = BOTH(x[n].G[0][k], x[n].G[1][k]);
        if (material == SU_COROTATIONAL)
            principal_axes((const floats(*)[9])G, 4, v);
        else if (project)
            principal_axes((const floats(*)[9])G, 3, v);
        for (int n = 0; n < GROUPS && e + FLOATS * n < what->count; n++)
            respond_group(what, material, derivative, project, e + FLOATS * n, x + n, G[n], v[n]);
    }
}

/* Constants in each call, so that branches fold. */
#define RESPOND_TO(law)                                                                                                \
    case law:                                                                                                          \
        if (what->derivative)                                                                                          \
            respond_to(what, law, true);                                                                               \
        else                                                                                                           \
            respond_to(what, law, false);                                                                              \
        return

static void respond(const su_response *what)
{
    switch (what->material) {
        RESPOND_TO(SU_STVK);
        RESPOND_TO(SU_NEOHOOKEAN);
        RESPOND_TO(SU_TISSUE);
        RESPOND_TO(SU_COROTATIONAL);
    }
    memset(what->irregular, 0xff, (size_t)(what->count / SU_LANES)); /* a law without lanes: the scalar code's */
}
