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

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Error left in a mode of length 1. Eigenvalues are off by its square. */
#define TOLERANCE 1e-8
/* What is added to H where flesh is held nowhere, for the preconditioner alone: this part of an eigenvalue that a bar
 * of its mean material, as long as the diagonal, would have. */
#define FLOATING_SHIFT 0.1
/* Columns that everything is done to at once. */
enum { LANES = SU_FACTOR_LANES };
_Static_assert((int)SU_SPARSE_LANES == (int)SU_FACTOR_LANES, "H takes as many columns as the factor");
/* Dense columns of the constrained inverse, one a row of the rig, are kept as long as they are no more than this many
 * times the entries of the factor; beyond, their own making costs more than the steps that they save. */
#define MOST_DENSE 2.0
/* Directions of the rows whose compliance is less than this part of the largest are rounding of single precision. */
#define STIFF 1e-5

/* The operator over the free vertices in M^1/2-scaled coordinates. */
typedef struct operator_state {
    const su_skinning_problem *problem;
    su_weight_stiffness H; /* of the problem, then scaled by M^-1/2 on both sides */
    double *root;          /* (free) M^1/2 */
    su_factor_single *factor;
    int64_t panels, rows;
    su_row_panel *panel;    /* (panels) with free numbers for vertices; values borrowed */
    double *gram;           /* (rows,rows) Cholesky factor of J J' */
    int64_t reactions;      /* columns of Q: directions of the rows that T answers; 0: T is the plain inverse */
    float *Q;               /* (free,reactions) orthonormal, L^-1 of the rows, in the order of the factor */
    float *x, *work, *push; /* scratch of the factor; (LANES,reactions) */
    double *lanes;          /* (2,free,LANES) scratch of H */
    double *gathered, *coefficients; /* scratch of the projection */
} operator_state;

static void state_free(operator_state *s)
{
    for (int64_t p = 0; s->panel && p < s->panels; p++) free(s->panel[p].vertex);
    free(s->panel), free(s->gram), free(s->root);
    free(s->Q), free(s->x), free(s->work), free(s->push), free(s->lanes), free(s->gathered), free(s->coefficients);
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

/* x = T x in single precision, T the inverse of B = H + shift under the rows,
 * B^-1 - B^-1 J' (J B^-1 J')^-1 J B^-1 = L^-T (1 - Q Q') L^-1, or without Q that of B alone. */
static su_status precondition(void *context, int64_t columns, double *x, su_error *err)
{
    operator_state *s = context;
    int64_t n = s->H.free_count;
    const int32_t *order = su_factor_single_order(s->factor);
    int rows = (int)s->reactions;
    (void)err;
    for (int64_t from = 0; from < columns; from += LANES) {
        int64_t some = columns - from < LANES ? columns - from : LANES;
        double *own = x + from * n;
        memset(s->x, 0, (size_t)(n * LANES) * sizeof *s->x);
        for (int64_t c = 0; c < some; c++)
            for (int64_t i = 0; i < n; i++) s->x[i * LANES + c] = (float)own[c * n + order[i]];
        su_factor_single_forward(s->factor, s->x, s->work);
        if (rows) {
            cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, rows, LANES, (int)n, 1, s->Q, rows, s->x, LANES, 0,
                        s->push, rows);
            cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, LANES, (int)n, rows, -1, s->push, rows, s->Q, rows, 1,
                        s->x, LANES);
        }
        su_factor_single_backward(s->factor, s->x, s->work);
        for (int64_t c = 0; c < some; c++)
            for (int64_t i = 0; i < n; i++) own[c * n + order[i]] = (double)s->x[i * LANES + c];
    }
    return SU_OK;
}

/* ---- setting up ---- */

static su_status assemble(operator_state *s, su_error *err)
{
    const su_skinning_problem *p = s->problem;
    double *lame;
    SU_TRY(SU_ALLOC(&lame, 2 * p->t, "stiffness", err));
    for (int64_t e = 0; e < p->t; e++) {
        lame[e] = SU_LAME_MU(p->young[e], p->poisson[e]);
        lame[p->t + e] = SU_LAME_LAMBDA(p->young[e], p->poisson[e]);
    }
    su_status status = su_weight_stiffness_of(p->covariance, &(su_tet_mesh){p->n, p->t, p->vertices, p->tets}, p->held,
                                              lame, lame + p->t, &s->H, err);
    free(lame);
    if (status != SU_OK) return status;
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
        stiff += 4 * SU_LAME_MU(p->young[e], p->poisson[e]) + SU_LAME_LAMBDA(p->young[e], p->poisson[e]);
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
    SU_TRY(SU_ALLOC(&s->panel, rig->panel_count, "constraints", err));
    SU_TRY(SU_ALLOC(&s->gram, rig->rows * rig->rows, "constraints", err));
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

/* F (free,rows) = L^-1 J', in the order of the factor. */
static su_status answer_rows(operator_state *s, float *F, su_error *err)
{
    int64_t n = s->H.free_count, row = 0;
    const int32_t *order = su_factor_single_order(s->factor);
    int32_t *place;
    SU_TRY(SU_ALLOC(&place, n, "constraints", err));
    for (int64_t i = 0; i < n; i++) place[order[i]] = (int32_t)i;
    for (int64_t p = 0; p < s->panels; row += s->panel[p++].rows) {
        const su_row_panel *panel = &s->panel[p];
        for (int64_t from = 0; from < panel->rows; from += LANES) {
            int64_t some = panel->rows - from < LANES ? panel->rows - from : LANES;
            memset(s->x, 0, (size_t)(n * LANES) * sizeof *s->x);
            for (int64_t k = 0; k < panel->count; k++)
                for (int64_t c = 0; c < some; c++)
                    s->x[LANES * (int64_t)place[panel->vertex[k]] + c] =
                        (float)panel->value[k * panel->rows + from + c];
            su_factor_single_forward(s->factor, s->x, s->work);
            for (int64_t i = 0; i < n; i++)
                memcpy(F + i * s->rows + row + from, s->x + i * LANES, (size_t)some * sizeof *F);
        }
    }
    free(place);
    return SU_OK;
}

/* combination (reactions,rows) of the rows of F that are orthonormal: eigenvectors of their Gram matrix, rows of length
 * 1, over the square roots of the eigenvalues. */
static su_status orthonormal_answers(int64_t n, int64_t rows, const float *F, int64_t *reactions, float *combination,
                                     su_error *err)
{
    float *gram = NULL;
    double *wide = NULL, *length = NULL, *value = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&gram, rows * rows, "constraints", err));
    SU_GO(SU_ALLOC(&wide, rows * rows, "constraints", err));
    SU_GO(SU_ALLOC(&length, rows, "constraints", err));
    SU_GO(SU_ALLOC(&value, rows, "constraints", err));
    cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, (int)rows, (int)n, 1, F, (int)rows, 0, gram, (int)rows);
    for (int64_t j = 0; j < rows; j++) length[j] = sqrt((double)gram[j * rows + j]);
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = j; i < rows; i++)
            wide[j * rows + i] = wide[i * rows + j] = (double)gram[j * rows + i] / (length[i] * length[j]);
    SU_GO(su_eigen_symmetric(rows, wide, value, err));
    *reactions = 0;
    for (int64_t k = 0; k < rows; k++) {
        if (!(value[k] > STIFF * value[rows - 1])) continue;
        for (int64_t i = 0; i < rows; i++)
            combination[*reactions * rows + i] = (float)(wide[k * rows + i] / (length[i] * sqrt(value[k])));
        (*reactions)++;
    }
done:
    free(gram), free(wide), free(length), free(value);
    return status;
}

/* Q of the constrained inverse. */
static su_status constrain(operator_state *s, su_error *err)
{
    int64_t n = s->H.free_count, rows = s->rows;
    float *F = NULL, *combination = NULL;
    su_status status = SU_OK;
    if (rows == 0 || (double)(rows * n) > MOST_DENSE * (double)su_factor_single_entries(s->factor)) return SU_OK;
    SU_GO(SU_ROOM(&F, n * rows, "constraints", err));
    SU_GO(SU_ALLOC(&combination, rows * rows, "constraints", err));
    SU_GO(answer_rows(s, F, err));
    SU_GO(orthonormal_answers(n, rows, F, &s->reactions, combination, err));
    SU_GO(SU_ROOM(&s->Q, n * s->reactions, "constraints", err));
    SU_GO(SU_ALLOC(&s->push, LANES * s->reactions, "constraints", err));
    cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)s->reactions, (int)n, (int)rows, 1, combination,
                (int)rows, F, (int)rows, 0, s->Q, (int)s->reactions);
done:
    free(F), free(combination);
    return status;
}

static su_status make_room(operator_state *s, su_error *err)
{
    int64_t n = s->H.free_count;
    SU_TRY(SU_ROOM(&s->x, n * LANES, "eigenvectors", err));
    SU_TRY(SU_ROOM(&s->lanes, 2 * n * LANES, "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->work, su_factor_single_work(s->factor), "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->coefficients, s->rows * LANES, "constraints", err));
    return SU_ROOM(&s->gathered, s->rows ? n * LANES : 0, "constraints", err);
}

su_status su_skinning_modes(const su_skinning_problem *problem, int64_t k, double *eigenvalues, double *weights,
                            su_skinning_report *report, const su_progress *progress, su_error *err)
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
    if (k > n - s.rows) {
        status = su_fail(err, SU_INPUT,
                         "%lld skinning modes asked of %lld free flesh vertices under %lld rows of the rig; ask for at "
                         "most %lld",
                         (long long)k, (long long)n, (long long)s.rows, (long long)(n > s.rows ? n - s.rows : 0));
        goto done;
    }
    started = su_seconds();
    SU_GO(factorize(&s, err));
    report->seconds_factor = su_seconds() - started, started = su_seconds();
    SU_GO(make_room(&s, err));
    SU_GO(constrain(&s, err));
    SU_GO(SU_ROOM(&vectors, k * n, "eigenvectors", err));
    const su_block_operator A = {n, n - s.rows, LANES, apply, precondition, s.rows ? project : NULL, &s};
    SU_GO(su_eigen_block(&A, k, TOLERANCE, eigenvalues, vectors, &solved, progress, err));
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
