/* Per direction what depends on one direction only, per pair the bilinear rest; pairs run in vector lanes. */
#include "physics/second_derivative.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <string.h>

#define LAW_REAL double
#define LAW(name) law_##name
#define LAW_LARGER(a, b) fmax(a, b)
#include "physics/material_law.h"

int64_t su_second_derivative_scratch(int64_t count, int64_t pairs) { return 24 * count + 42 * pairs; }

/* out[c pairs + p] = in[c count + pair[2 p + side]] for `components` components */
static void spread(int64_t components, int64_t count, const double *in, int64_t pairs, const int32_t *pair, int side,
                   double *out)
{
    for (int64_t c = 0; c < components; c++)
        for (int64_t p = 0; p < pairs; p++) out[c * pairs + p] = in[c * count + pair[2 * p + side]];
}

#define AT(m, c) m[(c)*pairs + p]

/* dS[B] = mu (F'B + B'F) + lambda tr(F'B) I for each of `count` directions */
static void stvk_first(double mu, double lambda, const double F[9], int64_t count, const double *B, double *dS)
{
    for (int64_t k = 0; k < count; k++) {
        double m[9], trace = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                m[3 * i + j] = 0;
                for (int q = 0; q < 3; q++) m[3 * i + j] += F[3 * q + i] * B[(3 * q + j) * count + k];
            }
        trace = m[0] + m[4] + m[8];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                dS[(3 * i + j) * count + k] = mu * (m[3 * i + j] + m[3 * j + i]) + (i == j ? lambda * trace : 0);
    }
}

/* P = F S: d2P = A dS[B] + B dS[A] + F d2S, d2S = mu (A'B + B'A) + lambda (A:B) I */
static void stvk(double mu, double lambda, const double F[9], const su_direction_pairs *of, double *Q, double *scratch)
{
    int64_t count = of->count, pairs = of->pairs;
    const double *A = of->A, *B = of->B;
    const int32_t *pair = of->pair;
    double *firstA = scratch, *firstB = firstA + 9 * count, *a = scratch + 24 * count, *b = a + 9 * pairs;
    double *sa = b + 9 * pairs, *sb = sa + 9 * pairs;
    stvk_first(mu, lambda, F, count, A, firstA);
    stvk_first(mu, lambda, F, count, B, firstB);
    spread(9, count, A, pairs, pair, 0, a);
    spread(9, count, B, pairs, pair, 1, b);
    spread(9, count, firstA, pairs, pair, 0, sa);
    spread(9, count, firstB, pairs, pair, 1, sb);
#pragma omp simd
    for (int64_t p = 0; p < pairs; p++) {
        double s[9], dot = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                s[3 * i + j] = AT(a, i) * AT(b, j) + AT(a, 3 + i) * AT(b, 3 + j) + AT(a, 6 + i) * AT(b, 6 + j);
        dot = lambda * (s[0] + s[4] + s[8]);
        double d01 = mu * (s[1] + s[3]), d02 = mu * (s[2] + s[6]), d12 = mu * (s[5] + s[7]);
        double d[9] = {2 * mu * s[0] + dot, d01, d02, d01, 2 * mu * s[4] + dot, d12, d02, d12, 2 * mu * s[8] + dot};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double sum = 0;
                for (int k = 0; k < 3; k++)
                    sum += AT(a, 3 * i + k) * AT(sb, 3 * k + j) + AT(b, 3 * i + k) * AT(sa, 3 * k + j) +
                           F[3 * i + k] * d[3 * k + j];
                AT(Q, 3 * i + j) = sum;
            }
    }
}

/* Polar form of the cofactors: (X x Y)_ij = e_ikm e_jln X_kl Y_mn, so that d cof(F)[A] = F x A. */
static inline void polar_cofactors(const double X[9], const double Y[9], double out[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int k = (i + 1) % 3, m = (i + 2) % 3, l = (j + 1) % 3, n = (j + 2) % 3;
            out[3 * i + j] = X[3 * k + l] * Y[3 * m + n] + X[3 * m + n] * Y[3 * k + l] - X[3 * k + n] * Y[3 * m + l] -
                             X[3 * m + l] * Y[3 * k + n];
        }
}

/* P = c F + q C with c = mu (1 - 1/(I + 1)), q = lambda (J - alpha), C = cof F. Per direction: F:A, C:A and F x A. */
static void neohookean_first(const double F[9], const double C[9], int64_t count, const double *A, double *out)
{
    for (int64_t k = 0; k < count; k++) {
        double a[9], cross[9], fa = 0, ca = 0;
        for (int c = 0; c < 9; c++) a[c] = A[c * count + k], fa += F[c] * a[c], ca += C[c] * a[c];
        polar_cofactors(F, a, cross);
        for (int c = 0; c < 9; c++) out[c * count + k] = cross[c];
        out[9 * count + k] = fa;
        out[10 * count + k] = ca;
    }
}

/* With s of SU_TISSUE (0 of neo-Hookean): P gets s/2 q (F - C), q = I_C - 2 J - 1 with dq[A] = 2 (F - C):A. */
static void smith(double mu, double lambda, double stiffening, const double F[9], const su_direction_pairs *of,
                  double *Q, double *scratch)
{
    int64_t count = of->count, pairs = of->pairs;
    const double *A = of->A, *B = of->B;
    const int32_t *pair = of->pair;
    double *firstA = scratch, *firstB = firstA + 11 * count, *a = scratch + 24 * count, *b = a + 9 * pairs;
    double *xa = b + 9 * pairs, *xb = xa + 11 * pairs;
    double C[9], half[9], ic = 1;
    polar_cofactors(F, F, half);
    for (int i = 0; i < 9; i++) C[i] = 0.5 * half[i], ic += F[i] * F[i];
    double j = su_det3(F) - 1, pressed = 0.5 * stiffening * (ic - 2 * j - 4);
    double q = lambda * j - SU_SMITH_REST * mu - pressed;
    double d1 = 2 * mu / (ic * ic), d2 = 8 * mu / (ic * ic * ic); /* dc[A] = d1 F:A; d2c = d1 A:B - d2 (F:A)(F:B) */
    neohookean_first(F, C, count, A, firstA);
    neohookean_first(F, C, count, B, firstB);
    spread(9, count, A, pairs, pair, 0, a);
    spread(9, count, B, pairs, pair, 1, b);
    spread(11, count, firstA, pairs, pair, 0, xa);
    spread(11, count, firstB, pairs, pair, 1, xb);
#pragma omp simd
    for (int64_t p = 0; p < pairs; p++) {
        double va[9], vb[9], cross[9], ab = 0, second = 0;
        for (int c = 0; c < 9; c++) va[c] = AT(a, c), vb[c] = AT(b, c), ab += va[c] * vb[c];
        polar_cofactors(va, vb, cross);
        for (int c = 0; c < 9; c++) second += F[c] * cross[c]; /* d2J[A, B] = F : (A x B) */
        double fa = AT(xa, 9), fb = AT(xb, 9), ja = lambda * AT(xa, 10), jb = lambda * AT(xb, 10);
        double c2 = d1 * ab - d2 * fa * fb;
        for (int c = 0; c < 9; c++)
            AT(Q, c) = d1 * (fa * vb[c] + fb * va[c]) + c2 * F[c] + lambda * second * C[c] + ja * AT(xb, c) +
                       jb * AT(xa, c) + q * cross[c];
        double qa = stiffening * (fa - AT(xa, 10)), qb = stiffening * (fb - AT(xb, 10));
        double q2 = stiffening * (ab - second);
        for (int c = 0; c < 9; c++)
            AT(Q, c) += qa * (vb[c] - AT(xb, c)) + qb * (va[c] - AT(xa, c)) + q2 * (F[c] - C[c]);
    }
}

/* Per direction in the frame of R: A' = R'A, the axial vector x of X with dR[A] = R X (X S + S X = A' - A'^T), and tr
 * A'. N = V diag(1/(s_j + s_k)) V' solves the skew Sylvester equation for axial vectors. */
static void corotational_first(const double R[9], const double N[9], int64_t count, const double *A, double *out)
{
    for (int64_t k = 0; k < count; k++) {
        double a[9], r[9], w[3], x[3];
        for (int c = 0; c < 9; c++) a[c] = A[c * count + k];
        su_tmul33(R, a, r);
        w[0] = r[7] - r[5], w[1] = r[2] - r[6], w[2] = r[3] - r[1];
        su_mulv3(N, w, x);
        for (int c = 0; c < 9; c++) out[c * count + k] = r[c];
        for (int c = 0; c < 3; c++) out[(9 + c) * count + k] = x[c];
    }
}

/* P = 2 mu (F - R) + lambda t R, t = tr S - 3, dt[A] = tr A':
 * d2P = (lambda t - 2 mu) d2R + lambda ((dR[B]:A) R + tr A' dR[B] + tr B' dR[A]), d2R = R (X_B X_A + dX),
 * dX S + S dX = -(X_B A' + A'^T X_B) - (X_A dS + dS X_A), dS = B' - X_B S. */
static void corotational(double mu, double lambda, const double F[9], const su_direction_pairs *of, double *Q,
                         double *scratch)
{
    int64_t count = of->count, pairs = of->pairs;
    const double *A = of->A, *B = of->B;
    const int32_t *pair = of->pair;
    double *firstA = scratch, *firstB = firstA + 12 * count, *ra = scratch + 24 * count, *rb = ra + 12 * pairs;
    double U[9], s[3], V[9], R[9], N[9], S[9];
    su_svd3(F, U, s, V);
    su_mult33(U, V, R);
    su_tmul33(R, F, S);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            N[3 * i + j] = 0;
            for (int k = 0; k < 3; k++) {
                double sum = fmax(s[(k + 1) % 3] + s[(k + 2) % 3], SU_LEAST_STRETCH);
                N[3 * i + j] += V[3 * i + k] * V[3 * j + k] / sum;
            }
        }
    corotational_first(R, N, count, A, firstA);
    corotational_first(R, N, count, B, firstB);
    spread(12, count, firstA, pairs, pair, 0, ra);
    spread(12, count, firstB, pairs, pair, 1, rb);
    double factor = lambda * (s[0] + s[1] + s[2] - 3) - 2 * mu;
#pragma omp simd
    for (int64_t p = 0; p < pairs; p++) {
        double a[9], b[9], xa[3], xb[3], sx[3], w[3], x[3], q[9];
        for (int c = 0; c < 9; c++) a[c] = AT(ra, c), b[c] = AT(rb, c);
        for (int c = 0; c < 3; c++) xa[c] = AT(ra, 9 + c), xb[c] = AT(rb, 9 + c);
        double ta = a[0] + a[4] + a[8], tb = b[0] + b[4] + b[8];
        /* X M + M' X has the axial vector tr(M) x - M x */
        for (int i = 0; i < 3; i++) sx[i] = S[3 * i] * xa[0] + S[3 * i + 1] * xa[1] + S[3 * i + 2] * xa[2];
        for (int i = 0; i < 3; i++)
            w[i] = a[3 * i] * xb[0] + a[3 * i + 1] * xb[1] + a[3 * i + 2] * xb[2] - ta * xb[i] + b[3 * i] * xa[0] +
                   b[3 * i + 1] * xa[1] + b[3 * i + 2] * xa[2] - tb * xa[i];
        w[0] -= xb[1] * sx[2] - xb[2] * sx[1];
        w[1] -= xb[2] * sx[0] - xb[0] * sx[2];
        w[2] -= xb[0] * sx[1] - xb[1] * sx[0];
        for (int i = 0; i < 3; i++) x[i] = N[3 * i] * w[0] + N[3 * i + 1] * w[1] + N[3 * i + 2] * w[2];
        double dot = xa[0] * xb[0] + xa[1] * xb[1] + xa[2] * xb[2];
        double work = xb[0] * (a[7] - a[5]) + xb[1] * (a[2] - a[6]) + xb[2] * (a[3] - a[1]); /* X_B : A' */
        for (int i = 0; i < 3; i++) /* [x_b][x_a] = x_a x_b' - (x_a . x_b) I */
            for (int j = 0; j < 3; j++) q[3 * i + j] = factor * xa[i] * xb[j];
        for (int i = 0; i < 3; i++) q[4 * i] += -factor * dot + lambda * work;
        for (int i = 0; i < 3; i++) x[i] = factor * x[i] + lambda * (ta * xb[i] + tb * xa[i]);
        q[1] -= x[2], q[2] += x[1], q[3] += x[2], q[5] -= x[0], q[6] -= x[1], q[7] += x[0];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                AT(Q, 3 * i + j) = R[3 * i] * q[j] + R[3 * i + 1] * q[3 + j] + R[3 * i + 2] * q[6 + j];
    }
}

void su_material_second_derivative(su_material material, double mu, double lambda, const double F[9],
                                   const su_direction_pairs *of, double *Q, double *scratch)
{
    law_parameters(material, &mu, &lambda);
    switch (material) {
    case SU_STVK:
        stvk(mu, lambda, F, of, Q, scratch);
        return;
    case SU_NEOHOOKEAN:
        smith(mu, lambda, 0, F, of, Q, scratch);
        return;
    case SU_TISSUE:
        smith(mu, lambda, law_stiffening(&mu), F, of, Q, scratch);
        return;
    case SU_COROTATIONAL:
        corotational(mu, lambda, F, of, Q, scratch);
    }
}
