#include "clips.h"

#include "core/file.h"
#include "geometry/affine.h"
#include "io/cache/ply.h"
#include "io/stage/clip_frame.h"
#include "rig/psd.h"
#include "rig/rig_space.h"
#include "rig/root_frame.h"
#include "rig/sequence_params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the motion, in squares, may lie outside the principal coordinates: 3 % of its way. To 10 % of it (1e-2) the down-
 * and the upstroke of a flamingo's wing were one. */
#define REST 1e-3

enum { MOST_COORDINATES = 12 };

/* Same triangles, same neutral skin: otherwise the shapes cannot be mixed. */
static su_status check_same(const su_anim *a, const char *a_path, const su_anim *b, const char *b_path, su_error *err)
{
    if (a->nbar != b->nbar || a->T != b->T)
        return su_fail(err, SU_INPUT,
                       "%s: %lld vertices and %lld triangles, but %s has %lld and %lld; poses must share "
                       "one topology",
                       b_path, (long long)b->nbar, (long long)b->T, a_path, (long long)a->nbar, (long long)a->T);
    if (memcmp(a->triangles, b->triangles, (size_t)(3 * a->T) * sizeof *a->triangles) != 0)
        return su_fail(err, SU_INPUT, "%s: its triangles differ from those of %s; poses must share one topology",
                       b_path, a_path);
    double worst = 0.0, size = 0.0;
    for (int64_t i = 0; i < 3 * a->nbar; i++) {
        worst = fmax(worst, fabs(a->neutral[i] - b->neutral[i]));
        size = fmax(size, fabs(a->neutral[i]));
    }
    if (worst > 1e-4 * size)
        return su_fail(err, SU_INPUT,
                       "%s: its neutral pose differs from that of %s by up to %.3g m; import both with the "
                       "same options",
                       b_path, a_path, worst);
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
    for (int i = 0; i < c->named_count; i++) most += c->named[i].table.columns;
    c->names = su_arena_alloc(&c->arena, most, sizeof *c->names);
    if (!c->names) return su_fail(err, SU_AGAIN, "not enough memory for the parameters");
    for (int i = 0; i < c->count; i++) {
        const su_anim *anim = &c->anim[i];
        for (int64_t k = 0; k < anim->s; k++) {
            double largest = 0.0;
            const char *name = column_name(c, anim, k);
            if (!name) return su_fail(err, SU_AGAIN, "not enough memory for the parameters");
            for (int64_t f = 0; f < anim->F; f++) largest = fmax(largest, fabs(anim->params[f * anim->s + k]));
            if (largest >= SU_STILL_PARAMETER && find_name(c->names, c->s, name) < 0) c->names[c->s++] = name;
        }
    }
    for (int i = 0; i < c->named_count; i++)
        for (int64_t k = 0; k < c->named[i].table.columns; k++)
            if (fabs(c->named[i].table.values[k]) >= SU_STILL_PARAMETER &&
                find_name(c->names, c->s, c->named[i].table.names[k]) < 0)
                c->names[c->s++] = c->named[i].table.names[k];
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

/* Named sculpts of clips without a rig: the coordinates of the shape that the rig shows. */
static su_status project_named(clips *c, su_error *err)
{
    int64_t n = 3 * c->anim[0].nbar;
    float *points;
    if (c->named_count == 0) return SU_OK;
    SU_TRY(SU_ALLOC(&points, n, "a shape", err));
    for (int i = 0; i < c->named_count; i++) {
        for (int64_t k = 0; k < n; k++) points[k] = (float)c->named[i].points[k];
        su_sequence_project(c->anim[0].nbar, c->anim[0].neutral, c->s, c->basis, points,
                            c->params + c->named[i].frame * c->s);
    }
    free(points);
    return SU_OK;
}

/* Clips without a rig, or of blend shapes alone: principal coordinates of their skins. */
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
    return project_named(c, err);
}

/* Has the character no skeleton, so that its bones are its objects themselves? */
static bool without_joints(const su_anim *a)
{
    for (int64_t j = 0; j < a->joints; j++) {
        bool is_object = false;
        for (int64_t o = 0; o < a->objects; o++) is_object |= a->object_node[o] == a->joint_node[j];
        if (!is_object) return false;
    }
    return a->joints > 0;
}

/* Do blend shapes alone move the character? Their weights say little of how far apart two shapes are: of shapes that
 * are keys of one motion, one after the other, each stands as far from the next as from any other. */
static bool blend_shapes_alone(const clips *c)
{
    const su_anim *a = &c->anim[0];
    const char **shapes;
    bool alone = a->K > 0 && c->s > 0 && c->named_count == 0 && a->object_node && a->joint_node && without_joints(a);
    if (!alone || !(shapes = su_calloc(a->K, sizeof *shapes))) return false;
    for (int64_t k = 0; k < a->K; k++) {
        const char *name = su_file_name(&a->file, "morph_names", k);
        shapes[k] = name ? name : "";
    }
    for (int64_t k = 0; k < c->s && alone; k++) alone = find_name(shapes, a->K, c->names[k]) >= 0;
    free(shapes);
    return alone;
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

/* ---- named sculpts ---- */

/* "NAME=FILE": NULL where there is no '='. */
static const char *cut_name(const char *text, size_t *length)
{
    const char *equals = strchr(text, '=');
    if (equals) *length = (size_t)(equals - text);
    return equals && equals > text && equals[1] ? equals + 1 : NULL;
}

static named_sculpt *find_named(const clips *c, const char *text, size_t length)
{
    for (int i = 0; i < c->named_count; i++)
        if (strlen(c->named[i].name) == length && memcmp(c->named[i].name, text, length) == 0) return &c->named[i];
    return NULL;
}

/* --params or --rigged: a file for each name. */
static su_status give_files(su_tool *tool, clips *c, const su_list *list, const char *option, bool rigged)
{
    for (int i = 0; i < list->count; i++) {
        size_t length;
        const char *file = cut_name(list->items[i], &length);
        if (!file) return su_fail(&tool->err, SU_USAGE, "%s %s: give NAME=FILE", option, list->items[i]);
        named_sculpt *s = find_named(c, list->items[i], length);
        if (!s) return su_fail(&tool->err, SU_USAGE, "%s %s: no --sculpt has that name", option, list->items[i]);
        *(rigged ? &s->rigged : &s->params) = file;
    }
    return SU_OK;
}

su_status clips_name(su_tool *tool, const su_list *sculpt, const su_list *params, const su_list *rigged, clips *c)
{
    c->named = su_arena_alloc(&c->arena, sculpt->count, sizeof *c->named);
    if (!c->named) return su_fail(&tool->err, SU_AGAIN, "not enough memory");
    for (int i = 0; i < sculpt->count; i++) {
        const char *text = sculpt->items[i];
        size_t length;
        if (!cut_name(text, &length))
            return su_fail(&tool->err, SU_USAGE, "--sculpt %s: give CLIP:FRAME=FILE or NAME=FILE", text);
        if (memchr(text, ':', length)) continue;
        if (find_named(c, text, length))
            return su_fail(&tool->err, SU_USAGE, "--sculpt %s: the name stands twice", text);
        char *name = su_arena_alloc(&c->arena, (int64_t)length + 1, 1);
        if (!name) return su_fail(&tool->err, SU_AGAIN, "not enough memory");
        memcpy(name, text, length);
        c->named[c->named_count++] = (named_sculpt){.name = name, .frame = -1};
    }
    SU_TRY(give_files(tool, c, params, "--params", false));
    SU_TRY(give_files(tool, c, rigged, "--rigged", true));
    for (int i = 0; i < c->named_count; i++) {
        named_sculpt *s = &c->named[i];
        if (!s->params) continue;
        SU_TRY(su_table_load(s->params, &s->table, &tool->err));
        if (s->table.rows != 1 || !s->table.names)
            return su_fail(&tool->err, SU_INPUT,
                           "%s: the parameters of one sculpt are a line of names and a line of values", s->params);
    }
    return SU_OK;
}

su_status shape_read(const clips *c, const char *path, const double *root, bool world, double *points, double *spread,
                     su_error *err)
{
    static const double turn[3][9] = {
        {0, -1, 0, 1, 0, 0, 0, 0, 1}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 0, 0, 0, 0, 1, 0, -1, 0}};
    const su_anim *anim = &c->anim[0];
    su_obj obj = {0};
    SU_TRY(su_mesh_file_load(path, &obj, err));
    if (world) {
        const char *up = su_meta_text(anim->file.meta, "source_up", "y");
        double unit = su_meta_number(anim->file.meta, "source_unit", 1.0), inverse[16], convert[16], m[9];
        const double none[3] = {0, 0, 0};
        for (int i = 0; i < 9; i++) m[i] = unit * turn[up[0] == 'x' ? 0 : up[0] == 'z' ? 2 : 1][i];
        su_affine_set(m, none, convert);
        su_rigid_inverse(root, inverse);
        su_affine_multiply(inverse, convert, convert);
        for (int64_t v = 0; v < obj.vertices; v++) su_affine_point(convert, obj.points + 3 * v, obj.points + 3 * v);
    }
    su_status status =
        su_weld_sculpt(obj.vertices, obj.points, anim->N, anim->source_vertex, anim->nbar, points, spread, err);
    if (status != SU_OK) su_error_context(err, "%s: ", path);
    su_obj_free(&obj);
    return status;
}

/* Shapes that the rig shows at named sculpts. They stand with the root as in the neutral pose; clips without a skeleton
 * have their best fit to the neutral pose for it. */
static su_status read_named(clips *c, bool with_parameters, bool world, su_error *err)
{
    const su_anim *anim = &c->anim[0];
    double inverse[16], spread;
    for (int i = 0; i < c->named_count; i++) {
        named_sculpt *s = &c->named[i];
        if (!with_parameters && (s->params || !s->rigged))
            return su_fail(err, SU_USAGE, "--sculpt %s: the clips have no rig parameters; %s", s->name,
                           s->params ? "leave --params out" : "give the unsculpted shape by --rigged");
        if (with_parameters && !s->params)
            return su_fail(err, SU_USAGE,
                           "--sculpt %s: give its rig parameters by --params %s=FILE, or name it CLIP:FRAME", s->name,
                           s->name);
        if (!s->rigged) continue;
        if (!(s->points = su_arena_alloc(&c->arena, 3 * anim->nbar, sizeof *s->points)))
            return su_fail(err, SU_AGAIN, "not enough memory");
        su_affine_identity(s->root);
        SU_TRY(shape_read(c, s->rigged, s->root, world, s->points, &spread, err));
        if (!with_parameters && world) {
            su_root_from_points(anim->nbar, anim->neutral, s->points, s->root);
            su_rigid_inverse(s->root, inverse);
            for (int64_t v = 0; v < anim->nbar; v++) su_affine_point(inverse, s->points + 3 * v, s->points + 3 * v);
        }
        s->frame = c->frames++;
    }
    return SU_OK;
}

/* Named sculpts with a shape of their own get their parameters; the others find the frame that has them. */
static su_status place_named(clips *c, su_error *err)
{
    for (int i = 0; i < c->named_count; i++) {
        named_sculpt *s = &c->named[i];
        double *p = su_arena_alloc(&c->arena, c->s, sizeof *p), nearest = INFINITY;
        int64_t worst = 0, frame = 0;
        if (!p) return su_fail(err, SU_AGAIN, "not enough memory");
        for (int64_t k = 0; k < s->table.columns; k++) {
            int64_t to = find_name(c->names, c->s, s->table.names[k]);
            if (to >= 0) p[to] = s->table.values[k];
        }
        if (s->rigged) {
            if (!c->basis) memcpy(c->params + s->frame * c->s, p, (size_t)c->s * sizeof *p);
            continue;
        }
        for (int64_t f = 0; f < c->first[c->count]; f++) {
            double most = 0.0;
            int64_t at = 0;
            for (int64_t k = 0; k < c->s; k++) {
                double d = fabs(c->params[f * c->s + k] - p[k]);
                if (d > most) most = d, at = k;
            }
            if (most < nearest) nearest = most, worst = at, frame = f;
        }
        if (!(nearest <= 1e-3))
            return su_fail(
                err, SU_USAGE,
                "--sculpt %s: no frame of the clips has its parameters (the nearest is off by %.3g in '%s'); give "
                "the unsculpted shape by --rigged %s=FILE",
                s->name, nearest, c->s ? c->names[worst] : "", s->name);
        s->frame = frame;
    }
    return SU_OK;
}

su_status clips_load(su_tool *tool, bool world, clips *out)
{
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
        return su_fail(&tool->err, SU_INPUT,
                       "some clips have rig parameters and others have none; they have no pose space "
                       "in common");
    SU_TRY(read_named(out, with > 0, world, &tool->err));
    if (with) SU_TRY(join_parameters(out, &tool->err));
    if (!with || blend_shapes_alone(out)) SU_TRY(make_parameters(out, &tool->err));
    SU_TRY(place_named(out, &tool->err));
    return measure_range(out, &tool->err);
}

su_status clips_map(su_tool *tool, clips *c, const su_anim *anim, const char *path, double **params)
{
    SU_TRY(check_same(&c->anim[0], tool->inputs.items[0], anim, path, &tool->err));
    if (!(*params = su_arena_alloc(&c->arena, anim->F * c->s, sizeof **params)))
        return su_fail(&tool->err, SU_AGAIN, "not enough memory");
    for (int64_t f = 0; c->basis && f < anim->F; f++)
        su_sequence_project(anim->nbar, c->anim[0].neutral, c->s, c->basis, anim->points + 3 * anim->nbar * f,
                            *params + f * c->s);
    if (c->basis) return SU_OK;
    for (int64_t k = 0; k < anim->s; k++) {
        const char *name = column_name(c, anim, k);
        if (!name) return su_fail(&tool->err, SU_AGAIN, "not enough memory for the parameters");
        int64_t to = find_name(c->names, c->s, name);
        double largest = 0.0;
        for (int64_t f = 0; f < anim->F; f++) {
            double value = anim->params[f * anim->s + k];
            largest = fmax(largest, fabs(value));
            if (to >= 0) (*params)[f * c->s + to] = value;
        }
        if (to < 0 && largest >= SU_STILL_PARAMETER)
            su_warn(tool, "%s: parameter '%s' moves, but no pose knows it", su_base_name(path), name);
    }
    return SU_OK;
}

void clips_free(clips *c)
{
    for (int i = 0; i < c->count; i++) su_anim_free(&c->anim[i]);
    for (int i = 0; i < c->named_count; i++) su_table_free(&c->named[i].table);
    su_arena_free(&c->arena);
    memset(c, 0, sizeof *c);
}

int clips_of(const clips *c, int64_t frame, int *which)
{
    int i = 0;
    while (i < c->count && frame >= c->first[i + 1]) i++;
    for (int k = 0; i == c->count && which && k < c->named_count; k++)
        if (c->named[k].frame == frame) *which = k;
    return i;
}

su_status clips_find(const clips *c, const su_list *inputs, const char *option, const char *text, int64_t *frame,
                     su_error *err)
{
    const named_sculpt *named = find_named(c, text, strlen(text));
    if (named) {
        *frame = named->frame;
        return SU_OK;
    }
    su_clip_frame at;
    SU_TRY(su_clip_frame_find(c->count, c->anim, inputs->items, option, text, &at, err));
    *frame = c->first[at.clip] + at.frame;
    return SU_OK;
}
