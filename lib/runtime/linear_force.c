#include "runtime/linear_force.h"

#include "runtime/kernels.h"

#include <string.h>

enum { ROWS = 8 };

int64_t su_linear_entries(int64_t size, int64_t lead)
{
    int64_t entries = ROWS * lead;
    for (int64_t k = 0; k < size; k += ROWS) entries += ROWS * (lead - k);
    return (entries + SU_MIX - 1) / SU_MIX * SU_MIX;
}

void su_linear_pack(int64_t r, int64_t lead, const double *K, float *packed)
{
    for (int64_t k = 0; k < r; k += ROWS, packed += ROWS * (lead - k + ROWS))
        for (int64_t i = k; i < k + ROWS && i < r; i++)
            for (int64_t j = i; j < r; j++)
                packed[(i - k) * (lead - k) + j - k] = (float)(i == j ? 0.5 * K[i * r + j] : K[i * r + j]);
}

void su_linear_unpack(int64_t size, int64_t lead, const float *packed, float *full)
{
    memset(full, 0, (size_t)(lead * lead) * sizeof *full);
    for (int64_t k = 0; k < size; k += ROWS, packed += ROWS * (lead - k + ROWS))
        for (int64_t i = k; i < k + ROWS; i++) {
            const float *row = packed + (i - k) * (lead - k) - k;
            for (int64_t j = k; j < lead; j++) full[i * lead + j] += row[j], full[j * lead + i] += row[j];
        }
}

void su_linear_times(const su_runtime_model *model, const float *packed, double factor, const double *q, double *out)
{
    int64_t lead = model->lead;
    for (int64_t k = 0; k < model->size; k += ROWS, packed += ROWS * (lead - k + ROWS)) {
        double part[ROWS], scaled[ROWS];
        model->kernels->rows_times(ROWS, lead - k, packed, q + k, part);
        for (int i = 0; i < ROWS; i++) scaled[i] = factor * q[k + i];
        model->kernels->rows_combine(ROWS, lead - k, packed, scaled, out + k);
        for (int i = 0; i < ROWS; i++) out[k + i] += factor * part[i];
    }
}

void su_linear_add(const su_runtime_model *model, const float *packed, double factor, double *A)
{
    int64_t lead = model->lead;
    for (int64_t k = 0; k < model->size; k += ROWS, packed += ROWS * (lead - k + ROWS))
        for (int64_t i = 0; i < ROWS; i++) {
            double *to = A + (k + i) * lead + k;
            const float *from = packed + i * (lead - k);
            for (int64_t j = 0; j < lead - k; j++) to[j] += factor * from[j];
            to[i] += factor * from[i];
        }
}

/* Entries (a,b), a <= b, of the upper triangle by rows of a 9 x 9 matrix. */
static int entry(int a, int b) { return a * 9 - a * (a - 1) / 2 + b - a; }

static void subtract_derivative(const su_runtime_model *model, const su_pose *pose, double trust, double stiffness, float *derivative)
{
    enum { L = SU_DERIVATIVE_LANES };
    for (int64_t from = 0; from < model->tets_padded; from += L) {
        float shear[L] = {0}, across[L] = {0}, along[L] = {0}, *D = derivative + from * SU_DERIVATIVE_ENTRIES;
        for (int64_t k = 0; k < L && from + k < model->tets_padded; k++) {
            double volume = trust * stiffness * pose->volume[from + k];
            shear[k] = (float)(volume * pose->mu[from + k]);
            across[k] = (float)(volume * pose->lambda[from + k]);
            along[k] = (float)(volume * (2 * pose->mu[from + k] + pose->lambda[from + k]));
        }
        for (int a = 0; a < 3; a++)
            for (int b = a; b < 3; b++) {
                float *block = D + L * entry(4 * a, 4 * b);
                const float *value = a == b ? along : across;
                for (int k = 0; k < L; k++) block[k] -= value[k];
                if (a == b) continue;
                float *one = D + L * entry(3 * a + b, 3 * a + b), *both = D + L * entry(3 * a + b, 3 * b + a),
                      *two = D + L * entry(3 * b + a, 3 * b + a);
                for (int k = 0; k < L; k++) one[k] -= shear[k], both[k] -= shear[k], two[k] -= shear[k];
            }
    }
}

void su_linear_subtract(const su_runtime_model *model, const su_pose *pose, double trust, double stiffness, const double *strain,
                        double factor, double *stress, float *derivative)
{
    enum { L = SU_LANES };
    for (int64_t from = 0; from < model->tets_padded; from += L) {
        const double *G = strain + 9 * from;
        double mu[L], pressure[L], *P = stress + 9 * from;
        for (int k = 0; k < L; k++) {
            double scale = trust * factor * stiffness * pose->volume[from + k];
            mu[k] = scale * pose->mu[from + k];
            pressure[k] = scale * pose->lambda[from + k] * (G[k] + G[4 * L + k] + G[8 * L + k]);
        }
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                const double *one = G + (3 * a + b) * L, *other = G + (3 * b + a) * L;
                double *to = P + (3 * a + b) * L;
                for (int k = 0; k < L; k++) to[k] -= mu[k] * (one[k] + other[k]);
                for (int k = 0; a == b && k < L; k++) to[k] -= pressure[k];
            }
    }
    if (derivative) subtract_derivative(model, pose, trust, stiffness, derivative);
}

double su_linear_energy(const su_pose *pose, double trust, double stiffness, int64_t e, const double G[9])
{
    double trace = G[0] + G[4] + G[8], shear = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) shear += 0.25 * (G[3 * a + b] + G[3 * b + a]) * (G[3 * a + b] + G[3 * b + a]);
    return trust * stiffness * pose->volume[e] * (pose->mu[e] * shear + 0.5 * pose->lambda[e] * trace * trace);
}
