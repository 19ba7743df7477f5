/* Displacements carried from one rest shape to another: strain turns with the tets. */
#include "fem/transport.h"

#include "box.h"
#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_lanes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

/* A bar of 12 x 3 x 3 cells along x, held at x = 0 or nowhere; stiff beyond its middle. */
typedef struct bar {
    box_mesh box;
    su_elastic body;
    su_transport *transport;
    double *u, *turned, *carried; /* (n,3) */
    double *from, *to;            /* (n,4) */
    double *R0, *R1;              /* (t,9) of these */
    double motion;                /* J */
    bool held;
} bar;

static double *vectors(const bar *b, int64_t width) { return calloc((size_t)(width * b->box.n), sizeof(double)); }

static void bar_create(bar *b, bool held, int threads)
{
    int32_t wall[16];
    double *young, *even = NULL, *density = NULL;
    memset(b, 0, sizeof *b);
    b->held = held;
    b->box = box_mesh_create(12, 3, 3, 1.2, 0.3, 0.3);
    for (int32_t v = 0; v < 16; v++) wall[v] = v;
    young = box_constant(b->box.t, 1e4), even = box_constant(b->box.t, 0.4), density = box_constant(b->box.t, 1000);
    for (int64_t e = 0; e < b->box.t; e++)
        if (b->box.vertices[3 * (int64_t)b->box.tets[4 * e]] > 0.6) young[e] = 1e8;
    assert_int_equal(su_elastic_create(&b->body,
                                       &(su_elastic_body){.mesh = {b->box.n, b->box.t, b->box.vertices, b->box.tets},
                                                          .held_count = held ? 16 : 0,
                                                          .held = held ? wall : NULL,
                                                          .material = SU_TISSUE,
                                                          .young = young,
                                                          .poisson = even,
                                                          .density = density},
                                       NULL),
                     SU_OK);
    assert_int_equal(su_transport_create(&b->body, threads, &b->transport, NULL), SU_OK);
    b->u = vectors(b, 3), b->turned = vectors(b, 3), b->carried = vectors(b, 3);
    b->from = vectors(b, 4), b->to = vectors(b, 4);
    b->R0 = malloc(9 * (size_t)b->box.t * sizeof *b->R0), b->R1 = malloc(9 * (size_t)b->box.t * sizeof *b->R1);
    for (int64_t v = 0; v < b->box.n; v++) {
        const double *x = b->box.vertices + 3 * v;
        double w[3] = {0.1 * x[0], 0, 0.3 * x[0]}, z = 0.1 * x[0] * x[0];
        if (x[0] > 0) b->u[3 * v + 1] = z, b->u[3 * v + 2] = -0.5 * z;
        su_quaternion_exp(w, b->from + 4 * v);
    }
    free(young), free(even), free(density);
}

static void bar_free(bar *b)
{
    su_transport_free(b->transport);
    su_elastic_free(&b->body);
    box_mesh_free(&b->box);
    free(b->u), free(b->turned), free(b->carried), free(b->from), free(b->to), free(b->R0), free(b->R1);
}

/* to: from, then about y by what angle says of a place. */
static void turn_on(bar *b, double (*angle)(const double x[3]))
{
    for (int64_t v = 0; v < b->box.n; v++) {
        double w[3] = {0, angle(b->box.vertices + 3 * v), 0}, q[4];
        su_quaternion_exp(w, q);
        su_quaternion_multiply(q, b->from + 4 * v, b->to + 4 * v);
    }
    su_turn_back_vectors(b->box.n, b->from, b->u, b->turned);
    su_turn_vectors(b->box.n, b->to, b->turned, b->turned);
    for (int64_t i = 0; b->held && i < 48; i++) b->turned[i] = 0; /* the wall */
}

static void carry(bar *b)
{
    su_tet_rotations(b->box.t, b->box.tets, b->from, 1, b->R0);
    su_tet_rotations(b->box.t, b->box.tets, b->to, 1, b->R1);
    memcpy(b->carried, b->turned, 3 * (size_t)b->box.n * sizeof(double));
    assert_int_equal(su_transport_mend(b->transport, b->R0, b->R1, b->motion, b->u, b->carried, NULL), SU_OK);
}

/* J, of u on the neutral shape turned by `turn` */
static double energy(bar *b, const double *turn, const double *u)
{
    double *y = vectors(b, 3);
    for (int64_t i = 0; i < 3 * b->box.n; i++) y[i] = b->box.vertices[i] + u[i];
    su_tet_rotations(b->box.t, b->box.tets, turn, 1, b->R0);
    su_elastic_set_turned_rest(&b->body, b->box.vertices, b->R0, 1);
    double sum = su_elastic_energy(&b->body, y, 1);
    free(y);
    return sum;
}

static double alike(const double x[3]) { return 0.7 + 0 * x[0]; }
static double slowly(const double x[3]) { return 0.02 * x[0]; }
/* As the nearest rotation jumps where a rig turns flesh inside out. */
static double jumps(const double x[3]) { return x[0] > 0.8 && x[2] > 0.14 ? 3.1 : 0; }

/* ---- tests ---- */

static void where_all_turns_alike_vectors_turn(void **unused)
{
    (void)unused;
    double (*ways[])(const double *) = {alike, slowly};
    for (int k = 0; k < 2; k++) {
        bar b;
        bar_create(&b, true, 1);
        turn_on(&b, ways[k]);
        carry(&b);
        for (int64_t i = 0; i < 3 * b.box.n; i++) assert_near(b.carried[i], b.turned[i], 0);
        bar_free(&b);
    }
}

static void energy_is_kept_where_rotations_jump(void **unused)
{
    (void)unused;
    for (int held = 0; held < 2; held++) {
        bar b;
        bar_create(&b, held, 1);
        turn_on(&b, jumps);
        carry(&b);
        double before = energy(&b, b.from, b.u);
        assert_true(energy(&b, b.to, b.turned) > 30 * before);
        assert_true(energy(&b, b.to, b.carried) < 1.1 * before);
        for (int64_t v = 0; v < 16 && held; v++)
            for (int i = 0; i < 3; i++) assert_near(b.carried[3 * v + i], 0, 0);
        bar_free(&b);
    }
}

static void gradients_are_the_nearest(void **unused)
{
    (void)unused;
    bar b;
    bar_create(&b, true, 1);
    turn_on(&b, jumps);
    carry(&b);
    /* The pull of what is missing is 0 at every free vertex: the sum is least. */
    double *pull = vectors(&b, 3), largest = 0, size = 0;
    for (int64_t e = 0; e < b.box.t; e++) {
        const int32_t *tet = b.box.tets + 4 * e;
        double g[12], H[9] = {0}, G[9] = {0}, back[9], missing[9], f[3];
        double weight = b.body.mu[e] * su_tet_gradients(b.box.vertices, tet, g) / 6;
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 9; i++) {
                H[i] += b.u[3 * tet[a] + i / 3] * g[3 * a + i % 3];
                G[i] += b.carried[3 * tet[a] + i / 3] * g[3 * a + i % 3];
            }
        su_tmul33(b.R0 + 9 * e, H, back);
        su_mul33(b.R1 + 9 * e, back, missing);
        for (int i = 0; i < 9; i++) missing[i] -= G[i];
        for (int a = 0; a < 4; a++) {
            su_mulv3(missing, g + 3 * a, f);
            for (int i = 0; i < 3; i++) pull[3 * tet[a] + i] += weight * f[i], size = fmax(size, fabs(weight * f[i]));
        }
    }
    for (int64_t v = 16; v < b.box.n; v++)
        for (int i = 0; i < 3; i++) largest = fmax(largest, fabs(pull[3 * v + i]));
    assert_true(largest < 1e-6 * size); /* LIFT leaves as much */
    free(pull);
    bar_free(&b);
}

static void what_motion_does_not_feel_stays(void **unused)
{
    (void)unused;
    bar b;
    bar_create(&b, true, 1);
    turn_on(&b, jumps);
    b.motion = 1e12;
    carry(&b);
    assert_memory_equal(b.carried, b.turned, 3 * (size_t)b.box.n * sizeof(double));
    bar_free(&b);
}

static void threads_change_nothing(void **unused)
{
    (void)unused;
    bar one, three;
    bar_create(&one, true, 1), bar_create(&three, true, 3);
    turn_on(&one, jumps), turn_on(&three, jumps);
    carry(&one), carry(&three);
    assert_memory_equal(one.carried, three.carried, 3 * (size_t)one.box.n * sizeof(double));
    bar_free(&one), bar_free(&three);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_all_turns_alike_vectors_turn), cmocka_unit_test(energy_is_kept_where_rotations_jump),
        cmocka_unit_test(gradients_are_the_nearest), cmocka_unit_test(what_motion_does_not_feel_stays),
        cmocka_unit_test(threads_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
