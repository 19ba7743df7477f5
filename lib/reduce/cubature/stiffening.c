#include "reduce/cubature/stiffening.h"

#include "core/lapack.h"
#include "core/memory.h"
#include "geometry/vector.h"
#include "linalg/cholesky.h"
#include "linalg/dense.h"
#include "linalg/eigen.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Subspace iteration on `modes` and as many guard vectors. From a start that is within some per cent, eigenvalue errors
 * fall by (lambda_k / lambda_guard)^2 a turn and those of vectors by the root of that: five turns leave the values far
 * below a tenth of a per cent, the vectors below one. */
enum { TURNS = 5, GUARD = 8 };
/* Where all columns are iterated, so that half of them are guards, vectors are wanted better. */
enum { VECTOR_TURNS = 12 };

struct su_stiffness_probe {
    su_pose_space *space;
    int64_t modes, block, size; /* block: vectors iterated; size: free degrees of freedom */
    int turns;
    su_sparse K;
    su_cholesky *factor;
    double *mass;  /* (size) */
    double *basis; /* (r,size) U on the free degrees of freedom */
    double *X, *Y; /* (r,size) and (block,size) */
    /* of the place that was measured last: Ritz values and vectors of U, one a row, and the iterated eigenvalues */
    double *values, *vectors, *exact; /* (r), (r,r), (block) */
    double *turned;                   /* (block,block) scratch */
    su_arena arena;                   /* owns all arrays */
};

void su_stiffness_probe_free(su_stiffness_probe *probe)
{
    if (!probe) return;
    su_cholesky_free(probe->factor);
    su_sparse_free(&probe->K);
    su_arena_free(&probe->arena);
    free(probe);
}

su_status su_stiffness_probe_create(su_pose_space *space, int64_t modes, bool vectors, su_stiffness_probe **out,
                                    su_error *err)
{
    su_stiffness_probe *probe = NULL;
    su_status status;
    int64_t r = space->r, size = 3 * space->elastic.free_count;
    SU_GO(SU_ALLOC(&probe, 1, "stiffness probe", err));
    probe->space = space, probe->size = size, probe->turns = vectors ? VECTOR_TURNS : TURNS;
    probe->modes = modes < r ? modes : r;
    int64_t block = probe->block = vectors || probe->modes + GUARD > r ? r : probe->modes + GUARD;
    SU_GO(su_sparse_clone_pattern(&space->elastic.pattern, &probe->K, err));
    SU_GO(su_cholesky_create(&probe->K, space->threads, &probe->factor, err));
    SU_GO(SU_TAKE_ALL(&probe->arena, "stiffness probe", err, SU_WANT(probe->mass, size),
                      SU_WANT(probe->basis, r * size), SU_WANT(probe->X, r * size), SU_WANT(probe->Y, r * size),
                      SU_WANT(probe->values, r), SU_WANT(probe->vectors, r * r), SU_WANT(probe->exact, block),
                      SU_WANT(probe->turned, block * block)));
    for (int64_t i = 0; i < size; i++) probe->mass[i] = space->elastic.mass[space->elastic.free_vertex[i / 3]];
    *out = probe;
    probe = NULL;
done:
    su_stiffness_probe_free(probe);
    return status;
}

/* MZ = Z M, `count` rows each */
static void times_mass(const su_stiffness_probe *probe, int64_t count, const double *Z, double *MZ)
{
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < probe->size; i++) MZ[k * probe->size + i] = probe->mass[i] * Z[k * probe->size + i];
}

/* Rayleigh-Ritz of K on the span of `count` rows of Z; KZ: their products with K. values (count) ascending; vectors
 * (count,count): the coefficients of each in a row. */
static su_status ritz(const su_stiffness_probe *probe, int64_t count, const double *Z, const double *KZ, double *values,
                      double *vectors, su_error *err)
{
    double *G = NULL, *scaled = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("Ritz values", err, SU_WANT(G, count * count), SU_WANT(scaled, count * probe->size)));
    times_mass(probe, count, Z, scaled);
    su_multiply_transposed(count, count, probe->size, Z, KZ, vectors);
    su_multiply_transposed(count, count, probe->size, Z, scaled, G);
    status = su_eigen_generalized(count, vectors, G, values, "the interpolated basis has dependent columns", err);
done:
    free(G), free(scaled);
    return status;
}

/* Enters a place: values, vectors and exact of the probe, and in probe->X the vectors iterated from those of U. */
static su_status compare_values(su_stiffness_probe *probe, const su_place *place, su_error *err)
{
    su_pose_space *space = probe->space;
    int64_t r = space->r, size = probe->size, block = probe->block;
    SU_TRY(su_pose_space_enter(space, place, err));
    su_elastic_stiffness(&space->elastic, place->rest, true, &probe->K, space->threads);
    SU_TRY(su_cholesky_factorize(probe->factor, &probe->K, err));
    for (int64_t k = 0; k < r; k++)
        su_elastic_gather(&space->elastic, space->U + 3 * k * space->n, probe->basis + k * size);
    SU_TRY(su_sparse_multiply_many(&probe->K, r, probe->basis, probe->X, space->threads, err));
    SU_TRY(ritz(probe, r, probe->basis, probe->X, probe->values, probe->vectors, err));
    su_multiply(block, size, r, probe->vectors, probe->basis, probe->X); /* the first Ritz vectors */
    for (int turn = 0; turn < probe->turns; turn++) {
        /* Z = K^-1 M X, so that K Z = M X needs no product. */
        times_mass(probe, block, probe->X, probe->Y);
        SU_TRY(su_cholesky_solve(probe->factor, block, probe->Y, probe->X, err));
        SU_TRY(ritz(probe, block, probe->X, probe->Y, probe->exact, probe->turned, err));
        memcpy(probe->Y, probe->X, (size_t)(block * size) * sizeof *probe->X);
        su_multiply(block, size, block, probe->turned, probe->Y, probe->X);
    }
    return SU_OK;
}

su_status su_stiffness_measure(su_stiffness_probe *probe, const su_place *place, su_stiffening *out, su_error *err)
{
    SU_TRY(compare_values(probe, place, err));
    *out = (su_stiffening){0, 0};
    for (int64_t k = 0; k < probe->modes; k++) {
        double s = probe->values[k] / probe->exact[k] - 1;
        out->mean += s / (double)probe->modes;
        out->largest = fmax(out->largest, s);
    }
    return SU_OK;
}

su_status su_subspace_measure(su_stiffness_probe *probe, const su_place *place, su_subspace_error *out, su_error *err)
{
    int64_t r = probe->space->r, count = probe->modes, size = probe->size;
    double *orthonormal = NULL, *C = NULL, *sines = NULL, left = 0, all = 0;
    su_status status;
    SU_GO(SU_ALLOC_ALL("principal angles", err, SU_WANT(orthonormal, r * size), SU_WANT(C, count * r),
                       SU_WANT(sines, 2 * count)));
    SU_GO(compare_values(probe, place, err));
    /* Both are orthonormal in the mass: X, the recomputed modes, and W = V U, the Ritz vectors. X becomes X - X M W' W.
     */
    su_multiply(r, size, r, probe->vectors, probe->basis, orthonormal);
    times_mass(probe, count, probe->X, probe->Y);
    su_multiply_transposed(count, r, size, probe->Y, orthonormal, C);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, (int)size, (int)r, -1, C, (int)r, orthonormal,
                (int)size, 1, probe->X, (int)size);
    for (int64_t k = 0; k < count; k++) {
        double *x = probe->X + k * size;
        left += su_weighted_dot(size, probe->mass, x, x) / probe->exact[k], all += 1 / probe->exact[k];
        for (int64_t i = 0; i < size; i++) x[i] *= sqrt(probe->mass[i]);
    }
    /* Sines, not cosines: small angles would drown in 1 - cos. */
    int info = LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', (int)count, (int)size, probe->X, (int)size, sines, NULL, 1,
                              NULL, 1, sines + count);
    if (info != 0) SU_GO(su_fail(err, su_lapack_status(info, SU_NUMERICS), "the principal angles did not converge"));
    *out = (su_subspace_error){.projection = sqrt(left / all)};
    for (int64_t k = 0; k < count; k++) out->angle += asin(fmin(sines[k], 1)) / (double)count;
done:
    free(orthonormal), free(C), free(sines);
    return status;
}

su_stiffening su_stiffening_above(const su_pose_space *space, const su_place *place, const su_stiffening *measured,
                                  const su_stiffening *at_pose)
{
    su_stiffening base = {0, 0};
    for (int64_t i = 0; i < space->m; i++) {
        base.mean += place->positive[i] * at_pose[i].mean;
        base.largest += place->positive[i] * at_pose[i].largest;
    }
    return (su_stiffening){(1 + measured->mean) / (1 + base.mean) - 1,
                           (1 + measured->largest) / (1 + base.largest) - 1};
}
