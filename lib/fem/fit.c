#include "fem/fit.h"

#include "core/memory.h"
#include "fem/conjugate_gradients.h"
#include "fem/elastic.h"
#include "fem/self_contact.h"
#include "fem/untangle.h"
#include "fem/volume_barrier.h"
#include "geometry/mat3.h"
#include "geometry/rotation_lanes.h"
#include "geometry/vector.h"
#include "linalg/cholesky.h"
#include "linalg/component_factor.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 30, LAST_ITERATIONS = 60, START_ROUNDS = 20 };
#define HOLD                                                                                                           \
    10 /* weight of the held vertices' distance to their bones against that of the skin; at 1 they leave the           \
          bones 2 to 3 times as far, at 100 the fingers of a fist are as stiff as when held exactly */
#define HOLD_SOFTENS 0.0625 /* share of the first gamma below which the hold falls with gamma */
#define STUBBORN 10         /* stiffness of tets that are still closed, over that of the first stage */
#define STEP_END 1e-6       /* Newton has converged when no vertex moves by more than this share of the diagonal, */
#define GAIN_END 3e-3       /* or when a step lowers the objective by less than this share; */
#define LAST_GAIN_END 5e-4  /* the same at the least gamma, where the residual is still too large */

/* The barrier keeps open tets above the volume ratio NEAR. It is felt as soon as a tet shrinks: one that is not felt
 * above 0.35 lets Newton aim far beyond it, so that the first tets that are about to close cut all steps short (half as
 * many steps again), and folds jam (a fist 0.25 % off instead of 0.21). */
#define NEAR 0.105
#define FAR 1.0
/* Over NEAR, from where a tet joins the guarded ones, and stays with them: the barrier is infinite at 1. */
#define JOINS 1.05
#define STAYS (1 + 1e-9)
#define UNTANGLED 0.13 /* least volume ratio that untangling aims at */

/* Added to the diagonal, over its largest entry, until the matrix has a factor; more would be another step. */
#define LEAST_LIFT 1e-12
#define MOST_LIFT 1e-4
/* Newton's systems are solved to this share of the first error, as those of full steps. Coarser ones (0.1) halve the
 * iterations and end stages early: the shapes are other ones then, and an arm that presses itself moves elsewhere. */
#define LINEAR_TOLERANCE 0.01
/* A factor of a matrix's own takes about as long as one iteration for each so many degrees of freedom (12 and 0.4 ms at
 * 12,000 of them; factors of meshes in space take the square of their size). A pose with a system that iterations do
 * not solve in that time has folds: all further ones get factors of their own. */
enum { DOFS_AN_ITERATION = 400 };
/* Of the objective: what it is rounded by must not stop a converged run. */
#define ROUNDING 1e-14

/* From stage to stage gamma falls to where the residual should be met, were it a power of gamma: SLOPE at first, then
 * what the last two stages say. To FALL of what it was at most, to JUMP at least, and never below LEAST of the first.
 */
#define SLOPE 0.25 /* 0.15 to 0.3 between the first two stages of bent limbs */
#define AIM 0.97   /* of the wanted residual */
#define FALL 0.25
#define JUMP (1.0 / 64)
#define LEAST (1.0 / 4096)
/* A skin is given up where that power of gamma would still leave so many times the wanted residual at the least gamma:
 * stages that end by their number of steps leave a few per cent more than the power says. */
#define HOPELESS 1.25

/* Springs between parts of the flesh pull as hard as the skin does on as much surface, FIRST_PENALTY times, and PENALTY
 * times harder each time that something is still too deep (Nocedal and Wright, Numerical Optimization, 17.1). */
static const double FIRST_PENALTY = 1, PENALTY = 4;
enum { MOST_PENALTIES = 8 };

struct su_fit_solver {
    su_fit_problem problem;
    su_elastic elastic; /* modulus gamma/V, so that its energy is the second term of eq. 3 */
    su_sparse K, data;  /* data: Hessian of the skin's term */
    su_component_factor *factor;
    su_cholesky *own;         /* of a system that had to have one; NULL: none so far */
    bool folded;              /* this pose's systems have factors of their own */
    su_self_contact *contact; /* NULL: flesh may pass through itself */
    bool touches;             /* contact is among the terms */
    su_arena arena;           /* of the vectors of conjugate gradients */
    su_cg_work vectors;
    double *young, *poisson; /* (t) */
    double *gradient;        /* (n,3) */
    double *step;            /* (n,3) */
    double *trial;           /* (n,3) */
    double *ratio;           /* (t) det F of the shape looked at */
    double *by_ratio;        /* (t,2) derivatives of the barrier */
    uint8_t *guarded;        /* (t) open tets, which the barrier keeps open */
    su_volume_barrier barrier;
    double *share; /* (held_count) volume around each held vertex over that of the flesh */
    double *home;  /* (held_count,3) where held vertices belong */
    double hold;   /* weight of their distance from there, over D^2, 1/m^2 */
    double volume; /* neutral, m^3 */
};

su_status su_skin_area_weights(int64_t nbar, const double *skin, int64_t triangles, const int32_t *triangle,
                               const uint8_t *skip, double *area, su_error *err)
{
    double sum = 0;
    memset(area, 0, (size_t)nbar * sizeof *area);
    for (int64_t k = 0; k < triangles; k++) {
        const int32_t *v = triangle + 3 * k;
        double ab[3], ac[3], normal[3];
        su_sub3(skin + 3 * (int64_t)v[1], skin + 3 * (int64_t)v[0], ab);
        su_sub3(skin + 3 * (int64_t)v[2], skin + 3 * (int64_t)v[0], ac);
        su_cross3(ab, ac, normal);
        for (int c = 0; c < 3; c++)
            if (!skip || !skip[v[c]]) area[v[c]] += su_norm3(normal) / 6;
    }
    for (int64_t v = 0; v < nbar; v++) sum += area[v];
    if (!(sum > 0)) return su_fail(err, SU_INPUT, "the skin has no area");
    for (int64_t v = 0; v < nbar; v++) area[v] /= sum;
    return SU_OK;
}

int64_t su_fit_firm(int64_t n, int64_t t, const int32_t *tets, int64_t held_count, const int32_t *held,
                    const int32_t *held_bone, int32_t *firm, su_error *err)
{
    enum { FREE = INT32_MIN };
    int32_t *bone = NULL;
    uint8_t *mixed = NULL;
    int64_t count = -1;
    if (SU_ALLOC(&bone, n, "held vertices", err) != SU_OK || SU_ALLOC(&mixed, n, "held vertices", err) != SU_OK)
        goto done;
    for (int64_t v = 0; v < n; v++) bone[v] = FREE;
    for (int64_t k = 0; k < held_count; k++) bone[held[k]] = held_bone ? held_bone[k] : -1;
    for (int64_t e = 0; e < t; e++) {
        const int32_t *tet = tets + 4 * e;
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                if (bone[tet[a]] != FREE && bone[tet[b]] != FREE && bone[tet[a]] != bone[tet[b]]) mixed[tet[a]] = 1;
    }
    count = 0;
    for (int64_t k = 0; k < held_count; k++)
        if (!mixed[held[k]]) firm[count++] = held[k];
done:
    free(bone);
    free(mixed);
    return count;
}

/* Hessian of the data term, 2 a_v/D^2 A_v' A_v, couples corners of one tet only, so it fits the elastic pattern. */
static void assemble_data(su_fit_solver *solver)
{
    const su_fit_problem *p = &solver->problem;
    for (int64_t v = 0; v < p->nbar; v++) {
        double c[16], scale = 2 * p->area[v] / (p->diagonal * p->diagonal);
        if (scale == 0) continue;
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) c[4 * a + b] = scale * p->embed_bary[4 * v + a] * p->embed_bary[4 * v + b];
        su_elastic_add_couplings(&solver->elastic, p->embed_tet[v], c, &solver->data);
    }
}

su_status su_fit_solver_create(const su_fit_problem *problem, su_fit_solver **out, su_error *err)
{
    su_fit_solver *solver = NULL;
    double *density = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&solver, 1, "fit", err));
    solver->problem = *problem;
    SU_GO(SU_ALLOC(&solver->young, problem->t, "fit", err));
    SU_GO(SU_ALLOC(&solver->poisson, problem->t, "fit", err));
    SU_GO(SU_ALLOC(&solver->ratio, problem->t, "fit", err));
    SU_GO(SU_ALLOC(&solver->by_ratio, 2 * problem->t, "fit", err));
    SU_GO(SU_ALLOC(&solver->guarded, problem->t, "fit", err));
    SU_GO(SU_ALLOC(&solver->gradient, 3 * problem->n, "fit", err));
    SU_GO(SU_ALLOC(&solver->trial, 3 * problem->n, "fit", err));
    SU_GO(SU_ALLOC(&solver->share, problem->held_count, "fit", err));
    SU_GO(SU_ALLOC(&solver->home, 3 * problem->held_count, "fit", err));
    SU_GO(SU_ALLOC(&density, problem->t, "fit", err));
    for (int64_t e = 0; e < problem->t; e++) {
        density[e] = 1, solver->young[e] = 1, solver->poisson[e] = problem->poisson;
    }
    SU_GO(su_elastic_create(&solver->elastic,
                            &(su_elastic_body){.mesh = {problem->n, problem->t, problem->vertices, problem->tets},
                                               .material = SU_NEOHOOKEAN,
                                               .young = solver->young,
                                               .poisson = solver->poisson,
                                               .density = density},
                            err));
    for (int64_t e = 0; e < problem->t; e++) solver->volume += solver->elastic.neutral_volume[e];
    for (int64_t k = 0; k < problem->held_count; k++)
        solver->share[k] = solver->elastic.mass[problem->held[k]] / solver->volume; /* density 1 */
    SU_GO(SU_ALLOC(&solver->step, solver->elastic.pattern.size, "fit", err));
    SU_GO(su_sparse_clone_pattern(&solver->elastic.pattern, &solver->K, err));
    SU_GO(su_sparse_clone_pattern(&solver->elastic.pattern, &solver->data, err));
    assemble_data(solver);
    SU_GO(su_component_factor_create(&solver->elastic.pattern, &solver->factor, err));
    if (problem->deepest > 0)
        SU_GO(su_self_contact_create(&solver->elastic, problem->vertices, 1, &solver->contact, err));
    if (!su_cg_take(&solver->vectors, &solver->arena, solver->elastic.pattern.size)) {
        status = su_fail(err, SU_AGAIN, "no memory for a fit of %lld vertices", (long long)problem->n);
        goto done;
    }
    *out = solver;
    solver = NULL;
    status = SU_OK;
done:
    free(density);
    su_fit_solver_free(solver);
    return status;
}

void su_fit_solver_free(su_fit_solver *solver)
{
    if (!solver) return;
    su_component_factor_free(solver->factor), su_cholesky_free(solver->own);
    su_self_contact_free(solver->contact);
    su_arena_free(&solver->arena);
    su_sparse_free(&solver->K);
    su_sparse_free(&solver->data);
    su_elastic_free(&solver->elastic);
    free(solver->young), free(solver->poisson), free(solver->ratio), free(solver->by_ratio), free(solver->guarded);
    free(solver->gradient), free(solver->step), free(solver->trial), free(solver->share), free(solver->home);
    free(solver);
}

/* (A x - skin)_v */
static void skin_error(const su_fit_problem *p, const double *skin, const double *x, int64_t v, double out[3])
{
    const int32_t *tet = p->tets + 4 * (int64_t)p->embed_tet[v];
    for (int i = 0; i < 3; i++) {
        out[i] = -skin[3 * v + i];
        for (int a = 0; a < 4; a++) out[i] += p->embed_bary[4 * v + a] * x[3 * (int64_t)tet[a] + i];
    }
}

static double objective(su_fit_solver *solver, const double *skin, const double *x, int threads)
{
    const su_fit_problem *p = &solver->problem;
    double data = 0, barrier = su_volume_barrier_energy(&solver->barrier, &solver->elastic, x);
    if (!isfinite(barrier)) return INFINITY; /* most trials of a line search end here */
    for (int64_t v = 0; v < p->nbar; v++) {
        double d[3];
        if (p->area[v] == 0) continue;
        skin_error(p, skin, x, v, d);
        data += p->area[v] * su_dot3(d, d);
    }
    double held = 0, contact = solver->touches ? su_self_contact_energy(solver->contact, x) : 0;
    for (int64_t k = 0; k < p->held_count; k++) {
        double d = su_distance3(x + 3 * (int64_t)p->held[k], solver->home + 3 * k);
        held += solver->hold * solver->share[k] * d * d;
    }
    return data / (p->diagonal * p->diagonal) + held + su_elastic_energy(&solver->elastic, x, threads) + barrier +
           contact;
}

/* Adds the gradient of the terms that pull at skin and held vertices. */
static void add_data_gradient(su_fit_solver *solver, const double *skin, const double *x)
{
    const su_fit_problem *p = &solver->problem;
    for (int64_t v = 0; v < p->nbar; v++) {
        double d[3], scale = 2 * p->area[v] / (p->diagonal * p->diagonal);
        if (scale == 0) continue;
        skin_error(p, skin, x, v, d);
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++)
                solver->gradient[3 * (int64_t)p->tets[4 * (int64_t)p->embed_tet[v] + a] + i] +=
                    scale * p->embed_bary[4 * v + a] * d[i];
    }
    for (int64_t k = 0; k < p->held_count; k++)
        for (int i = 0; i < 3; i++) {
            int64_t j = 3 * (int64_t)p->held[k] + i;
            solver->gradient[j] += 2 * solver->hold * solver->share[k] * (x[j] - solver->home[3 * k + i]);
        }
}

/* F of tet e from the neutral shape to x */
static void deformation_gradient(const su_fit_solver *solver, const double *x, int64_t e, double F[9])
{
    const int32_t *tet = solver->problem.tets + 4 * e;
    double edges[9];
    su_tet_edges(x + 3 * (int64_t)tet[0], x + 3 * (int64_t)tet[1], x + 3 * (int64_t)tet[2], x + 3 * (int64_t)tet[3],
                 edges);
    su_mul33(edges, solver->elastic.neutral_inverse + 9 * e, F);
}

/* Volume over neutral volume of each tet. */
static void volume_ratios(const su_fit_solver *solver, const double *x, double *ratio)
{
    for (int64_t e = 0; e < solver->problem.t; e++) {
        double F[9];
        deformation_gradient(solver, x, e, F);
        ratio[e] = su_det3(F);
    }
}

/* Tets that are open now join those that must not collapse any more; untangling may have closed some of these again.
 * Returns how many are not among them. */
static int64_t guard_open(su_fit_solver *solver, const double *x)
{
    int64_t closed = 0;
    volume_ratios(solver, x, solver->ratio);
    for (int64_t e = 0; e < solver->problem.t; e++) {
        solver->guarded[e] = solver->ratio[e] > (solver->guarded[e] ? STAYS : JOINS) * NEAR;
        closed += !solver->guarded[e];
    }
    return closed;
}

/* Weights of one stage. Tets that are still closed stay stiff, or the skin would pull them further in. */
static void soften(su_fit_solver *solver, double gamma)
{
    double hold = HOLD * fmin(1, gamma / (HOLD_SOFTENS * solver->problem.gamma));
    double stubborn = STUBBORN * solver->problem.gamma;
    for (int64_t e = 0; e < solver->problem.t; e++)
        solver->young[e] = (solver->guarded[e] ? gamma : stubborn) / solver->volume;
    su_elastic_set_material(&solver->elastic, solver->young, solver->poisson);
    solver->hold = hold / (solver->problem.diagonal * solver->problem.diagonal);
    solver->barrier =
        (su_volume_barrier){.near = NEAR, .far = FAR, .weight = gamma / solver->volume, .guarded = solver->guarded};
}

/* K += Hessian of the terms that pull at skin and held vertices. */
static void add_data_hessian(su_fit_solver *solver)
{
    su_sparse *K = &solver->K;
    for (int64_t k = 0; k < K->entries; k++) K->value[k] += solver->data.value[k];
    for (int64_t k = 0; k < solver->problem.held_count; k++)
        for (int i = 0; i < 3; i++)
            K->value[K->start[3 * solver->elastic.free_index[solver->problem.held[k]] + i]] +=
                2 * solver->hold * solver->share[k];
}

/* step = minus the gradient on the free vertices */
static void descend(su_fit_solver *solver)
{
    const su_elastic *elastic = &solver->elastic;
    for (int64_t f = 0; f < elastic->free_count; f++)
        for (int i = 0; i < 3; i++) solver->step[3 * f + i] = -solver->gradient[3 * elastic->free_vertex[f] + i];
}

typedef struct preconditioner {
    su_component_factor *factor;
    su_status status;
    su_error *err;
} preconditioner;

static bool precondition(void *context, double *r, double *z)
{
    preconditioner *p = context;
    p->status = su_component_factor_solve(p->factor, r, z, p->err);
    return p->status == SU_OK;
}

/* out = x + length * step; out may be x. */
static void move(const su_fit_solver *solver, const double *x, double length, double *out)
{
    const su_elastic *elastic = &solver->elastic;
    if (out != x) memcpy(out, x, 3 * (size_t)elastic->n * sizeof *out);
    for (int64_t f = 0; f < elastic->free_count; f++)
        for (int i = 0; i < 3; i++) out[3 * (int64_t)elastic->free_vertex[f] + i] += length * solver->step[3 * f + i];
}

/* gradient += scale times the volume of tet e times what its strain (9), F - R, answers at its corners */
static void add_strain_gradient(su_fit_solver *solver, double scale, int64_t e, const double strain[9])
{
    const int32_t *tet = solver->problem.tets + 4 * e;
    double g[12], f[3], weight = scale * solver->elastic.neutral_volume[e];
    su_shape_gradients(solver->elastic.neutral_inverse + 9 * e, g);
    for (int r = 0; r < 4; r++) {
        su_mulv3(strain, g + 3 * r, f);
        for (int i = 0; i < 3; i++) solver->gradient[3 * (int64_t)tet[r] + i] += weight * f[i];
    }
}

/* What no skin ties, a part or a vertex that projected Hessians leave without any stiffness, stays where it is: its
 * system is lifted by a share of the largest of the diagonal. */
static void lift_diagonal(su_sparse *K, double share)
{
    double largest = 0;
    for (int64_t j = 0; j < K->size; j++) largest = fmax(largest, K->value[K->start[j]]);
    for (int64_t j = 0; j < K->size; j++) K->value[K->start[j]] += share * largest;
}

/* As-rigid-as-possible start: the nearest rotation of every tet (local) and one linear solve with a fixed factor
 * (global) in turn. The rotation of an inverted tet is proper, so this opens most of what Shepard's interpolation
 * folds, where Newton on the elastic energy would be caught. */
static su_status lay_out(su_fit_solver *solver, const double *skin, double *x, double scale, su_error *err)
{
    const su_fit_problem *p = &solver->problem;
    const su_elastic *elastic = &solver->elastic;
    memset(solver->K.value, 0, (size_t)solver->K.entries * sizeof(double));
    add_data_hessian(solver);
    for (int64_t e = 0; e < p->t; e++)
        su_elastic_add_laplacian(elastic, e, scale * elastic->neutral_volume[e], &solver->K);
    lift_diagonal(&solver->K, LEAST_LIFT);
    SU_TRY(su_component_factor_set(solver->factor, &solver->K, err)); /* K's own: it is a Laplacian */
    for (int round = 0; round < START_ROUNDS; round++) {
        memset(solver->gradient, 0, 3 * (size_t)p->n * sizeof(double));
        for (int64_t from = 0; from < p->t; from += SU_ROTATION_LANES) {
            int64_t some = p->t - from < SU_ROTATION_LANES ? p->t - from : SU_ROTATION_LANES;
            double F[9 * SU_ROTATION_LANES], R[9 * SU_ROTATION_LANES];
            for (int64_t k = 0; k < some; k++) deformation_gradient(solver, x, from + k, F + 9 * k);
            su_nearest_rotations(some, F, R);
            for (int64_t i = 0; i < 9 * some; i++) F[i] -= R[i];
            for (int64_t k = 0; k < some; k++) add_strain_gradient(solver, scale, from + k, F + 9 * k);
        }
        add_data_gradient(solver, skin, x);
        descend(solver);
        SU_TRY(su_component_factor_solve(solver->factor, solver->step, solver->step, err));
        move(solver, x, 1, x);
    }
    return SU_OK;
}

/* K step = b by conjugate gradients, b in solver->step. *solved: in the time that a factor takes? */
static su_status iterate(su_fit_solver *solver, bool *solved, su_error *err)
{
    preconditioner with = {solver->factor, SU_OK, err};
    su_preconditioner B = {precondition, &with};
    *solved =
        su_conjugate_gradients(&solver->K, NULL, B, &solver->vectors, LINEAR_TOLERANCE,
                               (int)(solver->K.size / DOFS_AN_ITERATION), solver->step, solver->step) == SU_CG_SOLVED;
    return with.status;
}

/* A factor of K, and of what contacts couple at x. */
static su_status factorize(su_fit_solver *solver, const double *x, su_cholesky **factor, su_error *err)
{
    su_couplings couplings;
    *factor = solver->own;
    if (!solver->touches) return su_cholesky_factorize(solver->own, &solver->K, err);
    SU_TRY(su_self_contact_couple(solver->contact, x, true, &couplings, err));
    return su_self_contact_factorize(solver->contact, &solver->K, solver->own, factor, err);
}

/* step = minus the projected Hessian's inverse times the gradient at x */
static su_status newton_direction(su_fit_solver *solver, const double *skin, const double *x, int threads,
                                  su_error *err)
{
    const su_elastic *elastic = &solver->elastic;
    su_elastic_force(elastic, x, solver->gradient, threads);
    add_data_gradient(solver, skin, x);
    su_volume_barrier_add(&solver->barrier, elastic, x, solver->gradient, solver->by_ratio);
    su_elastic_stiffness_with(elastic, solver->by_ratio, x, true, &solver->K, threads);
    add_data_hessian(solver);
    if (solver->touches) su_self_contact_force(solver->contact, x, solver->gradient);
    double lift = LEAST_LIFT;
    lift_diagonal(&solver->K, lift);
    if (!solver->folded && !solver->touches) {
        bool solved = false;
        su_status status = su_component_factor_set(solver->factor, &solver->K, err);
        descend(solver);
        if (status == SU_OK) status = iterate(solver, &solved, err);
        if (solved || (status != SU_OK && status != SU_NUMERICS)) return status;
        solver->folded = true;
    }
    if (!solver->own) SU_TRY(su_cholesky_create(&elastic->pattern, 1, &solver->own, err));
    su_cholesky *factor;
    su_status status;
    while ((status = factorize(solver, x, &factor, err)) == SU_NUMERICS && lift <= MOST_LIFT)
        lift_diagonal(&solver->K, lift *= 1e3);
    SU_TRY(status);
    descend(solver);
    return su_cholesky_solve(factor, 1, solver->step, solver->step, err);
}

/* One step of Newton with a line search, which the barrier's infinity keeps from closing an open tet. value: of the
 * objective, in and out; moved: the longest way of a vertex. 0 where no length lowers the objective, and x stays. */
static su_status newton_step(su_fit_solver *solver, const double *skin, double *x, double *value, double *moved,
                             int threads, su_error *err)
{
    const su_elastic *elastic = &solver->elastic;
    double slope = 0, longest = 0, length = 1;
    *moved = 0;
    SU_TRY(newton_direction(solver, skin, x, threads, err));
    for (int64_t f = 0; f < elastic->free_count; f++) {
        slope += su_dot3(solver->gradient + 3 * (int64_t)elastic->free_vertex[f], solver->step + 3 * f);
        longest = fmax(longest, su_norm3(solver->step + 3 * f));
    }
    for (int halvings = 0; halvings < 30; halvings++, length *= 0.5) {
        move(solver, x, length, solver->trial);
        double next = objective(solver, skin, solver->trial, threads);
        if (next <= *value + SU_SUFFICIENT_DESCENT * length * slope + ROUNDING * fabs(*value)) {
            memcpy(x, solver->trial, 3 * (size_t)elastic->n * sizeof *x);
            *value = next, *moved = length * longest;
            return SU_OK;
        }
    }
    return SU_OK;
}

static su_status minimize(su_fit_solver *solver, const double *skin, double *x, bool last, int *iterations, int threads,
                          const su_progress *progress, su_error *err)
{
    for (int iteration = 0; iteration < (last ? LAST_ITERATIONS : MAX_ITERATIONS); iteration++) {
        double moved;
        int64_t met;
        if (su_progress_stopped(progress)) return su_fail(err, SU_AGAIN, "stopped");
        guard_open(solver, x);
        if (solver->touches) SU_TRY(su_self_contact_meet(solver->contact, x, &met, err));
        double value = objective(solver, skin, x, threads), before = value;
        if (!isfinite(value)) return su_fail(err, SU_NUMERICS, "the start of the fit is not finite");
        SU_TRY(newton_step(solver, skin, x, &value, &moved, threads, err));
        (*iterations)++;
        if (moved < STEP_END * solver->problem.diagonal || before - value < (last ? LAST_GAIN_END : GAIN_END) * before)
            break;
    }
    return SU_OK;
}

static void measure(su_fit_solver *solver, const double *skin, const double *x, su_fit_report *report)
{
    const su_fit_problem *p = &solver->problem;
    double sum = 0;
    report->largest = report->held_off = 0;
    report->collapsed = report->inverted = 0;
    for (int64_t v = 0; v < p->nbar; v++) {
        double d[3];
        if (p->area[v] == 0) continue;
        skin_error(p, skin, x, v, d);
        sum += p->area[v] * su_dot3(d, d);
        report->largest = fmax(report->largest, su_norm3(d) / p->diagonal);
    }
    report->residual = sqrt(sum) / p->diagonal;
    for (int64_t k = 0; k < p->held_count; k++)
        report->held_off =
            fmax(report->held_off, su_distance3(x + 3 * (int64_t)p->held[k], solver->home + 3 * k) / p->diagonal);
    volume_ratios(solver, x, solver->ratio);
    for (int64_t e = 0; e < p->t; e++) {
        report->collapsed += solver->ratio[e] < SU_COLLAPSED;
        report->inverted += !(solver->ratio[e] > 0);
    }
}

static su_status untangle(su_fit_solver *solver, double *x, su_error *err)
{
    return su_untangle(&solver->elastic, UNTANGLED, x, err);
}

/* gamma of the next stage after one that left `residual`; before: gamma and residual of the stage before, 0 where there
 * is none. Residuals fall more slowly from stage to stage, so where the last fall, continued to the least gamma, would
 * not do, none does: a skin that folds is not followed, and further stages would only crumple the flesh behind it. Then
 * 0. */
static double next_gamma(const su_fit_problem *p, double gamma, double residual, const double before[2])
{
    double slope = SLOPE, least = LEAST * p->gamma;
    if (before[0] > 0) {
        slope = log(before[1] / residual) / log(before[0] / gamma);
        if (residual * pow(least / gamma, slope) > HOPELESS * p->residual) return 0;
    }
    double wanted = slope > 0 ? pow(AIM * p->residual / residual, 1 / slope) : 0;
    return fmax(gamma * fmin(fmax(wanted, JUMP), FALL), least);
}

/* k_c (n): as hard as the skin pulls on as much surface, so many times. */
static su_status set_penalty(su_fit_solver *solver, double times, su_error *err)
{
    const su_fit_problem *p = &solver->problem;
    const su_contact_body *body = su_self_contact_body(solver->contact);
    double surface = 0, *k;
    SU_TRY(SU_ALLOC(&k, p->n, "contact", err));
    for (int64_t v = 0; v < p->n; v++) surface += body->area[v];
    for (int64_t v = 0; v < p->n; v++) k[v] = times * 2 / (p->diagonal * p->diagonal * surface);
    su_self_contact_set_stiffness(solver->contact, k);
    free(k);
    return SU_OK;
}

/* Parts that pass through each other, by springs that grow until no contact is too deep. Pairs are found anew at each
 * Newton step and led along in between, as in steps of motion. */
static su_status push_apart(su_fit_solver *solver, const double *skin, double *x, su_fit_report *report, int threads,
                            const su_progress *progress, su_error *err)
{
    const su_fit_problem *p = &solver->problem;
    double times = FIRST_PENALTY;
    for (int k = 0;; k++, times *= PENALTY) {
        su_contact_depths depths;
        SU_TRY(set_penalty(solver, times, err));
        su_self_contact_begin(solver->contact, NULL, NULL);
        SU_TRY(su_self_contact_allow_copies(solver->contact, err));
        SU_TRY(su_self_contact_depths(solver->contact, x, &depths, err));
        report->deepest = depths.deepest / p->diagonal;
        if (report->deepest <= p->deepest || k == MOST_PENALTIES) return SU_OK;
        solver->touches = true;
        su_status status = minimize(solver, skin, x, false, &report->iterations, threads, progress, err);
        solver->touches = false;
        SU_TRY(status);
    }
}

su_status su_fit_pose(su_fit_solver *solver, const double *skin, double *x, su_fit_report *report, int threads,
                      const su_progress *progress, su_error *err)
{
    const su_fit_problem *p = &solver->problem;
    su_fit_report result = {.gamma = p->gamma};
    double before[2] = {0, 0};
    memset(solver->guarded, 0, (size_t)p->t);
    solver->folded = false;
    for (int64_t k = 0; k < p->held_count; k++)
        memcpy(solver->home + 3 * k, x + 3 * (int64_t)p->held[k], 3 * sizeof *x);
    soften(solver, p->gamma);
    SU_TRY(lay_out(solver, skin, x, 10 * p->gamma / solver->volume, err));
    for (;;) {
        if (guard_open(solver, x) > 0) SU_TRY(untangle(solver, x, err));
        guard_open(solver, x);
        soften(solver, result.gamma);
        bool last = result.gamma <= LEAST * p->gamma;
        SU_TRY(minimize(solver, skin, x, last, &result.iterations, threads, progress, err));
        measure(solver, skin, x, &result);
        if (result.residual <= p->residual || p->residual <= 0 || last) break;
        double gamma = next_gamma(p, result.gamma, result.residual, before);
        if (gamma == 0) break;
        before[0] = result.gamma, before[1] = result.residual, result.gamma = gamma;
    }
    if (result.collapsed) {
        SU_TRY(untangle(solver, x, err));
        measure(solver, skin, x, &result);
    }
    if (solver->contact) {
        SU_TRY(push_apart(solver, skin, x, &result, threads, progress, err));
        measure(solver, skin, x, &result);
    }
    if (report) *report = result;
    return SU_OK;
}
