#include "fem/turned_solver.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/vector.h"

#include <stdlib.h>
#include <string.h>

struct su_turned_solver {
    const su_elastic *body;
    const su_cholesky_single *neutral;
    su_arena arena;
    double *R;              /* (free,9) R_v */
    double *r, *z, *p, *Ap; /* (3 free) */
    float *work;
};

su_status su_turned_solver_create(const su_elastic *body, const su_cholesky_single *neutral, su_turned_solver **out,
                                  su_error *err)
{
    int64_t dofs = 3 * body->free_count;
    su_turned_solver *s = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "the linear solver", err));
    s->body = body, s->neutral = neutral;
    double **vectors[] = {&s->r, &s->z, &s->p, &s->Ap};
    bool good = (s->R = su_arena_alloc(&s->arena, 3 * dofs, sizeof(double))) &&
                (s->work = su_arena_alloc(&s->arena, 2 * dofs, sizeof(float)));
    for (int k = 0; k < 4; k++) good = (*vectors[k] = su_arena_alloc(&s->arena, dofs, sizeof(double))) && good;
    if (!good) {
        status = su_fail(err, SU_AGAIN, "no memory for %lld degrees of freedom", (long long)dofs);
        goto done;
    }
    *out = s;
    s = NULL;
    status = SU_OK;
done:
    su_turned_solver_free(s);
    return status;
}

void su_turned_solver_free(su_turned_solver *s)
{
    if (!s) return;
    su_arena_free(&s->arena);
    free(s);
}

/* z = R A_0^-1 R' r */
static void precondition(su_turned_solver *s)
{
    for (int64_t f = 0; f < s->body->free_count; f++) su_tmulv3(s->R + 9 * f, s->r + 3 * f, s->z + 3 * f);
    su_cholesky_single_solve(s->neutral, s->z, s->z, s->work);
    for (int64_t f = 0; f < s->body->free_count; f++) {
        double back[3] = {s->z[3 * f], s->z[3 * f + 1], s->z[3 * f + 2]};
        su_mulv3(s->R + 9 * f, back, s->z + 3 * f);
    }
}

bool su_turned_solver_solve(su_turned_solver *s, const su_sparse *A, const double *turn, double tolerance, int most,
                            const double *b, double *x)
{
    int64_t dofs = A->size;
    for (int64_t f = 0; f < s->body->free_count; f++)
        su_quaternion_matrix(turn + 4 * (int64_t)s->body->free_vertex[f], s->R + 9 * f);
    memcpy(s->r, b, (size_t)dofs * sizeof *b);
    memset(x, 0, (size_t)dofs * sizeof *x);
    precondition(s);
    memcpy(s->p, s->z, (size_t)dofs * sizeof *s->p);
    double size = su_dot(dofs, s->r, s->z), aim = tolerance * tolerance * size;
    for (int iteration = 0; iteration < most; iteration++) {
        if (size <= aim) return true;
        su_sparse_multiply(A, s->p, s->Ap);
        double curvature = su_dot(dofs, s->p, s->Ap);
        if (!(curvature > 0)) return false;
        double length = size / curvature;
        for (int64_t i = 0; i < dofs; i++) x[i] += length * s->p[i], s->r[i] -= length * s->Ap[i];
        precondition(s);
        double next = su_dot(dofs, s->r, s->z), share = next / size;
        for (int64_t i = 0; i < dofs; i++) s->p[i] = s->z[i] + share * s->p[i];
        size = next;
    }
    return size <= aim;
}
