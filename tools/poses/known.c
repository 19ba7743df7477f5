#include "known.h"

#include "core/file.h"
#include "io/stage/anim.h"
#include "io/stage/clip_frame.h"
#include "rig/clip_rig.h"
#include "rig/pose_selection.h"
#include "rig/rig_space.h"
#include "rig/sequence_params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 5 };
#define STILL 1e-6 /* of a parameter's own unit: less is no motion */
#define BEYOND                                                                                                         \
    0.25 /* of a parameter's known range: what goes farther out is named; motions reach so far (supple motion) */

typedef struct range {
    double low, high;
} range;

static const char *name_of(const su_rig_space *rig, int64_t k)
{
    const char *name = json_string_value(json_array_get(rig->param_names, (size_t)k));
    return name ? name : "a parameter without name";
}

/* params (F,s) of an animation in the model's space. */
static su_status map(su_tool *tool, const su_rig_space *rig, int64_t nbar, const char *path, const su_anim *anim,
                     double *params)
{
    if (anim->nbar != nbar)
        return su_fail(&tool->err, SU_INPUT, "%s: has %lld skin vertices, the model %lld: another character", path,
                       (long long)anim->nbar, (long long)nbar);
    for (int64_t f = 0; rig->mean_size && f < anim->F; f++)
        su_sequence_project(nbar, rig->param_mean, rig->s, rig->param_basis, anim->points + 3 * nbar * f,
                            params + f * rig->s);
    for (int64_t k = 0; !rig->mean_size && k < rig->s; k++) {
        int64_t from = su_param_number(&anim->file, anim->s, name_of(rig, k));
        for (int64_t f = 0; f < anim->F; f++)
            params[f * rig->s + k] = from < 0 ? rig->params[k] : anim->params[f * anim->s + from];
    }
    return SU_OK;
}

/* Parameters that move and that the model does not know. */
static void warn_unknown(su_tool *tool, const su_rig_space *rig, const char *path, const su_anim *anim)
{
    for (int64_t j = 0; j < anim->s && !rig->mean_size; j++) {
        const char *name = su_file_name(&anim->file, "param_names", j);
        bool is_known = false;
        for (int64_t k = 0; name && k < rig->s; k++) is_known |= strcmp(name, name_of(rig, k)) == 0;
        if (name && !is_known && su_parameter_moves(anim->F, anim->s, anim->params + j))
            su_warn(tool, "%s: parameter '%s' moves, but the model does not know it", su_base_name(path), name);
    }
}

static void widen(int64_t rows, int64_t s, const double *params, range *ranges)
{
    for (int64_t i = 0; i < rows * s; i++) {
        ranges[i % s].low = fmin(ranges[i % s].low, params[i]);
        ranges[i % s].high = fmax(ranges[i % s].high, params[i]);
    }
}

/* Parameters that leave their ranges by a quarter of these and more, the farthest first; how many there are. */
static int64_t say_ranges(su_tool *tool, const su_rig_space *rig, const range *trained, const range *shot,
                          const char *path)
{
    char text[500] = "";
    int64_t count = 0, last = -1;
    double before = INFINITY;
    for (int64_t k = 0; k < rig->s; k++) {
        double room = BEYOND * (trained[k].high - trained[k].low) + STILL;
        count += shot[k].low < trained[k].low - room || shot[k].high > trained[k].high + room;
    }
    for (int64_t n = 0; n < count && n < MOST_NAMED; n++) {
        double most = -INFINITY;
        int64_t which = 0;
        for (int64_t k = 0; k < rig->s; k++) { /* by how far it moves the skin */
            double out = rig->param_scale[k] * fmax(trained[k].low - shot[k].low, shot[k].high - trained[k].high);
            if (out > most && (out < before || (out == before && k > last))) most = out, which = k;
        }
        before = most, last = which;
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%.60s %.3g to %.3g (known %.3g to %.3g)", n ? ", " : "",
                 name_of(rig, which), shot[which].low, shot[which].high, trained[which].low, trained[which].high);
    }
    if (count)
        su_note(tool, "%s: %lld of %lld parameters go beyond what is known by more than a quarter of it: %s%s",
                su_base_name(path), (long long)count, (long long)rig->s, text, count > MOST_NAMED ? ", ..." : "");
    return count;
}

typedef struct total {
    double farthest;
    int64_t beyond, parameters;
} total;

static su_status say_shot(su_tool *tool, const su_rig_space *rig, int64_t nbar, const range *trained, double spacing,
                          const char *path, total *all)
{
    su_anim anim = {0};
    double *params = NULL, worst = 0.0, sum = 0.0;
    range *own = NULL;
    int64_t at = 0, beyond = 0;
    SU_TRY(su_anim_load(path, &anim, &tool->err));
    su_status status;
    SU_GO(SU_ALLOC(&params, anim.F * rig->s, "parameters", &tool->err));
    SU_GO(SU_ALLOC(&own, rig->s, "parameters", &tool->err));
    SU_GO(map(tool, rig, nbar, path, &anim, params));
    warn_unknown(tool, rig, path, &anim);
    for (int64_t k = 0; k < rig->s; k++) own[k] = (range){INFINITY, -INFINITY};
    widen(anim.F, rig->s, params, own);
    for (int64_t f = 0; f < anim.F; f++) {
        double d = su_nearest_pose(rig->m, rig->s, rig->params, rig->param_scale, params + f * rig->s, NULL);
        if (d > worst) worst = d, at = f;
        sum += d, beyond += d > spacing * (1.0 + 1e-9);
    }
    su_note(
        tool,
        "%s: at most %.4f from a pose of the model (frame %.6g), %.4f on average; its %lld poses lie up to %.4f from "
        "each other, and %lld of %lld frames farther from all",
        su_base_name(path), worst, su_clip_frame_number(&anim, at), sum / (double)anim.F, (long long)rig->m, spacing,
        (long long)beyond, (long long)anim.F);
    all->parameters += say_ranges(tool, rig, trained, own, path);
    all->farthest = fmax(all->farthest, worst), all->beyond += beyond;
done:
    free(params), free(own);
    su_anim_free(&anim);
    return status;
}

su_status known(su_tool *tool, const char *path, const su_list *shots)
{
    su_model model = {0};
    range *trained = NULL;
    total all = {0};
    su_status status = SU_OK;
    SU_GO(su_model_load(path, &model, &tool->err));
    su_rig_space rig = su_rig_of_model(&model);
    SU_GO(SU_ALLOC(&trained, rig.s, "parameters", &tool->err));
    for (int64_t k = 0; k < rig.s; k++) trained[k] = (range){INFINITY, -INFINITY};
    widen(rig.m, rig.s, rig.params, trained);
    for (int i = 0; i < shots->count; i++) {
        su_anim anim = {0};
        double *params = NULL;
        SU_GO(su_anim_load(shots->items[i], &anim, &tool->err));
        status = SU_ALLOC(&params, anim.F * rig.s, "parameters", &tool->err);
        if (status == SU_OK) status = map(tool, &rig, model.nbar, shots->items[i], &anim, params);
        if (status == SU_OK) widen(anim.F, rig.s, params, trained);
        free(params);
        su_anim_free(&anim);
        if (status != SU_OK) goto done;
    }
    double spacing = su_pose_spacing(rig.m, rig.s, rig.params, rig.param_scale);
    for (int i = 0; i < tool->inputs.count; i++)
        SU_GO(say_shot(tool, &rig, model.nbar, trained, spacing, tool->inputs.items[i], &all));
    su_stats_number(tool, "spacing", spacing);
    su_stats_number(tool, "farthest", all.farthest);
    su_stats_integer(tool, "frames_not_covered", all.beyond);
    su_stats_integer(tool, "parameters_beyond", all.parameters);
done:
    free(trained);
    su_model_free(&model);
    return status;
}
