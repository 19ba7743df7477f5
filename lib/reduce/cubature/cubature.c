#include "reduce/cubature/cubature.h"

#include "core/memory.h"
#include "core/threads.h"
#include "linalg/dense.h"
#include "linalg/eigen.h"
#include "reduce/cubature/reduced_stiffness.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a training's progress: rows of the tets, their choice, rows of the vertices, their choice. */
#define TET_ROWS 0.02
#define TET_CHOICE 0.3
#define VERTEX_ROWS 0.7
#define VERTEX_CHOICE 0.8
#define LAST 0.98

static void tet_rows_free(su_cubature *cubature)
{
    su_fit_problem_free(&cubature->rows), su_candidates_free(&cubature->candidates);
}

void su_cubature_free(su_cubature *cubature)
{
    su_point_set_free(&cubature->tets), su_point_set_free(&cubature->vertices);
    free(cubature->linear), free(cubature->stiffness);
    tet_rows_free(cubature);
    *cubature = (su_cubature){0};
}

/* As many points as are wanted, or, with 0, as the bound asks for. */
static su_status select_points(const su_training *training, const su_fit_problem *problem, int64_t count,
                               su_point_set *out, su_error *err)
{
    const su_fit_settings fit = {count > 0 ? 0 : training->plan->error, count, training->space->threads,
                                 training->progress};
    return su_select_points(problem, &fit, out, err);
}

/* One set of weights for all poses, as files have one a pose. */
static su_status repeat_weights(int64_t m, su_point_set *tets, su_error *err)
{
    double *all;
    SU_TRY(SU_ALLOC(&all, m * tets->count, "cubature set", err));
    for (int64_t i = 0; i < m; i++) memcpy(all + i * tets->count, tets->weights, (size_t)tets->count * sizeof *all);
    free(tets->weights);
    tets->weights = all;
    return SU_OK;
}

/* D = U'KU, out->stiffness, less the tets' own at the neutral pose: in the eigenvectors of (tets', U'KU) what they lack
 * is added; of what they have too much of no more than most_taken is taken off, the rest stays. */
static su_status lacking_stiffness(su_pose_space *space, const su_training_plan *plan, su_cubature *out, su_error *err)
{
    const double *whole = out->stiffness;
    int64_t r = space->r;
    double *own = NULL, *V = NULL, *l = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("stiffness", err, SU_WANT(own, r * r), SU_WANT(V, r * r), SU_WANT(l, r),
                       SU_WANT(out->linear, r * r)));
    SU_GO(su_tets_stiffness(space, out->tets.count, out->tets.points, out->tets.weights, own, err));
    memcpy(V, own, (size_t)(r * r) * sizeof *V);
    memcpy(out->linear, whole, (size_t)(r * r) * sizeof *whole); /* scratch */
    SU_GO(su_eigen_generalized(r, V, out->linear, l, "the reduced stiffness at the neutral pose is not definite", err));

    out->stiffest = l[r - 1];
    /* rows of V: V K V' = 1; D = K V' diag(max(1 - l, -most_taken)) V K */
    double *KV = own;
    su_multiply(r, r, r, V, whole, KV);
    memset(out->linear, 0, (size_t)(r * r) * sizeof *out->linear);
    for (int64_t k = 0; k < r; k++)
        cblas_dsyr(CblasRowMajor, CblasLower, (int)r, fmax(1 - l[k], -plan->most_taken), KV + k * r, 1, out->linear,
                   (int)r);
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < i; j++) out->linear[j * r + i] = out->linear[i * r + j];
done:
    free(own), free(V), free(l);
    return status;
}

/* Candidates and their rows, which are the same however many tets are chosen. */
static su_status make_tet_rows(const su_training *training, su_cubature *out, su_error *err)
{
    su_pose_space *space = training->space;
    double started = su_seconds();
    if (training->states) {
        SU_TRY(SU_ALLOC(&out->stiffness, space->r * space->r, "stiffness", err));
        SU_TRY(su_neutral_stiffness(space, out->stiffness, err));
    }
    SU_TRY(su_candidates_create(&space->elastic, SU_POINT_TET, su_training_room(training), training->seed,
                                &out->candidates, err));
    out->samples = training->states ? training->states->count : su_training_samples(training, out->candidates.count);
    su_progress_stage(training->progress, TET_ROWS, TET_CHOICE);
    SU_TRY(su_tet_problem(training, &out->candidates, out->samples, out->stiffness, &out->rows, err));
    out->tets.seconds_rows = su_seconds() - started;
    return SU_OK;
}

/* wanted: tets; 0: by error. */
static su_status choose_tets(const su_training *training, int64_t wanted, su_cubature *out, su_error *err)
{
    double started = su_seconds();
    su_progress_stage(training->progress, TET_CHOICE, VERTEX_ROWS);
    SU_TRY(select_points(training, &out->rows, wanted, &out->tets, err));
    if (training->states) {
        SU_TRY(lacking_stiffness(training->space, training->plan, out, err));
        SU_TRY(repeat_weights(training->space->m, &out->tets, err));
    }
    out->tets.seconds_choice = su_seconds() - started;
    return SU_OK;
}

static su_status train_vertices(const su_training *training, su_point_set *out, su_error *err)
{
    const su_training_plan *plan = training->plan;
    su_candidates candidates = {0};
    su_fit_problem problem = {0};
    double started = su_seconds();
    su_status status;
    SU_GO(su_candidates_create(&training->space->elastic, SU_POINT_VERTEX, plan->most_vertices, training->seed,
                               &candidates, err));
    su_progress_stage(training->progress, VERTEX_ROWS, VERTEX_CHOICE);
    SU_GO(su_vertex_problem(training, &candidates, &problem, err));
    su_progress_stage(training->progress, VERTEX_CHOICE, LAST);
    out->seconds_rows = su_seconds() - started;
    SU_GO(select_points(training, &problem, plan->vertices, out, err));
    out->seconds_choice = su_seconds() - started;
done:
    su_fit_problem_free(&problem);
    su_candidates_free(&candidates);
    return status;
}

su_status su_cubature_train(const su_training *training, su_cubature *out, su_error *err)
{
    su_status status;
    *out = (su_cubature){.places = training->states ? 0 : training->places->count};
    SU_GO(make_tet_rows(training, out, err));
    SU_GO(choose_tets(training, training->plan->tets, out, err));
    if (!training->states) tet_rows_free(out); /* with a basis a pose nothing is trained anew, and rows are many */
    SU_GO(train_vertices(training, &out->vertices, err));
done:
    if (status != SU_OK) su_cubature_free(out);
    return status;
}

su_status su_cubature_train_tets(const su_training *training, int64_t tets, su_cubature *cubature, su_error *err)
{
    su_cubature fresh = *cubature;
    fresh.tets = (su_point_set){.seconds_rows = cubature->tets.seconds_rows}, fresh.linear = NULL;
    su_status status = choose_tets(training, tets, &fresh, err);
    if (status != SU_OK) {
        su_point_set_free(&fresh.tets), free(fresh.linear);
        return status;
    }
    fresh.tets.seconds_choice += cubature->tets.seconds_choice;
    su_point_set_free(&cubature->tets), free(cubature->linear);
    *cubature = fresh;
    return SU_OK;
}

/* ---- fresh samples ---- */

static su_status check(const su_training *fresh, su_point_kind kind, const su_point_set *set, int64_t samples,
                       su_error_pair *errors, su_error *err)
{
    su_candidates chosen = {0};
    su_fit_problem problem = {0};
    int32_t *number = NULL;
    su_status status;
    SU_GO(su_candidates_of(&fresh->space->elastic, kind, set->count, set->points, &chosen, err));
    SU_GO(SU_ALLOC(&number, set->count, "cubature set", err));
    for (int64_t k = 0; k < set->count; k++) number[k] = (int32_t)k;
    status = kind == SU_POINT_TET ? su_tet_problem(fresh, &chosen, samples, NULL, &problem, err)
                                  : su_vertex_problem(fresh, &chosen, &problem, err);
    if (status == SU_OK)
        status = su_fit_errors(&problem, set->count, number, set->weights, fresh->space->threads, errors, err);
done:
    su_fit_problem_free(&problem);
    su_candidates_free(&chosen);
    free(number);
    return status;
}

su_status su_cubature_check(const su_training *training, const su_cubature *cubature, int64_t samples, double factor,
                            su_error_pair *tet_errors, su_error_pair *vertex_errors, su_error *err)
{
    enum { SEED = 0x5eed }; /* added to that of the training */
    su_training_plan plan = *training->plan;
    su_training fresh = *training;
    plan.amplitude *= factor;
    plan.pose_histories = plan.frame_histories = plan.least_between = samples;
    plan.soft_modes = plan.mixed_sizes = 0;
    fresh.plan = &plan, fresh.moving = training->places, fresh.seed += SEED, fresh.progress = NULL;
    SU_TRY(check(&fresh, SU_POINT_TET, &cubature->tets, samples, tet_errors, err));
    return check(&fresh, SU_POINT_VERTEX, &cubature->vertices, samples, vertex_errors, err);
}
