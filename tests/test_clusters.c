/* Clusters of tets: in one piece each, near to what k-means can do, the same for any number of threads. */
#include "box.h"
#include "geometry/tetmesh.h"
#include "reduce/cubature/clusters.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { K = 3 };

typedef struct body {
    box_mesh box;
    double *weights, eigenvalues[K];
} body;

/* Weights cos(pi x), cos(2 pi x), cos(pi y) over a box 1 x 0.5 x 0.5. */
static body make(int nx, int ny, int nz)
{
    body b = {.box = box_mesh_create(nx, ny, nz, 1, 0.5, 0.5), .eigenvalues = {1, 4, 4}};
    b.weights = malloc(K * (size_t)b.box.n * sizeof *b.weights);
    for (int64_t v = 0; v < b.box.n; v++) {
        const double *x = b.box.vertices + 3 * v;
        b.weights[K * v] = cos(M_PI * x[0]), b.weights[K * v + 1] = cos(2 * M_PI * x[0]);
        b.weights[K * v + 2] = cos(M_PI * x[1]);
    }
    return b;
}

static void body_free(body *b)
{
    box_mesh_free(&b->box);
    free(b->weights);
}

static int32_t *clusters_of(const body *b, int64_t wanted, uint64_t seed, int threads, int64_t *count,
                            su_cluster_report *report)
{
    const su_cluster_problem problem = {b->box.n,       b->box.t, K,    b->box.vertices, b->box.tets, b->weights,
                                        b->eigenvalues, wanted,   seed, threads};
    int32_t *cluster = malloc((size_t)b->box.t * sizeof *cluster);
    su_error err = {0};
    if (su_clusters_create(&problem, cluster, count, report, &err)) fail_msg("%s", err.text);
    return cluster;
}

/* Flood of one cluster from its first tet reaches all its tets; numbers have no gaps and ascend with the first tets. */
static void assert_connected(const body *b, const int32_t *cluster, int64_t count)
{
    int64_t t = b->box.t, seen = 0, newest = -1;
    int32_t *neighbour = malloc(4 * (size_t)t * sizeof *neighbour), *stack = malloc((size_t)t * sizeof *stack);
    uint8_t *reached = calloc((size_t)t, 1);
    assert_int_equal(su_tet_neighbours(t, b->box.tets, neighbour, NULL), SU_OK);
    for (int64_t e = 0; e < t; e++) {
        assert_in_range(cluster[e], 0, count - 1);
        if (cluster[e] <= newest) continue;
        assert_int_equal(cluster[e], newest + 1);
        newest++;
        int64_t depth = 0;
        stack[depth++] = (int32_t)e, reached[e] = 1;
        while (depth > 0) {
            int32_t at = stack[--depth];
            seen++;
            for (int i = 0; i < 4; i++) {
                int32_t o = neighbour[4 * at + i];
                if (o >= 0 && !reached[o] && cluster[o] == cluster[e]) reached[o] = 1, stack[depth++] = o;
            }
        }
    }
    assert_int_equal(newest + 1, count);
    assert_int_equal(seen, t);
    free(neighbour), free(stack), free(reached);
}

static void clusters_are_in_one_piece(void **state)
{
    (void)state;
    body b = make(16, 8, 8);
    for (int64_t wanted = 1; wanted <= 100; wanted += 33) {
        int64_t count;
        su_cluster_report report;
        int32_t *cluster = clusters_of(&b, wanted, 1, 1, &count, &report);
        assert_int_equal(report.means, wanted);
        assert_true(count >= wanted / 2);
        assert_connected(&b, cluster, count);
        free(cluster);
    }
    body_free(&b);
}

/* cos(2 pi x) alone: one mean for both ends and one for the middle, cut into three. */
static void pieces_of_a_mean_are_clusters(void **state)
{
    (void)state;
    body b = make(32, 4, 4);
    int64_t count;
    su_cluster_report report;
    for (int64_t v = 0; v < b.box.n; v++) b.weights[K * v] = b.weights[K * v + 2] = 0;
    int32_t *cluster = clusters_of(&b, 2, 1, 1, &count, &report);
    assert_int_equal(report.means, 2);
    assert_int_equal(count, 3);
    assert_connected(&b, cluster, count);
    for (int64_t e = 0; e < b.box.t; e++) { /* the cuts are where the cosine passes 0 */
        double x = 0;
        for (int c = 0; c < 4; c++) x += b.box.vertices[3 * b.box.tets[4 * e + c]] / 4;
        if (x < 0.22) assert_int_equal(cluster[e], 0);
        if (x > 0.28 && x < 0.72) assert_int_equal(cluster[e], 1);
        if (x > 0.78) assert_int_equal(cluster[e], 2);
    }
    free(cluster);
    body_free(&b);
}

/* One mode that is linear along x: N means leave 1/N of the spread. */
static void means_are_where_they_should_be(void **state)
{
    (void)state;
    body b = make(60, 4, 4);
    for (int64_t v = 0; v < b.box.n; v++)
        b.weights[K * v] = b.box.vertices[3 * v], b.weights[K * v + 1] = b.weights[K * v + 2] = 0;
    for (int64_t wanted = 2; wanted <= 8; wanted *= 2) {
        int64_t count;
        su_cluster_report report;
        free(clusters_of(&b, wanted, 1, 1, &count, &report));
        assert_int_equal(count, wanted);
        assert_true(report.spread * (double)wanted > 0.97 && report.spread * (double)wanted < 1.2);
    }
    body_free(&b);
}

/* The squares of eigenvalues weigh modes: one of four times the stiffness counts a sixteenth. */
static void soft_modes_count_more(void **state)
{
    (void)state;
    body b = make(16, 8, 8);
    int64_t count;
    for (int64_t v = 0; v < b.box.n; v++) {
        const double *x = b.box.vertices + 3 * v;
        b.weights[K * v] = x[0], b.weights[K * v + 1] = 10 * x[1], b.weights[K * v + 2] = 0;
    }
    int32_t *cluster = clusters_of(&b, 2, 1, 1, &count, NULL);
    for (int64_t e = 0; e < b.box.t; e++) {
        double x = 0;
        for (int c = 0; c < 4; c++) x += b.box.vertices[3 * b.box.tets[4 * e + c]] / 4;
        if (x < 0.4) assert_int_equal(cluster[e], 0);
        if (x > 0.6) assert_int_equal(cluster[e], 1);
    }
    free(cluster);
    body_free(&b);
}

static void threads_and_seeds(void **state)
{
    (void)state;
    body b = make(40, 30, 24); /* 172,800 tets: enough for a team */
    int64_t one, three, other;
    int32_t *a = clusters_of(&b, 60, 1, 1, &one, NULL), *c = clusters_of(&b, 60, 1, 3, &three, NULL),
            *d = clusters_of(&b, 60, 2, 3, &other, NULL);
    assert_int_equal(one, three);
    assert_memory_equal(a, c, (size_t)b.box.t * sizeof *a);
    assert_memory_not_equal(a, d, (size_t)b.box.t * sizeof *a);
    free(a), free(c), free(d);
    body_free(&b);
}

/* Fewer different features than clusters, modes that cost nothing, and nothing asked for. */
static void edges(void **state)
{
    (void)state;
    body b = make(4, 2, 2);
    int64_t count;
    su_cluster_report report;
    for (int64_t v = 0; v < b.box.n; v++) b.weights[K * v] = 1, b.weights[K * v + 1] = b.weights[K * v + 2] = 0;
    free(clusters_of(&b, 10, 1, 1, &count, &report));
    assert_int_equal(report.means, 1);
    assert_int_equal(count, 1);
    for (int64_t v = 0; v < b.box.n; v++) b.weights[K * v] = b.box.vertices[3 * v];
    b.eigenvalues[0] = 0; /* the only one that varies */
    free(clusters_of(&b, 10, 1, 1, &count, &report));
    assert_int_equal(count, 1);
    free(clusters_of(&b, 1000, 1, 1, &count, &report)); /* more than tets */
    assert_int_equal(count, 1);
    const su_cluster_problem none = {b.box.n, b.box.t, K, b.box.vertices, b.box.tets, b.weights, b.eigenvalues,
                                     0,       1,       1};
    int32_t *cluster = malloc((size_t)b.box.t * sizeof *cluster);
    assert_int_equal(su_clusters_create(&none, cluster, &count, NULL, NULL), SU_INPUT);
    free(cluster);
    body_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_are_in_one_piece),
        cmocka_unit_test(pieces_of_a_mean_are_clusters),
        cmocka_unit_test(means_are_where_they_should_be),
        cmocka_unit_test(soft_modes_count_more),
        cmocka_unit_test(threads_and_seeds),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
