/* Lists of near tets and the tree of boxes behind them, against looking at every tet. */
#include "box.h"
#include "contact/near_tets.h"
#include "geometry/bisection.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A bar of 24 x 2 x 2 cells wound up so many times: from one turn on its layers lie in each other. */
static void wind(const box_mesh *box, double turns, double *y)
{
    for (int64_t v = 0; v < box->n; v++) {
        const double *X = box->vertices + 3 * v;
        double angle = 2 * M_PI * turns * X[0] / 12;
        y[3 * v] = turns > 0 ? (0.9 + X[1] + 0.05 * X[0]) * sin(angle) : X[0];
        y[3 * v + 1] = turns > 0 ? (0.9 + X[1] + 0.05 * X[0]) * cos(angle) : X[1];
        y[3 * v + 2] = X[2] + 0.03 * X[0];
    }
}

static void box_of(const double *y, const int32_t *tet, double box[6])
{
    for (int i = 0; i < 3; i++) {
        box[i] = DBL_MAX, box[3 + i] = -DBL_MAX;
        for (int c = 0; c < 4; c++) {
            box[i] = fmin(box[i], y[3 * (int64_t)tet[c] + i]);
            box[3 + i] = fmax(box[3 + i], y[3 * (int64_t)tet[c] + i]);
        }
    }
}

static bool touches(const double box[6], const double low[3], const double high[3])
{
    for (int i = 0; i < 3; i++)
        if (box[i] > high[i] || box[3 + i] < low[i]) return false;
    return true;
}

static void random_box(uint64_t *seed, double low[3], double high[3])
{
    for (int i = 0; i < 3; i++) {
        double at = 4 * box_random(seed), size = 0.5 * fabs(box_random(seed));
        low[i] = at - size, high[i] = at + size;
    }
}

/* Holds queries of random boxes against all tets of the mesh; how many were found. */
static int64_t try_queries(const box_mesh *box, const double *y, const int32_t *items, su_wide_tree *tree)
{
    enum { QUERIES = 200 };
    su_wide_leaf *leaf = malloc((size_t)(tree->count / SU_WIDE + 2) * sizeof *leaf);
    bool *found = calloc((size_t)box->t, sizeof *found);
    uint64_t seed = 3;
    int64_t hits = 0;
    su_wide_tree_fit(tree, items, box->tets, y, 2);
    for (int q = 0; q < QUERIES; q++) {
        double low[3], high[3], own[6];
        float from[3], to[3];
        random_box(&seed, low, high);
        for (int i = 0; i < 3; i++)
            from[i] = (float)(low[i] - tree->origin[i] - tree->rounding),
            to[i] = (float)(high[i] - tree->origin[i] + tree->rounding);
        int64_t count = su_wide_tree_leaves(tree, from, to, leaf);
        memset(found, 0, (size_t)box->t * sizeof *found);
        for (int64_t k = 0; k < count; k++) {
            assert_true(k == 0 || leaf[k].leaf > leaf[k - 1].leaf);
            for (int i = 0; i < SU_WIDE; i++) {
                if (!(leaf[k].tets >> i & 1)) continue;
                int64_t at = (int64_t)SU_WIDE * leaf[k].leaf + i;
                assert_in_range(at, 0, tree->count - 1);
                found[items[at]] = true;
            }
        }
        double about = 4 * tree->rounding; /* those on the query's faces may be told either way */
        for (int64_t e = 0; e < box->t; e++) {
            box_of(y, box->tets + 4 * e, own);
            if (touches(own, low, high)) assert_true(found[e]);
            for (int i = 0; i < 3; i++) own[i] -= about, own[3 + i] += about;
            if (!touches(own, low, high)) assert_false(found[e]);
            hits += found[e];
        }
    }
    free(leaf), free(found);
    return hits;
}

static void test_tree_finds_what_touches(void **state)
{
    (void)state;
    static const int cells[] = {24, 1};
    for (int c = 0; c < 2; c++) {
        box_mesh box = box_mesh_create(cells[c], c ? 1 : 2, c ? 1 : 2, 12, 1, 1);
        double *y = malloc(3 * (size_t)box.n * sizeof *y), *centre = malloc(3 * (size_t)box.t * sizeof *centre);
        int32_t *items = malloc((size_t)box.t * sizeof *items);
        su_wide_tree tree;
        assert_int_equal(su_wide_tree_create(box.t, &tree, NULL), SU_OK);
        wind(&box, 1.2, y);
        for (int64_t e = 0; e < box.t; e++) items[e] = (int32_t)(box.t - 1 - e);
        int64_t hits = try_queries(&box, y, items, &tree); /* in any order */
        for (int64_t k = 0; k < 3 * box.t; k++) centre[k] = y[3 * (int64_t)box.tets[4 * (k / 3)] + k % 3];
        su_bisection_order(box.t, centre, SU_WIDE, items);
        assert_int_equal(try_queries(&box, y, items, &tree), hits);
        assert_in_range(hits, c ? 1 : 100, 1000000);
        su_wide_tree_free(&tree);
        free(y), free(centre), free(items), box_mesh_free(&box);
    }
}

/* A list against all tets: those that may hold the vertex are in it, none is related to the vertex or farther off than
 * it says. Returns how many may. */
static int64_t try_list(const box_mesh *box, const su_contact_body *body, const double *y, int32_t v,
                        const su_near_list *list)
{
    int64_t holding = 0;
    bool *listed = calloc((size_t)box->t, sizeof *listed);
    for (int64_t k = 0; k < list->count; k++) {
        assert_false(su_contact_related(body, v, box->tets + 4 * (int64_t)list->tet[k].tet, 4));
        listed[list->tet[k].tet] = list->tet[k].gap <= list->reach;
    }
    for (int64_t e = 0; e < box->t; e++) {
        double own[6];
        box_of(y, box->tets + 4 * e, own);
        if (!touches(own, y + 3 * (int64_t)v, y + 3 * (int64_t)v)) continue;
        if (su_contact_related(body, v, box->tets + 4 * e, 4) || body->nearest[e] < 0) continue;
        assert_true(listed[e]);
        holding++;
    }
    free(listed);
    return holding;
}

static void test_lists_hold_what_is_near(void **state)
{
    (void)state;
    /* Small steps, for which lists are kept, and leaps, after which tets are put into another order. */
    static const double turns[] = {1.2, 1.2005, 1.201, 1.4, 0, 2.5, 1.2};
    box_mesh box = box_mesh_create(24, 2, 2, 12, 1, 1);
    double *y = malloc(3 * (size_t)box.n * sizeof *y), *other = malloc(3 * (size_t)box.n * sizeof *other);
    su_contact_body body;
    box_mesh_jitter(&box, 0.1);
    assert_int_equal(su_contact_body_create(box.n, box.vertices, box.t, box.tets, &body, NULL), SU_OK);
    wind(&box, 1.3, other);
    for (int threads = 1; threads <= 3; threads += 2) {
        su_near_tets *near;
        su_near_shape shape;
        su_near_list list;
        assert_int_equal(su_near_tets_create(&body, threads, &near, NULL), SU_OK);
        assert_int_equal(su_near_shape_create(near, other, &shape, NULL), SU_OK);
        for (size_t k = 0; k < sizeof turns / sizeof *turns; k++) {
            int64_t holding = 0, elsewhere = 0, vertices = 0;
            wind(&box, turns[k], y);
            for (int64_t j = 0; j < body.surface_count; j += 7) { /* before and after the order changes */
                assert_int_equal(su_near_shape_list(near, &shape, body.vertex[j], &list, NULL), SU_OK);
                elsewhere += try_list(&box, &body, other, body.vertex[j], &list);
            }
            assert_int_equal(su_near_tets_bring(near, y, NULL), SU_OK);
            for (int c = 0; c < threads; c++)
                for (int64_t i = su_near_tets_first(near, c); i < su_near_tets_first(near, c + 1); i++, vertices++) {
                    list = su_near_tets_list(near, y, i, c);
                    holding += try_list(&box, &body, y, su_near_tets_vertex(near, i), &list);
                }
            assert_int_equal(vertices, body.surface_count);
            assert_true(turns[k] > 0 ? holding > 20 : holding == 0);
            assert_true(elsewhere > 5);
        }
        su_near_shape_free(&shape);
        su_near_tets_free(near);
    }
    su_contact_body_free(&body);
    free(y), free(other), box_mesh_free(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_finds_what_touches),
        cmocka_unit_test(test_lists_hold_what_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
