#include "reduce/cubature/reduced_stiffness.h"

#include "core/memory.h"
#include "linalg/eigen.h"
#include "reduce/align/align.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 48 }; /* columns of a product at once */

static su_status stiffness_at(su_pose_space *space, const double *y, double *out, su_error *err)
{
    int64_t r = space->r, n = space->n, size = 3 * space->elastic.free_count;
    su_sparse K = {0};
    double *columns = NULL, *products = NULL;
    su_status status;
    SU_GO(su_sparse_clone_pattern(&space->elastic.pattern, &K, err));
    SU_GO(SU_ALLOC_ALL("reduced stiffness", err, SU_WANT(columns, r * size), SU_WANT(products, r * size)));
    su_elastic_stiffness(&space->elastic, y, true, &K, space->threads);
    for (int64_t k = 0; k < r; k++) su_elastic_gather(&space->elastic, space->U + 3 * k * n, columns + k * size);
    SU_GO(su_sparse_multiply_many(&K, r, columns, products, space->threads, err));
    for (int64_t j = 0; j < r; j += TOGETHER) { /* columns down to the diagonal: it is symmetric */
        int64_t some = r - j < TOGETHER ? r - j : TOGETHER;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(j + some), (int)some, (int)size, 1, columns,
                    (int)size, products + j * size, (int)size, 0, out + j, (int)r);
    }
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < i; j++) out[i * r + j] = out[j * r + i];
done:
    free(columns), free(products);
    su_sparse_free(&K);
    return status;
}

/* Eigenpairs of (V, U'MU), V overwritten. */
static su_status pairs_with_mass(const su_pose_space *space, double *V, double *l, su_error *err)
{
    const double *U = space->U;
    int64_t r = space->r;
    if (space->basis->f > 0) return su_eigen_symmetric(r, V, l, err); /* of motion: U'MU = 1 however it is turned */
    double *G;
    SU_TRY(SU_ALLOC(&G, r * r, "sample states", err));
    su_status status = su_mass_product(r, space->n, space->elastic.mass, U, U, G, space->threads, err);
    if (status == SU_OK) status = su_eigen_generalized(r, V, G, l, "the basis has dependent columns", err);
    free(G);
    return status;
}

su_status su_ritz_pairs(su_pose_space *space, const double *y, double *V, double *l, su_error *err)
{
    SU_TRY(stiffness_at(space, y, V, err));
    SU_TRY(pairs_with_mass(space, V, l, err));
    for (int64_t k = 0; k < space->r; k++) su_eigen_fix_sign(space->r, V + k * space->r);
    return SU_OK;
}

su_status su_neutral_stiffness(su_pose_space *space, double *stiffness, su_error *err)
{
    SU_TRY(su_pose_space_enter_neutral(space, err));
    return stiffness_at(space, space->fit->shapes, stiffness, err);
}

/* B (9,r): what each mode makes of the deformation gradient of tet e; P (9,r): the stress that answers it, times the
 * volume. */
static void strain_and_stress(const su_pose_space *space, int64_t e, double weight, double *B, double *P)
{
    const su_elastic *elastic = &space->elastic;
    int64_t r = space->r, n = space->n;
    double mu = weight * elastic->volume[e] * elastic->mu[e], lambda = weight * elastic->volume[e] * elastic->lambda[e];
    for (int64_t k = 0; k < r; k++) {
        double G[9], stress[9];
        su_displacement_gradient(elastic, space->U + 3 * k * n, e, G);
        su_linear_stress(mu, lambda, G, stress);
        for (int i = 0; i < 9; i++) B[i * r + k] = G[i], P[i * r + k] = stress[i];
    }
}

su_status su_tets_stiffness(su_pose_space *space, int64_t count, const int32_t *tets, const double *weights,
                            double *stiffness, su_error *err)
{
    int64_t r = space->r;
    double *B, *P;
    SU_TRY(su_pose_space_enter_neutral(space, err));
    SU_TRY(SU_ALLOC(&B, 18 * r, "stiffness of tets", err));
    P = B + 9 * r;
    memset(stiffness, 0, (size_t)(r * r) * sizeof *stiffness);
    for (int64_t k = 0; k < count; k++) {
        strain_and_stress(space, tets[k], weights[k], B, P);
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)r, (int)r, 9, 1, B, (int)r, P, (int)r, 1, stiffness,
                    (int)r);
    }
    free(B);
    return SU_OK;
}

su_status su_displacement_norm(su_pose_space *space, double share, double *C, su_error *err)
{
    int64_t r = space->r, n = space->n;
    double *weight, mean = 0;
    su_status status;
    SU_TRY(su_pose_space_enter_neutral(space, err));
    SU_TRY(SU_ALLOC(&weight, n, "basis", err));
    const su_elastic *elastic = &space->elastic;
    for (int64_t f = 0; f < elastic->free_count; f++)
        mean += elastic->mass[elastic->free_vertex[f]] / (double)elastic->free_count;
    for (int64_t v = 0; v < n; v++) weight[v] = (1 - share) * elastic->mass[v] + share * mean;
    SU_GO(su_mass_product(r, n, weight, space->U, space->U, C, space->threads, err));
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (lapack_int)r, C, (lapack_int)r) != 0)
        SU_GO(su_fail(err, SU_NUMERICS, "the basis has dependent columns"));
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = i + 1; j < r; j++) C[i * r + j] = 0;
done:
    free(weight);
    return status;
}
