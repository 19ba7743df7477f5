#include "estimate/full_stretches.h"

#include "core/threads.h"
#include "estimate/reduced_motion.h"
#include "fem/fullsim.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* s: before the first frame over the limit, in which what the basis lacks comes to rest, and behind the last; and in
 * which the full motion fades into the reduced one. At 4 Hz and a tenth of critical damping an error falls to 0.6 in
 * RUN_IN. */
static const double RUN_IN = 0.2, FADE = 0.15;
/* Tets from which on no two factors are kept. */
enum { LARGE = 200000 };

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

su_status su_full_stretches_choose(int64_t F, const double *estimate, double limit, const int32_t *status,
                                   double frame_seconds, su_full_stretches *out, su_error *err)
{
    int64_t run_in = frames_in(RUN_IN, frame_seconds), fade = frames_in(FADE, frame_seconds);
    *out = (su_full_stretches){0};
    if (!(out->stretch = su_arena_alloc(&out->arena, F, sizeof *out->stretch)))
        return su_fail(err, SU_AGAIN, "no memory for %lld frames", (long long)F);
    for (int64_t k = 0; k < F; k++) {
        if (!(estimate[k] > limit) && !(status && status[k] >= SU_STATUS_DAMPED)) continue;
        int64_t first = k > run_in ? k - run_in : 0, behind = k + run_in + 1;
        su_full_stretch *before = out->count > 0 ? out->stretch + out->count - 1 : NULL;
        if (!before || before->last + 1 < first) {
            before = out->stretch + out->count++;
            *before = (su_full_stretch){.first = first};
        }
        before->fade = behind < F ? behind : F;
        before->last = behind + fade - 1 < F ? behind + fade - 1 : F - 1;
        if (before->last == F - 1) before->fade = F;
    }
    for (int64_t i = 0; i < out->count; i++) out->frames += out->stretch[i].last - out->stretch[i].first + 1;
    return SU_OK;
}

/* What a thread plays with. */
typedef struct player {
    const su_estimate_inputs *in;
    double tolerance;
    su_reduced_motion motion;
    su_displacements from; /* beside which it plays */
    su_instant_basis basis;
    su_fullsim *sim;
    double *back, *before; /* (n,3) */
    su_arena arena;
} player;

static void player_free(player *p)
{
    su_fullsim_free(p->sim);
    su_instant_basis_free(&p->basis);
    su_reduced_motion_free(&p->motion);
    su_arena_free(&p->arena);
}

static su_status player_create(const su_estimate_inputs *in, double tolerance, player *p, su_error *err)
{
    int64_t n3 = 3 * in->model->n;
    *p = (player){.in = in, .tolerance = tolerance};
    SU_TRY(su_reduced_motion_create(in->model, in->shot, in->settings->stiffness, &p->motion, err));
    p->from = (su_displacements){&p->motion, in->sim, in->settings};
    SU_TRY(su_instant_basis_create(&p->motion, &p->basis, err));
    p->back = su_arena_alloc(&p->arena, n3, sizeof *p->back),
    p->before = su_arena_alloc(&p->arena, n3, sizeof *p->before);
    return p->back && p->before ? SU_OK : su_fail(err, SU_AGAIN, "no memory for the full space");
}

/* The simulation at the first frame of a stretch: the shot's own beginning, or the state beside it. */
static su_status start(player *p, int64_t first, int threads, su_error *err)
{
    const su_estimate_inputs *in = p->in;
    su_fullsim_options options = {
        .tolerance = p->tolerance, .threads = threads, .iterative = true, .no_energy = true, .placed = first > 0};
    SU_TRY(su_fullsim_create(in->tet, in->fit, in->shot, in->settings, &options, &p->sim, err));
    if (first == 0) return SU_OK;
    su_displacement(&p->from, &p->basis, first * in->settings->substeps - 1, p->before);
    su_displacement(&p->from, &p->basis, first * in->settings->substeps, p->back);
    su_fullsim_place(p->sim, first, 0, p->back, p->before);
    return SU_OK;
}

/* The frame the simulation stands at: `share` of it and the rest of the motion beside it, root frame. */
static void mix(player *p, int64_t k, double share, const double *full, float *u)
{
    int64_t n = p->in->model->n;
    const double *turn = su_fullsim_turn(p->sim);
    if (share < 1) su_displacement(&p->from, &p->basis, k * p->in->settings->substeps, p->back);
    for (int64_t i = 0; i < 3 * n && share == 1; i++) u[i] = (float)full[i];
    for (int64_t v = 0; v < n && share < 1; v++) {
        double R[9], other[3];
        su_quaternion_matrix(turn + 4 * v, R);
        su_mulv3(R, p->back + 3 * v, other);
        for (int c = 0; c < 3; c++) u[3 * v + c] = (float)(share * full[3 * v + c] + (1 - share) * other[c]);
    }
}

static su_status play(player *p, const su_full_stretch *s, int threads, float *u, int32_t *worst,
                      su_full_stretches *total, const su_progress *progress, su_error *err)
{
    int64_t n3 = 3 * p->in->model->n;
    SU_TRY(start(p, s->first, threads, err));
    for (int64_t k = s->first; k <= s->last; k++) {
        double away = (double)(k - s->fade + 1) / (double)(s->last - s->fade + 2), share = 1;
        if (k >= s->fade) share = 1 - away * away * (3 - 2 * away);
        if (su_progress_stopped(progress)) return su_fail(err, SU_AGAIN, "stopped");
        if (k > s->first) SU_TRY(su_fullsim_advance(p->sim, err));
        su_fullsim_frame state;
        su_fullsim_state(p->sim, &state);
        if (k == s->first && k > 0) { /* as it was placed */
            mix(p, k, 0, p->before, u);
        } else {
            mix(p, k, share, state.u, u);
            if (share == 1 || state.status > worst[k]) worst[k] = state.status;
        }
        u += n3;
    }
    const su_shot_counts *counts = su_fullsim_totals(p->sim);
#pragma omp critical(su_full_stretches)
    total->damped += counts->damped, total->failed += counts->failed;
    return SU_OK;
}

/* Inside a stretch nothing is known but what it begins and ends with; one that the shot begins with begins exact. */
static void bridge(const su_full_stretch *s, int64_t F, double *estimate)
{
    double from = s->first > 0 ? estimate[s->first] : 0, to = s->last + 1 < F ? estimate[s->last] : from;
    for (int64_t k = s->first; k <= s->last; k++) {
        double along = s->last > s->first ? (double)(k - s->first) / (double)(s->last - s->first) : 0;
        estimate[k] = (1 - along) * from + along * to;
    }
}

su_status su_full_stretches_play(const su_estimate_inputs *inputs, su_full_stretches *stretches, double tolerance,
                                 int threads, float *u, int32_t *status, double *estimate, su_progress *progress,
                                 su_error *err)
{
    int64_t n3 = 3 * inputs->model->n, count = stretches->count, done = 0, *at;
    int team = inputs->model->t > LARGE ? 1
               : threads < count        ? threads
                                        : (int)count,
        each = team > 0 ? threads / team : 1;
    su_status first = SU_OK;
    double began = su_seconds();
    SU_TRY(SU_ALLOC(&at, count + 1, "stretches", err));
    for (int64_t i = 0; i < count; i++)
        at[i + 1] = at[i] + stretches->stretch[i].last - stretches->stretch[i].first + 1;
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
    for (int64_t i = 0; i < count; i++) {
        player p;
        su_error own = {0};
        su_status ended = player_create(inputs, tolerance, &p, &own);
        if (ended == SU_OK)
            ended = play(&p, stretches->stretch + i, each > 1 ? each : 1, u + at[i] * n3, status, stretches, progress,
                         &own);
        player_free(&p);
#pragma omp critical(su_full_stretches)
        {
            done += at[i + 1] - at[i];
            if (ended == SU_OK) ended = su_progress_update(progress, (double)done / (double)stretches->frames, &own);
            if (ended != SU_OK && first == SU_OK) {
                first = ended;
                if (err) *err = own;
            }
        }
    }
    free(at);
    for (int64_t i = 0; i < count; i++) bridge(stretches->stretch + i, su_shot_frames(inputs->shot), estimate);
    stretches->seconds = su_seconds() - began;
    return first;
}
