#include "reduce/cubature/stiffening.h"

#include "core/lapack.h"
#include "core/memory.h"
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
};

void su_stiffness_probe_free(su_stiffness_probe *probe)
{
    if (!probe) return;
    su_cholesky_free(probe->factor);
    su_sparse_free(&probe->K);
    free(probe->mass), free(probe->basis), free(probe->X), free(probe->Y);
    free(probe);
}

static su_status create(su_pose_space *space, int64_t modes, int64_t guard, int turns, su_stiffness_probe **out,
                        su_error *err)
{
    su_stiffness_probe *probe = NULL;
    su_status status;
    int64_t r = space->r, size = 3 * space->elastic.free_count;
    SU_GO(SU_ALLOC(&probe, 1, "stiffness probe", err));
    probe->space = space, probe->size = size, probe->turns = turns;
    probe->modes = modes < r ? modes : r;
    probe->block = probe->modes + guard < r ? probe->modes + guard : r;
    SU_GO(su_sparse_clone_pattern(&space->elastic.pattern, &probe->K, err));
    SU_GO(su_cholesky_create(&probe->K, space->threads, &probe->factor, err));
    SU_GO(SU_ALLOC_ALL("stiffness probe", err, SU_WANT(probe->mass, size), SU_WANT(probe->basis, r * size),
                       SU_WANT(probe->X, r * size), SU_WANT(probe->Y, r * size)));
    for (int64_t i = 0; i < size; i++) probe->mass[i] = space->elastic.mass[space->elastic.free_vertex[i / 3]];
    *out = probe;
    probe = NULL;
done:
    su_stiffness_probe_free(probe);
    return status;
}

su_status su_stiffness_probe_create(su_pose_space *space, int64_t modes, su_stiffness_probe **out, su_error *err)
{
    return create(space, modes, GUARD, TURNS, out, err);
}

su_status su_subspace_probe_create(su_pose_space *space, int64_t modes, su_stiffness_probe **out, su_error *err)
{
    return create(space, modes, space->r, VECTOR_TURNS, out, err);
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

/* Enters a place: Ritz values and vectors of U (r and (r,r), one a row), and of the
 * subspace iterated from them the eigenvalues (block). probe->X then holds the iterated vectors. */
static su_status compare_values(su_stiffness_probe *probe, const su_place *place, double *values, double *vectors,
                                double *exact, su_error *err)
{
    su_pose_space *space = probe->space;
    int64_t r = space->r, size = probe->size, block = probe->block;
    double *turned = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&turned, block * block, "Ritz values", err));
    SU_GO(su_pose_space_enter(space, place, err));
    su_elastic_stiffness(&space->elastic, place->rest, true, &probe->K, space->threads);
    SU_GO(su_cholesky_factorize(probe->factor, &probe->K, err));
    for (int64_t k = 0; k < r; k++)
        su_elastic_gather(&space->elastic, space->U + 3 * k * space->n, probe->basis + k * size);
    SU_GO(su_sparse_multiply_many(&probe->K, r, probe->basis, probe->X, space->threads, err));
    SU_GO(ritz(probe, r, probe->basis, probe->X, values, vectors, err));
    su_multiply(block, size, r, vectors, probe->basis, probe->X); /* the first Ritz vectors */
    for (int turn = 0; turn < probe->turns; turn++) {
        /* Z = K^-1 M X, so that K Z = M X needs no product. */
        times_mass(probe, block, probe->X, probe->Y);
        SU_GO(su_cholesky_solve(probe->factor, block, probe->Y, probe->X, err));
        SU_GO(ritz(probe, block, probe->X, probe->Y, exact, turned, err));
        memcpy(probe->Y, probe->X, (size_t)(block * size) * sizeof *probe->X);
        su_multiply(block, size, block, turned, probe->Y, probe->X);
    }
done:
    free(turned);
    return status;
}

static su_stiffening stiffening_of(int64_t modes, const double *values, const double *exact)
{
    su_stiffening found = {0, 0};
    for (int64_t k = 0; k < modes; k++) {
        double s = values[k] / exact[k] - 1;
        found.mean += s / (double)modes;
        found.largest = fmax(found.largest, s);
    }
    return found;
}

su_status su_stiffness_measure(su_stiffness_probe *probe, const su_place *place, su_stiffening *out, su_error *err)
{
    int64_t r = probe->space->r;
    double *values = NULL, *vectors = NULL, *exact = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("Ritz values", err, SU_WANT(values, r), SU_WANT(exact, r), SU_WANT(vectors, r * r)));
    SU_GO(compare_values(probe, place, values, vectors, exact, err));
    *out = stiffening_of(probe->modes, values, exact);
done:
    free(values), free(vectors), free(exact);
    return status;
}

su_status su_subspace_measure(su_stiffness_probe *probe, const su_place *place, su_subspace_error *out, su_error *err)
{
    int64_t r = probe->space->r, count = probe->modes, size = probe->size;
    double *values = NULL, *vectors = NULL, *exact = NULL, *orthonormal = NULL, *C = NULL, *sines = NULL;
    double left = 0, all = 0;
    su_status status;
    SU_GO(SU_ALLOC_ALL("principal angles", err, SU_WANT(values, r), SU_WANT(exact, r), SU_WANT(vectors, r * r),
                       SU_WANT(orthonormal, r * size), SU_WANT(C, count * r), SU_WANT(sines, 2 * count)));
    SU_GO(compare_values(probe, place, values, vectors, exact, err));
    /* Both are orthonormal in the mass: X, the recomputed modes, and W = V U, the Ritz vectors. X becomes X - X M W' W.
     */
    su_multiply(r, size, r, vectors, probe->basis, orthonormal);
    times_mass(probe, count, probe->X, probe->Y);
    su_multiply_transposed(count, r, size, probe->Y, orthonormal, C);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, (int)size, (int)r, -1, C, (int)r, orthonormal,
                (int)size, 1, probe->X, (int)size);
    for (int64_t k = 0; k < count; k++) {
        double rest = 0;
        for (int64_t i = 0; i < size; i++) {
            rest += probe->mass[i] * probe->X[k * size + i] * probe->X[k * size + i];
            probe->X[k * size + i] *= sqrt(probe->mass[i]);
        }
        left += rest / exact[k], all += 1 / exact[k];
    }
    /* Sines, not cosines: small angles would drown in 1 - cos. */
    int info = LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', (int)count, (int)size, probe->X, (int)size, sines, NULL, 1,
                              NULL, 1, sines + count);
    if (info != 0) {
        status = su_fail(err, su_lapack_status(info, SU_NUMERICS), "the principal angles did not converge");
        goto done;
    }
    *out = (su_subspace_error){.projection = sqrt(left / all)};
    for (int64_t k = 0; k < count; k++) out->angle += asin(fmin(sines[k], 1)) / (double)count;
done:
    free(values), free(vectors), free(exact), free(orthonormal), free(C), free(sines);
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
