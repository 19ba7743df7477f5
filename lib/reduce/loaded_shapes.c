#include "reduce/loaded_shapes.h"

#include "core/memory.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 10, MOST_STEPS = 40 };

/* Minimizes E(x + W y) - b'y over y. */
typedef struct search {
    const su_loaded_problem *problem;
    int64_t size;
    int threads, kept, first;           /* pairs of differences kept, where the oldest stands */
    double *y, *gradient, *step, *load, *trial, *fresh;   /* (size) */
    double *moves, *changes;            /* (KEPT,size) of y, of the gradient */
    double rho[KEPT];
    double *position, *force;           /* (n,3) */
} search;

static su_status search_create(const su_loaded_problem *problem, int threads, search *s, su_error *err)
{
    int64_t n = problem->elastic->n, size = problem->elastic->pattern.size;
    double **vectors[] = {&s->y, &s->gradient, &s->step, &s->load, &s->trial, &s->fresh};
    *s = (search){.problem = problem, .size = size, .threads = threads};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) SU_TRY(SU_ALLOC(vectors[i], size, "loaded shapes", err));
    SU_TRY(SU_ALLOC(&s->moves, KEPT * size, "loaded shapes", err));
    SU_TRY(SU_ALLOC(&s->changes, KEPT * size, "loaded shapes", err));
    SU_TRY(SU_ALLOC(&s->position, 3 * n, "loaded shapes", err));
    return SU_ALLOC(&s->force, 3 * n, "loaded shapes", err);
}

static void search_free(search *s)
{
    free(s->y), free(s->gradient), free(s->step), free(s->load), free(s->trial), free(s->fresh);
    free(s->moves), free(s->changes), free(s->position), free(s->force);
}

/* step = H gradient, H the quasi-Newton inverse by the two-loop recursion. */
static su_status direction(search *s, su_error *err)
{
    int size = (int)s->size;
    double alpha[KEPT];
    memcpy(s->step, s->gradient, (size_t)size * sizeof(double));
    for (int j = s->kept - 1; j >= 0; j--) {
        int at = (s->first + j) % KEPT;
        alpha[at] = s->rho[at] * cblas_ddot(size, s->moves + at * s->size, 1, s->step, 1);
        cblas_daxpy(size, -alpha[at], s->changes + at * s->size, 1, s->step, 1);
    }
    SU_TRY(su_constrained_inverse_apply(s->problem->inverse, 1, s->step, s->step, err));
    for (int j = 0; j < s->kept; j++) {
        int at = (s->first + j) % KEPT;
        double beta = s->rho[at] * cblas_ddot(size, s->changes + at * s->size, 1, s->step, 1);
        cblas_daxpy(size, alpha[at] - beta, s->moves + at * s->size, 1, s->step, 1);
    }
    return SU_OK;
}

/* trial = y - length * step and the positions there; returns the energy. */
static double probe(search *s, double length)
{
    const su_elastic *elastic = s->problem->elastic;
    for (int64_t f = 0; f < elastic->free_count; f++)
        for (int i = 0; i < 3; i++) {
            int64_t dof = 3 * f + i, at = 3 * elastic->free_vertex[f] + i;
            s->trial[dof] = s->y[dof] - length * s->step[dof];
            s->position[at] = s->problem->x[at] + s->problem->weight[dof] * s->trial[dof];
        }
    return su_elastic_energy(elastic, s->position, s->threads) - cblas_ddot((int)s->size, s->load, 1, s->trial, 1);
}

/* The gradient at the trial becomes the current one, the difference a pair of the recursion. */
static void accept(search *s)
{
    const su_elastic *elastic = s->problem->elastic;
    int at = (s->first + s->kept) % KEPT;
    double *move = s->moves + at * s->size, *change = s->changes + at * s->size;
    su_elastic_force(elastic, s->position, s->force, s->threads);
    for (int64_t f = 0; f < elastic->free_count; f++)
        for (int i = 0; i < 3; i++) {
            int64_t dof = 3 * f + i;
            s->fresh[dof] = s->problem->weight[dof] * s->force[3 * elastic->free_vertex[f] + i] - s->load[dof];
        }
    for (int64_t i = 0; i < s->size; i++) {
        move[i] = s->trial[i] - s->y[i], change[i] = s->fresh[i] - s->gradient[i];
        s->y[i] = s->trial[i], s->gradient[i] = s->fresh[i];
    }
    double curvature = cblas_ddot((int)s->size, move, 1, change, 1);
    if (curvature > 0) {
        s->rho[at] = 1 / curvature;
        if (s->kept == KEPT) s->first = (s->first + 1) % KEPT;
        else s->kept++;
    } else {
        s->kept = 0;   /* the recursion needs positive curvature: begin again */
    }
}

static su_status one_shape(search *s, const double *acceleration, double *out, int64_t *applications, su_error *err)
{
    const su_elastic *elastic = s->problem->elastic;
    double energy = 0;
    s->kept = s->first = 0;
    memset(s->y, 0, (size_t)s->size * sizeof *s->y);
    memcpy(s->position, s->problem->x, 3 * (size_t)elastic->n * sizeof *s->position);
    for (int64_t f = 0; f < elastic->free_count; f++)
        for (int i = 0; i < 3; i++) {
            int64_t dof = 3 * f + i;
            s->load[dof] = s->problem->weight[dof] * s->problem->mass[dof] * acceleration[3 * elastic->free_vertex[f] + i];
            s->gradient[dof] = -s->load[dof];
        }
    for (int steps = 0; steps < MOST_STEPS; steps++) {
        double length = 1, slope, next;
        SU_TRY(direction(s, err));
        ++*applications;
        slope = cblas_ddot((int)s->size, s->gradient, 1, s->step, 1);
        if (!(slope > -2e-3 * energy)) break;   /* half of it is what a full step may still win */
        while (!((next = probe(s, length)) <= energy - 1e-4 * length * slope) && length > 1e-3) length *= 0.5;
        if (!(next < energy)) break;
        accept(s);
        energy = next;
    }
    for (int64_t i = 0; i < s->size; i++) out[i] = s->problem->weight[i] * s->y[i];
    return SU_OK;
}

su_status su_loaded_shapes(const su_loaded_problem *problem, int64_t count, const double *accelerations, double *out,
                           int64_t *applications, int threads, const su_progress *progress, su_error *err)
{
    search s;
    su_status status = search_create(problem, threads, &s, err);
    for (int64_t k = 0; k < count && status == SU_OK; k++) {
        if (su_progress_stopped(progress)) status = su_fail(err, SU_AGAIN, "stopped");
        else status = one_shape(&s, accelerations + 3 * k * problem->elastic->n, out + k * s.size, applications, err);
    }
    search_free(&s);
    return status;
}
