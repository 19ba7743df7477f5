#include "reduce/cubature/elastic_rows.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "linalg/dense.h"
#include "reduce/cubature/reduced_stiffness.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORNERS = 12 }; /* numbers of the forces on the corners of a tet */

void su_station_rows_free(su_station_rows *rows)
{
    free(rows->basis), free(rows->force), free(rows->target), free(rows->metric), free(rows->blend);
    *rows = (su_station_rows){0};
}

su_status su_rows_basis(const su_pose_space *space, const su_candidates *points, float **basis, su_error *err)
{
    int64_t r = space->r;
    SU_TRY(SU_ALLOC(basis, 3 * r * points->vertex_count, "basis", err));
    for (int64_t v = 0; v < points->vertex_count; v++)
        for (int i = 0; i < 3; i++)
            for (int64_t k = 0; k < r; k++)
                (*basis)[(3 * v + i) * r + k] = (float)space->U[3 * (k * space->n + points->vertex[v]) + i];
    return SU_OK;
}

/* Rows of one place on their way. */
typedef struct row_maker {
    su_pose_space *space;
    const su_place *place;
    const su_candidates *points;
    su_force_part part;
    int64_t samples;
    const double *q;       /* (samples,r) */
    double *lengths;       /* (samples) what forces are relative to; NULL: the whole force */
    int32_t *candidate_of; /* (t) number of a tet among the candidates, -1: none */
    su_station_rows *rows;
} row_maker;

static void maker_free(row_maker *make) { free(make->lengths), free(make->candidate_of); }

static su_status maker_create(row_maker *make, int64_t samples, su_error *err)
{
    const su_candidates *points = make->points;
    su_station_rows *rows = make->rows;
    make->samples = rows->samples = samples;
    SU_TRY(SU_ALLOC(&make->candidate_of, make->space->t, "candidates", err));
    SU_TRY(SU_ALLOC_ALL("sample forces", err, SU_WANT(rows->force, samples * points->count * CORNERS),
                        SU_WANT(rows->target, samples * make->space->r)));
    for (int64_t e = 0; e < make->space->t; e++) make->candidate_of[e] = -1;
    for (int64_t k = 0; k < points->count; k++) make->candidate_of[points->point[k]] = (int32_t)k;
    return SU_OK;
}

/* y (.,3n): the flesh at the next samples from `from` on, in the place that was entered, of the shape `rest`; returns
 * how many. */
static int64_t next_positions(const row_maker *make, const double *rest, int64_t from, double *y)
{
    int64_t size = 3 * make->space->n, left = make->samples - from;
    int64_t count = left < SU_STATES_AT_ONCE ? left : SU_STATES_AT_ONCE;
    su_states_expand(make->space, count, make->q + from * make->space->r, y);
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < size; i++) y[k * size + i] += rest[i];
    return count;
}

/* Linear force of tet e on its corners at positions y, every material's. */
static void linear_force(const su_elastic *elastic, const double *y, int64_t e, double f[CORNERS])
{
    double G[9], P[9];
    su_elastic_gradient(elastic, y, e, G);
    G[0] -= 1, G[4] -= 1, G[8] -= 1;
    su_linear_stress(elastic->mu[e], elastic->lambda[e], G, P);
    su_tet_force(elastic, e, P, f);
}

/* Internal force f (n,3) of all tets at y (or its linear part, if that alone is wanted), tet after tet; forces on the
 * corners of candidate tets into `kept`; of the remainder turned back vertex by vertex, less what `kept` holds
 * already. */
static void sample_force(const row_maker *make, const double *y, double *f, float *kept)
{
    const su_pose_space *space = make->space;
    const su_elastic *elastic = &space->elastic;
    const double *turn = make->part.kind == SU_FORCE_REMAINDER ? space->rotation : NULL;
    memset(f, 0, (size_t)(3 * space->n) * sizeof *f);
    for (int64_t e = 0; e < space->t; e++) {
        const int32_t *tet = elastic->tets + 4 * e;
        double own[CORNERS];
        float *out = kept + CORNERS * (int64_t)make->candidate_of[e];
        if (make->part.kind == SU_FORCE_LINEAR)
            linear_force(elastic, y, e, own);
        else
            su_tet_elastic(elastic, y, e, false, own, NULL, NULL);
        for (int c = 0; c < 4; c++) {
            for (int i = 0; i < 3; i++) f[3 * (int64_t)tet[c] + i] += own[3 * c + i];
            if (make->candidate_of[e] < 0) continue;
            double back[3];
            memcpy(back, own + 3 * c, sizeof back);
            if (turn) su_turn_back_vectors(1, turn + 4 * (int64_t)tet[c], back, back);
            for (int i = 0; i < 3; i++) out[3 * c + i] = (float)(back[i] - (turn ? out[3 * c + i] : 0));
        }
    }
}

/* The linear part K_e U q of all candidates' forces at the neutral pose, into rows->force. Leaves the space there. */
static su_status neutral_forces(const row_maker *make, su_error *err)
{
    su_pose_space *space = make->space;
    const su_elastic *elastic = &space->elastic;
    int64_t size = 3 * space->n, count = make->points->count;
    double *y;
    SU_TRY(su_pose_space_enter_neutral(space, err));
    SU_TRY(SU_ALLOC(&y, SU_STATES_AT_ONCE * size, "sample forces", err));
    for (int64_t from = 0, more; from < make->samples; from += more) {
        more = next_positions(make, space->fit->shapes, from, y);
#pragma omp parallel for num_threads(space->threads) schedule(dynamic)
        for (int64_t k = 0; k < more; k++)
            for (int64_t c = 0; c < count; c++) {
                double f[CORNERS];
                float *force = make->rows->force + CORNERS * ((from + k) * count + c);
                linear_force(elastic, y + k * size, make->points->point[c], f);
                for (int i = 0; i < CORNERS; i++) force[i] = (float)f[i];
            }
    }
    free(y);
    return SU_OK;
}

/* Scales a sample so that the whole force has length 1 (PSSD eq. 18), or where it is given `length`: targets are
 * `whole` less `less`. */
static void finish_sample(int64_t r, const double *whole, const double *less, double length, int64_t size,
                          double *target, float *force)
{
    double sum = length * length;
    for (int64_t i = 0; i < r && length == 0; i++) sum += whole[i] * whole[i];
    double scale = sum > 0 ? 1 / sqrt(sum) : 0;
    for (int64_t i = 0; i < r; i++) target[i] = scale * (whole[i] - less[i]);
    for (int64_t i = 0; i < size; i++) force[i] *= (float)scale;
}

/* in (r) <- metric in */
static void change_metric(int64_t r, const float *metric, double *in, double *work)
{
    memcpy(work, in, (size_t)r * sizeof *in);
    for (int64_t i = 0; i < r; i++) {
        in[i] = 0;
        for (int64_t j = 0; j < r; j++) in[i] += metric[i * r + j] * work[j];
    }
}

/* Forces of all samples and their reduced sums, some at a time, in the metrics of the rows. */
static su_status fill_forces(const row_maker *make, su_error *err)
{
    su_pose_space *space = make->space;
    su_station_rows *rows = make->rows;
    int64_t size = 3 * space->n, r = space->r, width = CORNERS * make->points->count;
    double *y = NULL, *f = NULL, *whole = NULL, *less = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("sample forces", err, SU_WANT(y, SU_STATES_AT_ONCE * size), SU_WANT(f, SU_STATES_AT_ONCE * size),
                       SU_WANT(whole, SU_STATES_AT_ONCE * r), SU_WANT(less, SU_STATES_AT_ONCE * r)));
    for (int64_t from = 0, more; from < make->samples; from += more) {
        float *force = rows->force + width * from;
        more = next_positions(make, make->place->rest, from, y);
#pragma omp parallel for num_threads(space->threads) schedule(dynamic)
        for (int64_t k = 0; k < more; k++) sample_force(make, y + k * size, f + k * size, force + width * k);
        su_multiply_transposed(more, r, size, f, space->U, whole);
        if (make->part.kind == SU_FORCE_REMAINDER)
            su_multiply(more, r, r, make->q + from * r, make->part.stiffness, less);
        for (int64_t k = 0; k < more && rows->metric; k++) {
            change_metric(r, rows->metric + (from + k) * r * r, whole + k * r, y);
            change_metric(r, rows->metric + (from + k) * r * r, less + k * r, y);
        }
        for (int64_t k = 0; k < more; k++)
            finish_sample(r, whole + k * r, less + k * r, make->lengths ? make->lengths[from + k] : 0, width,
                          rows->target + (from + k) * r, force + width * k);
    }
done:
    free(y), free(f), free(whole), free(less);
    return status;
}

su_status su_elastic_rows(su_pose_space *space, const su_place *place, const su_sampling *sampling,
                          const su_candidates *points, su_station_rows *rows, su_error *err)
{
    int64_t r = space->r, samples = sampling->samples + sampling->soft, width = CORNERS * points->count;
    row_maker make = {.space = space, .place = place, .points = points, .rows = rows};
    double *q = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&q, samples * r, "sample states", err));
    make.q = q;
    SU_GO(maker_create(&make, samples, err));
    SU_GO(su_pose_space_enter(space, place, err));
    SU_GO(su_sample_states(space, place->rest, sampling, q, err));
    SU_GO(fill_forces(&make, err));
    SU_GO(su_rows_basis(space, points, &rows->basis, err));
    for (int64_t i = sampling->samples * r; i < samples * r; i++) rows->target[i] *= sampling->soft_weight;
    for (int64_t i = sampling->samples * width; i < samples * width; i++)
        rows->force[i] *= (float)sampling->soft_weight;
done:
    maker_free(&make);
    free(q);
    return status;
}

/* rows->metric (samples,r,r): C'V'/l V of the eigenpairs V (one a row) of the projected tangent and M at each state
 * (for linear forces: at rest) and of the norm C, so that |metric f| is how far a force would move the flesh from
 * there; *l[0] times that, to stay in range. lengths (samples): l[0] times the displacement itself. */
static su_status state_metrics(const row_maker *make, su_error *err)
{
    su_pose_space *space = make->space;
    const double *U = space->U, *q = make->q, *C = make->part.norm;
    int64_t r = space->r, size = 3 * space->n;
    int R = (int)r;
    bool still = make->part.kind == SU_FORCE_LINEAR;
    double *y = NULL, *V = NULL, *l = NULL, *A = NULL, *metric = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("sample states", err, SU_WANT(y, size), SU_WANT(V, r * r), SU_WANT(A, r * r), SU_WANT(l, r),
                       SU_WANT(metric, r * r)));
    for (int64_t k = 0; k < make->samples; k++) {
        memcpy(y, make->place->rest, (size_t)size * sizeof *y);
        if (!still) cblas_dgemv(CblasRowMajor, CblasTrans, R, (int)size, 1, U, (int)size, q + k * r, 1, 1, y, 1);
        if (!still || k == 0) {
            SU_GO(su_ritz_pairs(space, y, V, l, err));
            cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, R, R, R, 1, C, R, V, R, 0, A, R);
            for (int64_t i = 0; i < r; i++)
                for (int64_t b = 0; b < r; b++) A[b * r + i] *= l[0] / fmax(l[i], SU_LEAST_EIGENVALUE * l[r - 1]);
            su_multiply(r, r, r, A, V, metric);
        }
        cblas_dgemv(CblasRowMajor, CblasTrans, R, R, 1, C, R, q + k * r, 1, 0, y, 1);
        make->lengths[k] = l[0] * cblas_dnrm2(R, y, 1);
        for (int64_t i = 0; i < r * r; i++) make->rows->metric[k * r * r + i] = (float)metric[i];
    }
done:
    free(y), free(V), free(l), free(A), free(metric);
    return status;
}

su_status su_state_rows(su_pose_space *space, const su_place *place, int64_t samples, const double *q,
                        su_force_part part, const su_candidates *points, su_station_rows *rows, su_error *err)
{
    int64_t r = space->r;
    row_maker make = {.space = space, .place = place, .points = points, .part = part, .q = q, .rows = rows};
    su_status status;
    SU_GO(SU_ALLOC(&make.lengths, samples, "sample states", err));
    SU_GO(SU_ALLOC(&rows->metric, samples * r * r, "basis", err));
    SU_GO(maker_create(&make, samples, err));
    if (part.kind == SU_FORCE_REMAINDER) SU_GO(neutral_forces(&make, err));
    SU_GO(su_pose_space_enter(space, place, err));
    SU_GO(state_metrics(&make, err));
    SU_GO(fill_forces(&make, err));
done:
    maker_free(&make);
    return status;
}
