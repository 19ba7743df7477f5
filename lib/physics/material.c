/* All materials are isotropic, so with F = U diag(s) V' (U, V proper rotations) the 9 x 9 derivative has a known
 * eigen-structure (Smith, de Goes, Kim 2018, section 4; Kim and Eberle 2020, chapter 7): three twists, three flips and
 * a 3 x 3 block of stretches. The projection clips those eigenvalues; no 9 x 9 eigenproblem is solved. Energies and
 * stresses are written in G = F - I where that saves the digits of small strains. */
#include "physics/material.h"

#include "core/choice.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <string.h>

/* x - log(1 + x), exact to rounding for small x too */
static double x_less_log1p(double x)
{
    if (fabs(x) > SU_LOG1P_SMALL) return x - log1p(x);
    double sum = 0;
    for (int k = SU_LOG1P_TERMS; k >= 2; k--) sum = 1.0 / k - x * sum;
    return x * x * sum;
}

#define LAW_REAL double
#define LAW(name) law_##name
#define LAW_LARGER(a, b) fmax(a, b)
#define LAW_X_LESS_LOG1P(x) x_less_log1p(x)
#include "physics/material_law.h"

int su_material_from_name(const char *name) { return su_choice_find(SU_MATERIAL_NAMES, name, -1); }

static void minus_identity(const double F[9], double G[9])
{
    memcpy(G, F, 9 * sizeof *G);
    G[0] -= 1, G[4] -= 1, G[8] -= 1;
}

double su_material_energy(su_material material, double mu, double lambda, const double F[9])
{
    double u[9], s[3], v[9], G[9], energy = NAN;
    law_parameters(material, &mu, &lambda);
    minus_identity(F, G);
    if (material == SU_COROTATIONAL) su_svd3(F, u, s, v);
    law_energy(material, &mu, &lambda, G, s, &energy);
    return energy;
}

void su_material_stress(su_material material, double mu, double lambda, const double F[9], double P[9])
{
    double R[9], G[9], c, d, pressure, trace = -3;
    law_parameters(material, &mu, &lambda);
    if (material != SU_COROTATIONAL) {
        minus_identity(F, G);
        law_stress(material, &mu, &lambda, F, G, P, &c, &d, &pressure);
        return;
    }
    su_nearest_rotation(F, R);
    for (int i = 0; i < 9; i++) trace += R[i] * F[i];
    for (int i = 0; i < 9; i++) P[i] = 2 * mu * (F[i] - R[i]) + lambda * trace * R[i];
}

void su_linear_stress(double mu, double lambda, const double G[9], double P[9])
{
    double pressure = lambda * (G[0] + G[4] + G[8]);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) P[3 * a + b] = mu * (G[3 * a + b] + G[3 * b + a]) + (a == b ? pressure : 0);
}

/* Jacobi ends where squares beside the diagonal are below rounding, after three sweeps or four. */
#define OFF_DIAGONAL 1e-32
enum { SWEEPS = 30 };

/* Eigenvalues w and eigenvectors (columns of q) of a symmetric 3 x 3 matrix, by cyclic Jacobi. */
static void symmetric_eigen3(const double m[9], double w[3], double q[9])
{
    double a[9];
    memcpy(a, m, sizeof a);
    memset(q, 0, 9 * sizeof *q);
    q[0] = q[4] = q[8] = 1;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = a[1] * a[1] + a[2] * a[2] + a[5] * a[5];
        if (off <= OFF_DIAGONAL * (a[0] * a[0] + a[4] * a[4] + a[8] * a[8])) break;
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

/* Upper triangle of H += value q q' */
static void add_outer(double value, const double q[9], double H[81])
{
    for (int i = 0; i < 9; i++) {
        double scaled = value * q[i];
        for (int j = i; j < 9; j++) H[9 * i + j] += scaled * q[j];
    }
}

/* The derivative of any isotropic density at F = u diag(s) v', put together from its spectrum: A (3,3) second
 * derivatives by the singular values; for the pair without index k, twist (psi_i + psi_j)/(s_i + s_j) and flip (psi_i -
 * psi_j)/(s_i - s_j). */
static void isotropic_derivative(const double u[9], const double v[9], const double A[9], const double twist[3],
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
    law_parameters(material, &mu, &lambda);
    law_spectrum(material, &mu, &lambda, s, A, twist, flip);
    isotropic_derivative(u, v, A, twist, flip, project, H);
}

/* dP_ij/dF_kl = delta_ik S_jl + mu (F_il F_kj + (F F')_ik delta_jl) + lambda F_ij F_kl, S the second stress */
static void stvk_derivative(double mu, double lambda, const double F[9], double H[81])
{
    double S[9], L[9], G[9];
    minus_identity(F, G);
    law_green_strain(G, S);
    law_stvk(&mu, &lambda, S);
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

/* Smith et al. 2018: mu (1 - 1/(I_C + 1)) I + 2 mu/(I_C + 1)^2 f f' + lambda g g' + lambda (J - alpha) d g/d f; with
 * what SU_TISSUE adds (material_law.h) */
static void smith_derivative(su_material material, double mu, double lambda, const double F[9], double H[81])
{
    double C[9], G[9], P[9], c = 0, d = 0, pressure = 0;
    law_parameters(material, &mu, &lambda);
    minus_identity(F, G);
    law_stress(material, &mu, &lambda, F, G, P, &c, &d, &pressure);
    law_cofactors(F, C);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) H[9 * i + j] = d * F[i] * F[j] + lambda * C[i] * C[j];
    for (int i = 0; material == SU_TISSUE && i < 9; i++)
        for (int j = 0; j < 9; j++) H[9 * i + j] += law_stiffening(&mu) * (F[i] - C[i]) * (F[j] - C[j]);
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
        smith_derivative(material, mu, lambda, F, H);
}
