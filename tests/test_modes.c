/* Linear modes against beam theory, modal derivatives and principal directions against their laws. */
#include "box.h"
#include "reduce/modes/derivatives.h"
#include "linalg/principal.h"
#include "reduce/modes/modes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct body {
    box_mesh box;
    su_elastic elastic;
    double *young, *poisson, *density;
} body;

/* Box of nx x ny x nz cells; vertices with x = 0 held where `clamp`. */
static body make(int nx, int ny, int nz, double lx, double ly, double lz, double poisson, su_material material,
                 bool clamp)
{
    body b;
    b.box = box_mesh_create(nx, ny, nz, lx, ly, lz);
    b.young = box_constant(b.box.t, 1e6), b.poisson = box_constant(b.box.t, poisson);
    b.density = box_constant(b.box.t, 1000);
    int64_t count = clamp ? (ny + 1) * (nz + 1) : 0;
    int32_t *held = malloc((size_t)(count + 1) * sizeof *held);
    for (int64_t i = 0; i < count; i++) held[i] = (int32_t)i; /* the numbering starts with x = 0 */
    assert_int_equal(su_elastic_create(&b.elastic,
                                       &(su_elastic_body){.mesh = {b.box.n, b.box.t, b.box.vertices, b.box.tets},
                                                          .held_count = count,
                                                          .held = held,
                                                          .material = material,
                                                          .young = b.young,
                                                          .poisson = b.poisson,
                                                          .density = b.density},
                                       NULL),
                     SU_OK);
    free(held);
    return b;
}

static void body_free(body *b)
{
    su_elastic_free(&b->elastic);
    box_mesh_free(&b->box);
    free(b->young), free(b->poisson), free(b->density);
}

static double *modes_of(const body *b, int64_t linear, int64_t r, double *values, su_mode_report *report, bool rigid)
{
    su_error err = {0};
    su_mode_problem problem = {.elastic = &b->elastic, .x = b->box.vertices, .keep_rigid = rigid};
    double *modes = malloc(3 * (size_t)(r * b->box.n) * sizeof *modes);
    su_status status = su_modes_solve(&problem, linear, r, values, modes, report, 2, &err);
    if (status != SU_OK) printf("# %s\n", err.text);
    assert_int_equal(status, SU_OK);
    return modes;
}

static double mass_product(const body *b, const double *u, const double *v)
{
    double sum = 0;
    for (int64_t i = 0; i < 3 * b->box.n; i++) sum += u[i] * b->elastic.mass[i / 3] * v[i];
    return sum;
}

static void check_orthonormal(const body *b, int64_t r, const double *modes, double tolerance)
{
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j <= i; j++) {
            double product = mass_product(b, modes + 3 * i * b->box.n, modes + 3 * j * b->box.n);
            assert_true(fabs(product - (i == j)) < tolerance);
        }
}

/* First two bending pairs of a square cantilever, Euler-Bernoulli: omega = (beta L)^2 sqrt(E I / (rho A L^4)). Linear
 * tets are too stiff in bending by a share that falls with the square of the cell size. */
static void test_cantilever(void **unused)
{
    (void)unused;
    const double length = 20, side = 1, roots[2] = {1.8751040687, 4.6940911330};
    double last[2] = {0, 0};
    const int levels[] = {2, 4, 8};
    for (int level = 0; level < 3; level++) {
        int cells = levels[level];
        body b = make(cells * 20, cells, cells, length, side, side, 0.0, SU_NEOHOOKEAN, true);
        double values[4];
        su_mode_report report;
        double *modes = modes_of(&b, 4, 4, values, &report, false);
        printf("# residual %.2e\n", report.residual);
        assert_true(report.residual < 1e-8);
        for (int k = 0; k < 2; k++) {
            double exact = roots[k] * roots[k] * sqrt(1e6 * side * side / 12 / (1000 * pow(length, 4)));
            double error = sqrt(values[2 * k]) / exact - 1;
            /* square section: the pair agrees as far as the mesh is symmetric */
            assert_true(fabs(values[2 * k + 1] / values[2 * k] - 1) < 0.01);
            printf("# cantilever, %d cells across: mode %d %+.2f %%\n", cells, 2 * k + 1, 100 * error);
            if (level > 0) assert_true(fabs(error) < 0.35 * last[k]);
            last[k] = fabs(error);
        }
        free(modes);
        body_free(&b);
    }
    assert_true(last[0] < 0.03 && last[1] < 0.03);
}

/* A free-free bar: six rigid motions at zero, kept or left out, then bending, twice on a square section, as Spinner and
 * Tefft have it with shear and rotary inertia (ASTM E1876, eq. for T1, Poisson's ratio 0), and the axial mode at pi c /
 * L. */
static void test_free_bar(void **unused)
{
    (void)unused;
    const double thin = 0.01; /* (t / L)^2 */
    const double T1 = 1 + 6.585 * thin - 0.868 * thin * thin - 8.340 * thin * thin / (1 + 6.338 * thin);
    const double bending = pow(4.7300407449 / 10, 2) * sqrt(1e6 / 12 / 1000 / T1),
                 axial = acos(-1.0) / 10 * sqrt(1e6 / 1000);
    double last = 0;
    for (int cells = 2; cells <= 6; cells += 2) {
        body b = make(10 * cells, cells, cells, 10, 1, 1, 0.0, SU_STVK, false);
        double values[12], with_rigid[18], nearest = 1;
        su_mode_report report, kept;
        double *modes = modes_of(&b, 12, 12, values, &report, false);
        double *all = modes_of(&b, 18, 18, with_rigid, &kept, true);
        assert_int_equal(report.rigid, 6);
        assert_true(report.residual < 1e-8 && kept.residual < 1e-8);
        for (int k = 0; k < 6; k++) assert_true(with_rigid[k] == 0);
        for (int k = 0; k < 12; k++) assert_true(fabs(with_rigid[k + 6] / values[k] - 1) < 1e-6);
        for (int k = 0; k < 4; k += 2) assert_true(fabs(values[k + 1] / values[k] - 1) < 0.01); /* pairs */
        for (int k = 0; k < 12; k++) nearest = fmin(nearest, fabs(sqrt(values[k]) / axial - 1));
        double error = sqrt(values[0]) / bending - 1;
        printf("# free bar, %d cells across: bending %+.2f %%, axial %.3f %% off, residual %.1e\n", cells, 100 * error,
               100 * nearest, report.residual);
        assert_true(nearest < 0.05 / (cells * cells));
        if (cells > 2) assert_true(fabs(error) < 1.25 * pow((cells - 2.0) / cells, 2) * last);
        last = fabs(error);
        check_orthonormal(&b, 12, modes, 1e-9);
        free(modes), free(all);
        body_free(&b);
    }
    assert_true(last < 0.04);
}

/* Held vertices that leave a rigid motion: on a line one, a single one three; two bodies, of which one floats. */
static void test_partly_held(void **unused)
{
    (void)unused;
    box_mesh box = box_mesh_create(8, 3, 3, 4, 1, 1.2), far = box_mesh_create(8, 3, 3, 4, 1, 1.2);
    int64_t n = box.n, t = box.t;
    double *x = malloc(6 * (size_t)n * sizeof *x), *young = box_constant(2 * t, 1e6),
           *poisson = box_constant(2 * t, 0.3);
    double *density = box_constant(2 * t, 1000), values[2][10], *modes = malloc(60 * (size_t)n * sizeof *modes);
    int32_t *tets = malloc(8 * (size_t)t * sizeof *tets), line[9], plane[16];
    for (int64_t i = 0; i < 3 * n; i++) x[i] = box.vertices[i], x[3 * n + i] = box.vertices[i] + 10;
    for (int64_t i = 0; i < 4 * t; i++) tets[i] = box.tets[i], tets[4 * t + i] = box.tets[i] + (int32_t)n;
    for (int i = 0; i < 9; i++) line[i] = 16 * i + 5; /* along x, inside */
    for (int i = 0; i < 16; i++) plane[i] = i;
    const struct {
        int64_t n, t, held_count;
        const int32_t *held;
        int64_t rigid;
    } cases[] = {{n, t, 9, line, 1},   {n, t, 1, line, 3},           {n, t, 2, line, 1},
                 {n, t, 16, plane, 0}, {2 * n, 2 * t, 16, plane, 6}, {2 * n, 2 * t, 0, NULL, 12}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        su_elastic elastic;
        su_error err = {0};
        assert_int_equal(su_elastic_create(&elastic,
                                           &(su_elastic_body){.mesh = {cases[c].n, cases[c].t, x, tets},
                                                              .held_count = cases[c].held_count,
                                                              .held = cases[c].held,
                                                              .material = SU_NEOHOOKEAN,
                                                              .young = young,
                                                              .poisson = poisson,
                                                              .density = density},
                                           &err),
                         SU_OK);
        for (int keep = 0; keep < 2; keep++) {
            su_mode_problem problem = {.elastic = &elastic, .x = x, .keep_rigid = keep};
            su_mode_report report;
            int64_t rigid = keep ? cases[c].rigid : 0;
            if (rigid > 6) continue;
            assert_int_equal(su_modes_solve(&problem, 4 + rigid, 4 + rigid, values[keep], modes, &report, 1, &err),
                             SU_OK);
            assert_int_equal(report.rigid, cases[c].rigid);
            printf("# %d held of %d vertices: %d rigid motions, residual %.1e\n", (int)cases[c].held_count,
                   (int)cases[c].n, (int)report.rigid, report.residual);
            assert_true(report.residual < 1e-8);
            for (int64_t k = 0; k < rigid; k++) assert_true(values[1][k] == 0);
            for (int k = 0; k < 4 && keep; k++) assert_true(fabs(values[1][k + rigid] / values[0][k] - 1) < 1e-6);
            assert_true(values[0][0] > 1);
        }
        su_elastic_free(&elastic);
    }
    /* Anchors hold as well as held vertices do: the modes of 16 anchored vertices are those of 16 held ones. */
    su_elastic elastic;
    su_error err = {0};
    int32_t offsets[49], rows[48];
    double unit[144] = {0};
    su_mode_report report;
    for (int r = 0; r <= 48; r++) offsets[r] = r;
    for (int r = 0; r < 48; r++) rows[r] = r / 3, unit[3 * r + r % 3] = 1;
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {n, t, x, tets},
                                                          .held_count = 16,
                                                          .held = plane,
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = young,
                                                          .poisson = poisson,
                                                          .density = density},
                                       &err),
                     SU_OK);
    su_mode_problem held = {.elastic = &elastic, .x = x};
    assert_int_equal(su_modes_solve(&held, 6, 6, values[0], modes, NULL, 1, &err), SU_OK);
    su_elastic_free(&elastic);
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {n, t, x, tets},
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = young,
                                                          .poisson = poisson,
                                                          .density = density},
                                       &err),
                     SU_OK);
    const su_contact_rows contact = {.rows = 48, .offsets = offsets, .vertices = rows, .coefficients = unit};
    su_mode_problem anchored = {.elastic = &elastic, .x = x, .contact = &contact};
    assert_int_equal(su_modes_solve(&anchored, 6, 6, values[1], modes, &report, 1, &err), SU_OK);
    printf("# anchored instead of held: %d rigid motions left, residual %.1e, lowest %+.1e\n", (int)report.rigid,
           report.residual, values[1][0] / values[0][0] - 1);
    assert_int_equal(report.rigid, 0);
    assert_true(report.residual < 1e-8);
    for (int k = 0; k < 6; k++) assert_true(fabs(values[1][k] / values[0][k] - 1) < 1e-6);
    su_elastic_free(&elastic);
    free(x), free(young), free(poisson), free(density), free(modes), free(tets);
    box_mesh_free(&box), box_mesh_free(&far);
}

/* All columns: zero at held vertices, orthonormal; linear modes satisfy their equation; two runs give the same bits. */
static void test_basis(void **unused)
{
    (void)unused;
    for (int material = 0; material <= SU_TISSUE; material++) {
        body b = make(12, 4, 4, 3, 1, 1.1, 0.45, (su_material)material, true);
        double values[10], again[10];
        su_mode_report report;
        double *modes = modes_of(&b, 10, 30, values, &report, false);
        double *second = modes_of(&b, 10, 30, again, NULL, false);
        assert_true(report.residual < 1e-8);
        assert_memory_equal(values, again, sizeof values);
        assert_memory_equal(modes, second, 3 * (size_t)(30 * b.box.n) * sizeof *modes);
        check_orthonormal(&b, 30, modes, 1e-10);
        for (int64_t k = 0; k < 30; k++)
            for (int64_t v = 0; v < 25; v++)
                for (int i = 0; i < 3; i++) assert_true(modes[3 * (k * b.box.n + v) + i] == 0);
        for (int k = 1; k < 10; k++) assert_true(values[k] >= values[k - 1] && values[0] > 0);
        free(modes), free(second);
        body_free(&b);
    }
}

/* Two bars that do not feel each other: derivatives of a mode of one by a mode of the other are rounding, which is no
 * direction to keep. So the modes of both together are those of each alone, and there are no more. */
static void test_uncoupled_limbs(void **unused)
{
    (void)unused;
    enum { LINEAR = 2, DERIVATIVES = LINEAR * (LINEAR + 1) / 2, ALONE = LINEAR + DERIVATIVES, BOTH = 2 * ALONE };
    box_mesh box = box_mesh_create(8, 3, 3, 4, 1, 1.2);
    int64_t n = box.n, t = box.t;
    double *x = malloc(6 * (size_t)n * sizeof *x), *young = box_constant(2 * t, 1e6),
           *poisson = box_constant(2 * t, 0.3);
    double *density = box_constant(2 * t, 1000), values[2 * LINEAR],
           *both = malloc(6 * (size_t)((BOTH + 1) * n) * sizeof *both);
    double *alone = malloc(3 * (size_t)(ALONE * n) * sizeof *alone), found[BOTH] = {0};
    int32_t *tets = malloc(8 * (size_t)t * sizeof *tets), held[32];
    for (int64_t i = 0; i < 3 * n; i++) x[i] = box.vertices[i], x[3 * n + i] = box.vertices[i] + 10;
    for (int64_t i = 0; i < 4 * t; i++) tets[i] = box.tets[i], tets[4 * t + i] = box.tets[i] + (int32_t)n;
    for (int64_t e = t; e < 2 * t; e++) young[e] *= 1.1; /* its frequencies lie between those of the other */
    for (int i = 0; i < 16; i++) held[i] = i, held[16 + i] = (int32_t)n + i;
    su_elastic elastic;
    su_error err = {0};
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {2 * n, 2 * t, x, tets},
                                                          .held_count = 32,
                                                          .held = held,
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = young,
                                                          .poisson = poisson,
                                                          .density = density},
                                       &err),
                     SU_OK);
    su_mode_problem problem = {.elastic = &elastic, .x = x};
    /* where more are wanted, a further linear mode takes the place */
    if (su_modes_solve(&problem, 2 * LINEAR, BOTH + 1, values, both, NULL, 1, &err) != SU_OK) fail_msg("%s", err.text);
    double added = 0, inside = 0;
    for (int i = 0; i < BOTH; i++) {
        double product = 0;
        for (int64_t a = 0; a < 6 * n; a++)
            product += both[6 * BOTH * n + a] * elastic.mass[a / 3] * both[6 * i * n + a];
        inside = fmax(inside, fabs(product));
    }
    for (int64_t a = 0; a < 6 * n; a++) added += both[6 * BOTH * n + a] * elastic.mass[a / 3] * both[6 * BOTH * n + a];
    assert_true(fabs(added - 1) < 1e-10 && inside < 1e-10);
    if (su_modes_solve(&problem, 2 * LINEAR, BOTH, values, both, NULL, 1, &err) != SU_OK) fail_msg("%s", err.text);
    for (int bar = 0; bar < 2; bar++) {
        su_elastic one;
        double own[LINEAR];
        assert_int_equal(su_elastic_create(&one,
                                           &(su_elastic_body){.mesh = {n, t, x + 3 * n * bar, tets},
                                                              .held_count = 16,
                                                              .held = held,
                                                              .material = SU_NEOHOOKEAN,
                                                              .young = young + t * bar,
                                                              .poisson = poisson,
                                                              .density = density},
                                           &err),
                         SU_OK);
        su_mode_problem half = {.elastic = &one, .x = x + 3 * n * bar};
        assert_int_equal(su_modes_solve(&half, LINEAR, ALONE, own, alone, NULL, 1, &err), SU_OK);
        for (int k = 0; k < LINEAR; k++) assert_true(fabs(own[k] / values[2 * k + bar] - 1) < 1e-8);
        for (int i = 0; i < BOTH; i++)
            for (int j = 0; j < ALONE; j++) {
                double product = 0;
                for (int64_t a = 0; a < 3 * n; a++)
                    product += both[6 * i * n + 3 * n * bar + a] * one.mass[a / 3] * alone[3 * j * n + a];
                found[i] += product * product;
            }
        su_elastic_free(&one);
    }
    for (int i = 0; i < BOTH; i++) assert_true(fabs(found[i] - 1) < 1e-8);
    su_elastic_free(&elastic);
    free(x), free(young), free(poisson), free(density), free(both), free(alone), free(tets);
    box_mesh_free(&box);
}

/* The span holds the modal derivatives: with all principal directions kept, psi_11 lies in it; psi_11 is the second
 * derivative of the equilibrium under the load K phi_1 s. */
static void test_derivatives_in_span(void **unused)
{
    (void)unused;
    body b = make(10, 3, 3, 4, 1, 1.2, 0.3, SU_NEOHOOKEAN, true);
    int64_t n = b.box.n, size = b.elastic.pattern.size;
    enum { LINEAR = 3, R = LINEAR + LINEAR * (LINEAR + 1) / 2 };
    double values[LINEAR];
    double *modes = modes_of(&b, LINEAR, R, values, NULL, false);
    su_sparse K;
    su_cholesky *factor;
    assert_int_equal(su_sparse_clone_pattern(&b.elastic.pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(&b.elastic, b.box.vertices, false, &K, 1);
    assert_int_equal(su_cholesky_create(&K, 1, &factor, NULL), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &K, NULL), SU_OK);
    double *load = malloc((size_t)size * sizeof *load), *phi = malloc((size_t)size * sizeof *phi);
    double *u[2], *force = malloc(3 * (size_t)n * sizeof *force), *y = malloc(3 * (size_t)n * sizeof *y);
    double *step = malloc((size_t)size * sizeof *step), amplitude = 0;
    for (int64_t f = 0; f < b.elastic.free_count; f++)
        for (int i = 0; i < 3; i++) {
            phi[3 * f + i] = modes[3 * (1 * n + b.elastic.free_vertex[f]) + i];
            amplitude = fmax(amplitude, fabs(phi[3 * f + i]));
        }
    su_sparse_multiply(&K, phi, load);
    double s = 0.02 / amplitude; /* small: third order must not show */
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1 : 1;
        u[side] = malloc((size_t)size * sizeof **u);
        for (int64_t i = 0; i < size; i++) u[side][i] = sign * s * phi[i];
        for (int iteration = 0; iteration < 60; iteration++) { /* modified Newton for f_int(x + u) = s K phi */
            memcpy(y, b.box.vertices, 3 * (size_t)n * sizeof *y);
            for (int64_t f = 0; f < b.elastic.free_count; f++)
                for (int i = 0; i < 3; i++) y[3 * b.elastic.free_vertex[f] + i] += u[side][3 * f + i];
            su_elastic_force(&b.elastic, y, force, 1);
            for (int64_t f = 0; f < b.elastic.free_count; f++)
                for (int i = 0; i < 3; i++)
                    step[3 * f + i] = sign * s * load[3 * f + i] - force[3 * b.elastic.free_vertex[f] + i];
            assert_int_equal(su_cholesky_solve(factor, 1, step, step, NULL), SU_OK);
            for (int64_t i = 0; i < size; i++) u[side][i] += step[i];
        }
    }
    /* (u(s) + u(-s))/s^2 = u'' up to s^2; compare with its projection on the derivatives' span */
    double *second = calloc(3 * (size_t)n, sizeof *second), total, left;
    for (int64_t f = 0; f < b.elastic.free_count; f++)
        for (int i = 0; i < 3; i++)
            second[3 * b.elastic.free_vertex[f] + i] = (u[0][3 * f + i] + u[1][3 * f + i]) / (s * s);
    total = mass_product(&b, second, second);
    for (int64_t k = 0; k < R; k++) {
        double dot = mass_product(&b, second, modes + 3 * k * n);
        for (int64_t i = 0; i < 3 * n; i++) second[i] -= dot * modes[3 * k * n + i];
    }
    left = mass_product(&b, second, second);
    assert_true(total > 0 && sqrt(left / total) < 0.01);
    free(load), free(phi), free(u[0]), free(u[1]), free(force), free(y), free(step), free(second), free(modes);
    su_cholesky_free(factor);
    su_sparse_free(&K);
    body_free(&b);
}

/* Principal directions of known candidates. */
static void test_mass_pca(void **unused)
{
    (void)unused;
    const double mass[4] = {1, 4, 1, 1};
    double v[12] = {1, 0, 0, 0};
    /* e_2 strongly, e_3 weakly, with parts along e_1 that must not count */
    double candidates[12] = {9, 3, 0, 0, -5, 0, 1, 0, 2, 0, 0, 0};
    su_pca pca = {.size = 4, .known = 1, .wanted = 2, .candidate_count = 3, .mass = mass, .vectors = v};
    pca.candidates = candidates;
    assert_int_equal(su_mass_pca(&pca, NULL, NULL), SU_OK);
    const double expected[12] = {1, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1, 0};
    for (int i = 0; i < 12; i++) assert_true(fabs(v[i] - expected[i]) < 1e-14);
    double w[16] = {1, 0, 0, 0}, flat[8] = {0, 1, 0, 0, 0, 2, 0, 0};
    su_error err;
    double more[16] = {1, 0, 0, 0}, noisy[8] = {0, 1, 0, 0, 0, 0, 1e-4, 0};
    int64_t got;
    pca.candidate_count = 2, pca.vectors = more, pca.candidates = noisy, pca.shortest = 1e-3;
    assert_int_equal(su_mass_pca(&pca, &got, &err), SU_OK);
    assert_int_equal(got, 1); /* the other is shorter than a thousandth */
    pca.vectors = w, pca.candidates = flat, pca.shortest = 0;
    assert_int_equal(su_mass_pca(&pca, NULL, &err), SU_INPUT);
}

/* A short stiff direction counts by its energy: by mass alone e_1 is longer, but leaving e_2 costs ten thousand times
 * the energy of leaving e_1. */
static void test_balanced_pca(void **unused)
{
    (void)unused;
    const double mass[3] = {1, 4, 1};
    int64_t start[4] = {0, 1, 2, 3}, row[3] = {0, 1, 2};
    double stiffness[3] = {1, 1, 1e6};
    const su_sparse K = {.size = 3, .entries = 3, .start = start, .row = row, .value = stiffness};
    for (int rounds = 0; rounds <= 4; rounds += 4) {
        double v[6] = {1, 0, 0}, candidates[6] = {2, 0.05, 0, 1, 0, 0.08};
        su_balance balance = {.stiffness = &K, .rounds = rounds, .threads = 1};
        const su_pca pca = {.size = 3,
                            .known = 1,
                            .wanted = 1,
                            .candidate_count = 2,
                            .mass = mass,
                            .vectors = v,
                            .candidates = candidates,
                            .balance = &balance};
        assert_int_equal(su_mass_pca(&pca, NULL, NULL), SU_OK);
        const double expected[6] = {1, 0, 0, 0, rounds ? 0 : 0.5, rounds ? 1 : 0};
        for (int i = 0; i < 6; i++) assert_true(fabs(v[i] - expected[i]) < 1e-12);
        /* left is 0.05 e_1, whose squares in M and K are 0.01 and 0.0025 */
        assert_true(fabs(balance.kappa - (rounds ? 4 : 0)) < 1e-9);
    }
}

static void test_counts(void **unused)
{
    (void)unused;
    assert_int_equal(su_modes_least_linear(60, 20), 20);
    assert_int_equal(su_modes_least_linear(60, 5), 10); /* 10 + 55 >= 60, 9 + 45 < 60 */
    assert_int_equal(su_modes_least_linear(3, 1), 2);
    assert_int_equal(su_modes_least_linear(1, 1), 1);
    body b = make(1, 1, 1, 1, 1, 1, 0.3, SU_STVK, true);
    su_mode_problem problem = {.elastic = &b.elastic, .x = b.box.vertices};
    double values[40], modes[40 * 24];
    su_error err;
    assert_int_equal(su_modes_solve(&problem, 13, 13, values, modes, NULL, 1, &err), SU_INPUT);
    assert_int_equal(su_modes_solve(&problem, 12, 12, values, modes, NULL, 1, &err), SU_OK);
    assert_int_equal(su_modes_solve(&problem, 2, 6, values, modes, NULL, 1, &err), SU_INPUT);
    body_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cantilever),      cmocka_unit_test(test_free_bar),
        cmocka_unit_test(test_partly_held),     cmocka_unit_test(test_basis),
        cmocka_unit_test(test_uncoupled_limbs), cmocka_unit_test(test_derivatives_in_span),
        cmocka_unit_test(test_mass_pca),        cmocka_unit_test(test_balanced_pca),
        cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
