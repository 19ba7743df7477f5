#include "reduce/modes/pose_modes.h"

#include "core/memory.h"
#include "reduce/modes/shot_loads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_report(su_mode_report *sum, const su_mode_report *one)
{
    sum->projected |= one->projected;
    sum->applications += one->applications, sum->constraints += one->constraints, sum->rigid += one->rigid;
    sum->residual = fmax(sum->residual, one->residual);
    sum->seconds_factor += one->seconds_factor, sum->seconds_eigen += one->seconds_eigen;
    sum->seconds_shapes += one->seconds_shapes;
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

su_status su_pose_modes(const su_mode_setup *setup, const double *x, const double *young, const double *poisson,
                        const su_contact *contact, double *eigenvalues, double *modes, su_mode_report *report,
                        int threads, const su_pose_watch *watch, const su_progress *progress, su_error *err)
{
    su_mode_report sum = {0}, one;
    int32_t *held = NULL;
    uint8_t *fixed = NULL;
    double *loads = NULL, *rotation = NULL;
    su_rotation_field *field = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&held, setup->n, "held vertices", err));
    SU_GO(SU_ALLOC(&fixed, setup->n, "held vertices", err));
    for (int64_t k = 0; k < setup->held_count; k++) fixed[setup->held[k]] = 1;
    int64_t principal = setup->loads ? setup->loads->principal : 0,
            played = setup->loads ? setup->loads->played.count : 0;
    SU_GO(SU_ALLOC(&rotation, 4 * setup->n, "rotations", err));
    SU_GO(su_rotation_field_create(setup->n, setup->vertices, setup->t, setup->tets, &setup->smoothing, 0, NULL, &field,
                                   err));
    su_rotation_field_evaluate(field, x, rotation, threads);
    if (principal + played) {
        SU_GO(SU_ALLOC(&loads, 3 * (principal + played) * setup->n, "loads of the shots", err));
        su_shot_loads_turn(setup->n, rotation, setup->loads, loads);
    }
    for (int64_t region = 0; region < setup->d; region++) {
        const double *weights = setup->weights + region * setup->n;
        su_elastic elastic;
        int64_t count = 0;
        for (int64_t v = 0; v < setup->n; v++)
            if (fixed[v] || weights[v] == 0) held[count++] = (int32_t)v; /* to the rig, or outside the region */
        SU_GO(su_elastic_create(&elastic, setup->n, setup->vertices, setup->t, setup->tets, count, held,
                                setup->material, young, poisson, setup->density, err));
        su_elastic_set_rest(&elastic, x, setup->smoothing.nodes > 0 ? rotation : NULL, threads);
        su_mode_problem problem = {.elastic = &elastic, .x = x, .weights = weights, .keep_rigid = setup->keep_rigid};
        region_watch here = {watch, region};
        su_eigen_watch eigen = {tell, &here};
        if (watch) problem.watch = &eigen;
        if (loads)
            problem.load_count = principal, problem.loads = loads, problem.shape_count = played,
            problem.shapes = loads + 3 * principal * setup->n, problem.responses = setup->responses[region];
        if (contact)
            problem.row_count = contact->rows, problem.row_offsets = contact->offsets,
            problem.row_vertices = contact->vertices, problem.row_coefficients = contact->coefficients;
        status = su_modes_solve(&problem, setup->linear[region], setup->r[region], eigenvalues, modes, &one, threads,
                                progress, err);
        su_elastic_free(&elastic);
        if (status != SU_OK) {
            if (setup->d > 1) su_error_context(err, "region %lld: ", (long long)region);
            goto done;
        }
        add_report(&sum, &one);
        eigenvalues += setup->linear[region], modes += 3 * setup->r[region] * setup->n;
    }
    if (report) *report = sum;
    status = SU_OK;
done:
    free(held);
    free(fixed);
    free(loads), free(rotation);
    su_rotation_field_free(field);
    return status;
}
