#include "reduce/modes/modes.h"

#include "core/memory.h"
#include "core/threads.h"
#include "geometry/vector.h"
#include "linalg/dense.h"
#include "linalg/principal.h"
#include "reduce/modes/derivatives.h"
#include "reduce/modes/rigid_motions.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Derivatives shorter than this part of the longest one are rounding: their squares in the Gram matrix, from which
 * directions come, drown. */
#define SHORTEST_DERIVATIVE 3e-7
/* Other shapes are worth a mode from this part of the longest on: what is shorter moves no flesh that one sees. */
#define SHORTEST 1e-3
/* Squared, what a rigid motion may do to constraints, row by row, over its own largest entry, to count as free. */
#define LEFT_FREE 1e-12
/* Shift that makes a free body's matrix regular, over the stiffest dof's K/M. */
#define SHIFT 1e-10
#define SHIFT_HELD_BY_ROWS 1e-8

/* K on the free dofs, its factor and inverse, the masses, for one problem. */
typedef struct solver {
    const su_mode_problem *problem;
    int64_t size;
    su_sparse K;
    su_cholesky *factor; /* of K, or of Z'KZ */
    su_constrained_inverse inverse;
    double shift, shift_share; /* of the stiffest dof's K/M */
    double *mass;              /* (size) lumped */
    double *weight;            /* (size) W' */
    double *effective;         /* (size) W' M W' of eq. 32 */
    su_mode_report report;
} solver;

int64_t su_modes_least_linear(int64_t r, int64_t linear)
{
    while (linear + linear * (linear + 1) / 2 < r) linear++;
    return linear < r ? linear : r;
}

/* ---- set-up ---- */

/* Rows of C W on the free dofs. */
static su_status constraint_rows(const solver *s, su_constraint_rows *C, su_error *err)
{
    const su_contact_rows *contact = s->problem->contact;
    int64_t entries = contact->offsets[contact->rows], write = 0;
    su_status status;
    memset(C, 0, sizeof *C);
    SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(C->start, contact->rows + 1), SU_WANT(C->column, 3 * entries),
                       SU_WANT(C->value, 3 * entries)));
    for (int64_t r = 0; r < contact->rows; r++) {
        int64_t before = write;
        for (int64_t k = contact->offsets[r]; k < contact->offsets[r + 1]; k++) {
            int64_t f = s->problem->elastic->free_index[contact->vertices[k]];
            for (int i = 0; i < 3 && f >= 0; i++) {
                double value = contact->coefficients[3 * k + i] * s->weight[3 * f + i];
                if (value == 0) continue;
                C->column[write] = 3 * f + i, C->value[write++] = value;
            }
        }
        if (write > before) C->start[++C->rows] = write;
    }
done:
    if (status != SU_OK) su_constraint_rows_free(C);
    return status;
}

/* Of the rigid motions (count,size), orthonormal in the mass, those that the constraints leave: combinations with C r =
 * 0, in place. */
static su_status unconstrained(const solver *s, const su_constraint_rows *C, int64_t *count, double *rigid,
                               su_error *err)
{
    int64_t k = *count, rows = C->rows, size = s->size, left = 0;
    double *product = NULL, *gram = NULL, *values = NULL, *combined = NULL, largest = 0;
    su_status status;
    SU_GO(SU_ALLOC_ALL("rigid motions", err, SU_WANT(product, k * rows), SU_WANT(gram, k * k), SU_WANT(values, k)));
    for (int64_t i = 0; i < k; i++) su_constraint_multiply(C, rigid + i * size, product + i * rows);
    for (int64_t i = 0; i < k * size; i++) largest = fmax(largest, fabs(rigid[i]));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)k, (int)rows, 1, product, (int)rows, 0, gram, (int)k);
    SU_GO(su_eigen_symmetric(k, gram, values, err));
    while (left < k && values[left] < LEFT_FREE * (double)rows * largest * largest) left++;
    SU_GO(SU_ALLOC(&combined, left * size + 1, "rigid motions", err));
    su_multiply(left, size, k, gram, rigid, combined);
    memcpy(rigid, combined, (size_t)(left * size) * sizeof *rigid);
    *count = left;
done:
    free(product), free(gram), free(values), free(combined);
    return status;
}

/* The factor of a matrix of K's pattern, or of Z' matrix Z. */
static su_status factorize_reduced(solver *s, const su_elimination *Z, const su_sparse *matrix, int threads,
                                   su_error *err)
{
    su_sparse reduced = {0};
    if (Z->start) SU_TRY(su_elimination_reduce(Z, matrix, &reduced, err));
    const su_sparse *use = Z->start ? &reduced : matrix;
    su_status status = s->factor ? SU_OK : su_cholesky_create(use, threads, &s->factor, err);
    if (status == SU_OK) status = su_cholesky_factorize(s->factor, use, err);
    su_sparse_free(&reduced);
    return status;
}

static su_status factorize(solver *s, const su_elimination *Z, int threads, su_error *err)
{
    const su_mode_problem *problem = s->problem;
    su_sparse shifted = s->K;
    su_status status = SU_OK;
    for (int project = 0; project < 2; project++) {
        su_elastic_stiffness(problem->elastic, problem->x, project, &s->K, threads);
        if (s->shift > 0) {
            double largest = 0;
            for (int64_t i = 0; i < s->size; i++) largest = fmax(largest, s->K.value[s->K.start[i]] / s->effective[i]);
            s->shift = s->shift_share * largest; /* only rigid motions feel it, and those are projected out */
            for (int64_t i = 0; i < s->size; i++) shifted.value[s->K.start[i]] += s->shift * s->effective[i];
        }
        status = factorize_reduced(s, Z, &shifted, threads, err);
        for (int64_t i = 0; i < s->size && s->shift > 0; i++) s->K.value[s->K.start[i]] -= s->shift * s->effective[i];
        s->report.projected = project;
        if (status != SU_NUMERICS) return status;
    }
    return status;
}

static su_status solver_create(solver *s, const su_mode_problem *problem, int threads, su_error *err)
{
    const su_elastic *elastic = problem->elastic;
    double started = su_seconds();
    memset(s, 0, sizeof *s);
    s->problem = problem, s->size = elastic->pattern.size;
    su_constrained_inverse *inverse = &s->inverse;
    SU_TRY(SU_ALLOC_ALL("masses", err, SU_WANT(s->mass, s->size), SU_WANT(s->weight, s->size),
                        SU_WANT(s->effective, s->size)));
    for (int64_t f = 0; f < elastic->free_count; f++)
        for (int i = 0; i < 3; i++) {
            int64_t v = elastic->free_vertex[f], dof = 3 * f + i;
            s->mass[dof] = elastic->mass[v], s->weight[dof] = problem->weights ? problem->weights[v] : 1;
            s->effective[dof] = s->weight[dof] * s->mass[dof] * s->weight[dof];
            if (!(s->effective[dof] > 0))
                return su_fail(err, SU_INPUT, "flesh vertex %lld has no weight in its region", (long long)v);
        }
    SU_TRY(su_rigid_motions(elastic, problem->x, s->effective, &inverse->rigid_count, &inverse->rigid, err));
    int64_t all = inverse->rigid_count;
    s->shift = all > 0;
    SU_TRY(su_sparse_clone_pattern(&elastic->pattern, &s->K, err));
    if (problem->contact && problem->contact->rows) SU_TRY(constraint_rows(s, &inverse->C, err));
    if (all && inverse->C.rows) SU_TRY(unconstrained(s, &inverse->C, &inverse->rigid_count, inverse->rigid, err));
    /* Rigid motions that rows alone hold are in Q by the shift's inverse: more of it leaves digits for the others. */
    s->shift_share = inverse->rigid_count < all ? SHIFT_HELD_BY_ROWS : SHIFT;
    if (inverse->C.rows) {
        SU_TRY(su_elimination_create(elastic->free_count, &inverse->C, &inverse->Z, err));
        if (inverse->Z.kept == inverse->Z.vertices) su_elimination_free(&inverse->Z);
    }
    SU_TRY(factorize(s, &inverse->Z, threads, err));
    inverse->size = s->size, inverse->factor = s->factor;
    su_status status = su_constrained_inverse_prepare(inverse, s->effective, err);
    s->report.rigid = inverse->rigid_count, s->report.constraints = inverse->constraints;
    s->report.seconds_factor = su_seconds() - started;
    return status;
}

static void solver_free(solver *s)
{
    su_constrained_inverse_free(&s->inverse);
    su_cholesky_free(s->factor);
    su_sparse_free(&s->K);
    free(s->mass), free(s->weight), free(s->effective);
}

/* ---- modes ---- */

/* out (size) = K y - lambda W M W y; returns |K y|. */
static double residual_of(const solver *s, double value, const double *y, double *out)
{
    su_sparse_multiply(&s->K, y, out);
    double norm = su_norm(s->size, out);
    for (int64_t i = 0; i < s->size; i++) out[i] -= value * s->effective[i] * y[i];
    return norm;
}

static su_status largest_residual(solver *s, int64_t count, const double *values, const double *y, su_error *err)
{
    double *residual;
    su_status status = SU_OK;
    SU_TRY(SU_ALLOC(&residual, s->size, "residuals", err));
    for (int64_t k = 0; k < count; k++) {
        double scale = residual_of(s, values[k], y + k * s->size, residual), norm = 0;
        SU_GO(su_constrained_residual(&s->inverse, residual, &norm, err));
        if (values[k] > 0) s->report.residual = fmax(s->report.residual, norm / scale);
    }
done:
    free(residual);
    return status;
}

/* y <- y - K_c^-1 (K y - lambda W M W y): one step of inverse iteration, written as a correction. Rounding of the
 * Krylov vectors leaves traces of stiff motion in y, of the size of the machine's epsilon, which K magnifies by the
 * ratio of the stiffest to the softest eigenvalue (1e8 in slender bodies); how much depends on the kernels that the
 * BLAS picks. The correction takes them out up to the rounding of y itself. */
static su_status refine(solver *s, int64_t count, const double *values, double *y, su_error *err)
{
    int64_t size = s->size;
    double *residual;
    if (s->shift > 0) return SU_OK; /* the inverse is that of K + shift M then */
    SU_TRY(SU_ALLOC(&residual, size, "residuals", err));
    su_status status = SU_OK;
    for (int64_t k = 0; k < count && status == SU_OK; k++) {
        residual_of(s, values[k], y + k * size, residual);
        status = su_constrained_inverse_apply(&s->inverse, 1, residual, residual, err);
        for (int64_t i = 0; i < size; i++) y[k * size + i] -= residual[i];
    }
    free(residual);
    return status;
}

/* psi_ij = W z_ij, K_c z_ij = -(H : phi_i) y_j (eq. 35), all i <= j, each scaled by lambda_1^2/(l_i l_j). */
static su_status derivatives(solver *s, int64_t linear, const double *values, const double *phi, const double *y,
                             double *psi, int threads, su_error *err)
{
    int64_t size = s->size, pairs = linear * (linear + 1) / 2, p = 0;
    int32_t *pair;
    su_status status;
    SU_TRY(SU_ALLOC(&pair, 2 * pairs, "modal derivatives", err));
    for (int64_t i = 0; i < linear; i++)
        for (int64_t j = i; j < linear; j++, p++) pair[2 * p] = (int32_t)i, pair[2 * p + 1] = (int32_t)j;
    const su_mode_pairs of = {linear, phi, y, pairs, pair};
    SU_GO(su_stiffness_derivatives(s->problem->elastic, s->problem->x, &of, psi, threads, err));
    for (int64_t from = 0; from < pairs; from += 32) { /* blocks, so that the work space of the solver stays small */
        if (su_progress_stopped(s->problem->progress)) SU_GO(su_fail(err, SU_AGAIN, "stopped"));
        int64_t columns = pairs - from < 32 ? pairs - from : 32;
        SU_GO(su_constrained_inverse_apply(&s->inverse, columns, psi + from * size, psi + from * size, err));
    }
    s->report.applications += pairs;
    double first = 0; /* rigid motions that are kept have eigenvalue 0: scaled by the first elastic one */
    for (int64_t i = linear - 1; i >= 0; i--)
        if (values[i] > 0) first = values[i];
    if (first == 0) first = 1;
    for (p = 0; p < pairs; p++) {
        /* By this factor and not to this size: derivatives of limbs that do not feel each other are rounding, and stay
         * so. */
        double li = fmax(values[pair[2 * p]], first), lj = fmax(values[pair[2 * p + 1]], first),
               scale = first * first / (li * lj);
        for (int64_t i = 0; i < size; i++) psi[p * size + i] *= -s->weight[i] * scale;
    }
done:
    free(pair);
    return status;
}

static void scale_modes(const solver *s, int64_t linear, const double *y, double *phi)
{
    for (int64_t k = 0; k < linear; k++)
        for (int64_t i = 0; i < s->size; i++) phi[k * s->size + i] = s->weight[i] * y[k * s->size + i];
}

/* The modes of flesh that constraints and rigid motions leave. */
static su_eigen_problem eigen_problem(solver *s, const su_eigen_watch *watch)
{
    return (su_eigen_problem){.size = s->size,
                              .rank = s->size - s->inverse.constraints - s->inverse.rigid_count,
                              .mass = s->effective,
                              .inverse = {su_constrained_inverse_apply, &s->inverse},
                              .shift = s->shift,
                              .watch = watch,
                              .progress = s->problem->progress};
}

/* Adds the leading directions of the candidates, at most `wanted`, to those that pca knows. */
static su_status add_directions(su_pca *pca, int64_t count, double *candidates, int64_t wanted, double shortest,
                                su_error *err)
{
    int64_t got = 0;
    pca->candidate_count = count, pca->candidates = candidates;
    pca->wanted = wanted, pca->shortest = shortest;
    SU_TRY(su_mass_pca(pca, &got, err));
    pca->known += got;
    return SU_OK;
}

/* What derivatives leave of r is filled with further linear modes: those of parts that do not feel each other know few
 * directions. */
static su_status fill(solver *s, int64_t linear, int64_t r, su_pca *pca, su_error *err)
{
    int64_t size = s->size, extra = r - pca->known, rigid = s->problem->keep_rigid ? s->inverse.rigid_count : 0;
    int64_t count = linear + extra > rigid ? linear + extra - rigid : 0;
    double *y = NULL, *values = NULL;
    const su_eigen_problem lowest = eigen_problem(s, NULL);
    su_status status;
    SU_GO(SU_ALLOC_ALL("modes", err, SU_WANT(y, size * (linear + extra)), SU_WANT(values, linear + extra)));
    SU_GO(su_eigen_lowest(&lowest, count, values, y, &s->report.applications, err));
    scale_modes(s, count, y, y);
    SU_GO(add_directions(pca, count, y, extra, SHORTEST, err));
    if (pca->known < r)
        status =
            su_fail(err, SU_INPUT, "modes and derivatives give %lld directions, %lld are needed: ask for fewer modes",
                    (long long)pca->known, (long long)r);
done:
    free(y), free(values);
    return status;
}

static su_status solve(solver *s, int64_t linear, int64_t r, double *values, double *modes, int threads, su_error *err)
{
    int64_t size = s->size, pairs = r > linear ? linear * (linear + 1) / 2 : 0;
    int64_t rigid = 0;
    double *y = NULL, *phi = NULL, *psi = NULL, started = su_seconds();
    const su_eigen_problem lowest = eigen_problem(s, s->problem->watch);
    su_status status;
    SU_GO(SU_ALLOC_ALL("modes", err, SU_WANT(y, size * linear), SU_WANT(phi, size * r)));
    if (s->problem->keep_rigid) { /* exact, with eigenvalue 0 */
        rigid = s->inverse.rigid_count < linear ? s->inverse.rigid_count : linear;
        if (rigid) memcpy(y, s->inverse.rigid, (size_t)(rigid * size) * sizeof *y);
        memset(values, 0, (size_t)rigid * sizeof *values);
    }
    if (linear > rigid)
        SU_GO(su_eigen_lowest(&lowest, linear - rigid, values + rigid, y + rigid * size, &s->report.applications, err));
    SU_GO(refine(s, linear - rigid, values + rigid, y + rigid * size, err));
    SU_GO(largest_residual(s, linear - rigid, values + rigid, y + rigid * size, err));
    scale_modes(s, linear, y, phi);
    s->report.seconds_eigen = su_seconds() - started, started = su_seconds();
    su_pca pca = {.size = size, .known = linear, .mass = s->mass, .vectors = phi};
    if (pca.known < r) {
        SU_GO(SU_ALLOC(&psi, size * pairs, "modal derivatives", err));
        SU_GO(derivatives(s, linear, values, phi, y, psi, threads, err));
        s->report.seconds_derivatives = su_seconds() - started, started = su_seconds();
        SU_GO(add_directions(&pca, pairs, psi, r - pca.known, SHORTEST_DERIVATIVE, err));
        s->report.seconds_pca = su_seconds() - started;
        if (pca.known < r) SU_GO(fill(s, linear, r, &pca, err));
    }
    const su_elastic *elastic = s->problem->elastic;
    memset(modes, 0, 3 * (size_t)(r * elastic->n) * sizeof *modes);
    for (int64_t k = 0; k < r; k++) su_elastic_scatter(elastic, phi + k * size, modes + 3 * k * elastic->n);
done:
    free(y), free(phi), free(psi);
    return status;
}

su_status su_modes_solve(const su_mode_problem *problem, int64_t linear, int64_t r, double *eigenvalues, double *modes,
                         su_mode_report *report, int threads, su_error *err)
{
    solver s;
    if (linear < 1 || r < linear || r > linear + linear * (linear + 1) / 2)
        return su_fail(err, SU_INPUT, "%lld modes cannot be made of %lld linear ones and their derivatives",
                       (long long)r, (long long)linear);
    su_status status = solver_create(&s, problem, threads, err);
    if (status == SU_OK) status = solve(&s, linear, r, eigenvalues, modes, threads, err);
    if (report) *report = s.report;
    solver_free(&s);
    return status;
}
