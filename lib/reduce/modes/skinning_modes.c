#include "reduce/modes/skinning_modes.h"

#include "core/memory.h"
#include "core/threads.h"
#include "geometry/box.h"
#include "geometry/tetmesh.h"
#include "linalg/eigen.h"
#include "linalg/eigen_block.h"
#include "linalg/factor_single.h"
#include "linalg/sparse.h"
#include "physics/material.h"
#include "reduce/modes/rows_inverse.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Error left in a mode of length 1: half the rounding of single precision, in which steps take modes. Eigenvalues are
 * off by its square. */
#define TOLERANCE 3e-8
/* What is added to H where flesh is held nowhere, for the preconditioner alone: this part of an eigenvalue that a bar
 * of its mean material, as long as the diagonal, would have. */
#define FLOATING_SHIFT 0.1
/* Columns that everything is done to at once. */
enum { LANES = SU_LANES };
_Static_assert((int)SU_SPARSE_LANES == (int)SU_LANES, "H takes as many columns as the factor");
/* The operator over the free vertices in M^1/2-scaled coordinates. */
typedef struct operator_state {
    const su_skinning_problem *problem;
    su_weight_stiffness H; /* of the problem, then scaled by M^-1/2 on both sides */
    double *root;          /* (free) M^1/2 */
    su_factor_single *factor;
    int64_t panels, rows;
    su_row_panel *panel;             /* (panels) with free numbers for vertices; values borrowed */
    double *gram;                    /* (rows,rows) Cholesky factor of J J' */
    su_rows_inverse *inverse;        /* T: of H + shift under the rows */
    float *x;                        /* (free,LANES) scratch of T */
    double *lanes;                   /* (2,free,LANES) scratch of H */
    double *gathered, *coefficients; /* scratch of the projection */
} operator_state;

static void state_free(operator_state *s)
{
    for (int64_t p = 0; s->panel && p < s->panels; p++) free(s->panel[p].vertex);
    free(s->panel), free(s->gram), free(s->root);
    free(s->x), free(s->lanes), free(s->gathered), free(s->coefficients);
    su_rows_inverse_free(s->inverse);
    su_factor_single_free(s->factor);
    su_weight_stiffness_free(&s->H);
}

/* ---- the operator ---- */

static su_status apply(void *context, int64_t columns, const double *x, double *y, su_error *err)
{
    operator_state *s = context;
    int64_t n = s->H.free_count;
    double *in = s->lanes, *out = s->lanes + LANES * n;
    (void)err;
    for (int64_t from = 0; from < columns; from += LANES) {
        int64_t some = columns - from < LANES ? columns - from : LANES;
        for (int64_t c = 0; c < some; c++)
            for (int64_t i = 0; i < n; i++) in[LANES * i + c] = x[(from + c) * n + i];
        su_sparse_multiply_interleaved(&s->H.matrix, in, out);
        for (int64_t c = 0; c < some; c++)
            for (int64_t i = 0; i < n; i++) y[(from + c) * n + i] = out[LANES * i + c];
    }
    return SU_OK;
}

/* coefficients (rows,columns) = J x, panel by panel. */
static void rows_of(operator_state *s, int64_t columns, const double *x)
{
    int64_t n = s->H.free_count, row = 0;
    for (int64_t p = 0; p < s->panels; row += s->panel[p++].rows) {
        const su_row_panel *panel = &s->panel[p];
        if (panel->rows == 0) continue;
        for (int64_t c = 0; c < columns; c++)
            for (int64_t k = 0; k < panel->count; k++) s->gathered[c * panel->count + k] = x[c * n + panel->vertex[k]];
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)panel->rows, (int)columns, (int)panel->count, 1,
                    panel->value, (int)panel->rows, s->gathered, (int)panel->count, 0, s->coefficients + row,
                    (int)s->rows);
    }
}

/* x -= J' coefficients */
static void subtract_rows(operator_state *s, int64_t columns, double *x)
{
    int64_t n = s->H.free_count, row = 0;
    for (int64_t p = 0; p < s->panels; row += s->panel[p++].rows) {
        const su_row_panel *panel = &s->panel[p];
        if (panel->rows == 0) continue;
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)panel->count, (int)columns, (int)panel->rows, 1,
                    panel->value, (int)panel->rows, s->coefficients + row, (int)s->rows, 0, s->gathered,
                    (int)panel->count);
        for (int64_t c = 0; c < columns; c++)
            for (int64_t k = 0; k < panel->count; k++) x[c * n + panel->vertex[k]] -= s->gathered[c * panel->count + k];
    }
}

/* x -= J' (J J')^-1 J x */
static su_status project(void *context, int64_t columns, double *x, su_error *err)
{
    operator_state *s = context;
    int64_t n = s->H.free_count;
    (void)err;
    for (int64_t from = 0; from < columns; from += LANES) {
        int64_t count = columns - from < LANES ? columns - from : LANES;
        rows_of(s, count, x + from * n);
        LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', (lapack_int)s->rows, (lapack_int)count, s->gram, (lapack_int)s->rows,
                       s->coefficients, (lapack_int)s->rows);
        subtract_rows(s, count, x + from * n);
    }
    return SU_OK;
}

/* x = T x in single precision, x (free,LANES) in the order of the factor. */
static void invert(void *context, float *x)
{
    operator_state *s = context;
    su_rows_inverse_apply(s->inverse, x);
}

/* The same of columns one after the other. */
static su_status precondition(void *context, int64_t columns, double *x, su_error *err)
{
    operator_state *s = context;
    int64_t n = s->H.free_count;
    const int32_t *order = su_factor_single_order(s->factor);
    (void)err;
    for (int64_t from = 0; from < columns; from += LANES) {
        int64_t some = columns - from < LANES ? columns - from : LANES;
        double *own = x + from * n;
        if (some < LANES) memset(s->x, 0, (size_t)(n * LANES) * sizeof *s->x);
        for (int64_t c = 0; c < some; c++)
            for (int64_t i = 0; i < n; i++) s->x[i * LANES + c] = (float)own[c * n + order[i]];
        invert(s, s->x);
        for (int64_t c = 0; c < some; c++)
            for (int64_t i = 0; i < n; i++) own[c * n + order[i]] = (double)s->x[i * LANES + c];
    }
    return SU_OK;
}

/* ---- setting up ---- */

static su_status assemble(operator_state *s, su_error *err)
{
    const su_skinning_problem *p = s->problem;
    SU_TRY(su_weight_stiffness_of(p->covariance, &(su_tet_mesh){p->n, p->t, p->vertices, p->tets}, p->held, p->young,
                                  p->poisson, &s->H, err));
    SU_TRY(SU_ALLOC(&s->root, p->n, "masses", err));
    su_lumped_mass(p->n, p->vertices, p->t, p->tets, p->density, s->root);
    for (int64_t f = 0; f < s->H.free_count; f++) { /* free vertices ascend, so none is written before it is read */
        double mass = s->root[s->H.free_vertex[f]];
        if (!(mass > 0)) return su_fail(err, SU_INPUT, "flesh vertex %d has no mass", (int)s->H.free_vertex[f]);
        s->root[f] = sqrt(mass);
    }
    su_sparse *H = &s->H.matrix;
    for (int64_t j = 0; j < H->size; j++)
        for (int64_t k = H->start[j]; k < H->start[j + 1]; k++) H->value[k] /= s->root[j] * s->root[H->row[k]];
    return SU_OK;
}

/* (pi / diagonal)^2 (4 mu + lambda) / density of means over the tets */
static double bar_eigenvalue(const su_skinning_problem *p)
{
    double low[3], high[3], stiff = 0, dense = 0, square = 0;
    su_bounding_box(p->n, p->vertices, low, high);
    for (int i = 0; i < 3; i++) square += (high[i] - low[i]) * (high[i] - low[i]);
    for (int64_t e = 0; e < p->t; e++) {
        stiff += su_trace_stiffness(p->young[e], p->poisson[e]);
        dense += p->density[e];
    }
    return M_PI * M_PI / square * stiff / dense;
}

/* The factor of H + shift, shift > 0 where part of the flesh may float. */
static su_status factorize(operator_state *s, su_error *err)
{
    const su_skinning_problem *p = s->problem;
    double *points = NULL, shift = FLOATING_SHIFT * bar_eigenvalue(p);
    su_sparse shifted;
    SU_TRY(su_sparse_clone_pattern(&s->H.matrix, &shifted, err));
    su_status status;
    SU_GO(SU_ALLOC(&points, 3 * s->H.free_count, "ordering", err));
    for (int64_t f = 0; f < s->H.free_count; f++)
        memcpy(points + 3 * f, p->vertices + 3 * (int64_t)s->H.free_vertex[f], 3 * sizeof *points);
    memcpy(shifted.value, s->H.matrix.value, (size_t)shifted.entries * sizeof *shifted.value);
    for (int64_t f = 0; f < shifted.size; f++) shifted.value[shifted.start[f]] += shift;
    SU_GO(su_factor_single_create(&shifted, points, &s->factor, err));
done:
    su_sparse_free(&shifted);
    free(points);
    return status;
}

static su_status copy_rows(operator_state *s, su_error *err)
{
    const su_complementarity *rig = s->problem->rig;
    if (!rig || rig->rows == 0) return SU_OK;
    SU_TRY(
        SU_ALLOC_ALL("constraints", err, SU_WANT(s->panel, rig->panel_count), SU_WANT(s->gram, rig->rows * rig->rows)));
    s->rows = rig->rows;
    for (; s->panels < rig->panel_count; s->panels++) {
        su_row_panel *to = &s->panel[s->panels];
        const su_row_panel *from = &rig->panels[s->panels];
        *to = *from, to->vertex = NULL;
        SU_TRY(SU_ALLOC(&to->vertex, to->count, "constraints", err));
        for (int64_t k = 0; k < to->count; k++) to->vertex[k] = s->H.free_index[from->vertex[k]];
    }
    memcpy(s->gram, rig->gram, (size_t)(s->rows * s->rows) * sizeof *s->gram);
    return LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', (lapack_int)s->rows, s->gram, (lapack_int)s->rows) == 0
               ? SU_OK
               : su_fail(err, SU_NUMERICS, "the rows of the rig depend on each other");
}

static su_status make_room(operator_state *s, su_error *err)
{
    int64_t n = s->H.free_count;
    SU_TRY(SU_ROOM(&s->x, n * LANES, "eigenvectors", err));
    SU_TRY(SU_ROOM(&s->lanes, 2 * n * LANES, "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->coefficients, s->rows * LANES, "constraints", err));
    return SU_ROOM(&s->gathered, s->rows ? n * LANES : 0, "constraints", err);
}

su_status su_skinning_modes(const su_skinning_problem *problem, int64_t k, double *eigenvalues, double *weights,
                            su_skinning_report *report, su_error *err)
{
    operator_state s = {.problem = problem};
    su_skinning_report unused;
    su_block_report solved = {0};
    double *vectors = NULL, started = su_seconds();
    su_status status;
    if (!report) report = &unused;
    *report = (su_skinning_report){0};
    SU_GO(assemble(&s, err));
    SU_GO(copy_rows(&s, err));
    int64_t n = s.H.free_count;
    report->free_vertices = n, report->rows = s.rows, report->seconds_assembly = su_seconds() - started;
    if (k > n - s.rows)
        SU_GO(su_fail(err, SU_INPUT,
                      "%lld skinning modes asked of %lld free flesh vertices under %lld rows of the rig; ask for at "
                      "most %lld",
                      (long long)k, (long long)n, (long long)s.rows, (long long)(n > s.rows ? n - s.rows : 0)));
    started = su_seconds();
    SU_GO(factorize(&s, err));
    report->seconds_factor = su_seconds() - started, started = su_seconds();
    SU_GO(make_room(&s, err));
    SU_GO(su_rows_inverse_create(s.factor, n, &(su_dense_rows){s.panels, s.rows, s.panel, s.gram}, &s.inverse, err));
    SU_GO(SU_ROOM(&vectors, k * n, "eigenvectors", err));
    bool exact = s.rows == 0 || su_rows_inverse_constrained(s.inverse);
    const su_block_operator A = {.size = n,
                                 .rank = n - s.rows,
                                 .width = LANES,
                                 .apply = apply,
                                 .precondition = precondition,
                                 .project = s.rows ? project : NULL,
                                 .inverse = exact ? invert : NULL,
                                 .order = su_factor_single_order(s.factor),
                                 .context = &s};
    SU_GO(su_eigen_block(&A, k, TOLERANCE, eigenvalues, vectors, &solved, problem->progress, err));
    memset(weights, 0, (size_t)(problem->n * k) * sizeof *weights);
    for (int64_t c = 0; c < k; c++) {
        eigenvalues[c] = fmax(eigenvalues[c], 0);
        for (int64_t f = 0; f < n; f++) vectors[c * n + f] /= s.root[f];
        su_eigen_fix_sign(n, vectors + c * n);
        for (int64_t f = 0; f < n; f++) weights[s.H.free_vertex[f] * k + c] = vectors[c * n + f];
    }
    report->steps = solved.steps, report->applications = solved.applications, report->residual = solved.residual;
    report->seconds_eigen = su_seconds() - started;
done:
    free(vectors);
    state_free(&s);
    return status;
}
