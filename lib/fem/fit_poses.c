#include "fem/fit_poses.h"

#include "core/memory.h"
#include "geometry/affine.h"
#include "geometry/mat3.h"
#include "rig/rest_shape.h"

#include <stdlib.h>
#include <string.h>

/* Tets from which on poses follow each other: each thread's solver holds a matrix and a factor, about 1 GB at this
 * size (0.4 GB at 245,597). */
#define ONE_POSE_AT_A_TIME 500000

/* Held vertices move with the bone that carries them: x = bone(pose) bone(rest)^-1 X. */
static su_status carry_held(const su_pose_fits *of, int64_t pose, double *x, su_error *err)
{
    const su_poses *poses = of->poses;
    const su_tet *tet = of->tet;
    if (!tet->fixed_bone || !poses->bones || !poses->bone_rest) return SU_OK;
    for (int64_t k = 0; k < tet->fixed_count; k++) {
        int64_t bone = tet->fixed_bone[k], v = tet->fixed[k];
        if (bone < 0) continue;
        if (bone >= poses->B)
            return su_fail(err, SU_INPUT, "%s: held vertex %lld follows bone %lld, %s has %lld bones", of->tet_path,
                           (long long)v, (long long)bone, of->poses_path, (long long)poses->B);
        const double *rest = poses->bone_rest + 16 * bone, *now = poses->bones + 16 * (pose * poses->B + bone);
        double linear[9], inverse[9], local[3];
        su_affine_linear(rest, linear);
        if (su_inverse3(linear, inverse) == 0)
            return su_fail(err, SU_INPUT, "%s: the rest matrix of bone %lld is singular", of->poses_path,
                           (long long)bone);
        for (int r = 0; r < 3; r++) local[r] = tet->vertices[3 * v + r] - rest[4 * r + 3];
        su_mulv3(inverse, local, local);
        su_affine_point(now, local, x + 3 * v);
    }
    return SU_OK;
}

static su_status fit_pose(const su_pose_fits *of, su_fit *fit, su_fit_report *reports, su_fit_solver *solver, int64_t k,
                          int threads, su_progress *progress, su_error *err)
{
    const su_tet *tet = of->tet;
    const su_poses *poses = of->poses;
    int64_t n = tet->n, pose = fit->pose[k];
    double *x = fit->shapes + 3 * k * n, *correction = fit->corrections + 3 * k * n;
    const double *skin = poses->shapes + 3 * pose * poses->nbar;
    if (of->done[k]) return SU_OK;
    if (pose == 0) {
        memcpy(x, tet->vertices, 3 * (size_t)n * sizeof *x);
        return SU_OK;
    }
    const su_rest_shape interpolated = {.n = n,
                                        .ties = tet->ties,
                                        .vertices = tet->vertices,
                                        .neutral = poses->neutral,
                                        .shepard_index = tet->shepard_index,
                                        .shepard_weight = tet->shepard_weight};
    su_rest_shape_evaluate(&interpolated, n, NULL, skin, NULL, x);
    memcpy(correction, x, 3 * (size_t)n * sizeof *x);
    SU_TRY(carry_held(of, pose, x, err));
    SU_TRY(su_fit_pose(solver, skin, x, &reports[k], threads, progress, err));
    for (int64_t i = 0; i < 3 * n; i++) correction[i] = x[i] - correction[i];
    return SU_OK;
}

/* Poses beside each other where memory allows; one symbolic analysis a thread. */
static su_status fit_beside(const su_pose_fits *of, const su_fit_problem *problem, su_fit *fit, su_fit_report *reports,
                            int threads, su_progress *progress, su_error *err)
{
    int64_t count = fit->k, finished = 0;
    int team = problem->t > ONE_POSE_AT_A_TIME ? 1 : threads < count ? threads : (int)count;
    su_status first = SU_OK;
#pragma omp parallel num_threads(team) if (team > 1)
    {
        su_fit_solver *solver = NULL;
        su_error own = {0};
        su_status status = su_fit_solver_create(problem, &solver, &own);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < count; i++) {
            if (status == SU_OK) {
                status = fit_pose(of, fit, reports, solver, i, threads / team, progress, &own);
                if (status != SU_OK) su_error_context(&own, "pose %d: ", (int)fit->pose[i]);
            }
#pragma omp critical(fit_progress)
            {
                if (status == SU_OK) status = su_progress_update(progress, (double)++finished / (double)count, &own);
                su_keep_first_error(&first, err, status, &own);
            }
        }
        su_fit_solver_free(solver);
    }
    return first;
}

su_status su_fit_poses(const su_pose_fits *of, su_fit *fit, su_fit_report *reports, int threads, su_progress *progress,
                       su_error *err)
{
    const su_tet *tet = of->tet;
    int32_t *firm = NULL;
    SU_TRY(SU_ALLOC(&firm, tet->fixed_count, "held vertices", err));
    int64_t firm_count =
        su_fit_firm(tet->n, tet->t, tet->tets, tet->fixed_count, tet->fixed, tet->fixed_bone, firm, err);
    const su_fit_problem problem = {.n = tet->n,
                                    .t = tet->t,
                                    .nbar = tet->nbar,
                                    .held_count = firm_count,
                                    .vertices = tet->vertices,
                                    .tets = tet->tets,
                                    .held = firm,
                                    .embed_tet = tet->embed_tet,
                                    .embed_bary = tet->embed_bary,
                                    .area = of->area,
                                    .diagonal = of->diagonal,
                                    .gamma = of->gamma,
                                    .residual = of->residual,
                                    .poisson = of->poisson,
                                    .deepest = of->deepest};
    su_status status = firm_count < 0 ? err->status : fit_beside(of, &problem, fit, reports, threads, progress, err);
    free(firm);
    return status;
}
