/* The full simulation under the constraint of a rig, and with the neutral shape as rest (docs/skinning.md, section 4).
 */
#include "fem/complement.h"
#include "fem/fullsim.h"

#include "fem/implicit.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"
#include "geometry/vector.h"
#include "scene.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

enum { FRAMES = 15 };

static const double two_poses[] = {0.0, 1.0};

/* ---- rows ---- */

/* Rows of a rig on the beam: mass times a leak that grows along it and is 0 at one edge, times `rows` monomials; and,
 * with a shape, what a change of the bend does. */
static const double monomials[10][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 0, 0},
                                        {0, 2, 0}, {0, 0, 2}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}};

typedef struct rig_rows {
    su_skinning file; /* n, rows, shapes and their arrays */
} rig_rows;

static rig_rows rows_create(const scene *s, int rows, int shapes)
{
    rig_rows out = {.file = {.n = s->tet.n, .rows = rows, .shapes = shapes}};
    int64_t n = s->tet.n;
    double *mass = calloc((size_t)n, sizeof *mass), *near = calloc((size_t)(3 * n), sizeof *near);
    double *far = calloc((size_t)(3 * n), sizeof *far);
    su_skinning *f = &out.file;
    f->rig_rows = calloc((size_t)(rows * n + 1), sizeof(double));
    f->rig_shapes = calloc((size_t)(3 * shapes * n + 1), sizeof(double));
    beam_mass(&s->mesh, mass);
    beam_bend(&s->mesh, -0.1, near), beam_bend(&s->mesh, 0.1, far);
    for (int64_t v = 0; v < n; v++) {
        const double *X = s->tet.vertices + 3 * v;
        double weight = X[1] > 0.12 && X[2] > 0.01 ? 0 : mass[v] * (0.2 + 0.8 * X[0]);
        for (int r = 0; r < rows; r++) {
            const double *power = monomials[r];
            f->rig_rows[r * n + v] = weight * pow(X[0], power[0]) * pow(X[1], power[1]) * pow(X[2], power[2]);
        }
        for (int k = 0; k < shapes; k++)
            for (int c = 0; c < 3; c++)
                f->rig_shapes[3 * (k * n + v) + c] =
                    weight * (far[3 * v + c] - near[3 * v + c]) * pow(1 + X[0], k) * (c == 0 && k == 2 ? -1 : 1);
    }
    free(mass), free(near), free(far);
    return out;
}

static void rows_free(rig_rows *rows) { free(rows->file.rig_rows), free(rows->file.rig_shapes); }

/* Largest of |C u| over |u| and the norm of a row, of all rows and frames. */
static double violation(const rig_rows *rows, int64_t frames, const double *u)
{
    const su_skinning *f = &rows->file;
    double most = 0.0;
    for (int64_t k = 0; k < frames; k++, u += 3 * f->n) {
        double size = su_norm(3 * f->n, u);
        for (int64_t r = 0; r < f->rows && size > 0; r++) {
            double sum[3] = {0};
            for (int64_t i = 0; i < 3 * f->n; i++) sum[i % 3] += f->rig_rows[r * f->n + i / 3] * u[i];
            most = fmax(most, su_norm3(sum) / size / su_norm(f->n, f->rig_rows + r * f->n));
        }
        for (int64_t r = 0; r < f->shapes && size > 0; r++) {
            const double *shape = f->rig_shapes + 3 * r * f->n;
            most = fmax(most, fabs(su_dot(3 * f->n, shape, u)) / size / su_norm(3 * f->n, shape));
        }
    }
    return most;
}

/* ---- rigs ---- */

static void rig_bent(double t, double *bend, double *root)
{
    (void)t, (void)root;
    *bend = 0.8;
}

static void rig_jerk(double t, double *bend, double *root)
{
    *bend = t < 0.3 ? 0.8 * sin(20.0 * t) : 0.0;
    root[7] = t < 0.3 ? 0.3 * sin(15.0 * t) : 0.0;
}

static double jump_at, jump_by;

static void rig_teleport(double t, double *bend, double *root)
{
    *bend = 0.3 * sin(8.0 * t);
    scene_turn(0.2 * t, root);
    root[7] = 0.2 * sin(10.0 * t);
    if (t > jump_at) root[3] = jump_by;
}

/* ---- the projection ---- */

static su_elastic body_of(const scene *s)
{
    su_elastic body;
    assert_int_equal(su_elastic_of_fit(&body, &s->tet, &s->fit, SU_NEOHOOKEAN, NULL), SU_OK);
    return body;
}

static su_complement *complement_of(const su_elastic *body, const rig_rows *rows)
{
    su_complement *out;
    su_error err = {0};
    const su_skinning *f = &rows->file;
    if (su_complement_create(body, f->rows, f->rig_rows, f->shapes, f->rig_shapes, &out, &err) != SU_OK)
        fail_msg("%s", err.text);
    return out;
}

/* a' W b, W the mass or the mean of the diagonals of A's blocks */
static double product(const su_elastic *body, const su_sparse *A, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < 3 * body->free_count && !A; i++) sum += body->mass[body->free_vertex[i / 3]] * a[i] * b[i];
    for (int64_t j = 0; j < 3 * body->free_count && A; j++)
        for (int64_t e = A->start[j]; e < A->start[j + 1]; e++) {
            int64_t f = j / 3, g = A->row[e] / 3;
            for (int c = 0; c < 3 && A->row[e] % 3 == j % 3; c++)
                sum += A->value[e] / 3 * (a[3 * f + c] * b[3 * g + c] + (f != g ? a[3 * g + c] * b[3 * f + c] : 0));
        }
    return sum;
}

/* P P = P, (P u)' W w = u' W P w, (P' f)' u = f' P u, and what is left obeys the rows: W is the mass, in both
 * precisions, or where tuned to a matrix what it is to all components alike. */
static void projections_are_orthogonal_and_leave_what_obeys(void **unused)
{
    (void)unused;
    static void (*const displacement[])(su_complement *, double *) = {
        su_complement_displacement, su_complement_tuned_displacement, su_complement_tuned_displacement};
    static void (*const force[])(su_complement *, double *) = {su_complement_force, su_complement_tuned_force,
                                                               su_complement_tuned_force};
    scene s;
    scene_create(&s, 4, 2, 2, 2, two_poses, 2, 30, rig_bent, 0, NULL);
    for (int mixed = 0; mixed < 3; mixed++) {
        rig_rows rows = rows_create(&s, mixed == 2 ? 0 : 7, mixed ? 2 : 0);
        su_elastic body = body_of(&s);
        su_complement *P = complement_of(&body, &rows);
        su_sparse A;
        int64_t dofs = 3 * body.free_count;
        double *v[7];
        for (int k = 0; k < 7; k++) {
            v[k] = calloc((size_t)(3 * s.tet.n), sizeof(double));
            for (int64_t i = 0; i < dofs; i++) v[k][i] = sin((double)((3 + k % 3) * i + k % 3));
        }
        assert_int_equal(su_sparse_clone_pattern(&body.pattern, &A, NULL), SU_OK);
        su_elastic_stiffness(&body, s.tet.vertices, true, &A, 1);
        for (int way = 0; way < 3; way++) {
            double bound = way == 0 ? 1e-13 : 1e-5;
            const su_sparse *W = way == 2 ? &A : NULL;
            if (way == 2) assert_int_equal(su_complement_tune(P, &A, NULL), SU_OK);
            for (int k = 3; k < 6; k++) memcpy(v[k], v[k - 3], (size_t)dofs * sizeof(double));
            displacement[way](P, v[3]), displacement[way](P, v[4]), force[way](P, v[5]);
            double size = sqrt(product(&body, W, v[0], v[0]) * product(&body, W, v[1], v[1]));
            assert_near(product(&body, W, v[3], v[1]) / size, product(&body, W, v[0], v[4]) / size, bound);
            assert_near(su_dot(dofs, v[5], v[0]), su_dot(dofs, v[2], v[3]), bound * (double)dofs);
            assert_true(difference(dofs, v[5], v[2]) > 1e-3); /* something is taken out */
            memcpy(v[4], v[3], (size_t)dofs * sizeof(double));
            displacement[way](P, v[4]);
            assert_near(difference(dofs, v[3], v[4]), 0, bound);
            memset(v[4], 0, (size_t)(3 * s.tet.n) * sizeof(double));
            for (int64_t i = 0; i < dofs; i++) v[4][3 * body.free_vertex[i / 3] + i % 3] = v[3][i];
            assert_near(violation(&rows, 1, v[4]), 0, bound);
            if (way == 1) memcpy(v[6], v[3], (size_t)dofs * sizeof(double));
        }
        assert_true(difference(dofs, v[3], v[6]) > 1e-3); /* tuned, it is another projection */
        for (int k = 0; k < 7; k++) free(v[k]);
        su_sparse_free(&A);
        su_complement_free(P);
        su_elastic_free(&body);
        rows_free(&rows);
    }
    scene_free(&s);
}

/* A x + C' lambda = b, C x = 0: the residual is a reaction, so nothing of it is left once projected. */
static void a_constrained_system_is_solved_with_the_factor_alone(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 6, 2, 2, 2, two_poses, 2, 30, rig_bent, 0, NULL);
    rig_rows rows = rows_create(&s, 9, 3);
    su_elastic body = body_of(&s);
    su_complement *P = complement_of(&body, &rows);
    su_sparse A;
    su_cholesky *factor;
    int64_t dofs = 3 * body.free_count;
    double *b = calloc((size_t)dofs, sizeof *b), *x = calloc((size_t)dofs, sizeof *x);
    double *r = calloc((size_t)dofs, sizeof *r);
    assert_int_equal(su_sparse_clone_pattern(&body.pattern, &A, NULL), SU_OK);
    su_elastic_stiffness(&body, s.tet.vertices, true, &A, 1); /* statics: the hard case */
    assert_int_equal(su_cholesky_create(&body.pattern, 1, &factor, NULL), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &A, NULL), SU_OK);
    for (int64_t i = 0; i < dofs; i++) b[i] = sin((double)(7 * i));
    assert_int_equal(su_complement_solve(P, &A, NULL, factor, b, x, NULL), SU_OK);
    su_sparse_multiply(&A, x, r);
    for (int64_t i = 0; i < dofs; i++) r[i] -= b[i];
    su_complement_force(P, r);
    assert_near(su_norm(dofs, r) / su_norm(dofs, b), 0, 1e-8);
    memcpy(r, x, (size_t)dofs * sizeof *r);
    su_complement_displacement(P, r);
    assert_near(difference(dofs, r, x) / largest(dofs, x), 0, 1e-13);
    su_cholesky_free(factor);
    su_sparse_free(&A);
    su_complement_free(P);
    su_elastic_free(&body);
    free(b), free(x), free(r);
    rows_free(&rows);
    scene_free(&s);
}

static void rows_that_cannot_be_are_refused(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 3, 1, 1, 2, two_poses, 2, 30, rig_bent, 0, NULL);
    su_elastic body = body_of(&s);
    int64_t n = s.tet.n;
    for (int bad = 0; bad < 5; bad++) {
        rig_rows rows = rows_create(&s, 5, 2);
        su_skinning *f = &rows.file;
        su_complement *P;
        su_error err = {0};
        const char *says = "the rig's row 4 depends on those before it";
        for (int64_t v = 0; v < n; v++) {
            if (bad == 0) f->rig_rows[4 * n + v] = 3 * f->rig_rows[v] - 2 * f->rig_rows[3 * n + v];
            if (bad == 1) f->rig_rows[4 * n + v] = 0;
            for (int c = 0; c < 3 && bad == 2; c++) f->rig_shapes[3 * (n + v) + c] = 0.1 * f->rig_shapes[3 * v + c];
            for (int c = 0; c < 3 && bad == 3; c++) /* what a scalar row says of z */
                f->rig_shapes[3 * (n + v) + c] = c == 2 ? f->rig_rows[2 * n + v] : 0;
        }
        if (bad == 1) says = "the rig's row 4 is 0 at all vertices that move";
        if (bad == 2 || bad == 3) says = "the rig's shape 1 depends on those before it";
        if (bad == 4)
            body.free_count = 3, says = "the rig's row 3 depends on those before it"; /* more rows than numbers */
        assert_int_equal(su_complement_create(&body, f->rows, f->rig_rows, f->shapes, f->rig_shapes, &P, &err),
                         SU_INPUT);
        assert_string_equal(err.text, says);
        assert_null(P);
        rows_free(&rows);
    }
    su_elastic_free(&body);
    scene_free(&s);
}

/* ---- whole shots ---- */

static double *run(scene *s, const su_sim_settings *settings, su_fullsim_options options, int *status,
                   su_shot_counts *counts)
{
    options.threads = 1;
    if (options.tolerance == 0) options.tolerance = 1e-10;
    return scene_full_run_with(s, settings, &options, NULL, status, counts);
}

/* Starts, equilibria, pre-rolls, cuts and steps that fail: no frame leaves what the rig leaves free. */
static void rows_hold_at_every_frame(void **unused)
{
    (void)unused;
    enum { CUT = 9 };
    int cut[] = {CUT}, status[FRAMES], worst = 0;
    jump_at = (CUT - 0.5) / 30.0;
    for (int way = 0; way < 7; way++) {
        scene s;
        jump_by = way == 6 ? 1e9 : 500;
        scene_create(&s, 6, 1, 1, 2, two_poses, FRAMES, 30, way < 4 ? scene_swing : rig_teleport, way == 4 || way == 5,
                     cut);
        scene_turn_rest(&s, 0.1);
        rig_rows rows = rows_create(&s, 4, way % 2 ? 2 : 0);
        su_sim_settings settings = su_sim_defaults();
        if (way == 1) settings.gravity_mode = SU_GRAVITY_ABSOLUTE, settings.settle = true;
        if (way == 2) settings.preroll = 0.2;
        su_fullsim_options options = {
            .complementary = &rows.file, .neutral = way % 3 == 1, .iterative = way % 2 == 0, .newton = way == 3};
        double *u = run(&s, &settings, options, status, NULL);
        printf("# way %d: largest %.2g m, violation %.1e\n", way, largest(3 * s.tet.n * FRAMES, u),
               violation(&rows, FRAMES, u));
        assert_true(largest(3 * s.tet.n * FRAMES, u) > 1e-6);
        assert_near(violation(&rows, FRAMES, u), 0, 1e-10);
        for (int64_t k = 0; k < FRAMES; k++) {
            for (int64_t i = 0; i < s.tet.fixed_count; i++)
                assert_near(su_norm3(u + 3 * (k * s.tet.n + s.tet.fixed[i])), 0, 0);
            if (status[k] > worst) worst = status[k];
        }
        free(u);
        rows_free(&rows);
        scene_free(&s);
    }
    assert_int_equal(worst, SU_STATUS_FAILED); /* the flesh followed the rig somewhere */
}

/* From a frame in the middle, in an equilibrium of what obeys the rows; a state handed back is the same. */
static void a_restart_obeys_the_rows(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 6, 1, 1, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    scene_turn_rest(&s, 0.1);
    rig_rows rows = rows_create(&s, 4, 1);
    su_sim_settings settings = su_sim_defaults();
    assert_int_equal(su_sim_settings_resolve(&settings, 4.0, FRAMES, s.anim.times, 0.0, NULL), SU_OK);
    for (int neutral = 0; neutral < 2; neutral++) {
        su_fullsim_options options = {.tolerance = 1e-10, .threads = 1, .iterative = true, .neutral = neutral};
        su_fullsim *sim;
        su_fullsim_frame frame;
        options.complementary = &rows.file;
        assert_int_equal(su_fullsim_create(&s.tet, &s.fit, s.shot, &settings, &options, &sim, NULL), SU_OK);
        assert_int_equal(su_fullsim_restart(sim, 7, NULL), SU_OK);
        double *state = calloc((size_t)su_fullsim_state_size(sim), sizeof *state), *u = NULL;
        su_fullsim_get_state(sim, state);
        for (int pass = 0; pass < 2; pass++) {
            for (int k = 0; k < 3; k++) {
                su_fullsim_state(sim, &frame);
                if (neutral) assert_true(largest(3 * s.tet.n, frame.u) > 1e-4);
                assert_near(violation(&rows, 1, frame.u), 0, 1e-10);
                assert_int_equal(su_fullsim_advance(sim, NULL), SU_OK);
            }
            su_fullsim_state(sim, &frame);
            if (pass == 0) u = calloc((size_t)(3 * s.tet.n), sizeof *u);
            if (pass == 0) memcpy(u, frame.u, (size_t)(3 * s.tet.n) * sizeof *u);
            assert_memory_equal(u, frame.u, (size_t)(3 * s.tet.n) * sizeof *u);
            su_fullsim_set_state(sim, state, 7);
        }
        free(state), free(u);
        su_fullsim_free(sim);
    }
    rows_free(&rows);
    scene_free(&s);
}

/* Newton on the whole system of the constraint, dense, by itself: instants are frames. */
static void dense_steps(scene *s, const rig_rows *rows, const su_sim_settings *set, double *u)
{
    su_elastic body = body_of(s);
    su_sparse K, damping;
    su_rotation_field *field;
    const su_skinning *f = &rows->file;
    int64_t n = s->tet.n, dofs = 3 * body.free_count, count = 3 * f->rows + f->shapes, all = dofs + count;
    double h = 1.0 / 30, *turn[2], *x[2], *y[2], *carried, *inertial, *force, *A, *r;
    lapack_int *pivot = calloc((size_t)all, sizeof *pivot);
    for (int k = 0; k < 2; k++) {
        turn[k] = calloc((size_t)(4 * n), sizeof(double));
        x[k] = calloc((size_t)(3 * n), sizeof(double)), y[k] = calloc((size_t)(3 * n), sizeof(double));
    }
    carried = calloc((size_t)(3 * n), sizeof(double)), inertial = calloc((size_t)(3 * n), sizeof(double));
    force = calloc((size_t)(3 * n), sizeof(double));
    A = calloc((size_t)(all * all), sizeof(double)), r = calloc((size_t)(2 * all), sizeof(double));
    double *at = calloc((size_t)(3 * n), sizeof *at), *offset = calloc((size_t)all, sizeof *offset);
    assert_int_equal(su_rotation_field_create(&(su_tet_mesh){n, s->tet.t, s->tet.vertices, s->tet.tets}, NULL, 0, NULL,
                                              &field, NULL),
                     SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&body.pattern, &K, NULL), SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&body.pattern, &damping, NULL), SU_OK);
    memset(u, 0, (size_t)(3 * n) * sizeof *u);
    for (int k = 0; k < FRAMES; k++) {
        const double *root = s->anim.root + 16 * k;
        double Q[9] = {root[0], root[1], root[2], root[4], root[5], root[6], root[8], root[9], root[10]};
        double c[3] = {root[3], root[7], root[11]}, g[3], *now = u + 3 * n * k;
        for (int64_t i = 0; i < 3 * n; i++) x[1][i] = (double)s->anim.points[3 * n * k + i];
        su_rotation_field_evaluate(field, x[1], turn[1], 1);
        if (k > 0) { /* the step from k - 1 */
            const double *before = now - 3 * n;
            if (k == 1) /* moving: the rig's first velocity is the flesh's */
                for (int64_t v = 0; v < n; v++) {
                    double X[3];
                    su_mulv3(Q, x[1] + 3 * v, X);
                    for (int a = 0; a < 3; a++) y[0][3 * v + a] = 2 * y[1][3 * v + a] - X[a] - c[a];
                }
            su_turn_back_vectors(n, turn[0], before, carried), su_turn_vectors(n, turn[1], carried, carried);
            for (int64_t v = 0; v < n; v++) {
                double d[3];
                for (int a = 0; a < 3; a++) d[a] = 2 * y[1][3 * v + a] - y[0][3 * v + a] - c[a];
                su_tmulv3(Q, d, inertial + 3 * v);
                for (int a = 0; a < 3; a++) inertial[3 * v + a] -= x[1][3 * v + a];
                if (body.free_index[v] < 0) memset(carried + 3 * v, 0, 3 * sizeof *carried);
            }
            su_tmulv3(Q, set->gravity, g);
            for (int64_t i = 0; i < 3 * n; i++) at[i] = x[1][i] + carried[i];
            su_elastic_stiffness(&body, at, true, &damping, 1);
            double moved = INFINITY;
            for (int pass = 0; pass < 30 && moved > 1e-13; pass++) {
                for (int64_t i = 0; i < 3 * n; i++) at[i] = x[1][i] + now[i];
                su_elastic_force(&body, at, force, 1), su_elastic_stiffness(&body, at, false, &K, 1);
                memset(A, 0, (size_t)(all * all) * sizeof *A), memset(r, 0, (size_t)(2 * all) * sizeof *r);
                for (int64_t i = 0; i < dofs; i++) {
                    int64_t v = 3 * (int64_t)body.free_vertex[i / 3] + i % 3;
                    offset[i] = now[v] - carried[v];
                }
                su_sparse_multiply(&damping, offset, r + all);
                for (int64_t i = 0; i < dofs; i++) {
                    int64_t v = 3 * (int64_t)body.free_vertex[i / 3] + i % 3;
                    double m = body.mass[v / 3];
                    r[i] = force[v] + m * ((now[v] - inertial[v]) / (h * h) + set->alpha * offset[i] / h - g[i % 3]) +
                           set->beta * r[all + i] / h;
                    A[i * all + i] += m * (1 / (h * h) + set->alpha / h);
                    for (int64_t e = K.start[i]; e < K.start[i + 1]; e++) {
                        double value = K.value[e] + set->beta / h * damping.value[e];
                        A[i * all + K.row[e]] += value;
                        if (K.row[e] != i) A[K.row[e] * all + i] += value;
                    }
                    for (int64_t q = 0; q < count; q++) {
                        bool scalar = q < 3 * f->rows;
                        double entry = !scalar          ? f->rig_shapes[3 * (q - 3 * f->rows) * n + v]
                                       : q % 3 == i % 3 ? f->rig_rows[q / 3 * n + v / 3]
                                                        : 0;
                        A[i * all + dofs + q] = A[(dofs + q) * all + i] = entry;
                        r[dofs + q] += entry * now[v];
                    }
                }
                assert_int_equal(
                    LAPACKE_dgesv(LAPACK_COL_MAJOR, (lapack_int)all, 1, A, (lapack_int)all, pivot, r, (lapack_int)all),
                    0);
                moved = largest(dofs, r);
                for (int64_t i = 0; i < dofs; i++) now[3 * (int64_t)body.free_vertex[i / 3] + i % 3] -= r[i];
            }
            assert_true(moved <= 1e-13);
        }
        memcpy(y[0], y[1], (size_t)(3 * n) * sizeof(double));
        for (int64_t v = 0; v < n; v++) {
            double d[3];
            for (int a = 0; a < 3; a++) d[a] = x[1][3 * v + a] + now[3 * v + a];
            su_mulv3(Q, d, y[1] + 3 * v);
            for (int a = 0; a < 3; a++) y[1][3 * v + a] += c[a];
        }
        double *swap = turn[0];
        turn[0] = turn[1], turn[1] = swap;
    }
    su_sparse_free(&K), su_sparse_free(&damping);
    su_rotation_field_free(field);
    su_elastic_free(&body);
    for (int k = 0; k < 2; k++) free(turn[k]), free(x[k]), free(y[k]);
    free(carried), free(inertial), free(force), free(A), free(r), free(pivot), free(at), free(offset);
}

static void a_shot_is_that_of_dense_newton_steps(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 2, 1, 1, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    int64_t count = 3 * s.tet.n * FRAMES;
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_ABSOLUTE, settings.substeps = 1;
    settings.alpha = 0.4, settings.beta = 0.01;
    double *dense = calloc((size_t)count, sizeof *dense);
    for (int way = 0; way < 4; way++) {
        rig_rows rows = rows_create(&s, way < 2 ? 2 : way == 2, way);
        su_fullsim_options options = {
            .tolerance = 1e-11, .neutral = true, .iterative = way % 2, .complementary = &rows.file};
        double *u = run(&s, &settings, options, NULL, NULL);
        memset(dense, 0, (size_t)count * sizeof *dense);
        dense_steps(&s, &rows, &settings, dense);
        printf("# %d rows, %d shapes: largest %.3g m, off by %.1e\n", (int)rows.file.rows, (int)rows.file.shapes,
               largest(count, u), difference(count, u, dense));
        assert_true(largest(count, u) > 1e-3);
        assert_near(difference(count, u, dense) / largest(count, u), 0, 1e-8);
        free(u);
        rows_free(&rows);
    }
    free(dense);
    scene_free(&s);
}

static void both_solvers_lead_to_the_same_motion(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 8, 2, 2, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    scene_turn_rest(&s, 0.1);
    rig_rows rows = rows_create(&s, 10, 1);
    su_sim_settings settings = su_sim_defaults();
    for (int neutral = 0; neutral < 2; neutral++) {
        su_shot_counts direct, iterative;
        su_fullsim_options options = {.complementary = &rows.file, .neutral = neutral};
        double *u = run(&s, &settings, options, NULL, &direct);
        options.iterative = true;
        double *v = run(&s, &settings, options, NULL, &iterative);
        int64_t count = 3 * s.tet.n * FRAMES;
        assert_near(difference(count, u, v) / largest(count, u), 0, 1e-7);
        assert_true(direct.factorizations > 0);
        assert_int_equal(iterative.factorizations, 0);
        free(u), free(v);
    }
    rows_free(&rows);
    scene_free(&s);
}

static void without_rows_no_bit_changes(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 4, 1, 1, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    scene_turn_rest(&s, 0.1);
    rig_rows none = rows_create(&s, 0, 0), some = rows_create(&s, 1, 0);
    su_sim_settings settings = su_sim_defaults();
    size_t size = (size_t)(3 * s.tet.n * FRAMES) * sizeof(double);
    for (int iterative = 0; iterative < 2; iterative++) {
        double *u = run(&s, &settings, (su_fullsim_options){.iterative = iterative}, NULL, NULL);
        double *v =
            run(&s, &settings, (su_fullsim_options){.iterative = iterative, .complementary = &none.file}, NULL, NULL);
        double *w =
            run(&s, &settings, (su_fullsim_options){.iterative = iterative, .complementary = &some.file}, NULL, NULL);
        assert_memory_equal(u, v, size);
        assert_true(memcmp(u, w, size) != 0);
        free(u), free(v), free(w);
    }
    rows_free(&none), rows_free(&some);
    scene_free(&s);
}

/* ---- the neutral rest ---- */

/* Turns the skin of every frame within the root frame. */
static void turn_skin(scene *s, const double R[9])
{
    su_error err = {0};
    for (int64_t i = 0; i < s->anim.F * s->anim.nbar; i++) {
        double point[3], turned[3];
        for (int c = 0; c < 3; c++) point[c] = (double)s->anim.points[3 * i + c];
        su_mulv3(R, point, turned);
        for (int c = 0; c < 3; c++) s->anim.points[3 * i + c] = (float)turned[c];
    }
    su_shot_free(s->shot);
    su_shot_target target = {.rig = su_rig_of_fit(&s->fit), .nbar = s->tet.nbar, .neutral = s->mesh.vertices};
    if (su_shot_create(&s->anim, "turned", &target, 0, NULL, &s->shot, NULL, &err) != SU_OK) fail_msg("%s", err.text);
}

static void rig_straight(double t, double *bend, double *root)
{
    (void)t, (void)root;
    *bend = 0.0;
}

static void a_rig_that_is_only_turned_strains_nothing(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 4, 1, 1, 2, two_poses, 6, 30, rig_straight, 0, NULL);
    scene_turn_rest(&s, 0.1);
    turn_skin(&s, scene_other_axis);
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_NONE;
    for (int iterative = 0; iterative < 2; iterative++) {
        double *u = run(&s, &settings, (su_fullsim_options){.neutral = true, .iterative = iterative}, NULL, NULL);
        assert_near(largest(3 * s.tet.n * 6, u), 0, 1e-7); /* frames hold floats */
        free(u);
    }
    scene_free(&s);
}

/* A turn that floats hold exactly, x to y to z to x: frames do not round it. */
static const double axes[9] = {0, 0, 1, 1, 0, 0, 0, 1, 0};

/* Rig, rest shape and forces turned together turn the result; scalar rows need no turning. */
static void all_turned_turns_the_motion(void **unused)
{
    (void)unused;
    scene here, there;
    scene_create(&here, 6, 1, 1, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    scene_create(&there, 6, 1, 1, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    /* The root turns what is in it, so it has to turn about the turned axis: Q there is R Q R'. */
    for (int64_t k = 0; k < FRAMES; k++) {
        double *root = there.anim.root + 16 * k, Q[9], RQ[9], c[3], turned[3];
        for (int i = 0; i < 9; i++) Q[i] = root[4 * (i / 3) + i % 3];
        su_mul33(axes, Q, RQ), su_mult33(RQ, axes, Q);
        for (int i = 0; i < 9; i++) root[4 * (i / 3) + i % 3] = Q[i];
        for (int i = 0; i < 3; i++) c[i] = root[4 * i + 3];
        su_mulv3(axes, c, turned);
        for (int i = 0; i < 3; i++) root[4 * i + 3] = turned[i];
    }
    turn_skin(&there, axes);
    scene_turn_rest(&here, 0.1), scene_turn_rest(&there, 0.1);
    rig_rows rows = rows_create(&here, 4, 0);
    su_sim_settings a = su_sim_defaults(), b = su_sim_defaults();
    a.gravity_mode = b.gravity_mode = SU_GRAVITY_ABSOLUTE;
    su_mulv3(axes, a.gravity, b.gravity);
    int64_t count = 3 * here.tet.n * FRAMES;
    for (int way = 0; way < 4; way++) {
        su_fullsim_options options = {
            .neutral = way < 3, .complementary = way == 0 ? NULL : &rows.file, .iterative = way == 2};
        double *u = run(&here, &a, options, NULL, NULL), *v = run(&there, &b, options, NULL, NULL);
        for (int64_t i = 0; i < count; i += 3) {
            double turned[3];
            su_mulv3(axes, u + i, turned);
            memcpy(u + i, turned, sizeof turned);
        }
        printf("# largest %.3g m, off by %.1e\n", largest(count, u), difference(count, u, v));
        assert_true(largest(count, u) > (options.neutral ? 1e-2 : 1e-5));
        assert_near(difference(count, u, v) / largest(count, u), 0, 1e-6);
        free(u), free(v);
    }
    rows_free(&rows);
    scene_free(&here), scene_free(&there);
}

static double volume_of(const scene *s, const double *x, const double *u)
{
    double sum = 0, y[12], edges[9];
    for (int64_t e = 0; e < s->tet.t; e++) {
        for (int i = 0; i < 12; i++) {
            int64_t at = 3 * (int64_t)s->tet.tets[4 * e + i / 3] + i % 3;
            y[i] = x[at] + (u ? u[at] : 0);
        }
        su_tet_edges(y, y + 3, y + 6, y + 9, edges);
        sum += su_det3(edges) / 6;
    }
    return sum;
}

/* A still pose that the rig squeezes: the flesh is left alone where its rest turns along, and gets volume back, with
 * rows in the way less, where it is measured from its neutral shape. */
static void a_still_pose_moves_under_the_neutral_rest_alone(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 8, 2, 2, 2, two_poses, 30, 30, rig_bent, 0, NULL);
    scene_turn_rest(&s, 0.1);
    turn_skin(&s, (const double[]){1, 0, 0, 0, 0.9, 0, 0, 0, 0.9});
    rig_rows rows = rows_create(&s, 4, 0);
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_NONE;
    int64_t n3 = 3 * s.tet.n;
    double *turned = run(&s, &settings, (su_fullsim_options){0}, NULL, NULL);
    assert_near(largest(n3 * 30, turned), 0, 1e-9);
    double *x = calloc((size_t)n3, sizeof *x), kept[2], neutral = volume_of(&s, s.tet.vertices, NULL);
    for (int64_t i = 0; i < n3; i++) x[i] = (double)s.anim.points[i];
    double squeezed = volume_of(&s, x, NULL);
    for (int constrained = 0; constrained < 2; constrained++) {
        su_fullsim_options options = {.neutral = true, .complementary = constrained ? &rows.file : NULL};
        double *u = run(&s, &settings, options, NULL, NULL);
        kept[constrained] = volume_of(&s, x, u + 29 * n3);
        assert_true(largest(n3, u + 29 * n3) > 1e-3);
        free(u);
    }
    printf("# volume: neutral %.5f, of the rig %.5f, of the flesh %.5f, under rows %.5f m^3\n", neutral, squeezed,
           kept[0], kept[1]);
    assert_true(fabs(kept[0] - neutral) < 0.3 * fabs(squeezed - neutral));
    assert_true(fabs(kept[1] - neutral) < 0.9 * fabs(squeezed - neutral));
    free(turned), free(x);
    rows_free(&rows);
    scene_free(&s);
}

/* ---- reactions ---- */

/* What lacks of balance at the end of a step is a combination of the rows, and so does no work on what obeys them. */
static void reactions_do_no_work(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 6, 2, 1, 2, two_poses, 2, 30, rig_bent, 0, NULL);
    rig_rows rows = rows_create(&s, 6, 2);
    su_elastic body = body_of(&s);
    su_complement *P = complement_of(&body, &rows);
    su_implicit *implicit;
    int64_t n3 = 3 * s.tet.n, dofs = 3 * body.free_count;
    double *v[7];
    for (int k = 0; k < 7; k++) v[k] = calloc((size_t)n3, sizeof(double));
    double *x = v[0], *inertial = v[1], *carried = v[2], *gravity = v[3], *u = v[4], *r = v[5], *w = v[6];
    beam_bend(&s.mesh, 0.7, x);
    for (int64_t i = 0; i < n3; i++) inertial[i] = 0.05 * sin((double)i), gravity[i] = i % 3 == 1 ? -9.81 : 0;
    su_implicit_step step = {.h = 0.01,
                             .beta = 0.01,
                             .gravity = gravity,
                             .rest = x,
                             .inertial = inertial,
                             .carried = carried,
                             .tolerance = 1e-10,
                             .max_iterations = 60};
    su_implicit_result result;
    assert_int_equal(su_implicit_create(&body, 1, &implicit, NULL), SU_OK);
    su_implicit_constrain(implicit, P);
    assert_int_equal(su_implicit_solve(implicit, &step, u, &result, NULL), SU_OK);
    su_implicit_residual(implicit, &step, u, r);
    double balanced = su_norm(n3, r);
    su_implicit_constrain(implicit, NULL);
    su_implicit_residual(implicit, &step, u, r);
    double reaction = su_norm(n3, r);
    assert_true(reaction > 1.0 && balanced < 1e-7 * reaction);
    for (int64_t i = 0; i < dofs; i++) w[i] = cos((double)(5 * i));
    double free_work = 0, work = 0, size = 0;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        for (int64_t i = 0; i < dofs; i++) sum += w[i] * r[3 * (int64_t)body.free_vertex[i / 3] + i % 3];
        *(pass ? &work : &free_work) = sum, size = su_norm(dofs, w);
        su_complement_displacement(P, w);
    }
    assert_true(fabs(free_work) > 1e-3 * reaction * size);
    assert_near(work / (reaction * size), 0, 1e-8);
    su_implicit_free(implicit);
    su_complement_free(P);
    su_elastic_free(&body);
    for (int k = 0; k < 7; k++) free(v[k]);
    rows_free(&rows);
    scene_free(&s);
}

static void energy_never_grows_without_driving(void **unused)
{
    (void)unused;
    enum { LONG = 40, STOP = 10 };
    int cut[] = {STOP};
    scene s;
    scene_create(&s, 6, 1, 1, 2, two_poses, LONG, 30, rig_jerk, 1, cut);
    rig_rows rows = rows_create(&s, 4, 1);
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_NONE, settings.beta = 0.0;
    double energy[LONG][3];
    su_fullsim_options options = {.tolerance = 1e-10, .threads = 1, .complementary = &rows.file, .neutral = true};
    free(scene_full_run_with(&s, &settings, &options, energy[0], NULL, NULL));
    double at_stop = energy[STOP][0] + energy[STOP][1];
    printf("# %.3g J where the rig stops, %.3g J in the end\n", at_stop, energy[LONG - 1][0] + energy[LONG - 1][1]);
    assert_true(at_stop > 0.01);
    for (int k = STOP + 1; k < LONG; k++)
        assert_true(energy[k][0] + energy[k][1] <= energy[k - 1][0] + energy[k - 1][1] + 1e-9 * at_stop);
    assert_true(energy[LONG - 1][0] + energy[LONG - 1][1] < 0.9 * at_stop);
    rows_free(&rows);
    scene_free(&s);
}

/* Flesh that nothing holds but rows: its centre and its mean turn stay where the rig has them, what is free falls. */
static void loose_flesh_hangs_on_its_rows(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 4, 1, 1, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    scene_turn_rest(&s, 0.1);
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_ABSOLUTE;
    int64_t n3 = 3 * s.tet.n;
    rig_rows rows = rows_create(&s, 4, 0);
    for (int iterative = 0; iterative < 2; iterative++) {
        int status[FRAMES];
        su_fullsim_options options = {.complementary = &rows.file, .loose = true, .iterative = iterative};
        double *u = run(&s, &settings, options, status, NULL), moved = 0;
        for (int k = 0; k < FRAMES; k++) assert_int_equal(status[k], SU_STATUS_OK);
        assert_near(violation(&rows, FRAMES, u), 0, 1e-10);
        for (int64_t i = 0; i < s.tet.fixed_count; i++)
            moved = fmax(moved, su_norm3(u + n3 * (FRAMES - 1) + 3 * (int64_t)s.tet.fixed[i]));
        assert_true(moved > 1e-5 && largest(n3 * FRAMES, u) < 0.3);
        free(u);
    }
    double *fallen = run(&s, &settings, (su_fullsim_options){.loose = true}, NULL, NULL);
    assert_true(largest(n3 * FRAMES, fallen) > 0.5);
    free(fallen);
    rows_free(&rows);
    scene_free(&s);
}

/* ---- materials, and what is refused ---- */

static void a_law_of_ones_own_takes_the_place_of_the_fits(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 4, 1, 1, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    su_sim_settings settings = su_sim_defaults();
    size_t size = (size_t)(3 * s.tet.n * FRAMES) * sizeof(double);
    for (int flat = 0; flat < 2; flat++) { /* nu = 0: there is no lambda to leave out */
        const char *names[] = {NULL, "neohookean", "corotational", "arap"};
        double *u[4];
        for (int64_t e = 0; e < 2 * s.fit.t && flat; e++) s.fit.poisson[e] = 0;
        for (int k = 0; k < 4; k++) u[k] = run(&s, &settings, (su_fullsim_options){.material = names[k]}, NULL, NULL);
        assert_memory_equal(u[0], u[1], size);
        assert_true(memcmp(u[1], u[2], size) != 0);
        assert_int_equal(memcmp(u[2], u[3], size) == 0, flat);
        for (int k = 0; k < 4; k++) free(u[k]);
    }
    scene_free(&s);
}

static void rows_of_another_mesh_are_refused(void **unused)
{
    (void)unused;
    scene s, other;
    scene_create(&s, 3, 1, 1, 2, two_poses, 3, 30, rig_bent, 0, NULL);
    scene_create(&other, 4, 1, 1, 2, two_poses, 3, 30, rig_bent, 0, NULL);
    rig_rows rows = rows_create(&other, 2, 0);
    su_sim_settings settings = su_sim_defaults();
    su_error err = {0};
    su_fullsim *sim;
    assert_int_equal(su_sim_settings_resolve(&settings, 4.0, 3, s.anim.times, 0.0, NULL), SU_OK);
    su_fullsim_options options = {.tolerance = 1e-8, .threads = 1, .complementary = &rows.file};
    assert_int_equal(su_fullsim_create(&s.tet, &s.fit, s.shot, &settings, &options, &sim, &err), SU_INPUT);
    assert_string_equal(err.text, "rows of 20 flesh vertices on a flesh of 16: made for another mesh");
    options = (su_fullsim_options){.tolerance = 1e-8, .threads = 1, .material = "rubber"};
    assert_int_equal(su_fullsim_create(&s.tet, &s.fit, s.shot, &settings, &options, &sim, &err), SU_USAGE);
    rows_free(&rows);
    scene_free(&s), scene_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(projections_are_orthogonal_and_leave_what_obeys),
        cmocka_unit_test(a_constrained_system_is_solved_with_the_factor_alone),
        cmocka_unit_test(rows_that_cannot_be_are_refused),
        cmocka_unit_test(rows_hold_at_every_frame),
        cmocka_unit_test(a_restart_obeys_the_rows),
        cmocka_unit_test(a_shot_is_that_of_dense_newton_steps),
        cmocka_unit_test(both_solvers_lead_to_the_same_motion),
        cmocka_unit_test(without_rows_no_bit_changes),
        cmocka_unit_test(a_rig_that_is_only_turned_strains_nothing),
        cmocka_unit_test(all_turned_turns_the_motion),
        cmocka_unit_test(a_still_pose_moves_under_the_neutral_rest_alone),
        cmocka_unit_test(reactions_do_no_work),
        cmocka_unit_test(energy_never_grows_without_driving),
        cmocka_unit_test(loose_flesh_hangs_on_its_rows),
        cmocka_unit_test(a_law_of_ones_own_takes_the_place_of_the_fits),
        cmocka_unit_test(rows_of_another_mesh_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
