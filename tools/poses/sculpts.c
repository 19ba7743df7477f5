#include "sculpts.h"

#include "core/file.h"
#include "io/table.h"
#include "rig/psd.h"
#include "rig/rbf_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "CLIP:FRAME=FILE" cut at the first '='; frame -1 where there is none. */
static su_status cut_item(su_tool *tool, clips *c, const char *option, const char *text, bool need_frame,
                          int64_t *frame, const char **path)
{
    const char *equals = strchr(text, '=');
    *frame = -1, *path = text;
    if (!equals && need_frame)
        return su_fail(&tool->err, SU_USAGE, "%s %s: give CLIP:FRAME=FILE or NAME=FILE", option, text);
    if (!equals) return SU_OK;
    char *name = su_arena_alloc(&c->arena, equals - text + 1, 1);
    if (!name) return su_fail(&tool->err, SU_AGAIN, "not enough memory");
    memcpy(name, text, (size_t)(equals - text));
    *path = equals + 1;
    return clips_find(c, &tool->inputs, option, name, frame, &tool->err);
}

su_status sculpts_parse(su_tool *tool, const su_list *list, clips *c, sculpts *out)
{
    out->frame = su_arena_alloc(&c->arena, list->count, sizeof *out->frame);
    out->path = su_arena_alloc(&c->arena, list->count, sizeof *out->path);
    if (!out->frame || !out->path) return su_fail(&tool->err, SU_AGAIN, "not enough memory");
    for (int i = 0; i < list->count; i++, out->count++)
        SU_TRY(cut_item(tool, c, "--sculpt", list->items[i], true, &out->frame[i], &out->path[i]));
    return SU_OK;
}

/* delta (nbar,3): the sculpt minus what the rig shows at its frame. */
static su_status read_sculpt(su_tool *tool, const clips *c, int64_t frame, const char *path, bool world, double *delta)
{
    int which = 0, clip = clips_of(c, frame, &which);
    const su_anim *anim = &c->anim[clip < c->count ? clip : 0];
    int64_t k = frame - c->first[clip], n = 3 * anim->nbar;
    double spread;
    const double *root = clip < c->count ? anim->root + 16 * k : c->named[which].root;
    SU_TRY(shape_read(c, path, root, world, delta, &spread, &tool->err));
    double largest = 0.0, size = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double rigged = clip < c->count ? (double)anim->points[n * k + i] : c->named[which].points[i];
        delta[i] -= rigged;
        largest = fmax(largest, fabs(delta[i]));
        size = fmax(size, fabs(rigged));
    }
    su_note(tool, "%s: corrects the rig by up to %.4g m", su_base_name(path), largest);
    if (largest > 0.5 * size)
        su_warn(tool,
                "%s: lies far from the rig's pose; is it in the space of its file's world at that frame "
                "(--sculpt-space)?",
                su_base_name(path));
    if (spread > 1e-3 * size)
        su_warn(tool, "%s: opens seams by up to %.3g m; they are closed half way", su_base_name(path), spread);
    return SU_OK;
}

su_status sculpts_apply(su_tool *tool, clips *c, const sculpts *s, bool world, su_poses *poses)
{
    su_error *err = &tool->err;
    su_file *file = &poses->file;
    int64_t n = 3 * poses->nbar;
    double *w, *delta;
    if (s->count == 0) return SU_OK;
    poses->a = s->count + 1;
    SU_TRY(SU_FILE_ALLOC(file, &poses->psd_params, poses->a * poses->s, err));
    SU_TRY(SU_FILE_ALLOC(file, &poses->psd_shapes, poses->a * n, err));
    SU_TRY(SU_FILE_ALLOC(file, &poses->psd_rbf, poses->a * poses->a, err));
    SU_TRY(SU_FILE_ALLOC(file, &w, poses->a, err));
    SU_TRY(SU_FILE_ALLOC(file, &delta, n, err));
    for (int i = 0; i < s->count; i++) { /* row 0 stays 0: the neutral pose is not corrected */
        memcpy(poses->psd_params + poses->s * (i + 1), c->params + poses->s * s->frame[i],
               (size_t)poses->s * sizeof *poses->psd_params);
        SU_TRY(read_sculpt(tool, c, s->frame[i], s->path[i], world, poses->psd_shapes + n * (i + 1)));
    }
    if (su_rbf_train(poses->a, poses->s, poses->psd_params, poses->param_scale, poses->psd_rbf, err) != SU_OK)
        return su_error_context(err, "sculpts (pose 0 is the neutral): ");
    const su_rig_space rig = su_rig_of_poses(poses);
    for (int64_t i = 0; i < poses->m; i++) {
        su_psd_correction(&rig, poses->params + poses->s * i, w, delta);
        for (int64_t k = 0; k < n; k++) poses->shapes[n * i + k] = poses->rigged[n * i + k] + (i ? delta[k] : 0.0);
    }
    return SU_OK;
}

/* ---- painted materials ---- */

/* Values of the source or welded vertices on the welded skin, the mean where vertices were welded. */
static su_status weld_values(const su_anim *anim, int64_t count, int64_t stride, const double *values, const char *path,
                             double *out, su_error *err)
{
    if (count != anim->N && count != anim->nbar)
        return su_fail(err, SU_INPUT,
                       "%s: has %lld values; the character has %lld vertices in its file and %lld welded", path,
                       (long long)count, (long long)anim->N, (long long)anim->nbar);
    double *share;
    SU_TRY(SU_ALLOC(&share, anim->nbar, "painted values", err));
    memset(out, 0, (size_t)anim->nbar * sizeof *out);
    for (int64_t v = 0; v < count; v++) {
        int64_t to = count == anim->N ? anim->source_vertex[v] : v;
        out[to] += values[v * stride], share[to] += 1.0;
    }
    for (int64_t v = 0; v < anim->nbar; v++) out[v] /= fmax(share[v], 1.0);
    free(share);
    return SU_OK;
}

static su_status read_values(su_tool *tool, const su_anim *anim, const char *path, double *out)
{
    su_error *err = &tool->err;
    if (strncmp(path, "color.", 6) == 0 && strlen(path) == 7 && strchr("rgba", path[6])) {
        if (!anim->color) return su_fail(err, SU_INPUT, "%s: the character has no vertex colours", path);
        double *channel;
        SU_TRY(SU_ALLOC(&channel, anim->N, "vertex colours", err));
        for (int64_t v = 0; v < anim->N; v++)
            channel[v] = (double)anim->color[4 * v + (strchr("rgba", path[6]) - "rgba")];
        su_status status = weld_values(anim, anim->N, 1, channel, path, out, err);
        free(channel);
        return status;
    }
    su_table table;
    SU_TRY(su_table_load(path, &table, err));
    int64_t flat = table.rows == 1 && table.columns > 1; /* one line of values will do too */
    su_status status =
        flat ? weld_values(anim, table.columns, 1, table.values, path, out, err)
             : weld_values(anim, table.rows, table.columns, table.values + table.columns - 1, path, out, err);
    su_table_free(&table);
    return status;
}

su_status paint_read(su_tool *tool, const paint *p, clips *c, const int64_t *picked, su_poses *poses, double **values)
{
    const su_list *list = p->maps;
    const char *what = p->option;
    double low = p->range[0], high = p->range[1];
    su_error *err = &tool->err;
    int64_t n = poses->nbar;
    double *one;
    if (list->count == 0) return SU_OK;
    SU_TRY(SU_FILE_ALLOC(&poses->file, &one, n, err));
    if (!*values) {
        SU_TRY(SU_FILE_ALLOC(&poses->file, values, poses->m * n, err));
        for (int64_t i = 0; i < poses->m * n; i++) (*values)[i] = NAN;
    }
    for (int pass = 0; pass < 2; pass++) /* maps for all poses first, then those of single poses */
        for (int i = 0; i < list->count; i++) {
            int64_t frame, hit = 0;
            const char *path;
            SU_TRY(cut_item(tool, c, what, list->items[i], false, &frame, &path));
            if ((frame < 0) != (pass == 0)) continue;
            SU_TRY(read_values(tool, &c->anim[0], path, one));
            for (int64_t v = 0; v < n; v++) {
                if (low < high) one[v] = low + one[v] * (high - low);
                if (!(one[v] >= 0.0 && one[v] < p->below))
                    return su_fail(err, SU_INPUT, "%s: %s: vertex %lld has the value %g, wanted is 0 to below %g", what,
                                   path, (long long)v, one[v], p->below);
            }
            for (int64_t k = 0; k < poses->m; k++)
                if (frame < 0 || picked[k] == frame) memcpy(*values + n * k, one, (size_t)n * sizeof *one), hit++;
            if (!hit)
                return su_fail(err, SU_USAGE, "%s %s: that frame is no example pose; name it by --at too", what,
                               list->items[i]);
        }
    for (int64_t i = 0; i < poses->m * n; i++)
        if (isnan((*values)[i]))
            return su_fail(err, SU_USAGE, "%s: pose %lld has no map; give one for all poses as well (%s FILE)", what,
                           (long long)(i / n), what);
    return SU_OK;
}
