/* Products of dense matrices that lie row by row without gaps, by BLAS, inline. */
#ifndef SU_LINALG_DENSE_H
#define SU_LINALG_DENSE_H

#include <cblas.h>
#include <stdint.h>

/* C (m,n) = A (m,k) B (k,n) */
static inline void su_multiply(int64_t m, int64_t n, int64_t k, const double *A, const double *B, double *C)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, A, (int)k, B, (int)n, 0, C,
                (int)n);
}

/* C (m,n) = A (m,k) B', B (n,k) */
static inline void su_multiply_transposed(int64_t m, int64_t n, int64_t k, const double *A, const double *B, double *C)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, A, (int)k, B, (int)k, 0, C, (int)n);
}

#endif
