#include "io/cache/glb_internal.h"

#include "core/memory.h"
#include "geometry/affine.h"
#include "geometry/rotation.h"

#include <stdlib.h>
#include <string.h>

static void add_channel(su_glb_writer *w, int input, int output, int64_t node, const char *path)
{
    w->file.bad |= json_array_append_new(
        w->file.samplers, json_pack("{s:i, s:i, s:s}", "input", input, "output", output, "interpolation", "LINEAR"));
    w->file.bad |= json_array_append_new(w->file.channels, json_pack("{s:i, s:{s:I, s:s}}", "sampler",
                                                                     (int)json_array_size(w->file.samplers) - 1,
                                                                     "target", "node", (json_int_t)node, "path", path));
}

/* keys (frames,4) w x y z as glTF has them, each on the side of the one before. */
static void order_quaternions(int64_t frames, const float *keys, int64_t stride, float *out)
{
    for (int64_t f = 0; f < frames; f++, out += 4) {
        double dot = 0.0;
        for (int i = 0; i < 4; i++) out[i] = keys[f * stride + (i + 1) % 4];
        for (int i = 0; i < 4 && f > 0; i++) dot += (double)out[i] * (double)out[i - 4];
        for (int i = 0; i < 4 && dot < 0.0; i++) out[i] = -out[i]; /* the short way between keys */
    }
}

static su_status put_root(su_glb_writer *w, int input)
{
    const su_glb *g = w->glb;
    float *translation, *rotation, *turns = NULL;
    int moves = su_glb_accessor(&w->file, g->frames, 3, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &translation);
    if (moves < 0) return su_glb_no_memory(&w->file);
    for (int64_t f = 0; f < g->frames; f++)
        for (int i = 0; i < 3; i++) translation[3 * f + i] = (float)g->root[16 * f + 4 * i + 3];
    int index = su_glb_accessor(&w->file, g->frames, 4, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &rotation);
    if (index < 0) return su_glb_no_memory(&w->file);
    SU_TRY(SU_ALLOC(&turns, 4 * g->frames, "glTF keys", w->err));
    for (int64_t f = 0; f < g->frames; f++) {
        double r[9], q[4];
        su_affine_linear(g->root + 16 * f, r);
        su_quaternion_of(r, q);
        for (int i = 0; i < 4; i++) turns[4 * f + i] = (float)q[i];
    }
    order_quaternions(g->frames, turns, 4, rotation);
    free(turns);
    add_channel(w, input, moves, 0, "translation");
    add_channel(w, input, index, 0, "rotation");
    return SU_OK;
}

/* A track of a node: none where it stays at its rest, one key where it stays elsewhere. */
static su_status put_track(su_glb_writer *w, int input, int *start, int64_t node, const double rest[10], int first,
                           int width, const char *path)
{
    const su_cache_skin *s = w->glb->skin->source;
    const float *keys = s->node_keys + 10 * node + first;
    int64_t stride = 10 * s->nodes, frames = w->glb->frames;
    bool moves = false, away = false;
    float *data;
    for (int i = 0; i < width; i++) {
        away |= keys[i] != (float)rest[first + i];
        for (int64_t f = 1; f < frames; f++) moves |= keys[f * stride + i] != keys[i];
    }
    if (!moves && !away) return SU_OK;
    if (!moves && *start < 0) {
        if ((*start = su_glb_accessor(&w->file, 1, 1, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &data)) < 0)
            return su_glb_no_memory(&w->file);
        su_glb_range(&w->file, *start, 1, 1, data);
    }
    int64_t count = moves ? frames : 1;
    int output = su_glb_accessor(&w->file, count, width, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &data);
    if (output < 0) return su_glb_no_memory(&w->file);
    if (width == 4)
        order_quaternions(count, keys, stride, data);
    else
        for (int64_t f = 0; f < count; f++) memcpy(data + 3 * f, keys + f * stride, 3 * sizeof *data);
    add_channel(w, moves ? input : *start, output, node, path);
    return SU_OK;
}

static su_status put_nodes(su_glb_writer *w, int input)
{
    const su_glb_skin *skin = w->glb->skin;
    int start = -1; /* key times of tracks with one key */
    for (int64_t n = 0; n < skin->source->nodes; n++) {
        double rest[10];
        if (skin->fixed[n]) continue;
        su_affine_split(skin->source->node_rest + 16 * n, rest, rest + 3, rest + 7);
        SU_TRY(put_track(w, input, &start, n, rest, 0, 3, "translation"));
        SU_TRY(put_track(w, input, &start, n, rest, 3, 4, "rotation"));
        SU_TRY(put_track(w, input, &start, n, rest, 7, 3, "scale"));
    }
    return SU_OK;
}

su_status su_glb_put_clip(su_glb_writer *w)
{
    const su_glb *g = w->glb;
    float *times, *weights;
    int input = su_glb_accessor(&w->file, g->frames, 1, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &times);
    if (input < 0) return su_glb_no_memory(&w->file);
    for (int64_t f = 0; f < g->frames; f++) times[f] = (float)((double)f / g->fps);
    su_glb_range(&w->file, input, g->frames, 1, times);
    if (g->skin)
        SU_TRY(put_nodes(w, input));
    else if (g->root)
        SU_TRY(put_root(w, input));
    bool any = false;
    for (int i = 0; i < w->parts->count; i++) any |= w->place[i].targets;
    if (!any) return SU_OK;
    int64_t count = g->frames * g->targets->count;
    int output = su_glb_accessor(&w->file, count, 1, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &weights);
    if (output < 0) return su_glb_no_memory(&w->file);
    memcpy(weights, g->targets->weights, (size_t)count * sizeof *weights);
    for (int i = 0; i < w->parts->count; i++)
        if (w->place[i].targets) add_channel(w, input, output, w->place[i].node, "weights");
    return SU_OK;
}
