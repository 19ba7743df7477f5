/* From a skin to flesh that is fitted to poses, with each allocation failing in turn. */
#include "core/memory.h"
#include "failing_memory.h"
#include "fem/fit.h"
#include "geometry/bind.h"
#include "geometry/embed.h"
#include "geometry/flesh.h"
#include "geometry/held.h"
#include "geometry/shape_change.h"
#include "geometry/surface.h"
#include "geometry/thickness.h"
#include "geometry/ties.h"
#include "near.h"
#include "rig/rbf_train.h"
#include "scene.h"
#include "skins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- meshing ---- */

typedef struct meshing {
    skin s;
    su_mesh_method method;
    double grade;
} meshing;

static su_status mesh_a_skin(void *context, int threads, su_error *err)
{
    const meshing *what = context;
    su_flesh_settings settings = su_flesh_defaults();
    su_surface surface;
    su_flesh flesh;
    settings.method = what->method, settings.tets = 24, settings.grade = what->grade, settings.threads = threads;
    settings.folder = own_folder; /* for what tetgen reads and writes */
    SU_TRY(su_surface_create(what->s.n, what->s.x, what->s.t, what->s.triangles, NULL, &surface, err));
    su_status status = su_flesh_build(&surface, &settings, &flesh, err);
    if (status == SU_OK) {
        FAILING_MEMORY_RESULT(flesh.mesh.x, 3 * flesh.mesh.n);
        FAILING_MEMORY_RESULT(flesh.mesh.tets, 4 * flesh.mesh.t);
        su_flesh_free(&flesh);
    }
    su_surface_free(&surface);
    return status;
}

static void meshes(void **unused)
{
    (void)unused;
    meshing cases[] = {{skin_cube(0.1, 1), SU_MESH_SDF, 3.0}, {skin_cube(0.1, 2), SU_MESH_DIRECT, 1.0}};
    static const char *const names[] = {"graded lattice", "TetGen"};
    for (int i = 0; i < 2; i++) {
        failing_memory_check(names[i], mesh_a_skin, &cases[i]);
        skin_free(&cases[i].s);
    }
}

/* ---- flesh and skin ---- */

static su_status tie_and_hold(void *context, int threads, su_error *err)
{
    const scene *s = context;
    const beam *b = &s->mesh;
    const su_tets mesh = {b->n, b->t, b->vertices, b->tets};
    static const double segments[] = {-0.1, 0, 0, 0.3, 0, 0};
    const su_held_bones bones = {.count = 1, .segments = segments};
    const su_held_bones none = {0};
    su_held held = {0};
    int32_t *index = NULL, *tet = NULL;
    double *weight = NULL, *bary = NULL, *depth = NULL, *half = NULL, *misfit = NULL;
    int64_t outside;
    su_status status;
    SU_GO(SU_ALLOC(&index, SU_TIES * b->n, "ties", err));
    SU_GO(SU_ALLOC(&weight, SU_TIES * b->n, "ties", err));
    SU_GO(SU_ALLOC(&tet, b->n, "tets", err));
    SU_GO(SU_ALLOC(&bary, 4 * b->n, "weights", err));
    SU_GO(SU_ALLOC(&depth, b->n, "depths", err));
    SU_GO(SU_ALLOC(&half, b->n, "depths", err));
    SU_GO(SU_ALLOC(&misfit, b->n, "misfits", err));
    const su_tie_skin tied = {.count = b->n, .x = s->fit.shapes};
    SU_GO(su_ties(b->n, b->vertices, NULL, &tied, threads, index, weight, err));
    FAILING_MEMORY_RESULT(weight, SU_TIES * b->n);
    SU_GO(su_embed_points(&mesh, b->n, b->vertices, threads, tet, bary, &outside, err));
    FAILING_MEMORY_RESULT(bary, 4 * b->n);
    SU_GO(su_flesh_thickness(&mesh, threads, depth, half, err));
    FAILING_MEMORY_RESULT(depth, b->n);
    SU_GO(su_shape_change(b->n, b->vertices, 2, s->fit.shapes, 0.3, threads, misfit, err));
    FAILING_MEMORY_RESULT(misfit, b->n);
    SU_GO(su_held_find(&mesh, depth, half, &bones, NULL, &held, err));
    FAILING_MEMORY_RESULT(held.fixed, b->n);
    su_held_free(&held);
    SU_GO(su_held_find(&mesh, depth, half, &none, NULL, &held, err));
    FAILING_MEMORY_RESULT(held.fixed, b->n);
done:
    su_held_free(&held);
    free(index), free(tet), free(weight), free(bary), free(depth), free(half), free(misfit);
    return status;
}

static su_status bind_points(void *context, int threads, su_error *err)
{
    const skin *s = context;
    su_bind bind;
    double out[30];
    (void)threads;
    SU_TRY(su_bind_create(10, s->x, s->n, s->x, s->t, s->triangles, &bind, err));
    su_bind_apply(&bind, s->x, out);
    su_bind_free(&bind);
    FAILING_MEMORY_RESULT(out, 30);
    return SU_OK;
}

static su_status train_weights(void *context, int threads, su_error *err)
{
    enum { M = 5, S = 2 };
    static const double params[M * S] = {0, 0, 1, 0, 0, 1, 1, 1, 0.5, 0.2}, scale[S] = {1, 1};
    double rbf[M * M], basis[M * (M + 1 + S)];
    int64_t columns;
    (void)context, (void)threads;
    SU_TRY(su_rbf_train(M, S, params, scale, rbf, err));
    FAILING_MEMORY_RESULT(rbf, M * M);
    SU_TRY(su_basis_rbf_train(M, S, params, scale, &columns, basis, err));
    FAILING_MEMORY_RESULT(basis, M * columns);
    return SU_OK;
}

static su_status fit_a_pose(void *context, int threads, su_error *err)
{
    const scene *s = context;
    const beam *b = &s->mesh;
    enum { MOST = 200 };
    double area[MOST], x[3 * MOST];
    assert_true(b->n <= MOST);
    for (int64_t v = 0; v < b->n; v++) area[v] = 1.0 / (double)b->n;
    const su_fit_problem problem = {.n = b->n,
                                    .t = b->t,
                                    .nbar = b->n,
                                    .held_count = b->held_count,
                                    .vertices = b->vertices,
                                    .tets = b->tets,
                                    .held = b->held,
                                    .embed_tet = s->tet.embed_tet,
                                    .embed_bary = s->tet.embed_bary,
                                    .area = area,
                                    .diagonal = 1.06,
                                    .gamma = 0.01,
                                    .residual = 1e-4,
                                    .poisson = 0.4};
    su_fit_solver *solver;
    su_fit_report report;
    su_status status = su_fit_solver_create(&problem, &solver, err);
    if (status != SU_OK) return status;
    memcpy(x, b->vertices, (size_t)(3 * b->n) * sizeof *x);
    status = su_fit_pose(solver, s->fit.shapes + 3 * b->n, x, &report, threads, NULL, err);
    su_fit_solver_free(solver);
    if (status == SU_OK) FAILING_MEMORY_RESULT(x, 3 * b->n);
    return status;
}

static void rig_still(double t, double *bend, double *root) { (void)t, (void)bend, (void)root; }

static void flesh_and_skin(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 4, 2, 2, 2, (const double[]){0.0, 1.0}, 2, 30, rig_still, 0, NULL);
    skin sphere = skin_sphere(0.1, 6);
    failing_memory_check("ties, embedding, held", tie_and_hold, &s);
    failing_memory_check("bind", bind_points, &sphere);
    failing_memory_check("weights of poses", train_weights, NULL);
    failing_memory_check("fit", fit_a_pose, &s);
    skin_free(&sphere);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(meshes), cmocka_unit_test(flesh_and_skin)};
    return cmocka_run_group_tests(tests, failing_memory_begin, failing_memory_end);
}
