#include "fem/conjugate_gradients.h"

#include "geometry/vector.h"

#include <string.h>

bool su_cg_take(su_cg_work *work, su_arena *arena, int64_t size)
{
    double **vectors[] = {&work->r, &work->z, &work->p, &work->Ap};
    bool good = true;
    for (int k = 0; k < 4; k++) good = (*vectors[k] = su_arena_alloc(arena, size, sizeof(double))) && good;
    return good;
}

su_cg_end su_conjugate_gradients(const su_sparse *A, const su_couplings *beside, su_preconditioner B,
                                 const su_cg_work *work, double tolerance, int most, const double *b, double *x)
{
    int64_t size = A->size;
    double *r = work->r, *z = work->z, *p = work->p, *Ap = work->Ap;
    memcpy(r, b, (size_t)size * sizeof *b);
    memset(x, 0, (size_t)size * sizeof *x);
    if (!B.apply(B.context, r, z)) return SU_CG_UNSOLVED;
    memcpy(p, z, (size_t)size * sizeof *p);
    double error = su_dot(size, r, z), aim = tolerance * tolerance * error;
    for (int iteration = 0; iteration < most; iteration++) {
        if (error <= aim) return SU_CG_SOLVED;
        if (work->product)
            su_sparse_product_multiply(work->product, A, p, Ap);
        else
            su_sparse_multiply(A, p, Ap);
        if (beside) su_couplings_add_product(beside, p, Ap);
        double curvature = su_dot(size, p, Ap);
        if (!(curvature > 0)) return SU_CG_INDEFINITE;
        double length = error / curvature;
        for (int64_t i = 0; i < size; i++) x[i] += length * p[i], r[i] -= length * Ap[i];
        if (!B.apply(B.context, r, z)) return SU_CG_UNSOLVED;
        double next = su_dot(size, r, z), share = next / error;
        for (int64_t i = 0; i < size; i++) p[i] = z[i] + share * p[i];
        error = next;
    }
    return error <= aim ? SU_CG_SOLVED : SU_CG_UNSOLVED;
}
