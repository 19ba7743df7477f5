/* Skinning eigenmodes against a dense solver, the rows of the rig against their definition, the leak against its
 * equation. */
#include "box.h"
#include "fem/elastic.h"
#include "geometry/tetmesh.h"
#include "reduce/modes/complementarity.h"
#include "reduce/modes/handles.h"
#include "linalg/principal.h"
#include "reduce/modes/local_skinning.h"
#include "reduce/modes/regions.h"
#include "reduce/modes/rig_residuals.h"
#include "reduce/modes/skinning_modes.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MODES = 10, BONES = 3 };

typedef struct body {
    box_mesh box;
    double *young, *poisson, *density, *mass, *leak;
    uint8_t *held;
    int64_t b;
    int32_t *surface;
} body;

static double *take(int64_t count)
{
    double *p = calloc((size_t)count, sizeof *p);
    assert_non_null(p);
    return p;
}

/* Cells nx, ny, nz of 0.1 m, jittered; the last layers along x are held where `clamp`; young varies by tet. */
static body make(int nx, int ny, int nz, bool clamp)
{
    body b = {.box = box_mesh_create(nx, ny, nz, 0.1 * nx, 0.1 * ny, 0.1 * nz)};
    uint64_t state = 5;
    box_mesh_jitter(&b.box, 0.2);
    b.young = box_constant(b.box.t, 1e4), b.poisson = box_constant(b.box.t, 0.3);
    b.density = box_constant(b.box.t, 1000);
    for (int64_t e = 0; e < b.box.t; e++)
        b.young[e] *= 1.5 + box_random(&state), b.poisson[e] += 0.1 * box_random(&state);
    b.held = calloc((size_t)b.box.n, 1);
    for (int64_t v = 0; clamp && v < (ny + 1) * (nz + 1); v++) b.held[v] = 1;
    b.mass = take(b.box.n), b.leak = take(b.box.n);
    su_lumped_mass(b.box.n, b.box.vertices, b.box.t, b.box.tets, b.density, b.mass);
    assert_int_equal(su_tet_boundary(b.box.t, b.box.tets, &b.b, &b.surface, NULL, NULL), SU_OK);
    assert_int_equal(su_leak_diffuse(&(su_tet_mesh){b.box.n, b.box.t, b.box.vertices, b.box.tets}, b.b, b.surface, 0.1,
                                     b.leak, NULL),
                     SU_OK);
    return b;
}

static void body_free(body *b)
{
    box_mesh_free(&b->box);
    free(b->young), free(b->poisson), free(b->density), free(b->mass), free(b->leak), free(b->held), free(b->surface);
}

static double smooth_weight(const body *b, int64_t v, int bone)
{
    double d = b->box.vertices[3 * v] - 0.35 * bone, w = exp(-8 * d * d), sum = 0;
    for (int k = 0; k < BONES; k++) sum += exp(-8 * pow(b->box.vertices[3 * v] - 0.35 * k, 2));
    return w / sum;
}

/* Skin = flesh: each vertex tied to itself. */
static su_rig_motions bones_of(const body *b, bool twice)
{
    int64_t n = b->box.n, bones = twice ? 2 * BONES : BONES;
    int32_t *index = malloc((size_t)n * sizeof *index);
    double *one = take(n);
    float *weights = malloc((size_t)(n * bones) * sizeof *weights);
    su_rig_motions rig;
    for (int64_t v = 0; v < n; v++) {
        index[v] = (int32_t)v, one[v] = 1;
        for (int k = 0; k < bones; k++) weights[v * bones + k] = (float)smooth_weight(b, v, k % BONES);
    }
    const su_skin_ties ties = {n, n, 1, index, one};
    assert_int_equal(su_rig_motions_create(&ties, bones, weights, 0, NULL, &rig, NULL), SU_OK);
    free(index), free(one), free(weights);
    return rig;
}

static su_skinning_problem problem_of(const body *b, const su_complementarity *rig)
{
    return (su_skinning_problem){b->box.n, b->box.t,   b->box.vertices, b->box.tets, b->held,
                                 b->young, b->poisson, b->density,      rig,         SU_COVARIANCE_TRANSLATION,
                                 NULL};
}

static su_complementarity rows_of(const body *b, const su_rig_motions *rig)
{
    su_complementarity rows;
    su_error err = {0};
    if (su_complementarity_create(rig, b->box.vertices, b->mass, b->leak, b->held, &rows, &err))
        fail_msg("%s", err.text);
    return rows;
}

/* The rows as eq. 30 has them, ten a bone: (10 bones, free) over D m w monomials, of length 1. */
static double *defined_rows(const body *b, const su_rig_motions *rig)
{
    double *rows = take(10 * rig->bones * b->box.n);
    for (int64_t bone = 0; bone < rig->bones; bone++)
        for (int64_t k = rig->start[bone]; k < rig->start[bone + 1]; k++) {
            int64_t v = rig->vertex[k];
            const double *x = b->box.vertices + 3 * v;
            const double p[10] = {1,           x[0],        x[1],        x[2],        x[0] * x[0],
                                  x[1] * x[1], x[2] * x[2], x[0] * x[1], x[1] * x[2], x[2] * x[0]};
            for (int i = 0; i < 10 && !b->held[v]; i++)
                rows[(10 * bone + i) * b->box.n + v] = b->leak[v] * b->mass[v] * rig->weight[k] * p[i];
        }
    for (int64_t r = 0; r < 10 * rig->bones; r++) {
        double norm = cblas_dnrm2((int)b->box.n, rows + r * b->box.n, 1);
        if (norm > 0) cblas_dscal((int)b->box.n, 1 / norm, rows + r * b->box.n, 1);
    }
    return rows;
}

/* H_w of the elastic stiffness itself: the sum of its three diagonal blocks, times M^-1/2 on both sides; rows and
 * columns of held vertices are 0 but for a large diagonal. */
static double *dense_stiffness(const body *b)
{
    int64_t n = b->box.n;
    double *H = take(n * n);
    su_elastic elastic;
    su_sparse K;
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {n, b->box.t, b->box.vertices, b->box.tets},
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = b->young,
                                                          .poisson = b->poisson,
                                                          .density = b->density},
                                       NULL),
                     SU_OK);
    su_elastic_set_rest(&elastic, b->box.vertices, NULL, 1);
    assert_int_equal(su_sparse_clone_pattern(&elastic.pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(&elastic, b->box.vertices, false, &K, 1);
    for (int64_t j = 0; j < K.size; j++)
        for (int64_t e = K.start[j]; e < K.start[j + 1]; e++)
            if (K.row[e] % 3 == j % 3) {
                int64_t a = elastic.free_vertex[j / 3], c = elastic.free_vertex[K.row[e] / 3];
                double value = K.value[e] / sqrt(b->mass[a] * b->mass[c]);
                if (b->held[a] || b->held[c]) continue;
                H[a * n + c] += value;
                if (a != c) H[c * n + a] += value;
            }
    for (int64_t v = 0; v < n; v++)
        if (b->held[v]) H[v * n + v] = 1e6;
    su_sparse_free(&K);
    su_elastic_free(&elastic);
    return H;
}

/* Eigenvalues of H in the null space of the rows over M^1/2, by QR and LAPACK; the vectors (count,n) in W. */
static void dense_modes(const body *b, const double *rows, int64_t row_count, double *values, double *W)
{
    int n = (int)b->box.n, r = (int)row_count, left = n;
    double *H = dense_stiffness(b), *Q = take((int64_t)n * n), *tau = take(n + 1), *part = take((int64_t)n * n),
           *all = take(n);
    lapack_int *pivot = calloc((size_t)r + 1, sizeof *pivot);
    for (int k = 0; k < r; k++)
        for (int v = 0; v < n; v++) Q[k * n + v] = rows[k * n + v] / sqrt(b->mass[v]);
    if (r) {
        assert_int_equal(LAPACKE_dgeqp3(LAPACK_COL_MAJOR, n, r, Q, n, pivot, tau), 0);
        int rank = 0;
        while (rank < r && fabs(Q[rank * n + rank]) > 1e-9 * fabs(Q[0])) rank++;
        assert_int_equal(LAPACKE_dorgqr(LAPACK_COL_MAJOR, n, n, rank, Q, n, tau), 0);
        left = n - rank;
        memmove(Q, Q + (int64_t)rank * n, (size_t)left * (size_t)n * sizeof *Q);
    } else
        for (int k = 0; k < n; k++) Q[k * n + k] = 1;
    double *small = take((int64_t)left * left);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, left, n, 1, H, n, Q, n, 0, part, n);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, left, left, n, 1, Q, n, part, n, 0, small, left);
    assert_int_equal(LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', left, small, left, all), 0);
    memcpy(values, all, MODES * sizeof *values);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, MODES, left, 1, Q, n, small, left, 0, W, n);
    for (int k = 0; k < MODES; k++)
        for (int v = 0; v < n; v++) W[k * n + v] /= sqrt(b->mass[v]);
    free(H), free(Q), free(tau), free(part), free(all), free(pivot), free(small);
}

/* Largest |W'M V| off a turn in itself: the part of W (n,k) outside the span of the dense vectors V (k,n). */
static double outside(const body *b, const double *W, const double *V)
{
    double most = 0;
    for (int k = 0; k < MODES; k++) {
        double square = 0, in = 0;
        for (int64_t v = 0; v < b->box.n; v++) square += b->mass[v] * W[v * MODES + k] * W[v * MODES + k];
        for (int j = 0; j < MODES; j++) {
            double dot = 0;
            for (int64_t v = 0; v < b->box.n; v++) dot += b->mass[v] * W[v * MODES + k] * V[j * b->box.n + v];
            in += dot * dot;
        }
        most = fmax(most, sqrt(fmax(square - in, 0)));
    }
    return most;
}

static void solve(const su_skinning_problem *problem, double *values, double *W, su_skinning_report *report)
{
    su_error err = {0};
    if (su_skinning_modes(problem, MODES, values, W, report, &err)) fail_msg("%s", err.text);
}

static void eigenpairs_are_those_of_a_dense_solver(void **state)
{
    static const struct {
        bool clamp, rig;
    } cases[] = {{true, false}, {true, true}, {false, true}, {false, false}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        body b = make(10, 7, 6, cases[c].clamp);
        su_rig_motions rig = bones_of(&b, false);
        su_complementarity rows = rows_of(&b, &rig);
        su_skinning_problem problem = problem_of(&b, cases[c].rig ? &rows : NULL);
        double values[MODES], exact[MODES], *W = take(MODES * b.box.n), *V = take(MODES * b.box.n),
                                            *defined = defined_rows(&b, &rig);
        su_skinning_report report;
        solve(&problem, values, W, &report);
        assert_true(report.steps > 0); /* not the dense path of small bodies */
        dense_modes(&b, defined, cases[c].rig ? 10 * BONES : 0, exact, V);
        for (int k = 0; k < MODES; k++) assert_true(fabs(values[k] - exact[k]) < 1e-10 * exact[MODES - 1]);
        /* nor the many steps of a preconditioner that knows little of the rows */
        assert_true(report.steps < 12);
        assert_true(outside(&b, W, V) < 1e-7);
        for (int i = 0; i < MODES; i++)
            for (int j = 0; j <= i; j++) {
                double dot = 0;
                for (int64_t v = 0; v < b.box.n; v++) dot += b.mass[v] * W[v * MODES + i] * W[v * MODES + j];
                assert_true(fabs(dot - (i == j)) < 1e-11);
            }
        for (int64_t v = 0; v < b.box.n; v++)
            for (int k = 0; b.held[v] && k < MODES; k++) assert_true(W[v * MODES + k] == 0);
        free(W), free(V), free(defined);
        su_complementarity_free(&rows);
        su_rig_motions_free(&rig);
        body_free(&b);
    }
}

/* However few are wanted: they are the first of many, and of length 1. */
static void few_modes_are_the_first_of_many(void **state)
{
    body b = make(10, 7, 6, true);
    su_skinning_problem problem = problem_of(&b, NULL);
    double many[MODES], *W = take(MODES * b.box.n);
    (void)state;
    solve(&problem, many, W, NULL);
    for (int wanted = 1; wanted < 4; wanted++) {
        double few[MODES];
        su_skinning_report report;
        su_error err = {0};
        if (su_skinning_modes(&problem, wanted, few, W, &report, &err)) fail_msg("%s", err.text);
        assert_true(report.steps > 0);
        for (int k = 0; k < wanted; k++) {
            double square = 0;
            for (int64_t v = 0; v < b.box.n; v++) square += b.mass[v] * W[v * wanted + k] * W[v * wanted + k];
            assert_true(fabs(few[k] - many[k]) < 1e-9 * many[wanted - 1]);
            assert_true(fabs(square - 1) < 1e-11);
        }
    }
    free(W);
    body_free(&b);
}

/* Twelve equal bodies have each eigenvalue twelve times, which is more than the solver has vectors at work. */
static void none_of_many_equal_modes_is_missed(void **state)
{
    enum { COPIES = 12 };
    body one = make(5, 4, 4, true), b = {0};
    int64_t n = one.box.n, t = one.box.t;
    double values[MODES], *W = take(COPIES * n * MODES);
    (void)state;
    b.box = one.box, b.box.n = COPIES * n, b.box.t = COPIES * t;
    b.box.vertices = take(3 * COPIES * n), b.box.tets = malloc((size_t)(4 * COPIES * t) * sizeof *b.box.tets);
    b.young = take(COPIES * t), b.poisson = take(COPIES * t), b.density = take(COPIES * t);
    b.held = calloc((size_t)(COPIES * n), 1);
    for (int64_t c = 0; c < COPIES; c++) {
        for (int64_t v = 0; v < n; v++) {
            for (int i = 0; i < 3; i++)
                b.box.vertices[3 * (c * n + v) + i] = one.box.vertices[3 * v + i] + (i == 1 ? 2.0 * (double)c : 0);
            b.held[c * n + v] = one.held[v];
        }
        for (int64_t e = 0; e < t; e++) {
            for (int i = 0; i < 4; i++) b.box.tets[4 * (c * t + e) + i] = one.box.tets[4 * e + i] + (int32_t)(c * n);
            b.young[c * t + e] = one.young[e], b.poisson[c * t + e] = one.poisson[e];
            b.density[c * t + e] = one.density[e];
        }
    }
    su_skinning_problem problem = problem_of(&b, NULL);
    su_skinning_report report;
    solve(&problem, values, W, &report);
    assert_true(report.steps > 0);
    for (int k = 1; k < MODES; k++) assert_true(fabs(values[k] - values[0]) < 1e-10 * values[0]);
    free(W), free(b.box.vertices), free(b.box.tets), free(b.young), free(b.poisson), free(b.density), free(b.held);
    body_free(&one);
}

/* Size of rows times vectors over the sizes of both. */
static double seen(const body *b, const double *rows, int64_t count, const double *W)
{
    double most = 0;
    for (int k = 0; k < MODES; k++) {
        double norm = cblas_dnrm2((int)b->box.n, W + k, MODES);
        for (int64_t r = 0; r < count; r++)
            most = fmax(most, fabs(cblas_ddot((int)b->box.n, rows + r * b->box.n, 1, W + k, MODES)) / norm);
    }
    return most;
}

static void the_rig_sees_nothing_of_the_modes(void **state)
{
    body b = make(10, 7, 6, true);
    su_rig_motions rig = bones_of(&b, false);
    su_complementarity rows = rows_of(&b, &rig);
    su_skinning_problem problem = problem_of(&b, &rows);
    double values[MODES], *W = take(MODES * b.box.n), *defined = defined_rows(&b, &rig);
    (void)state;
    solve(&problem, values, W, NULL);
    assert_true(seen(&b, defined, 10 * BONES, W) < 1e-10);
    assert_int_equal(rows.motions, 4 * BONES);
    assert_true(seen(&b, rows.rig_rows, rows.motions, W) < 1e-10);
    /* Nor of any motion of the subspace: u = w (X, 1)' T */
    for (int64_t r = 0; r < rows.motions; r++)
        for (int i = 0; i < 3; i++) {
            double sum = 0, size = 0;
            for (int64_t v = 0; v < b.box.n; v++) {
                double u = W[v * MODES + 4] * b.box.vertices[3 * v + i];
                sum += rows.rig_rows[r * b.box.n + v] * u, size += u * u;
            }
            assert_true(fabs(sum) < 1e-10 * sqrt(size));
        }
    problem.rig = NULL; /* and without the rows it does */
    solve(&problem, values, W, NULL);
    assert_true(seen(&b, defined, 10 * BONES, W) > 1e-2);
    free(W), free(defined);
    su_complementarity_free(&rows);
    su_rig_motions_free(&rig);
    body_free(&b);
}

static void dependent_rows_are_dropped(void **state)
{
    body b = make(10, 7, 6, true);
    su_rig_motions once = bones_of(&b, false), twice = bones_of(&b, true);
    su_complementarity one = rows_of(&b, &once), two = rows_of(&b, &twice);
    su_skinning_problem problem = problem_of(&b, &one);
    double values[MODES], again[MODES], *W = take(MODES * b.box.n);
    (void)state;
    assert_int_equal(one.rows, 10 * BONES);
    assert_int_equal(two.rows, one.rows);
    assert_int_equal(two.motions, one.motions);
    solve(&problem, values, W, NULL);
    problem.rig = &two;
    solve(&problem, again, W, NULL);
    for (int k = 0; k < MODES; k++) assert_true(fabs(values[k] - again[k]) < 1e-9 * values[k]);
    for (int64_t r = 0; r < one.motions; r++)
        assert_true(fabs(cblas_dnrm2((int)b.box.n, one.rig_rows + r * b.box.n, 1) - 1) < 1e-12);
    free(W);
    su_complementarity_free(&one);
    su_complementarity_free(&two);
    su_rig_motions_free(&once);
    su_rig_motions_free(&twice);
    body_free(&b);
}

static void shapes_bind_all_components(void **state)
{
    enum { SHAPES = 3 };
    body b = make(10, 7, 6, true);
    int64_t n = b.box.n;
    su_rig_motions rig = {.n = n, .shapes = SHAPES, .start = calloc(1, sizeof *rig.start)};
    double values[MODES], *W = take(MODES * n);
    (void)state;
    rig.shape = take(3 * SHAPES * n);
    for (int64_t v = 0; v < n; v++) {
        const double *x = b.box.vertices + 3 * v;
        for (int i = 0; i < 3; i++) {
            rig.shape[3 * v + i] = sin(3 * x[0] + i), rig.shape[3 * (n + v) + i] = x[1] * x[0] * (i + 1);
            rig.shape[3 * (2 * n + v) + i] = rig.shape[3 * v + i] - 2 * rig.shape[3 * (n + v) + i]; /* dependent */
        }
    }
    su_complementarity rows = rows_of(&b, &rig);
    su_skinning_problem problem = problem_of(&b, &rows);
    assert_int_equal(rows.motions, 0);
    assert_int_equal(rows.shapes, 2);
    /* The components of the first span sin and cos alone, those of the second one function, the third nothing new:
     * three fields times four monomials. */
    assert_int_equal(rows.rows, 3 * 4);
    solve(&problem, values, W, NULL);
    for (int s = 0; s < SHAPES; s++)
        for (int k = 0; k < MODES; k++)
            for (int j = 0; j < 12; j++) { /* u = w e_i (X, 1)_c */
                double sum = 0, size = 0;
                int i = j / 4, c = j % 4;
                for (int64_t v = 0; v < n; v++) {
                    double u = W[v * MODES + k] * (c < 3 ? b.box.vertices[3 * v + c] : 1);
                    double row = b.leak[v] * b.mass[v] * rig.shape[3 * (s * n + v) + i];
                    sum += row * u, size += u * u * b.mass[v] * b.mass[v];
                }
                assert_true(fabs(sum) < 1e-10 * sqrt(size));
            }
    free(W);
    su_complementarity_free(&rows);
    su_rig_motions_free(&rig);
    body_free(&b);
}

static void free_flesh_has_all_affine_motions(void **state)
{
    body b = make(8, 6, 5, false);
    su_skinning_problem problem = problem_of(&b, NULL);
    double values[MODES], *W = take(MODES * b.box.n), all = 0;
    (void)state;
    solve(&problem, values, W, NULL);
    for (int64_t v = 0; v < b.box.n; v++) all += b.mass[v];
    assert_true(values[0] >= 0 && values[0] < 1e-9 * values[1]);
    for (int64_t v = 0; v < b.box.n; v++) assert_true(fabs(W[v * MODES] * sqrt(all) - 1) < 1e-8);
    free(W);
    body_free(&b);
}

/* One handle with weight 1 takes out everything of second degree, in the mass and the leak. */
static void a_rigid_handle_is_one_bone(void **state)
{
    body b = make(8, 6, 5, false);
    su_rig_motions rig;
    double values[MODES], *W = take(MODES * b.box.n);
    (void)state;
    assert_int_equal(su_rig_motions_rigid(b.box.n, &rig, NULL), SU_OK);
    su_complementarity rows = rows_of(&b, &rig);
    assert_int_equal(rows.rows, 10);
    assert_int_equal(rows.motions, 4);
    su_skinning_problem problem = problem_of(&b, &rows);
    double *defined = defined_rows(&b, &rig);
    solve(&problem, values, W, NULL);
    assert_true(values[0] > 1);
    assert_true(seen(&b, defined, 10, W) < 1e-10);
    free(W), free(defined);
    su_complementarity_free(&rows);
    su_rig_motions_free(&rig);
    body_free(&b);
}

static void modes_know_where_flesh_is_stiff(void **state)
{
    body b = make(12, 5, 5, false);
    su_skinning_problem problem = problem_of(&b, NULL);
    double values[MODES], *W = take(MODES * b.box.n), change[2] = {0};
    (void)state;
    for (int64_t e = 0; e < b.box.t; e++) b.young[e] = b.box.vertices[3 * (int64_t)b.box.tets[4 * e]] < 0.6 ? 1e6 : 1e4;
    solve(&problem, values, W, NULL);
    for (int64_t e = 0; e < b.box.t; e++) { /* of the first mode that is not constant */
        const int32_t *tet = b.box.tets + 4 * e;
        double low = INFINITY, high = -INFINITY;
        for (int c = 0; c < 4; c++) {
            low = fmin(low, W[tet[c] * MODES + 1]), high = fmax(high, W[tet[c] * MODES + 1]);
        }
        change[b.young[e] > 1e5] += high - low;
    }
    assert_true(change[1] < 0.05 * change[0]);
    free(W);
    body_free(&b);
}

/* w' H w of a field is the elastic energy of u = w(X) times the entry, summed over entries: by the stiffness itself. */
static void covariances_are_sums_over_entries(void **state)
{
    body b = make(6, 5, 4, true);
    int64_t n = b.box.n;
    double *mu = take(b.box.t), *lambda = take(b.box.t), low[3] = {INFINITY, INFINITY, INFINITY},
           high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    uint64_t random = 3;
    su_elastic elastic;
    su_sparse K;
    (void)state;
    int32_t *held = malloc((size_t)n * sizeof *held), count = 0;
    for (int32_t v = 0; v < n; v++)
        if (b.held[v]) held[count++] = v;
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {n, b.box.t, b.box.vertices, b.box.tets},
                                                          .held_count = count,
                                                          .held = held,
                                                          .material = SU_COROTATIONAL,
                                                          .young = b.young,
                                                          .poisson = b.poisson,
                                                          .density = b.density},
                                       NULL),
                     SU_OK);
    su_elastic_set_rest(&elastic, b.box.vertices, NULL, 1);
    assert_int_equal(su_sparse_clone_pattern(&elastic.pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(&elastic, b.box.vertices, false, &K, 1);
    for (int64_t e = 0; e < b.box.t; e++)
        mu[e] = SU_LAME_MU(b.young[e], b.poisson[e]), lambda[e] = SU_LAME_LAMBDA(b.young[e], b.poisson[e]);
    for (int64_t k = 0; k < 3 * n; k++)
        low[k % 3] = fmin(low[k % 3], b.box.vertices[k]), high[k % 3] = fmax(high[k % 3], b.box.vertices[k]);
    for (int i = 0; i < 3; i++) square += pow(high[i] - low[i], 2);
    double *w = take(n), *Hw = take(n), *u = take(3 * n), *Ku = take(3 * n);
    for (int kind = 0; kind < 3; kind++) {
        su_weight_stiffness H;
        double energy = 0, sum = 0;
        assert_int_equal(su_weight_stiffness_of((su_covariance)kind,
                                                &(su_tet_mesh){n, b.box.t, b.box.vertices, b.box.tets}, b.held, b.young,
                                                b.poisson, &H, NULL),
                         SU_OK);
        for (int64_t f = 0; f < H.free_count; f++) w[f] = box_random(&random);
        su_sparse_multiply(&H.matrix, w, Hw);
        for (int64_t f = 0; f < H.free_count; f++) energy += w[f] * Hw[f];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) { /* entry (i,j) of the map */
                if ((kind == 0 && j < 3) || (kind == 1 && j != i) || (kind == 2 && (j == 3 || j == i))) continue;
                memset(u, 0, 3 * (size_t)n * sizeof *u);
                for (int64_t f = 0; f < H.free_count; f++) {
                    int64_t v = H.free_vertex[f];
                    double x = j == 3 ? 1 : (b.box.vertices[3 * v + j] - (low[j] + high[j]) / 2) / (sqrt(square) / 2);
                    u[3 * elastic.free_index[v] + i] = w[f] * x;
                }
                su_sparse_multiply(&K, u, Ku);
                for (int64_t k = 0; k < 3 * H.free_count; k++) sum += u[k] * Ku[k];
            }
        assert_true(fabs(energy - sum) < 1e-9 * sum);
        su_weight_stiffness_free(&H);
    }
    su_skinning_problem problem = problem_of(&b, NULL);
    double values[MODES], *W = take(MODES * n);
    for (int kind = 1; kind < 3; kind++) {
        problem.covariance = (su_covariance)kind;
        solve(&problem, values, W, NULL);
        for (int k = 1; k < MODES; k++) assert_true(values[k] >= values[k - 1] && values[0] > 0);
    }
    su_sparse_free(&K);
    su_elastic_free(&elastic);
    free(mu), free(lambda), free(held), free(w), free(Hw), free(u), free(Ku), free(W);
    body_free(&b);
}

/* e of e - length^2 e'' = 1 across a slab: 1 - cosh(x / l) / cosh(h / 2 l). */
static void the_leak_diffuses_from_the_surface(void **state)
{
    enum { N = 21, ACROSS = 21 };
    box_mesh box = box_mesh_create(N, N, ACROSS, 2, 2, 0.3);
    double *leak = take(box.n), length = 0.06, middle = 1 - 1 / cosh(0.15 / length);
    int64_t b;
    int32_t *surface;
    (void)state;
    assert_int_equal(su_tet_boundary(box.t, box.tets, &b, &surface, NULL, NULL), SU_OK);
    assert_int_equal(
        su_leak_diffuse(&(su_tet_mesh){box.n, box.t, box.vertices, box.tets}, b, surface, length, leak, NULL), SU_OK);
    for (int64_t v = 0; v < box.n; v++) assert_true(leak[v] >= 0 && leak[v] <= 1);
    for (int64_t k = 0; k < 3 * b; k++) assert_true(leak[surface[k]] == 0);
    for (int k = 0; k <= ACROSS; k++) {
        int64_t v = ((N / 2) * (N + 1) + N / 2) * (ACROSS + 1) + k;
        double x = box.vertices[3 * v + 2] - 0.15;
        assert_true(fabs(leak[v] - (1 - cosh(x / length) / cosh(0.15 / length)) / middle) < 0.02);
    }
    free(leak), free(surface);
    box_mesh_free(&box);
    box = box_mesh_create(3, 1, 1, 1, 1, 1); /* all on the surface */
    leak = take(box.n);
    assert_int_equal(su_tet_boundary(box.t, box.tets, &b, &surface, NULL, NULL), SU_OK);
    assert_int_equal(
        su_leak_diffuse(&(su_tet_mesh){box.n, box.t, box.vertices, box.tets}, b, surface, length, leak, NULL), SU_OK);
    for (int64_t v = 0; v < box.n; v++) assert_true(leak[v] == 1);
    free(leak), free(surface);
    box_mesh_free(&box);
}

static void more_modes_than_there_are_is_said(void **state)
{
    body b = make(3, 3, 3, true);
    su_rig_motions rig = bones_of(&b, false);
    su_error err = {0};
    for (int64_t v = 0; v < b.box.n; v++) b.leak[v] = 1;
    su_complementarity rows = rows_of(&b, &rig);
    su_skinning_problem problem = problem_of(&b, &rows);
    int64_t left = 48 - rows.rows;
    double *values = take(64), *W = take(64 * b.box.n);
    (void)state;
    assert_int_equal(su_skinning_modes(&problem, left, values, W, NULL, &err), SU_OK);
    for (int64_t k = 1; k < left; k++) assert_true(values[k] >= values[k - 1]);
    assert_int_equal(su_skinning_modes(&problem, left + 1, values, W, NULL, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "ask for at most"));
    b.box.vertices[0] = b.box.vertices[1] = b.box.vertices[2] = 5; /* a tet turned inside out */
    assert_int_equal(su_skinning_modes(&problem, 3, values, W, NULL, &err), SU_INPUT);
    free(values), free(W);
    su_complementarity_free(&rows);
    su_rig_motions_free(&rig);
    body_free(&b);
}

/* Weights (count,n) of regions around points spread over the free flesh. */
static double *spread_regions(const body *b, int64_t count)
{
    su_handle *handles;
    su_error err = {0};
    int32_t *region_of = malloc((size_t)b->box.n * sizeof *region_of);
    double *weight = take(count * b->box.n);
    const su_tet_mesh mesh = {b->box.n, b->box.t, b->box.vertices, b->box.tets};
    if (su_handles_spread(b->box.n, b->box.vertices, b->held, count, &handles, &err) ||
        su_handle_vertices(&(su_tet_mesh){b->box.n, b->box.t, b->box.vertices, b->box.tets}, count, handles, region_of,
                           &err) ||
        su_bounded_biharmonic(&mesh, count, region_of, weight, NULL, 1, &err))
        fail_msg("%s", err.text);
    su_region_sharpen(count * b->box.n, weight, 0.4, 1);
    free(handles), free(region_of);
    return weight;
}

/* Independent rows over all vertices (rows,n), as dense_modes wants them. */
static double *whole_rows(const body *b, const su_complementarity *c)
{
    double *rows = take(c->rows * b->box.n);
    int64_t at = 0;
    for (int64_t p = 0; p < c->panel_count; at += c->panels[p++].rows)
        for (int64_t k = 0; k < c->panels[p].count; k++)
            for (int64_t r = 0; r < c->panels[p].rows; r++) {
                int64_t v = c->panels[p].vertex[k];
                rows[(at + r) * b->box.n + v] = c->panels[p].value[k * c->panels[p].rows + r] * sqrt(b->mass[v]);
            }
    return rows;
}

static void local_modes_are_those_of_their_regions(void **state)
{
    enum { REGIONS = 2, EACH = MODES / REGIONS };
    (void)state;
    body b = make(10, 7, 6, true);
    int64_t n = b.box.n;
    su_rig_motions rig = bones_of(&b, false);
    su_complementarity rows = rows_of(&b, &rig);
    su_skinning_problem problem = problem_of(&b, &rows);
    double *weight = spread_regions(&b, REGIONS), values[MODES], global[MODES], exact[MODES], *W = take(MODES * n),
           *V = take(MODES * n), *defined = defined_rows(&b, &rig);
    const int64_t modes[REGIONS] = {EACH, EACH};
    const su_skinning_regions regions = {REGIONS, weight, modes};
    const su_local_rig local = {&rig, b.mass, b.leak};
    int32_t region[MODES];
    su_error err = {0};
    solve(&problem, global, V, NULL);
    if (su_local_skinning_modes(&problem, &local, &regions, values, W, region, NULL, &err)) fail_msg("%s", err.text);
    assert_true(seen(&b, defined, 10 * BONES, W) < 1e-6); /* rows that depend on others to that are dropped */
    for (int k = 1; k < MODES; k++) assert_true(values[k] >= values[k - 1]);
    for (int g = 0, of_all = 0; g < REGIONS; g++) {
        body part = b; /* what lies outside held: a dense solver has the same lowest values */
        int64_t inside = 0, k = 0;
        part.held = malloc((size_t)n);
        for (int64_t v = 0; v < n; v++) {
            part.held[v] = b.held[v] || weight[g * n + v] == 0, inside += !part.held[v];
            for (int c = 0; part.held[v] && c < MODES; c++) assert_true(region[c] != g || W[v * MODES + c] == 0);
        }
        assert_true(10 * inside < 9 * n && inside > n / 10); /* local, and not nothing */
        su_complementarity there = rows_of(&part, &rig);
        double *own = whole_rows(&part, &there);
        dense_modes(&part, own, there.rows, exact, V);
        su_complementarity_free(&there);
        for (int c = 0; c < MODES; c++)
            if (region[c] == g) {
                assert_true(fabs(values[c] - exact[k]) < 1e-9 * exact[MODES - 1]);
                assert_true(values[c] > global[k]); /* of a part of the space */
                k++, of_all++;
            }
        assert_int_equal(k, EACH);
        assert_true(g < REGIONS - 1 || of_all == MODES);
        free(part.held), free(own);
    }
    free(weight), free(W), free(V), free(defined);
    su_complementarity_free(&rows);
    su_rig_motions_free(&rig);
    body_free(&b);
}

/* What of a field (n) is outside of the span of W (n,MODES), as a part of its length, in the lumped mass. */
static double left_of(const body *b, const double *W, const double *field)
{
    int64_t n = b->box.n;
    double *A = take(n * MODES), *y = take(n), whole = 0, left = 0;
    for (int64_t v = 0; v < n; v++) {
        double root = sqrt(b->mass[v]);
        y[v] = root * field[v], whole += y[v] * y[v];
        for (int c = 0; c < MODES; c++) A[c * n + v] = root * W[v * MODES + c];
    }
    assert_int_equal(LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', (int)n, MODES, 1, A, (int)n, y, (int)n), 0);
    for (int64_t v = MODES; v < n; v++) left += y[v] * y[v];
    free(A), free(y);
    return sqrt(left / whole);
}

/* FCD Fig. 17: what happens in one place, by as many modes of the whole and of that place. */
static void local_modes_carry_what_happens_in_one_place(void **state)
{
    (void)state;
    body b = make(16, 5, 4, true);
    int64_t n = b.box.n;
    su_skinning_problem problem = problem_of(&b, NULL);
    double *weight = take(n), values[MODES], *W = take(MODES * n), *V = take(MODES * n), *bump = take(n);
    const int64_t modes = MODES;
    const su_skinning_regions regions = {1, weight, &modes};
    su_error err = {0};
    for (int64_t v = 0; v < n; v++) {
        const double *x = b.box.vertices + 3 * v;
        double dx = x[0] - 0.9, dy = x[1] - 0.5, dz = x[2] - 0.2, square = dx * dx + dy * dy + dz * dz;
        weight[v] = square < 0.16, bump[v] = exp(-square / 0.04);
    }
    solve(&problem, values, V, NULL);
    if (su_local_skinning_modes(&problem, NULL, &regions, values, W, NULL, NULL, &err)) fail_msg("%s", err.text);
    assert_true(left_of(&b, W, bump) < 0.6 * left_of(&b, V, bump));
    free(weight), free(W), free(V), free(bump);
    body_free(&b);
}

/* The skin of a rig of dual quaternions: two bones of weights that are even along the bar, the second turned about its
 * axis by `angle` and about y by half of that. Linear: the same by linear blend skinning. */
static void twist(const body *b, double angle, bool linear, double *x)
{
    for (int64_t v = 0; v < b->box.n; v++) {
        const double *X = b->box.vertices + 3 * v;
        double w = X[0] / (0.1 * 16), a = linear ? angle : w * angle, share = linear ? w : 1, turned[3];
        double y = cos(a) * (X[1] - 0.25) - sin(a) * (X[2] - 0.2), z = sin(a) * (X[1] - 0.25) + cos(a) * (X[2] - 0.2);
        turned[0] = cos(a / 2) * X[0] + sin(a / 2) * z, turned[1] = 0.25 + y;
        turned[2] = 0.2 - sin(a / 2) * X[0] + cos(a / 2) * z;
        for (int i = 0; i < 3; i++) x[3 * v + i] = (1 - share) * X[i] + share * turned[i];
    }
}

/* What the subspace of W (n,MODES) sees of the rig's velocity as it twists on from an angle, weighted by the leak, as a
 * part of its length: 0 where the modes leave the animator's motion alone. */
static double leaks(const body *b, const double *W, double angle)
{
    enum { COLUMNS = 4 * MODES };
    int64_t n = b->box.n;
    const double step = 1e-5;
    double *A = take(COLUMNS * n), *before = take(3 * n), *after = take(3 * n), *y = take(3 * n), whole = 0, in = 0;
    double size[COLUMNS];
    twist(b, angle - step, false, before), twist(b, angle + step, false, after);
    for (int64_t v = 0; v < n; v++)
        for (int c = 0; c < COLUMNS; c++)
            A[c * n + v] = sqrt(b->mass[v]) * W[v * MODES + c / 4] * (c % 4 < 3 ? b->box.vertices[3 * v + c % 4] : 1);
    for (int64_t k = 0; k < 3 * n; k++) {
        y[k % 3 * n + k / 3] = sqrt(b->mass[k / 3]) * b->leak[k / 3] * (after[k] - before[k]) / step;
        whole += pow(y[k % 3 * n + k / 3], 2);
    }
    double *tau = take(COLUMNS);
    assert_int_equal(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, (int)n, COLUMNS, A, (int)n, tau), 0);
    for (int c = 0; c < COLUMNS; c++) size[c] = fabs(A[c * n + c]);
    assert_true(size[COLUMNS - 1] > 0);
    assert_int_equal(LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'T', (int)n, 3, COLUMNS, A, (int)n, tau, y, (int)n), 0);
    for (int i = 0; i < 3; i++) in += pow(cblas_dnrm2(COLUMNS, y + i * n, 1), 2);
    free(A), free(before), free(after), free(y), free(tau);
    return sqrt(in / whole);
}

/* Modes under the rows of the bones and of what these do not make of the skin at `poses` angles from 0 to 2; the
 * number of shapes. */
static int64_t modes_over_poses(const body *b, int64_t poses, bool linear, double *W)
{
    int64_t n = b->box.n;
    float *skins = calloc((size_t)(3 * poses * n), sizeof *skins), *weights = malloc((size_t)(2 * n) * sizeof *weights);
    double *x = take(3 * n), *one = take(n), values[MODES];
    int32_t *index = malloc((size_t)n * sizeof *index);
    su_principal principal;
    su_rig_motions rig;
    su_error err = {0};
    for (int64_t v = 0; v < n; v++) {
        index[v] = (int32_t)v, one[v] = 1;
        weights[2 * v + 1] = (float)(b->box.vertices[3 * v] / (0.1 * 16)), weights[2 * v] = 1 - weights[2 * v + 1];
    }
    for (int64_t p = 0; p < poses; p++) {
        twist(b, poses > 1 ? 2.0 * (double)p / (double)(poses - 1) : 0, linear, x);
        for (int64_t k = 0; k < 3 * n; k++) skins[3 * p * n + k] = (float)x[k];
    }
    const su_rig_skins of = {n, 2, 0, poses, b->box.vertices, weights, NULL, skins};
    if (su_rig_residuals(&of, skins, &err) ||
        su_principal_shapes(poses, 3 * n, skins, poses, 1e-4, &principal, &err)) /* of 1.6 m */
        fail_msg("%s", err.text);
    for (int64_t k = 0; k < 3 * n; k++) x[k] = 0;
    double *shapes = take(3 * n * (principal.count + 1));
    for (int64_t k = 0; k < principal.count * 3 * n; k++) shapes[k] = (double)principal.shapes[k];
    const su_skin_ties ties = {n, n, 1, index, one};
    if (su_rig_motions_create(&ties, 2, weights, principal.count, shapes, &rig, &err)) fail_msg("%s", err.text);
    su_complementarity rows = rows_of(b, &rig);
    su_skinning_problem problem = problem_of(b, &rows);
    solve(&problem, values, W, NULL);
    int64_t count = principal.count;
    su_complementarity_free(&rows);
    su_rig_motions_free(&rig);
    su_principal_free(&principal);
    free(skins), free(weights), free(x), free(one), free(index), free(shapes);
    return count;
}

static void modes_over_example_poses_leave_rigs_alone_that_are_not_linear(void **state)
{
    static const double unseen[] = {0.25, 0.75, 1.25, 1.75}; /* between five poses */
    (void)state;
    body b = make(16, 5, 4, true);
    double *W = take(MODES * b.box.n), neutral = 0, united = 0;
    assert_int_equal(modes_over_poses(&b, 5, true, W), 0); /* bones make all of a linear rig */
    assert_int_equal(modes_over_poses(&b, 1, false, W), 0);
    assert_true(leaks(&b, W, 0) < 1e-4); /* at the neutral pose dual quaternions are linear */
    for (int k = 0; k < 4; k++) neutral = fmax(neutral, leaks(&b, W, unseen[k]));
    int64_t count = modes_over_poses(&b, 5, false, W);
    assert_true(count >= 1 && count <= 4);
    for (int k = 0; k < 4; k++) united = fmax(united, leaks(&b, W, unseen[k]));
    print_message("leaks at most %.1e of the rig's motion, under %lld shapes %.1e\n", neutral, (long long)count,
                  united);
    assert_true(neutral > 1e-3 && united < 0.1 * neutral);
    free(W);
    body_free(&b);
}

static void regions_too_small_are_told(void **state)
{
    (void)state;
    body b = make(5, 4, 4, true);
    su_skinning_problem problem = problem_of(&b, NULL);
    double *weight = take(b.box.n), values[MODES], *W = take(MODES * b.box.n);
    const int64_t modes = MODES;
    const su_skinning_regions regions = {1, weight, &modes};
    su_error err = {0};
    weight[b.box.n - 1] = 1;
    assert_int_equal(su_local_skinning_modes(&problem, NULL, &regions, values, W, NULL, NULL, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "region 1: "));
    su_handle *handles;
    assert_int_equal(su_handles_spread(b.box.n, b.box.vertices, b.held, b.box.n, &handles, &err), SU_INPUT);
    assert_null(handles);
    free(weight), free(W);
    body_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigenpairs_are_those_of_a_dense_solver),
        cmocka_unit_test(few_modes_are_the_first_of_many),
        cmocka_unit_test(none_of_many_equal_modes_is_missed),
        cmocka_unit_test(the_rig_sees_nothing_of_the_modes),
        cmocka_unit_test(dependent_rows_are_dropped),
        cmocka_unit_test(shapes_bind_all_components),
        cmocka_unit_test(free_flesh_has_all_affine_motions),
        cmocka_unit_test(a_rigid_handle_is_one_bone),
        cmocka_unit_test(modes_know_where_flesh_is_stiff),
        cmocka_unit_test(covariances_are_sums_over_entries),
        cmocka_unit_test(the_leak_diffuses_from_the_surface),
        cmocka_unit_test(more_modes_than_there_are_is_said),
        cmocka_unit_test(local_modes_are_those_of_their_regions),
        cmocka_unit_test(local_modes_carry_what_happens_in_one_place),
        cmocka_unit_test(modes_over_example_poses_leave_rigs_alone_that_are_not_linear),
        cmocka_unit_test(regions_too_small_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
