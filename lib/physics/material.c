/* All three materials are isotropic, so with F = U diag(s) V' (U, V proper rotations) the 9 x 9 derivative has a known
 * eigen-structure (Smith, de Goes, Kim 2018, section 4; Kim and Eberle 2020, chapter 7): three twists, three flips and
 * a 3 x 3 block of stretches. The projection clips those eigenvalues; no 9 x 9 eigenproblem is solved. Energies and
 * stresses are written in G = F - I where that saves the digits of small strains. */
#include "physics/material.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <string.h>

static const char *const names[] = {"stvk", "neohookean", "corotational"};

int su_material_from_name(const char *name)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) return i;
    return -1;
}

const char *su_material_name(su_material material) { return names[material]; }

void su_lame(double young, double poisson, double *mu, double *lambda)
{
    *mu = young / (2 * (1 + poisson));
    *lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
}

/* d det F / d F */
static void cofactors(const double F[9], double C[9])
{
    C[0] = F[4] * F[8] - F[5] * F[7], C[1] = F[5] * F[6] - F[3] * F[8], C[2] = F[3] * F[7] - F[4] * F[6];
    C[3] = F[2] * F[7] - F[1] * F[8], C[4] = F[0] * F[8] - F[2] * F[6], C[5] = F[1] * F[6] - F[0] * F[7];
    C[6] = F[1] * F[5] - F[2] * F[4], C[7] = F[2] * F[3] - F[0] * F[5], C[8] = F[0] * F[4] - F[1] * F[3];
}

static void minus_identity(const double F[9], double G[9])
{
    memcpy(G, F, 9 * sizeof *G);
    G[0] -= 1, G[4] -= 1, G[8] -= 1;
}

static double square_norm(const double m[9])
{
    double sum = 0;
    for (int i = 0; i < 9; i++) sum += m[i] * m[i];
    return sum;
}

/* E = (G + G' + G'G)/2 = (F'F - I)/2 without the cancellation */
static void green_strain(const double F[9], double E[9])
{
    double G[9];
    minus_identity(F, G);
    su_tmul33(G, G, E);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) E[3 * i + j] = 0.5 * (E[3 * i + j] + G[3 * i + j] + G[3 * j + i]);
}

/* Parts of det F - 1 = tr G + second + third. */
static void jacobian_parts(const double G[9], double *second, double *third)
{
    *second = G[0] * G[4] - G[1] * G[3] + G[0] * G[8] - G[2] * G[6] + G[4] * G[8] - G[5] * G[7];
    *third = su_det3(G);
}

/* x - log(1 + x), exact to rounding for small x too */
static double x_minus_log1p(double x)
{
    if (fabs(x) > 0.05) return x - log1p(x);
    double sum = 0;
    for (int k = 13; k >= 2; k--) sum = 1.0 / k - x * sum;
    return x * x * sum;
}

/* Smith et al. 2018, eq. 13-14 with the log term: psi = mu/2 (I_C - 3) + lambda/2 (J - alpha)^2 - mu/2 log(I_C + 1),
 * alpha = 1 + 3/4 mu/lambda, less its value at F = I; the terms linear in G, which cancel, are left out on paper. */
static double neohookean_energy(double mu, double lambda, const double F[9])
{
    double G[9], second, third;
    minus_identity(F, G);
    jacobian_parts(G, &second, &third);
    double trace = G[0] + G[4] + G[8], norm = square_norm(G);
    double j = trace + second + third;    /* J - 1 */
    double x = 0.25 * (2 * trace + norm); /* (I_C - 3)/4 */
    return mu * (0.375 * norm - 0.75 * (second + third) + 0.5 * x_minus_log1p(x)) + 0.5 * lambda * j * j;
}

/* Smith's parameters such that small strains give Lame's (docs/formats.md, convention 8). */
static void smith(double *mu, double *lambda)
{
    *lambda += 5.0 / 6.0 * *mu;
    *mu *= 4.0 / 3.0;
}

double su_material_energy(su_material material, double mu, double lambda, const double F[9])
{
    switch (material) {
    case SU_STVK: {
        double E[9];
        green_strain(F, E);
        double trace = E[0] + E[4] + E[8];
        return mu * square_norm(E) + 0.5 * lambda * trace * trace;
    }
    case SU_NEOHOOKEAN:
        smith(&mu, &lambda);
        return neohookean_energy(mu, lambda, F);
    default: {
        double u[9], s[3], v[9];
        su_svd3(F, u, s, v);
        double a = s[0] - 1, b = s[1] - 1, c = s[2] - 1, t = a + b + c;
        return mu * (a * a + b * b + c * c) + 0.5 * lambda * t * t;
    }
    }
}

void su_material_stress(su_material material, double mu, double lambda, const double F[9], double P[9])
{
    switch (material) {
    case SU_STVK: {
        double S[9];
        green_strain(F, S);
        double trace = S[0] + S[4] + S[8];
        for (int i = 0; i < 9; i++) S[i] *= 2 * mu;
        S[0] += lambda * trace, S[4] += lambda * trace, S[8] += lambda * trace;
        su_mul33(F, S, P);
        return;
    }
    case SU_NEOHOOKEAN: {
        smith(&mu, &lambda);
        double C[9], G[9], second, third;
        minus_identity(F, G);
        jacobian_parts(G, &second, &third);
        cofactors(F, C);
        double factor = mu * (1 - 1 / (square_norm(F) + 1));
        double pressure = lambda * (G[0] + G[4] + G[8] + second + third) - 0.75 * mu; /* lambda (J - alpha) */
        for (int i = 0; i < 9; i++) P[i] = factor * F[i] + pressure * C[i];
        return;
    }
    default: {
        double R[9];
        su_nearest_rotation(F, R);
        double trace = -3;
        for (int i = 0; i < 9; i++) trace += R[i] * F[i];
        for (int i = 0; i < 9; i++) P[i] = 2 * mu * (F[i] - R[i]) + lambda * trace * R[i];
    }
    }
}

/* Eigenvalues w and eigenvectors (columns of q) of a symmetric 3 x 3 matrix, by cyclic Jacobi. */
static void symmetric_eigen3(const double m[9], double w[3], double q[9])
{
    double a[9];
    memcpy(a, m, sizeof a);
    memset(q, 0, 9 * sizeof *q);
    q[0] = q[4] = q[8] = 1;
    for (int sweep = 0; sweep < 30; sweep++) {
        double off = a[1] * a[1] + a[2] * a[2] + a[5] * a[5];
        if (off <= 1e-32 * (a[0] * a[0] + a[4] * a[4] + a[8] * a[8])) break;
        for (int p = 0; p < 2; p++)
            for (int r = p + 1; r < 3; r++) {
                double apr = a[3 * p + r];
                if (apr == 0) continue;
                double theta = (a[4 * r] - a[4 * p]) / (2 * apr);
                double t = (theta >= 0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(1 + theta * theta));
                double c = 1 / sqrt(1 + t * t), s = t * c;
                for (int i = 0; i < 3; i++) {
                    double x = a[3 * i + p], y = a[3 * i + r];
                    a[3 * i + p] = c * x - s * y, a[3 * i + r] = s * x + c * y;
                }
                for (int i = 0; i < 3; i++) {
                    double x = a[3 * p + i], y = a[3 * r + i];
                    a[3 * p + i] = c * x - s * y, a[3 * r + i] = s * x + c * y;
                    x = q[3 * i + p], y = q[3 * i + r];
                    q[3 * i + p] = c * x - s * y, q[3 * i + r] = s * x + c * y;
                }
            }
    }
    for (int i = 0; i < 3; i++) w[i] = a[4 * i];
}

/* Spectrum of the derivative at singular values s: the 3 x 3 block A of stretches, and for the pair without index k the
 * eigenvalues of the twist (psi_i + psi_j)/(s_i + s_j) and the flip (psi_i - psi_j)/(s_i - s_j), divided out. */
static void spectrum(su_material material, double mu, double lambda, const double s[3], double A[9], double twist[3],
                     double flip[3])
{
    double square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
    if (material == SU_NEOHOOKEAN) smith(&mu, &lambda);
    double J = s[0] * s[1] * s[2];
    double c = mu * (1 - 1 / (square + 1)), d = 2 * mu / ((square + 1) * (square + 1));
    double pressure = lambda * (J - 1) - 0.75 * mu;
    double trace = 0.5 * (square - 3), stretch = s[0] + s[1] + s[2] - 3;
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        double *diagonal = &A[4 * k], off;
        switch (material) {
        case SU_STVK:
            twist[k] = mu * (s[i] * s[i] - s[i] * s[j] + s[j] * s[j] - 1) + lambda * trace;
            flip[k] = mu * (s[i] * s[i] + s[i] * s[j] + s[j] * s[j] - 1) + lambda * trace;
            *diagonal = mu * (3 * s[k] * s[k] - 1) + lambda * (trace + s[k] * s[k]);
            off = lambda * s[i] * s[j];
            break;
        case SU_NEOHOOKEAN:
            twist[k] = c + pressure * s[k];
            flip[k] = c - pressure * s[k];
            *diagonal = c + d * s[k] * s[k] + lambda * s[i] * s[i] * s[j] * s[j];
            off = d * s[i] * s[j] + lambda * s[k] * s[k] * s[i] * s[j] + pressure * s[k];
            break;
        default:
            /* The nearest rotation jumps where s_i + s_j = 0; the bound keeps the value finite there. */
            twist[k] = 2 * mu + (2 * lambda * stretch - 4 * mu) / fmax(s[i] + s[j], 1e-6);
            flip[k] = 2 * mu;
            *diagonal = 2 * mu + lambda;
            off = lambda;
        }
        A[3 * i + j] = A[3 * j + i] = off;
    }
}

/* Upper triangle of H += value q q' */
static void add_outer(double value, const double q[9], double H[81])
{
    for (int i = 0; i < 9; i++) {
        double scaled = value * q[i];
        for (int j = i; j < 9; j++) H[9 * i + j] += scaled * q[j];
    }
}

void su_isotropic_derivative(const double u[9], const double v[9], const double A[9], const double twist[3],
                             const double flip[3], bool project, double H[81])
{
    double w[3], q[9], W[3][3][9];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) W[a][b][3 * i + j] = u[3 * i + a] * v[3 * j + b];
    memset(H, 0, 81 * sizeof *H);
    symmetric_eigen3(A, w, q);
    for (int k = 0; k < 3; k++) {
        double pair[9];
        if (!project || w[k] > 0) {
            for (int i = 0; i < 9; i++) pair[i] = q[k] * W[0][0][i] + q[3 + k] * W[1][1][i] + q[6 + k] * W[2][2][i];
            add_outer(w[k], pair, H);
        }
        int a = (k + 1) % 3, b = (k + 2) % 3;
        if (!project || twist[k] > 0) {
            for (int i = 0; i < 9; i++) pair[i] = W[a][b][i] - W[b][a][i];
            add_outer(0.5 * twist[k], pair, H);
        }
        if (!project || flip[k] > 0) {
            for (int i = 0; i < 9; i++) pair[i] = W[a][b][i] + W[b][a][i];
            add_outer(0.5 * flip[k], pair, H);
        }
    }
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < i; j++) H[9 * i + j] = H[9 * j + i];
}

static void spectral_derivative(su_material material, double mu, double lambda, const double F[9], bool project,
                                double H[81])
{
    double u[9], s[3], v[9], A[9], twist[3], flip[3];
    su_svd3(F, u, s, v);
    spectrum(material, mu, lambda, s, A, twist, flip);
    su_isotropic_derivative(u, v, A, twist, flip, project, H);
}

/* dP_ij/dF_kl = delta_ik S_jl + mu (F_il F_kj + (F F')_ik delta_jl) + lambda F_ij F_kl, S the second stress */
static void stvk_derivative(double mu, double lambda, const double F[9], double H[81])
{
    double S[9], L[9];
    green_strain(F, S);
    double trace = S[0] + S[4] + S[8];
    for (int i = 0; i < 9; i++) S[i] *= 2 * mu;
    S[0] += lambda * trace, S[4] += lambda * trace, S[8] += lambda * trace;
    su_mult33(F, F, L);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++) {
                    double value = mu * F[3 * i + l] * F[3 * k + j] + lambda * F[3 * i + j] * F[3 * k + l];
                    if (i == k) value += S[3 * j + l];
                    if (j == l) value += mu * L[3 * i + k];
                    H[27 * i + 9 * j + 3 * k + l] = value;
                }
}

/* Smith et al. 2018: mu (1 - 1/(I_C + 1)) I + 2 mu/(I_C + 1)^2 f f' + lambda g g' + lambda (J - alpha) d g/d f */
static void neohookean_derivative(double mu, double lambda, const double F[9], double H[81])
{
    smith(&mu, &lambda);
    double C[9], G[9], second, third;
    minus_identity(F, G);
    jacobian_parts(G, &second, &third);
    cofactors(F, C);
    double ic = square_norm(F) + 1;
    double c = mu * (1 - 1 / ic), d = 2 * mu / (ic * ic);
    double pressure = lambda * (G[0] + G[4] + G[8] + second + third) - 0.75 * mu;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) H[9 * i + j] = d * F[i] * F[j] + lambda * C[i] * C[j];
    for (int i = 0; i < 9; i++) H[10 * i] += c;
    /* d C_ij / d F_kl = e_ikm e_jln F_mn: for i != k and j != l one entry of F with a sign */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int a = 1; a < 3; a++)
                for (int b = 1; b < 3; b++) {
                    int k = (i + a) % 3, l = (j + b) % 3, m = 3 - i - k, n = 3 - j - l;
                    double sign = a == b ? 1.0 : -1.0;
                    H[27 * i + 9 * j + 3 * k + l] += sign * pressure * F[3 * m + n];
                }
}

void su_material_derivative(su_material material, double mu, double lambda, const double F[9], bool project,
                            double H[81])
{
    if (project || material == SU_COROTATIONAL)
        spectral_derivative(material, mu, lambda, F, project, H);
    else if (material == SU_STVK)
        stvk_derivative(mu, lambda, F, H);
    else
        neohookean_derivative(mu, lambda, F, H);
}
