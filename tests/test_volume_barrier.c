/* The barrier that keeps tets open: against finite differences, where it ends, what it lets through. */
#include "box.h"
#include "fem/volume_barrier.h"
#include "linalg/cholesky.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct scene {
    box_mesh box;
    su_elastic elastic;
    su_volume_barrier barrier;
    uint8_t *guarded;
    double *x;
} scene;

/* A box pressed to `ratio` of its height, with some noise: its tets have about that volume ratio. */
static scene make(double ratio)
{
    scene s = {.box = box_mesh_create(2, 2, 2, 1, 1, 1)};
    uint64_t seed = 5;
    double *one = malloc((size_t)s.box.t * sizeof *one), *poisson = calloc((size_t)s.box.t, sizeof *poisson);
    for (int64_t e = 0; e < s.box.t; e++) one[e] = 1;
    s.guarded = malloc((size_t)s.box.t);
    memset(s.guarded, 1, (size_t)s.box.t);
    s.x = malloc(3 * (size_t)s.box.n * sizeof *s.x);
    for (int64_t v = 0; v < 3 * s.box.n; v++)
        s.x[v] = s.box.vertices[v] * (v % 3 == 1 ? ratio : 1) + 0.01 * box_random(&seed);
    assert_int_equal(su_elastic_create(&s.elastic,
                                       &(su_elastic_body){.mesh = {s.box.n, s.box.t, s.box.vertices, s.box.tets},
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = one,
                                                          .poisson = poisson,
                                                          .density = one},
                                       NULL),
                     SU_OK);
    s.barrier = (su_volume_barrier){.near = 0.12, .far = 0.35, .weight = 3, .guarded = s.guarded};
    free(one), free(poisson);
    return s;
}

static void scene_free(scene *s)
{
    su_elastic_free(&s->elastic);
    box_mesh_free(&s->box);
    free(s->guarded), free(s->x);
}

static void test_derivatives(void **unused)
{
    (void)unused;
    scene s = make(0.25);
    int64_t size = 3 * s.box.n;
    double *force = calloc((size_t)size, sizeof *force), *moved = malloc((size_t)size * sizeof *moved);
    double *more = malloc((size_t)size * sizeof *more), *along = malloc((size_t)size * sizeof *along);
    uint64_t seed = 9;
    double *by_ratio = malloc(2 * (size_t)s.box.t * sizeof *by_ratio);
    su_sparse K, alone;
    assert_int_equal(su_sparse_clone_pattern(&s.elastic.pattern, &K, NULL), SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&s.elastic.pattern, &alone, NULL), SU_OK);
    su_volume_barrier_add(&s.barrier, &s.elastic, s.x, force, by_ratio);
    su_elastic_stiffness(&s.elastic, s.x, false, &alone, 1);
    su_elastic_stiffness_with(&s.elastic, by_ratio, s.x, false, &K, 1);
    for (int64_t i = 0; i < size; i++) along[i] = box_random(&seed);
    const double h = 1e-6;
    double by_force = 0, by_energy = 0, curve = 0, second = 0;
    for (int side = -1; side <= 1; side += 2) {
        for (int64_t i = 0; i < size; i++) moved[i] = s.x[i] + side * h * along[i];
        by_energy += side * su_volume_barrier_energy(&s.barrier, &s.elastic, moved) / (2 * h);
        memset(more, 0, (size_t)size * sizeof *more);
        su_volume_barrier_add(&s.barrier, &s.elastic, moved, more, NULL);
        for (int64_t i = 0; i < size; i++) second += side * more[i] * along[i] / (2 * h);
    }
    for (int64_t j = 0; j < K.size; j++)
        for (int64_t k = K.start[j]; k < K.start[j + 1]; k++)
            curve += (K.row[k] == j ? 1 : 2) * (K.value[k] - alone.value[k]) * along[j] *
                     along[K.row[k]]; /* no held vertices: dofs as vertices */
    for (int64_t i = 0; i < size; i++) by_force += force[i] * along[i];
    assert_true(fabs(by_force) > 1e-3);
    assert_true(fabs(by_force - by_energy) < 1e-6 * fabs(by_force));
    assert_true(fabs(second) > 1);
    assert_true(fabs(curve - second) < 1e-5 * fabs(second));
    /* made semidefinite it is a Cholesky factor but for a little on the diagonal, which it is not as it is */
    su_cholesky *factor;
    assert_int_equal(su_cholesky_create(&K, 1, &factor, NULL), SU_OK);
    for (int project = 0; project < 2; project++) {
        double largest = 0;
        su_elastic_stiffness_with(&s.elastic, by_ratio, s.x, project, &K, 1);
        for (int64_t j = 0; j < K.size; j++) largest = fmax(largest, K.value[K.start[j]]);
        for (int64_t j = 0; j < K.size; j++) K.value[K.start[j]] += 1e-9 * largest;
        assert_int_equal(su_cholesky_factorize(factor, &K, NULL), project ? SU_OK : SU_NUMERICS);
    }
    su_cholesky_free(factor);
    su_sparse_free(&K);
    su_sparse_free(&alone);
    free(by_ratio);
    free(force), free(moved), free(more), free(along);
    scene_free(&s);
}

/* Zero above `far`, infinite at `near`, but only for guarded tets. */
static void test_range(void **unused)
{
    (void)unused;
    scene open = make(1), closed = make(0.05);
    assert_true(su_volume_barrier_energy(&open.barrier, &open.elastic, open.x) == 0);
    assert_true(isinf(su_volume_barrier_energy(&closed.barrier, &closed.elastic, closed.x)));
    memset(closed.guarded, 0, (size_t)closed.box.t);
    assert_true(su_volume_barrier_energy(&closed.barrier, &closed.elastic, closed.x) == 0);
    scene_free(&open);
    scene_free(&closed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_range)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
