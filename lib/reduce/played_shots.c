#include "reduce/played_shots.h"

#include "core/memory.h"
#include "fem/fullsim.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"
#include "rig/rest_shape.h"
#include "rig/shot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRETCH = 16, RUN_IN = 4, SOLVES = 2 };   /* frames, solves a step */

/* One shot on its way through the full space. */
typedef struct stage {
    const su_tet *tet;
    const su_fit *fit;
    const su_anim *anim;
    su_shot *shot;
    su_fullsim *sim;
    su_rotation_field *field;
    su_rest_shape rest;
    double *skin, *x, *rotation;
    int threads, number;
} stage;

static void stage_free(stage *s)
{
    su_fullsim_free(s->sim);
    su_shot_free(s->shot);
    su_rotation_field_free(s->field);
    free(s->skin), free(s->x), free(s->rotation);
}

/* The fit as fullsim wants it, with all poses: `own` stands in where some are missing, with one pose and no correction. */
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

static double number_in(const json_t *meta, const char *key, double fallback)
{
    const json_t *value = json_object_get(meta, key);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

static su_status stage_open(stage *s, const char *path, su_error *err)
{
    const su_fit *fit = s->fit;
    const su_shot_target target = {.nbar = s->tet->nbar, .s = fit->s, .a = fit->a, .params = fit->params,
                                   .param_scale = fit->param_scale,
                                   .param_names = json_object_get(fit->file.meta, "param_names"),
                                   .psd_params = fit->psd_params, .psd_shapes = fit->psd_shapes, .psd_rbf = fit->psd_rbf,
                                   .param_mean = fit->param_mean, .param_basis = fit->param_basis};
    su_sim_settings settings = su_sim_defaults();
    su_fullsim_options options = {.tolerance = 1e-8, .newton = SOLVES, .threads = s->threads};
    su_status status;
    SU_GO(su_shot_create(s->anim, path, &target, 0, NULL, &s->shot, NULL, err));
    settings.substeps = 1;
    SU_GO(su_sim_settings_resolve(&settings, number_in(fit->file.meta, "frequency", 0), s->anim->F, s->anim->times,
                                  number_in(s->anim->file.meta, "fps", 24), err));
    SU_GO(su_fullsim_create(s->tet, fit, s->shot, &settings, &options, &s->sim, err));
done:
    su_sim_settings_free(&settings);
    return status;
}

/* The displacement at the frame that the simulation stands at, turned back. */
static void turn_back(stage *s, int64_t frame, double *shape)
{
    su_fullsim_frame state;
    bool last = frame + 1 == su_shot_frames(s->shot) && frame > 0;
    su_fullsim_state(s->sim, &state);
    su_shot_sample(s->shot, last ? frame - 1 : frame, last ? 1 : 0, 0, NULL, s->skin, NULL, NULL, NULL);
    su_rest_shape_evaluate(&s->rest, s->tet->n, NULL, s->skin, state.w, s->x);
    su_rotation_field_evaluate(s->field, s->x, s->rotation, s->threads);
    for (int64_t v = 0; v < s->tet->n; v++) {
        double R[9];
        su_quaternion_matrix(s->rotation + 4 * v, R);
        su_tmulv3(R, state.u + 3 * v, shape + 3 * v);
    }
}

/* Frames first + 1 .. first + count - 1 of those that `before` frames lead up to. */
static su_status play_stretch(stage *s, int64_t first, int64_t before, int64_t count, su_played_shots *out, int64_t most,
                              const su_progress *progress, su_error *err)
{
    int64_t start = first > before ? first - before : 0;
    su_fullsim_restart(s->sim, start);
    for (int64_t f = start + 1; f < first + count; f++) {
        if (su_progress_stopped(progress)) return su_fail(err, SU_AGAIN, "stopped");
        SU_TRY(su_fullsim_advance(s->sim, err));
        if (f < first || out->count >= most) continue;
        out->shot[out->count] = s->number, out->frame[out->count] = f;
        turn_back(s, f, out->shapes + 3 * s->tet->n * out->count++);
    }
    return SU_OK;
}

static su_status play_shot(stage *s, int64_t wanted, su_played_shots *out, int64_t room, const su_progress *progress,
                           su_error *err)
{
    int64_t F = s->anim->F, from = out->count, size = 3 * s->tet->n;
    if (wanted >= F - 1) {
        SU_TRY(play_stretch(s, 0, 0, F, out, room, progress, err));
    } else {
        int64_t stretches = wanted / STRETCH > 1 ? wanted / STRETCH : 1, length = wanted < STRETCH ? wanted : STRETCH;
        for (int64_t k = 0; k < stretches; k++)
            SU_TRY(play_stretch(s, stretches > 1 ? k * (F - length) / (stretches - 1) : (F - length) / 2, RUN_IN, length, out,
                                room, progress, err));
    }
    double squares = 0;
    for (int64_t i = from * size; i < out->count * size; i++) squares += out->shapes[i] * out->shapes[i];
    for (int64_t k = from; k < out->count; k++) out->weights[k] = sqrt(squares / (double)(out->count - from));
    return SU_OK;
}

/* From root mean squares of their shots to weights. */
static void balance(su_played_shots *out)
{
    double largest = 0;
    for (int64_t k = 0; k < out->count; k++) largest = fmax(largest, out->weights[k]);
    for (int64_t k = 0; k < out->count; k++)
        out->weights[k] = largest > 0 ? largest / fmax(out->weights[k], largest / 20) : 1;
}

su_status su_shots_play(const su_tet *tet, const su_fit *fit, int shot_count, const char *const *paths,
                        const su_anim *anims, int64_t most, su_played_shots *out, int threads, const su_progress *progress,
                        su_error *err)
{
    int64_t frames = 0, room = 0, n = tet->n;
    double *corrections = NULL;
    su_fit whole;
    su_status status;
    *out = (su_played_shots){0};
    for (int k = 0; k < shot_count; k++) frames += anims[k].F - 1;
    for (int k = 0; k < shot_count; k++) room += anims[k].F - 1 < most ? anims[k].F - 1 : most;
    SU_GO(whole_fit(fit, &whole, &corrections, err));
    SU_GO(SU_ALLOC(&out->shapes, 3 * n * room, "shapes of the shots", err));
    SU_GO(SU_ALLOC(&out->weights, room, "shapes of the shots", err));
    SU_GO(SU_ALLOC(&out->shot, room, "shapes of the shots", err));
    SU_GO(SU_ALLOC(&out->frame, room, "shapes of the shots", err));
    for (int k = 0; k < shot_count; k++) {
        int64_t F = anims[k].F, share = frames > most ? (most * (F - 1) + frames - 1) / frames : F - 1;
        if (F < 2) continue;
        stage s = {.tet = tet, .fit = &whole, .anim = &anims[k], .threads = threads, .number = k,
                   .rest = {n, whole.m, tet->ties, tet->vertices, anims[k].neutral, tet->shepard_index,
                            tet->shepard_weight, whole.corrections}};
        status = stage_open(&s, paths[k], err);
        if (status == SU_OK) status = su_rotation_field_create(n, tet->vertices, tet->t, tet->tets, n, NULL, &s.field, err);
        if (status == SU_OK) status = SU_ALLOC(&s.skin, 3 * tet->nbar, "shots", err);
        if (status == SU_OK) status = SU_ALLOC(&s.x, 3 * n, "shots", err);
        if (status == SU_OK) status = SU_ALLOC(&s.rotation, 4 * n, "rotations", err);
        if (status == SU_OK) status = play_shot(&s, share, out, room, progress, err);
        stage_free(&s);
        SU_GO(status);
    }
    balance(out);
done:
    free(corrections);
    if (status != SU_OK) su_played_shots_free(out);
    return status;
}

void su_played_shots_free(su_played_shots *played)
{
    free(played->shapes), free(played->shot), free(played->frame), free(played->weights);
    *played = (su_played_shots){0};
}
