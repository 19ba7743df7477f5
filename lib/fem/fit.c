#include "fem/fit.h"

#include "core/memory.h"
#include "fem/elastic.h"
#include "geometry/mat3.h"
#include "linalg/cholesky.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 100, MAX_ROUNDS = 8 };
#define OPEN 0.1          /* least volume ratio wanted at the end, where convention 8 begins to replace a rest shape */
#define STEP_END 1e-7     /* Newton has converged when no vertex moves by more than this share of the diagonal */

struct su_fit_solver {
    su_fit_problem problem;
    su_elastic elastic;       /* modulus gamma/V, so that its energy is the second term of eq. 3 */
    su_sparse K, data;        /* data: Hessian of the first term */
    su_cholesky *factor;
    double *young, *poisson;  /* (t) */
    double *gradient;         /* (n,3) */
    double *step;             /* (free,3) */
    double *trial, *force;    /* (n,3) */
    double *ratio;            /* (t) det F of the shape looked at */
    uint8_t *mark;            /* (n) */
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
    double *density = NULL, volume = 0;
    su_status status;
    SU_GO(SU_ALLOC(&solver, 1, "fit", err));
    solver->problem = *problem;
    SU_GO(SU_ALLOC(&solver->young, problem->t, "fit", err));
    SU_GO(SU_ALLOC(&solver->poisson, problem->t, "fit", err));
    SU_GO(SU_ALLOC(&solver->ratio, problem->t, "fit", err));
    SU_GO(SU_ALLOC(&solver->mark, problem->n, "fit", err));
    SU_GO(SU_ALLOC(&solver->gradient, 3 * problem->n, "fit", err));
    SU_GO(SU_ALLOC(&solver->trial, 3 * problem->n, "fit", err));
    SU_GO(SU_ALLOC(&solver->force, 3 * problem->n, "fit", err));
    SU_GO(SU_ALLOC(&density, problem->t, "fit", err));
    for (int64_t e = 0; e < problem->t; e++) {
        density[e] = 1, solver->young[e] = 1, solver->poisson[e] = problem->poisson;
    }
    SU_GO(su_elastic_create(&solver->elastic, problem->n, problem->vertices, problem->t, problem->tets,
                            problem->held_count, problem->held, SU_NEOHOOKEAN, solver->young, solver->poisson, density,
                            err));
    for (int64_t e = 0; e < problem->t; e++) volume += solver->elastic.neutral_volume[e];
    for (int64_t e = 0; e < problem->t; e++) solver->young[e] = problem->gamma / volume;
    SU_GO(SU_ALLOC(&solver->step, solver->elastic.pattern.size, "fit", err));
    SU_GO(su_sparse_clone_pattern(&solver->elastic.pattern, &solver->K, err));
    SU_GO(su_sparse_clone_pattern(&solver->elastic.pattern, &solver->data, err));
    assemble_data(solver);
    SU_GO(su_cholesky_create(&solver->elastic.pattern, 1, &solver->factor, err));
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
    su_cholesky_free(solver->factor);
    su_sparse_free(&solver->K);
    su_sparse_free(&solver->data);
    su_elastic_free(&solver->elastic);
    free(solver->young), free(solver->poisson), free(solver->ratio), free(solver->mark);
    free(solver->gradient), free(solver->step), free(solver->trial), free(solver->force);
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
    double data = 0;
    for (int64_t v = 0; v < p->nbar; v++) {
        double d[3];
        if (p->area[v] == 0) continue;
        skin_error(p, skin, x, v, d);
        data += p->area[v] * su_dot3(d, d);
    }
    return data / (p->diagonal * p->diagonal) + su_elastic_energy(&solver->elastic, x, threads);
}

/* Gradient of eq. 3 over all vertices. */
static void gradient(su_fit_solver *solver, const double *skin, const double *x, int threads)
{
    const su_fit_problem *p = &solver->problem;
    su_elastic_force(&solver->elastic, x, solver->gradient, threads);
    for (int64_t v = 0; v < p->nbar; v++) {
        double d[3], scale = 2 * p->area[v] / (p->diagonal * p->diagonal);
        if (scale == 0) continue;
        skin_error(p, skin, x, v, d);
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++)
                solver->gradient[3 * (int64_t)p->tets[4 * (int64_t)p->embed_tet[v] + a] + i] +=
                    scale * p->embed_bary[4 * v + a] * d[i];
    }
}

/* Volume over neutral volume of each tet. */
static void volume_ratios(const su_fit_solver *solver, const double *x, double *ratio)
{
    for (int64_t e = 0; e < solver->problem.t; e++) {
        const int32_t *tet = solver->problem.tets + 4 * e;
        double edges[9];
        su_tet_edges(x + 3 * (int64_t)tet[0], x + 3 * (int64_t)tet[1], x + 3 * (int64_t)tet[2],
                     x + 3 * (int64_t)tet[3], edges);
        ratio[e] = su_det3(edges) / 6 / solver->elastic.neutral_volume[e];
    }
}

/* True where some tet that is open now (solver->ratio) is closed in the trial. */
static bool closes_a_tet(su_fit_solver *solver, const double *trial)
{
    for (int64_t e = 0; e < solver->problem.t; e++) {
        const int32_t *tet = solver->problem.tets + 4 * e;
        double edges[9];
        if (solver->ratio[e] <= 0) continue;
        su_tet_edges(trial + 3 * (int64_t)tet[0], trial + 3 * (int64_t)tet[1], trial + 3 * (int64_t)tet[2],
                     trial + 3 * (int64_t)tet[3], edges);
        if (!(su_det3(edges) > 0)) return true;
    }
    return false;
}

static su_status newton_direction(su_fit_solver *solver, const double *x, int threads, su_error *err)
{
    const su_elastic *elastic = &solver->elastic;
    su_elastic_stiffness(elastic, x, true, &solver->K, threads);
    for (int64_t k = 0; k < solver->K.entries; k++) solver->K.value[k] += solver->data.value[k];
    double largest = 0;
    for (int64_t j = 0; j < solver->K.size; j++) largest = fmax(largest, solver->K.value[solver->K.start[j]]);
    for (double lift = 1e-12; ; lift *= 1e3) {   /* projected Hessians may leave a vertex without any stiffness */
        for (int64_t j = 0; j < solver->K.size; j++) solver->K.value[solver->K.start[j]] += lift * largest;
        su_status status = su_cholesky_factorize(solver->factor, &solver->K, err);
        if (status == SU_OK) break;
        if (status != SU_NUMERICS || lift > 1e-4) return status;
    }
    for (int64_t f = 0; f < elastic->free_count; f++)
        for (int i = 0; i < 3; i++) solver->step[3 * f + i] = -solver->gradient[3 * elastic->free_vertex[f] + i];
    return su_cholesky_solve(solver->factor, 1, solver->step, solver->step, err);
}

/* One Newton run at the stiffness now set. */
static su_status minimize(su_fit_solver *solver, const double *skin, double *x, int *iterations, int threads,
                          const su_progress *progress, su_error *err)
{
    const su_elastic *elastic = &solver->elastic;
    size_t bytes = 3 * (size_t)solver->problem.n * sizeof *x;
    double value = objective(solver, skin, x, threads);
    if (!isfinite(value)) return su_fail(err, SU_NUMERICS, "the start of the fit is not finite");
    for (int iteration = 0; iteration < MAX_ITERATIONS; iteration++) {
        if (su_progress_stopped(progress)) return su_fail(err, SU_AGAIN, "stopped");
        gradient(solver, skin, x, threads);
        SU_TRY(newton_direction(solver, x, threads, err));
        (*iterations)++;
        double slope = 0, longest = 0, length = 1;
        for (int64_t f = 0; f < elastic->free_count; f++) {
            slope += su_dot3(solver->gradient + 3 * (int64_t)elastic->free_vertex[f], solver->step + 3 * f);
            longest = fmax(longest, su_norm3(solver->step + 3 * f));
        }
        volume_ratios(solver, x, solver->ratio);
        bool accepted = false;
        for (int halvings = 0; halvings < 30 && !accepted; halvings++, length *= 0.5) {
            memcpy(solver->trial, x, bytes);
            for (int64_t f = 0; f < elastic->free_count; f++)
                for (int i = 0; i < 3; i++)
                    solver->trial[3 * (int64_t)elastic->free_vertex[f] + i] += length * solver->step[3 * f + i];
            double next = objective(solver, skin, solver->trial, threads);
            /* the last term: rounding of the objective must not stop a converged run */
            if (!(next <= value + 1e-4 * length * slope + 1e-14 * fabs(value))) continue;
            if (closes_a_tet(solver, solver->trial)) continue;
            memcpy(x, solver->trial, bytes);
            value = next;
            accepted = true;
        }
        if (!accepted || longest * length < STEP_END * solver->problem.diagonal) break;
    }
    return SU_OK;
}

static bool movable(const su_fit_solver *solver, int64_t e)
{
    for (int a = 0; a < 4; a++)
        if (solver->elastic.free_index[solver->problem.tets[4 * e + a]] >= 0) return true;
    return false;
}

/* Marks the corners of movable tets below `limit`, and `rings` rings of vertices around them; returns how many tets. */
static int64_t mark_bad(su_fit_solver *solver, double limit, int rings, uint8_t *mark)
{
    const su_fit_problem *p = &solver->problem;
    int64_t count = 0;
    memset(mark, 0, (size_t)p->n);
    for (int64_t e = 0; e < p->t; e++) {
        if (solver->ratio[e] >= limit || !movable(solver, e)) continue;
        count++;
        for (int a = 0; a < 4; a++) mark[p->tets[4 * e + a]] = 1;
    }
    for (int ring = 1; ring <= rings && count; ring++)
        for (int64_t e = 0; e < p->t; e++) {
            const int32_t *tet = p->tets + 4 * e;
            bool touched = false;
            for (int a = 0; a < 4; a++) touched |= mark[tet[a]] && mark[tet[a]] <= ring;
            for (int a = 0; a < 4 && touched; a++)
                if (!mark[tet[a]]) mark[tet[a]] = (uint8_t)(ring + 1);
        }
    return count;
}

/* Makes the tets at marked vertices ten times stiffer. */
static void stiffen(su_fit_solver *solver, const uint8_t *mark)
{
    for (int64_t e = 0; e < solver->problem.t; e++) {
        const int32_t *tet = solver->problem.tets + 4 * e;
        if (mark[tet[0]] | mark[tet[1]] | mark[tet[2]] | mark[tet[3]]) solver->young[e] *= 10;
    }
    su_elastic_set_material(&solver->elastic, solver->young, solver->poisson);
}

/* Where tets stay inverted the energy is caught in a fold. Marked vertices are laid out anew: harmonic coordinates
 * (finite-element Laplacian of the neutral shape, exact for affine maps) between the others and the skin. */
static su_status lay_out(su_fit_solver *solver, const double *skin, const uint8_t *mark, double *x, su_error *err)
{
    const su_fit_problem *p = &solver->problem;
    const su_elastic *elastic = &solver->elastic;
    double volume = 0, largest = 0;
    memcpy(solver->K.value, solver->data.value, (size_t)solver->K.entries * sizeof(double));
    memset(solver->gradient, 0, 3 * (size_t)p->n * sizeof(double));
    for (int64_t e = 0; e < p->t; e++) volume += elastic->neutral_volume[e];
    for (int64_t e = 0; e < p->t; e++) {
        const double *b = elastic->neutral_inverse + 9 * e;
        const int32_t *tet = p->tets + 4 * e;
        double g[12], c[16], scale = p->gamma / volume * elastic->neutral_volume[e];
        for (int i = 0; i < 3; i++) g[i] = -(b[i] + b[3 + i] + b[6 + i]);
        memcpy(g + 3, b, 9 * sizeof *b);
        for (int r = 0; r < 4; r++)
            for (int s = 0; s < 4; s++) {
                c[4 * r + s] = scale * su_dot3(g + 3 * r, g + 3 * s);
                for (int i = 0; i < 3; i++)   /* gradient of the Dirichlet energy at x */
                    solver->gradient[3 * (int64_t)tet[r] + i] += c[4 * r + s] * x[3 * (int64_t)tet[s] + i];
            }
        su_elastic_add_couplings(elastic, e, c, &solver->K);
    }
    for (int64_t v = 0; v < p->nbar; v++) {
        double d[3], scale = 2 * p->area[v] / (p->diagonal * p->diagonal);
        if (scale == 0) continue;
        skin_error(p, skin, x, v, d);
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++)
                solver->gradient[3 * (int64_t)p->tets[4 * (int64_t)p->embed_tet[v] + a] + i] +=
                    scale * p->embed_bary[4 * v + a] * d[i];
    }
    for (int64_t j = 0; j < solver->K.size; j++) largest = fmax(largest, solver->K.value[solver->K.start[j]]);
    for (int64_t f = 0; f < elastic->free_count; f++) {
        bool stays = !mark[elastic->free_vertex[f]];
        for (int i = 0; i < 3; i++) {
            if (stays) solver->K.value[solver->K.start[3 * f + i]] += 1e8 * largest;
            solver->step[3 * f + i] = stays ? 0 : -solver->gradient[3 * (int64_t)elastic->free_vertex[f] + i];
        }
    }
    SU_TRY(su_cholesky_factorize(solver->factor, &solver->K, err));
    SU_TRY(su_cholesky_solve(solver->factor, 1, solver->step, solver->step, err));
    for (int64_t f = 0; f < elastic->free_count; f++)
        for (int i = 0; i < 3; i++) x[3 * (int64_t)elastic->free_vertex[f] + i] += solver->step[3 * f + i];
    return SU_OK;
}

static void measure(su_fit_solver *solver, const double *skin, const double *x, su_fit_report *report)
{
    const su_fit_problem *p = &solver->problem;
    double sum = 0;
    for (int64_t v = 0; v < p->nbar; v++) {
        double d[3];
        if (p->area[v] == 0) continue;
        skin_error(p, skin, x, v, d);
        sum += p->area[v] * su_dot3(d, d);
        report->largest = fmax(report->largest, su_norm3(d) / p->diagonal);
    }
    report->residual = sqrt(sum) / p->diagonal;
    volume_ratios(solver, x, solver->ratio);
    for (int64_t e = 0; e < p->t; e++) {
        report->collapsed += solver->ratio[e] < OPEN;
        report->inverted += !(solver->ratio[e] > 0);
        report->held_tets += solver->ratio[e] < OPEN && !movable(solver, e);
    }
}

su_status su_fit_pose(su_fit_solver *solver, const double *skin, double *x, su_fit_report *report, int threads,
                      const su_progress *progress, su_error *err)
{
    double base = solver->problem.gamma;
    su_fit_report result = {0};
    double volume = 0;
    for (int64_t e = 0; e < solver->problem.t; e++) volume += solver->elastic.neutral_volume[e];
    for (int64_t e = 0; e < solver->problem.t; e++) solver->young[e] = base / volume;
    su_elastic_set_material(&solver->elastic, solver->young, solver->poisson);
    for (result.rounds = 1;; result.rounds++) {
        SU_TRY(minimize(solver, skin, x, &result.iterations, threads, progress, err));
        volume_ratios(solver, x, solver->ratio);
        if (result.rounds == MAX_ROUNDS || mark_bad(solver, OPEN, 0, solver->mark) == 0) break;
        int rings = result.rounds;
        bool folded = mark_bad(solver, 0, rings, solver->mark) > 0;
        if (folded) SU_TRY(lay_out(solver, skin, solver->mark, x, err));
        if (folded && rings < 3) continue;   /* a new start may be enough */
        mark_bad(solver, OPEN, 0, solver->mark);
        stiffen(solver, solver->mark);
    }
    measure(solver, skin, x, &result);
    if (report) *report = result;
    return SU_OK;
}
