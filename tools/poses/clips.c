#include "clips.h"

#include "core/file.h"
#include "rig/sequence_params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STILL 1e-4   /* a parameter that stays this near to the neutral pose is none */
#define REST 1e-2    /* of the motion may lie outside the principal coordinates */

enum { MOST_COORDINATES = 12 };

void clips_stem(const char *path, char *out, size_t room)
{
    static const char *const endings[] = {".npz", ".anim"};
    snprintf(out, room, "%s", su_base_name(path));
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(out), cut = strlen(endings[i]);
        if (length > cut && strcmp(out + length - cut, endings[i]) == 0) out[length - cut] = '\0';
    }
}

/* Same triangles, same neutral skin: otherwise the shapes cannot be mixed. */
static su_status check_same(const su_anim *a, const char *a_path, const su_anim *b, const char *b_path, su_error *err)
{
    if (a->nbar != b->nbar || a->T != b->T)
        return su_fail(err, SU_INPUT, "%s: %lld vertices and %lld triangles, but %s has %lld and %lld; poses must share "
                                      "one topology", b_path, (long long)b->nbar, (long long)b->T, a_path,
                       (long long)a->nbar, (long long)a->T);
    if (memcmp(a->triangles, b->triangles, (size_t)(3 * a->T) * sizeof *a->triangles) != 0)
        return su_fail(err, SU_INPUT, "%s: its triangles differ from those of %s; poses must share one topology", b_path,
                       a_path);
    double worst = 0.0, size = 0.0;
    for (int64_t i = 0; i < 3 * a->nbar; i++) {
        worst = fmax(worst, fabs(a->neutral[i] - b->neutral[i]));
        size = fmax(size, fabs(a->neutral[i]));
    }
    if (worst > 1e-4 * size)
        return su_fail(err, SU_INPUT, "%s: its neutral pose differs from that of %s by up to %.3g m; import both with the "
                                      "same options", b_path, a_path, worst);
    return SU_OK;
}

static int64_t find_name(const char *const *names, int64_t count, const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

/* Name of column k; columns without names are matched by number. */
static const char *column_name(clips *c, const su_anim *anim, int64_t k)
{
    const char *name = su_file_name(&anim->file, "param_names", k);
    if (name) return name;
    char *made = su_arena_alloc(&c->arena, 24, 1);
    if (made) snprintf(made, 24, "p%lld", (long long)k);
    return made;
}

/* One parameter space: the columns of all clips by name, those that leave the neutral pose; what a clip lacks is 0. */
static su_status join_parameters(clips *c, su_error *err)
{
    int64_t most = 0;
    for (int i = 0; i < c->count; i++) most += c->anim[i].s;
    c->names = su_arena_alloc(&c->arena, most, sizeof *c->names);
    if (!c->names) return su_fail(err, SU_AGAIN, "not enough memory for the parameters");
    for (int i = 0; i < c->count; i++) {
        const su_anim *anim = &c->anim[i];
        for (int64_t k = 0; k < anim->s; k++) {
            double largest = 0.0;
            const char *name = column_name(c, anim, k);
            if (!name) return su_fail(err, SU_AGAIN, "not enough memory for the parameters");
            for (int64_t f = 0; f < anim->F; f++) largest = fmax(largest, fabs(anim->params[f * anim->s + k]));
            if (largest >= STILL && find_name(c->names, c->s, name) < 0) c->names[c->s++] = name;
        }
    }
    c->params = su_arena_alloc(&c->arena, c->frames * c->s, sizeof *c->params);
    if (!c->params) return su_fail(err, SU_AGAIN, "not enough memory for the parameters");
    for (int i = 0; i < c->count; i++) {
        const su_anim *anim = &c->anim[i];
        for (int64_t k = 0; k < anim->s; k++) {
            int64_t to = find_name(c->names, c->s, column_name(c, anim, k));
            for (int64_t f = 0; f < anim->F && to >= 0; f++)
                c->params[(c->first[i] + f) * c->s + to] = anim->params[f * anim->s + k];
        }
    }
    return SU_OK;
}

static void release(void *pointer, size_t length)
{
    (void)length;
    free(pointer);
}

/* Clips without a rig: principal coordinates of their skins. */
static su_status make_parameters(clips *c, su_error *err)
{
    const su_anim *a = &c->anim[0];
    double *basis = NULL;
    SU_TRY(su_sequence_basis(c->count, c->anim, MOST_COORDINATES, REST, &basis, &c->s, err));
    su_status status = su_arena_adopt(&c->arena, basis, 0, release, err);
    if (status != SU_OK) {
        free(basis);
        return status;
    }
    c->basis = basis;
    c->names = su_arena_alloc(&c->arena, c->s, sizeof *c->names);
    char *texts = su_arena_alloc(&c->arena, c->s, 32);
    c->params = su_arena_alloc(&c->arena, c->frames * c->s, sizeof *c->params);
    if (!c->names || !texts || !c->params) return su_fail(err, SU_AGAIN, "not enough memory for the parameters");
    for (int64_t k = 0; k < c->s; k++) {
        snprintf(texts + 32 * k, 32, "motion%lld", (long long)k);
        c->names[k] = texts + 32 * k;
    }
    for (int i = 0; i < c->count; i++)
        for (int64_t f = 0; f < c->anim[i].F; f++)
            su_sequence_project(a->nbar, a->neutral, c->s, basis, c->anim[i].points + 3 * a->nbar * f,
                                c->params + (c->first[i] + f) * c->s);
    return SU_OK;
}

static su_status measure_range(clips *c, su_error *err)
{
    c->range = su_arena_alloc(&c->arena, c->s, sizeof *c->range);
    if (!c->range) return su_fail(err, SU_AGAIN, "not enough memory for the parameters");
    for (int64_t k = 0; k < c->s; k++) {
        double low = 0.0, high = 0.0;
        for (int64_t f = 0; f < c->frames; f++) {
            low = fmin(low, c->params[f * c->s + k]);
            high = fmax(high, c->params[f * c->s + k]);
        }
        c->range[k] = high - low;
    }
    return SU_OK;
}

su_status clips_load(su_tool *tool, clips *out)
{
    memset(out, 0, sizeof *out);
    int count = tool->inputs.count;
    out->anim = su_arena_alloc(&out->arena, count, sizeof *out->anim);
    out->first = su_arena_alloc(&out->arena, count + 1, sizeof *out->first);
    if (!out->anim || !out->first) return su_fail(&tool->err, SU_AGAIN, "not enough memory");
    for (int i = 0; i < count; i++) {
        const char *path = tool->inputs.items[i];
        SU_TRY(su_anim_load(path, &out->anim[i], &tool->err));
        out->count++;
        if (i > 0) SU_TRY(check_same(&out->anim[0], tool->inputs.items[0], &out->anim[i], path, &tool->err));
        out->first[i + 1] = out->frames += out->anim[i].F;
    }
    int with = 0;
    for (int i = 0; i < count; i++) with += out->anim[i].s > 0;
    if (with > 0 && with < count)
        return su_fail(&tool->err, SU_INPUT, "some clips have rig parameters and others have none; they have no pose space "
                                             "in common");
    SU_TRY(with ? join_parameters(out, &tool->err) : make_parameters(out, &tool->err));
    return measure_range(out, &tool->err);
}

void clips_free(clips *c)
{
    for (int i = 0; i < c->count; i++) su_anim_free(&c->anim[i]);
    su_arena_free(&c->arena);
    memset(c, 0, sizeof *c);
}

int clips_of(const clips *c, int64_t frame)
{
    int i = 0;
    while (frame >= c->first[i + 1]) i++;
    return i;
}

su_status clips_find(const clips *c, const su_list *inputs, const char *option, const char *text, int64_t *frame,
                     su_error *err)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    double number = colon ? strtod(colon + 1, &end) : 0.0;
    if (!colon || colon == text || !end || end == colon + 1 || *end || !isfinite(number))
        return su_fail(err, SU_USAGE, "%s %s: give CLIP:FRAME", option, text);
    size_t length = (size_t)(colon - text);
    for (int i = 0; i < c->count; i++) {
        char stem[256];
        const char *name = su_meta_text(c->anim[i].file.meta, "clip", "");
        clips_stem(inputs->items[i], stem, sizeof stem);
        if (!(strlen(name) == length && memcmp(name, text, length) == 0) &&
            !(strlen(stem) == length && memcmp(stem, text, length) == 0))
            continue;
        double start = su_meta_number(c->anim[i].file.meta, "frame_start", 0.0), index = round(number - start);
        if (index < 0.0 || index >= (double)c->anim[i].F)
            return su_fail(err, SU_USAGE, "%s %s: the clip has frames %.6g to %.6g", option, text, start,
                           start + (double)c->anim[i].F - 1.0);
        *frame = c->first[i] + (int64_t)index;
        return SU_OK;
    }
    return su_fail(err, SU_USAGE, "%s %s: no input is clip or file '%.*s'", option, text, (int)length, text);
}
