#include "reduce/cubature/cubature.h"

#include "core/memory.h"
#include "core/random.h"
#include "core/threads.h"
#include "geometry/mat3.h"
#include "rig/rbf.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SOFT = 12, SOFT_WEIGHT = 4 }; /* lowest motions trained one by one, and how much more they count */
/* Tets aim at this part of the linear stiffness, and D, which has the rest, may take off this part of it where they
 * have too much. Without the first they have too much in half of all directions; without the second all that stays, and
 * soft motions are too fast. Both are small enough for the tets' own energy to outweigh what D takes off in motions of
 * any size that trained them (docs/design.md, eq. 14). */
#define AIM 0.95
#define MOST_TAKEN 0.2
enum { TETS_A_MODE = 3, VERTICES_A_MODE = 3 }; /* with one basis for all poses, by default */
enum { MOST_VERTICES = 24000, HISTORIES = 6, FRAME_HISTORIES = 2 };

su_cubature_settings su_cubature_defaults(void)
{
    return (su_cubature_settings){.error = 0.0125, .amplitude = 0.05, .seed = 1, .memory = (int64_t)1 << 30};
}

void su_cubature_free(su_cubature *cubature)
{
    free(cubature->tets), free(cubature->tet_weights), free(cubature->linear), free(cubature->vertices),
        free(cubature->vertex_weights);
    free(cubature->tet_errors), free(cubature->vertex_errors);
    *cubature = (su_cubature){0};
}

/* ---- candidates ---- */

/* Tets or vertices that may be chosen, and the vertices that they touch. */
typedef struct candidates {
    int64_t count, vertices;
    int32_t *list;   /* (count) into the mesh, ascending */
    int32_t *vertex; /* (vertices) into the mesh, ascending */
    int32_t *corner; /* (count, corners) into `vertex` */
} candidates;

static void candidates_free(candidates *c) { free(c->list), free(c->vertex), free(c->corner); }

/* Keeps a random `most` of a list, in order. */
static int64_t thin(int64_t count, int32_t *list, int64_t most, uint64_t seed)
{
    su_random random = su_random_seed(seed, 0x7468696e);
    int64_t kept = 0;
    if (count <= most) return count;
    for (int64_t k = 0; k < count; k++) /* selection sampling: Knuth, TAOCP 2, algorithm 3.4.2 S */
        if ((double)(count - k) * su_random_uniform(&random) < (double)(most - kept)) list[kept++] = list[k];
    return kept;
}

/* corners = 4: tets with a free vertex; 1: free vertices. */
static su_status make_candidates(const su_pose_space *space, int corners, int64_t most, uint64_t seed, candidates *out,
                                 su_error *err)
{
    const int32_t *tets = space->tet->tets, *free_index = space->elastic.free_index;
    int64_t total = corners == 4 ? space->t : space->n;
    int32_t *number = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&out->list, total, "cubature candidates", err));
    for (int32_t k = 0; k < total; k++) {
        const int32_t *tet = tets + 4 * (int64_t)k;
        if (corners == 4 ? free_index[tet[0]] >= 0 || free_index[tet[1]] >= 0 || free_index[tet[2]] >= 0 ||
                               free_index[tet[3]] >= 0
                         : free_index[k] >= 0)
            out->list[out->count++] = k;
    }
    out->count = thin(out->count, out->list, most, seed);
    SU_GO(SU_ALLOC(&number, space->n, "cubature candidates", err));
    SU_GO(SU_ALLOC(&out->vertex, space->n, "cubature candidates", err));
    SU_GO(SU_ALLOC(&out->corner, corners * out->count, "cubature candidates", err));
    for (int64_t k = 0; k < out->count; k++)
        for (int c = 0; c < corners; c++) number[corners == 4 ? tets[4 * (int64_t)out->list[k] + c] : out->list[k]] = 1;
    for (int32_t v = 0; v < space->n; v++)
        if (number[v]) number[v] = (int32_t)out->vertices, out->vertex[out->vertices++] = v;
    for (int64_t k = 0; k < out->count; k++)
        for (int c = 0; c < corners; c++)
            out->corner[corners * k + c] = number[corners == 4 ? tets[4 * (int64_t)out->list[k] + c] : out->list[k]];
done:
    free(number);
    return status;
}

static void problem_free(su_fit_problem *problem)
{
    for (int64_t a = 0; problem->stations && a < problem->station_count; a++)
        su_station_rows_free(&problem->stations[a]);
    free(problem->stations);
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

/* Of the places the first `count`; room for `more` stations. */
static su_status problem_create(const su_pose_space *space, const su_training_places *places, int64_t count,
                                int64_t more, int corners, const candidates *c, su_fit_problem *problem, su_error *err)
{
    *problem = (su_fit_problem){.r = space->r,
                                .groups = corners == 4 && space->bases.m > 1 ? space->m : 1,
                                .candidates = c->count,
                                .vertices = c->vertices,
                                .corners = corners,
                                .corner = c->corner};
    SU_TRY(SU_ALLOC(&problem->stations, count + more, "training places", err));
    for (int64_t a = 0; a < count; a++) SU_TRY(add_station(&places->place[a], problem, err));
    return SU_OK;
}

/* ---- rows ---- */

/* Samples at each example pose; a place between gets a third of that, because it shares the poses' weights. */
static int64_t sample_count(const su_pose_space *space, const su_training_places *places,
                            const su_cubature_settings *settings, int64_t count)
{
    if (settings->samples > 0) return settings->samples;
    int64_t wanted = 4000 / space->r;
    if (wanted > 100) wanted = 100;
    if (wanted < 36) wanted = 36;
    double weight = (double)space->m + (double)(places->count - space->m) / 3;
    int64_t room = (int64_t)((double)settings->memory / (weight * 36 * (double)count));
    if (wanted > room) wanted = room;
    return wanted < 12 ? 12 : wanted;
}

/* Linear forces of the same states at the neutral pose, as a guide: tets that only know remainders may be many times as
 * stiff as the flesh in motions that these hardly show, and D can only add what is missing. */
static su_status guide_rows(su_pose_space *space, const candidates *c, const su_cubature_settings *settings,
                            su_fit_problem *problem, su_error *err)
{
    const su_training_states *states = settings->states;
    su_place neutral = {0};
    su_status status;
    SU_GO(su_place_at_pose(space, 0, &neutral, err));
    SU_GO(add_station(&neutral, problem, err));
    su_station_rows *rows = &problem->stations[problem->station_count - 1];
    rows->group = -1, rows->guide = true;
    SU_GO(su_state_rows(space, &neutral, states->count, states->q, (su_force_part){SU_FORCE_LINEAR, NULL}, c->count,
                        c->list, c->vertices, c->vertex, rows, err));
    rows->importance = 100.0 / (double)states->count; /* all together count like the states */
    for (int64_t k = 0; k < rows->samples * space->r; k++) rows->target[k] *= AIM;
done:
    su_place_free(&neutral);
    return status;
}

typedef struct state_sampling {
    const su_training_places *places;
    const candidates *c;
    const su_training_states *states;
    const double *stiffness; /* (r,r) U'KU of the neutral pose */
    const int64_t *first;    /* (stations + 1) states of each station */
    su_station_rows *rows;   /* (stations) */
} state_sampling;

static su_status state_rows_at(void *context, su_pose_space *space, int worker, int64_t station, su_error *err)
{
    const state_sampling *s = context;
    int64_t first = s->first[station], count = s->first[station + 1] - first;
    (void)worker;
    return su_state_rows(space, &s->places->place[s->states->place[first]], count, s->states->q + first * space->r,
                         (su_force_part){SU_FORCE_REMAINDER, s->stiffness}, s->c->count, s->c->list, s->c->vertices,
                         s->c->vertex, &s->rows[station], err);
}

/* A station for each place that has states. */
static su_status state_rows(su_pose_space *space, const su_training_places *places, const candidates *c,
                            const su_cubature_settings *settings, const double *stiffness, su_fit_problem *problem,
                            su_error *err)
{
    const su_training_states *states = settings->states;
    int64_t stations = 0, *first = NULL;
    su_status status;
    SU_TRY(problem_create(space, places, 0, states->count + 1, 4, c, problem, err));
    SU_GO(SU_ALLOC(&first, states->count + 1, "states", err));
    for (int64_t k = 0; k < states->count; k++) {
        if (k > 0 && states->place[k] == states->place[k - 1]) continue;
        first[stations++] = k;
        SU_GO(add_station(&places->place[states->place[k]], problem, err));
        problem->stations[problem->station_count - 1].group = -1;
    }
    first[stations] = states->count;
    for (int64_t a = 0; a < stations; a++) problem->stations[a].importance = 100.0 / (double)states->count;
    state_sampling sampling = {places, c, states, stiffness, first, problem->stations};
    SU_GO(su_pose_space_each(space, stations, state_rows_at, &sampling, settings->progress, err));
    SU_GO(guide_rows(space, c, settings, problem, err));
done:
    free(first);
    return status;
}

typedef struct tet_sampling {
    const su_training_places *places;
    const candidates *c;
    const su_cubature_settings *settings;
    int64_t samples;
    su_fit_problem *problem;
} tet_sampling;

static su_status training_rows_at(void *context, su_pose_space *space, int worker, int64_t a, su_error *err)
{
    /* Small states are nearly linear and as much about high modes as about low ones; large ones are not. */
    static const double mixed[] = {1, 0.5, 1, 1.4};
    const tet_sampling *t = context;
    const su_cubature_settings *settings = t->settings;
    const su_place *place = &t->places->place[a];
    su_station_rows *rows = &t->problem->stations[a];
    int64_t between = t->samples / 3 > 6 ? t->samples / 3 : 6;
    su_sampling sampling = {.samples = place->pose >= 0 ? t->samples : between,
                            .amplitude = settings->amplitude,
                            .seed = settings->seed,
                            .stream = (uint64_t)a,
                            .soft = space->r < SOFT ? space->r : SOFT,
                            .soft_weight = SOFT_WEIGHT};
    (void)worker;
    for (int k = 0; k < 4; k++) sampling.factors[sampling.factor_count++] = mixed[k];
    SU_TRY(su_elastic_rows(space, place, &sampling, (su_force_part){SU_FORCE_WHOLE, NULL}, t->c->count, t->c->list,
                           t->c->vertices, t->c->vertex, rows, err));
    rows->importance = 100.0 / (double)rows->samples; /* all places count alike */
    return SU_OK;
}

static su_status training_rows(su_pose_space *space, const su_training_places *places, const candidates *c,
                               int64_t samples, const su_cubature_settings *settings, const double *stiffness,
                               su_fit_problem *problem, su_error *err)
{
    tet_sampling sampling = {places, c, settings, samples, problem};
    if (settings->states) return state_rows(space, places, c, settings, stiffness, problem, err);
    SU_TRY(problem_create(space, places, places->count, 0, 4, c, problem, err));
    return su_pose_space_each(space, places->count, training_rows_at, &sampling, settings->progress, err);
}

/* Sums of U'K_e U (r,r) at the neutral pose: over all tets, or over the chosen ones times their weights. */
static su_status neutral_stiffness(su_pose_space *space, const su_cubature *chosen, double *stiffness, su_error *err)
{
    su_place neutral = {0};
    SU_TRY(su_place_at_pose(space, 0, &neutral, err));
    su_status status = chosen ? su_tets_stiffness(space, &neutral, chosen->tet_count, chosen->tets, chosen->tet_weights,
                                                  stiffness, err)
                              : su_place_stiffness(space, &neutral, stiffness, err);
    su_place_free(&neutral);
    return status;
}

/* What stands for U'KU of the neutral pose: the chosen tets' and D. */
static su_status stand_in(su_pose_space *space, const su_cubature *cubature, double *stiffness, su_error *err)
{
    SU_TRY(neutral_stiffness(space, cubature, stiffness, err));
    for (int64_t i = 0; i < space->r * space->r; i++) stiffness[i] += cubature->linear[i];
    return SU_OK;
}

static su_status fresh_rows(su_pose_space *space, const su_training_places *places, const candidates *c,
                            int64_t samples, double amplitude, uint64_t seed, const su_cubature *cubature,
                            su_fit_problem *problem, su_error *err)
{
    double *stiffness = NULL;
    su_status status;
    SU_GO(problem_create(space, places, places->count, 0, 4, c, problem, err));
    if (cubature->linear) {
        SU_GO(SU_ALLOC(&stiffness, space->r * space->r, "stiffness", err));
        SU_GO(stand_in(space, cubature, stiffness, err));
    }
    for (int64_t a = 0; a < places->count; a++) {
        su_sampling sampling = {.samples = samples, .amplitude = amplitude, .seed = seed, .stream = (uint64_t)a};
        su_force_part part = {stiffness ? SU_FORCE_REMAINDER : SU_FORCE_WHOLE, stiffness};
        SU_GO(su_elastic_rows(space, &places->place[a], &sampling, part, c->count, c->list, c->vertices, c->vertex,
                              &problem->stations[a], err));
    }
done:
    free(stiffness);
    return status;
}

typedef struct vertex_sampling {
    const su_training_states *given; /* histories, FRAME_HISTORIES a place; NULL: drawn */
    const su_training_places *places;
    const candidates *c;
    const int64_t *histories;
    double amplitude;
    uint64_t seed;
    su_fit_problem *problem;
} vertex_sampling;

static su_status vertex_rows_at(void *context, su_pose_space *space, int worker, int64_t a, su_error *err)
{
    const vertex_sampling *v = context;
    const su_training_places *places = v->places;
    su_station_rows *rows = &v->problem->stations[a];
    su_inertia_sampling sampling = {.states = {.samples = v->histories[places->shot[a] >= 0],
                                               .amplitude = v->amplitude,
                                               .seed = v->seed,
                                               .stream = (uint64_t)(places->count + a)},
                                    .spin = places->spin};
    if (v->given)
        sampling.given = v->given->q + FRAME_HISTORIES * a * space->r, sampling.states.samples = FRAME_HISTORIES;
    (void)worker;
    SU_TRY(
        su_inertia_rows(space, &places->place[a], &places->motion[a], &sampling, v->c->count, v->c->list, rows, err));
    rows->importance = 100.0 / (double)(rows->samples + 1);
    return SU_OK;
}

/* histories[0] at poses and middles, where only the root turns, histories[1] at frames. Of the places the first
 * `count`. */
static su_status vertex_rows(su_pose_space *space, const su_training_places *places, int64_t count, const candidates *c,
                             const int64_t histories[2], const su_training_states *given, double amplitude,
                             uint64_t seed, su_fit_problem *problem, su_progress *progress, su_error *err)
{
    vertex_sampling sampling = {given, places, c, histories, amplitude, seed, problem};
    SU_TRY(problem_create(space, places, count, 0, 1, c, problem, err));
    return su_pose_space_each(space, count, vertex_rows_at, &sampling, progress, err);
}

/* ---- training ---- */

static su_status take_over(const candidates *c, const su_selection *set, int32_t **chosen, su_error *err)
{
    SU_TRY(SU_ALLOC(chosen, set->count, "cubature set", err));
    for (int64_t k = 0; k < set->count; k++) (*chosen)[k] = c->list[set->chosen[k]];
    return SU_OK;
}

static int64_t most_modes_of_a_region(const su_pose_space *space)
{
    int64_t most = 0, here = 0;
    for (int64_t k = 0; k < space->r; k++) {
        here = k > 0 && space->basis->mode_region[k] == space->basis->mode_region[k - 1] ? here + 1 : 1;
        if (here > most) most = here;
    }
    return most;
}

/* As many tets as the bound asks for, but twice the modes of a region where these are no worse: samples of moderate
 * size are met by very few where modes are few and smooth, but a force that stands on fewer tets than motions goes
 * astray beyond them. With states: so many a mode. */
static su_status select_tets(const su_pose_space *space, const su_fit_problem *problem,
                             const su_cubature_settings *settings, su_selection *set, su_error *err)
{
    int64_t modes = most_modes_of_a_region(space), count = settings->tets > 0 ? settings->tets
                                                           : settings->states ? TETS_A_MODE * modes
                                                                              : 0;
    su_fit_settings fit = {count > 0 ? 0 : settings->error, count, space->threads, settings->progress};
    SU_TRY(su_select_points(problem, &fit, set, err));
    if (count > 0 || set->count >= 2 * modes) return SU_OK;
    su_selection more;
    fit.error = 0, fit.count = 2 * modes;
    SU_TRY(su_select_points(problem, &fit, &more, err));
    bool better = more.worst <= set->worst; /* grown by themselves, they may even be worse than what met the bound */
    su_selection_free(better ? set : &more);
    if (better) *set = more;
    return SU_OK;
}

/* One set of weights for all poses, as files have one a pose. */
static su_status repeat_weights(int64_t m, su_cubature *cubature, su_error *err)
{
    double *all;
    SU_TRY(SU_ALLOC(&all, m * cubature->tet_count, "cubature set", err));
    for (int64_t i = 0; i < m; i++)
        memcpy(all + i * cubature->tet_count, cubature->tet_weights, (size_t)cubature->tet_count * sizeof *all);
    free(cubature->tet_weights);
    cubature->tet_weights = all;
    return SU_OK;
}

/* D = U'KU less the tets' own at the neutral pose, whole (r,r): in the eigenvectors of (tets', U'KU) what they lack is
 * added; of what they have too much of no more than MOST_TAKEN is taken off, the rest stays. */
static su_status lacking_stiffness(su_pose_space *space, const double *whole, su_cubature *out, su_error *err)
{
    int64_t r = space->r;
    double *own = NULL, *V = NULL, *l = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&own, r * r, "stiffness", err));
    SU_GO(SU_ALLOC(&V, r * r, "stiffness", err));
    SU_GO(SU_ALLOC(&l, r, "stiffness", err));
    SU_GO(SU_ALLOC(&out->linear, r * r, "stiffness", err));
    SU_GO(neutral_stiffness(space, out, own, err));
    memcpy(V, own, (size_t)(r * r) * sizeof *V);
    memcpy(out->linear, whole, (size_t)(r * r) * sizeof *whole); /* scratch */
    int info = LAPACKE_dsygvd(LAPACK_COL_MAJOR, 1, 'V', 'L', (int)r, V, (int)r, out->linear, (int)r, l);
    if (info != 0) {
        status = su_fail(err, SU_NUMERICS, "the reduced stiffness at the neutral pose is not definite (%d of %d)", info,
                         (int)r);
        goto done;
    }
    out->stiffest = l[r - 1];
    /* rows of V: V K V' = 1; D = K V' diag(max(1 - l, -MOST_TAKEN)) V K */
    double *KV = own;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)r, (int)r, (int)r, 1, V, (int)r, whole, (int)r, 0, KV,
                (int)r);
    memset(out->linear, 0, (size_t)(r * r) * sizeof *out->linear);
    for (int64_t k = 0; k < r; k++)
        cblas_dsyr(CblasRowMajor, CblasLower, (int)r, fmax(1 - l[k], -MOST_TAKEN), KV + k * r, 1, out->linear, (int)r);
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < i; j++) out->linear[j * r + i] = out->linear[i * r + j];
done:
    free(own), free(V), free(l);
    return status;
}

static su_status train_tets(su_pose_space *space, const su_training_places *places,
                            const su_cubature_settings *settings, su_cubature *out, su_error *err)
{
    candidates c = {0};
    su_fit_problem problem = {0};
    su_selection set = {0};
    su_progress *progress = settings->progress;
    /* Half the memory suffices for 24 samples a pose of the candidates that are kept. */
    double weight = (double)space->m + (double)(places->count - space->m) / 3;
    int64_t most = settings->states ? (int64_t)((double)settings->memory / (36.0 * (double)settings->states->count))
                                    : (int64_t)((double)settings->memory / (weight * 24 * 36));
    double started = su_seconds(), *stiffness = NULL;
    su_status status;
    if (settings->states) {
        SU_GO(SU_ALLOC(&stiffness, space->r * space->r, "stiffness", err));
        SU_GO(neutral_stiffness(space, NULL, stiffness, err));
    }
    SU_GO(make_candidates(space, 4, most < 1000 ? 1000 : most, settings->seed, &c, err));
    out->candidates = c.count;
    out->samples = settings->states ? settings->states->count : sample_count(space, places, settings, c.count);
    su_progress_stage(progress, 0.02, 0.3);
    SU_GO(training_rows(space, places, &c, out->samples, settings, stiffness, &problem, err));
    out->seconds_rows = su_seconds() - started;
    started = su_seconds();
    su_progress_stage(progress, 0.3, 0.7);
    SU_GO(select_tets(space, &problem, settings, &set, err));
    SU_GO(take_over(&c, &set, &out->tets, err));
    out->tet_count = set.count;
    out->tet_weights = set.weights, out->tet_errors = set.errors, out->tet_worst = set.worst;
    set.weights = NULL, set.errors = NULL;
    memcpy(out->curve, set.curve, sizeof out->curve);
    out->curve_count = set.curve_count;
    if (settings->states) {
        SU_GO(lacking_stiffness(space, stiffness, out, err));
        SU_GO(repeat_weights(space->m, out, err));
    }
    out->seconds_tets = su_seconds() - started;
done:
    su_selection_free(&set);
    problem_free(&problem);
    candidates_free(&c);
    free(stiffness);
    return status;
}

/* places: of them the first `count`. */
static su_status train_vertices(su_pose_space *space, const su_training_places *places, int64_t count,
                                const su_cubature_settings *settings, su_cubature *out, su_error *err)
{
    candidates c = {0};
    su_fit_problem problem = {0};
    su_selection set = {0};
    static const int64_t histories[] = {HISTORIES, FRAME_HISTORIES};
    su_progress *progress = settings->progress;
    double started = su_seconds();
    su_status status;
    SU_GO(make_candidates(space, 1, MOST_VERTICES, settings->seed, &c, err));
    su_progress_stage(progress, 0.7, 0.8);
    SU_GO(vertex_rows(space, places, count, &c, histories, settings->states, settings->amplitude, settings->seed,
                      &problem, progress, err));
    su_progress_stage(progress, 0.8, 0.98);
    out->seconds_vertex_rows = su_seconds() - started;
    int64_t wanted = settings->vertices > 0 ? settings->vertices : settings->states ? VERTICES_A_MODE * space->r : 0;
    su_fit_settings fit = {wanted > 0 ? 0 : settings->error, wanted, space->threads, progress};
    SU_GO(su_select_points(&problem, &fit, &set, err));
    SU_GO(take_over(&c, &set, &out->vertices, err));
    out->vertex_count = set.count;
    out->vertex_weights = set.weights, out->vertex_errors = set.errors, out->vertex_worst = set.worst;
    set.weights = NULL, set.errors = NULL;
    out->seconds_vertices = su_seconds() - started;
done:
    su_selection_free(&set);
    problem_free(&problem);
    candidates_free(&c);
    return status;
}

su_status su_cubature_train(su_pose_space *space, const su_training_places *places, const su_training_places *moving,
                            const su_cubature_settings *settings, su_cubature *out, su_error *err)
{
    *out = (su_cubature){.places = settings->states ? 0 : places->count};
    su_status status = train_tets(space, places, settings, out, err);
    if (status == SU_OK) status = train_vertices(space, moving, moving->count, settings, out, err);
    if (status != SU_OK) su_cubature_free(out);
    return status;
}

su_status su_cubature_train_tets(su_pose_space *space, const su_training_places *places,
                                 const su_cubature_settings *settings, int64_t tets, su_cubature *cubature,
                                 su_error *err)
{
    su_cubature fresh = {.places = cubature->places};
    su_cubature_settings more = *settings;
    more.tets = tets;
    su_status status = train_tets(space, places, &more, &fresh, err);
    if (status != SU_OK) {
        su_cubature_free(&fresh);
        return status;
    }
    fresh.vertices = cubature->vertices, fresh.vertex_weights = cubature->vertex_weights,
    fresh.vertex_errors = cubature->vertex_errors;
    fresh.vertex_count = cubature->vertex_count, fresh.vertex_worst = cubature->vertex_worst;
    fresh.seconds_vertex_rows = cubature->seconds_vertex_rows, fresh.seconds_vertices = cubature->seconds_vertices;
    fresh.seconds_rows += cubature->seconds_rows, fresh.seconds_tets += cubature->seconds_tets;
    cubature->vertices = NULL, cubature->vertex_weights = NULL, cubature->vertex_errors = NULL;
    su_cubature_free(cubature);
    *cubature = fresh;
    return SU_OK;
}

/* ---- fresh samples ---- */

/* Candidates that are just the chosen points. */
static su_status chosen_candidates(const su_pose_space *space, int corners, int64_t count, const int32_t *chosen,
                                   candidates *out, su_error *err)
{
    const int32_t *tets = space->tet->tets;
    SU_TRY(SU_ALLOC(&out->list, count, "cubature set", err));
    SU_TRY(SU_ALLOC(&out->vertex, corners * count, "cubature set", err));
    SU_TRY(SU_ALLOC(&out->corner, corners * count, "cubature set", err));
    out->count = count, out->vertices = corners * count;
    for (int64_t k = 0; k < count; k++) {
        out->list[k] = chosen[k];
        for (int c = 0; c < corners; c++) {
            out->corner[corners * k + c] = (int32_t)(corners * k + c);
            out->vertex[corners * k + c] = corners == 4 ? tets[4 * (int64_t)chosen[k] + c] : chosen[k];
        }
    }
    return SU_OK;
}

static su_status check(su_pose_space *space, const su_training_places *places, const su_cubature *cubature, int corners,
                       int64_t samples, double amplitude, uint64_t seed, su_error_pair *errors, su_error *err)
{
    candidates c = {0};
    su_fit_problem problem = {0};
    int32_t *number = NULL;
    int64_t count = corners == 4 ? cubature->tet_count : cubature->vertex_count;
    su_status status;
    SU_GO(chosen_candidates(space, corners, count, corners == 4 ? cubature->tets : cubature->vertices, &c, err));
    SU_GO(SU_ALLOC(&number, count, "cubature set", err));
    for (int64_t k = 0; k < count; k++) number[k] = (int32_t)k;
    if (corners == 4)
        SU_GO(fresh_rows(space, places, &c, samples, amplitude, seed, cubature, &problem, err));
    else
        SU_GO(vertex_rows(space, places, places->count, &c, (const int64_t[]){samples, samples}, NULL, amplitude, seed,
                          &problem, NULL, err));
    SU_GO(su_fit_errors(&problem, count, number, corners == 4 ? cubature->tet_weights : cubature->vertex_weights,
                        space->threads, errors, err));
done:
    problem_free(&problem);
    candidates_free(&c);
    free(number);
    return status;
}

su_status su_cubature_check(su_pose_space *space, const su_training_places *places, const su_cubature *cubature,
                            int64_t samples, double amplitude, uint64_t seed, su_error_pair *tet_errors,
                            su_error_pair *vertex_errors, su_error *err)
{
    if (tet_errors) SU_TRY(check(space, places, cubature, 4, samples, amplitude, seed, tet_errors, err));
    if (vertex_errors) SU_TRY(check(space, places, cubature, 1, samples, amplitude, seed, vertex_errors, err));
    return SU_OK;
}

/* One middle: the problem with a group of its own, then with the poses' groups. */
static su_status retrain_one(su_pose_space *space, const su_training_places *place, const su_cubature *cubature,
                             const candidates *c, const int32_t *number, int64_t training, int64_t samples,
                             double amplitude, uint64_t seed, double errors[2], su_error *err)
{
    su_fit_problem problem = {0}, fresh = {0};
    su_selection own = {0};
    su_error_pair pair;
    su_status status;
    SU_GO(fresh_rows(space, place, c, training, amplitude, seed + 1, cubature, &problem, err));
    problem.groups = 1, problem.stations[0].group = 0, problem.stations[0].blend[0] = 1,
    problem.stations[0].importance = 1;
    /* Selected anew among the chosen, because a tet that hardly strains here would be given an absurd weight. */
    SU_GO(su_select_points(&problem, &(su_fit_settings){0, c->count, space->threads, NULL}, &own, err));
    SU_GO(fresh_rows(space, place, c, samples, amplitude, seed, cubature, &fresh, err));
    SU_GO(su_fit_errors(&fresh, c->count, number, cubature->tet_weights, space->threads, &pair, err));
    errors[0] += pair.mean;
    fresh.groups = 1, fresh.stations[0].group = 0, fresh.stations[0].blend[0] = 1;
    SU_GO(su_fit_errors(&fresh, own.count, own.chosen, own.weights, space->threads, &pair, err));
    errors[1] += pair.mean;
done:
    su_selection_free(&own);
    problem_free(&problem), problem_free(&fresh);
    return status;
}

su_status su_cubature_retrain(su_pose_space *space, const su_training_places *places, const su_cubature *cubature,
                              int64_t training, int64_t samples, double amplitude, uint64_t seed, double errors[2],
                              su_error *err)
{
    candidates c = {0};
    int32_t *number = NULL;
    su_status status;
    errors[0] = errors[1] = 0;
    SU_GO(chosen_candidates(space, 4, cubature->tet_count, cubature->tets, &c, err));
    SU_GO(SU_ALLOC(&number, c.count, "cubature set", err));
    for (int64_t k = 0; k < c.count; k++) number[k] = (int32_t)k;
    for (int64_t a = space->m; a < space->m + places->edges; a++) {
        su_training_places one = {.count = 1, .place = places->place + a};
        SU_GO(retrain_one(space, &one, cubature, &c, number, training, samples, amplitude, seed + 2 * (uint64_t)a,
                          errors, err));
    }
    for (int i = 0; i < 2 && places->edges > 0; i++) errors[i] /= (double)places->edges;
done:
    candidates_free(&c);
    free(number);
    return status;
}
