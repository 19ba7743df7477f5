#include "reduce/cubature/elastic_rows.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
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

su_status su_rows_basis(int64_t r, int64_t n, const double *U, const su_candidates *points, float **basis,
                        su_error *err)
{
    SU_TRY(SU_ALLOC(basis, 3 * r * points->vertex_count, "basis", err));
    for (int64_t v = 0; v < points->vertex_count; v++)
        for (int i = 0; i < 3; i++)
            for (int64_t k = 0; k < r; k++)
                (*basis)[(3 * v + i) * r + k] = (float)U[3 * (k * n + points->vertex[v]) + i];
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
    double *U, *rotation;  /* of the place */
    double *lengths;       /* (samples) what forces are relative to; NULL: the whole force */
    int32_t *candidate_of; /* (t) number of a tet among the candidates, -1: none */
    su_station_rows *rows;
} row_maker;

static void maker_free(row_maker *make)
{
    free(make->U), free(make->rotation), free(make->lengths), free(make->candidate_of);
}

/* What is owned by rows is released by su_station_rows_free, after errors too. */
static su_status maker_create(row_maker *make, int64_t samples, su_error *err)
{
    const su_pose_space *space = make->space;
    const su_candidates *points = make->points;
    su_station_rows *rows = make->rows;
    int64_t r = space->r;
    make->samples = rows->samples = samples;
    SU_TRY(SU_ALLOC(&make->U, 3 * r * space->n, "basis", err));
    SU_TRY(SU_ALLOC(&make->rotation, 4 * space->n, "rotations", err));
    SU_TRY(SU_ALLOC(&make->candidate_of, space->t, "candidates", err));
    SU_TRY(SU_ALLOC_ALL("sample forces", err, SU_WANT(rows->force, samples * points->count * CORNERS),
                        SU_WANT(rows->target, samples * r)));
    for (int64_t e = 0; e < space->t; e++) make->candidate_of[e] = -1;
    for (int64_t k = 0; k < points->count; k++) make->candidate_of[points->point[k]] = (int32_t)k;
    return SU_OK;
}

static su_status enter(row_maker *make, su_error *err)
{
    return su_pose_space_enter(make->space, make->place, make->U, make->rotation, err);
}

/* Linear stress of tet e at a deformation gradient; every material's at F = 1. */
static void linear_stress(const su_elastic *elastic, int64_t e, const double F[9], double P[9])
{
    double G[9];
    for (int i = 0; i < 9; i++) G[i] = F[i] - (i % 4 == 0);
    su_linear_stress(elastic->mu[e], elastic->lambda[e], G, P);
}

/* Force of a stress on the corners of tet e, f (4,3). */
static void corner_forces(const su_elastic *elastic, int64_t e, const double P[9], double f[12])
{
    const double *g = elastic->inverse + 9 * e;
    f[0] = f[1] = f[2] = 0;
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++) {
            double force =
                elastic->volume[e] * (P[3 * i] * g[3 * a] + P[3 * i + 1] * g[3 * a + 1] + P[3 * i + 2] * g[3 * a + 2]);
            f[3 * (a + 1) + i] = force, f[i] -= force;
        }
}

/* Internal force f (n,3) of all tets at y (or its linear part, if that alone is wanted), tet after tet; forces on the
 * corners of candidate tets into `kept`; of the remainder turned back vertex by vertex, less what `kept` holds
 * already. */
static void sample_force(const row_maker *make, const double *y, double *f, float *kept)
{
    const su_pose_space *space = make->space;
    const su_elastic *elastic = &space->elastic;
    const double *turn = make->part.kind == SU_FORCE_REMAINDER ? make->rotation : NULL;
    memset(f, 0, (size_t)(3 * space->n) * sizeof *f);
    for (int64_t e = 0; e < space->t; e++) {
        const int32_t *tet = elastic->tets + 4 * e;
        double F[9], P[9], own[12];
        float *out = kept + CORNERS * (int64_t)make->candidate_of[e];
        su_elastic_gradient(elastic, y, e, F);
        if (make->part.kind == SU_FORCE_LINEAR)
            linear_stress(elastic, e, F, P);
        else
            su_material_stress(elastic->material, elastic->mu[e], elastic->lambda[e], F, P);
        corner_forces(elastic, e, P, own);
        for (int c = 0; c < 4; c++) {
            for (int i = 0; i < 3; i++) f[3 * (int64_t)tet[c] + i] += own[3 * c + i];
            if (make->candidate_of[e] < 0) continue;
            double R[9], back[3];
            memcpy(back, own + 3 * c, sizeof back);
            if (turn) {
                su_quaternion_matrix(turn + 4 * (int64_t)tet[c], R);
                su_tmulv3(R, own + 3 * c, back);
            }
            for (int i = 0; i < 3; i++) out[3 * c + i] = (float)(back[i] - (turn ? out[3 * c + i] : 0));
        }
    }
}

/* The linear part K_e U q of all candidates' forces at the neutral pose, into rows->force. Leaves the
 * space there. */
static su_status neutral_forces(row_maker *make, su_error *err)
{
    su_pose_space *space = make->space;
    int64_t size = 3 * space->n, count = make->points->count, samples = make->samples;
    const int32_t *list = make->points->point;
    float *force = make->rows->force;
    su_place neutral = {0};
    double *U = NULL, *rotation = NULL, *y = NULL;
    su_status status;
    SU_GO(su_place_at_pose(space, 0, &neutral, err));
    SU_GO(SU_ALLOC(&U, space->r * size, "basis", err));
    SU_GO(SU_ALLOC(&rotation, 4 * space->n, "rotations", err));
    SU_GO(SU_ALLOC(&y, SU_STATES_AT_ONCE * size, "sample forces", err));
    SU_GO(su_pose_space_enter(space, &neutral, U, rotation, err));
    for (int64_t from = 0; from < samples; from += SU_STATES_AT_ONCE) {
        int64_t more = samples - from < SU_STATES_AT_ONCE ? samples - from : SU_STATES_AT_ONCE;
        su_states_expand(space, U, more, make->q + from * space->r, y);
#pragma omp parallel for num_threads(space->threads) schedule(dynamic)
        for (int64_t k = 0; k < more; k++) {
            for (int64_t i = 0; i < size; i++) y[k * size + i] += neutral.rest[i];
            for (int64_t c = 0; c < count; c++) {
                const su_elastic *elastic = &space->elastic;
                double F[9], P[9], f[CORNERS];
                su_elastic_gradient(elastic, y + k * size, list[c], F);
                linear_stress(elastic, list[c], F, P);
                corner_forces(elastic, list[c], P, f);
                for (int i = 0; i < CORNERS; i++) force[CORNERS * ((from + k) * count + c) + i] = (float)f[i];
            }
        }
    }
done:
    su_place_free(&neutral);
    free(U), free(rotation), free(y);
    return status;
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
static su_status fill_forces(row_maker *make, su_error *err)
{
    su_pose_space *space = make->space;
    su_station_rows *rows = make->rows;
    int64_t size = 3 * space->n, r = space->r, samples = make->samples, width = CORNERS * make->points->count;
    double *y = NULL, *f = NULL, *whole = NULL, *less = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("sample forces", err, SU_WANT(y, SU_STATES_AT_ONCE * size), SU_WANT(f, SU_STATES_AT_ONCE * size),
                       SU_WANT(whole, SU_STATES_AT_ONCE * r), SU_WANT(less, SU_STATES_AT_ONCE * r)));
    for (int64_t from = 0; from < samples; from += SU_STATES_AT_ONCE) {
        int64_t more = samples - from < SU_STATES_AT_ONCE ? samples - from : SU_STATES_AT_ONCE;
        float *force = rows->force + width * from;
        su_states_expand(space, make->U, more, make->q + from * r, y);
#pragma omp parallel for num_threads(space->threads) schedule(dynamic)
        for (int64_t k = 0; k < more; k++) {
            for (int64_t i = 0; i < size; i++) y[k * size + i] += make->place->rest[i];
            sample_force(make, y + k * size, f + k * size, force + width * k);
        }
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)more, (int)r, (int)size, 1, f, (int)size, make->U,
                    (int)size, 0, whole, (int)r);
        if (make->part.kind == SU_FORCE_REMAINDER)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)more, (int)r, (int)r, 1, make->q + from * r,
                        (int)r, make->part.stiffness, (int)r, 0, less, (int)r);
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
    row_maker make = {
        .space = space, .place = place, .points = points, .part = {SU_FORCE_WHOLE, NULL, NULL}, .rows = rows};
    double *q = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&q, samples * r, "sample states", err));
    make.q = q;
    SU_GO(maker_create(&make, samples, err));
    SU_GO(enter(&make, err));
    SU_GO(su_sample_states(space, make.U, place->rest, sampling, q, err));
    SU_GO(fill_forces(&make, err));
    SU_GO(su_rows_basis(r, space->n, make.U, points, &rows->basis, err));
    for (int64_t i = sampling->samples * r; i < samples * r; i++) rows->target[i] *= sampling->soft_weight;
    for (int64_t i = sampling->samples * width; i < samples * width; i++)
        rows->force[i] *= (float)sampling->soft_weight;
done:
    if (status != SU_OK) su_station_rows_free(rows);
    maker_free(&make);
    free(q);
    return status;
}

/* rows->metric (samples,r,r): C'V'/l V of the eigenpairs V (one a row) of the projected tangent and M at each state
 * (for linear forces: at rest) and of the norm C, so that |metric f| is how far a force would move the flesh from
 * there; *l[0] times that, to stay in range. lengths (samples): l[0] times the displacement itself. */
static su_status state_metrics(row_maker *make, su_error *err)
{
    su_pose_space *space = make->space;
    const double *U = make->U, *q = make->q, *C = make->part.norm;
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
            SU_GO(su_ritz_pairs(space, U, y, V, l, err));
            cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, R, R, R, 1, C, R, V, R, 0, A, R);
            for (int64_t i = 0; i < r; i++)
                for (int64_t b = 0; b < r; b++) A[b * r + i] *= l[0] / fmax(l[i], SU_LEAST_EIGENVALUE * l[r - 1]);
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, R, R, R, 1, A, R, V, R, 0, metric, R);
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
    SU_GO(enter(&make, err));
    SU_GO(state_metrics(&make, err));
    SU_GO(fill_forces(&make, err));
done:
    if (status != SU_OK) su_station_rows_free(rows);
    maker_free(&make);
    return status;
}
