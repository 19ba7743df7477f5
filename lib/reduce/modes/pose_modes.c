#include "reduce/modes/pose_modes.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_report(su_mode_report *sum, const su_mode_report *one)
{
    sum->projected |= one->projected;
    sum->applications += one->applications, sum->constraints += one->constraints, sum->rigid += one->rigid;
    sum->residual = fmax(sum->residual, one->residual);
    sum->seconds_factor += one->seconds_factor, sum->seconds_eigen += one->seconds_eigen;
    sum->seconds_derivatives += one->seconds_derivatives, sum->seconds_pca += one->seconds_pca;
}

typedef struct region_watch {
    const su_pose_watch *watch;
    int64_t region;
} region_watch;

static void tell(void *context, int64_t converged, int64_t wanted, int64_t applications)
{
    const region_watch *r = context;
    r->watch->tell(r->watch->context, r->watch->pose, r->region, converged, wanted, applications);
}

/* What all regions of a pose share. */
typedef struct pose_solver {
    const su_mode_setup *setup;
    const su_pose_flesh *pose;
    double *rotation; /* (n,4) */
    uint8_t *fixed;   /* (n) held to the rig */
    int32_t *held;    /* (n) scratch */
    int threads;
    const su_pose_watch *watch;
} pose_solver;

static void pose_solver_free(pose_solver *s) { free(s->rotation), free(s->fixed), free(s->held); }

static su_status pose_solver_create(pose_solver *s, su_error *err)
{
    const su_mode_setup *setup = s->setup;
    int64_t n = setup->n;
    su_rotation_field *field = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("held vertices", err, SU_WANT(s->held, n), SU_WANT(s->fixed, n)));
    for (int64_t k = 0; k < setup->held_count; k++) s->fixed[setup->held[k]] = 1;
    SU_GO(SU_ALLOC(&s->rotation, 4 * n, "rotations", err));
    SU_GO(su_rotation_field_create(&(su_tet_mesh){n, setup->t, setup->vertices, setup->tets}, &setup->smoothing, 0,
                                   NULL, &field, err));
    su_rotation_field_evaluate(field, s->pose->x, s->rotation, s->threads);
done:
    su_rotation_field_free(field);
    return status;
}

static su_status solve_region(pose_solver *s, int64_t region, double *eigenvalues, double *modes,
                              su_mode_report *report, su_error *err)
{
    const su_mode_setup *setup = s->setup;
    const su_pose_flesh *pose = s->pose;
    const double *weights = setup->weights + region * setup->n;
    region_watch here = {s->watch, region};
    su_eigen_watch eigen = {tell, &here};
    su_elastic elastic;
    int64_t count = 0;
    for (int64_t v = 0; v < setup->n; v++)
        if (s->fixed[v] || weights[v] == 0) s->held[count++] = (int32_t)v; /* to the rig, or outside the region */
    SU_TRY(su_elastic_create(&elastic,
                             &(su_elastic_body){.mesh = {setup->n, setup->t, setup->vertices, setup->tets},
                                                .held_count = count,
                                                .held = s->held,
                                                .material = setup->material,
                                                .young = pose->young,
                                                .poisson = pose->poisson,
                                                .density = setup->density},
                             err));
    su_elastic_set_rest(&elastic, pose->x, setup->smoothing.nodes > 0 ? s->rotation : NULL, s->threads);
    su_mode_problem problem = {.elastic = &elastic,
                               .x = pose->x,
                               .weights = weights,
                               .contact = pose->contact,
                               .keep_rigid = setup->keep_rigid,
                               .watch = s->watch ? &eigen : NULL,
                               .progress = s->watch ? s->watch->progress : NULL};
    su_status status =
        su_modes_solve(&problem, setup->linear[region], setup->r[region], eigenvalues, modes, report, s->threads, err);
    su_elastic_free(&elastic);
    if (status != SU_OK && setup->d > 1) su_error_context(err, "region %lld: ", (long long)region);
    return status;
}

su_status su_pose_modes(const su_mode_setup *setup, const su_pose_flesh *pose, double *eigenvalues, double *modes,
                        su_mode_report *report, int threads, const su_pose_watch *watch, su_error *err)
{
    pose_solver s = {.setup = setup, .pose = pose, .threads = threads, .watch = watch};
    su_mode_report sum = {0}, one;
    su_status status;
    SU_GO(pose_solver_create(&s, err));
    for (int64_t region = 0; region < setup->d; region++) {
        SU_GO(solve_region(&s, region, eigenvalues, modes, &one, err));
        add_report(&sum, &one);
        eigenvalues += setup->linear[region], modes += 3 * setup->r[region] * setup->n;
    }
    if (report) *report = sum;
done:
    pose_solver_free(&s);
    return status;
}
