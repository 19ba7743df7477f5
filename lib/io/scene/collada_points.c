#include "io/scene/control_points.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Just enough of XML to find the polygons of a Collada geometry: tags by name, attributes, the text between tags.
 * Comments are blanked out beforehand; the text ends with a 0. */

typedef struct tag {
    const char *name; /* of an opening tag */
    size_t length;
    const char *attributes, *body; /* body: behind the '>' */
} tag;

static void blank_comments(char *text)
{
    for (char *at = text; (at = strstr(at, "<!--"));) {
        char *end = strstr(at, "-->");
        size_t length = end ? (size_t)(end - at) + 3 : strlen(at);
        memset(at, ' ', length);
        at += length;
    }
}

/* The next opening tag before `limit`; false at the end. */
static bool next_tag(const char *at, const char *limit, tag *out)
{
    while ((at = memchr(at, '<', (size_t)(limit - at)))) {
        at++;
        if (at >= limit) return false;
        if (*at == '/' || *at == '?' || *at == '!') continue;
        const char *end = memchr(at, '>', (size_t)(limit - at));
        if (!end) return false;
        out->name = at;
        while (at < end && !strchr(" \t\r\n/", *at)) at++;
        out->length = (size_t)(at - out->name);
        out->attributes = at, out->body = end + 1;
        return true;
    }
    return false;
}

static bool is(const tag *t, const char *name)
{
    return strlen(name) == t->length && memcmp(t->name, name, t->length) == 0;
}

/* Where the closing tag of `name` begins; limit where there is none. */
static const char *closing(const char *at, const char *limit, const char *name)
{
    size_t length = strlen(name);
    while (at < limit && (at = memchr(at, '<', (size_t)(limit - at)))) {
        if ((size_t)(limit - at) > length + 2 && at[1] == '/' && memcmp(at + 2, name, length) == 0) return at;
        at++;
    }
    return limit;
}

/* Copies the value of an attribute; false where the tag has none. */
static bool attribute(const tag *t, const char *name, char *out, size_t room)
{
    size_t length = strlen(name);
    for (const char *at = t->attributes; at + length + 2 < t->body; at++) {
        if (memcmp(at, name, length) != 0 || at[length] != '=' || !strchr(" \t\r\n", at[-1])) continue;
        const char *value = at + length + 2, *end = memchr(value, at[length + 1], (size_t)(t->body - value));
        if (!end || (size_t)(end - value) >= room) return false;
        memcpy(out, value, (size_t)(end - value));
        out[end - value] = 0;
        return true;
    }
    return false;
}

/* ---- positions ---- */

/* The numbers of the float_array in the source of that id. */
static double *source_numbers(const char *from, const char *limit, const char *id, su_arena *arena, int64_t *count)
{
    tag t;
    char name[200];
    for (const char *at = from; next_tag(at, limit, &t); at = t.body) {
        if (!is(&t, "source") || !attribute(&t, "id", name, sizeof name) || strcmp(name, id) != 0) continue;
        if (!next_tag(t.body, limit, &t) || !is(&t, "float_array") || !attribute(&t, "count", name, sizeof name))
            return NULL;
        long long announced = strtoll(name, NULL, 10);
        const char *end = closing(t.body, limit, "float_array"), *text = t.body;
        if (announced < 1 || announced > end - text) return NULL;
        double *out = su_arena_alloc(arena, announced, sizeof *out);
        for (int64_t k = 0; out && k < announced; k++) {
            char *stop;
            out[k] = strtod(text, &stop);
            if (stop == text || stop > end) return NULL;
            text = stop;
        }
        *count = announced;
        return out;
    }
    return NULL;
}

static bool read_positions(const char *from, const char *limit, su_arena *arena, su_control_mesh *out)
{
    tag t;
    char source[200], semantic[40];
    int64_t numbers = 0;
    bool inside = false;
    for (const char *at = from; next_tag(at, limit, &t); at = t.body) {
        if (is(&t, "vertices")) inside = true;
        if (!inside || !is(&t, "input") || !attribute(&t, "semantic", semantic, sizeof semantic) ||
            strcmp(semantic, "POSITION") != 0)
            continue;
        if (!attribute(&t, "source", source, sizeof source) || source[0] != '#') return false;
        out->position = source_numbers(from, limit, source + 1, arena, &numbers);
        out->points = numbers / 3;
        return out->position && out->points > 0;
    }
    return false;
}

/* ---- polygons ---- */

typedef struct primitive {
    int64_t stride, offset;          /* numbers a corner; which is the vertex */
    const char *counts, *counts_end; /* of polylist; NULL: none */
    long fixed;                      /* corners a polygon; 0: as counts say, or all of a <p> */
} primitive;

static bool read_inputs(const char *from, const char *limit, primitive *out)
{
    tag t;
    char text[40];
    out->stride = 0, out->offset = -1, out->counts = NULL;
    for (const char *at = from; next_tag(at, limit, &t); at = t.body) {
        if (is(&t, "vcount")) out->counts = t.body, out->counts_end = closing(t.body, limit, "vcount");
        if (!is(&t, "input")) continue;
        long offset = attribute(&t, "offset", text, sizeof text) ? strtol(text, NULL, 10) : 0;
        if (offset < 0 || offset > 1000) return false;
        if (offset >= out->stride) out->stride = offset + 1;
        if (attribute(&t, "semantic", text, sizeof text) && strcmp(text, "VERTEX") == 0) out->offset = offset;
    }
    return out->offset >= 0;
}

/* Appends the corners of one <p>. room: of corner, all that the geometry's text can hold. */
static bool read_p(const char *text, const char *end, primitive *in, su_control_mesh *out, int64_t room)
{
    int64_t number = 0, left = in->fixed;
    for (;; number++) {
        char *stop;
        long value = strtol(text, &stop, 10);
        if (stop == text || stop > end) break;
        text = stop;
        if (number % in->stride != in->offset) continue;
        if (value < 0 || value > INT32_MAX - 1 || out->corners >= room) return false;
        if (left == 0 && in->counts) {
            left = strtol(in->counts, &stop, 10);
            if (stop == in->counts || stop > in->counts_end || left < 1) return false;
            in->counts = stop;
        }
        if (left > 0) left--;
        out->corner[out->corners++] = left == 0 && (in->fixed || in->counts) ? -1 - (int32_t)value : (int32_t)value;
        if (left == 0) left = in->fixed;
    }
    if (!in->fixed && !in->counts && out->corners > 0 && out->corner[out->corners - 1] >= 0)
        out->corner[out->corners - 1] = -1 - out->corner[out->corners - 1]; /* polygons: one to a <p> */
    return true;
}

static bool read_polygons(const char *from, const char *limit, su_arena *arena, su_control_mesh *out)
{
    static const char *const kinds[] = {"triangles", "polylist", "polygons"};
    tag t, p;
    int64_t room = (limit - from) / 2 + 1;
    out->corner = su_arena_alloc(arena, room, sizeof *out->corner);
    for (const char *at = from; out->corner && next_tag(at, limit, &t); at = t.body) {
        int kind = 0;
        while (kind < 3 && !is(&t, kinds[kind])) kind++;
        if (kind == 3) continue;
        const char *end = closing(t.body, limit, kinds[kind]);
        primitive in = {.fixed = kind == 0 ? 3 : 0};
        if (!read_inputs(t.body, end, &in)) return false;
        for (const char *inner = t.body; next_tag(inner, end, &p); inner = p.body)
            if (is(&p, "p") && !read_p(p.body, closing(p.body, end, "p"), &in, out, room)) return false;
    }
    return out->corners > 0;
}

/* ---- joints ---- */

typedef struct node_name {
    char id[200], name[200], sid[200];
    bool joint;
} node_name;

static const node_name *find_joint(const node_name *list, int64_t count, const char *sid)
{
    for (int64_t i = 0; i < count; i++)
        if (list[i].joint && strcmp(list[i].sid, sid) == 0) return &list[i];
    return NULL;
}

/* Skins name their joints by sid. assimp takes the first node of that name, id or sid, which may be a mesh. */
static void correct_joints(const node_name *list, int64_t count, su_scene *scene, su_scene_bone *bone)
{
    const char *name = scene->node[bone->node].name;
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(list[i].id, name) != 0) continue;
        const node_name *joint = NULL;
        if (!list[i].joint && !(joint = find_joint(list, count, name))) joint = find_joint(list, count, list[i].name);
        const char *own = joint && joint->id[0] ? joint->id : NULL;
        for (int64_t k = 0; own && k < scene->nodes; k++)
            if (strcmp(scene->node[k].name, own) == 0) bone->node = (int32_t)k;
        return;
    }
}

static void read_joints(const char *text, const char *limit, su_scene *scene)
{
    tag t;
    int64_t count = 0, room = 0;
    for (const char *at = text; next_tag(at, limit, &t); at = t.body) room += is(&t, "node");
    node_name *list = su_arena_alloc(&scene->arena, room, sizeof *list);
    for (const char *at = text; list && next_tag(at, limit, &t); at = t.body) {
        char type[40];
        if (!is(&t, "node")) continue;
        node_name *node = &list[count++];
        if (!attribute(&t, "id", node->id, sizeof node->id)) node->id[0] = '\0';
        if (!attribute(&t, "name", node->name, sizeof node->name)) node->name[0] = '\0';
        if (!attribute(&t, "sid", node->sid, sizeof node->sid)) node->sid[0] = '\0';
        node->joint = attribute(&t, "type", type, sizeof type) && strcmp(type, "JOINT") == 0;
    }
    for (int64_t m = 0; m < scene->meshes; m++)
        for (int64_t b = 0; b < scene->mesh[m].bones; b++) correct_joints(list, count, scene, &scene->mesh[m].bone[b]);
}

/* ---- animations ---- */

/* Do all keys say LINEAR, of which assimp drops nothing? A sampler's kinds of interpolation stand in a Name_array. */
static bool is_linear(const char *text, const char *limit)
{
    static const char *const curved[] = {"BEZIER", "HERMITE", "CARDINAL", "BSPLINE", "STEP"};
    tag t;
    for (const char *at = text; next_tag(at, limit, &t); at = t.body) {
        if (!is(&t, "Name_array")) continue;
        const char *end = closing(t.body, limit, "Name_array");
        for (const char *word = t.body; word < end;) {
            size_t space = strspn(word, " \t\r\n"), length = strcspn(word + space, " \t\r\n<");
            for (size_t k = 0; k < sizeof curved / sizeof *curved; k++)
                if (strlen(curved[k]) == length && memcmp(word + space, curved[k], length) == 0) return false;
            word += space + length + 1;
        }
    }
    return true;
}

/* ---- the file ---- */

void su_collada_control_points(const char *path, su_scene *scene)
{
    size_t size;
    char *text = su_control_points_text(path, scene, &size);
    tag t;
    if (!text || memchr(text, 0, size)) return;
    blank_comments(text);
    const char *limit = text + size;
    read_joints(text, limit, scene);
    scene->exact = is_linear(text, limit);
    for (const char *at = text; next_tag(at, limit, &t);) {
        at = t.body;
        if (!is(&t, "geometry")) continue;
        const char *end = closing(t.body, limit, "geometry");
        su_control_mesh mesh = {0};
        if (read_positions(t.body, end, &scene->arena, &mesh) && read_polygons(t.body, end, &scene->arena, &mesh))
            su_control_points_match(scene, &mesh);
        at = end;
    }
}
