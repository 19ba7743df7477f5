#include "io/scene/fbx6_clips.h"

#include "core/order.h"
#include "geometry/rotation.h"
#include "io/scene/fbx_keys.h"
#include "io/scene/fbx_records.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define USUAL_RATE 30.0                /* frames a second, where the file says none */
enum { MOST_FRAMES = 100000 };         /* an hour, more or less: longer takes are damage */
static const double MOST_TICKS = 9e18; /* what whole numbers of 64 bits hold */

typedef struct curve {
    double value; /* where it has no keys */
    su_fbx_curve of;
    double *ticks; /* (of.count) times of its keys */
} curve;

static bool is_way(const su_fbx6_value *v) { return v->text && strlen(v->text) == 1 && strchr("LCU", v->text[0]); }

/* Does a key begin here: time, value, way? */
static bool begins(const su_fbx6_node *list, int64_t at)
{
    return at + 2 < list->values && !list->value[at].text && !list->value[at + 1].text && is_way(&list->value[at + 2]);
}

/* What stands behind a key's value, up to `next`: L, straight; C with n where the next key's value counts; U with a
 * letter for the kind of its tangents (s, b: two slopes; others are taken for automatic ones), and where that has
 * slopes with another for their lengths (r: of this key's, l: of the next one's, a: both). */
static void read_way(const su_fbx6_node *list, int64_t at, int64_t next, su_fbx_key *key)
{
    const char way = list->value[at].text[0], kind = at + 1 < next ? su_fbx6_text(list, at + 1)[0] : 0;
    if (way == 'C') key->flags = SU_FBX_CONSTANT | (kind == 'n' ? SU_FBX_OF_NEXT : 0);
    if (way != 'U') return;
    key->flags = SU_FBX_CUBIC | SU_FBX_WHOLE | SU_FBX_CLAMPED;
    if ((kind != 's' && kind != 'b') || at + 3 >= next) return;
    key->flags = SU_FBX_CUBIC | SU_FBX_USER;
    key->right = (float)list->value[at + 2].number, key->left = (float)list->value[at + 3].number;
    const char lengths = at + 4 < next ? su_fbx6_text(list, at + 4)[0] : 0;
    int64_t from = at + 5;
    if ((lengths == 'a' || lengths == 'r') && from < next) key->right_length = list->value[from++].number;
    if ((lengths == 'a' || lengths == 'l') && from < next) key->left_length = list->value[from].number;
}

static int read_curve(const su_fbx6_node *channel, double usual, su_arena *arena, curve *out)
{
    const su_fbx6_node *list = su_fbx6_child(channel, "Key"), *value = su_fbx6_child(channel, "Default");
    su_fbx_curve *of = &out->of;
    *out = (curve){.value = value ? su_fbx6_number(value, 0) : usual};
    if (!list) return 0;
    of->key = su_arena_alloc(arena, list->values / 3 + 1, sizeof *of->key);
    out->ticks = su_arena_alloc(arena, list->values / 3 + 1, sizeof *out->ticks);
    if (!of->key || !out->ticks) return 1;
    for (int64_t at = 0, next; begins(list, at); at = next) {
        su_fbx_key key = {.time = (int64_t)fmin(fmax(list->value[at].number, -MOST_TICKS), MOST_TICKS),
                          .value = list->value[at + 1].number,
                          .right_length = 1.0 / 3,
                          .left_length = 1.0 / 3};
        next = at + 3;
        while (next < list->values && !begins(list, next)) next++;
        read_way(list, at + 2, next, &key);
        if (of->count > 0 && key.time <= of->key[of->count - 1].time) continue;
        out->ticks[of->count] = (double)key.time, of->key[of->count++] = key;
    }
    return 0;
}

/* time: s */
static double value_at(const curve *c, double time)
{
    const su_fbx_key *key = c->of.key;
    const double ticks = time * SU_FBX_TICKS;
    const int64_t last = c->of.count - 1;
    if (last < 0) return c->value;
    if (ticks < c->ticks[0]) return key[0].value;
    if (ticks + 1 >= c->ticks[last]) return key[last].value; /* a tick is what rounding may be off */
    return su_fbx_between(&c->of, su_interval(c->ticks, c->of.count, ticks + 1), ticks);
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
    const su_scene_mesh *mesh; /* at its node; NULL: none */
    curve part[9];             /* translation, rotation, scale */
    int64_t keys;              /* of these */
    curve *shape;              /* (shapes of the mesh) */
} moving;

static void widen(const curve *c, double *first, double *last)
{
    if (c->of.count == 0) return;
    *first = fmin(*first, (double)c->of.key[0].time / SU_FBX_TICKS);
    *last = fmax(*last, (double)c->of.key[c->of.count - 1].time / SU_FBX_TICKS);
}

static const su_scene_mesh *mesh_at(const su_scene *scene, int32_t node)
{
    for (int64_t i = 0; i < scene->instances; i++)
        if (scene->instance[i].node == node) return &scene->mesh[scene->instance[i].mesh];
    return NULL;
}

/* What a take says of a model and of the shapes of its mesh (channels of their names, in per cent); first and last key
 * widen *first and *last. */
static int read_moving(const su_fbx6_node *in, const su_fbx6_model *model, su_scene *scene, moving *out, double *first,
                       double *last)
{
    static const char *const kind[3] = {"T", "R", "S"}, *const axis[3] = {"X", "Y", "Z"};
    const double *const usual[3] = {model->translation, model->rotation, model->scale};
    const su_fbx6_node *all = find_channel(in, "Transform");
    *out = (moving){.model = model, .mesh = mesh_at(scene, model->node)};
    for (int i = 0; i < 9; i++) {
        const su_fbx6_node *channel = find_channel(find_channel(all, kind[i / 3]), axis[i % 3]);
        if (read_curve(channel, usual[i / 3][i % 3], &scene->arena, &out->part[i])) return 1;
        widen(&out->part[i], first, last);
        out->keys += out->part[i].of.count;
    }
    int64_t shapes = out->mesh ? out->mesh->shapes : 0;
    if (!(out->shape = su_arena_alloc(&scene->arena, shapes, sizeof *out->shape))) return 1;
    for (int64_t k = 0; k < shapes; k++) {
        if (read_curve(find_channel(in, out->mesh->shape_names[k]), 0, &scene->arena, &out->shape[k])) return 1;
        widen(&out->shape[k], first, last);
    }
    return 0;
}

static int add_channel(const moving *m, int64_t frames, double *times, su_arena *arena, su_scene_channel *out)
{
    double *t = su_arena_alloc(arena, 3 * frames, sizeof *t), *r = su_arena_alloc(arena, 4 * frames, sizeof *r),
           *s = su_arena_alloc(arena, 3 * frames, sizeof *s);
    if (!t || !r || !s) return 1;
    for (int64_t f = 0; f < frames; f++) {
        double part[9], local[16];
        for (int i = 0; i < 9; i++) part[i] = value_at(&m->part[i], times[f]);
        su_fbx6_local(m->model, part, part + 3, part + 6, local);
        su_affine_split(local, t + 3 * f, r + 4 * f, s + 3 * f);
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

static int add_weights(const moving *m, int64_t frames, double *times, su_arena *arena, su_scene_morph_channel *out)
{
    int64_t shapes = m->mesh->shapes;
    double *weights = su_arena_alloc(arena, frames * shapes, sizeof *weights);
    if (!weights) return 1;
    for (int64_t f = 0; f < frames; f++)
        for (int64_t k = 0; k < shapes; k++) weights[f * shapes + k] = 0.01 * value_at(&m->shape[k], times[f]);
    *out = (su_scene_morph_channel){
        .node = m->model->node, .keys = frames, .shapes = shapes, .times = times, .weights = weights};
    return 0;
}

static int add_take(const su_fbx6_node *take, int64_t count, const su_fbx6_model *models, su_scene *scene)
{
    su_arena *arena = &scene->arena;
    su_scene_clip *clip = &scene->clip[scene->clips];
    double first = DBL_MAX, last = -DBL_MAX, rate = scene->frame_rate > 0 ? scene->frame_rate : USUAL_RATE;
    int64_t most = 0, moved = 0;
    for (const su_fbx6_node *n = take->child; n; n = n->next) most += strcmp(n->name, "Model") == 0;
    moving *all = su_arena_alloc(arena, most, sizeof *all);
    if (!all) return 1;
    for (const su_fbx6_node *n = take->child; n; n = n->next) {
        const su_fbx6_model *model =
            strcmp(n->name, "Model") == 0 ? su_fbx6_find_model(count, models, su_fbx6_text(n, 0)) : NULL;
        if (!model || model->node < 0) continue;
        if (read_moving(n, model, scene, &all[moved++], &first, &last)) return 1;
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
    for (const moving *m = all; m < all + moved; m++) {
        if (m->keys > 0 && add_channel(m, frames, times, arena, &clip->channel[clip->channels++])) return 1;
        if (m->mesh && m->mesh->shapes > 0 &&
            add_weights(m, frames, times, arena, &clip->morph_channel[clip->morph_channels++]))
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
