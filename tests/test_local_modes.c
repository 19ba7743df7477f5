/* What localized modes are for (PSSD section 7, Fig. 11): a body with ears made of cubes, and the demo character. */
#include "box.h"
#include "geometry/mat3.h"
#include "io/stage/fit.h"
#include "io/stage/modes.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"
#include "linalg/cholesky.h"
#include "reduce/modes/handles.h"
#include "reduce/modes/pose_modes.h"
#include "reduce/modes/regions.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A fat trunk along x, a head, two small round ears on it; units of a quarter of the trunk's width. */
static bool inside(const double c[3])
{
    bool trunk = c[0] < 5 && c[1] < 3 && c[2] > 0.5 && c[2] < 3.5;
    bool head = c[0] > 4 && c[1] > 1.5 && c[1] < 4 && c[2] > 0.5 && c[2] < 3.5;
    bool ear = c[0] > 4.5 && c[0] < 5.25 && c[1] > 3.5 && c[1] < 4.75 && (c[2] < 1.25 || c[2] > 2.75) && c[2] > 0.5 &&
               c[2] < 3.5;
    return trunk || head || ear;
}

static const su_handle handles[] = {{"head", {5.25, 2.5, 2, 5.25, 2.5, 2}},
                                    {"ear.L", {4.75, 4.5, 0.75, 4.75, 4.5, 0.75}},
                                    {"ear.R", {4.75, 4.5, 3.25, 4.75, 4.5, 3.25}},
                                    {"front", {3.25, 1.5, 2, 3.75, 1.5, 2}},
                                    {"back", {0.75, 1.5, 2, 1.25, 1.5, 2}}};
enum { REGIONS = 5 };

typedef struct body {
    int64_t n, t, held_count;
    double *x, *young, *poisson, *density, *weights;
    int32_t *tets, *held;
} body;

/* cells: a unit length */
static body make(int cells)
{
    body b = {0};
    box_mesh box = box_mesh_create(6 * cells, 5 * cells, 4 * cells, 6, 5, 4);
    int32_t *number = malloc((size_t)box.n * sizeof *number), region_of[20000];
    for (int64_t v = 0; v < box.n; v++) number[v] = -1;
    b.tets = malloc(4 * (size_t)box.t * sizeof *b.tets), b.x = malloc(3 * (size_t)box.n * sizeof *b.x);
    b.held = malloc((size_t)box.n * sizeof *b.held);
    for (int64_t cube = 0; cube < box.t / 6; cube++) {
        double centre[3] = {0};
        for (int64_t k = 24 * cube; k < 24 * cube + 24; k++)
            for (int i = 0; i < 3; i++) centre[i] += box.vertices[3 * box.tets[k] + i] / 24;
        if (!inside(centre)) continue;
        for (int64_t k = 24 * cube; k < 24 * cube + 24; k++) {
            int32_t v = box.tets[k];
            if (number[v] < 0)
                number[v] = (int32_t)b.n, memcpy(b.x + 3 * b.n++, box.vertices + 3 * v, 3 * sizeof(double));
            b.tets[4 * b.t + k - 24 * cube] = number[v];
        }
        b.t += 6;
    }
    for (int64_t v = 0; v < b.n; v++) { /* a spine and a skull */
        const double *x = b.x + 3 * v;
        bool spine = fabs(x[1] - 1.5) < 0.3 && x[0] < 5, skull = fabs(x[0] - 5) < 0.3 && x[1] > 1.4 && x[1] < 3.1;
        if ((spine || skull) && fabs(x[2] - 2) < 0.3) b.held[b.held_count++] = (int32_t)v;
    }
    b.young = box_constant(b.t, 3e4), b.poisson = box_constant(b.t, 0.45), b.density = box_constant(b.t, 1000);
    b.weights = malloc((size_t)(REGIONS * b.n) * sizeof *b.weights);
    assert_true(b.n < 20000);
    su_error err = {0};
    assert_int_equal(su_handle_vertices(&(su_tet_mesh){b.n, b.t, b.x, b.tets}, REGIONS, handles, region_of, &err),
                     SU_OK);
    assert_int_equal(
        su_bounded_biharmonic(&(su_tet_mesh){b.n, b.t, b.x, b.tets}, REGIONS, region_of, b.weights, NULL, 1, &err),
        SU_OK);
    su_region_sharpen(REGIONS * b.n, b.weights, 0.1, 0.5);
    free(number);
    box_mesh_free(&box);
    return b;
}

static void body_free(body *b)
{
    free(b->x), free(b->young), free(b->poisson), free(b->density), free(b->weights), free(b->tets), free(b->held);
}

/* (6 REGIONS,n,3) */
static double *modes_of(const body *b)
{
    const int64_t r[REGIONS] = {6, 6, 6, 6, 6};
    double values[6 * REGIONS], *modes = malloc(18 * REGIONS * (size_t)b->n * sizeof *modes);
    su_mode_setup setup = {.n = b->n,
                           .t = b->t,
                           .held_count = b->held_count,
                           .vertices = b->x,
                           .tets = b->tets,
                           .held = b->held,
                           .density = b->density,
                           .material = SU_NEOHOOKEAN,
                           .d = REGIONS,
                           .weights = b->weights,
                           .linear = r,
                           .r = r};
    su_error err = {0};
    su_mode_report report;
    su_status status = su_pose_modes(&setup, &(su_pose_flesh){b->x, b->young, b->poisson, NULL}, values, modes, &report,
                                     2, NULL, &err);
    if (status != SU_OK) printf("# %s\n", err.text);
    assert_int_equal(status, SU_OK);
    assert_true(report.residual < 1e-8);
    return modes;
}

/* Exactly zero outside; at the border they fade, the more the finer the mesh. */
static void test_border(void **unused)
{
    (void)unused;
    double jump[2] = {0, 0};
    for (int level = 0; level < 2; level++) {
        body b = make(2 << level);
        double *modes = modes_of(&b);
        for (int64_t k = 0; k < 6 * REGIONS; k++) {
            const double *W = b.weights + k / 6 * b.n, *u = modes + 3 * k * b.n;
            double largest = 0, border = 0;
            for (int64_t v = 0; v < b.n; v++)
                for (int i = 0; i < 3; i++) {
                    largest = fmax(largest, fabs(u[3 * v + i]));
                    if (W[v] == 0) assert_true(u[3 * v + i] == 0);
                }
            for (int64_t e = 0; e < b.t; e++) {
                const int32_t *tet = b.tets + 4 * e;
                if (W[tet[0]] != 0 && W[tet[1]] != 0 && W[tet[2]] != 0 && W[tet[3]] != 0) continue;
                for (int c = 0; c < 4; c++)
                    for (int i = 0; i < 3; i++) border = fmax(border, fabs(u[3 * tet[c] + i]));
            }
            jump[level] += border / largest / (6 * REGIONS);
        }
        printf("# border, %d tets: motion beside it %.3f of the largest\n", (int)b.t, jump[level]);
        free(modes);
        body_free(&b);
    }
    assert_true(jump[1] < 0.75 * jump[0]); /* sqrt(1/2) for kappa = 1/2 */
}

/* || u - U q || / || u || in M, q the static solution in the basis (count). */
static double static_error(const su_elastic *elastic, const su_sparse *K, int64_t count, const double *modes,
                           const double *f, const double *u)
{
    int64_t size = K->size;
    double *U = malloc((size_t)(count * size) * sizeof *U), *KU = malloc((size_t)(count * size) * sizeof *KU);
    double *A = malloc((size_t)(count * count) * sizeof *A), *q = malloc((size_t)count * sizeof *q), error = 0, all = 0;
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < size; i++)
            U[k * size + i] = modes[3 * (k * elastic->n + elastic->free_vertex[i / 3]) + i % 3];
        su_sparse_multiply(K, U + k * size, KU + k * size);
        q[k] = cblas_ddot((int)size, U + k * size, 1, f, 1);
    }
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)count, (int)count, (int)size, 1, U, (int)size, KU,
                (int)size, 0, A, (int)count);
    assert_int_equal(LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', (int)count, 1, A, (int)count, q, (int)count), 0);
    for (int64_t i = 0; i < size; i++) {
        double left = u[i], mass = elastic->mass[elastic->free_vertex[i / 3]];
        for (int64_t k = 0; k < count; k++) left -= q[k] * U[k * size + i];
        error += left * left * mass, all += u[i] * u[i] * mass;
    }
    free(U), free(KU), free(A), free(q);
    return sqrt(error / all);
}

static int run(const char *folder, const char *line)
{
    char command[1000];
    snprintf(command, sizeof command, "cd %s && %s >>log 2>&1", folder, line);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *in(const char *folder, const char *name)
{
    static char path[4][100];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof *path, "%s/%s", folder, name);
    return path[turn];
}

/* The demo character with flesh of 8 k tets; its bones make the regions. */
static void make_character(const char *folder)
{
    static const char *const lines[] = {
        "supple-creature -o c.glb",
        "supple-import c.glb --clip Stop -o c.anim.npz",
        "supple-poses c.anim.npz -m 1 -o c.poses.npz",
        "supple-mesh c.poses.npz --tets 8000 -o c.tet.npz",
        "supple-fit c.tet.npz c.poses.npz -o c.fit.npz",
        "supple-modes c.tet.npz c.fit.npz -r 180 --linear 180 -o global.npz",
        "supple-modes c.tet.npz c.fit.npz -r 100 --linear 100 --bones c.poses.npz --regions "
        "'head=head+jaw,ear.L=ear*.L,ear.R=ear*.R,front=neck+chest,back=hips+spine,tail=tail*' "
        "--region-modes head=20,ear.L=16,ear.R=16,front=16,back=16,tail=16 -o local.npz"};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        int status = run(folder, lines[k]);
        if (status) printf("# %s: exit status %d\n", lines[k], status);
        assert_int_equal(status, 0);
    }
}

/* A load spread over the skin's vertices within 8 cm of the surface point nearest to `at`, along an axis; by free dofs.
 */
static void local_load(const su_tet *tet, const su_elastic *elastic, const double *at, int axis, double *f)
{
    double best = 1e9;
    int64_t middle = 0;
    for (int64_t k = 0; k < 3 * tet->b; k++) {
        int64_t v = tet->surface[k];
        if (elastic->free_index[v] < 0 || su_distance3(tet->vertices + 3 * v, at) >= best) continue;
        best = su_distance3(tet->vertices + 3 * v, at), middle = v;
    }
    memset(f, 0, (size_t)elastic->pattern.size * sizeof *f);
    for (int64_t k = 0; k < 3 * tet->b; k++) {
        int64_t v = tet->surface[k];
        if (elastic->free_index[v] >= 0 && su_distance3(tet->vertices + 3 * v, tet->vertices + 3 * middle) < 0.08)
            f[3 * elastic->free_index[v] + axis] = 1;
    }
}

/* 100 localized modes follow a local load at least as well as 180 global ones. All are linear modes, as is the load's
 * answer. */
static void test_local_load(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/supple-local-XXXXXX", line[100];
    su_tet tet;
    su_fit fit;
    su_poses poses;
    su_modes localized, whole;
    su_elastic elastic;
    su_sparse K;
    su_cholesky *factor;
    su_error err = {0};
    assert_non_null(mkdtemp(folder));
    make_character(folder);
    assert_int_equal(su_tet_load(in(folder, "c.tet.npz"), &tet, NULL), SU_OK);
    assert_int_equal(su_fit_load(in(folder, "c.fit.npz"), &fit, NULL), SU_OK);
    assert_int_equal(su_poses_load(in(folder, "c.poses.npz"), &poses, NULL), SU_OK);
    assert_int_equal(su_modes_load(in(folder, "local.npz"), &localized, NULL), SU_OK);
    assert_int_equal(su_modes_load(in(folder, "global.npz"), &whole, NULL), SU_OK);
    assert_true(localized.r == 100 && localized.d == 6 && whole.r == 180);
    assert_int_equal(su_elastic_of_fit(&elastic, &tet, &fit, SU_NEOHOOKEAN, &err), SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&elastic.pattern, &K, &err), SU_OK);
    su_elastic_stiffness(&elastic, tet.vertices, false, &K, 1);
    assert_int_equal(su_cholesky_create(&K, 1, &factor, &err), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &K, &err), SU_OK);
    double *f = malloc((size_t)K.size * sizeof *f), *u = malloc((size_t)K.size * sizeof *u);
    const char *names[] = {"left ear", "right ear", "cheek"}, *bones[] = {"ear.low.L", "ear.low.R", "head"};
    for (int l = 0; l < 3; l++) {
        int64_t bone = 0;
        while (strcmp(su_file_name(&poses.file, "bone_names", bone), bones[l])) bone++;
        double at[3];
        for (int i = 0; i < 3; i++) { /* the tips of the ears; on the cheek, beside the middle of the head */
            const double *ends = poses.bone_segments + 6 * bone;
            at[i] = l < 2 ? ends[3 + i] : 0.5 * (ends[i] + ends[3 + i]) + (i == 0 ? 0.15 : 0);
        }
        for (int axis = 0; axis < 3; axis++) {
            local_load(&tet, &elastic, at, axis, f);
            assert_int_equal(su_cholesky_solve(factor, 1, f, u, &err), SU_OK);
            double ours = static_error(&elastic, &K, 100, localized.modes, f, u);
            double theirs = static_error(&elastic, &K, 180, whole.modes, f, u);
            printf("# %s pulled along %c: 100 localized modes off by %.3f, 180 global ones by %.3f\n", names[l],
                   "xyz"[axis], ours, theirs);
            assert_true(ours <= theirs);
        }
    }
    su_cholesky_free(factor);
    su_sparse_free(&K);
    su_elastic_free(&elastic);
    su_tet_free(&tet), su_fit_free(&fit), su_poses_free(&poses), su_modes_free(&localized), su_modes_free(&whole);
    free(f), free(u);
    snprintf(line, sizeof line, "rm -r %s", folder);
    assert_int_equal(system(line), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_border), cmocka_unit_test(test_local_load)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
