/* Untangling: opens what can be opened, moves nothing else. */
#include "fem/elastic.h"
#include "fem/untangle.h"
#include "geometry/mat3.h"
#include "beam.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static su_elastic create(const beam *b)
{
    su_elastic elastic;
    su_error err = {0};
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {b->n, b->t, b->vertices, b->tets},
                                                          .held_count = b->held_count,
                                                          .held = b->held,
                                                          .material = SU_STVK,
                                                          .young = b->young,
                                                          .poisson = b->poisson,
                                                          .density = b->density},
                                       &err),
                     SU_OK);
    return elastic;
}

static double smallest_ratio(const beam *b, const su_elastic *elastic, const double *x)
{
    double least = 1e9;
    for (int64_t e = 0; e < b->t; e++) {
        const int32_t *v = b->tets + 4 * e;
        double edges[9];
        su_tet_edges(x + 3 * v[0], x + 3 * v[1], x + 3 * v[2], x + 3 * v[3], edges);
        least = fmin(least, su_det3(edges) / 6 / elastic->neutral_volume[e]);
    }
    return least;
}

static su_status untangle(const su_elastic *elastic, double *x)
{
    su_error err = {0};
    return su_untangle(elastic, 0.15, x, &err);
}

/* A vertex pulled through its neighbours comes back; vertices far from it and held ones keep every bit. */
static void test_pulled_vertex(void **unused)
{
    (void)unused;
    beam b = beam_create(12, 3, 3, 4, 1, 1);
    su_elastic elastic = create(&b);
    double *x = malloc(3 * (size_t)b.n * sizeof *x), *start = malloc(3 * (size_t)b.n * sizeof *x);
    beam_bend(&b, 1.0, x);
    int64_t inner = -1;
    for (int64_t v = 0; v < b.n; v++)
        if (b.vertices[3 * v] > 1.9 && fabs(b.vertices[3 * v + 1]) < 0.3 && fabs(b.vertices[3 * v + 2]) < 0.3)
            inner = v;
    assert_true(inner >= 0);
    x[3 * inner] += 0.7, x[3 * inner + 1] -= 0.5;
    memcpy(start, x, 3 * (size_t)b.n * sizeof *x);
    assert_true(smallest_ratio(&b, &elastic, x) < 0);
    assert_int_equal(untangle(&elastic, x), SU_OK);
    assert_true(smallest_ratio(&b, &elastic, x) > 0.1);
    for (int64_t v = 0; v < b.n; v++)
        if (b.vertices[3 * v] < 0.1 || elastic.free_index[v] < 0) assert_memory_equal(x + 3 * v, start + 3 * v, 24);
    su_elastic_free(&elastic);
    free(x), free(start);
    beam_free(&b);
}

/* Half of the vertices shaken by more than an edge. */
static void test_shaken(void **unused)
{
    (void)unused;
    beam b = beam_create(10, 3, 3, 4, 1, 1);
    su_elastic elastic = create(&b);
    double *x = malloc(3 * (size_t)b.n * sizeof *x);
    uint32_t seed = 7;
    memcpy(x, b.vertices, 3 * (size_t)b.n * sizeof *x);
    for (int64_t v = 0; v < b.n; v++)
        for (int i = 0; i < 3; i++) {
            seed = seed * 1664525u + 1013904223u;
            if (elastic.free_index[v] >= 0 && v % 2) x[3 * v + i] += 0.5 * ((double)seed / 4294967296.0 - 0.5);
        }
    assert_true(smallest_ratio(&b, &elastic, x) < 0);
    assert_int_equal(untangle(&elastic, x), SU_OK);
    assert_true(smallest_ratio(&b, &elastic, x) > 0.1);
    su_elastic_free(&elastic);
    free(x);
    beam_free(&b);
}

/* Nothing to do: nothing done. */
static void test_open_mesh(void **unused)
{
    (void)unused;
    beam b = beam_create(6, 2, 2, 3, 1, 1);
    su_elastic elastic = create(&b);
    double *x = malloc(3 * (size_t)b.n * sizeof *x), *bent = malloc(3 * (size_t)b.n * sizeof *x);
    beam_bend(&b, 0.8, x);
    memcpy(bent, x, 3 * (size_t)b.n * sizeof *x);
    assert_int_equal(untangle(&elastic, x), SU_OK);
    assert_memory_equal(x, bent, 3 * (size_t)b.n * sizeof *x);
    su_elastic_free(&elastic);
    free(x), free(bent);
    beam_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pulled_vertex), cmocka_unit_test(test_shaken),
                                       cmocka_unit_test(test_open_mesh)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
