#include "reduce/cubature/training_rows.h"

#include "core/memory.h"
#include "reduce/cubature/elastic_rows.h"
#include "reduce/cubature/inertia_rows.h"
#include "reduce/cubature/reduced_stiffness.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 3 * sizeof(float) }; /* of a force on a vertex */
/* Rows of a station count by its samples, so that all stations count alike; a hundred keeps the Gram matrices' entries
 * about as large as those of a station of so many samples. */
#define IMPORTANCE 100.0

void su_fit_problem_free(su_fit_problem *problem)
{
    for (int64_t a = 0; problem->stations && a < problem->station_count; a++)
        su_station_rows_free(&problem->stations[a]);
    free(problem->stations);
    *problem = (su_fit_problem){0};
}

/* A station at a place, behind those that are there. */
static su_status add_station(const su_place *place, su_fit_problem *problem, su_error *err)
{
    su_station_rows *rows = &problem->stations[problem->station_count++];
    rows->group = (int)place->pose;
    SU_TRY(SU_ALLOC(&rows->blend, problem->groups, "training places", err));
    for (int64_t i = 0; i < problem->groups; i++) rows->blend[i] = problem->groups > 1 ? place->positive[i] : 1;
    return SU_OK;
}

/* Tets have weights a pose where there is a basis a pose, vertices one set. No station yet, but room for them. */
static su_status problem_create(const su_pose_space *space, const su_candidates *points, int64_t stations,
                                su_fit_problem *problem, su_error *err)
{
    *problem = (su_fit_problem){
        .r = space->r, .groups = points->kind == SU_POINT_TET && space->bases.m > 1 ? space->m : 1, .points = points};
    return SU_ALLOC(&problem->stations, stations, "training places", err);
}

static su_status problem_at(const su_pose_space *space, const su_candidates *points, const su_training_places *places,
                            su_fit_problem *problem, su_error *err)
{
    SU_TRY(problem_create(space, points, places->count, problem, err));
    for (int64_t a = 0; a < places->count; a++) SU_TRY(add_station(&places->place[a], problem, err));
    return SU_OK;
}

/* What work at one of many places reads and fills. */
typedef struct sampling {
    const su_training *training;
    const su_candidates *points;
    int64_t samples;
    const double *stiffness, *norm;
    const int64_t *first; /* (stations + 1) states of each station */
    su_fit_problem *problem;
} sampling;

/* ---- one basis: rows of all places as those of one station ---- */

static su_status join_stations(su_pose_space *space, su_fit_problem *problem, su_error *err)
{
    const bool measured = problem->station_count > 0 && problem->stations[0].metric;
    int64_t r = problem->r, width = 3 * (int64_t)problem->points->kind * problem->points->count, samples = 0;
    su_station_rows all = {.group = -1};
    su_status status;
    for (int64_t a = 0; a < problem->station_count; a++) samples += problem->stations[a].samples;
    SU_GO(SU_ALLOC_ALL("training rows", err, SU_WANT(all.force, samples * width), SU_WANT(all.target, samples * r),
                       SU_WANT(all.blend, problem->groups)));
    if (measured) SU_GO(SU_ALLOC(&all.metric, samples * r * r, "training rows", err));
    SU_GO(su_pose_space_enter_neutral(space, err));
    SU_GO(su_rows_basis(space, problem->points, &all.basis, err));
    for (int64_t a = 0; a < problem->station_count; a++) {
        su_station_rows *rows = &problem->stations[a];
        size_t count = (size_t)rows->samples;
        memcpy(all.force + all.samples * width, rows->force, count * (size_t)width * sizeof *all.force);
        memcpy(all.target + all.samples * r, rows->target, count * (size_t)r * sizeof *all.target);
        if (measured)
            memcpy(all.metric + all.samples * r * r, rows->metric, count * (size_t)(r * r) * sizeof *all.metric);
        all.samples += rows->samples;
        su_station_rows_free(rows);
    }
    for (int64_t i = 0; i < problem->groups; i++) all.blend[i] = 1;
    all.importance = IMPORTANCE / (double)(samples > 0 ? samples : 1);
    problem->stations[0] = all, problem->station_count = 1;
    all = (su_station_rows){0};
done:
    su_station_rows_free(&all);
    return status;
}

/* ---- tets on states ---- */

static su_status state_rows_at(void *context, su_pose_space *space, int worker, int64_t station, su_error *err)
{
    const sampling *s = context;
    const su_training_states *states = s->training->states;
    int64_t first = s->first[station], count = s->first[station + 1] - first;
    (void)worker;
    return su_state_rows(space, &s->training->places->place[states->place[first]], count, states->q + first * space->r,
                         (su_force_part){SU_FORCE_REMAINDER, s->stiffness, s->norm}, s->points,
                         &s->problem->stations[station], err);
}

/* Linear forces of the same states at the neutral pose, as a guide: tets that only know remainders may be many times as
 * stiff as the flesh in motions that these hardly show, and D takes off a part of that only. */
static su_status linear_rows(const sampling *s, su_error *err)
{
    su_pose_space *space = s->training->space;
    const su_training_states *states = s->training->states;
    su_place neutral = {0};
    su_status status;
    SU_GO(su_place_at_pose(space, 0, &neutral, err));
    SU_GO(add_station(&neutral, s->problem, err));
    su_station_rows *rows = &s->problem->stations[s->problem->station_count - 1];
    rows->group = -1, rows->guide = true;
    rows->importance = IMPORTANCE / (double)states->count; /* all together count like the states */
    SU_GO(su_state_rows(space, &neutral, states->count, states->q, (su_force_part){SU_FORCE_LINEAR, NULL, s->norm},
                        s->points, rows, err));
    int64_t size = 3 * space->r * s->points->vertex_count; /* of the same basis as the states' station */
    SU_GO(SU_ALLOC(&rows->basis, size, "basis", err));
    memcpy(rows->basis, s->problem->stations[0].basis, (size_t)size * sizeof *rows->basis);
    for (int64_t k = 0; k < rows->samples * space->r; k++) rows->target[k] *= s->training->plan->linear_aim;
done:
    su_place_free(&neutral);
    return status;
}

/* A station for the states of all places, and one for their linear forces. */
static su_status state_problem(sampling *s, su_error *err)
{
    const su_training *training = s->training;
    const su_training_states *states = training->states;
    su_fit_problem *problem = s->problem;
    int64_t stations = 0, *first = NULL, r = training->space->r;
    double *norm = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&norm, r * r, "basis", err));
    SU_GO(su_displacement_norm(training->space, training->plan->vertex_share, norm, err));
    s->norm = norm;
    SU_GO(problem_create(training->space, s->points, states->count + 1, problem, err));
    SU_GO(SU_ALLOC(&first, states->count + 1, "states", err));
    for (int64_t k = 0; k < states->count; k++) {
        if (k > 0 && states->place[k] == states->place[k - 1]) continue;
        SU_GO(add_station(&training->places->place[states->place[k]], problem, err));
        first[stations++] = k;
    }
    first[stations] = states->count;
    s->first = first;
    SU_GO(su_pose_space_each(training->space, stations, state_rows_at, s, training->progress, err));
    SU_GO(join_stations(training->space, problem, err));
    SU_GO(linear_rows(s, err));
done:
    free(first), free(norm);
    return status;
}

/* ---- tets on random states ---- */

/* Places as poses that have all samples. */
static double pose_equivalents(const su_training *training)
{
    int64_t m = training->space->m;
    return (double)m + (double)(training->places->count - m) * training->plan->between_share;
}

int64_t su_training_room(const su_training *training)
{
    enum { SHORT = 2 }; /* times the least samples: candidates are dropped before samples are */
    double sample = SU_POINT_TET * BYTES,
           samples = training->states ? (double)training->states->count
                                      : pose_equivalents(training) * SHORT * (double)training->plan->least_samples;
    int64_t room = (int64_t)((double)training->memory / (sample * samples)), least = training->plan->least_candidates;
    return room > least ? room : least;
}

int64_t su_training_samples(const su_training *training, int64_t candidates)
{
    const su_training_plan *plan = training->plan;
    double sample = SU_POINT_TET * BYTES * (double)candidates;
    int64_t room = (int64_t)((double)training->memory / (pose_equivalents(training) * sample)),
            samples = plan->samples < room ? plan->samples : room;
    return samples > plan->least_samples ? samples : plan->least_samples;
}

static su_status random_rows_at(void *context, su_pose_space *space, int worker, int64_t a, su_error *err)
{
    const sampling *s = context;
    const su_training_plan *plan = s->training->plan;
    const su_place *place = &s->training->places->place[a];
    su_station_rows *rows = &s->problem->stations[a];
    int64_t least = plan->least_between, between = (int64_t)((double)s->samples * plan->between_share);
    su_sampling states = {.samples = place->pose >= 0  ? s->samples
                                     : between > least ? between
                                                       : least,
                          .amplitude = plan->amplitude,
                          .seed = s->training->seed,
                          .stream = (uint64_t)a,
                          .mixed = plan->mixed_sizes != 0,
                          .soft = space->r < plan->soft_modes ? space->r : plan->soft_modes,
                          .soft_weight = plan->soft_weight};
    (void)worker;
    SU_TRY(su_elastic_rows(space, place, &states, s->points, rows, err));
    rows->importance = IMPORTANCE / (double)rows->samples; /* all places count alike */
    return SU_OK;
}

su_status su_tet_problem(const su_training *training, const su_candidates *points, int64_t samples,
                         const double *stiffness, su_fit_problem *problem, su_error *err)
{
    sampling s = {
        .training = training, .points = points, .samples = samples, .stiffness = stiffness, .problem = problem};
    if (training->states) return state_problem(&s, err);
    SU_TRY(problem_at(training->space, points, training->places, problem, err));
    return su_pose_space_each(training->space, training->places->count, random_rows_at, &s, training->progress, err);
}

/* ---- vertices ---- */

static su_status vertex_rows_at(void *context, su_pose_space *space, int worker, int64_t a, su_error *err)
{
    const sampling *s = context;
    const su_training *training = s->training;
    const su_training_plan *plan = training->plan;
    const su_training_places *places = training->moving;
    const su_training_states *given = training->states;
    su_station_rows *rows = &s->problem->stations[a];
    su_inertia_sampling accelerations = {.states = {.samples = given                  ? SU_STATES_A_PLACE
                                                               : places->shot[a] >= 0 ? plan->frame_histories
                                                                                      : plan->pose_histories,
                                                    .amplitude = plan->amplitude,
                                                    .seed = training->seed,
                                                    .stream = (uint64_t)(places->count + a)},
                                         .given = given ? given->q + SU_STATES_A_PLACE * a * space->r : NULL,
                                         .spin = places->spin,
                                         .least_field = plan->least_field,
                                         .least_turn = plan->least_turn,
                                         .turned_back = given != NULL};
    (void)worker;
    SU_TRY(su_inertia_rows(space, &places->place[a], &places->motion[a], &accelerations, s->points, rows, err));
    rows->importance = IMPORTANCE / (double)(rows->samples + 1);
    return SU_OK;
}

su_status su_vertex_problem(const su_training *training, const su_candidates *points, su_fit_problem *problem,
                            su_error *err)
{
    sampling s = {.training = training, .points = points, .problem = problem};
    SU_TRY(problem_at(training->space, points, training->moving, problem, err));
    SU_TRY(su_pose_space_each(training->space, training->moving->count, vertex_rows_at, &s, training->progress, err));
    return training->states ? join_stations(training->space, problem, err) : SU_OK;
}
