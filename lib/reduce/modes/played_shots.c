#include "reduce/modes/played_shots.h"

#include "core/json_text.h"
#include "core/memory.h"
#include "fem/fullsim.h"
#include "geometry/rotation.h"
#include "rig/shot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The fit as fullsim wants it, with all poses: `own` stands in where some are missing, with one pose and no correction.
 */
static su_status whole_fit(const su_fit *fit, su_fit *own, double **corrections, su_error *err)
{
    static double one[1] = {1};
    static int32_t first[1] = {0};
    *own = *fit;
    if (fit->k == fit->m) return SU_OK;
    SU_TRY(SU_ALLOC(corrections, 3 * fit->n, "corrections", err));
    own->k = own->m = 1, own->corrections = *corrections, own->rbf = one, own->pose = first;
    return SU_OK;
}

/* Residual over the step's forces at which exact steps end, as those of the full simulations of bakes. */
#define TOLERANCE 1e-3
/* Most solves a step where flesh presses on itself: after fewer it still lies in itself, and modes of that have no room
 * for what contact does. */
enum { CONTACT_SOLVES = 10 };

/* ---- which frames ---- */

/* Frames on end, played from rest `before` frames earlier (or from the shot's beginning), and where their shapes go. */
typedef struct stretch {
    int shot;
    int64_t first, count, before, at;
    bool exact, soft;
} stretch;

/* So many stretches a shot is cut into, for threads to share them. */
static int64_t stretches_of(const su_training_plan *plan, int64_t F)
{
    return F < 2 ? 0 : (F - 2) / plan->longest_stretch + 1;
}

/* All frames of one shot but the first, where nothing has moved. */
static void divide_shot(const su_play *play, int shot, int64_t number, stretch *out)
{
    const su_training_plan *plan = play->plan;
    int64_t F = play->anims[shot].F, every = plan->exact_every, which = every / 2 < number ? every / 2 : number - 1;
    for (int64_t k = 0; k < number; k++) {
        int64_t from = 1 + k * (F - 1) / number, to = 1 + (k + 1) * (F - 1) / number;
        out[k] = (stretch){.shot = shot,
                           .first = from,
                           .count = to - from,
                           .before = plan->run_in_frames,
                           .exact = shot < play->motions && k % every == which,
                           .soft = shot < play->motions && k % plan->soft_every == 0 && number > 1};
    }
}

/* Frees `*out` with free(). frames: how many shapes there will be, one after the other. */
static su_status choose_stretches(const su_play *play, int64_t *count, stretch **out, int64_t *frames, su_error *err)
{
    *count = *frames = 0;
    for (int k = 0; k < play->count; k++) *count += stretches_of(play->plan, play->anims[k].F);
    SU_TRY(SU_ALLOC(out, *count, "stretches of the shots", err));
    stretch *next = *out;
    for (int k = 0; k < play->count; k++) {
        int64_t number = stretches_of(play->plan, play->anims[k].F);
        divide_shot(play, k, number, next);
        for (int64_t i = 0; i < number; i++, next++) next->at = *frames, *frames += next->count;
    }
    return SU_OK;
}

/* ---- playing ---- */

static su_status play_stretch(const su_play *play, su_fullsim *sim, const stretch *which, su_played_shots *out,
                              su_error *err)
{
    const su_training_plan *plan = play->plan;
    int64_t start = which->first > which->before ? which->first - which->before : 0, k = which->at, n = play->tet->n;
    int64_t solves = which->exact ? plan->exact_solves : plan->shape_solves;
    su_fullsim_set_solves(sim, play->self_contact ? CONTACT_SOLVES : (int)solves);
    su_fullsim_set_stiffness(sim, which->soft ? plan->soft_stiffness : 1);
    SU_TRY(su_fullsim_restart(sim, start, err));
    for (int64_t f = start + 1; f < which->first + which->count; f++) {
        if (su_progress_stopped(play->progress)) return su_fail(err, SU_AGAIN, "stopped");
        SU_TRY(su_fullsim_advance(sim, err));
        if (f < which->first) continue;
        su_fullsim_frame state;
        su_fullsim_state(sim, &state);
        out->shot[k] = which->shot, out->start[k] = which->exact ? start : -1,
        out->frame[k] = state.status >= SU_STATUS_DAMPED ? -1 : f;
        su_turn_back_vectors(n, su_fullsim_turn(sim), state.u, out->shapes + 3 * n * k);
        if (out->forces) {
            double *force = out->forces + 3 * n * k;
            su_fullsim_elastic_force(sim, force);
            su_turn_back_vectors(n, su_fullsim_turn(sim), force, force);
        }
        if (out->contact) {
            double *force = out->contact + 3 * n * k;
            SU_TRY(su_fullsim_contact_force(sim, force, err));
            su_turn_back_vectors(n, su_fullsim_turn(sim), force, force);
        }
        k++;
    }
    return SU_OK;
}

/* Stretches of one shot, with so many threads. fit: with all poses. */
static su_status play_some(const su_play *play, const su_fit *fit, int threads, int64_t count, const stretch *which,
                           su_played_shots *out, su_error *err)
{
    const su_anim *anim = &play->anims[which->shot];
    const su_shot_target target = {.rig = su_rig_of_fit(fit), .nbar = play->tet->nbar};
    const su_fullsim_options options = {.tolerance = TOLERANCE,
                                        .newton = (int)play->plan->shape_solves,
                                        .threads = threads,
                                        .iterative = true,
                                        .no_energy = true,
                                        .placed = true,
                                        .self_contact = play->self_contact};
    su_sim_settings settings = play->settings ? *play->settings : su_sim_defaults();
    su_shot *shot = NULL;
    su_fullsim *sim = NULL;
    su_status status;
    settings.substeps = (int)play->plan->played_substeps;
    SU_GO(su_shot_create(anim, play->paths[which->shot], &target, 0, NULL, &shot, NULL, err));
    SU_GO(su_sim_settings_resolve(&settings, su_meta_number(fit->file.meta, "frequency", 0), anim->F, anim->times,
                                  su_meta_number(anim->file.meta, "fps", SU_FILM_FPS), err));
    SU_GO(su_fullsim_create(play->tet, fit, shot, &settings, &options, &sim, err));
    for (int64_t k = 0; k < count; k++) SU_GO(play_stretch(play, sim, &which[k], out, err));
done:
    su_fullsim_free(sim);
    su_shot_free(shot);
    return status;
}

/* [first, end) of the parts that stretches are played in: of each shot as many as there are threads, where it has so
 * many. */
static int64_t divide(int64_t count, const stretch *stretches, int team, int64_t *first)
{
    int64_t parts = 0;
    for (int64_t k = 0, end; k < count; k = end) {
        for (end = k + 1; end < count && stretches[end].shot == stretches[k].shot;) end++;
        int64_t pieces = end - k < team ? end - k : team;
        for (int64_t i = 0; i < pieces; i++) first[parts++] = k + i * (end - k) / pieces;
    }
    first[parts] = count;
    return parts;
}

/* A stretch depends on no other, so they are spread over the threads: the factorizations within one are sequential. */
static su_status play_all(const su_play *play, const su_fit *fit, int64_t count, const stretch *stretches,
                          su_played_shots *out, su_error *err)
{
    enum { LARGE = 200000 }; /* tets whose factor is not kept twice */
    int threads = play->threads, team = play->tet->t > LARGE ? 1 : threads < count ? threads : (int)count;
    int64_t *part;
    su_status first = SU_OK;
    SU_TRY(SU_ALLOC(&part, count + 1, "stretches of the shots", err));
    int64_t parts = divide(count, stretches, team, part);
    int each = threads / team > 1 ? threads / team : 1;
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
    for (int64_t p = 0; p < parts; p++) {
        su_error own = {0};
        su_status status = play_some(play, fit, each, part[p + 1] - part[p], &stretches[part[p]], out, &own);
#pragma omp critical(su_shots_play)
        su_keep_first_error(&first, err, status, &own);
    }
    free(part);
    return first;
}

/* Leaves out what play_stretch marked. */
static void drop_failed(int64_t size, su_played_shots *out)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < out->count; k++) {
        if (out->frame[k] < 0) continue;
        memmove(out->shapes + kept * size, out->shapes + k * size, (size_t)size * sizeof *out->shapes);
        double *fields[] = {out->forces, out->contact};
        for (int i = 0; i < 2; i++)
            if (fields[i]) memmove(fields[i] + kept * size, fields[i] + k * size, (size_t)size * sizeof *fields[i]);
        out->shot[kept] = out->shot[k], out->start[kept] = out->start[k], out->frame[kept++] = out->frame[k];
    }
    out->count = kept;
}

su_status su_shots_play(const su_play *play, su_played_shots *out, su_error *err)
{
    int64_t count = 0, frames = 0, size = 3 * play->tet->n;
    double *corrections = NULL;
    stretch *stretches = NULL;
    su_fit whole;
    su_status status;
    *out = (su_played_shots){0};
    SU_GO(whole_fit(play->fit, &whole, &corrections, err));
    SU_GO(choose_stretches(play, &count, &stretches, &frames, err));
    SU_GO(SU_ALLOC(&out->shapes, size * frames, "shapes of the shots", err));
    if (play->forces) SU_GO(SU_ALLOC(&out->forces, size * frames, "forces of the shots", err));
    if (play->self_contact) SU_GO(SU_ALLOC(&out->contact, size * frames, "forces of the shots", err));
    SU_GO(SU_ALLOC_ALL("shapes of the shots", err, SU_WANT(out->shot, frames), SU_WANT(out->frame, frames),
                       SU_WANT(out->start, frames)));
    if (count > 0) SU_GO(play_all(play, &whole, count, stretches, out, err));
    out->count = frames;
    drop_failed(size, out);
done:
    free(corrections), free(stretches);
    if (status != SU_OK) su_played_shots_free(out);
    return status;
}

void su_played_shots_free(su_played_shots *played)
{
    free(played->shapes), free(played->forces), free(played->contact);
    free(played->shot), free(played->frame), free(played->start);
    *played = (su_played_shots){0};
}
