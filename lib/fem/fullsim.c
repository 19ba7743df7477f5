#include "fem/fullsim.h"

#include "core/memory.h"
#include "core/threads.h"
#include "fem/complement.h"
#include "fem/elastic.h"
#include "fem/implicit.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"
#include "physics/shot_driver.h"
#include "rig/rbf.h"
#include "rig/rig_space.h"
#include "rig/rest_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times a step is halved at most: full steps are solved with a line search and fail seldom, and each costs as much as
 * hundreds of reduced ones. */
enum { MAX_HALVINGS = 4, MAX_NEWTON = 60 };

/* Newton's, of a state to begin from: what is left of the way to rest is a swing of so much of it. */
static const double RESTART_TOLERANCE = 1e-2;

/* What the animation alone gives at one instant. */
typedef struct instant {
    double *x;         /* (n,3) rest shape, root frame */
    double *turn;      /* (n,4) R_v, neutral to rest shape */
    double *w;         /* (m) */
    double Q[9], c[3]; /* root frame to world */
} instant;

struct su_fullsim {
    const su_tet *tet;
    const su_fit *fit;
    su_rig_space rig; /* the fit's */
    const su_shot *shot;
    su_sim_settings settings;
    su_fullsim_options options;
    su_shot_driver driver;
    su_elastic body;
    su_implicit *implicit;
    su_self_contact *contact;  /* NULL: flesh passes through itself */
    double *contact_k;         /* (n) N/m^3 */
    su_complement *complement; /* NULL: u is free */
    bool shear_only;           /* lambda = 0 */
    su_smoothing smoothing;    /* with nodes: stress-free shapes are turned by the field, else they are x(p) */
    su_rotation_field *field;
    su_rest_shape rest;
    su_arena arena;
    bool blend_materials; /* do the poses differ in E or nu? */
    bool preconditioned;  /* the factor of the neutral pose is that of the stiffness now */
    double *neutral, *skin, *p, *positive, *young, *poisson;
    instant now, next;
    double *u, *u_next, *carried, *inertial; /* (n,3) */
    double *touched;                         /* (n,3) positions to look for contacts at */
    double *from;                            /* (n,3) where a step begins, in the root frame of its end */
    double *gravity;                         /* (n,3) of each vertex at the instant that a step leads to, m/s^2 */
    double *y, *y_before;                    /* (n,3) world, at the state and one step earlier */
    double h_before;                         /* s between them */
    int64_t frame;
    int64_t entered; /* the frame in whose segment, or at whose start, s->next is */
    int substep;     /* it stands so many behind the frame (su_fullsim_place) */
    double time;     /* s, of the instant `next` on the clip's clock */
    su_loads loads;  /* where there are forces from outside */
    su_fullsim_frame record;
};

/* ---- instants ---- */

static bool allocate_instant(su_fullsim *s, instant *at)
{
    at->x = su_arena_alloc(&s->arena, 3 * s->body.n, sizeof(double));
    at->turn = su_arena_alloc(&s->arena, 4 * s->body.n, sizeof(double));
    at->w = su_arena_alloc(&s->arena, s->fit->m, sizeof(double));
    return at->x && at->turn && at->w;
}

/* Leaves the skin there in s->skin. */
static void evaluate_instant(su_fullsim *s, int64_t frame, double fraction, instant *at)
{
    double start = su_seconds();
    su_shot_sample(s->shot, frame, fraction, 0, NULL, s->skin, s->p, at->Q, at->c);
    su_rig_weights(&s->rig, s->p, at->w);
    su_rest_shape_evaluate(&s->rest, s->body.n, NULL, s->skin, at->w, at->x);
    su_rotation_field_evaluate(s->field, at->x, at->turn, s->options.threads);
    s->driver.counts.pose_seconds += su_seconds() - start;
}

static void world_position(const instant *at, const double *x, double *y)
{
    su_mulv3(at->Q, x, y);
    for (int c = 0; c < 3; c++) y[c] += at->c[c];
}

/* s->young and poisson (t), into the body. */
static void set_material(su_fullsim *s, const double *poisson)
{
    su_elastic_set_material(&s->body, s->young, poisson);
    if (s->shear_only) memset(s->body.lambda, 0, (size_t)s->body.t * sizeof *s->body.lambda);
    if (!s->contact) return;
    double factor = s->options.contact_stiffness > 0 ? s->options.contact_stiffness : 1;
    su_contact_stiffness(su_self_contact_body(s->contact), s->young, poisson, s->contact_k);
    for (int64_t v = 0; v < s->body.n; v++) s->contact_k[v] *= factor;
    su_self_contact_set_stiffness(s->contact, s->contact_k);
}

/* Rest shape and materials of the instant (blended with w+, docs/formats.md, convention 6) into the elastic body. */
static void set_body(su_fullsim *s, const instant *at)
{
    double start = su_seconds();
    const su_fit *fit = s->fit;
    if (s->blend_materials) {
        su_positive_weights(fit->m, at->w, s->positive);
        for (int64_t e = 0; e < fit->t; e++) {
            double young = 0.0, poisson = 0.0;
            for (int64_t i = 0; i < fit->m; i++) {
                young += s->positive[i] * fit->young[i * fit->t + e];
                poisson += s->positive[i] * fit->poisson[i * fit->t + e];
            }
            s->young[e] = s->settings.stiffness * young;
            s->poisson[e] = poisson;
        }
        set_material(s, s->poisson);
    }
    /* A neutral rest shape is that of the body from its creation on. */
    if (!s->options.neutral)
        su_elastic_set_rest(&s->body, at->x, s->smoothing.nodes > 0 ? at->turn : NULL, s->options.threads);
    if (s->body.collapsed > s->driver.counts.collapsed) s->driver.counts.collapsed = s->body.collapsed;
    s->driver.counts.pose_seconds += su_seconds() - start;
}

/* out = R_to R_from' u, vertex by vertex. */
static void turn_along(const su_fullsim *s, const instant *from, const instant *to, const double *u, double *out)
{
    su_turn_back_vectors(s->body.n, from->turn, u, out);
    su_turn_vectors(s->body.n, to->turn, out, out);
    for (int64_t v = 0; v < s->body.n; v++)
        if (s->body.free_index[v] < 0) memset(out + 3 * v, 0, 3 * sizeof *out);
}

/* ---- forces from outside ---- */

static void displacement_at(const su_fullsim *s, int64_t k, const double *u, double a[3])
{
    for (int c = 0; c < 3; c++) a[c] = 0.0;
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3; c++) a[c] += s->loads.bary[4 * k + i] * u[3 * (int64_t)s->loads.corner[4 * k + i] + c];
}

/* The loads at an instant whose skin is in s->skin. */
static void set_loads(su_fullsim *s, const instant *at, double h)
{
    su_loads *loads = &s->loads;
    loads->t = s->time, loads->h = h;
    memcpy(loads->Q, at->Q, sizeof loads->Q);
    memcpy(loads->c, at->c, sizeof loads->c);
    for (int64_t k = 0; k < loads->external->points; k++)
        memcpy(loads->skin + 3 * k, s->skin + 3 * (int64_t)loads->external->vertex[k], 3 * sizeof(double));
}

static void prepare_loads(su_fullsim *s, const instant *at, double h, const double *u, su_implicit_step *step)
{
    if (!s->loads.external) return;
    set_loads(s, at, h);
    for (int64_t k = 0; k < s->loads.external->points; k++) {
        double a[3], y[3];
        displacement_at(s, k, u, a);
        su_loads_place(&s->loads, k, a, y);
        su_loads_prepare(&s->loads, k, y);
    }
    step->loads = &s->loads;
}

/* Where the points are at displacement u of the instant that the loads were set for. */
static void keep_loads(su_fullsim *s, const double *u)
{
    for (int64_t k = 0; s->loads.external && k < s->loads.external->points; k++) {
        double a[3];
        displacement_at(s, k, u, a);
        su_loads_place(&s->loads, k, a, s->loads.now + 3 * k);
    }
}

/* ---- contact of the flesh with itself ---- */

/* For steps to an instant from `before` (n,3, in the world; NULL: statics), with u there to look for contacts at. */
static su_status begin_contact(su_fullsim *s, const instant *at, double h, const double *u, const double *before,
                               su_implicit_step *step, su_error *err)
{
    if (!s->contact) return SU_OK;
    for (int64_t v = 0; v < s->body.n && before; v++) {
        double d[3];
        su_sub3(before + 3 * v, at->c, d);
        su_tmulv3(at->Q, d, s->from + 3 * v);
    }
    su_self_contact_begin(s->contact, s->options.self_contact == SU_SELF_CONTACT_NEW ? at->x : NULL,
                          before ? s->from : NULL);
    step->contact = s->contact;
    if (!before) return SU_OK;
    for (int64_t i = 0; i < 3 * s->body.n; i++) s->touched[i] = at->x[i] + u[i];
    return su_self_contact_grip(s->contact, s->options.friction, h, s->touched, before, err);
}

/* The rig's own shape last: the flesh is where a step has just looked for contacts. */
static su_status measure_contact(su_fullsim *s, su_error *err)
{
    if (!s->contact) return SU_OK;
    su_contact_depths rig;
    su_implicit_step unused = {0};
    SU_TRY(begin_contact(s, &s->now, 0, NULL, NULL, &unused, err));
    for (int64_t i = 0; i < 3 * s->body.n; i++) s->touched[i] = s->now.x[i] + s->u[i];
    SU_TRY(su_self_contact_depths(s->contact, s->touched, &s->record.contact, err));
    su_self_contact_begin(s->contact, NULL, NULL);
    SU_TRY(su_self_contact_depths(s->contact, s->now.x, &rig, err));
    s->record.rig_depth = rig.deepest;
    return SU_OK;
}

/* ---- one step ---- */

/* u^: the displacement at which the world position is y + h v, all by inertia. */
static void inertial_guess(const su_fullsim *s, const instant *to, double h, double *out)
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

/* g_v (n,3) at an instant */
static void set_gravity(su_fullsim *s, const instant *at)
{
    su_gravity gravity = su_sim_gravity(&s->settings, at->Q);
    for (int64_t v = 0; v < s->body.n; v++) memcpy(s->gravity + 3 * v, gravity.carried, sizeof gravity.carried);
    su_turn_vectors(s->body.n, at->turn, s->gravity, s->gravity);
    for (int64_t i = 0; i < 3 * s->body.n; i++) s->gravity[i] = gravity.acts[i % 3] - s->gravity[i];
}

static su_implicit_step base_step(su_fullsim *s, const instant *at)
{
    su_implicit_step step = {.rest = at->x,
                             .gravity = s->gravity,
                             .tolerance = s->options.tolerance,
                             .max_iterations = s->options.newton > 0 ? s->options.newton : MAX_NEWTON,
                             .accept_unconverged = s->options.newton > 0,
                             .no_energy = s->options.no_energy};
    set_gravity(s, at);
    return step;
}

static void world_positions(const su_fullsim *s, const instant *at, const double *u, double *y)
{
    for (int64_t v = 0; v < s->body.n; v++) {
        double point[3];
        for (int c = 0; c < 3; c++) point[c] = at->x[3 * v + c] + u[3 * v + c];
        world_position(at, point, y + 3 * v);
    }
}

/* Takes u_next at instant `to` as the new state. */
static void commit(su_fullsim *s, instant *to, double h)
{
    memcpy(s->y_before, s->y, (size_t)(3 * s->body.n) * sizeof *s->y);
    world_positions(s, to, s->u_next, s->y);
    s->h_before = h;
    keep_loads(s, s->u_next);
    double *u = s->u;
    s->u = s->u_next, s->u_next = u;
    instant old = s->now;
    s->now = *to, *to = old;
}

/* What is to be solved for the instant s->next, h after the state. extra: mass damping added, 1/s. */
static su_implicit_step next_step(su_fullsim *s, double h, double extra)
{
    su_implicit_step step = base_step(s, &s->next);
    step.h = h, step.alpha = s->settings.alpha + extra, step.beta = s->settings.beta;
    inertial_guess(s, &s->next, h, s->inertial);
    turn_along(s, &s->now, &s->next, s->u, s->carried);
    step.inertial = s->inertial, step.carried = s->carried, step.turn = s->next.turn;
    prepare_loads(s, &s->next, h, s->carried, &step);
    return step;
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

/* From the state to instant s->next, as next_step. */
static su_status take_step(void *self, double h, double extra, int *solves, su_error *err)
{
    su_fullsim *s = self;
    SU_TRY(precondition(s, err));
    set_body(s, &s->next);
    double start = su_seconds();
    su_implicit_step step = next_step(s, h, extra);
    SU_TRY(begin_contact(s, &s->next, h, s->carried, s->y, &step, err));
    memcpy(s->u_next, s->carried, (size_t)(3 * s->body.n) * sizeof(double));
    su_implicit_result result;
    su_status status = su_implicit_solve(s->implicit, &step, s->u_next, &result, err);
    *solves = result.iterations;
    s->driver.counts.factorizations += result.factorizations;
    if (status == SU_OK) {
        s->record.energy[1] = result.elastic;
        commit(s, &s->next, h);
    }
    s->driver.counts.step_seconds += su_seconds() - start;
    return status;
}

static double elastic_energy(su_fullsim *s)
{
    set_body(s, &s->now);
    for (int64_t i = 0; i < 3 * s->body.n; i++) s->inertial[i] = s->now.x[i] + s->u[i];
    return su_elastic_energy(&s->body, s->inertial, s->options.threads);
}

static void follow(void *self, double h)
{
    su_fullsim *s = self;
    memcpy(s->u_next, s->carried, (size_t)(3 * s->body.n) * sizeof(double));
    su_implicit_admit(s->implicit, s->u_next);
    commit(s, &s->next, h);
    s->record.energy[1] = elastic_energy(s);
}

/* ---- starts ---- */

/* History at the start of a piece, `frame`, where s->now is: y from u, and the step before as docs/formats.md,
 * conventions 14 and 17 say; u_before is the u of the step before (pre-roll; else u). moving: with the rig's velocity,
 * for which the rest shape of the first substep is read. */
static void start_history(su_fullsim *s, int64_t frame, const double *u_before, bool moving)
{
    double h = s->settings.step;
    if (s->loads.external) { /* s->skin is that of s->now here */
        set_loads(s, &s->now, h);
        keep_loads(s, s->u);
    }
    if (moving) evaluate_instant(s, frame, 1.0 / s->settings.substeps, &s->next);
    for (int64_t v = 0; v < s->body.n; v++) {
        double at[3], X0[3], X1[3];
        for (int c = 0; c < 3; c++) at[c] = s->now.x[3 * v + c] + s->u[3 * v + c];
        world_position(&s->now, at, s->y + 3 * v);
        for (int c = 0; c < 3; c++) at[c] = s->now.x[3 * v + c] + u_before[3 * v + c];
        world_position(&s->now, at, s->y_before + 3 * v);
        if (!moving) continue;
        world_position(&s->now, s->now.x + 3 * v, X0);
        world_position(&s->next, s->next.x + 3 * v, X1);
        for (int c = 0; c < 3; c++) s->y_before[3 * v + c] += X0[c] - X1[c];
    }
    s->h_before = h;
}

static void rest(void *self)
{
    su_fullsim *s = self;
    instant entered = s->next;
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
    set_body(s, &s->now);
    memcpy(s->carried, s->u, (size_t)(3 * s->body.n) * sizeof(double));
    prepare_loads(s, &s->now, 0.0, s->u, &step);
    SU_TRY(begin_contact(s, &s->now, 0.0, s->u, NULL, &step, err));
    SU_TRY(su_implicit_solve(s->implicit, &step, s->u, &result, err));
    s->driver.counts.solves += result.iterations;
    return SU_OK;
}

static su_status settle(void *self, su_error *err)
{
    su_fullsim *s = self;
    SU_TRY(find_rest(s, s->options.tolerance, err));
    start_history(s, 0, s->u, false);
    return SU_OK;
}

static void finish_record(su_fullsim *s)
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
    s->record.u = s->u, s->record.w = s->now.w;
    s->record.iterations = s->driver.iterations, s->record.status = s->driver.status;
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
    start_history(s, 0, ran ? s->carried : s->u, s->settings.start == SU_START_MOVING);
    s->record.energy[1] = elastic_energy(s);
}

static void jump(void *self)
{
    su_fullsim *s = self;
    turn_along(s, &s->now, &s->next, s->u, s->u_next);
    su_implicit_admit(s->implicit, s->u_next);
    commit(s, &s->next, s->settings.step);
    start_history(s, s->entered, s->u, s->settings.start == SU_START_MOVING);
    s->record.energy[1] = elastic_energy(s);
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
    s->entered = frame;
    set_time(s, frame, fraction);
    evaluate_instant(s, frame, fraction, &s->next);
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

su_status su_fullsim_advance(su_fullsim *s, su_error *err)
{
    if (s->frame + 1 >= su_shot_frames(s->shot)) return su_fail(err, SU_FAILED, "the shot is at its end");
    s->driver.iterations = 0, s->driver.status = SU_STATUS_OK;
    su_shot_place at = {s->frame, 0};
    do {
        at = su_shot_next(&s->driver, at);
        SU_TRY(su_shot_to(&s->driver, at, err));
    } while (!su_shot_ends_frame(&s->driver, at));
    s->frame++;
    finish_record(s);
    return measure_contact(s, err);
}

void su_fullsim_set_solves(su_fullsim *s, int newton) { s->options.newton = newton; }

void su_fullsim_set_stiffness(su_fullsim *s, double stiffness)
{
    s->settings.stiffness = stiffness;
    for (int64_t e = 0; e < s->fit->t; e++) s->young[e] = stiffness * s->fit->young[e];
    set_material(s, s->fit->poisson);
    s->preconditioned = false;
}

su_status su_fullsim_restart(su_fullsim *s, int64_t frame, su_error *err)
{
    bool last = frame > 0 && frame + 1 >= su_shot_frames(s->shot);
    int64_t segment = last ? frame - 1 : frame;
    evaluate_instant(s, segment, last ? 1.0 : 0.0, &s->now);
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
    s->record.energy[1] = elastic_energy(s);
    finish_record(s);
    return measure_contact(s, err);
}

/* ---- beside another simulation ---- */

void su_fullsim_place(su_fullsim *s, int64_t frame, int substep, const double *back, const double *before)
{
    int substeps = s->settings.substeps;
    bool starts = substep == 0 && (frame == 0 || su_shot_cut(s->shot, frame));
    s->frame = frame, s->substep = substep;
    if (!starts) {
        int64_t from = substep > 0 ? frame : frame - 1;
        evaluate_instant(s, from, (double)((substep > 0 ? substep : substeps) - 1) / substeps, &s->next);
        su_turn_vectors(s->body.n, s->next.turn, before, s->u_next);
        world_positions(s, &s->next, s->u_next, s->y_before);
    }
    evaluate_instant(s, frame, (double)substep / substeps, &s->now);
    su_turn_vectors(s->body.n, s->now.turn, back, s->u);
    su_implicit_admit(s->implicit, s->u);
    set_time(s, frame, su_shot_fraction(&s->driver, substep));
    if (starts) {
        start_history(s, frame, s->u, s->settings.start == SU_START_MOVING);
        return;
    }
    world_positions(s, &s->now, s->u, s->y);
    s->h_before = s->settings.step;
    if (!s->loads.external) return;
    set_loads(s, &s->now, s->settings.step);
    keep_loads(s, s->u);
}

void su_fullsim_residual(su_fullsim *s, const double *back, double *residual, su_fullsim_instant *at)
{
    set_time(s, s->frame, su_shot_fraction(&s->driver, s->substep + 1));
    evaluate_instant(s, s->frame, (double)(s->substep + 1) / s->settings.substeps, &s->next);
    set_body(s, &s->next);
    su_implicit_step step = next_step(s, s->settings.step, 0.0);
    su_turn_vectors(s->body.n, s->next.turn, back, s->u_next);
    const su_sparse *K = su_implicit_residual(s->implicit, &step, s->u_next, residual);
    su_turn_back_vectors(s->body.n, s->next.turn, residual, residual);
    *at = (su_fullsim_instant){&s->body, s->next.x, s->next.turn, s->next.w, s->u_next, K};
}

void su_fullsim_rest_residual(su_fullsim *s, double *residual, su_fullsim_instant *at)
{
    set_body(s, &s->now);
    su_implicit_step step = base_step(s, &s->now);
    step.carried = s->u;
    prepare_loads(s, &s->now, 0.0, s->u, &step);
    const su_sparse *K = su_implicit_residual(s->implicit, &step, s->u, residual);
    su_turn_back_vectors(s->body.n, s->now.turn, residual, residual);
    *at = (su_fullsim_instant){&s->body, s->now.x, s->now.turn, s->now.w, s->u, K};
}

void su_fullsim_follow(su_fullsim *s)
{
    commit(s, &s->next, s->settings.step);
    s->substep++;
}

const double *su_fullsim_turn(const su_fullsim *s) { return s->now.turn; }

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
    evaluate_instant(s, frame, 0.0, &s->now); /* what the end of the segment before gave: splines hit the frames */
}

/* ---- creation ---- */

void su_embedded_neutral(const su_tet *tet, double *neutral)
{
    for (int64_t k = 0; k < tet->nbar; k++)
        for (int c = 0; c < 3; c++) {
            neutral[3 * k + c] = 0.0;
            for (int j = 0; j < 4; j++)
                neutral[3 * k + c] += tet->embed_bary[4 * k + j] *
                                      tet->vertices[3 * (int64_t)tet->tets[4 * (int64_t)tet->embed_tet[k] + j] + c];
        }
}

su_status su_check_whole_fit(const su_tet *tet, const su_fit *fit, su_error *err)
{
    if (fit->n != tet->n || fit->t != tet->t)
        return su_fail(err, SU_INPUT,
                       "the fit has %lld vertices and %lld tets, the flesh %lld and %lld: made for another mesh",
                       (long long)fit->n, (long long)fit->t, (long long)tet->n, (long long)tet->t);
    if (fit->k != fit->m)
        return su_fail(err, SU_INPUT, "the fit holds %lld of %lld example poses: fit the others first",
                       (long long)fit->k, (long long)fit->m);
    for (int64_t i = 0; i < fit->k; i++)
        if (fit->pose[i] != i) return su_fail(err, SU_INPUT, "the poses of the fit are not in order");
    return SU_OK;
}

static su_status allocate(su_fullsim *s, int64_t nbar, su_error *err)
{
    int64_t n3 = 3 * s->body.n;
    double **arrays[] = {&s->u, &s->u_next,   &s->carried, &s->inertial, &s->gravity,
                         &s->y, &s->y_before, &s->touched, &s->from};
    bool good = allocate_instant(s, &s->now) && allocate_instant(s, &s->next);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        good &= (*arrays[i] = su_arena_alloc(&s->arena, n3, sizeof(double))) != NULL;
    good &= (s->contact_k = su_arena_alloc(&s->arena, s->body.n, sizeof(double))) != NULL;
    good &= (s->neutral = su_arena_alloc(&s->arena, 3 * nbar, sizeof(double))) != NULL;
    good &= (s->skin = su_arena_alloc(&s->arena, 3 * nbar, sizeof(double))) != NULL;
    good &= (s->p = su_arena_alloc(&s->arena, s->fit->s + 1, sizeof(double))) != NULL;
    good &= (s->positive = su_arena_alloc(&s->arena, s->fit->m, sizeof(double))) != NULL;
    good &= (s->young = su_arena_alloc(&s->arena, s->fit->t, sizeof(double))) != NULL;
    good &= (s->poisson = su_arena_alloc(&s->arena, s->fit->t, sizeof(double))) != NULL;
    return good ? SU_OK : su_fail(err, SU_AGAIN, "no memory for %lld flesh vertices", (long long)s->body.n);
}

static su_status constrain(su_fullsim *s, const su_skinning *of, su_error *err)
{
    s->options.complementary = NULL;
    if (!of) return SU_OK;
    if (of->n != s->body.n)
        return su_fail(err, SU_INPUT, "rows of %lld flesh vertices on a flesh of %lld: made for another mesh",
                       (long long)of->n, (long long)s->body.n);
    if (of->rows + of->shapes == 0) return SU_OK;
    SU_TRY(su_complement_create(&s->body, of->rows, of->rig_rows, of->shapes, of->rig_shapes, &s->complement, err));
    su_implicit_constrain(s->implicit, s->complement);
    return SU_OK;
}

su_status su_fullsim_create(const su_tet *tet, const su_fit *fit, const su_shot *shot, const su_sim_settings *settings,
                            const su_fullsim_options *options, su_fullsim **out, su_error *err)
{
    *out = NULL;
    SU_TRY(su_check_whole_fit(tet, fit, err));
    const char *name = fit->file.meta ? json_string_value(json_object_get(fit->file.meta, "material")) : NULL;
    int material = name ? su_material_from_name(name) : SU_NEOHOOKEAN;
    if (material < 0) return su_fail(err, SU_INPUT, "the fit names an unknown material '%s'", name);
    bool arap = options->material && strcmp(options->material, "arap") == 0;
    if (options->material) material = arap ? SU_COROTATIONAL : su_material_from_name(options->material);
    if (material < 0) return su_fail(err, SU_USAGE, "no material is called '%s'", options->material);
    su_status status = SU_OK;
    su_fullsim *s = calloc(1, sizeof *s);
    if (!s) return su_fail(err, SU_AGAIN, "no memory");
    s->tet = tet, s->fit = fit, s->rig = su_rig_of_fit(fit), s->shot = shot, s->settings = *settings,
    s->options = *options, s->shear_only = arap;
    s->settings.teleports = NULL;
    if (options->placed) s->settings.placed = true, s->settings.preroll_steps = 0;
    s->driver = su_shot_driver_of(&stepper, s, &s->settings);
    SU_GO(su_elastic_create(&s->body, tet->n, tet->vertices, tet->t, tet->tets, options->loose ? 0 : tet->fixed_count,
                            options->loose ? NULL : tet->fixed, (su_material)material, fit->young, fit->poisson,
                            fit->density, err));
    SU_GO(allocate(s, tet->nbar, err));
    SU_GO(su_implicit_create(&s->body, options->threads, &s->implicit, err));
    SU_GO(constrain(s, options->complementary, err));
    if (options->self_contact != SU_SELF_CONTACT_NONE)
        SU_GO(su_self_contact_create(&s->body, tet->vertices, options->threads, &s->contact, err));
    s->smoothing = su_fit_smoothing(fit);
    SU_GO(su_rotation_field_create(tet->n, tet->vertices, tet->t, tet->tets, &s->smoothing, 0, NULL, &s->field, err));
    s->rest = (su_rest_shape){
        tet->n,          fit->m, tet->ties, tet->vertices, s->neutral, tet->shepard_index, tet->shepard_weight,
        fit->corrections};
    su_embedded_neutral(tet, s->neutral);
    for (int64_t e = fit->t; e < fit->m * fit->t && !s->blend_materials; e++)
        s->blend_materials = fit->young[e] != fit->young[e - fit->t] || fit->poisson[e] != fit->poisson[e - fit->t];
    su_fullsim_set_stiffness(s, settings->stiffness);
    if (settings->external)
        SU_GO(su_loads_create(settings->external, tet->embed_tet, tet->embed_bary, tet->tets, &s->loads, err));
    SU_GO(su_shot_begin(&s->driver, false, err));
    finish_record(s);
    SU_GO(measure_contact(s, err));
    *out = s;
done:
    if (status != SU_OK) su_fullsim_free(s);
    return status;
}

void su_fullsim_free(su_fullsim *s)
{
    if (!s) return;
    su_implicit_free(s->implicit);
    su_complement_free(s->complement);
    su_self_contact_free(s->contact);
    su_loads_free(&s->loads);
    su_rotation_field_free(s->field);
    su_elastic_free(&s->body);
    su_arena_free(&s->arena);
    free(s);
}
