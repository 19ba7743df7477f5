#include "runtime/forces/linear_force.h"

#include "runtime/kernels/kernels.h"

enum { ROWS = 8 };

int64_t su_linear_entries(int64_t size, int64_t lead)
{
    int64_t entries = ROWS * lead;
    for (int64_t k = 0; k < size; k += ROWS) entries += ROWS * (lead - k);
    return entries;
}

void su_linear_pack(int64_t r, int64_t lead, const double *D, float *packed)
{
    for (int64_t k = 0; k < r; k += ROWS, packed += ROWS * (lead - k + ROWS))
        for (int64_t i = k; i < k + ROWS && i < r; i++)
            for (int64_t j = i; j < r; j++)
                packed[(i - k) * (lead - k) + j - k] = (float)(i == j ? 0.5 * D[i * r + j] : D[i * r + j]);
}

void su_linear_times(const su_runtime_model *model, double factor, const double *q, double *out)
{
    int64_t lead = model->lead;
    const float *packed = model->linear;
    for (int64_t k = 0; k < model->size; k += ROWS, packed += ROWS * (lead - k + ROWS)) {
        double part[ROWS], scaled[ROWS];
        model->kernels->rows_times(ROWS, lead - k, packed, q + k, part);
        for (int i = 0; i < ROWS; i++) scaled[i] = factor * q[k + i];
        model->kernels->rows_combine(ROWS, lead - k, packed, scaled, out + k);
        for (int i = 0; i < ROWS; i++) out[k + i] += factor * part[i];
    }
}

void su_linear_add(const su_runtime_model *model, double factor, double *A)
{
    int64_t lead = model->lead;
    const float *packed = model->linear;
    for (int64_t k = 0; k < model->size; k += ROWS, packed += ROWS * (lead - k + ROWS))
        for (int64_t i = 0; i < ROWS; i++) {
            double *to = A + (k + i) * lead + k;
            const float *from = packed + i * (lead - k);
            for (int64_t j = 0; j < lead - k; j++) to[j] += factor * from[j];
            to[i] += factor * from[i];
        }
}
