#include "io/scene/fbx6_clips.h"

#include "geometry/rotation.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define TICKS 46186158000.0    /* a second */
#define USUAL_RATE 30.0        /* frames a second, where the file says none */
enum { MOST_FRAMES = 100000 }; /* an hour, more or less: longer takes are damage */

/* What stands behind a key: the way to the next. Slopes in units a second. */
typedef struct key {
    double time, value; /* s */
    char way;       /* L straight, C constant, U a cubic with slopes, A one whose slopes follow from its neighbours */
    double out, in; /* slopes behind this key and before the next */
} key;

typedef struct curve {
    double value; /* where it has no keys */
    int64_t keys;
    key *key;
} curve;

static bool is_way(const su_fbx6_value *v) { return v->text && strlen(v->text) == 1 && strchr("LCU", v->text[0]); }

/* Does a key begin here: time, value, way? */
static bool begins(const su_fbx6_node *list, int64_t at)
{
    return at + 2 < list->values && !list->value[at].text && !list->value[at + 1].text && is_way(&list->value[at + 2]);
}

/* Key: time, value, L, or C with a letter, or U with a letter for the kind of its slopes (s, b: two numbers; others
 * follow from the neighbours) and more about weights, which do not count here. */
static int read_curve(const su_fbx6_node *channel, double usual, su_arena *arena, curve *out)
{
    const su_fbx6_node *list = su_fbx6_child(channel, "Key"), *value = su_fbx6_child(channel, "Default");
    *out = (curve){.value = value ? su_fbx6_number(value, 0) : usual};
    if (!list) return 0;
    if (!(out->key = su_arena_alloc(arena, list->values / 3 + 1, sizeof *out->key))) return 1;
    for (int64_t at = 0; begins(list, at);) {
        key k = {list->value[at].number / TICKS, list->value[at + 1].number, list->value[at + 2].text[0], 0, 0};
        int64_t next = at + 3;
        while (next < list->values && !begins(list, next)) next++;
        if (k.way == 'U') {
            const char *kind = su_fbx6_text(list, at + 3);
            bool given = (kind[0] == 's' || kind[0] == 'b') && at + 5 < next;
            k.way = given ? 'U' : 'A';
            if (given) k.out = list->value[at + 4].number, k.in = list->value[at + 5].number;
        }
        if (out->keys == 0 || k.time > out->key[out->keys - 1].time) out->key[out->keys++] = k;
        at = next;
    }
    for (int64_t i = 0; i + 1 < out->keys; i++) { /* as Catmull and Rom's splines, level at both ends */
        key *k = out->key + i;
        if (k->way != 'A') continue;
        k->out = i > 0 ? (k[1].value - k[-1].value) / (k[1].time - k[-1].time) : 0;
        k->in = i + 2 < out->keys ? (k[2].value - k[0].value) / (k[2].time - k[0].time) : 0;
    }
    return 0;
}

static double value_at(const curve *c, double time)
{
    if (c->keys == 0) return c->value;
    if (time <= c->key[0].time) return c->key[0].value;
    if (time >= c->key[c->keys - 1].time) return c->key[c->keys - 1].value;
    int64_t low = 0, high = c->keys - 1;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (c->key[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    const key *a = &c->key[low], *b = a + 1;
    double h = b->time - a->time, s = (time - a->time) / h;
    if (a->way == 'C') return a->value;
    if (a->way == 'L') return a->value + s * (b->value - a->value);
    double s2 = s * s, s3 = s2 * s;
    return (2 * s3 - 3 * s2 + 1) * a->value + (3 * s2 - 2 * s3) * b->value +
           h * ((s3 - 2 * s2 + s) * a->out + (s3 - s2) * a->in);
}

/* ---- takes ---- */

/* The channel of a name among the children of a take's model, or of a channel. */
static const su_fbx6_node *find_channel(const su_fbx6_node *of, const char *name)
{
    const su_fbx6_node *n = of ? of->child : NULL;
    while (n && (strcmp(n->name, "Channel") != 0 || strcmp(su_fbx6_text(n, 0), name) != 0)) n = n->next;
    return n;
}

typedef struct moving {
    const su_fbx6_model *model;
    curve part[9]; /* translation, rotation, scale */
    int64_t keys;
} moving;

static void widen(const curve *c, double *first, double *last)
{
    if (c->keys == 0) return;
    *first = fmin(*first, c->key[0].time), *last = fmax(*last, c->key[c->keys - 1].time);
}

static int read_moving(const su_fbx6_node *in, const su_fbx6_model *model, su_arena *arena, moving *out)
{
    static const char *const kind[3] = {"T", "R", "S"}, *const axis[3] = {"X", "Y", "Z"};
    const double *const usual[3] = {model->translation, model->rotation, model->scale};
    const su_fbx6_node *all = find_channel(in, "Transform");
    *out = (moving){.model = model};
    for (int i = 0; i < 9; i++) {
        if (read_curve(find_channel(find_channel(all, kind[i / 3]), axis[i % 3]), usual[i / 3][i % 3], arena,
                       &out->part[i]))
            return 1;
        out->keys += out->part[i].keys;
    }
    return 0;
}

static int add_channel(const moving *m, int64_t frames, double *times, su_arena *arena, su_scene_channel *out)
{
    double *t = su_arena_alloc(arena, 3 * frames, sizeof *t), *r = su_arena_alloc(arena, 4 * frames, sizeof *r),
           *s = su_arena_alloc(arena, 3 * frames, sizeof *s);
    if (!t || !r || !s) return 1;
    for (int64_t f = 0; f < frames; f++) {
        double part[9], local[16], dot = 0;
        for (int i = 0; i < 9; i++) part[i] = value_at(&m->part[i], times[f]);
        su_fbx6_local(m->model, part, part + 3, part + 6, local);
        su_affine_split(local, t + 3 * f, r + 4 * f, s + 3 * f);
        for (int i = 0; f > 0 && i < 4; i++) dot += r[4 * f + i] * r[4 * (f - 1) + i];
        for (int i = 0; dot < 0 && i < 4; i++) r[4 * f + i] = -r[4 * f + i];
    }
    *out = (su_scene_channel){.node = m->model->node,
                              .translations = frames,
                              .rotations = frames,
                              .scales = frames,
                              .translation_times = times,
                              .rotation_times = times,
                              .scale_times = times,
                              .translation = t,
                              .rotation = r,
                              .scale = s};
    return 0;
}

/* Weights of the shapes of the mesh at a node: channels of their names, in per cent. */
static int read_shapes(const su_fbx6_node *in, const su_scene_mesh *mesh, su_arena *arena, curve *curves, double *first,
                       double *last)
{
    for (int64_t k = 0; k < mesh->shapes; k++) {
        if (read_curve(find_channel(in, mesh->shape_names[k]), 0, arena, &curves[k])) return 1;
        widen(&curves[k], first, last);
    }
    return 0;
}

static const su_scene_mesh *mesh_at(const su_scene *scene, int32_t node)
{
    for (int64_t i = 0; i < scene->instances; i++)
        if (scene->instance[i].node == node) return &scene->mesh[scene->instance[i].mesh];
    return NULL;
}

static int add_weights(const su_scene_mesh *mesh, const curve *curves, int32_t node, int64_t frames, double *times,
                       su_arena *arena, su_scene_morph_channel *out)
{
    double *weights = su_arena_alloc(arena, frames * mesh->shapes, sizeof *weights);
    if (!weights) return 1;
    for (int64_t f = 0; f < frames; f++)
        for (int64_t k = 0; k < mesh->shapes; k++)
            weights[f * mesh->shapes + k] = 0.01 * value_at(&curves[k], times[f]);
    *out = (su_scene_morph_channel){
        .node = node, .keys = frames, .shapes = mesh->shapes, .times = times, .weights = weights};
    return 0;
}

static const su_fbx6_model *model_of(const su_fbx6_node *in, int64_t count, const su_fbx6_model *models)
{
    for (int64_t i = 0; i < count; i++)
        if (models[i].node >= 0 && strcmp(su_fbx6_text(models[i].object, 0), su_fbx6_text(in, 0)) == 0)
            return &models[i];
    return NULL;
}

static int add_take(const su_fbx6_node *take, int64_t count, const su_fbx6_model *models, su_scene *scene)
{
    su_arena *arena = &scene->arena;
    su_scene_clip *clip = &scene->clip[scene->clips];
    double first = DBL_MAX, last = -DBL_MAX, rate = scene->frame_rate > 0 ? scene->frame_rate : USUAL_RATE;
    int64_t most = 0, moved = 0;
    for (const su_fbx6_node *n = take->child; n; n = n->next) most += strcmp(n->name, "Model") == 0;
    moving *all = su_arena_alloc(arena, most, sizeof *all);
    curve **shapes = su_arena_alloc(arena, most, sizeof *shapes);
    if (!all || !shapes) return 1;
    for (const su_fbx6_node *n = take->child; n; n = n->next) {
        const su_fbx6_model *model = strcmp(n->name, "Model") == 0 ? model_of(n, count, models) : NULL;
        if (!model || moved == most) continue;
        moving *m = &all[moved];
        const su_scene_mesh *mesh = mesh_at(scene, model->node);
        if (read_moving(n, model, arena, m)) return 1;
        for (int i = 0; i < 9; i++) widen(&m->part[i], &first, &last);
        if (mesh && mesh->shapes) {
            if (!(shapes[moved] = su_arena_alloc(arena, mesh->shapes, sizeof **shapes))) return 1;
            if (read_shapes(n, mesh, arena, shapes[moved], &first, &last)) return 1;
        }
        moved++;
    }
    double frames_wanted = first <= last ? ceil((last - first) * rate - 1e-6) + 1 : 0;
    if (!(frames_wanted >= 1)) return 0; /* nothing moves in it */
    if (frames_wanted > MOST_FRAMES) return 2;
    int64_t frames = (int64_t)frames_wanted;
    double *times = su_arena_alloc(arena, frames, sizeof *times);
    clip->name = su_fbx6_text(take, 0);
    clip->channel = su_arena_alloc(arena, moved, sizeof *clip->channel);
    clip->morph_channel = su_arena_alloc(arena, moved, sizeof *clip->morph_channel);
    if (!times || !clip->channel || !clip->morph_channel) return 1;
    for (int64_t f = 0; f < frames; f++) times[f] = fmin(first + (double)f / rate, fmax(last, first));
    for (int64_t i = 0; i < moved; i++) {
        int32_t node = all[i].model->node;
        if (all[i].keys > 0 && add_channel(&all[i], frames, times, arena, &clip->channel[clip->channels++])) return 1;
        if (shapes[i] && add_weights(mesh_at(scene, node), shapes[i], node, frames, times, arena,
                                     &clip->morph_channel[clip->morph_channels++]))
            return 1;
    }
    scene->clips++;
    return su_scene_measure_clip(clip, arena);
}

int su_fbx6_clips(const su_fbx6_node *file, int64_t count, const su_fbx6_model *models, su_scene *scene)
{
    const su_fbx6_node *takes = su_fbx6_find(file, "Takes");
    int64_t most = 0;
    int failed = 0;
    for (const su_fbx6_node *n = takes ? takes->child : NULL; n; n = n->next) most += strcmp(n->name, "Take") == 0;
    if (!(scene->clip = su_arena_alloc(&scene->arena, most, sizeof *scene->clip))) return 1;
    for (const su_fbx6_node *n = takes ? takes->child : NULL; n; n = n->next)
        if (strcmp(n->name, "Take") == 0 && !failed) failed = add_take(n, count, models, scene);
    return failed;
}
