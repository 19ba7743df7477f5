#include "check_shots.h"

#include "core/file.h"
#include "core/memory.h"
#include "geometry/mat3.h"
#include "io/stage/anim.h"
#include "io/stage/clip_frame.h"
#include "rig/rig_space.h"
#include "rig/rest_shape.h"
#include "rig/shot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLLAPSED 0.1 /* of the neutral volume (docs/formats.md, convention 8) */

/* The frames of one shot. */
typedef struct track {
    const char *path;
    int64_t frames;
    double start;       /* number of the first frame, as the clip counts */
    int64_t *collapsed; /* (frames) */
    double *residual;   /* (frames) RMS distance of the embedded skin, over the diagonal */
    double *p;          /* (frames,s) */
} track;

static void track_free(track *t) { free(t->collapsed), free(t->residual), free(t->p); }

static int64_t count_collapsed(const su_tet *tet, const double *x)
{
    int64_t count = 0;
    for (int64_t e = 0; e < tet->t; e++) {
        double now[9], neutral[9];
        const int32_t *v = tet->tets + 4 * e;
        const double *X = tet->vertices;
        su_tet_edges(x + 3 * (int64_t)v[0], x + 3 * (int64_t)v[1], x + 3 * (int64_t)v[2], x + 3 * (int64_t)v[3], now);
        su_tet_edges(X + 3 * (int64_t)v[0], X + 3 * (int64_t)v[1], X + 3 * (int64_t)v[2], X + 3 * (int64_t)v[3],
                     neutral);
        count += su_det3(now) < COLLAPSED * su_det3(neutral);
    }
    return count;
}

static double distance_to_skin(const shot_check *check, const double *x, const double *skin)
{
    const su_tet *tet = check->tet;
    double sum = 0;
    for (int64_t v = 0; v < tet->nbar; v++) {
        const int32_t *corner = tet->tets + 4 * (int64_t)tet->embed_tet[v];
        if (check->area[v] == 0) continue;
        for (int i = 0; i < 3; i++) {
            double d = -skin[3 * v + i];
            for (int a = 0; a < 4; a++) d += tet->embed_bary[4 * v + a] * x[3 * (int64_t)corner[a] + i];
            sum += check->area[v] * d * d;
        }
    }
    return sqrt(sum) / check->diagonal;
}

/* Frames beside each other; one that fails to get memory fails all. */
static su_status measure_frames(su_tool *tool, const shot_check *check, const su_shot *shot, track *out)
{
    const su_fit *fit = check->fit;
    const su_rig_space rig = su_rig_of_fit(fit);
    const su_tet *tet = check->tet;
    su_rest_shape shape = {.n = fit->n,
                           .m = fit->m,
                           .ties = tet->ties,
                           .vertices = tet->vertices,
                           .neutral = check->poses->neutral,
                           .shepard_index = tet->shepard_index,
                           .shepard_weight = tet->shepard_weight,
                           .corrections = fit->corrections};
    su_status first = SU_OK;
#pragma omp parallel num_threads(tool->threads)
    {
        double *work = NULL, *skin, *x, *w;
        su_error err = {0};
        su_status status = SU_ALLOC(&work, 3 * tet->nbar + 3 * fit->n + fit->m, "shot", &err);
        skin = work, x = skin + 3 * tet->nbar, w = x + 3 * fit->n;
#pragma omp for schedule(dynamic)
        for (int64_t f = 0; f < out->frames; f++) {
            double *p = out->p + fit->s * f;
            if (status != SU_OK || su_progress_stopped(&tool->progress)) continue;
            su_shot_sample(shot, f, 0, p, NULL, NULL);
            su_shot_sample_skin(shot, f, 0, 0, NULL, 1, skin);
            su_rig_weights(&rig, p, w);
            su_rest_shape_evaluate(&shape, fit->n, NULL, skin, w, x);
            out->collapsed[f] = count_collapsed(tet, x);
            out->residual[f] = distance_to_skin(check, x, skin);
        }
        if (status != SU_OK) {
#pragma omp critical
            first = tool->err.status = status, tool->err = err;
        }
        free(work);
    }
    return first == SU_OK ? su_progress_update(&tool->progress, 0.97, &tool->err) : first;
}

static su_status make_track(su_tool *tool, const shot_check *check, const char *path, track *out)
{
    su_error *err = &tool->err;
    const su_fit *fit = check->fit;
    su_anim anim = {0};
    su_shot *shot = NULL;
    su_status status;
    su_shot_target target = {.rig = su_rig_of_fit(fit), .nbar = check->poses->nbar, .neutral = check->poses->neutral};
    target.rig.param_names = json_object_get(check->poses->file.meta, "param_names"); /* the fit has none yet */
    out->path = path;
    SU_GO(su_anim_load(path, &anim, err));
    SU_GO(su_shot_create(&anim, path, &target, 0, NULL, &shot, NULL, err));
    out->start = su_clip_frame_number(&anim, 0);
    out->frames = su_shot_frames(shot);
    SU_GO(SU_ALLOC(&out->collapsed, out->frames, "shot", err));
    SU_GO(SU_ALLOC(&out->residual, out->frames, "shot", err));
    SU_GO(SU_ALLOC(&out->p, out->frames * fit->s + 1, "shot", err));
    SU_GO(measure_frames(tool, check, shot, out));
done:
    su_shot_free(shot);
    su_anim_free(&anim);
    return status;
}

static void report(su_tool *tool, const shot_check *check, const track *t, json_t *list)
{
    int64_t worst = 0, far = 0, with = 0;
    for (int64_t f = 0; f < t->frames; f++) {
        with += t->collapsed[f] > 0;
        if (t->collapsed[f] > t->collapsed[worst]) worst = f;
        if (t->residual[f] > t->residual[far]) far = f;
    }
    su_note(tool,
            "%s: %lld of %lld frames with collapsed tets, most at frame %.10g: %lld; at most %.3f %% off the skin, at "
            "frame %.10g",
            su_base_name(t->path), (long long)with, (long long)t->frames, t->start + (double)worst,
            (long long)t->collapsed[worst], 100 * t->residual[far], t->start + (double)far);
    /* where the rest shape is the neutral one, turned, nothing is measured from a collapsed tet (docs/design.md, 5) */
    if (!check->fit->turn_start && t->collapsed[worst] > check->tet->t / 50)
        su_warn(tool, "%s: %.1f %% of the tets collapse at frame %.10g; more example poses would help (--poses N)",
                su_base_name(t->path), 100.0 * (double)t->collapsed[worst] / (double)check->tet->t,
                t->start + (double)worst);
    json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:f, s:I, s:f}", "shot", su_base_name(t->path), "frames",
                                          (json_int_t)t->frames, "frames_with_collapsed", (json_int_t)with,
                                          "worst_frame", t->start + (double)worst, "collapsed",
                                          (json_int_t)t->collapsed[worst], "residual", t->residual[far]));
}

static double distance_of(const su_fit *fit, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t k = 0; k < fit->s; k++) sum += pow((a[k] - b[k]) * fit->param_scale[k], 2);
    return sqrt(sum);
}

/* The frames with most collapsed tets first, each at least half as far from those before as it is from the example
 * poses: a pose there mends its surroundings. */
static su_status suggest(su_tool *tool, const shot_check *check, const track *tracks, int count)
{
    const su_fit *fit = check->fit;
    json_t *list = json_array();
    const double **chosen = NULL;
    SU_TRY(SU_ALLOC(&chosen, check->suggest, "suggestions", &tool->err));
    int given = 0;
    for (; given < check->suggest; given++) {
        const track *best = NULL;
        int64_t frame = 0;
        for (int k = 0; k < count; k++)
            for (int64_t f = 0; f < tracks[k].frames; f++) {
                const double *p = tracks[k].p + fit->s * f;
                if (tracks[k].collapsed[f] == 0 || (best && tracks[k].collapsed[f] <= best->collapsed[frame])) continue;
                double nearest = INFINITY, earlier = INFINITY;
                for (int64_t i = 0; i < fit->m; i++)
                    nearest = fmin(nearest, distance_of(fit, p, fit->params + i * fit->s));
                for (int i = 0; i < given; i++) earlier = fmin(earlier, distance_of(fit, p, chosen[i]));
                if (nearest < 1e-6 || earlier <= 0.5 * nearest) continue; /* nearer poses are refused */
                best = &tracks[k], frame = f;
            }
        if (!best) break;
        chosen[given] = best->p + fit->s * frame;
        char name[SU_CLIP_FRAME_ROOM];
        su_clip_frame_name(best->path, best->start + (double)frame, name, sizeof name);
        json_array_append_new(list,
                              json_pack("{s:s, s:I}", "pose", name, "collapsed", (json_int_t)best->collapsed[frame]));
        su_note(tool, "add a pose at %s (%lld collapsed tets)", name, (long long)best->collapsed[frame]);
    }
    if (given == 0) su_note(tool, "no pose to add: no tet collapses in the shots");
    json_object_set_new(tool->stats, "suggest", list);
    free(chosen);
    return SU_OK;
}

su_status check_shots(su_tool *tool, const shot_check *check, const su_list *paths)
{
    track *tracks = NULL;
    json_t *list = json_array();
    su_status status;
    SU_GO(SU_ALLOC(&tracks, paths->count, "shots", &tool->err));
    for (int i = 0; i < paths->count; i++) {
        SU_GO(make_track(tool, check, paths->items[i], &tracks[i]));
        report(tool, check, &tracks[i], list);
    }
    json_object_set(tool->stats, "shots", list);
    if (check->suggest > 0) SU_GO(suggest(tool, check, tracks, paths->count));
done:
    for (int i = 0; tracks && i < paths->count; i++) track_free(&tracks[i]);
    free(tracks);
    json_decref(list);
    return status;
}
