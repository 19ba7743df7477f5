/* Constraints solved for vertices: Z against the rows it came from, Z'KZ against dense products, and modes by
 * elimination against modes by projection, which take any rows. */
#include "box.h"
#include "geometry/tetmesh.h"
#include "linalg/elimination.h"
#include "reduce/modes/modes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lapacke.h>
#include <math.h>

enum { TIES = 14, ROWS = 3 * TIES + 4, R = 16 };

/* A beam whose surface is tied to itself here and there: vertices to triangles, vertices tied twice, to corners of
 * triangles that are tied themselves, both ways, and the same way once more; and four rows of other forms. */
typedef struct tied_beam {
    box_mesh box;
    int64_t b;
    int32_t *surface, held[400], held_count;
    double *young, *poisson, *weights;
    su_elastic elastic;
    int32_t offsets[ROWS + 1], vertices[4 * ROWS];
    double coefficients[12 * ROWS];
} tied_beam;

static void append(tied_beam *s, int row, int count, const int32_t *vertices, const double *coefficients)
{
    int64_t at = s->offsets[row];
    memcpy(s->vertices + at, vertices, (size_t)count * sizeof *vertices);
    memcpy(s->coefficients + 3 * at, coefficients, 3 * (size_t)count * sizeof *coefficients);
    s->offsets[row + 1] = (int32_t)(at + count);
}

/* apart: rows of one tie do not follow each other, so that nothing is eliminated. */
static void make_rows(tied_beam *s, bool apart)
{
    uint64_t seed = 11;
    int32_t tie[TIES][4];
    double weight[TIES][4];
    for (int k = 0; k < TIES; k++) {
        const int32_t *triangle = s->surface + 3 * (int64_t)((0.5 + 0.5 * box_random(&seed)) * (double)(s->b - 1));
        tie[k][0] = s->surface[(int64_t)((0.5 + 0.5 * box_random(&seed)) * (double)(3 * s->b - 1))];
        memcpy(tie[k] + 1, triangle, 3 * sizeof *triangle);
        weight[k][0] = 1, weight[k][1] = -0.6, weight[k][2] = -0.3, weight[k][3] = -0.1;
    }
    tie[1][0] = tie[0][2];                        /* a corner of the first */
    tie[2][1] = tie[3][0];                        /* to a vertex that is tied later */
    tie[4][0] = tie[5][1], tie[4][1] = tie[5][0]; /* both ways */
    memcpy(tie[6], tie[7], sizeof tie[6]);        /* twice the same */
    tie[8][0] = tie[9][0];                        /* one vertex twice */
    for (int row = 0; row < 3 * TIES; row++) {
        int k = apart ? row % TIES : row / 3, i = apart ? row / TIES : row % 3;
        double unit[12] = {0};
        for (int c = 0; c < 4; c++) unit[3 * c + i] = weight[k][c] / sqrt(1.46);
        append(s, row, 4, tie[k], unit);
    }
    for (int row = 3 * TIES; row < ROWS; row++) { /* along a normal, at vertices that are tied too */
        double normal[12];
        int32_t other[4];
        memcpy(other, tie[row - 3 * TIES + 8], sizeof other);
        if (row > 3 * TIES) other[1] = tie[row - 3 * TIES][0]; /* the first says what a tie says too */
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3; i++) normal[3 * c + i] = weight[0][c] * (i == 0 ? 0.6 : i == 1 ? 0.8 : 0);
        append(s, row, 4, other, normal);
    }
}

/* held: vertices up to that x, below 0 none. */
static tied_beam make(double held, bool weighted)
{
    tied_beam s = {.box = box_mesh_create(8, 3, 3, 4, 1.5, 1.5)};
    int64_t n = s.box.n;
    assert_int_equal(su_tet_boundary(s.box.t, s.box.tets, &s.b, &s.surface, NULL, NULL), SU_OK);
    s.young = box_constant(s.box.t, 1e4), s.poisson = box_constant(s.box.t, 0.4), s.weights = box_constant(n, 1);
    for (int64_t v = 0; v < n; v++) {
        if (s.box.vertices[3 * v] <= held) s.held[s.held_count++] = (int32_t)v;
        if (weighted) s.weights[v] = 0.02 + s.box.vertices[3 * v] / 4;
    }
    assert_int_equal(su_elastic_create(&s.elastic,
                                       &(su_elastic_body){.mesh = {n, s.box.t, s.box.vertices, s.box.tets},
                                                          .held_count = s.held_count,
                                                          .held = s.held,
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = s.young,
                                                          .poisson = s.poisson,
                                                          .density = s.young},
                                       NULL),
                     SU_OK);
    make_rows(&s, false);
    return s;
}

static void beam_free(tied_beam *s)
{
    su_elastic_free(&s->elastic);
    box_mesh_free(&s->box);
    free(s->surface), free(s->young), free(s->poisson), free(s->weights);
}

/* The rows as the solver hands them over. */
static su_constraint_rows rows_of(const tied_beam *s)
{
    su_constraint_rows C = {.start = calloc(ROWS + 1, sizeof(int64_t)),
                            .column = calloc(12 * ROWS, sizeof(int64_t)),
                            .value = calloc(12 * ROWS, sizeof(double))};
    int64_t write = 0;
    for (int r = 0; r < ROWS; r++) {
        for (int64_t k = s->offsets[r]; k < s->offsets[r + 1]; k++)
            for (int i = 0; i < 3; i++) {
                int64_t f = s->elastic.free_index[s->vertices[k]];
                if (f < 0 || s->coefficients[3 * k + i] == 0) continue;
                C.column[write] = 3 * f + i, C.value[write++] = s->coefficients[3 * k + i];
            }
        C.start[++C.rows] = write;
    }
    return C;
}

/* Z y obeys every row that elimination took out, whatever y; Z has full rank, as its kept rows are the identity; and Z'
 * is its transpose. */
static void test_null_space(void **unused)
{
    (void)unused;
    tied_beam s = make(0, false);
    su_constraint_rows C = rows_of(&s), all = rows_of(&s);
    su_elimination Z;
    uint64_t seed = 3;
    assert_int_equal(su_elimination_create(s.elastic.free_count, &C, &Z, NULL), SU_OK);
    int64_t size = s.elastic.pattern.size, left = 3 * Z.kept;
    printf("# %d ties bind %d vertices, %d rows are left\n", TIES, (int)(Z.vertices - Z.kept), (int)C.rows);
    assert_int_equal(Z.vertices - Z.kept, TIES - 1); /* one is given twice */
    assert_int_equal(C.rows, 3);
    double *y = malloc((size_t)left * sizeof *y), *u = malloc((size_t)size * sizeof *u),
           *back = malloc((size_t)left * sizeof *back);
    double *f = malloc((size_t)size * sizeof *f), values[2][ROWS], uf = 0, yb = 0;
    for (int64_t i = 0; i < left; i++) y[i] = box_random(&seed);
    for (int64_t i = 0; i < size; i++) f[i] = box_random(&seed);
    su_elimination_expand(&Z, 1, y, u);
    su_elimination_restrict(&Z, 1, f, back);
    su_constraint_multiply(&all, u, values[0]);
    su_constraint_multiply(&C, y, values[1]);
    for (int r = 0; r < 3 * TIES; r++) assert_true(fabs(values[0][r]) < 1e-12);
    for (int r = 0; r < 3; r++) assert_true(fabs(values[0][3 * TIES + 1 + r] - values[1][r]) < 1e-12);
    for (int64_t i = 0; i < size; i++) uf += u[i] * f[i];
    for (int64_t i = 0; i < left; i++) yb += y[i] * back[i];
    assert_true(fabs(uf - yb) < 1e-12 * (double)size);
    int64_t alone = 0;
    for (int64_t v = 0; v < Z.vertices; v++)
        alone += Z.start[v + 1] - Z.start[v] == 1 && Z.column[Z.start[v]] == alone && Z.weight[Z.start[v]] == 1;
    assert_int_equal(alone, Z.kept);
    free(y), free(u), free(back), free(f);
    su_constraint_rows_free(&C), su_constraint_rows_free(&all);
    su_elimination_free(&Z);
    beam_free(&s);
}

/* y'(Z'KZ)y' = (Zy)'K(Zy') for random vectors; the pattern has blocks of three, diagonal first, rows ascending. */
static void test_reduced_matrix(void **unused)
{
    (void)unused;
    tied_beam s = make(0, false);
    su_constraint_rows C = rows_of(&s);
    su_elimination Z;
    su_sparse K, reduced;
    uint64_t seed = 4;
    assert_int_equal(su_elimination_create(s.elastic.free_count, &C, &Z, NULL), SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&s.elastic.pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(&s.elastic, s.box.vertices, false, &K, 1);
    assert_int_equal(su_elimination_reduce(&Z, &K, &reduced, NULL), SU_OK);
    int64_t size = K.size, left = reduced.size;
    assert_int_equal(left, 3 * Z.kept);
    for (int64_t j = 0; j < left; j++) {
        assert_int_equal(reduced.row[reduced.start[j]], j);
        for (int64_t e = reduced.start[j] + 1; e < reduced.start[j + 1]; e++)
            assert_true(reduced.row[e] > reduced.row[e - 1]);
    }
    double *u = malloc((size_t)size * sizeof *u), *Ku = malloc((size_t)size * sizeof *Ku),
           *y = malloc((size_t)left * sizeof *y);
    double *Ky = malloc((size_t)left * sizeof *Ky), *expected = malloc((size_t)left * sizeof *expected), largest = 0;
    for (int k = 0; k < 5; k++) {
        for (int64_t i = 0; i < left; i++) y[i] = box_random(&seed);
        su_sparse_multiply(&reduced, y, Ky);
        su_elimination_expand(&Z, 1, y, u);
        su_sparse_multiply(&K, u, Ku);
        su_elimination_restrict(&Z, 1, Ku, expected);
        for (int64_t i = 0; i < left; i++) largest = fmax(largest, fabs(expected[i]));
        for (int64_t i = 0; i < left; i++) assert_true(fabs(Ky[i] - expected[i]) < 1e-13 * largest);
    }
    free(u), free(Ku), free(y), free(Ky), free(expected);
    su_constraint_rows_free(&C);
    su_elimination_free(&Z);
    su_sparse_free(&K), su_sparse_free(&reduced);
    beam_free(&s);
}

static double *solve(tied_beam *s, int64_t linear, double *values, su_mode_report *report)
{
    const su_contact_rows rows = {
        .rows = ROWS, .offsets = s->offsets, .vertices = s->vertices, .coefficients = s->coefficients};
    const su_mode_problem problem = {
        .elastic = &s->elastic, .x = s->box.vertices, .weights = s->weights, .contact = &rows};
    double *modes = malloc(3 * R * (size_t)s->box.n * sizeof *modes);
    su_error err = {0};
    if (su_modes_solve(&problem, linear, R, values, modes, report, 1, &err) != SU_OK) fail_msg("%s", err.text);
    return modes;
}

/* The largest distance in M of a unit vector in the span of `a` from the span of `b`, both M-orthonormal: sine of the
 * largest angle. */
static double span_distance(const tied_beam *s, const double *a, const double *b)
{
    int64_t n = s->box.n;
    double worst = 0, *rest = malloc(3 * (size_t)n * sizeof *rest);
    for (int k = 0; k < R; k++) {
        double square = 0;
        memcpy(rest, a + 3 * k * n, 3 * (size_t)n * sizeof *rest);
        for (int j = 0; j < R; j++) {
            double dot = 0;
            for (int64_t i = 0; i < 3 * n; i++) dot += s->elastic.mass[i / 3] * rest[i] * b[3 * j * n + i];
            for (int64_t i = 0; i < 3 * n; i++) rest[i] -= dot * b[3 * j * n + i];
        }
        for (int64_t i = 0; i < 3 * n; i++) square += s->elastic.mass[i / 3] * rest[i] * rest[i];
        worst = fmax(worst, sqrt(square));
    }
    free(rest);
    return worst;
}

/* By elimination and by projection: the same eigenvalues, the same span of modes and derivatives, as many constraints;
 * held at one end, held as outside a region, where ties lose vertices, and floating; with and without a region's
 * weights. */
static void test_both_roads(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        double held;
    } ends[] = {{"held", 0}, {"a third held", 1.6}, {"floating", -1}};
    for (int kind = 0; kind < 6; kind++) {
        tied_beam s = make(ends[kind % 3].held, kind / 3);
        double values[2][6];
        su_mode_report report[2];
        double *eliminated = solve(&s, 6, values[0], &report[0]);
        make_rows(&s, true);
        double *projected = solve(&s, 6, values[1], &report[1]), apart = 0,
               span = span_distance(&s, eliminated, projected);
        for (int k = 0; k < 6; k++) apart = fmax(apart, fabs(values[0][k] / values[1][k] - 1));
        printf("# %s%s: %d constraints, eigenvalues within %.0e, span within %.0e, residuals %.0e and %.0e\n",
               ends[kind % 3].name, kind / 3 ? ", weighted" : "", (int)report[0].constraints, apart, span,
               report[0].residual, report[1].residual);
        assert_int_equal(report[0].constraints, report[1].constraints);
        assert_int_equal(report[0].rigid, report[1].rigid);
        assert_true(apart < 1e-9 && span < 1e-6);
        assert_true(report[0].residual < 1e-8 && report[1].residual < 1e-8);
        free(eliminated), free(projected);
        beam_free(&s);
    }
}

/* Ties without end: every vertex of a row to the two before it. Substitution stops where sums get long; what is left is
 * projected. */
static void test_chains(void **unused)
{
    (void)unused;
    enum { LONG = 40 };
    su_constraint_rows C = {.start = calloc(3 * LONG + 1, sizeof(int64_t)),
                            .column = calloc(15 * LONG, sizeof(int64_t)),
                            .value = calloc(15 * LONG, sizeof(double))};
    su_elimination Z;
    int64_t write = 0, most = 0;
    for (int r = 0; r < LONG; r++)
        for (int i = 0; i < 3; i++) {
            for (int c = 0; c < 5; c++) {
                C.column[write] = 3 * (c == 0 ? r + 60 : (7 * r + 13 * c) % (r + 60)) + i; /* vertices before it */
                C.value[write++] = c ? -0.25 : 1;
            }
            C.start[++C.rows] = write;
        }
    assert_int_equal(su_elimination_create(100, &C, &Z, NULL), SU_OK);
    for (int64_t v = 0; v < 100; v++) most = Z.start[v + 1] - Z.start[v] > most ? Z.start[v + 1] - Z.start[v] : most;
    printf("# %d of %d bound, by at most %d others; %d rows left\n", (int)(100 - Z.kept), LONG, (int)most, (int)C.rows);
    assert_true(most <= 12 && 100 - Z.kept > LONG / 4);
    assert_int_equal(3 * (100 - Z.kept) + C.rows, 3 * LONG);
    for (int64_t k = 0; k < C.start[C.rows]; k++) assert_true(C.column[k] >= 0 && C.column[k] < 3 * Z.kept);
    su_constraint_rows_free(&C);
    su_elimination_free(&Z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_null_space), cmocka_unit_test(test_reduced_matrix),
                                       cmocka_unit_test(test_both_roads), cmocka_unit_test(test_chains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
