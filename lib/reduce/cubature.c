#include "reduce/cubature.h"

#include "core/memory.h"
#include "core/random.h"
#include "core/threads.h"
#include "geometry/mat3.h"
#include "rig/rbf.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SOFT = 12, SOFT_WEIGHT = 4 };   /* lowest motions trained one by one, and how much more they count */
enum { GUIDES = 12 };            /* linear forces a pose */
#define GUIDE_SHARE 0.02         /* how much an error counts in them; with regions, whose modes few tets see, */
#define GUIDE_SHARE_LOCAL 0.05
#define STATE_SHARE 0.5          /* states of the shots together against all other samples */
#define LARGER 1.5
#define WORTH_MORE 0.75         /* of the bound, at which more tets are worth it */
#define LEAST_VOLUME 0.3         /* of a cubature tet's rest shape over its neutral one */
enum { MOST_VERTICES = 24000, HISTORIES = 6, FRAME_HISTORIES = 2 };

su_cubature_settings su_cubature_defaults(void)
{
    return (su_cubature_settings){.error = 0.0125, .amplitude = 0.05, .seed = 1, .split = true, .memory = (int64_t)1 << 30};
}

void su_cubature_free(su_cubature *cubature)
{
    free(cubature->tets), free(cubature->tet_weights), free(cubature->apart), free(cubature->vertices), free(cubature->vertex_weights);
    su_anchors_free(&cubature->anchors);
    free(cubature->tet_errors), free(cubature->vertex_errors);
    *cubature = (su_cubature){0};
}

/* ---- candidates ---- */

/* Tets or vertices that may be chosen, and the vertices that they touch. */
typedef struct candidates {
    int64_t count, vertices;
    int32_t *list;      /* (count) into the mesh, ascending */
    int32_t *vertex;    /* (vertices) into the mesh, ascending */
    int32_t *corner;    /* (count, corners) into `vertex` */
} candidates;

static void candidates_free(candidates *c) { free(c->list), free(c->vertex), free(c->corner); }

/* Keeps a random `most` of a list, in order. */
static int64_t thin(int64_t count, int32_t *list, int64_t most, uint64_t seed)
{
    su_random random = su_random_seed(seed, 0x7468696e);
    int64_t kept = 0;
    if (count <= most) return count;
    for (int64_t k = 0; k < count; k++)   /* selection sampling: Knuth, TAOCP 2, algorithm 3.4.2 S */
        if ((double)(count - k) * su_random_uniform(&random) < (double)(most - kept)) list[kept++] = list[k];
    return kept;
}

/* Marks tets (t) whose rest shape falls below a part of its neutral volume, or inverts, at one of the places: their stiffness changes faster
 * from frame to frame than anchors tell, and at 0.1 it jumps (convention 8). Their linear part is left to the anchors altogether. */
static void mark_shrunk(const su_pose_space *space, const su_training_places *places, unsigned char *shrunk)
{
    for (int64_t e = 0; e < space->t; e++) {
        const int32_t *tet = space->tet->tets + 4 * e;
        const double *X = space->tet->vertices;
        double edges[9], neutral;
        su_tet_edges(X + 3 * tet[0], X + 3 * tet[1], X + 3 * tet[2], X + 3 * tet[3], edges);
        neutral = su_det3(edges);
        for (int64_t a = 0; a < places->count && !shrunk[e]; a++) {
            const double *x = places->place[a].rest;
            su_tet_edges(x + 3 * tet[0], x + 3 * tet[1], x + 3 * tet[2], x + 3 * tet[3], edges);
            shrunk[e] = !(su_det3(edges) >= LEAST_VOLUME * neutral);
        }
    }
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
    for (int64_t a = 0; problem->stations && a < problem->station_count; a++) su_station_rows_free(&problem->stations[a]);
    free(problem->stations);
}

/* A station at a place, behind those that are there. */
static su_status add_station(const su_place *place, su_fit_problem *problem, su_error *err)
{
    su_station_rows *rows = &problem->stations[problem->station_count++];
    rows->group = (int)place->pose;
    SU_TRY(SU_ALLOC(&rows->blend, problem->groups, "training places", err));
    for (int64_t i = 0; i < problem->groups; i++) rows->blend[i] = problem->corners == 4 ? place->positive[i] : 1;
    return SU_OK;
}

/* Of the places the first `count`; room for `more` stations. */
static su_status problem_create(const su_pose_space *space, const su_training_places *places, int64_t count, int64_t more, int corners,
                                const candidates *c, su_fit_problem *problem, su_error *err)
{
    *problem = (su_fit_problem){.r = space->r, .groups = corners == 4 ? space->m : 1, .candidates = c->count,
                                .vertices = c->vertices, .corners = corners, .corner = c->corner};
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

/* Linear forces at the poses, as a guide: tets that only know remainders may be many times as stiff as the flesh in motions that these hardly
 * show, and what takes that off again at the anchors is negative in others once the flesh has turned. */
static su_status guide_rows(su_pose_space *space, const su_training_places *places, const candidates *c,
                            const unsigned char *shrunk, const su_cubature_settings *settings, su_fit_problem *problem, su_error *err)
{
    double share = space->basis->d > 1 ? GUIDE_SHARE_LOCAL : GUIDE_SHARE;
    for (int64_t a = 0; a < space->m; a++) {
        su_sampling sampling = {.samples = GUIDES, .amplitude = settings->amplitude, .seed = settings->seed,
                                .stream = (uint64_t)(2 * places->count + a)};
        SU_TRY(add_station(&places->place[a], problem, err));
        su_station_rows *rows = &problem->stations[problem->station_count - 1];
        rows->guide = true;
        SU_TRY(su_elastic_rows(space, &places->place[a], &sampling, (su_force_part){SU_FORCE_LINEAR, NULL}, c->count, c->list,
                               c->vertices, c->vertex, rows, err));
        rows->importance = share * share * 100.0 / GUIDES;
        for (int64_t k = 0; k < GUIDES * c->count; k++)
            if (shrunk[c->list[k % c->count]]) memset(rows->force + 9 * k, 0, 9 * sizeof *rows->force);
    }
    return SU_OK;
}

static int64_t nearest_place(const su_pose_space *space, const su_training_places *places, const double *p)
{
    int64_t best = 0;
    double least = HUGE_VAL;
    for (int64_t a = 0; a < places->count; a++) {
        double d = su_param_distance(space->s, places->place[a].p, p, space->fit->param_scale);
        if (d < least) least = d, best = a;
    }
    return best;
}

typedef struct state_sampling {
    const su_training_places *places;
    const candidates *c;
    const su_shot_states *states;
    const int64_t *near;       /* (states) place of each */
    const int64_t *place;      /* (stations) of each station */
    su_station_rows *rows;     /* (stations) */
} state_sampling;

static su_status state_rows_at(void *context, su_pose_space *space, int worker, int64_t station, su_error *err)
{
    const state_sampling *s = context;
    int64_t total = s->states->played.count, count = 0;
    const double **shapes = NULL;
    double *factors = NULL;
    su_status status;
    (void)worker;
    SU_GO(SU_ALLOC(&shapes, total, "states of the shots", err));
    SU_GO(SU_ALLOC(&factors, total, "states of the shots", err));
    for (int64_t k = 0; k < total; k++) {
        if (s->near[k] != s->place[station]) continue;
        factors[count] = count % 2 ? 1 : LARGER;
        shapes[count++] = s->states->played.shapes + 3 * space->n * k;
    }
    SU_GO(su_state_rows(space, &s->places->place[s->place[station]], count, shapes, factors, (su_force_part){SU_FORCE_REMAINDER, NULL},
                        s->c->count, s->c->list, s->c->vertices, s->c->vertex, &s->rows[station], err));
done:
    free(shapes), free(factors);
    return status;
}

/* States of the shots, each at the place that is nearest to its frame in pose space, every other one larger: shots are played coarsely, which
 * takes a quarter of the motion. They are guides, too: in far turned flesh the remainder is many times the force, and no few tets meet it to a
 * given error. */
static su_status state_rows(su_pose_space *space, const su_training_places *places, const candidates *c, const su_shot_states *states,
                            su_fit_problem *problem, su_error *err)
{
    int64_t total = states->played.count, stations = 0, *near = NULL, *place = NULL;
    su_station_rows *first = &problem->stations[problem->station_count];
    su_status status;
    SU_GO(SU_ALLOC(&near, total, "states of the shots", err));
    SU_GO(SU_ALLOC(&place, places->count, "states of the shots", err));
    for (int64_t k = 0; k < total; k++) near[k] = nearest_place(space, places, states->params + k * space->s);
    for (int64_t a = 0; a < places->count; a++) {
        bool any = false;
        for (int64_t k = 0; k < total && !any; k++) any = near[k] == a;
        if (!any) continue;
        SU_GO(add_station(&places->place[a], problem, err));
        su_station_rows *rows = &first[stations];
        rows->group = -1, rows->guide = true;
        rows->importance = STATE_SHARE * 100.0 * (double)places->count / (double)total;
        place[stations++] = a;
    }
    state_sampling sampling = {places, c, states, near, place, first};
    SU_GO(su_pose_space_each(space, stations, state_rows_at, &sampling, NULL, err));
done:
    free(near), free(place);
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
    su_sampling sampling = {.samples = place->pose >= 0 ? t->samples : between, .amplitude = settings->amplitude, .seed = settings->seed,
                            .stream = (uint64_t)a, .steep = settings->split};
    (void)worker;
    if (!settings->split) sampling.soft = space->r < SOFT ? space->r : SOFT, sampling.soft_weight = SOFT_WEIGHT;
    for (int k = 0; k < 4; k++) sampling.factors[sampling.factor_count++] = mixed[k];
    SU_TRY(su_elastic_rows(space, place, &sampling, (su_force_part){settings->split ? SU_FORCE_REMAINDER : SU_FORCE_WHOLE, NULL}, t->c->count,
                           t->c->list, t->c->vertices, t->c->vertex, rows, err));
    rows->importance = 100.0 / (double)rows->samples;   /* all places count alike */
    return SU_OK;
}

static su_status training_rows(su_pose_space *space, const su_training_places *places, const candidates *c,
                               const unsigned char *shrunk, int64_t samples,
                               const su_cubature_settings *settings, su_fit_problem *problem, su_error *err)
{
    tet_sampling sampling = {places, c, settings, samples, problem};
    SU_TRY(problem_create(space, places, places->count, settings->split ? space->m + places->count : 0, 4, c, problem, err));
    SU_TRY(su_pose_space_each(space, places->count, training_rows_at, &sampling, settings->progress, err));
    if (settings->split) SU_TRY(guide_rows(space, places, c, shrunk, settings, problem, err));
    if (!settings->split || !settings->states) return SU_OK;
    if (settings->await) SU_TRY(settings->await(settings->await_context, err));
    return state_rows(space, places, c, settings->states, problem, err);
}

/* Held against all tets is what the chosen ones and the anchors make of a state together. */
static su_status stand_in(su_pose_space *space, const su_place *place, const su_cubature *cubature, double *stiffness, double *work, su_error *err)
{
    int64_t size = space->r * space->r;
    double *own = work + 2 * cubature->anchors.count;
    su_anchors_blend(space, &cubature->anchors, place->p, work, stiffness);
    SU_TRY(su_tets_stiffness(space, place, cubature->tet_count, cubature->tets, cubature->tet_weights, cubature->apart, own, err));
    for (int64_t i = 0; i < size; i++) stiffness[i] += own[i];
    return SU_OK;
}

static su_status fresh_rows(su_pose_space *space, const su_training_places *places, const candidates *c, int64_t samples,
                            double amplitude, uint64_t seed, const su_cubature *cubature, su_fit_problem *problem,
                            su_error *err)
{
    double *stiffness = NULL, *weights = NULL;
    su_status status;
    SU_GO(problem_create(space, places, places->count, 0, 4, c, problem, err));
    if (cubature->anchors.count > 0) {
        SU_GO(SU_ALLOC(&stiffness, space->r * space->r, "blended stiffness", err));
        SU_GO(SU_ALLOC(&weights, 2 * cubature->anchors.count + space->r * space->r, "blended stiffness", err));
    }
    for (int64_t a = 0; a < places->count; a++) {
        su_sampling sampling = {.samples = samples, .amplitude = amplitude, .seed = seed, .stream = (uint64_t)a};
        if (stiffness) SU_GO(stand_in(space, &places->place[a], cubature, stiffness, weights, err));
        su_force_part part = {stiffness ? SU_FORCE_REMAINDER : SU_FORCE_WHOLE, stiffness};
        SU_GO(su_elastic_rows(space, &places->place[a], &sampling, part, c->count, c->list, c->vertices, c->vertex,
                              &problem->stations[a], err));
    }
done:
    free(stiffness), free(weights);
    return status;
}

typedef struct vertex_sampling {
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
    su_inertia_sampling sampling = {
        .states = {.samples = v->histories[places->shot[a] >= 0], .amplitude = v->amplitude, .seed = v->seed,
                   .stream = (uint64_t)(places->count + a)},
        .spin = places->spin};
    (void)worker;
    SU_TRY(su_inertia_rows(space, &places->place[a], &places->motion[a], &sampling, v->c->count, v->c->list, rows, err));
    rows->importance = 100.0 / (double)(rows->samples + 1);
    return SU_OK;
}

/* histories[0] at poses and middles, where only the root turns, histories[1] at frames. Of the places the first `count`. */
static su_status vertex_rows(su_pose_space *space, const su_training_places *places, int64_t count, const candidates *c,
                             const int64_t histories[2], double amplitude, uint64_t seed, su_fit_problem *problem,
                             su_progress *progress, su_error *err)
{
    vertex_sampling sampling = {places, c, histories, amplitude, seed, problem};
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

/* As many tets as the bound asks for, but twice the modes of a region where these are no worse: samples of moderate size are met by very few where
 * modes are few and smooth, but a force that stands on fewer tets than motions goes astray beyond them. A remainder gets three times the modes where that brings
 * its error well below the bound, as it then does with the error of the motion: a beam, r = 50, 0.4 to 0.5 % off the full simulation in a slow
 * swing and 1.0 to 2.2 % in a fast one with twice the modes, 0.21 to 0.23 and 0.3 to 0.5 % with three times. On characters a third more
 * tets lower either error by a tenth or nothing. */
static su_status select_tets(const su_pose_space *space, const su_fit_problem *problem, const su_cubature_settings *settings, su_selection *set,
                             su_error *err)
{
    int64_t modes = most_modes_of_a_region(space);
    su_fit_settings fit = {settings->tets > 0 ? 0 : settings->error, settings->tets, space->threads, settings->progress};
    SU_TRY(su_select_points(problem, &fit, set, err));
    if (settings->tets > 0) return SU_OK;
    const struct {
        int64_t count;
        double enough;
    } larger[] = {{settings->split ? 3 * modes : 0, WORTH_MORE * settings->error}, {2 * modes, set->worst}};
    for (int k = 0; k < 2; k++) {
        su_selection more;
        if (set->count >= larger[k].count) continue;
        fit.error = 0, fit.count = larger[k].count;
        SU_TRY(su_select_points(problem, &fit, &more, err));
        bool better = more.worst <= larger[k].enough;   /* grown by themselves, they may even be worse than what met the bound */
        su_selection_free(better ? set : &more);
        if (better) *set = more;
    }
    return SU_OK;
}

/* anchors: where the force is split, else not read. */
static su_status train_tets(su_pose_space *space, const su_training_places *places, const su_training_places *anchors,
                            const su_cubature_settings *settings, su_cubature *out, su_error *err)
{
    unsigned char *shrunk = NULL;
    candidates c = {0};
    su_fit_problem problem = {0};
    su_selection set = {0};
    su_progress *progress = settings->progress;
    /* Half the memory suffices for 24 samples a pose of the candidates that are kept. */
    double weight = (double)space->m + (double)(places->count - space->m) / 3;
    int64_t most = (int64_t)((double)settings->memory / (weight * 24 * 36));
    double started = su_seconds();
    su_status status;
    if (settings->split) {
        SU_GO(SU_ALLOC(&shrunk, space->t, "cubature candidates", err));
        mark_shrunk(space, anchors, shrunk);
    }
    SU_GO(make_candidates(space, 4, most < 1000 ? 1000 : most, settings->seed, &c, err));
    out->candidates = c.count;
    out->samples = sample_count(space, places, settings, c.count);
    su_progress_stage(progress, 0.02, 0.3);
    SU_GO(training_rows(space, places, &c, shrunk, out->samples, settings, &problem, err));
    out->seconds_rows = su_seconds() - started;
    started = su_seconds();
    su_progress_stage(progress, 0.3, 0.7);
    SU_GO(select_tets(space, &problem, settings, &set, err));
    SU_GO(take_over(&c, &set, &out->tets, err));
    out->tet_count = set.count;
    if (shrunk) {
        SU_GO(SU_ALLOC(&out->apart, set.count, "cubature set", err));
        for (int64_t k = 0; k < set.count; k++) out->apart[k] = shrunk[out->tets[k]];
    }
    out->tet_weights = set.weights, out->tet_errors = set.errors, out->tet_worst = set.worst;
    set.weights = NULL, set.errors = NULL;
    memcpy(out->curve, set.curve, sizeof out->curve);
    out->curve_count = set.curve_count;
    out->seconds_tets = su_seconds() - started;
done:
    su_selection_free(&set);
    problem_free(&problem);
    candidates_free(&c);
    free(shrunk);
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
    SU_GO(vertex_rows(space, places, count, &c, histories, settings->amplitude, settings->seed, &problem, progress, err));
    su_progress_stage(progress, 0.8, 0.98);
    su_fit_settings fit = {settings->vertices > 0 ? 0 : settings->error, settings->vertices, space->threads, progress};
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

su_status su_cubature_train(su_pose_space *space, const su_training_places *places, const su_training_places *anchors,
                            const su_cubature_settings *settings, su_cubature *out, su_error *err)
{
    *out = (su_cubature){.places = places->count};
    double started = su_seconds();
    su_status status = settings->split ? su_anchors_create(space, anchors, settings->unlock, &out->anchors, err) : SU_OK;
    out->seconds_anchors = su_seconds() - started;
    if (status == SU_OK) status = train_tets(space, places, anchors, settings, out, err);
    if (status == SU_OK) status = su_anchors_subtract(space, anchors, out->tet_count, out->tets, out->tet_weights, out->apart, &out->anchors, err);
    /* Turns and accelerations differ more from frame to frame than forces do, and their rows cost less: more frames, more of them with few modes. */
    const su_training_places *moving = settings->split ? anchors : places;   /* begins with the training places */
    int64_t frames = places->count - space->m - places->edges, moments = places->count + (space->r <= 60 ? 2 : 1) * frames;
    if (moments > moving->count) moments = moving->count;
    if (status == SU_OK) status = train_vertices(space, moving, moments, settings, out, err);
    if (status != SU_OK) su_cubature_free(out);
    return status;
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
        SU_GO(vertex_rows(space, places, places->count, &c, (const int64_t[]){samples, samples}, amplitude, seed, &problem, NULL, err));
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
static su_status retrain_one(su_pose_space *space, const su_training_places *place, const su_cubature *cubature, const candidates *c,
                             const int32_t *number, int64_t training, int64_t samples, double amplitude, uint64_t seed,
                             double errors[2], su_error *err)
{
    su_fit_problem problem = {0}, fresh = {0};
    su_selection own = {0};
    su_error_pair pair;
    su_status status;
    SU_GO(fresh_rows(space, place, c, training, amplitude, seed + 1, cubature, &problem, err));
    problem.groups = 1, problem.stations[0].group = 0, problem.stations[0].blend[0] = 1, problem.stations[0].importance = 1;
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
                              int64_t training, int64_t samples, double amplitude, uint64_t seed, double errors[2], su_error *err)
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
        SU_GO(retrain_one(space, &one, cubature, &c, number, training, samples, amplitude, seed + 2 * (uint64_t)a, errors, err));
    }
    for (int i = 0; i < 2 && places->edges > 0; i++) errors[i] /= (double)places->edges;
done:
    candidates_free(&c);
    free(number);
    return status;
}
