#include "fem/turned_solver.h"

#include "core/memory.h"
#include "fem/conjugate_gradients.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <stdlib.h>

struct su_turned_solver {
    const su_elastic *body;
    const su_cholesky_half *factor;
    const double *then; /* (n,4) rotations of the pose that it belongs to; NULL: the neutral one */
    su_arena arena;
    su_complement *complement; /* borrowed; NULL: none */
    su_coarse_space *stiff;    /* NULL: not asked for so far */
    bool stiffened, definite;  /* it belongs to the next system; that is definite there */
    double *rest;              /* (3 free) */
    double *R;                 /* (free,9) R_v, from the factor's pose to that of the system */
    su_cg_work vectors;
    su_cg_end end; /* of the last system */
    float *work;
    int threads;
};

su_status su_turned_solver_create(const su_elastic *body, const su_cholesky_half *neutral, su_sparse_product *product,
                                  int threads, su_turned_solver **out, su_error *err)
{
    int64_t dofs = 3 * body->free_count;
    su_turned_solver *s = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "the linear solver", err));
    s->body = body, s->factor = neutral, s->threads = threads, s->vectors.product = product;
    bool good = (s->R = su_arena_alloc(&s->arena, 3 * dofs, sizeof(double))) &&
                (s->work = su_arena_alloc(&s->arena, su_cholesky_half_room(neutral, threads), sizeof(float))) &&
                (s->rest = su_arena_alloc(&s->arena, dofs, sizeof(double)));
    if (!su_cg_take(&s->vectors, &s->arena, dofs) || !good) {
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
    su_coarse_space_free(s->stiff);
    su_arena_free(&s->arena);
    free(s);
}

void su_turned_solver_precondition(su_turned_solver *s, const su_cholesky_half *factor, const double *then)
{
    s->factor = factor, s->then = then;
}

void su_turned_solver_constrain(su_turned_solver *s, su_complement *complement) { s->complement = complement; }

su_status su_turned_solver_stiffen(su_turned_solver *s, const su_sparse *A, const su_couplings *beside, int64_t count,
                                   const su_coarse_column *columns, su_error *err)
{
    s->stiffened = count > 0;
    if (!s->stiffened) return SU_OK;
    if (!s->stiff) SU_TRY(su_coarse_space_create(&s->body->pattern, &s->stiff, err));
    return su_coarse_space_set(s->stiff, A, beside, count, columns, &s->definite, err);
}

/* z = R A_0^-1 R' r, on both sides projected where there are rows */
static bool precondition(void *context, double *r, double *z)
{
    su_turned_solver *s = context;
    if (s->complement) su_complement_tuned_force(s->complement, r);
    if (s->stiffened) su_coarse_space_before(s->stiff, r, s->rest), r = s->rest;
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1)
    for (int64_t f = 0; f < s->body->free_count; f++) su_tmulv3(s->R + 9 * f, r + 3 * f, z + 3 * f);
    su_cholesky_half_solve(s->factor, s->threads, z, z, s->work);
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1)
    for (int64_t f = 0; f < s->body->free_count; f++) {
        double back[3] = {z[3 * f], z[3 * f + 1], z[3 * f + 2]};
        su_mulv3(s->R + 9 * f, back, z + 3 * f);
    }
    if (s->stiffened) su_coarse_space_after(s->stiff, z);
    if (s->complement) su_complement_tuned_displacement(s->complement, z);
    return true;
}

bool su_turned_solver_solve(su_turned_solver *s, const su_sparse *A, const su_couplings *beside, const double *turn,
                            double tolerance, int most, const double *b, double *x)
{
    for (int64_t f = 0; f < s->body->free_count; f++) {
        int64_t at = 4 * (int64_t)s->body->free_vertex[f];
        double now[9], then[9];
        su_quaternion_matrix(turn + at, s->then ? now : s->R + 9 * f);
        if (!s->then) continue;
        su_quaternion_matrix(s->then + at, then);
        su_mult33(now, then, s->R + 9 * f);
    }
    su_preconditioner B = {precondition, s};
    s->end = SU_CG_INDEFINITE;
    if (!s->stiffened || s->definite) s->end = su_conjugate_gradients(A, beside, B, &s->vectors, tolerance, most, b, x);
    s->stiffened = false;
    if (s->complement) su_complement_displacement(s->complement, x);
    return s->end == SU_CG_SOLVED;
}

bool su_turned_solver_indefinite(const su_turned_solver *s) { return s->end == SU_CG_INDEFINITE; }
