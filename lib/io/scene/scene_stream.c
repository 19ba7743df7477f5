#include "io/scene/scene_stream.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One description serves both directions, so that they cannot drift apart: `move_*` writes the field where out is set
 * and reads it otherwise. After the first failure nothing more happens. */
typedef struct stream {
    FILE *out;                 /* NULL: reading */
    const unsigned char *data; /* reading */
    size_t left;
    su_arena *arena;
    int failed;
} stream;

static void move_bytes(stream *s, void *bytes, size_t count)
{
    if (s->failed || count == 0) return;
    if (s->out) {
        s->failed = fwrite(bytes, 1, count, s->out) != count;
    } else if (count > s->left) {
        s->failed = 1;
    } else {
        memcpy(bytes, s->data, count);
        s->data += count, s->left -= count;
    }
}

static void move_count(stream *s, int64_t *count)
{
    move_bytes(s, count, sizeof *count);
    if (!s->out && !s->failed && (*count < 0 || (uint64_t)*count > s->left)) s->failed = 1;
}

/* A number of what the stream does not hold itself: points of the file's mesh, of which this may be a part. */
static void move_number(stream *s, int64_t *number)
{
    move_bytes(s, number, sizeof *number);
    if (!s->out && !s->failed && (*number < 0 || *number > INT32_MAX)) s->failed = 1;
}

/* Room for `count` items where reading; each takes at least `bytes` of what is left in the stream. */
static void *make_room(stream *s, const void *given, int64_t count, size_t size, size_t bytes)
{
    if (s->out) return (void *)given;
    if (s->failed || (uint64_t)count > s->left / (bytes ? bytes : 1)) {
        s->failed = 1;
        return NULL;
    }
    void *room = su_arena_alloc(s->arena, count, size);
    if (!room) s->failed = 1;
    return room;
}

static void move_array(stream *s, void *array, int64_t count, size_t size)
{
    void *pointer;
    memcpy(&pointer, array, sizeof pointer);
    unsigned char present = pointer != NULL;
    move_bytes(s, &present, 1);
    if (s->failed) return;
    if (!present) {
        pointer = NULL;
    } else {
        pointer = make_room(s, pointer, count, size, size);
        if (!s->failed) move_bytes(s, pointer, (size_t)count * size);
    }
    if (!s->out) memcpy(array, &pointer, sizeof pointer);
}

static void move_text(stream *s, const char **text)
{
    int64_t length = s->out ? (int64_t)strlen(*text) : 0;
    move_count(s, &length);
    if (s->out) {
        move_bytes(s, (void *)*text, (size_t)length);
        return;
    }
    char *copy = s->failed ? NULL : su_arena_alloc(s->arena, length + 1, 1);
    if (!copy)
        s->failed = 1;
    else
        move_bytes(s, copy, (size_t)length);
    *text = copy ? copy : "";
}

static void move_mesh(stream *s, su_scene_mesh *mesh)
{
    move_text(s, &mesh->name);
    move_count(s, &mesh->vertices);
    move_count(s, &mesh->polygons);
    move_count(s, &mesh->corners);
    move_count(s, &mesh->bones);
    move_count(s, &mesh->influences);
    move_count(s, &mesh->shapes);
    move_bytes(s, &mesh->skinning, sizeof mesh->skinning);
    if (s->failed || mesh->vertices > INT32_MAX || mesh->shapes > 65535) {
        s->failed = 1;
        return;
    }
    move_array(s, &mesh->positions, 3 * mesh->vertices, sizeof(double));
    move_array(s, &mesh->face_counts, mesh->polygons, sizeof(int32_t));
    move_array(s, &mesh->face_indices, mesh->corners, sizeof(int32_t));
    move_array(s, &mesh->face_material, mesh->polygons, sizeof(int32_t));
    move_array(s, &mesh->uv, 2 * mesh->vertices, sizeof(float));
    move_array(s, &mesh->color, 4 * mesh->vertices, sizeof(float));
    move_array(s, &mesh->bone, mesh->bones, sizeof(su_scene_bone));
    move_array(s, &mesh->influence_vertex, mesh->influences, sizeof(int32_t));
    move_array(s, &mesh->influence_weight, mesh->influences, sizeof(double));
    mesh->shape_names = make_room(s, mesh->shape_names, mesh->shapes, sizeof *mesh->shape_names, sizeof(int64_t));
    for (int64_t i = 0; i < mesh->shapes && !s->failed; i++) move_text(s, &mesh->shape_names[i]);
    move_array(s, &mesh->shape_defaults, mesh->shapes, sizeof(double));
    move_array(s, &mesh->shape_positions, 3 * mesh->vertices * mesh->shapes, sizeof(double));
    move_number(s, &mesh->control_points);
    move_array(s, &mesh->control_point, mesh->vertices, sizeof(int32_t));
    move_array(s, &mesh->source_polygon, mesh->polygons, sizeof(int32_t));
    move_number(s, &mesh->source_mesh);
}

static void move_clip(stream *s, su_scene_clip *clip)
{
    move_text(s, &clip->name);
    move_bytes(s, &clip->start, sizeof clip->start);
    move_bytes(s, &clip->end, sizeof clip->end);
    move_bytes(s, &clip->key_rate, sizeof clip->key_rate);
    move_bytes(s, &clip->layered, sizeof clip->layered);
    move_count(s, &clip->channels);
    move_count(s, &clip->morph_channels);
    clip->channel = make_room(s, clip->channel, clip->channels, sizeof *clip->channel, sizeof(int64_t));
    for (int64_t i = 0; i < clip->channels && !s->failed; i++) {
        su_scene_channel *c = &clip->channel[i];
        move_bytes(s, &c->node, sizeof c->node);
        move_bytes(s, &c->translation_mode, sizeof c->translation_mode);
        move_bytes(s, &c->rotation_mode, sizeof c->rotation_mode);
        move_bytes(s, &c->scale_mode, sizeof c->scale_mode);
        move_count(s, &c->translations);
        move_count(s, &c->rotations);
        move_count(s, &c->scales);
        move_array(s, &c->translation_times, c->translations, sizeof(double));
        move_array(s, &c->translation, 3 * su_key_values(c->translation_mode) * c->translations, sizeof(double));
        move_array(s, &c->rotation_times, c->rotations, sizeof(double));
        move_array(s, &c->rotation, 4 * su_key_values(c->rotation_mode) * c->rotations, sizeof(double));
        move_array(s, &c->scale_times, c->scales, sizeof(double));
        move_array(s, &c->scale, 3 * su_key_values(c->scale_mode) * c->scales, sizeof(double));
    }
    clip->morph_channel =
        make_room(s, clip->morph_channel, clip->morph_channels, sizeof *clip->morph_channel, sizeof(int64_t));
    for (int64_t i = 0; i < clip->morph_channels && !s->failed; i++) {
        su_scene_morph_channel *c = &clip->morph_channel[i];
        move_bytes(s, &c->node, sizeof c->node);
        move_bytes(s, &c->mode, sizeof c->mode);
        move_count(s, &c->keys);
        move_count(s, &c->shapes);
        if (c->shapes > INT32_MAX || c->keys > INT32_MAX) s->failed = 1;
        move_array(s, &c->times, c->keys, sizeof(double));
        if (!s->failed) move_array(s, &c->weights, su_key_values(c->mode) * c->keys * c->shapes, sizeof(double));
    }
}

static void move_scene(stream *s, su_scene *scene)
{
    move_text(s, &scene->format);
    move_bytes(s, &scene->unit, sizeof scene->unit);
    move_bytes(s, &scene->up, sizeof scene->up);
    move_bytes(s, &scene->frame_rate, sizeof scene->frame_rate);
    move_bytes(s, &scene->exact, sizeof scene->exact);
    move_bytes(s, &scene->mesh_is_node, sizeof scene->mesh_is_node);
    if (s->out && !scene->missing) scene->missing = "";
    move_text(s, &scene->missing);
    move_count(s, &scene->files);
    scene->file = make_room(s, scene->file, scene->files, sizeof *scene->file, sizeof(int64_t));
    for (int64_t i = 0; i < scene->files && !s->failed; i++) move_text(s, &scene->file[i]);
    move_bytes(s, &scene->unread, sizeof scene->unread);
    scene->unread.text[sizeof scene->unread.text - 1] = 0;
    move_count(s, &scene->nodes);
    move_count(s, &scene->meshes);
    move_count(s, &scene->instances);
    move_count(s, &scene->clips);
    move_count(s, &scene->materials);
    scene->node = make_room(s, scene->node, scene->nodes, sizeof *scene->node, sizeof(int64_t));
    for (int64_t i = 0; i < scene->nodes && !s->failed; i++) {
        move_text(s, &scene->node[i].name);
        const char *human = s->out && scene->node[i].human ? scene->node[i].human : "";
        move_text(s, &human);
        if (!s->out) scene->node[i].human = human[0] ? human : NULL;
        move_bytes(s, &scene->node[i].parent, sizeof scene->node[i].parent);
        move_bytes(s, &scene->node[i].inherit, sizeof scene->node[i].inherit);
        move_bytes(s, &scene->node[i].links, sizeof scene->node[i].links);
        move_bytes(s, scene->node[i].local, sizeof scene->node[i].local);
    }
    scene->material = make_room(s, scene->material, scene->materials, sizeof *scene->material, sizeof(int64_t));
    for (int64_t i = 0; i < scene->materials && !s->failed; i++) {
        move_text(s, &scene->material[i].name);
        move_bytes(s, scene->material[i].color, sizeof scene->material[i].color);
        move_bytes(s, scene->material[i].surface, sizeof scene->material[i].surface);
    }
    scene->mesh = make_room(s, scene->mesh, scene->meshes, sizeof *scene->mesh, sizeof(int64_t));
    for (int64_t i = 0; i < scene->meshes && !s->failed; i++) move_mesh(s, &scene->mesh[i]);
    move_array(s, &scene->instance, scene->instances, sizeof *scene->instance);
    scene->clip = make_room(s, scene->clip, scene->clips, sizeof *scene->clip, sizeof(int64_t));
    for (int64_t i = 0; i < scene->clips && !s->failed; i++) move_clip(s, &scene->clip[i]);
}

int su_scene_encode(const su_scene *scene, int fd)
{
    su_scene copy = *scene; /* its arrays are only read */
    int own = dup(fd);
    stream s = {.out = own < 0 ? NULL : fdopen(own, "wb"), .arena = &copy.arena};
    if (!s.out) return 1;
    move_scene(&s, &copy);
    return fclose(s.out) != 0 || s.failed;
}

su_status su_scene_decode(const void *data, size_t count, su_scene *scene, su_error *err)
{
    stream s = {.data = data, .left = count, .arena = &scene->arena};
    move_scene(&s, scene);
    if (scene->arena.failed) return su_fail(err, SU_AGAIN, "not enough memory for the scene");
    return s.failed || s.left ? su_fail(err, SU_INPUT, "the parser's answer is incomplete") : SU_OK;
}
