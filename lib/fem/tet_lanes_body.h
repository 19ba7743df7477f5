/* Tets in vector lanes, for one set of vector units (core/vector_begin.h).
 *
 * With F = U diag(s) V' and a variation of corner b, u_b g_b', in the frame of U and V (g' = V'g) the derivative
 * couples only the stretches with each other and the entries (i,j), (j,i) (LAW(spectrum) in physics/material_law.h):
 * K'_ab[i][i] = A_ii g'_a[i] g'_b[i] + sum_{j != i} (twist + flip)/2 g'_a[j] g'_b[j] K'_ab[i][k] = A_ik g'_a[i] g'_b[k]
 * + (flip - twist)/2 g'_a[k] g'_b[i],      K_ab = U K'_ab U'. */

#include "geometry/svd_lanes.h"

/* Of what a group leaves: number k of the lanes that stand at p. */
#define OF_GROUP(p, k) (*(lanes *)((p) + SU_TET_LANES * (k)))

/* As in physics/material.c. */
SU_INLINE lanes x_less_log1p(lanes x)
{
    lanes sum = {0};
    mask large = magnitude(x) > SU_LOG1P_SMALL;
    for (int k = SU_LOG1P_TERMS; k >= 2; k--) sum = 1.0 / k - x * sum;
    sum *= x * x;
    for (int l = 0; l < LANES; l++)
        if (large[l]) sum[l] = x[l] - log1p(x[l]);
    return sum;
}

#define LAW_REAL lanes
#define LAW(name) law_##name
#define LAW_LARGER(a, b) larger(a, (lanes){0} + (b))
#define LAW_X_LESS_LOG1P(x) x_less_log1p(x)
#include "physics/material_law.h"

/* Negative eigenvalues of the symmetric A become 0. */
SU_INLINE void clip_stretches(lanes A[9])
{
    lanes zero = {0}, one = zero + 1.0, q[9];
    lanes second = A[0] * A[4] - A[1] * A[1];
    lanes third = A[8] * second - A[0] * A[5] * A[5] - A[4] * A[2] * A[2] + 2.0 * A[1] * A[2] * A[5];
    mask clipped = ~((A[0] > 0.0) & (second > 0.0) & (third > 0.0));
    if (!any(clipped)) return; /* definite in all lanes, as mostly */
    lanes given[9];
    memcpy(given, A, sizeof given);
    for (int i = 0; i < 9; i++) q[i] = i % 4 == 0 ? one : zero;
    for (int sweep = 0; sweep < 5; sweep++)
        for (int p = 0; p < 2; p++)
            for (int r = p + 1; r < 3; r++) {
                lanes c, s;
                jacobi(A[4 * p], A[4 * r], A[3 * p + r], &c, &s);
                rotate_columns(A, p, r, c, s);
                for (int i = 0; i < 3; i++) {
                    lanes x = A[3 * p + i], y = A[3 * r + i];
                    A[3 * p + i] = c * x - s * y, A[3 * r + i] = s * x + c * y;
                }
                rotate_columns(q, p, r, c, s);
            }
    lanes w[3] = {larger(A[0], zero), larger(A[4], zero), larger(A[8], zero)};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            A[3 * i + j] = choose(clipped,
                                  w[0] * q[3 * i] * q[3 * j] + w[1] * q[3 * i + 1] * q[3 * j + 1] +
                                      w[2] * q[3 * i + 2] * q[3 * j + 2],
                                  given[3 * i + j]);
}

/* One block: K = U K' U', g and h the gradients of the two corners in the frame of V. */
SU_INLINE void block(const lanes A[9], const lanes even[3], const lanes odd[3], const lanes U[9], const lanes *g,
                     const lanes *h, double *out)
{
    lanes inner[9], half[9], product[3];
    for (int k = 0; k < 3; k++) product[k] = g[k] * h[k];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3; /* even, odd: numbered by the index that the pair lacks */
        inner[4 * i] = A[4 * i] * product[i] + even[k] * product[j] + even[j] * product[k];
        inner[3 * j + k] = A[3 * j + k] * g[j] * h[k] + odd[i] * g[k] * h[j];
        inner[3 * k + j] = A[3 * j + k] * g[k] * h[j] + odd[i] * g[j] * h[k];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            half[3 * i + j] =
                inner[3 * i] * U[3 * j] + inner[3 * i + 1] * U[3 * j + 1] + inner[3 * i + 2] * U[3 * j + 2];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            OF_GROUP(out, 3 * i + j) = U[3 * i] * half[j] + U[3 * i + 1] * half[3 + j] + U[3 * i + 2] * half[6 + j];
}

/* Inverse edge matrix, F, volume and Lame's parameters of each tet; the last stands in for lanes beyond count. */
SU_INLINE void gather(const su_lane_tets *mesh, int count, const int32_t *e, const double *y, lanes inv[9], lanes F[9],
                      lanes *v, lanes *m, lanes *l)
{
    lanes edges[9];
    for (int k = 0; k < LANES; k++) {
        int64_t from = e[k < count ? k : count - 1];
        const int32_t *corner = mesh->corners + 4 * from;
        const double *a = y + 3 * (int64_t)corner[0], *offset = mesh->offset + 9 * from;
        for (int c = 0; c < 3; c++) {
            const double *b = y + 3 * (int64_t)corner[1 + c];
            for (int i = 0; i < 3; i++) edges[3 * i + c][k] = b[i] - a[i] + offset[3 * i + c];
        }
        for (int i = 0; i < 9; i++) inv[i][k] = mesh->inverse[9 * from + i];
        (*v)[k] = mesh->volume[from], (*m)[k] = mesh->mu[from], (*l)[k] = mesh->lambda[from];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            F[3 * i + j] = edges[3 * i] * inv[j] + edges[3 * i + 1] * inv[3 + j] + edges[3 * i + 2] * inv[6 + j];
}

/* G = F - I */
SU_INLINE void minus_identity(const lanes F[9], lanes G[9])
{
    for (int k = 0; k < 9; k++) G[k] = k % 4 == 0 ? F[k] - 1.0 : F[k];
}

/* The spectrum of b(J), J = s_0 s_1 s_2: of the stretches b'' dJ/ds_k dJ/ds_l + b' s_m, of a pair +-b' s_k. */
SU_INLINE void add_by_ratio(int count, const int32_t *e, const double *by_ratio, const lanes s[3], lanes A[9],
                            lanes twist[3], lanes flip[3])
{
    lanes first = {0}, second = {0}, slope[3];
    for (int l = 0; l < count; l++) first[l] = by_ratio[2 * (int64_t)e[l]], second[l] = by_ratio[2 * (int64_t)e[l] + 1];
    for (int k = 0; k < 3; k++) slope[k] = s[(k + 1) % 3] * s[(k + 2) % 3];
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        lanes off = second * slope[i] * slope[j] + first * s[k];
        A[4 * k] += second * slope[k] * slope[k];
        A[3 * i + j] += off, A[3 * j + i] += off;
        twist[k] += first * s[k], flip[k] -= first * s[k];
    }
}

SU_INLINE void corotational_stress(const lanes *mu, const lanes *lambda, const lanes F[9], lanes P[9])
{
    lanes B[9], U[9], s[3], V[9], R[9], trace = (lanes){0} - 3.0;
    memcpy(B, F, sizeof B);
    singular_values(B, U, s, V);
    rotation_of(U, V, R);
    for (int k = 0; k < 9; k++) trace += R[k] * F[k];
    for (int k = 0; k < 9; k++) P[k] = 2.0 * *mu * (F[k] - R[k]) + *lambda * trace * R[k];
}

SU_INLINE void forces_of(const su_lane_tets *mesh, int count, const int32_t *e, const double *y, double *f)
{
    lanes inv[9], F[9], G[9], P[9] = {{0}}, m, l, v, c, d, pressure;
    gather(mesh, count, e, y, inv, F, &v, &m, &l);
    minus_identity(F, G);
    switch (mesh->material) { /* as below */
    case SU_STVK:
        law_stress(SU_STVK, &m, &l, F, G, P, &c, &d, &pressure);
        break;
    case SU_NEOHOOKEAN:
        law_parameters(SU_NEOHOOKEAN, &m, &l);
        law_stress(SU_NEOHOOKEAN, &m, &l, F, G, P, &c, &d, &pressure);
        break;
    case SU_TISSUE:
        law_parameters(SU_TISSUE, &m, &l);
        law_stress(SU_TISSUE, &m, &l, F, G, P, &c, &d, &pressure);
        break;
    case SU_COROTATIONAL:
        corotational_stress(&m, &l, F, P);
    }
    for (int i = 0; i < 3; i++) {
        lanes sum = {0};
        for (int a = 0; a < 3; a++) {
            lanes value = v * (P[3 * i] * inv[3 * a] + P[3 * i + 1] * inv[3 * a + 1] + P[3 * i + 2] * inv[3 * a + 2]);
            OF_GROUP(f, 3 * (a + 1) + i) = value, sum -= value;
        }
        OF_GROUP(f, i) = sum;
    }
}

/* The vectors of a group, one after the other. */
static void forces(const su_lane_tets *mesh, int count, const int32_t *e, const double *y, double *f)
{
    for (int k = 0; k < count; k += LANES) forces_of(mesh, count - k < LANES ? count - k : LANES, e + k, y, f + k);
}

SU_INLINE void energies_of(const su_lane_tets *mesh, int count, const int32_t *e, const double *y, double *energy)
{
    lanes inv[9], F[9], G[9], U[9], s[3] = {{0}}, V[9], m, l, v, psi = {0};
    gather(mesh, count, e, y, inv, F, &v, &m, &l);
    minus_identity(F, G);
    switch (mesh->material) { /* as below */
    case SU_STVK:
        law_energy(SU_STVK, &m, &l, G, s, &psi);
        break;
    case SU_NEOHOOKEAN:
        law_parameters(SU_NEOHOOKEAN, &m, &l);
        law_energy(SU_NEOHOOKEAN, &m, &l, G, s, &psi);
        break;
    case SU_TISSUE:
        law_parameters(SU_TISSUE, &m, &l);
        law_energy(SU_TISSUE, &m, &l, G, s, &psi);
        break;
    case SU_COROTATIONAL:
        singular_values(F, U, s, V);
        law_energy(SU_COROTATIONAL, &m, &l, G, s, &psi);
    }
    OF_GROUP(energy, 0) = v * psi;
}

static void energies(const su_lane_tets *mesh, int count, const int32_t *e, const double *y, double *energy)
{
    for (int k = 0; k < count; k += LANES)
        energies_of(mesh, count - k < LANES ? count - k : LANES, e + k, y, energy + k);
}

/* Which block belongs to two corners. */
static const int slot[4][4] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};

SU_INLINE void add_first_corner(double *out)
{
    lanes zero = {0};
    /* Corner 0 from the sums being zero: K_0b = -sum_a K_ab, K_00 = -sum_b K_0b. */
    for (int b = 1; b < 4; b++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                lanes sum = zero;
                for (int a = 1; a < 4; a++) {
                    sum += OF_GROUP(out, 9 * slot[a][b] + (a <= b ? 3 * i + j : 3 * j + i));
                }
                OF_GROUP(out, 9 * slot[0][b] + 3 * i + j) = -sum;
            }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int k = 3 * i + j;
            OF_GROUP(out, k) = -(OF_GROUP(out, 9 + k) + OF_GROUP(out, 18 + k) + OF_GROUP(out, 27 + k));
        }
}

/* The exact stiffness of stable neo-Hookean, which needs no singular values: with P = c F + p C, C the cofactors, and a
 * variation u g_b' of F, K_ab = v (c g_a.g_b 1 + d (F g_a)(F g_b)' + lambda (C g_a)(C g_b)' - p [F (g_a x g_b)]x); of
 * SU_TISSUE with s (F g_a - C g_a)(F g_b - C g_b)' more. */
SU_INLINE void exact_smith(su_material material, int count, const int32_t *e, const double *by_ratio, const lanes F[9],
                           const lanes g[9], lanes v, lanes mu, lanes lambda, double *out)
{
    lanes G[9], C[9], second, third, square = {0}, j, c, d, p, Fg[9], Cg[9];
    law_parameters(material, &mu, &lambda);
    minus_identity(F, G);
    for (int k = 0; k < 9; k++) square += F[k] * F[k];
    law_cofactors(F, C);
    law_volume_change(G, &second, &third);
    j = G[0] + G[4] + G[8] + second + third;
    law_neohookean(material, &mu, &lambda, &square, &j, &c, &d, &p);
    for (int l = 0; by_ratio && l < count; l++)
        p[l] += by_ratio[2 * (int64_t)e[l]], lambda[l] += by_ratio[2 * (int64_t)e[l] + 1];
    lanes stiffening = v * law_stiffening(&mu);
    c *= v, d *= v, lambda *= v, p *= v;
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++) {
            Fg[3 * a + i] = F[3 * i] * g[3 * a] + F[3 * i + 1] * g[3 * a + 1] + F[3 * i + 2] * g[3 * a + 2];
            Cg[3 * a + i] = C[3 * i] * g[3 * a] + C[3 * i + 1] * g[3 * a + 1] + C[3 * i + 2] * g[3 * a + 2];
        }
    for (int a = 0; a < 3; a++)
        for (int b = a; b < 3; b++) {
            const lanes *x = g + 3 * a, *y = g + 3 * b;
            lanes K[9], same = c * (x[0] * y[0] + x[1] * y[1] + x[2] * y[2]);
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++)
                    K[3 * i + k] = d * Fg[3 * a + i] * Fg[3 * b + k] + lambda * Cg[3 * a + i] * Cg[3 * b + k];
            for (int i = 0; material == SU_TISSUE && i < 3; i++)
                for (int k = 0; k < 3; k++)
                    K[3 * i + k] += stiffening * (Fg[3 * a + i] - Cg[3 * a + i]) * (Fg[3 * b + k] - Cg[3 * b + k]);
            for (int i = 0; i < 3; i++) K[4 * i] += same;
            lanes cross[3];
            for (int i = 0; i < 3 && a != b; i++)
                cross[i] = x[(i + 1) % 3] * y[(i + 2) % 3] - x[(i + 2) % 3] * y[(i + 1) % 3];
            for (int i = 0; i < 3 && a != b; i++) {
                lanes w = p * (F[3 * i] * cross[0] + F[3 * i + 1] * cross[1] + F[3 * i + 2] * cross[2]);
                K[3 * ((i + 1) % 3) + (i + 2) % 3] += w, K[3 * ((i + 2) % 3) + (i + 1) % 3] -= w;
            }
            for (int k = 0; k < 9; k++) OF_GROUP(out, 9 * slot[a + 1][b + 1] + k) = K[k];
        }
    add_first_corner(out);
}

SU_INLINE void stiffness_of(const su_lane_tets *mesh, bool project, int count, const int32_t *e, const double *y,
                            const double *by_ratio, double *out)
{
    lanes inv[9], F[9], U[9], s[3], V[9], A[9] = {{0}}, twist[3] = {{0}}, flip[3] = {{0}}, g[9], m, l, v, zero = {0};
    gather(mesh, count, e, y, inv, F, &v, &m, &l);
    if (mesh->material == SU_NEOHOOKEAN && !project) {
        exact_smith(SU_NEOHOOKEAN, count, e, by_ratio, F, inv, v, m, l, out);
        return;
    }
    if (mesh->material == SU_TISSUE && !project) {
        exact_smith(SU_TISSUE, count, e, by_ratio, F, inv, v, m, l, out);
        return;
    }
    singular_values(F, U, s, V);
    switch (mesh->material) { /* constant in each call, so that the branches inside fold */
    case SU_STVK:
        law_parameters(SU_STVK, &m, &l);
        law_spectrum(SU_STVK, &m, &l, s, A, twist, flip);
        break;
    case SU_NEOHOOKEAN:
        law_parameters(SU_NEOHOOKEAN, &m, &l);
        law_spectrum(SU_NEOHOOKEAN, &m, &l, s, A, twist, flip);
        break;
    case SU_TISSUE:
        law_parameters(SU_TISSUE, &m, &l);
        law_spectrum(SU_TISSUE, &m, &l, s, A, twist, flip);
        break;
    case SU_COROTATIONAL:
        law_parameters(SU_COROTATIONAL, &m, &l);
        law_spectrum(SU_COROTATIONAL, &m, &l, s, A, twist, flip);
    }
    if (by_ratio) add_by_ratio(count, e, by_ratio, s, A, twist, flip);
    if (project) {
        clip_stretches(A);
        for (int k = 0; k < 3; k++) twist[k] = larger(twist[k], zero), flip[k] = larger(flip[k], zero);
    }
    lanes even[3], odd[3];
    for (int i = 0; i < 9; i++) A[i] *= v;
    for (int k = 0; k < 3; k++) even[k] = 0.5 * v * (flip[k] + twist[k]), odd[k] = 0.5 * v * (flip[k] - twist[k]);
    for (int a = 0; a < 3; a++)
        for (int j = 0; j < 3; j++)
            g[3 * a + j] = inv[3 * a] * V[j] + inv[3 * a + 1] * V[3 + j] + inv[3 * a + 2] * V[6 + j];
    for (int a = 0; a < 3; a++)
        for (int b = a; b < 3; b++)
            block(A, even, odd, U, g + 3 * a, g + 3 * b, out + 9 * SU_TET_LANES * slot[a + 1][b + 1]);
    add_first_corner(out);
}

static void stiffness(const su_lane_tets *mesh, bool project, int count, const int32_t *e, const double *y,
                      const double *by_ratio, double *K)
{
    for (int k = 0; k < count; k += LANES)
        stiffness_of(mesh, project, count - k < LANES ? count - k : LANES, e + k, y, by_ratio, K + k);
}

const su_tet_kernels SU_IN_SET(su_tet_kernels) = {forces, energies, stiffness};
