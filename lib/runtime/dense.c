#include "runtime/dense.h"

#include <math.h>

bool su_dense_cholesky(int64_t size, int64_t lead, double *A)
{
    for (int64_t i = 0; i < size; i++) {
        double *row = A + i * lead;
        for (int64_t j = 0; j <= i; j++) {
            const double *other = A + j * lead;
            double sum = row[j];
            for (int64_t k = 0; k < j; k++) sum -= row[k] * other[k];
            if (j < i) row[j] = sum / other[j];
            else if (sum > 0 && isfinite(sum)) row[j] = sqrt(sum);
            else return false;
        }
    }
    return true;
}

void su_dense_solve(int64_t size, int64_t lead, const double *L, double *x)
{
    for (int64_t i = 0; i < size; i++) {
        double sum = x[i];
        for (int64_t k = 0; k < i; k++) sum -= L[i * lead + k] * x[k];
        x[i] = sum / L[i * lead + i];
    }
    for (int64_t i = size - 1; i >= 0; i--) {
        x[i] /= L[i * lead + i];
        for (int64_t k = 0; k < i; k++) x[k] -= L[i * lead + k] * x[i];
    }
}

void su_dense_multiply(int64_t size, int64_t lead, const double *A, const double *x, double *y)
{
    for (int64_t i = 0; i < size; i++) {
        double sum = 0;
        for (int64_t k = 0; k < size; k++) sum += A[i * lead + k] * x[k];
        y[i] = sum;
    }
}
