#include "fem/fullsim_internal.h"

#include "core/threads.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/vector.h"

#include <math.h>
#include <string.h>

/* Times a step is halved at most: full steps are solved with a line search and fail seldom, and each costs as much as
 * hundreds of reduced ones. */
enum { MAX_HALVINGS = 4, MAX_NEWTON = 60 };

/* Newton's, of a state to begin from: what is left of the way to rest is a swing of so much of it. */
static const double RESTART_TOLERANCE = 1e-2;

/* And of the equilibrium that a shot begins in, at most: nothing but stiffness holds what is left of its forces, so
 * that a thousandth of them, as in steps of bakes, can be 2.5 % of the way; a further solve leaves a hundredth of that.
 */
static const double SETTLE_TOLERANCE = 1e-5;

/* ---- one step ---- */

/* u^: the displacement at which the world position is y + h v, all by inertia. */
static void inertial_guess(const su_fullsim *s, const su_instant *to, double h, double *out)
{
    for (int64_t v = 0; v < s->body.n; v++) {
        double d[3];
        for (int c = 0; c < 3; c++) {
            double y = s->y[3 * v + c];
            d[c] = y + h / s->h_before * (y - s->y_before[3 * v + c]) - to->c[c];
        }
        su_tmulv3(to->Q, d, out + 3 * v);
        for (int c = 0; c < 3; c++) out[3 * v + c] -= to->x[3 * v + c];
    }
}

/* J: what keeps the flesh from following the rig, m |u^|^2 / 2h^2. */
static double inertial_energy(const su_fullsim *s, double h)
{
    double sum = 0;
    for (int64_t f = 0; f < s->body.free_count; f++) {
        int64_t v = s->body.free_vertex[f];
        sum += 0.5 * s->body.mass[v] * su_dot3(s->inertial + 3 * v, s->inertial + 3 * v);
    }
    return sum / (h * h);
}

/* g_v (n,3) at an instant */
static void set_gravity(su_fullsim *s, const su_instant *at)
{
    su_gravity gravity = su_sim_gravity(&s->settings, at->Q);
    for (int64_t v = 0; v < s->body.n; v++) memcpy(s->gravity + 3 * v, gravity.carried, sizeof gravity.carried);
    su_turn_vectors(s->body.n, at->turn, s->gravity, s->gravity);
    for (int64_t i = 0; i < 3 * s->body.n; i++) s->gravity[i] = gravity.acts[i % 3] - s->gravity[i];
}

static su_implicit_step base_step(su_fullsim *s, const su_instant *at)
{
    su_implicit_step step = {.rest = at->x,
                             .gravity = s->gravity,
                             .tolerance = s->options.tolerance,
                             .max_iterations = s->options.newton > 0 ? s->options.newton : MAX_NEWTON,
                             .accept_unconverged = s->options.newton > 0};
    set_gravity(s, at);
    return step;
}

static void world_positions(const su_fullsim *s, const su_instant *at, const double *u, double *y)
{
    for (int64_t v = 0; v < s->body.n; v++) {
        double point[3];
        for (int c = 0; c < 3; c++) point[c] = at->x[3 * v + c] + u[3 * v + c];
        su_fullsim_world(at, point, y + 3 * v);
    }
}

/* Takes u_next at instant `to` as the new state. */
static void commit(su_fullsim *s, su_instant *to, double h)
{
    memcpy(s->y_before, s->y, (size_t)(3 * s->body.n) * sizeof *s->y);
    world_positions(s, to, s->u_next, s->y);
    s->h_before = h;
    su_fullsim_keep_loads(s, s->u_next);
    double *u = s->u;
    s->u = s->u_next, s->u_next = u;
    su_instant old = s->now;
    s->now = *to, *to = old;
}

/* What is to be solved for the instant s->next, h after the state. extra: mass damping added, 1/s. */
static su_status next_step(su_fullsim *s, double h, double extra, su_implicit_step *step, su_error *err)
{
    *step = base_step(s, &s->next);
    step->h = h, step->alpha = s->settings.alpha + extra, step->beta = s->settings.beta;
    inertial_guess(s, &s->next, h, s->inertial);
    su_fullsim_turn_along(s, &s->now, &s->next, s->u, s->carried);
    SU_TRY(su_transport_mend(s->transport, s->now.tet_turn, s->next.tet_turn, inertial_energy(s, h), s->u, s->carried,
                             err));
    step->inertial = s->inertial, step->carried = s->carried, step->turn = s->next.turn;
    su_fullsim_prepare_loads(s, &s->next, h, s->carried, step);
    return SU_OK;
}

static su_status precondition(su_fullsim *s, su_error *err)
{
    bool turned = s->smoothing.nodes > 0 || s->options.neutral; /* else no factor serves all poses */
    if (!s->options.iterative || !turned || s->preconditioned) return SU_OK;
    if (!s->options.neutral) su_elastic_set_rest(&s->body, s->tet->vertices, NULL, s->options.threads);
    SU_TRY(su_implicit_precondition(s->implicit, s->tet->vertices, s->settings.step, s->settings.alpha,
                                    s->settings.beta, err));
    s->preconditioned = true;
    return SU_OK;
}

/* Of a fraction of a substep: no more is rounding. */
static const double SAME_INSTANT = 1e-6;

/* u_next = u* and as much more as the leader moves in this step. False where there is none, or the step is not one of
 * its own, or flesh may meet itself in it: it can end in several places then. */
static bool begin_ahead(su_fullsim *s, double h)
{
    double at = ((double)s->entered + s->within) * s->settings.substeps;
    int64_t instant = (int64_t)floor(at + 0.5);
    memcpy(s->u_next, s->carried, (size_t)(3 * s->body.n) * sizeof(double));
    if (!s->led || s->contact || fabs(at - (double)instant) > SAME_INSTANT ||
        fabs(h / s->settings.step - 1) > SAME_INSTANT)
        return false;
    const su_fullsim_leader *leader = &s->options.leader;
    if (s->led_at != instant - 1) leader->displacement(leader->self, instant - 1, s->led);
    leader->displacement(leader->self, instant, s->leads);
    for (int64_t i = 0; i < 3 * s->body.n; i++) s->led[i] = s->leads[i] - s->led[i];
    su_turn_vectors(s->body.n, s->next.turn, s->led, s->led);
    for (int64_t f = 0; f < s->body.free_count; f++)
        for (int64_t i = 3 * (int64_t)s->body.free_vertex[f], c = 0; c < 3; c++) s->u_next[i + c] += s->led[i + c];
    double *leads = s->led;
    s->led = s->leads, s->leads = leads, s->led_at = instant;
    return true;
}

/* From the state to instant s->next, as next_step. */
static su_status take_step(void *self, double h, double extra, int *solves, su_error *err)
{
    su_fullsim *s = self;
    SU_TRY(precondition(s, err));
    su_fullsim_set_body(s, &s->next);
    s->stepped = true;
    double start = su_seconds();
    su_implicit_step step;
    SU_TRY(next_step(s, h, extra, &step, err));
    SU_TRY(su_fullsim_begin_contact(s, &s->next, h, s->carried, s->y, &step, err));
    su_implicit_result result, first = {0};
    su_error lost = {0};
    step.near = begin_ahead(s, h);
    su_status status = su_implicit_solve(s->implicit, &step, s->u_next, &result, step.near ? &lost : err);
    if (step.near && status == SU_NUMERICS) { /* no way leads from there */
        first = result, step.near = false;
        memcpy(s->u_next, s->carried, (size_t)(3 * s->body.n) * sizeof(double));
        status = su_implicit_solve(s->implicit, &step, s->u_next, &result, err);
    } else if (status != SU_OK && step.near && err) {
        *err = lost;
    }
    *solves = first.iterations + result.iterations;
    s->driver.counts.factorizations += first.factorizations + result.factorizations;
    if (status == SU_OK) commit(s, &s->next, h);
    s->driver.counts.step_seconds += su_seconds() - start;
    return status;
}

/* Where the vertices are at s->now, in the root frame (n,3). */
static const double *deformed(su_fullsim *s)
{
    for (int64_t i = 0; i < 3 * s->body.n; i++) s->inertial[i] = s->now.x[i] + s->u[i];
    return s->inertial;
}

static void follow(void *self, double h)
{
    su_fullsim *s = self;
    memcpy(s->u_next, s->carried, (size_t)(3 * s->body.n) * sizeof(double));
    su_implicit_admit(s->implicit, s->u_next);
    commit(s, &s->next, h);
}

/* ---- the record of a frame ---- */

/* At s->now, with what steps have left of iterations and status. body_there: the body is that of s->now. */
static void finish_record(su_fullsim *s, bool body_there)
{
    double kinetic = 0.0, gravity = 0.0;
    set_gravity(s, &s->now);
    for (int64_t v = 0; v < s->body.n; v++)
        for (int c = 0; c < 3; c++) {
            double rate = (s->y[3 * v + c] - s->y_before[3 * v + c]) / s->h_before;
            kinetic += 0.5 * s->body.mass[v] * rate * rate;
            gravity -= s->body.mass[v] * s->gravity[3 * v + c] * s->u[3 * v + c];
        }
    s->record.energy[0] = kinetic, s->record.energy[2] = gravity;
    if (!s->options.no_energy) {
        if (!body_there) su_fullsim_set_body(s, &s->now);
        s->record.energy[1] = su_elastic_energy(&s->body, deformed(s), s->options.threads);
    }
    s->record.u = s->u, s->record.w = s->now.w;
    s->record.iterations = s->driver.iterations, s->record.status = s->driver.status;
}

void su_fullsim_finish_record(su_fullsim *s) { finish_record(s, false); }

/* ---- starts ---- */

/* History at the start of a piece, `frame`, where s->now is: y from u, and the step before as docs/formats.md,
 * conventions 14 and 17 say; u_before is the u of the step before (pre-roll; else u). moving: with the rig's velocity,
 * for which the rest shape of the first substep is read. */
static void start_history(su_fullsim *s, int64_t frame, const double *u_before, bool moving)
{
    double h = s->settings.step;
    if (s->loads.external) { /* s->skin is that of s->now here */
        su_fullsim_set_loads(s, &s->now, h);
        su_fullsim_keep_loads(s, s->u);
    }
    if (moving) su_fullsim_evaluate(s, frame, 1.0 / s->settings.substeps, &s->next);
    for (int64_t v = 0; v < s->body.n; v++) {
        double at[3], X0[3], X1[3];
        for (int c = 0; c < 3; c++) at[c] = s->now.x[3 * v + c] + s->u[3 * v + c];
        su_fullsim_world(&s->now, at, s->y + 3 * v);
        for (int c = 0; c < 3; c++) at[c] = s->now.x[3 * v + c] + u_before[3 * v + c];
        su_fullsim_world(&s->now, at, s->y_before + 3 * v);
        if (!moving) continue;
        su_fullsim_world(&s->now, s->now.x + 3 * v, X0);
        su_fullsim_world(&s->next, s->next.x + 3 * v, X1);
        for (int c = 0; c < 3; c++) s->y_before[3 * v + c] += X0[c] - X1[c];
    }
    s->h_before = h;
}

static void rest(void *self)
{
    su_fullsim *s = self;
    su_instant entered = s->next;
    s->next = s->now, s->now = entered;
    memset(s->u, 0, (size_t)(3 * s->body.n) * sizeof *s->u);
    start_history(s, 0, s->u, false);
}

/* The static equilibrium at s->now, Newton to a tolerance, into s->u. */
static su_status find_rest(su_fullsim *s, double tolerance, su_error *err)
{
    SU_TRY(precondition(s, err));
    su_implicit_step step = base_step(s, &s->now);
    step.tolerance = tolerance, step.max_iterations = 200, step.accept_unconverged = false;
    step.turn = s->now.turn;
    su_implicit_result result;
    su_fullsim_set_body(s, &s->now);
    memcpy(s->carried, s->u, (size_t)(3 * s->body.n) * sizeof(double));
    su_fullsim_prepare_loads(s, &s->now, 0.0, s->u, &step);
    SU_TRY(su_fullsim_begin_contact(s, &s->now, 0.0, s->u, NULL, &step, err));
    SU_TRY(su_implicit_solve(s->implicit, &step, s->u, &result, err));
    s->driver.counts.solves += result.iterations;
    return SU_OK;
}

static su_status settle(void *self, su_error *err)
{
    su_fullsim *s = self;
    SU_TRY(find_rest(s, fmin(s->options.tolerance, SETTLE_TOLERANCE), err));
    start_history(s, 0, s->u, false);
    return SU_OK;
}

/* Motion begins at s->now, frame 0. After steps the last two states stand in y and y_before, both at this rest shape.
 */
static void start(void *self, bool ran)
{
    su_fullsim *s = self;
    for (int64_t v = 0; v < s->body.n && ran; v++) {
        double d[3];
        for (int c = 0; c < 3; c++) d[c] = s->y_before[3 * v + c] - s->now.c[c];
        su_tmulv3(s->now.Q, d, s->carried + 3 * v);
        for (int c = 0; c < 3; c++) s->carried[3 * v + c] -= s->now.x[3 * v + c];
    }
    if (s->options.placed && s->led) {
        const su_fullsim_leader *leader = &s->options.leader;
        leader->displacement(leader->self, 0, s->leads), leader->displacement(leader->self, -1, s->led);
        su_turn_vectors(s->body.n, s->now.turn, s->leads, s->u);
        su_turn_vectors(s->body.n, s->now.turn, s->led, s->carried);
        su_implicit_admit(s->implicit, s->u);
        ran = true;
    }
    start_history(s, 0, ran ? s->carried : s->u, s->settings.start == SU_START_MOVING);
}

static void jump(void *self)
{
    su_fullsim *s = self;
    s->stepped = false;
    su_fullsim_turn_along(s, &s->now, &s->next, s->u, s->u_next);
    su_implicit_admit(s->implicit, s->u_next);
    commit(s, &s->next, s->settings.step);
    start_history(s, s->entered, s->u, s->settings.start == SU_START_MOVING);
}

/* ---- what the driver drives ---- */

static void set_time(su_fullsim *s, int64_t frame, double fraction)
{
    s->time = s->settings.first_time + ((double)frame + fraction) * s->settings.frame_seconds;
}

static bool cut(void *self, int64_t frame) { return su_shot_cut(((su_fullsim *)self)->shot, frame); }

static void enter(void *self, int64_t frame, double fraction, bool planned)
{
    su_fullsim *s = self;
    (void)planned;
    s->entered = frame, s->within = fraction;
    set_time(s, frame, fraction);
    su_fullsim_evaluate(s, frame, fraction, &s->next);
}

const su_shot_stepper su_fullsim_stepper = {.halvings = MAX_HALVINGS,
                                            .cut = cut,
                                            .enter = enter,
                                            .rest = rest,
                                            .settle = settle,
                                            .start = start,
                                            .jump = jump,
                                            .step = take_step,
                                            .follow = follow};

su_status su_fullsim_advance(su_fullsim *s, su_error *err)
{
    if (s->frame + 1 >= su_shot_frames(s->shot)) return su_fail(err, SU_FAILED, "the shot is at its end");
    s->driver.iterations = 0, s->driver.status = SU_STATUS_OK;
    su_implicit_forget(s->implicit); /* so that a run taken up again at a frame goes the same way */
    su_shot_place at = {s->frame, 0};
    do {
        at = su_shot_next(&s->driver, at);
        SU_TRY(su_shot_to(&s->driver, at, err));
    } while (!su_shot_ends_frame(&s->driver, at));
    s->frame++;
    finish_record(s, s->stepped); /* of the last step's end, taken or followed */
    return su_fullsim_measure_contact(s, err);
}

void su_fullsim_set_solves(su_fullsim *s, int newton) { s->options.newton = newton; }

void su_fullsim_set_stiffness(su_fullsim *s, double stiffness)
{
    s->settings.stiffness = stiffness;
    for (int64_t e = 0; e < s->fit->t; e++) s->young[e] = stiffness * s->fit->young[e];
    su_fullsim_set_material(s, s->fit->poisson);
    s->preconditioned = false;
}

su_status su_fullsim_restart(su_fullsim *s, int64_t frame, su_error *err)
{
    bool last = frame > 0 && frame + 1 >= su_shot_frames(s->shot);
    int64_t segment = last ? frame - 1 : frame;
    su_fullsim_evaluate(s, segment, last ? 1.0 : 0.0, &s->now);
    memset(s->u, 0, (size_t)(3 * s->body.n) * sizeof *s->u);
    if (s->settings.gravity_mode == SU_GRAVITY_RELATIVE) {
        su_error own = {0};
        su_status found = find_rest(s, RESTART_TOLERANCE, &own);
        if (found != SU_OK && found != SU_NUMERICS) {
            if (err) *err = own;
            return found;
        }
    }
    start_history(s, segment, s->u, s->settings.start == SU_START_MOVING);
    s->frame = frame;
    su_fullsim_finish_record(s);
    return su_fullsim_measure_contact(s, err);
}

const double *su_fullsim_turn(const su_fullsim *s) { return s->now.turn; }
const double *su_fullsim_mass(const su_fullsim *s) { return s->body.mass; }

void su_fullsim_elastic_force(su_fullsim *s, double *force)
{
    su_fullsim_set_body(s, &s->now);
    su_elastic_force(&s->body, deformed(s), force, s->options.threads);
    for (int64_t i = 0; i < 3 * s->body.n; i++) force[i] /= s->settings.stiffness;
}

void su_fullsim_state(const su_fullsim *s, su_fullsim_frame *frame) { *frame = s->record; }
const su_shot_counts *su_fullsim_totals(const su_fullsim *s) { return &s->driver.counts; }

static int64_t load_count(const su_fullsim *s) { return s->loads.external ? 3 * s->loads.external->points : 0; }

int64_t su_fullsim_state_size(const su_fullsim *s) { return 9 * s->body.n + 1 + load_count(s); }

void su_fullsim_get_state(const su_fullsim *s, double *state)
{
    int64_t n3 = 3 * s->body.n;
    memcpy(state, s->u, (size_t)n3 * sizeof *state);
    memcpy(state + n3, s->y, (size_t)n3 * sizeof *state);
    memcpy(state + 2 * n3, s->y_before, (size_t)n3 * sizeof *state);
    state[3 * n3] = s->h_before;
    if (load_count(s)) memcpy(state + 3 * n3 + 1, s->loads.now, (size_t)load_count(s) * sizeof *state);
}

void su_fullsim_set_state(su_fullsim *s, const double *state, int64_t frame)
{
    int64_t n3 = 3 * s->body.n;
    memcpy(s->u, state, (size_t)n3 * sizeof *state);
    memcpy(s->y, state + n3, (size_t)n3 * sizeof *state);
    memcpy(s->y_before, state + 2 * n3, (size_t)n3 * sizeof *state);
    s->h_before = state[3 * n3];
    if (load_count(s)) memcpy(s->loads.now, state + 3 * n3 + 1, (size_t)load_count(s) * sizeof *state);
    s->frame = frame;
    su_fullsim_evaluate(s, frame, 0.0, &s->now); /* what the end of the segment before gave: splines hit the frames */
}
