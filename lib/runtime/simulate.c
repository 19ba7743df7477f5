#include "runtime/simulate_internal.h"

#include "core/memory.h"
#include "core/threads.h"
#include "runtime/subspace/shot_lanes.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Times a step is halved at most. With four, rigs that tear at the flesh put more than ten times their energy into it
 * (tests/test_violent_rigs.c): steps of one solve come to be damped, or to follow, too soon. */
enum { MAX_HALVINGS = 6 };

void su_simulation_free(su_simulation *s)
{
    if (!s) return;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < SU_SIMULATION_BLOCK; i++) su_pose_free(s->banks[k].poses + i);
    su_pose_free(&s->probe);
    su_pose_free(&s->first);
    for (int k = 0; s->inputs && k <= SU_POSE_FRAMES * s->threads; k++) su_pose_input_free(s->inputs + k);
    for (int k = 0; s->works && k <= s->threads; k++) su_pose_work_free(s->works + k);
    su_arena_free(&s->arena);
    su_shot_window_free(&s->window);
    su_rest_lanes_free(&s->whole_lanes);
    su_rest_patch_free(&s->whole);
    su_stepper_free(&s->stepper);
    su_loads_free(&s->loads);
    free(s);
}

su_stepper *su_simulation_stepper(su_simulation *s) { return &s->stepper; }

int64_t su_simulation_frames_done(const su_simulation *s) { return s->done; }
const su_shot_counts *su_simulation_counts(const su_simulation *s) { return &s->driver.counts; }

/* ---- instants ---- */

static void sample(const su_simulation *s, int64_t frame, double fraction, su_pose_input *input)
{
    su_shot_sample(s->shot, frame, fraction, input->p, input->Q, input->c);
}

/* By the stepping thread, off the plan. */
static void probe(su_simulation *s, int64_t frame, double fraction, su_pose *pose)
{
    const su_blend *none[2] = {NULL, NULL};
    double start = su_seconds();
    su_pose_input *input = s->inputs + SU_POSE_FRAMES * s->threads;
    su_pose_work *work = s->works + s->threads;
    sample(s, frame, fraction, input);
    su_shot_lanes(s->shot, &s->model->patch, s->model->pose_kernels, NULL, 1,
                  &(su_shot_instant){frame, fraction, input->p}, work->moved);
    su_blend_evaluate(s->model, input->p, --s->probe_serial, &pose->blend);
    su_pose_evaluate(s->model, 1, input, &none, work, pose);
    s->driver.counts.pose_seconds += su_seconds() - start;
    s->driver.counts.instants++;
}

/* The last frame whose instants are planned. */
static int64_t frame_planned(const su_simulation *s)
{
    return s->planned.frame + (s->planned.substep == s->settings.substeps);
}

/* The next `most` instants of the plan, up to frame `until` - 1. */
static void plan_block(su_simulation *s, int64_t until, int64_t most, su_instant_bank *to)
{
    to->count = 0;
    while (to->count < most && frame_planned(s) < until - 1) {
        s->planned = su_shot_next(&s->driver, s->planned);
        to->plan[to->count++] = (su_planned_instant){s->planned, ++s->serial};
    }
}

/* ---- steps ---- */

/* The load points' skin and the time there. */
static void set_loads(su_simulation *s, int64_t frame, double fraction)
{
    const su_external *external = s->settings.external;
    if (!external || external->points == 0) return;
    s->loads.t = s->settings.first_time + ((double)frame + fraction) * s->settings.frame_seconds;
    su_shot_sample_skin(s->shot, frame, fraction, external->points, external->vertex, 1, s->loads.skin);
}

/* Writes the row of the frame just reached. */
static void finish_frame(su_simulation *s, const su_pose *pose, bool start)
{
    su_sim *out = s->out;
    int64_t k = s->done, r = s->model->r, m = s->model->m;
    su_stepper *stepper = &s->stepper;
    memcpy(out->q + k * r, stepper->now->q, (size_t)r * sizeof(double));
    for (int64_t i = 0; i < r; i++)
        out->qdot[k * r + i] = k == 0 ? 0 : (stepper->now->q[i] - stepper->before->q[i]) / stepper->now->h;
    memcpy(out->weights + k * m, pose->blend.w, (size_t)m * sizeof(double));
    memcpy(out->basis_weights + k * m, pose->blend.b, (size_t)m * sizeof(double));
    su_gravity gravity = su_sim_gravity(&s->settings, pose->Q);
    su_stepper_energy(stepper, pose, &gravity);
    out->energy[3 * k] = stepper->kinetic;
    out->energy[3 * k + 1] = stepper->elastic;
    out->energy[3 * k + 2] = stepper->weight;
    out->iterations[k] = s->driver.iterations;
    out->status[k] = s->driver.status;
    s->last_h[k] = start ? 0 : stepper->now->h;
    s->driver.iterations = 0, s->driver.status = SU_STATUS_OK;
    s->done++;
}

/* ---- what the driver drives ---- */

static bool cut(void *self, int64_t frame) { return su_shot_cut(((su_simulation *)self)->shot, frame); }

static void enter(void *self, int64_t frame, double fraction, bool planned)
{
    su_simulation *s = self;
    s->to = planned ? s->pose : fraction > 0 ? &s->probe : &s->first;
    if (s->to == &s->probe) probe(s, frame, fraction, &s->probe);
    set_loads(s, frame, fraction);
}

static void rest(void *self)
{
    su_simulation *s = self;
    su_stepper_start(&s->stepper, s->to, NULL, NULL, NULL, s->settings.step);
}

static su_status settle(void *self, su_error *err)
{
    su_simulation *s = self;
    su_gravity gravity = su_sim_gravity(&s->settings, s->to->Q);
    if (su_stepper_settle(&s->stepper, s->to, &gravity) == SU_STEP_OK) return SU_OK;
    return su_fail(err, SU_NUMERICS, "frame 0: no static equilibrium under gravity");
}

/* The pose of the first step after a start at s->done; NULL where the flesh starts at rest in the world. */
static const su_pose *pose_after_start(su_simulation *s)
{
    if (s->settings.start != SU_START_MOVING) return NULL;
    probe(s, s->done, su_shot_fraction(&s->driver, 1), &s->probe);
    return &s->probe;
}

static void start(void *self, bool ran)
{
    su_simulation *s = self;
    (void)ran; /* the stepper has both displacements in any case */
    su_stepper_start(&s->stepper, s->to, s->stepper.now->q, s->stepper.before->q, pose_after_start(s),
                     s->settings.step);
}

static void jump(void *self)
{
    su_simulation *s = self;
    su_stepper_jump(&s->stepper, s->to, pose_after_start(s), s->settings.step);
}

static su_status take_step(void *self, double h, double extra, int *solves, su_error *err)
{
    su_simulation *s = self;
    su_gravity gravity = su_sim_gravity(&s->settings, s->to->Q);
    su_step_end end = su_stepper_advance(&s->stepper, s->to, h, &gravity, extra);
    *solves = s->stepper.iterations;
    if (s->to->collapsed > s->driver.counts.collapsed) s->driver.counts.collapsed = s->to->collapsed;
    return end == SU_STEP_OK ? SU_OK : su_fail(err, SU_NUMERICS, "%s", su_step_end_text(end));
}

static void follow(void *self, double h)
{
    su_simulation *s = self;
    su_stepper_follow(&s->stepper, s->to, h);
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

su_status su_simulation_create(const su_runtime_model *model, const su_model *source, const su_shot *shot,
                               const su_sim_settings *settings, const su_step_settings *step, int threads,
                               su_simulation **out, su_error *err)
{
    su_status status;
    su_simulation *s = NULL;
    SU_GO(SU_ALLOC(&s, 1, "simulation", err));
    s->model = model, s->shot = shot, s->settings = *settings, s->F = su_shot_frames(shot);
    s->threads = threads > 0 ? threads : 1;
    s->driver = su_shot_driver_of(&stepper, s, &s->settings);
    SU_GO(su_stepper_create(model, step, &s->stepper, err));
    if (settings->external) {
        SU_GO(su_loads_create(settings->external, source->embed_tet, source->embed_bary, source->tets, &s->loads, err));
        SU_GO(su_stepper_set_loads(&s->stepper, model, &s->loads, err));
    }
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < SU_SIMULATION_BLOCK; i++) {
            SU_GO(su_blend_create(model, s->banks[k].blends + i, &s->arena, err));
            if (s->threads > 1 || (k == 0 && i < SU_FRAMES)) SU_GO(su_pose_create(model, s->banks[k].poses + i, err));
        }
    SU_GO(su_pose_create(model, &s->probe, err));
    SU_GO(su_pose_create(model, &s->first, err));
    SU_GO(SU_TAKE_ALL(&s->arena, "the simulation", err, SU_WANT(s->inputs, SU_POSE_FRAMES * s->threads + 1),
                      SU_WANT(s->works, s->threads + 1), SU_WANT(s->last_h, s->F)));
    for (int k = 0; k <= SU_POSE_FRAMES * s->threads; k++)
        SU_GO(su_pose_input_create(model, false, s->inputs + k, err));
    for (int k = 0; k <= s->threads; k++) SU_GO(su_pose_work_create(model, s->works + k, err));
    for (int k = 0; k < 2; k++) SU_GO(su_blend_create(model, s->trail + k, &s->arena, err));
    SU_GO(su_shot_window_create(shot, &model->patch, SU_SIMULATION_BLOCK + 1, &s->window, err));
    SU_GO(su_rest_patch_create(source, source->n, NULL, 0, &s->whole, err));
    SU_GO(su_rest_lanes_create(&s->whole, model->pose_kernels, &s->whole_lanes, err));
    s->whole_size = su_padded(2 * SU_POINT_FRAMES * source->n + model->m + SU_REST_FRAMES * model->s +
                              SU_REST_FRAMES * (3 * s->whole.skin_count + model->m) / 2);
    SU_GO(SU_TAKE_ALL(&s->arena, "rest shapes", err, SU_WANT(s->whole_work, s->threads * s->whole_size)));
    *out = s;
    s = NULL;
done:
    su_simulation_free(s);
    return status;
}

/* ---- the plan, stepped through ---- */

static su_status begin(su_simulation *s, su_error *err)
{
    probe(s, 0, 0, &s->first);
    double started = su_seconds();
    SU_TRY(su_shot_begin(&s->driver, s->again, err));
    finish_frame(s, &s->first, true);
    s->driver.counts.step_seconds += su_seconds() - started;
    return SU_OK;
}

/* Steps to an instant; true where that finishes a frame. */
static bool step_instant(su_simulation *s, su_shot_place at, const su_pose *pose)
{
    s->pose = pose;
    su_shot_to(&s->driver, at, NULL); /* a reduced step has no errors of its own */
    if (s->out->path && at.substep > 0)
        memcpy(s->out->path + (s->done * s->out->substeps + at.substep - 1) * s->model->r, s->stepper.now->q,
               (size_t)s->model->r * sizeof(double));
    bool finished = su_shot_ends_frame(&s->driver, at);
    if (finished) finish_frame(s, pose, at.substep == 0);
    return finished;
}

static void step_block(su_simulation *s, const su_instant_bank *from)
{
    double started = su_seconds(), probes = s->driver.counts.pose_seconds;
    for (int64_t i = 0; i < from->count; i++) step_instant(s, from->plan[i].at, from->poses + i);
    s->driver.counts.step_seconds += su_seconds() - started - (s->driver.counts.pose_seconds - probes);
}

/* When told to stop: on to the end of the frame, and as if the plan ended there. */
static void drain(su_simulation *s, const su_instant_bank *from)
{
    for (int64_t i = 0; i < from->count; i++)
        if (step_instant(s, from->plan[i].at, from->poses + i)) break;
    s->planned = (su_shot_place){s->done - 1, 0};
    for (int k = 0; k < 2; k++) {
        su_blend reached =
            su_posed_blend(&s->stepper.subspace, k ? s->stepper.before->subspace : s->stepper.now->subspace);
        if (k == 0) s->serial = reached.serial;
        su_blend_copy(s->model, &reached, &s->trail[k]);
        /* Between halves of a step the blend is not that of the plan: the plan takes its slow road there, so here too.
         */
        if (s->trail[k].serial < 0) s->trail[k].serial = 0;
    }
}

su_status su_simulation_rewind(su_simulation *s, su_error *err)
{
    if (s->done != s->F) return su_fail(err, SU_USAGE, "only a finished clip can be repeated");
    s->done = 0, s->planned = (su_shot_place){0, 0};
    s->again = true;
    return SU_OK;
}

/* ---- the run ---- */

/* What the pose parts of up to SU_POSE_FRAMES instants from `first` begin with; su_pose_finish ends them, SU_FRAMES at
 * a time. */
typedef struct posing {
    su_pose_input *inputs;
    su_pose_work *work;
    const su_blend *blends[SU_POSE_FRAMES], *older[SU_POSE_FRAMES][2];
    int64_t count;
} posing;

/* thread: of the simulation's own, whose buffers are used. */
static void prepare(su_simulation *s, const su_instant_bank *coming, int64_t first, int thread, posing *p)
{
    su_shot_instant instants[SU_POSE_FRAMES];
    p->count = coming->count - first < SU_POSE_FRAMES ? coming->count - first : SU_POSE_FRAMES;
    p->inputs = s->inputs + SU_POSE_FRAMES * thread, p->work = s->works + thread;
    for (int64_t i = 0; i < p->count; i++) {
        su_shot_place at = coming->plan[first + i].at;
        double fraction = su_shot_fraction(&s->driver, at.substep);
        sample(s, at.frame, fraction, p->inputs + i);
        instants[i] = (su_shot_instant){at.frame, fraction, p->inputs[i].p};
        p->blends[i] = coming->blends + first + i;
        for (int64_t k = 0; k < 2; k++) /* weights of the instants one and two before */
            p->older[i][k] = first + i > k ? coming->blends + first + i - 1 - k : s->trail + k - first - i;
    }
    su_shot_lanes(s->shot, &s->model->patch, s->model->pose_kernels, &s->window, p->count, instants, p->work->moved);
    su_pose_prepare(s->model, p->count, p->inputs, p->blends, p->older, p->work);
}

/* The pose parts of up to SU_POSE_FRAMES instants from `first`. */
static void make_poses(su_simulation *s, su_instant_bank *coming, int64_t first)
{
    double started = su_seconds();
    posing p;
    prepare(s, coming, first, omp_get_thread_num(), &p);
    for (int64_t k = 0; k < p.count; k += SU_FRAMES)
        su_pose_finish(s->model, k, p.inputs, p.blends, p.older, p.work, coming->poses + first + k);
    coming->seconds[first] = su_seconds() - started;
}

/* Weights of the block, and the frames that its skin points are sums of. */
static void make_blends(su_simulation *s, su_instant_bank *coming)
{
    double started = su_seconds();
    su_pose_input *input = s->inputs + SU_POSE_FRAMES * s->threads;
    if (coming->count > 0)
        su_shot_window_cover(&s->window, coming->plan[0].at.frame, coming->plan[coming->count - 1].at.frame);
    for (int64_t i = 0; i < coming->count; i++) {
        const su_planned_instant *at = coming->plan + i;
        sample(s, at->at.frame, su_shot_fraction(&s->driver, at->at.substep), input);
        su_blend_evaluate(s->model, input->p, at->serial, &coming->blends[i]);
        coming->seconds[i] = 0;
    }
    s->driver.counts.pose_seconds += su_seconds() - started;
}

/* The weights of a bank are made; the next bank follows its last two. */
static void leave_trail(su_simulation *s, const su_instant_bank *coming)
{
    int64_t count = coming->count;
    s->driver.counts.instants += count;
    if (count > 1)
        su_blend_copy(s->model, &coming->blends[count - 2], &s->trail[1]);
    else if (count == 1)
        su_blend_copy(s->model, &s->trail[0], &s->trail[1]);
    if (count > 0) su_blend_copy(s->model, &coming->blends[count - 1], &s->trail[0]);
}

/* One thread: poses are stepped while they are in its caches, and the same few are used again. */
static void pose_and_step(su_simulation *s, su_instant_bank *coming)
{
    su_pose *few = s->banks[0].poses;
    make_blends(s, coming);
    for (int64_t first = 0; first < coming->count; first += SU_POSE_FRAMES) {
        double started = su_seconds();
        posing p;
        prepare(s, coming, first, 0, &p); /* the caller may be one of many threads */
        for (int64_t k = 0; k < p.count; k += SU_FRAMES) {
            su_pose_finish(s->model, k, p.inputs, p.blends, p.older, p.work, few);
            double stepping = su_seconds(), probes = s->driver.counts.pose_seconds;
            for (int64_t i = k; i < p.count && i < k + SU_FRAMES; i++)
                step_instant(s, coming->plan[first + i].at, few + i - k);
            double end = su_seconds();
            s->driver.counts.step_seconds += end - stepping - (s->driver.counts.pose_seconds - probes);
            s->driver.counts.pose_seconds += stepping - started;
            started = end;
        }
    }
    leave_trail(s, coming);
}

/* Steps through one bank while the other threads make the pose parts of the next. */
static void overlap(su_simulation *s, su_instant_bank *ready, su_instant_bank *coming)
{
    make_blends(s, coming);
#pragma omp parallel num_threads(s->threads)
#pragma omp single
    {
        if (ready->count > 0) {
#pragma omp task
            step_block(s, ready);
        }
        for (int64_t i = 0; i < coming->count; i += SU_POSE_FRAMES) {
#pragma omp task firstprivate(i)
            make_poses(s, coming, i);
        }
    }
    for (int64_t i = 0; i < coming->count; i++) s->driver.counts.pose_seconds += coming->seconds[i];
    leave_trail(s, coming);
    ready->count = 0;
}

/* When told to stop, with one thread: what is left of the frame. */
static void end_frame(su_simulation *s, int64_t until, su_instant_bank *coming)
{
    while (!su_shot_ends_frame(&s->driver, s->planned)) {
        int64_t left = s->settings.substeps - s->planned.substep;
        plan_block(s, until, left < SU_SIMULATION_BLOCK ? left : SU_SIMULATION_BLOCK, coming);
        pose_and_step(s, coming);
    }
    coming->count = 0;
}

su_status su_simulation_run(su_simulation *s, int64_t until, su_sim *out, su_progress *progress, su_error *err)
{
    if (until > s->F) until = s->F;
    s->out = out;
    int64_t first = s->done;
    su_status status = SU_OK;
    if (s->done == 0 && until > 0) SU_TRY(begin(s, err));
    for (int turn = 0; s->done < until && status == SU_OK; turn ^= 1) {
        su_instant_bank *coming = s->banks + turn, *ready = s->banks + (turn ^ 1);
        plan_block(s, until, SU_SIMULATION_BLOCK, coming);
        if (s->threads == 1)
            pose_and_step(s, coming);
        else
            overlap(s, ready, coming);
        status = su_progress_update(progress, (double)s->done / (double)s->F, err);
        if (status != SU_OK) {
            if (s->threads == 1) end_frame(s, until, coming);
            drain(s, coming);
            coming->count = 0;
        }
    }
    su_simulation_add_rig_kinetic(s, first, s->done);
    for (int64_t k = 3 * first; k < 3 * s->done; k++)
        if (!isfinite(out->energy[k])) return su_fail(err, SU_NUMERICS, "frame %lld: not finite", (long long)(k / 3));
    return status;
}
