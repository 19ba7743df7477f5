#include "physics/shot_driver.h"

/* Mass damping of a step that fails, times its length: its end keeps an eleventh of the way that inertia would go. */
static const double LAST_DAMPING = 10.0;

su_shot_driver su_shot_driver_of(const su_shot_stepper *stepper, void *self, const su_sim_settings *settings)
{
    return (su_shot_driver){.stepper = stepper, .self = self, .settings = settings, .counts = {.first_bad_frame = -1}};
}

/* ---- steps, and what becomes of those that fail ---- */

static su_status step(su_shot_driver *d, double h, double extra, su_error *err)
{
    int solves = 0;
    su_status status = d->stepper->step(d->self, h, extra, &solves, err);
    d->counts.steps++;
    d->counts.solves += solves;
    d->iterations += solves;
    return status;
}

static void note(su_shot_driver *d, int status, int64_t frame, const su_error *cause)
{
    if (status > d->status) d->status = status;
    if (d->counts.first_bad_frame >= 0) return;
    d->counts.first_bad_frame = frame;
    d->counts.first_bad_cause = *cause;
}

/* A status that the driver has no answer to. */
static su_status hand_up(su_status status, const su_error *cause, su_error *err)
{
    if (status != SU_OK && err) *err = *cause;
    return status;
}

/* A whole step to the instant entered has failed. */
static su_status step_damped(su_shot_driver *d, int64_t frame, double h, su_error *cause, su_error *err)
{
    d->counts.damped++;
    note(d, SU_STATUS_DAMPED, frame, cause);
    su_status status = step(d, h, LAST_DAMPING / h, cause);
    if (status != SU_NUMERICS) return hand_up(status, cause, err);
    d->counts.failed++;
    note(d, SU_STATUS_FAILED, frame, cause);
    d->stepper->follow(d->self, h);
    return SU_OK;
}

su_status su_shot_step(su_shot_driver *d, double h, su_error *err)
{
    su_error cause = {.status = SU_OK};
    su_status status = step(d, h, 0.0, &cause);
    return status == SU_NUMERICS ? step_damped(d, 0, h, &cause, err) : hand_up(status, &cause, err);
}

/* Between fractions a and b of the segment at `frame`. planned: b is an instant of the plan. */
static su_status advance_between(su_shot_driver *d, int64_t frame, double a, double b, bool planned, int halvings,
                                 su_error *err)
{
    double h = (b - a) * d->settings->frame_seconds, middle = 0.5 * (a + b);
    su_error cause = {.status = SU_OK};
    d->stepper->enter(d->self, frame, b, planned);
    su_status status = step(d, h, 0.0, &cause);
    if (status != SU_NUMERICS) return hand_up(status, &cause, err);
    if (halvings == d->stepper->halvings) return step_damped(d, frame, h, &cause, err);
    d->counts.halved++;
    note(d, SU_STATUS_HALVED, frame, &cause);
    SU_TRY(advance_between(d, frame, a, middle, false, halvings + 1, err));
    return advance_between(d, frame, middle, b, planned, halvings + 1, err);
}

/* ---- the shot ---- */

su_status su_shot_begin(su_shot_driver *d, bool again, su_error *err)
{
    const su_shot_stepper *stepper = d->stepper;
    int count = again ? 0 : d->settings->preroll_steps;
    double h = d->settings->step;
    stepper->enter(d->self, 0, 0.0, false);
    if (!again) stepper->rest(d->self);
    /* Relative gravity acts wherever flesh is turned: it would begin with a drop. */
    bool hangs = d->settings->gravity_mode == SU_GRAVITY_RELATIVE, wanted = d->settings->settle;
    if (!again && !d->settings->placed && (wanted || hangs)) {
        su_error own = {0};
        su_status settled = stepper->settle(d->self, &own);
        if (settled != SU_OK && (wanted || settled != SU_NUMERICS)) {
            if (err) *err = own;
            return settled;
        }
    }
    for (int k = 0; k < count; k++) {
        stepper->enter(d->self, 0, 0.0, false);
        su_status status = step(d, h, 0.0, err);
        if (status == SU_NUMERICS) status = step(d, h, LAST_DAMPING / h, err);
        if (status == SU_NUMERICS) su_error_context(err, "pre-roll, step %d of %d: ", k + 1, count);
        SU_TRY(status);
    }
    stepper->start(d->self, count > 0);
    d->iterations = 0, d->status = SU_STATUS_OK;
    return SU_OK;
}

su_shot_place su_shot_next(const su_shot_driver *d, su_shot_place at)
{
    if (at.substep == d->settings->substeps) at = (su_shot_place){at.frame + 1, 0};
    if (at.substep == 0 && d->stepper->cut(d->self, at.frame + 1)) return (su_shot_place){at.frame + 1, 0};
    return (su_shot_place){at.frame, at.substep + 1};
}

bool su_shot_ends_frame(const su_shot_driver *d, su_shot_place at)
{
    return at.substep == 0 || at.substep == d->settings->substeps;
}

double su_shot_fraction(const su_shot_driver *d, int substep) { return (double)substep / d->settings->substeps; }

su_status su_shot_to(su_shot_driver *d, su_shot_place to, su_error *err)
{
    if (to.substep > 0)
        return advance_between(d, to.frame, su_shot_fraction(d, to.substep - 1), su_shot_fraction(d, to.substep), true,
                               0, err);
    d->stepper->enter(d->self, to.frame, 0.0, true);
    d->stepper->jump(d->self);
    return SU_OK;
}
