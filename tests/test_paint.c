/* Paint of the skin spread over tets (PSSD eq. 37). */
#include "box.h"
#include "fem/paint.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A skin vertex for every corner of the box's sides; embedded in some tet that has it. */
typedef struct skinned {
    box_mesh box;
    int64_t nbar;
    int32_t *embed, *vertex;
} skinned;

static skinned make(int cells, double size)
{
    skinned s = {.box = box_mesh_create(2 * cells, cells, cells, 2 * size, size, size)};
    s.embed = malloc((size_t)s.box.n * sizeof *s.embed), s.vertex = malloc((size_t)s.box.n * sizeof *s.vertex);
    for (int64_t v = 0; v < s.box.n; v++) {
        const double *x = s.box.vertices + 3 * v;
        bool side = false;
        for (int i = 0; i < 3; i++) side |= x[i] < 1e-9 || x[i] > size * (i ? 1 : 2) * (1 - 1e-9);
        if (!side) continue;
        for (int64_t e = 0; e < s.box.t; e++)
            for (int a = 0; a < 4; a++)
                if (s.box.tets[4 * e + a] == v) s.embed[s.nbar] = (int32_t)e;
        s.vertex[s.nbar++] = (int32_t)v;
    }
    return s;
}

static void skinned_free(skinned *s)
{
    box_mesh_free(&s->box);
    free(s->embed), free(s->vertex);
}

static double *spread(const skinned *s, const uint8_t *left_out, int64_t fields, const double *values)
{
    su_error err = {0};
    double *out = malloc((size_t)(fields * s->box.t) * sizeof *out);
    su_status status =
        su_paint_spread(&(su_tet_mesh){s->box.n, s->box.t, s->box.vertices, s->box.tets},
                        &(su_paint_skin){s->nbar, s->embed, left_out}, SU_PAINT_ZETA, fields, values, out, &err);
    if (status != SU_OK) printf("# %s\n", err.text);
    assert_int_equal(status, SU_OK);
    return out;
}

static double centre(const box_mesh *box, int64_t e, int axis)
{
    double sum = 0;
    for (int a = 0; a < 4; a++) sum += box->vertices[3 * box->tets[4 * e + a] + axis] / 4;
    return sum;
}

/* One colour stays that colour; a field does not depend on the others beside it. */
static void test_constant(void **unused)
{
    (void)unused;
    skinned s = make(4, 1);
    double *values = malloc(2 * (size_t)s.nbar * sizeof *values);
    for (int64_t v = 0; v < s.nbar; v++) values[v] = 7, values[s.nbar + v] = s.box.vertices[3 * s.vertex[v]];
    double *both = spread(&s, NULL, 2, values), *alone = spread(&s, NULL, 1, values + s.nbar);
    for (int64_t e = 0; e < s.box.t; e++) assert_true(fabs(both[e] - 7) < 1e-12);
    assert_memory_equal(both + s.box.t, alone, (size_t)s.box.t * sizeof *alone);
    free(values), free(both), free(alone);
    skinned_free(&s);
}

/* A linear colour reaches the inside as it is, at any scale and resolution: its Laplacian is zero. */
static void test_linear(void **unused)
{
    (void)unused;
    double last = 1;
    for (int level = 0; level < 2; level++)
        for (int scale = 0; scale < 2; scale++) {
            double size = scale ? 1000 : 1, worst = 0;
            skinned s = make(level ? 10 : 5, size);
            double *values = malloc((size_t)s.nbar * sizeof *values);
            for (int64_t v = 0; v < s.nbar; v++) values[v] = 1 + s.box.vertices[3 * s.vertex[v]] / size;
            double *out = spread(&s, NULL, 1, values);
            for (int64_t e = 0; e < s.box.t; e++) worst = fmax(worst, fabs(out[e] - 1 - centre(&s.box, e, 0) / size));
            printf("# linear paint, %d cells, size %g m: off by %.4f at most\n", level ? 10 : 5, size, worst);
            if (scale)
                assert_true(fabs(worst - last) < 1e-9); /* the scale does not show */
            else if (level)
                assert_true(worst < 0.6 * last);
            last = worst;
            free(values), free(out);
            skinned_free(&s);
        }
    assert_true(last < 0.1);
}

/* Two halves: paint holds at the skin, the border is soft inside, and no value leaves the range. Vertices without a say
 * and parts without paint. */
static void test_halves(void **unused)
{
    (void)unused;
    skinned s = make(6, 1);
    double *values = malloc((size_t)s.nbar * sizeof *values);
    uint8_t *silent = calloc((size_t)s.nbar, 1);
    for (int64_t v = 0; v < s.nbar; v++) {
        values[v] = s.box.vertices[3 * s.vertex[v]] < 1 ? 1 : 5;
        if (v % 7 == 3) values[v] = 1e6, silent[v] = 1;
    }
    double *out = spread(&s, silent, 1, values), middle = 0;
    int64_t count = 0;
    for (int64_t e = 0; e < s.box.t; e++) {
        double x = centre(&s.box, e, 0);
        assert_true(out[e] >= 1 && out[e] <= 5);
        bool skin = false;
        for (int64_t v = 0; v < s.nbar; v++) skin |= s.embed[v] == e && !silent[v];
        if (skin && x < 0.75) assert_true(out[e] < 1.1);
        if (skin && x > 1.25) assert_true(out[e] > 4.9);
        if (fabs(x - 1) < 0.2) middle += out[e], count++;
    }
    assert_true(fabs(middle / (double)count - 3) < 0.5);
    free(out);

    /* a second box beside the first, without skin */
    int64_t n = s.box.n, t = s.box.t;
    double *x = malloc(6 * (size_t)n * sizeof *x);
    int32_t *tets = malloc(8 * (size_t)t * sizeof *tets);
    memcpy(x, s.box.vertices, 3 * (size_t)n * sizeof *x), memcpy(tets, s.box.tets, 4 * (size_t)t * sizeof *tets);
    for (int64_t i = 0; i < 3 * n; i++) x[3 * n + i] = x[i] + 5;
    for (int64_t i = 0; i < 4 * t; i++) tets[4 * t + i] = tets[i] + (int32_t)n;
    out = malloc(2 * (size_t)t * sizeof *out);
    assert_int_equal(su_paint_spread(&(su_tet_mesh){2 * n, 2 * t, x, tets}, &(su_paint_skin){s.nbar, s.embed, silent},
                                     SU_PAINT_ZETA, 1, values, out, NULL),
                     SU_OK);
    for (int64_t e = t; e < 2 * t; e++) assert_true(fabs(out[e] - out[t]) < 1e-9 && out[e] > 1.5 && out[e] < 4.5);
    memset(silent, 1, (size_t)s.nbar);
    assert_int_equal(su_paint_spread(&(su_tet_mesh){2 * n, 2 * t, x, tets}, &(su_paint_skin){s.nbar, s.embed, silent},
                                     SU_PAINT_ZETA, 1, values, out, NULL),
                     SU_INPUT);
    free(out), free(x), free(tets), free(values), free(silent);
    skinned_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constant), cmocka_unit_test(test_linear),
                                       cmocka_unit_test(test_halves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
