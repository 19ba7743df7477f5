#include "runtime/skinning/skinning_simulation.h"

#include "core/memory.h"
#include "core/threads.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times a step is halved at most: each is a minimization that descends, so halving seldom serves. */
enum { MAX_HALVINGS = 2 };

struct su_skinning_simulation {
    const su_skinning_model *model;
    const su_shot *shot;
    su_sim_settings settings;
    su_shot_driver driver;
    su_skinning_shot *rig;
    su_skinning_stepper *stepper;
    su_skinning_instant to, next; /* the instant entered; the one after a start */
    int64_t F, done;
    double *last_h; /* (F) s, of the step that led to a frame; 0: a start */
    bool again;
    su_arena arena;
};

void su_skinning_simulation_free(su_skinning_simulation *s)
{
    if (!s) return;
    su_skinning_stepper_free(s->stepper);
    su_skinning_shot_free(s->rig);
    su_arena_free(&s->arena);
    free(s);
}

int64_t su_skinning_simulation_done(const su_skinning_simulation *s) { return s->done; }
const su_shot_counts *su_skinning_simulation_counts(const su_skinning_simulation *s) { return &s->driver.counts; }

/* ---- what the driver drives ---- */

static bool cut(void *self, int64_t frame) { return su_shot_cut(((su_skinning_simulation *)self)->shot, frame); }

static void enter(void *self, int64_t frame, double fraction, bool planned)
{
    su_skinning_simulation *s = self;
    su_loads *loads = su_skinning_loads(s->stepper);
    double start = su_seconds();
    (void)planned;
    su_skinning_shot_at(s->rig, frame, fraction, &s->to);
    if (loads) {
        const su_external *external = s->settings.external;
        loads->t = s->settings.first_time + ((double)frame + fraction) * s->settings.frame_seconds;
        su_shot_sample_skin(s->shot, frame, fraction, external->points, external->vertex, 1, loads->skin);
    }
    s->driver.counts.instants++;
    s->driver.counts.pose_seconds += su_seconds() - start;
}

static void rest(void *self)
{
    su_skinning_simulation *s = self;
    su_skinning_rest(s->stepper, &s->to);
}

static su_status settle(void *self, su_error *err)
{
    su_skinning_simulation *s = self;
    su_gravity gravity = su_sim_gravity(&s->settings, s->to.Q);
    if (su_skinning_settle(s->stepper, &s->to, &gravity)) return SU_OK;
    return su_fail(err, SU_NUMERICS, "frame 0: no static equilibrium under gravity");
}

/* The instant of the first step after a start at s->done; NULL where the flesh starts at rest in the world. */
static const su_skinning_instant *after_start(su_skinning_simulation *s)
{
    if (s->settings.start != SU_START_MOVING) return NULL;
    su_skinning_shot_at(s->rig, s->done, su_shot_fraction(&s->driver, 1), &s->next);
    return &s->next;
}

static void start(void *self, bool ran)
{
    su_skinning_simulation *s = self;
    su_skinning_start(s->stepper, &s->to, after_start(s), ran, s->settings.step);
}

static void jump(void *self)
{
    su_skinning_simulation *s = self;
    su_skinning_jump(s->stepper, &s->to, after_start(s), s->settings.step);
}

static su_status take_step(void *self, double h, double extra, int *solves, su_error *err)
{
    su_skinning_simulation *s = self;
    su_gravity gravity = su_sim_gravity(&s->settings, s->to.Q);
    if (su_skinning_advance(s->stepper, &s->to, h, &gravity, extra, solves)) return SU_OK;
    return su_fail(err, SU_NUMERICS, "the step is not finite");
}

static void follow(void *self, double h)
{
    su_skinning_simulation *s = self;
    su_skinning_follow(s->stepper, &s->to, h);
}

static const su_shot_stepper stepper = {.halvings = MAX_HALVINGS,
                                        .cut = cut,
                                        .enter = enter,
                                        .rest = rest,
                                        .settle = settle,
                                        .start = start,
                                        .jump = jump,
                                        .step = take_step,
                                        .follow = follow};

/* ---- creation ---- */

su_status su_skinning_simulation_create(const su_skinning_model *model, const su_shot *shot,
                                        const su_sim_settings *settings, const su_skinning_settings *step,
                                        const su_bone_motion *bones, int threads, su_skinning_simulation **out,
                                        su_error *err)
{
    su_status status;
    su_skinning_simulation *s = NULL;
    double *room[2];
    double started = su_seconds();
    SU_GO(SU_ALLOC(&s, 1, "simulation", err));
    s->model = model, s->shot = shot, s->settings = *settings, s->F = su_shot_frames(shot);
    s->driver = su_shot_driver_of(&stepper, s, &s->settings);
    int64_t size = su_skinning_instant_size(model);
    SU_GO(SU_TAKE_ALL(&s->arena, "the simulation", err, SU_WANT(s->last_h, s->F), SU_WANT(room[0], size),
                      SU_WANT(room[1], size)));
    s->to = su_skinning_instant_in(model, room[0]), s->next = su_skinning_instant_in(model, room[1]);
    SU_GO(su_skinning_shot_create(model, shot, settings, bones, threads, &s->rig, err));
    SU_GO(su_skinning_stepper_create(model, step, settings->external, &s->stepper, err));
    s->driver.counts.pose_seconds = su_seconds() - started;
    *out = s;
    s = NULL;
done:
    su_skinning_simulation_free(s);
    return status;
}

/* ---- the run ---- */

static void finish_frame(su_skinning_simulation *s, su_sim *out, bool began)
{
    int64_t k = s->done, r = 3 * s->model->rows;
    su_gravity gravity = su_sim_gravity(&s->settings, s->to.Q);
    su_skinning_coordinates(s->stepper, out->q + k * r, out->qdot ? out->qdot + k * r : NULL);
    if (out->qdot && began) memset(out->qdot + k * r, 0, (size_t)r * sizeof *out->qdot);
    su_skinning_energy(s->stepper, &s->to, &gravity, out->energy + 3 * k);
    if (began) out->energy[3 * k] = 0;
    su_skinning_shot_weights(s->rig, k, out->weights + k * out->m);
    out->iterations[k] = s->driver.iterations, out->status[k] = s->driver.status;
    s->last_h[k] = began ? 0 : s->settings.step;
    s->driver.iterations = 0, s->driver.status = SU_STATUS_OK;
    s->done++;
}

su_status su_skinning_simulation_run(su_skinning_simulation *s, int64_t until, su_sim *out, su_progress *progress,
                                     su_error *err)
{
    double started = su_seconds(), poses = s->driver.counts.pose_seconds;
    su_status status = SU_OK;
    if (until > s->F) until = s->F;
    if (s->done == 0 && until > 0) {
        SU_TRY(su_shot_begin(&s->driver, s->again, err));
        finish_frame(s, out, true);
    }
    su_shot_place at = {s->done - 1, 0};
    while (s->done < until && status == SU_OK) {
        do {
            at = su_shot_next(&s->driver, at);
            SU_TRY(su_shot_to(&s->driver, at, err));
        } while (!su_shot_ends_frame(&s->driver, at));
        finish_frame(s, out, at.substep == 0);
        for (int c = 0; c < 3; c++)
            if (!isfinite(out->energy[3 * (s->done - 1) + c]))
                return su_fail(err, SU_NUMERICS, "frame %lld: not finite", (long long)(s->done - 1));
        status = su_progress_update(progress, (double)s->done / (double)s->F, err);
    }
    s->driver.counts.step_seconds += su_seconds() - started - (s->driver.counts.pose_seconds - poses);
    return status;
}

su_status su_skinning_simulation_finish(su_skinning_simulation *s, su_sim *out, su_error *err)
{
    double *energy;
    SU_TRY(SU_ALLOC(&energy, s->F, "energies", err));
    su_skinning_rig_energy(s->rig, s->last_h, s->settings.frame_seconds, energy);
    for (int64_t k = 0; k < s->done; k++) out->energy[3 * k] += energy[k];
    free(energy);
    return SU_OK;
}

su_status su_skinning_simulation_rewind(su_skinning_simulation *s, su_error *err)
{
    if (s->done != s->F) return su_fail(err, SU_USAGE, "only a finished clip can be repeated");
    s->done = 0, s->again = true;
    return SU_OK;
}

/* ---- saving and restoring ---- */

/* The stepper's state, the rotations that the next ones are found from, the steps so far. */
static int64_t walk(su_skinning_simulation *s, double *out, const double *in)
{
    int64_t lanes = SU_CLUSTER_MATRICES * s->model->panels, total = su_skinning_state_size(s->stepper);
    double *parts[] = {s->to.turn, s->next.turn, s->last_h};
    const int64_t count[] = {lanes, lanes, s->F};
    if (out) su_skinning_get_state(s->stepper, out);
    if (in) su_skinning_set_state(s->stepper, in);
    for (int k = 0; k < 3; k++) {
        if (out) memcpy(out + total, parts[k], (size_t)count[k] * sizeof *out);
        if (in) memcpy(parts[k], in + total, (size_t)count[k] * sizeof *in);
        total += count[k];
    }
    return total;
}

int64_t su_skinning_simulation_state_size(const su_skinning_simulation *s)
{
    return walk((su_skinning_simulation *)s, NULL, NULL);
}

void su_skinning_simulation_get_state(const su_skinning_simulation *s, double *state)
{
    walk((su_skinning_simulation *)s, state, NULL); /* only read */
}

void su_skinning_simulation_set_state(su_skinning_simulation *s, const double *state, int64_t done)
{
    walk(s, NULL, state);
    s->done = done;
}
