#include "runtime/supple_clip.h"

#include "io/stage/anim.h"
#include "rig/shot.h"
#include "runtime/supple_runtime_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct supple_clip {
    su_anim anim;
    su_shot *shot;
    const supple_runtime *runtime;
};

static su_status open_clip(supple_clip *clip, const char *path, su_error *err)
{
    SU_TRY(su_anim_load(path, &clip->anim, err));
    if (clip->anim.F < 2) return su_fail(err, SU_INPUT, "%s: has one frame; a clip wants two or more", path);
    const su_model *model = supple_model_of(clip->runtime);
    su_shot_target target = {.rig = su_rig_of_model(model), .nbar = model->nbar, .neutral = model->neutral};
    target.rig.a = 0,
    target.rig.psd_params = target.rig.psd_shapes = target.rig.psd_rbf = NULL; /* the runtime adds them */
    return su_shot_create(&clip->anim, path, &target, 0, NULL, &clip->shot, NULL, err);
}

supple_clip *supple_clip_open(const char *anim_path, const supple_runtime *runtime, char *message, size_t size)
{
    su_error err = {0};
    supple_clip *clip = calloc(1, sizeof *clip);
    if (!clip) {
        if (message && size > 0) snprintf(message, size, "not enough memory");
        return NULL;
    }
    clip->runtime = runtime;
    if (open_clip(clip, anim_path, &err) == SU_OK) return clip;
    if (message && size > 0) snprintf(message, size, "%s", err.text);
    supple_clip_close(clip);
    return NULL;
}

void supple_clip_close(supple_clip *clip)
{
    if (!clip) return;
    su_shot_free(clip->shot);
    su_anim_free(&clip->anim);
    free(clip);
}

double supple_clip_seconds(const supple_clip *clip) { return clip->anim.times[clip->anim.F - 1] - clip->anim.times[0]; }

double supple_clip_rate(const supple_clip *clip) { return 1 / (clip->anim.times[1] - clip->anim.times[0]); }

void supple_clip_pose(const supple_clip *clip, double seconds, double *parameters, double *points, double root[16])
{
    double at = fmin(fmax(seconds * supple_clip_rate(clip), 0), (double)(clip->anim.F - 1)), rotation[9], move[3];
    int64_t frame = (int64_t)at < clip->anim.F - 2 ? (int64_t)at : clip->anim.F - 2;
    const int32_t *needed;
    int64_t count = supple_needed(clip->runtime, &needed);
    su_shot_sample(clip->shot, frame, at - (double)frame, parameters, rotation, move);
    su_shot_sample_skin(clip->shot, frame, at - (double)frame, count, needed, 1, points);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) root[4 * i + j] = rotation[3 * i + j];
        root[4 * i + 3] = move[i];
        root[12 + i] = 0;
    }
    root[15] = 1;
}
