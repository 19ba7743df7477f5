#include "estimate/full_stretches.h"

#include "core/threads.h"
#include "estimate/reduced_motion.h"
#include "fem/fullsim.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <math.h>
#include <string.h>

/* s: before the first frame over the limit, in which what the basis lacks comes to rest, and behind the last; and in
 * which the full motion fades into the reduced one. At 4 Hz and a tenth of critical damping an error falls to LEFT in
 * RUN_IN. */
static const double RUN_IN = 0.2, FADE = 0.15, LEFT = 0.6;
/* What is released at one side of its rest swings to as much on the other: twice as far. */
static const double SWINGS = 2;
/* The bound is a share of what the shot moves, of which at first only the reduced run is known. Where the full motion
 * turns out so much smaller, it is judged again. */
static const double SMALLER = 0.9;

void su_full_stretches_free(su_full_stretches *s)
{
    su_arena_free(&s->arena);
    *s = (su_full_stretches){0};
}

static int64_t frames_in(double seconds, double frame_seconds)
{
    int64_t frames = (int64_t)ceil(seconds / frame_seconds - 1e-6);
    return frames > 1 ? frames : 1;
}

su_stretch_rule su_stretch_rule_of(int64_t F, double frame_seconds)
{
    return (su_stretch_rule){F, frames_in(RUN_IN, frame_seconds), frames_in(FADE, frame_seconds)};
}

su_status su_full_stretches_create(int64_t F, su_full_stretches *out, su_error *err)
{
    *out = (su_full_stretches){0};
    if (!(out->stretch = su_arena_alloc(&out->arena, F, sizeof *out->stretch)))
        return su_fail(err, SU_AGAIN, "no memory for %lld frames", (long long)F);
    return SU_OK;
}

bool su_full_stretches_reach(su_full_stretches *out, const su_stretch_rule *rule, int64_t k, int64_t from)
{
    int64_t F = rule->F, first = k > rule->run_in ? k - rule->run_in : 0, behind = k + rule->run_in + 1;
    su_full_stretch *s = out->count > 0 ? out->stretch + out->count - 1 : NULL;
    if (first < from) first = from;
    bool fresh = !s || s->last + 1 < first;
    if (fresh) {
        s = out->stretch + out->count++;
        *s = (su_full_stretch){.first = first, .last = first - 1};
    }
    out->frames -= s->last - s->first + 1;
    s->fade = behind < F ? behind : F;
    s->last = behind + rule->fade - 1 < F ? behind + rule->fade - 1 : F - 1;
    if (s->last == F - 1) s->fade = F;
    out->frames += s->last - s->first + 1;
    return fresh;
}

/* What a shot is played with. */
typedef struct player {
    const su_estimate_inputs *in;
    const su_full_options *options;
    su_stretch_rule rule;
    su_full_stretches *out;
    su_error_estimator *estimator;
    su_reduced_motion motion;
    su_displacements from; /* beside which it plays */
    su_instant_basis basis;
    su_fullsim *sim;
    double limit;                   /* m */
    int32_t *reduced_status;        /* (F) */
    double *back, *before, *beside; /* (n,3): turned back at the frame and one step earlier; root frame */
    double *error, *error_before;   /* (n,3) full less reduced, turned back */
    float *reduced;                 /* (fade,n,3) of the last frames, root frame, frame k at k % fade */
    float *u;                       /* (F,n,3) frames of stretches, one behind the other */
    int32_t *status;
    double *estimate;
    double true_error; /* m, RMS of `error` and of what the stretch began with */
    su_arena arena;
} player;

static void player_free(player *p)
{
    su_fullsim_free(p->sim);
    su_error_estimator_free(p->estimator);
    su_instant_basis_free(&p->basis);
    su_reduced_motion_free(&p->motion);
    su_arena_free(&p->arena);
}

static su_status player_create(player *p, su_error *err)
{
    const su_estimate_inputs *in = p->in;
    int64_t n3 = 3 * in->model->n, F = su_shot_frames(in->shot);
    SU_TRY(su_reduced_motion_create(in->model, in->shot, in->settings->stiffness, &p->motion, err));
    p->from = (su_displacements){&p->motion, in->sim, in->settings};
    SU_TRY(su_instant_basis_create(&p->motion, &p->basis, err));
    double **arrays[] = {&p->back, &p->before, &p->beside, &p->error, &p->error_before};
    bool good = (p->reduced = su_arena_alloc(&p->arena, p->rule.fade * n3, sizeof *p->reduced)) != NULL &&
                (p->reduced_status = su_arena_alloc(&p->arena, F, sizeof *p->reduced_status)) != NULL;
    for (int k = 0; k < 5; k++) good &= (*arrays[k] = su_arena_alloc(&p->arena, n3, sizeof(double))) != NULL;
    return good ? SU_OK : su_fail(err, SU_AGAIN, "no memory for the full space");
}

/* m: RMS over frames and vertices of what the reduced run moves. */
static double reduced_motion(player *p)
{
    int64_t n = p->in->model->n, F = su_shot_frames(p->in->shot);
    double sum = 0;
    for (int64_t k = 0; k < F; k++) {
        su_displacement(&p->from, &p->basis, k * p->in->settings->substeps, p->back);
        for (int64_t i = 0; i < 3 * n; i++) sum += p->back[i] * p->back[i];
    }
    return n > 0 ? sqrt(sum / (double)(n * F)) : 0;
}

/* The simulation at the first frame of a stretch: the shot's own beginning, or the state beside it. */
static su_status start(player *p, int64_t first, su_error *err)
{
    const su_estimate_inputs *in = p->in;
    su_fullsim_options options = {.tolerance = p->options->tolerance,
                                  .threads = p->options->threads,
                                  .iterative = true,
                                  .no_energy = true,
                                  .placed = first > 0};
    if (first == 0 || !p->sim) {
        su_fullsim_free(p->sim);
        p->sim = NULL;
        SU_TRY(su_fullsim_create(in->tet, in->fit, in->shot, in->settings, &options, &p->sim, err));
    }
    if (first == 0) return SU_OK;
    su_displacement(&p->from, &p->basis, first * in->settings->substeps - 1, p->before);
    su_displacement(&p->from, &p->basis, first * in->settings->substeps, p->back);
    su_fullsim_place(p->sim, first, 0, p->back, p->before);
    return SU_OK;
}

/* What a full displacement and that of the reduced run beside it, both turned back, are apart; its RMS. */
static double apart(int64_t n, const double *full, const double *reduced, double *error)
{
    double sum = 0;
    for (int64_t i = 0; i < 3 * n; i++) error[i] = full[i] - reduced[i], sum += error[i] * error[i];
    return n > 0 ? sqrt(sum / (double)n) : 0;
}

/* What is to be known of frame k, where the simulation stands, of stretch s: its displacements, full ones into u and
 * reduced ones beside it, and how far these are apart. What the full motion began with there dies away. */
static void record(player *p, const su_full_stretch *s, int64_t k, const double *full, float *u)
{
    int64_t n = p->in->model->n;
    float *reduced = p->reduced + k % p->rule.fade * 3 * n;
    double age = (double)(k - s->first) / (double)p->rule.run_in, apart_now;
    su_displacement(&p->from, &p->basis, k * p->in->settings->substeps, p->back);
    su_turn_vectors(n, su_fullsim_turn(p->sim), p->back, p->beside);
    for (int64_t i = 0; i < 3 * n; i++) u[i] = (float)full[i], reduced[i] = (float)p->beside[i];
    su_turn_back_vectors(n, su_fullsim_turn(p->sim), full, p->before);
    apart_now = apart(n, p->before, p->back, p->error);
    p->true_error = apart_now + (s->first > 0 ? p->estimate[s->first] * pow(LEFT, age) : 0);
    for (int64_t i = 0; i < 3 * n && apart_now > 0; i++) p->error[i] *= p->true_error / apart_now;
    if (k > s->first || k == 0) su_error_estimator_know(p->estimator, k, p->beside, full);
}

/* Frames of the stretches before number i. */
static int64_t row_of(const su_full_stretches *out, int64_t i)
{
    int64_t row = 0;
    for (int64_t k = 0; k < i; k++) row += out->stretch[k].last - out->stretch[k].first + 1;
    return row;
}

/* Frames of stretch i from `fade` on, the last that were played: a share of the full motion and the rest of the reduced
 * one beside it. */
static void mix(player *p, int64_t i)
{
    if (i < 0) return;
    const su_full_stretch *s = p->out->stretch + i;
    int64_t n3 = 3 * p->in->model->n;
    for (int64_t k = s->fade; k <= s->last; k++) {
        float *u = p->u + (row_of(p->out, i) + k - s->first) * n3;
        const float *reduced = p->reduced + k % p->rule.fade * n3;
        double away = (double)(k - s->fade + 1) / (double)(s->last - s->fade + 2),
               share = 1 - away * away * (3 - 2 * away);
        for (int64_t v = 0; v < n3; v++) u[v] = (float)(share * (double)u[v] + (1 - share) * (double)reduced[v]);
        if (p->reduced_status[k] > p->status[k]) p->status[k] = p->reduced_status[k];
    }
}

/* Where a stretch for frame k may begin: what the reduced state there lacks of the full one swings to twice its size at
 * most. Bad steps say nothing of themselves beforehand. */
static int64_t begin_at(const player *p, int64_t k)
{
    int64_t from = k - 1;
    if (k == 0 || !(p->estimate[k] > p->limit)) return 0;
    while (from > 0 && (p->estimate[from] == 0 || p->estimate[from] > p->limit / SWINGS)) from--; /* 0: not formed */
    return from;
}

/* The stretch of frame k, until the reduced run is near enough. */
static su_status play(player *p, int64_t k, su_progress *progress, su_error *err)
{
    bool fresh = su_full_stretches_reach(p->out, &p->rule, k, begin_at(p, k));
    int64_t n3 = 3 * p->in->model->n, last = p->out->count - 1;
    su_full_stretch *s = p->out->stretch + last;
    int64_t j = fresh ? s->first : su_fullsim_frame_number(p->sim) + 1;
    float *u = p->u + (row_of(p->out, last) + j - s->first) * n3;
    if (fresh) {
        mix(p, last - 1);
        SU_TRY(start(p, j, err));
    }
    for (; j <= s->last; j++, u += n3) {
        su_fullsim_frame state;
        if (j > s->first) SU_TRY(su_fullsim_advance(p->sim, err));
        su_fullsim_state(p->sim, &state);
        record(p, s, j, state.u, u);
        if (j > s->first || j == 0) p->status[j] = state.status;
        if (j > k && (p->true_error > p->limit || p->reduced_status[j] >= SU_STATUS_DAMPED))
            su_full_stretches_reach(p->out, &p->rule, j, 0);
        SU_TRY(su_progress_update(progress, (double)(j + 1) / (double)p->rule.F, err));
    }
    return SU_OK;
}

/* The estimate goes on from the end of the last stretch, where the error is known. */
static su_status leave(player *p, su_error *err)
{
    const su_full_stretch *s = p->out->stretch + p->out->count - 1;
    int64_t n = p->in->model->n, k = s->last;
    p->estimate[k] = p->true_error;
    if (su_fullsim_before(p->sim, p->before)) {
        su_displacement(&p->from, &p->basis, k * p->in->settings->substeps - 1, p->back);
        apart(n, p->before, p->back, p->error_before);
    } else {
        memcpy(p->error_before, p->error, (size_t)(3 * n) * sizeof *p->error);
    }
    return su_error_estimator_restart(p->estimator, k, p->error, p->error_before, err);
}

/* Inside a stretch nothing is known but what it begins and ends with; one that the shot begins with begins exact, one
 * that it ends with ends as it begins. */
static void bridge(const su_full_stretch *s, int64_t F, double *estimate)
{
    double from = s->first > 0 ? estimate[s->first] : 0, to = s->last + 1 < F ? estimate[s->last] : from;
    for (int64_t k = s->first; k <= s->last; k++) {
        double along = s->last > s->first ? (double)(k - s->first) / (double)(s->last - s->first) : 0;
        estimate[k] = (1 - along) * from + along * to;
    }
}

/* The whole shot, frame by frame, once. */
static su_status march(player *p, su_progress *progress, su_error *err)
{
    int64_t F = p->rule.F, k = 0;
    while (true) {
        su_error own = {0};
        su_status status =
            su_error_estimator_run(p->estimator, p->limit, p->reduced_status, p->estimate, &k, progress, &own);
        if (status == SU_NUMERICS) {
            p->estimate[k] = INFINITY;
        } else if (status != SU_OK) {
            if (err) *err = own;
            return status;
        }
        if (k == F) break;
        if (!p->u) SU_TRY(p->options->room(p->options->self, &p->u, err));
        double began = su_seconds();
        SU_TRY(play(p, k, progress, err));
        p->out->seconds += su_seconds() - began;
        if (p->out->stretch[p->out->count - 1].last + 1 >= F) break;
        SU_TRY(leave(p, err));
    }
    mix(p, p->out->count - 1);
    su_error_estimator_fill(p->estimator, p->estimate);
    for (int64_t i = 0; i < p->out->count; i++) bridge(p->out->stretch + i, F, p->estimate);
    return SU_OK;
}

/* Frames outside of stretches above a limit? */
static bool above(const player *p, double limit)
{
    int64_t i = 0;
    for (int64_t k = 0; k < p->rule.F; k++) {
        while (i < p->out->count && p->out->stretch[i].last < k) i++;
        if ((i == p->out->count || k < p->out->stretch[i].first) && p->estimate[k] > limit) return true;
    }
    return false;
}

su_status su_full_stretches_play(const su_estimate_inputs *inputs, const su_full_options *options,
                                 su_full_stretches *stretches, int32_t *status, double *estimate,
                                 su_estimate_total *total, su_progress *progress, su_error *err)
{
    int64_t F = su_shot_frames(inputs->shot);
    player p = {.in = inputs,
                .options = options,
                .rule = su_stretch_rule_of(F, inputs->settings->frame_seconds),
                .out = stretches,
                .status = status,
                .estimate = estimate};
    su_status ended;
    double limit;
    *total = (su_estimate_total){0};
    if ((ended = player_create(&p, err)) != SU_OK) goto done;
    memcpy(p.reduced_status, status, (size_t)F * sizeof *status);
    limit = isfinite(options->bound) ? options->bound * reduced_motion(&p) : INFINITY;
    do {
        p.limit = limit;
        memset(estimate, 0, (size_t)F * sizeof *estimate);
        memcpy(status, p.reduced_status, (size_t)F * sizeof *status);
        stretches->count = stretches->frames = 0;
        su_error_estimator_free(p.estimator);
        p.estimator = NULL;
        if ((ended = su_error_estimator_create(inputs, options->threads, &p.estimator, err)) != SU_OK) goto done;
        if ((ended = march(&p, progress, err)) != SU_OK) goto done;
        su_error_estimator_total(p.estimator, total);
        limit = isfinite(options->bound) ? options->bound * total->motion : INFINITY;
    } while (limit < SMALLER * p.limit && above(&p, limit));
    if (p.sim) {
        const su_shot_counts *counts = su_fullsim_totals(p.sim);
        stretches->damped = counts->damped, stretches->failed = counts->failed;
    }
done:
    if (ended != SU_OK && p.reduced_status) memcpy(status, p.reduced_status, (size_t)F * sizeof *status);
    player_free(&p);
    return ended;
}
