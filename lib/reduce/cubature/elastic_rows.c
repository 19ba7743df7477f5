#include "reduce/cubature/elastic_rows.h"

#include "core/memory.h"
#include "core/random.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "reduce/align/align.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 8 };     /* samples held in the full space at a time, each thread one of them */
enum { CORNERS = 12 }; /* numbers of the forces on the corners of a tet */

void su_station_rows_free(su_station_rows *rows)
{
    free(rows->basis), free(rows->force), free(rows->target), free(rows->metric), free(rows->blend);
    *rows = (su_station_rows){0};
}

void su_rows_basis(int64_t r, int64_t n, const double *U, int64_t vertices, const int32_t *vertex, float *basis)
{
    for (int64_t v = 0; v < vertices; v++)
        for (int i = 0; i < 3; i++)
            for (int64_t k = 0; k < r; k++) basis[(3 * v + i) * r + k] = (float)U[3 * (k * n + vertex[v]) + i];
}

/* U'KU (r,r) at the rest shape. */
static su_status reduced_stiffness(su_pose_space *space, const double *rest, const double *U, double *out,
                                   su_error *err)
{
    int64_t r = space->r, n = space->n, count = space->elastic.free_count, size = 3 * count;
    su_sparse K = {0};
    double *columns = NULL, *products = NULL;
    su_status status;
    SU_GO(su_sparse_clone_pattern(&space->elastic.pattern, &K, err));
    SU_GO(SU_ALLOC(&columns, r * size, "reduced stiffness", err));
    SU_GO(SU_ALLOC(&products, r * size, "reduced stiffness", err));
    su_elastic_stiffness(&space->elastic, rest, true, &K, space->threads);
    for (int64_t k = 0; k < r; k++)
        for (int64_t f = 0; f < count; f++)
            for (int i = 0; i < 3; i++)
                columns[k * size + 3 * f + i] = U[3 * (k * n + space->elastic.free_vertex[f]) + i];
    SU_GO(su_sparse_multiply_many(&K, r, columns, products, space->threads, err));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)r, (int)r, (int)size, 1, columns, (int)size, products,
                (int)size, 0, out, (int)r);
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < i; j++) out[i * r + j] = out[j * r + i] = 0.5 * (out[i * r + j] + out[j * r + i]);
done:
    free(columns), free(products);
    su_sparse_free(&K);
    return status;
}

/* Fixes the sign of each eigenvector, which solvers leave open: its largest entry is positive. Rows of V. */
static void fix_signs(int64_t r, double *V)
{
    for (int64_t k = 0; k < r; k++) {
        int64_t largest = 0;
        for (int64_t i = 1; i < r; i++)
            if (fabs(V[k * r + i]) > fabs(V[k * r + largest]) * (1 + 1e-9)) largest = i;
        bool turn = V[k * r + largest] < 0;
        for (int64_t i = 0; turn && i < r; i++) V[k * r + i] = -V[k * r + i];
    }
}

/* Largest vertex motion of one state. */
static double largest_motion(int64_t n, const double *u)
{
    double most = 0;
    for (int64_t v = 0; v < n; v++) most = fmax(most, su_dot3(u + 3 * v, u + 3 * v));
    return sqrt(most);
}

/* u (count, 3n) = q U for `count` states. */
static void expand(const su_pose_space *space, const double *U, int64_t count, const double *q, double *u)
{
    int64_t size = 3 * space->n;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)count, (int)size, (int)space->r, 1, q, (int)space->r, U,
                (int)size, 0, u, (int)size);
}

/* Scales the states to the wanted amplitude, then each by its factor. */
static su_status scale_states(const su_pose_space *space, const double *U, const su_sampling *sampling, double *q,
                              su_error *err)
{
    int64_t size = 3 * space->n, r = space->r;
    double *u, sum = 0;
    SU_TRY(SU_ALLOC(&u, UNIT * size, "sample states", err));
    for (int64_t from = 0; from < sampling->samples; from += UNIT) {
        int64_t count = sampling->samples - from < UNIT ? sampling->samples - from : UNIT;
        expand(space, U, count, q + from * r, u);
        for (int64_t k = 0; k < count; k++) {
            double most = largest_motion(space->n, u + k * size);
            sum += most * most;
        }
    }
    free(u);
    double rms = sqrt(sum / (double)sampling->samples),
           scale = rms > 0 ? sampling->amplitude * space->diagonal / rms : 0;
    for (int64_t k = 0; k < sampling->samples; k++) {
        double factor = sampling->factor_count > 0 ? sampling->factors[k % sampling->factor_count] : 1;
        for (int64_t i = 0; i < r; i++) q[k * r + i] *= scale * factor;
    }
    return SU_OK;
}

/* Motions that resonate answer an error of their stiffness many times over, and random states of all motions hardly
 * show it. V (r,r) eigenvectors as rows; q (soft, r). */
static su_status soft_states(const su_pose_space *space, const double *U, const su_sampling *sampling, const double *V,
                             double *q, su_error *err)
{
    int64_t r = space->r;
    double *u;
    SU_TRY(SU_ALLOC(&u, 3 * space->n, "sample states", err));
    for (int64_t k = 0; k < sampling->soft; k++) {
        expand(space, U, 1, V + k * r, u);
        double most = largest_motion(space->n, u),
               size = most > 0 ? 0.5 * sampling->amplitude * space->diagonal / most : 0;
        for (int64_t j = 0; j < r; j++) q[k * r + j] = (k % 2 ? -size : size) * V[k * r + j];
    }
    free(u);
    return SU_OK;
}

/* Eigenpairs of (U'KU, U'MU): V (r,r) one a row, l (r) ascending. M (r,r), may be NULL: U'MU. */
static su_status ritz_pairs(su_pose_space *space, const double *U, const double *rest, double *V, double *l, double *M,
                            su_error *err)
{
    int64_t r = space->r;
    double *G;
    SU_TRY(SU_ALLOC(&G, r * r, "sample states", err));
    su_status status;
    SU_GO(reduced_stiffness(space, rest, U, V, err));
    SU_GO(su_mass_product(space->n, space->elastic.mass, r, U, r, U, G, space->threads, err));
    if (M) memcpy(M, G, (size_t)(r * r) * sizeof *M);
    /* Symmetric, so row-major is column-major; eigenvectors come out as rows here. */
    int info = LAPACKE_dsygvd(LAPACK_COL_MAJOR, 1, 'V', 'L', (int)r, V, (int)r, G, (int)r, l);
    if (info != 0) {
        status = su_fail(err, SU_NUMERICS,
                         info > r ? "the basis has dependent columns (column %d of %d)"
                                  : "reduced eigenvalues do not converge (%d of %d)",
                         info > r ? (int)(info - r) : info, (int)r);
        goto done;
    }
    fix_signs(r, V);
done:
    free(G);
    return status;
}

su_status su_sample_states(su_pose_space *space, const double *U, const double *rest, const su_sampling *sampling,
                           double *q, double *eigenvalues, su_error *err)
{
    int64_t r = space->r;
    double *V = NULL, *l = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&V, r * r, "sample states", err));
    SU_GO(SU_ALLOC(&l, r, "sample states", err));
    SU_GO(ritz_pairs(space, U, rest, V, l, NULL, err));
    memset(q, 0, (size_t)(sampling->samples * r) * sizeof *q);
    su_random random = su_random_seed(sampling->seed, sampling->stream);
    for (int64_t k = 0; k < sampling->samples; k++)
        for (int64_t i = 0; i < r; i++) {
            double least = fmax(l[i], 1e-9 * l[r - 1]), z = su_random_normal(&random) / least;
            if (sampling->steep && k % 2) z *= fmax(l[0], 1e-9 * l[r - 1]) / least;
            for (int64_t j = 0; j < r; j++) q[k * r + j] += z * V[i * r + j];
        }
    SU_GO(scale_states(space, U, sampling, q, err));
    if (eigenvalues) memcpy(eigenvalues, l, (size_t)r * sizeof *l);
    if (sampling->soft) SU_GO(soft_states(space, U, sampling, V, q + sampling->samples * r, err));
done:
    free(V), free(l);
    return status;
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
 * corners of candidate tets into `kept`. slot_of (t) is the candidate's number or -1. turn (n,4), NULL: nothing: what
 * `kept` holds already, turned so vertex by vertex, is taken off there. */
static void sample_force(const su_pose_space *space, const double *y, su_force_kind kind, const int32_t *slot_of,
                         const double *turn, double *f, float *kept)
{
    const su_elastic *elastic = &space->elastic;
    memset(f, 0, (size_t)(3 * space->n) * sizeof *f);
    for (int64_t e = 0; e < space->t; e++) {
        const int32_t *tet = elastic->tets + 4 * e;
        double F[9], P[9], own[12];
        float *out = kept + CORNERS * (int64_t)slot_of[e];
        su_elastic_gradient(elastic, y, e, F);
        if (kind == SU_FORCE_LINEAR)
            linear_stress(elastic, e, F, P);
        else
            su_material_stress(elastic->material, elastic->mu[e], elastic->lambda[e], F, P);
        corner_forces(elastic, e, P, own);
        for (int c = 0; c < 4; c++) {
            for (int i = 0; i < 3; i++) f[3 * (int64_t)tet[c] + i] += own[3 * c + i];
            if (slot_of[e] < 0) continue;
            double R[9], less[3] = {0};
            if (turn) {
                su_quaternion_matrix(turn + 4 * (int64_t)tet[c], R);
                su_mulv3(R, (const double[]){out[3 * c], out[3 * c + 1], out[3 * c + 2]}, less);
            }
            for (int i = 0; i < 3; i++) out[3 * c + i] = (float)(own[3 * c + i] - less[i]);
        }
    }
}

/* The linear part K_e U q of all candidates' forces at the neutral pose, force (samples,count,4,3). Leaves the space
 * there. */
static su_status neutral_forces(su_pose_space *space, const double *q, int64_t samples, int64_t count,
                                const int32_t *list, float *force, su_error *err)
{
    int64_t size = 3 * space->n;
    su_place neutral = {0};
    double *U = NULL, *rotation = NULL, *y = NULL;
    su_status status;
    SU_GO(su_place_at_pose(space, 0, &neutral, err));
    SU_GO(SU_ALLOC(&U, space->r * size, "basis", err));
    SU_GO(SU_ALLOC(&rotation, 4 * space->n, "rotations", err));
    SU_GO(SU_ALLOC(&y, UNIT * size, "sample forces", err));
    SU_GO(su_pose_space_enter(space, &neutral, U, rotation, err));
    for (int64_t from = 0; from < samples; from += UNIT) {
        int64_t more = samples - from < UNIT ? samples - from : UNIT;
        expand(space, U, more, q + from * space->r, y);
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

/* Forces of all samples and their reduced sums, unit by unit, in the metrics of the rows. lengths (samples), NULL: what
 * they are relative to, instead of the whole force. */
static su_status fill_forces(su_pose_space *space, const double *rest, const double *U, const double *rotation,
                             const double *q, int64_t samples, su_force_part part, const double *lengths, int64_t count,
                             const int32_t *slot_of, su_station_rows *rows, su_error *err)
{
    int64_t size = 3 * space->n, r = space->r;
    const double *turn = part.kind == SU_FORCE_REMAINDER ? rotation : NULL;
    double *y = NULL, *f = NULL, *whole = NULL, *less = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&y, UNIT * size, "sample forces", err));
    SU_GO(SU_ALLOC(&f, UNIT * size, "sample forces", err));
    SU_GO(SU_ALLOC(&whole, UNIT * r, "sample forces", err));
    SU_GO(SU_ALLOC(&less, UNIT * r, "sample forces", err));
    for (int64_t from = 0; from < samples; from += UNIT) {
        int64_t more = samples - from < UNIT ? samples - from : UNIT;
        float *force = rows->force + CORNERS * from * count;
        expand(space, U, more, q + from * r, y);
#pragma omp parallel for num_threads(space->threads) schedule(dynamic)
        for (int64_t k = 0; k < more; k++) {
            for (int64_t i = 0; i < size; i++) y[k * size + i] += rest[i];
            sample_force(space, y + k * size, part.kind, slot_of, turn, f + k * size, force + CORNERS * k * count);
        }
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)more, (int)r, (int)size, 1, f, (int)size, U,
                    (int)size, 0, whole, (int)r);
        if (turn)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)more, (int)r, (int)r, 1, q + from * r, (int)r,
                        part.stiffness, (int)r, 0, less, (int)r);
        for (int64_t k = 0; k < more && rows->metric; k++) {
            change_metric(r, rows->metric + (from + k) * r * r, whole + k * r, y);
            change_metric(r, rows->metric + (from + k) * r * r, less + k * r, y);
        }
        for (int64_t k = 0; k < more; k++)
            finish_sample(r, whole + k * r, less + k * r, lengths ? lengths[from + k] : 0, CORNERS * count,
                          rows->target + (from + k) * r, force + CORNERS * k * count);
    }
done:
    free(y), free(f), free(whole), free(less);
    return status;
}

/* slot_of (t): a candidate's number, -1 for other tets. */
static void number_candidates(const su_pose_space *space, int64_t count, const int32_t *list, int32_t *slot_of)
{
    for (int64_t e = 0; e < space->t; e++) slot_of[e] = -1;
    for (int64_t k = 0; k < count; k++) slot_of[list[k]] = (int32_t)k;
}

su_status su_place_stiffness(su_pose_space *space, const su_place *place, double *stiffness, su_error *err)
{
    double *U = NULL, *rotation = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&U, 3 * space->r * space->n, "basis", err));
    SU_GO(SU_ALLOC(&rotation, 4 * space->n, "rotations", err));
    SU_GO(su_pose_space_enter(space, place, U, rotation, err));
    SU_GO(reduced_stiffness(space, place->rest, U, stiffness, err));
done:
    free(U), free(rotation);
    return status;
}

/* What is owned is released by su_station_rows_free, after errors too. */
static su_status rows_create(int64_t r, int64_t samples, int64_t count, int64_t vertices, su_station_rows *rows,
                             su_error *err)
{
    rows->samples = samples;
    SU_TRY(SU_ALLOC(&rows->basis, 3 * r * vertices, "basis", err));
    SU_TRY(SU_ALLOC(&rows->force, samples * count * CORNERS, "sample forces", err));
    return SU_ALLOC(&rows->target, samples * r, "sample forces", err);
}

su_status su_elastic_rows(su_pose_space *space, const su_place *place, const su_sampling *sampling, su_force_part part,
                          int64_t count, const int32_t *list, int64_t vertices, const int32_t *vertex,
                          su_station_rows *rows, su_error *err)
{
    int64_t r = space->r, samples = sampling->samples + sampling->soft;
    double *U = NULL, *rotation = NULL, *q = NULL;
    int32_t *slot_of = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&U, 3 * r * space->n, "basis", err));
    SU_GO(SU_ALLOC(&rotation, 4 * space->n, "rotations", err));
    SU_GO(SU_ALLOC(&q, samples * r, "sample states", err));
    SU_GO(SU_ALLOC(&slot_of, space->t, "candidates", err));
    SU_GO(rows_create(r, samples, count, vertices, rows, err));
    SU_GO(su_pose_space_enter(space, place, U, rotation, err));
    SU_GO(su_sample_states(space, U, place->rest, sampling, q, NULL, err));
    number_candidates(space, count, list, slot_of);
    if (part.kind == SU_FORCE_REMAINDER) {
        SU_GO(neutral_forces(space, q, samples, count, list, rows->force, err));
        SU_GO(su_pose_space_enter(space, place, U, rotation, err));
    }
    SU_GO(fill_forces(space, place->rest, U, rotation, q, samples, part, NULL, count, slot_of, rows, err));
    for (int64_t i = sampling->samples * r; i < samples * r; i++) rows->target[i] *= sampling->soft_weight;
    for (int64_t i = sampling->samples * CORNERS * count; i < samples * CORNERS * count; i++)
        rows->force[i] *= (float)sampling->soft_weight;
    su_rows_basis(r, space->n, U, vertices, vertex, rows->basis);
done:
    if (status != SU_OK) su_station_rows_free(rows);
    free(U), free(rotation), free(q), free(slot_of);
    return status;
}

/* still: of the tangent at rest instead. metrics (samples,r,r): V'/l of the eigenpairs of the projected tangent and M
 * at each state, so that |metric f| is how far in M a force would move the flesh from there; *l[0] times that, to stay
 * in range. lengths (samples): l[0] times the displacement itself. */
static su_status state_metrics(su_pose_space *space, const double *rest, const double *U, int64_t samples,
                               const double *q, bool still, float *metrics, double *lengths, su_error *err)
{
    int64_t r = space->r, size = 3 * space->n;
    double *y = NULL, *V = NULL, *l = NULL, *M = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&y, size, "sample states", err));
    SU_GO(SU_ALLOC(&V, r * r, "sample states", err));
    SU_GO(SU_ALLOC(&M, r * r, "sample states", err));
    SU_GO(SU_ALLOC(&l, r, "sample states", err));
    for (int64_t k = 0; k < samples; k++) {
        memcpy(y, rest, (size_t)size * sizeof *y);
        if (!still) cblas_dgemv(CblasRowMajor, CblasTrans, (int)r, (int)size, 1, U, (int)size, q + k * r, 1, 1, y, 1);
        if (!still || k == 0) SU_GO(ritz_pairs(space, U, y, V, l, M, err));
        cblas_dsymv(CblasRowMajor, CblasUpper, (int)r, 1, M, (int)r, q + k * r, 1, 0, y, 1);
        lengths[k] = l[0] * sqrt(fmax(cblas_ddot((int)r, q + k * r, 1, y, 1), 0));
        for (int64_t i = 0; i < r; i++)
            for (int64_t j = 0; j < r; j++)
                metrics[(k * r + i) * r + j] = (float)(V[i * r + j] * l[0] / fmax(l[i], 1e-9 * l[r - 1]));
    }
done:
    free(y), free(V), free(l), free(M);
    return status;
}

su_status su_state_rows(su_pose_space *space, const su_place *place, int64_t samples, const double *q,
                        su_force_part part, int64_t count, const int32_t *list, int64_t vertices, const int32_t *vertex,
                        su_station_rows *rows, su_error *err)
{
    int64_t r = space->r;
    double *U = NULL, *rotation = NULL, *lengths = NULL;
    int32_t *slot_of = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&U, 3 * r * space->n, "basis", err));
    SU_GO(SU_ALLOC(&rotation, 4 * space->n, "rotations", err));
    SU_GO(SU_ALLOC(&lengths, samples, "sample states", err));
    SU_GO(SU_ALLOC(&slot_of, space->t, "candidates", err));
    SU_GO(rows_create(r, samples, count, vertices, rows, err));
    SU_GO(SU_ALLOC(&rows->metric, samples * r * r, "basis", err));
    if (part.kind == SU_FORCE_REMAINDER) SU_GO(neutral_forces(space, q, samples, count, list, rows->force, err));
    SU_GO(su_pose_space_enter(space, place, U, rotation, err));
    SU_GO(state_metrics(space, place->rest, U, samples, q, part.kind == SU_FORCE_LINEAR, rows->metric, lengths, err));
    number_candidates(space, count, list, slot_of);
    SU_GO(fill_forces(space, place->rest, U, rotation, q, samples, part, lengths, count, slot_of, rows, err));
    su_rows_basis(r, space->n, U, vertices, vertex, rows->basis);
done:
    if (status != SU_OK) su_station_rows_free(rows);
    free(U), free(rotation), free(lengths), free(slot_of);
    return status;
}

/* B (9,r): what each mode makes of the deformation gradient of tet e; P (9,r): the stress that answers it, times the
 * volume. */
static void strain_and_stress(const su_pose_space *space, const double *U, int64_t e, double weight, double *B,
                              double *P)
{
    const su_elastic *elastic = &space->elastic;
    const int32_t *tet = elastic->tets + 4 * e;
    const double *g = elastic->inverse + 9 * e;
    int64_t r = space->r, n = space->n;
    double mu = weight * elastic->volume[e] * elastic->mu[e], lambda = weight * elastic->volume[e] * elastic->lambda[e];
    memset(B, 0, (size_t)(9 * r) * sizeof *B);
    for (int64_t k = 0; k < r; k++) {
        for (int c = 0; c < 3; c++)
            for (int a = 0; a < 3; a++) {
                double d = U[3 * (k * n + tet[c + 1]) + a] - U[3 * (k * n + tet[0]) + a];
                for (int b = 0; b < 3; b++) B[(3 * a + b) * r + k] += d * g[3 * c + b];
            }
        double G[9], stress[9];
        for (int i = 0; i < 9; i++) G[i] = B[i * r + k];
        su_linear_stress(mu, lambda, G, stress);
        for (int i = 0; i < 9; i++) P[i * r + k] = stress[i];
    }
}

su_status su_tets_stiffness(su_pose_space *space, const su_place *place, int64_t count, const int32_t *tets,
                            const double *weights, double *stiffness, su_error *err)
{
    int64_t r = space->r;
    double *U = NULL, *rotation = NULL, *B = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&U, 3 * r * space->n, "basis", err));
    SU_GO(SU_ALLOC(&rotation, 4 * space->n, "rotations", err));
    SU_GO(SU_ALLOC(&B, 18 * r, "stiffness of tets", err));
    SU_GO(su_pose_space_enter(space, place, U, rotation, err));
    memset(stiffness, 0, (size_t)(r * r) * sizeof *stiffness);
    for (int64_t k = 0; k < count; k++) {
        strain_and_stress(space, U, tets[k], weights[k], B, B + 9 * r);
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)r, (int)r, 9, 1, B, (int)r, B + 9 * r, (int)r, 1,
                    stiffness, (int)r);
    }
done:
    free(U), free(rotation), free(B);
    return status;
}
