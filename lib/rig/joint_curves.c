#include "rig/joint_curves.h"

#include "core/order.h"
#include "geometry/affine.h"
#include "geometry/rotation.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 9 }; /* rx ry rz tx ty tz sx sy sz */

typedef struct curves {
    su_scene *scene;
    const su_table *table;
    const char *path;
    double *times;
    int32_t *node;            /* (nodes in use) */
    int64_t (*column)[PARTS]; /* (nodes in use) columns of the table, -1: none */
    int64_t nodes;
} curves;

static su_status no_memory(const curves *c, su_error *err)
{
    return su_fail(err, SU_AGAIN, "%s: not enough memory", c->path);
}

static bool carries_skin(const su_scene *scene, int64_t node)
{
    for (int64_t m = 0; m < scene->meshes; m++)
        for (int64_t b = 0; b < scene->mesh[m].bones; b++)
            if (scene->mesh[m].bone[b].node == node && scene->mesh[m].bone[b].count > 0) return true;
    return false;
}

/* The node of this name; of several the given one (1: the first) among the joints, then among all. -1: none. */
static int32_t node_called(const su_scene *scene, const char *name, size_t length, long number)
{
    for (int pass = 0; pass < 2; pass++) {
        long found = 0;
        for (int64_t i = 0; i < scene->nodes; i++)
            if (strlen(scene->node[i].name) == length && memcmp(scene->node[i].name, name, length) == 0 &&
                (pass == 1 || carries_skin(scene, i)) && ++found == number)
                return (int32_t)i;
    }
    return -1;
}

/* NODE.rx: the node, and which part; NODE#2.rx is the second of the joints of one name, as parameters are called. -1
 * where the name is not of that form or no node has it. */
static int32_t find_node(const su_scene *scene, const char *name, int *part)
{
    static const char letters[] = "rtsxyz";
    const char *dot = strrchr(name, '.');
    if (!dot || strlen(dot) != 3) return -1;
    const char *kind = strchr(letters, dot[1]), *axis = strchr(letters, dot[2]);
    if (!kind || !axis || kind - letters > 2 || axis - letters < 3) return -1;
    *part = (int)(3 * (kind - letters) + (axis - letters) - 3);
    int32_t node = node_called(scene, name, (size_t)(dot - name), 1);
    const char *mark = dot;
    while (mark > name && *mark != '#') mark--;
    if (node >= 0 || *mark != '#') return node;
    char *end;
    long number = strtol(mark + 1, &end, 10);
    return end == dot && number > 1 ? node_called(scene, name, (size_t)(mark - name), number) : -1;
}

static su_status read_times(curves *c, double rate, su_error *err)
{
    const su_table *t = c->table;
    int64_t time = su_table_column(t, "time"), frame = su_table_column(t, "frame");
    if (time < 0 && frame < 0)
        return su_fail(err, SU_INPUT, "%s: joint curves need a column 'time' (s) or 'frame'", c->path);
    for (int64_t i = 0; i < t->rows; i++) {
        c->times[i] = time >= 0 ? t->values[i * t->columns + time] : t->values[i * t->columns + frame] / rate;
        if (i > 0 && c->times[i] <= c->times[i - 1])
            return su_fail(err, SU_INPUT, "%s: the times do not ascend at row %lld", c->path, (long long)i + 1);
    }
    return SU_OK;
}

static double cell(const curves *c, int64_t row, int64_t column, double fallback)
{
    return column < 0 ? fallback : c->table->values[row * c->table->columns + column];
}

static su_status fill_channel(const curves *c, int64_t which, double angle, su_scene_channel *out, su_error *err)
{
    const int64_t *column = c->column[which], rows = c->table->rows;
    const su_scene_node *node = &c->scene->node[c->node[which]];
    double linear[9], r[9], rest[4], place[3], scale[3];
    su_affine_linear(node->local, linear);
    su_affine_translation(node->local, place);
    for (int j = 0; j < 3; j++)
        scale[j] = sqrt(linear[j] * linear[j] + linear[3 + j] * linear[3 + j] + linear[6 + j] * linear[6 + j]);
    if (su_det3(linear) < 0.0) scale[0] = -scale[0];
    for (int i = 0; i < 9; i++) r[i] = scale[i % 3] != 0.0 ? linear[i] / scale[i % 3] : i % 4 == 0;
    su_quaternion_of(r, rest);

    out->node = c->node[which];
    out->translations = out->rotations = out->scales = rows;
    out->translation_times = out->rotation_times = out->scale_times = c->times;
    out->translation = su_arena_alloc(&c->scene->arena, 3 * rows, sizeof(double));
    out->rotation = su_arena_alloc(&c->scene->arena, 4 * rows, sizeof(double));
    out->scale = su_arena_alloc(&c->scene->arena, 3 * rows, sizeof(double));
    if (!out->translation || !out->rotation || !out->scale) return no_memory(c, err);
    for (int64_t i = 0; i < rows; i++) {
        double v[3], turn[4];
        for (int k = 0; k < 3; k++) {
            v[k] = angle * cell(c, i, column[k], 0.0);
            out->translation[3 * i + k] = place[k] + cell(c, i, column[3 + k], 0.0);
            out->scale[3 * i + k] = scale[k] * cell(c, i, column[6 + k], 1.0);
        }
        su_quaternion_exp(v, turn);
        su_quaternion_multiply(rest, turn, out->rotation + 4 * i);
    }
    return SU_OK;
}

/* Blend shapes of this name, on every object that has it: weights of the table's column. */
static su_status add_shape(const curves *c, int64_t column, su_scene_clip *clip, int *found, su_error *err)
{
    const su_scene *scene = c->scene;
    int64_t rows = c->table->rows;
    for (int64_t i = 0; i < scene->instances; i++) {
        const su_scene_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        for (int64_t s = 0; s < mesh->shapes; s++) {
            if (strcmp(mesh->shape_names[s], c->table->names[column]) != 0) continue;
            *found = 1;
            su_scene_morph_channel *to = NULL;
            for (int64_t k = 0; k < clip->morph_channels; k++)
                if (clip->morph_channel[k].node == scene->instance[i].node) to = &clip->morph_channel[k];
            if (!to) {
                to = &clip->morph_channel[clip->morph_channels++];
                *to = (su_scene_morph_channel){
                    .node = scene->instance[i].node, .keys = rows, .shapes = mesh->shapes, .times = c->times};
                to->weights = su_arena_alloc(&c->scene->arena, rows * mesh->shapes, sizeof(double));
                if (!to->weights) return no_memory(c, err);
                for (int64_t k = 0; k < rows * mesh->shapes; k++)
                    to->weights[k] = mesh->shape_defaults[k % mesh->shapes];
            }
            for (int64_t k = 0; k < rows && s < to->shapes; k++)
                to->weights[k * to->shapes + s] = cell(c, k, column, 0.0);
        }
    }
    return SU_OK;
}

su_status su_joint_curves(su_scene *scene, const su_table *table, const char *path, const char *name, double rate,
                          double angle, su_scene_clip *clip, su_error *err)
{
    su_arena *arena = &scene->arena;
    curves c = {.scene = scene, .table = table, .path = path};
    if (!table->names) return su_fail(err, SU_INPUT, "%s: joint curves need names in the first line", path);
    memset(clip, 0, sizeof *clip);
    char *copy = su_arena_alloc(arena, (int64_t)strlen(name) + 1, 1);
    double *gap = su_arena_alloc(arena, table->rows, sizeof *gap);
    c.times = su_arena_alloc(arena, table->rows, sizeof *c.times);
    c.node = su_arena_alloc(arena, table->columns, sizeof *c.node);
    c.column = su_arena_alloc(arena, table->columns, sizeof *c.column);
    clip->channel = su_arena_alloc(arena, table->columns, sizeof *clip->channel);
    clip->morph_channel = su_arena_alloc(arena, scene->instances, sizeof *clip->morph_channel);
    if (!copy || !gap || !c.times || !c.node || !c.column || !clip->channel || !clip->morph_channel)
        return no_memory(&c, err);
    SU_TRY(read_times(&c, rate, err));
    for (int64_t k = 0; k < table->columns; k++) {
        int part = 0, found = 0;
        if (strcmp(table->names[k], "time") == 0 || strcmp(table->names[k], "frame") == 0) continue;
        int32_t node = find_node(scene, table->names[k], &part);
        if (node < 0) {
            SU_TRY(add_shape(&c, k, clip, &found, err));
            if (found) continue;
            return su_fail(err, SU_INPUT,
                           "%s: column '%s' is neither JOINT.rx, .ry, .rz, .tx, .ty, .tz, .sx, .sy, .sz of a "
                           "joint of the file nor one of its blend shapes",
                           path, table->names[k]);
        }
        int64_t at = 0;
        while (at < c.nodes && c.node[at] != node) at++;
        if (at == c.nodes) {
            c.node[c.nodes++] = node;
            for (int i = 0; i < PARTS; i++) c.column[at][i] = -1;
        }
        c.column[at][part] = k;
    }
    for (int64_t i = 0; i < c.nodes; i++) SU_TRY(fill_channel(&c, i, angle, &clip->channel[clip->channels++], err));
    strcpy(copy, name);
    clip->name = copy, clip->start = c.times[0], clip->end = c.times[table->rows - 1];
    for (int64_t i = 0; i + 1 < table->rows; i++) gap[i] = c.times[i + 1] - c.times[i];
    su_sort(gap, (size_t)table->rows - 1, sizeof *gap, su_order_doubles);
    if (table->rows > 1) clip->key_rate = 1.0 / gap[(table->rows - 2) / 2];
    return SU_OK;
}
