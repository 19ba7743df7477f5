#include "runtime/supple_runtime_internal.h"

#include "runtime/forces/tets_force.h"

#include <string.h>

/* The pose to step to: once more the same where none was set. */
static const su_pose *to_pose(const supple_runtime *r) { return r->pending ? r->pose : r->last; }

static su_status take_step(void *self, double h, double extra, int *solves, su_error *err)
{
    supple_runtime *r = self;
    if (r->skinning)
        return su_skinning_live_step(r->skinning, h, r->beta, extra, solves)
                   ? SU_OK
                   : su_fail(err, SU_NUMERICS, "the step is not finite");
    const su_pose *to = to_pose(r);
    su_gravity gravity = su_sim_gravity(&r->settings, to->Q);
    su_step_end end = su_stepper_advance(&r->stepper, to, h, &gravity, extra);
    *solves = r->stepper.iterations;
    return end == SU_STEP_OK ? SU_OK : su_fail(err, SU_NUMERICS, "%s", su_step_end_text(end));
}

static void follow(void *self, double h)
{
    supple_runtime *r = self;
    if (r->skinning) {
        su_skinning_follow(r->skinning->stepper, &r->skinning->at, h);
        return;
    }
    su_stepper_follow(&r->stepper, to_pose(r), h);
}

const su_shot_stepper su_runtime_steps = {.step = take_step, .follow = follow};

static void split_root(const double root[16], double Q[9], double c[3])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) Q[3 * i + j] = root[4 * i + j];
        c[i] = root[4 * i + 3];
    }
}

/* Into poses, one after the other; the weights before the first are those of the last two steps. */
static void evaluate_basis(supple_runtime *r, int64_t count, const double *parameters, const double *points,
                           const double *roots, su_pose_input *inputs, su_pose *poses)
{
    const su_blend *last = r->last->blend.serial ? &r->last->blend : NULL,
                   *older = r->older->blend.serial ? &r->older->blend : NULL, *before[SUPPLE_AHEAD][2];
    for (int64_t f = 0; f < count; f++) {
        su_pose_input *input = inputs + f;
        memcpy(input->p, parameters + f * r->file.s, (size_t)r->file.s * sizeof(double));
        for (int64_t k = 0; k < r->posed_count; k++)
            memcpy(input->skin + 3 * k, points + 3 * (f * r->needed + r->patch_at[k]), 3 * sizeof(double));
        split_root(roots + 16 * f, input->Q, input->c);
        before[f][0] = last, before[f][1] = older;
        su_blend_evaluate(&r->model, input->p, ++r->serial, &poses[f].blend);
        older = last, last = &poses[f].blend;
    }
    su_pose_evaluate(&r->model, count, inputs, before, &r->work, poses);
}

static void pose_basis(supple_runtime *r, const double *parameters, const double root[16])
{
    /* A pose that was set but never stepped to is simply replaced. */
    evaluate_basis(r, 1, parameters, r->points, root, &r->input, r->pose);
    r->pending = true;
    if (r->started) return;
    su_stepper_start(&r->stepper, r->pose, NULL, NULL, NULL, SU_RUNTIME_FIRST_STEP);
    if (r->settings.gravity_mode ==
        SU_GRAVITY_RELATIVE) { /* as shots begin; where there is no rest, it starts at u = 0 */
        su_gravity gravity = su_sim_gravity(&r->settings, r->pose->Q);
        su_stepper_settle(&r->stepper, r->pose, &gravity);
    }
}

static const double *posed_skin(supple_runtime *r, const double *points)
{
    for (int64_t k = 0; k < r->posed_count; k++)
        memcpy(r->posed + 3 * k, points + 3 * r->patch_at[k], 3 * sizeof(double));
    return r->posed;
}

static void pose_skinning(supple_runtime *r, const double *parameters, const double root[16])
{
    double Q[9], c[3];
    split_root(root, Q, c);
    su_skinning_live_pose(r->skinning, parameters, posed_skin(r, r->points), Q, c, !r->started);
}

/* The host's points, with the sculpts of those parameters. */
static void correct_points(supple_runtime *r, const double *parameters, const double *points, double *out)
{
    memcpy(out, points, (size_t)(3 * r->needed) * sizeof *out);
    if (!r->sculpts) return;
    su_rig_sculpt_weights(&r->model.rig, parameters, r->sculpt_weights);
    for (int64_t i = 0; i < r->file.a; i++)
        for (int64_t k = 0; k < 3 * r->needed; k++) out[k] += r->sculpt_weights[i] * r->sculpts[3 * i * r->needed + k];
}

/* Where the contact points are on the rig. */
static void load_points(supple_runtime *r)
{
    for (int64_t k = 0; k < r->external.points; k++)
        memcpy(r->load->skin + 3 * k, r->points + 3 * r->load_at[k], 3 * sizeof(double));
}

static void forget(supple_runtime *r)
{
    if (r->ahead) r->ahead->count = r->ahead->next = 0, r->ahead->set = -1, r->ahead->turned = false;
}

void supple_set_pose(supple_runtime *r, const double *parameters, const double *points, const double root[16])
{
    forget(r);
    correct_points(r, parameters, points, r->points);
    load_points(r);
    if (r->skinning)
        pose_skinning(r, parameters, root);
    else
        pose_basis(r, parameters, root);
    r->started = true;
}

static su_status open_foreseen(supple_runtime *r, su_error *err)
{
    su_foreseen *ahead;
    SU_TRY(SU_RUNTIME_TAKE(r, err, SU_WANT(ahead, 1)));
    SU_TRY(SU_RUNTIME_TAKE(r, err, SU_WANT(ahead->parameters, SUPPLE_AHEAD * r->file.s),
                           SU_WANT(ahead->points, SUPPLE_AHEAD * 3 * r->needed),
                           SU_WANT(ahead->roots, SUPPLE_AHEAD * 16),
                           SU_WANT(ahead->rebuild_skin, SUPPLE_AHEAD * 3 * r->rebuild_count),
                           SU_WANT(ahead->w, SUPPLE_AHEAD * r->file.m)));

    ahead->set = -1;
    r->ahead = ahead;
    for (int k = 0; k < SUPPLE_AHEAD && !r->skinning; k++) {
        SU_TRY(su_pose_create(&r->model, ahead->poses + k, err));
        SU_TRY(su_pose_input_create(&r->model, true, ahead->inputs + k, err));
    }
    return SU_OK;
}

int supple_foresee(supple_runtime *r, int64_t count, const double *parameters, const double *points,
                   const double *roots)
{
    forget(r);
    if (!r->started || count > SUPPLE_AHEAD || r->no_ahead) return 1;
    if (!r->ahead && open_foreseen(r, NULL) != SU_OK) return r->no_ahead = true;
    su_foreseen *ahead = r->ahead;
    memcpy(ahead->parameters, parameters, (size_t)(count * r->file.s) * sizeof(double));
    memcpy(ahead->roots, roots, (size_t)(16 * count) * sizeof(double));
    for (int64_t f = 0; f < count; f++)
        correct_points(r, parameters + f * r->file.s, points + 3 * f * r->needed, ahead->points + 3 * f * r->needed);
    if (!r->skinning) evaluate_basis(r, count, parameters, ahead->points, roots, ahead->inputs, ahead->poses);
    for (int64_t f = 0; f < count && !r->skinning; f++)
        memcpy(ahead->w + f * r->file.m, ahead->poses[f].blend.w, (size_t)r->file.m * sizeof(double));
    ahead->count = count;
    return 0;
}

int supple_next_pose(supple_runtime *r)
{
    su_foreseen *ahead = r->ahead;
    if (!ahead || ahead->next >= ahead->count) return 1;
    int64_t f = ahead->set = ahead->next++;
    memcpy(r->points, ahead->points + 3 * f * r->needed, (size_t)(3 * r->needed) * sizeof(double));
    load_points(r);
    if (r->skinning) {
        pose_skinning(r, ahead->parameters + f * r->file.s, ahead->roots + 16 * f);
        return 0;
    }
    su_pose free_one = *r->pose; /* which no step reads any more */
    *r->pose = ahead->poses[f], ahead->poses[f] = free_one;
    r->pending = true;
    return 0;
}

void supple_start_moving(supple_runtime *r, const double *parameters, const double *points, const double root[16],
                         double seconds)
{
    forget(r);
    if (!r->started || !(seconds > 0)) return;
    correct_points(r, parameters, points, r->start_points);
    if (r->skinning) {
        double Q[9], c[3];
        split_root(root, Q, c);
        su_skinning_live_start(r->skinning, parameters, posed_skin(r, r->start_points), Q, c, r->stepped, seconds);
        return;
    }
    const su_stepper *s = &r->stepper;
    r->older->blend.serial = 0; /* nothing reads it any more */
    evaluate_basis(r, 1, parameters, r->start_points, root, &r->input, r->older);
    su_stepper_start(&r->stepper, to_pose(r), s->now->q, s->before->q, r->older, seconds);
    r->older->blend.serial = 0;
}

void supple_restart(supple_runtime *r)
{
    forget(r);
    r->started = r->stepped = false, r->known = 0;
}

void supple_set_flesh(supple_runtime *r, double stiffness, double damping)
{
    if (damping > 0) r->settings.damping = damping;
    if (!(stiffness > 0)) return;
    r->settings.stiffness = stiffness;
    if (r->skinning)
        su_skinning_set_stiffness(r->skinning->stepper, stiffness);
    else
        su_tets_force_set_stiffness(&r->stepper.force, stiffness);
}

void supple_set_gravity(supple_runtime *r, const double gravity[3], int mode)
{
    memcpy(r->settings.gravity, gravity, sizeof r->settings.gravity);
    r->settings.gravity_mode = mode;
    if (r->skinning) su_skinning_live_set_gravity(r->skinning, &r->settings);
}

int supple_step(supple_runtime *r, double seconds)
{
    if (!r->started || !(seconds > 0)) return SU_STATUS_FAILED;
    su_runtime_advance_colliders(r, seconds);
    r->stepper.settings.beta = r->beta = su_sim_beta(&r->settings, r->frequency, seconds);
    r->driver.status = SU_STATUS_OK;
    r->stepped = true;
    su_shot_step(&r->driver, seconds, NULL); /* a reduced step has no errors of its own */
    if (r->pending) {                        /* of bases */
        su_pose *oldest = r->older;
        r->older = r->last, r->last = r->pose, r->pose = oldest;
        r->pending = false;
    }
    return r->driver.status;
}

/* The corrected skin that displacements are rebuilt by, of points (needed,3). */
static void gather_rebuild(const supple_runtime *r, const double *points, double *out)
{
    for (int64_t k = 0; k < r->rebuild_count; k++)
        memcpy(out + 3 * k, points + 3 * r->rebuild_at[k], 3 * sizeof(double));
}

/* Of a basis: rotations of foreseen poses are made all at once, when the first of them is asked for. */
static void rebuild(supple_runtime *r, double *displacement)
{
    const su_blend *blend = r->pending ? &r->pose->blend : &r->last->blend;
    const double *q = r->stepper.now->q;
    su_foreseen *ahead = r->ahead;
    if (!ahead || ahead->set < 0) {
        gather_rebuild(r, r->points, r->rebuild_skin);
        su_reconstruct_one(r->reconstruct, r->rebuild_skin, blend->w, blend->b, q, NULL, displacement);
        return;
    }
    if (!ahead->turned) {
        for (int64_t f = 0; f < ahead->count; f++)
            gather_rebuild(r, ahead->points + 3 * f * r->needed, ahead->rebuild_skin + 3 * f * r->rebuild_count);
        su_reconstruct_turn(r->reconstruct, ahead->count, ahead->rebuild_skin, ahead->w);
        ahead->turned = true;
    }
    su_reconstruct_turned(r->reconstruct, ahead->set, blend->w, blend->b, q, NULL, displacement);
}

void supple_positions(supple_runtime *r, double *positions)
{
    if (r->skinning) {
        su_skinning_coordinates(r->skinning->stepper, r->q, NULL);
        su_reconstruct_one(r->reconstruct, NULL, NULL, NULL, r->q, NULL, positions);
    } else {
        rebuild(r, positions);
    }
    for (int64_t k = 0; k < r->output_count; k++)
        for (int c = 0; c < 3; c++) positions[3 * k + c] += r->points[3 * (int64_t)r->output_at[k] + c];
}
