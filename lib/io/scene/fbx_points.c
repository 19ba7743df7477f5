#include "io/scene/control_points.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Records of a binary FBX: end offset, count and bytes of properties (32 bits each, 64 from version 7500 on), a name
 * with its length in one byte, properties, then nested records up to the end offset. */

typedef struct reader {
    const unsigned char *data;
    size_t size;
    bool wide;
    su_arena *arena;
} reader;

typedef struct record {
    size_t end, properties, property_count, children; /* offsets into the file */
    const char *name;
    size_t name_length;
} record;

static uint64_t little(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | p[i];
    return value;
}

/* Reads the header of the record at `at`; false at the closing null record and where it is broken. */
static bool open_record(const reader *r, size_t at, size_t limit, record *out)
{
    size_t word = r->wide ? 8 : 4, head = 3 * word + 1;
    if (at > limit || limit - at < head) return false;
    uint64_t end = little(r->data + at, (int)word), bytes = little(r->data + at + 2 * word, (int)word);
    out->property_count = (size_t)little(r->data + at + word, (int)word);
    out->name_length = r->data[at + 3 * word];
    out->name = (const char *)r->data + at + head;
    out->properties = at + head + out->name_length;
    if (end <= at || end > limit || out->properties > end || bytes > end - out->properties) return false;
    out->end = (size_t)end;
    out->children = out->properties + (size_t)bytes;
    return true;
}

static bool is_named(const record *rec, const char *name)
{
    return rec->name_length == strlen(name) && memcmp(rec->name, name, rec->name_length) == 0;
}

/* The first property as an array of `type` ('d' or 'i'): count elements of `bytes` each, decompressed. */
static unsigned char *read_array(const reader *r, const record *rec, char type, size_t bytes, int64_t *count)
{
    if (rec->property_count < 1 || rec->children - rec->properties < 13 ||
        r->data[rec->properties] != (unsigned char)type)
        return NULL;
    const unsigned char *head = r->data + rec->properties + 1;
    uint64_t elements = little(head, 4), encoding = little(head + 4, 4), stored = little(head + 8, 4);
    if (stored > rec->children - rec->properties - 13 || elements > 1u << 28) return NULL;
    /* zlib cannot shrink below about one part in a thousand: do not believe more. */
    if (encoding == 1 ? elements * bytes > (stored + 16) * 1100 : elements * bytes != stored) return NULL;
    unsigned char *out = su_arena_alloc(r->arena, (int64_t)elements, bytes);
    if (!out) return NULL;
    uLongf size = (uLongf)(elements * bytes);
    if (encoding == 1) {
        if (uncompress(out, &size, head + 12, (uLong)stored) != Z_OK || size != elements * bytes) return NULL;
    } else {
        memcpy(out, head + 12, size);
    }
    *count = (int64_t)elements;
    return out;
}

static bool read_geometry(const reader *r, const record *parent, su_control_mesh *out)
{
    record child;
    int64_t numbers = 0;
    memset(out, 0, sizeof *out);
    for (size_t at = parent->children; open_record(r, at, parent->end, &child); at = child.end) {
        if (is_named(&child, "Vertices")) out->position = (double *)(void *)read_array(r, &child, 'd', 8, &numbers);
        if (is_named(&child, "PolygonVertexIndex"))
            out->corner = (int32_t *)(void *)read_array(r, &child, 'i', 4, &out->corners);
    }
    out->points = numbers / 3;
    return out->position && out->corner && out->points > 0 && out->corners > 0;
}

/* ---- text: "Vertices: *12 {" and "a: 0,0.5,..." over any number of lines ---- */

/* Behind the next "key:" that stands alone; NULL at the end. Strings and comments are passed over. */
static const char *next_key(const char *at, const char **key, size_t *length)
{
    while (*at) {
        if (*at == '"') {
            at = strchr(at + 1, '"');
            if (!at) return NULL;
            at++;
        } else if (*at == ';') {
            at += strcspn(at, "\n");
        } else if (isalpha((unsigned char)*at)) {
            *key = at;
            while (isalnum((unsigned char)*at) || *at == '_') at++;
            *length = (size_t)(at - *key);
            if (*at == ':') return at + 1;
        } else {
            at++;
        }
    }
    return NULL;
}

static bool key_is(const char *key, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(key, name, length) == 0;
}

/* The numbers of "*N { a: x,y,... }": as doubles or as integers. */
static void *text_array(const char *at, su_arena *arena, bool whole, int64_t *count)
{
    char *end;
    at += strspn(at, " \t");
    if (*at != '*') return NULL;
    long long announced = strtoll(at + 1, &end, 10);
    at = end + strspn(end, " \t\r\n");
    if (*at++ != '{') return NULL;
    at += strspn(at, " \t\r\n");
    if (strncmp(at, "a:", 2) != 0) return NULL;
    at += 2;
    if (announced < 1 || (uint64_t)announced > strlen(at)) return NULL; /* a digit each, at least */
    double *number = whole ? NULL : su_arena_alloc(arena, announced, sizeof *number);
    int32_t *index = whole ? su_arena_alloc(arena, announced, sizeof *index) : NULL;
    for (long long k = 0; k < announced; k++) {
        if (!number && !index) return NULL;
        if (whole) {
            long value = strtol(at, &end, 10);
            if (value < INT32_MIN || value > INT32_MAX) return NULL;
            index[k] = (int32_t)value;
        } else {
            number[k] = strtod(at, &end);
        }
        if (end == at) return NULL;
        at = end + strspn(end, " \t\r\n,");
    }
    *count = announced;
    return whole ? (void *)index : (void *)number;
}

static void read_text(const char *text, su_scene *scene)
{
    su_control_mesh mesh = {0};
    const char *key;
    size_t length;
    for (const char *at = text; (at = next_key(at, &key, &length));) {
        int64_t numbers = 0;
        if (key_is(key, length, "Geometry")) mesh = (su_control_mesh){0};
        if (key_is(key, length, "Vertices")) {
            mesh.position = text_array(at, &scene->arena, false, &numbers);
            mesh.points = numbers / 3;
        }
        if (!key_is(key, length, "PolygonVertexIndex")) continue;
        mesh.corner = text_array(at, &scene->arena, true, &mesh.corners);
        if (mesh.position && mesh.corner) su_control_points_match(scene, &mesh);
        mesh = (su_control_mesh){0};
    }
}

/* ---- both ---- */

void su_fbx_control_points(const char *path, su_scene *scene)
{
    static const char magic[21] = "Kaydara FBX Binary  ";
    record objects, object;
    size_t size;
    const char *text = su_control_points_text(path, scene, &size);
    const unsigned char *data = (const unsigned char *)text;
    if (!text) return;
    if (size < 27 || memcmp(text, magic, sizeof magic) != 0) {
        read_text(text, scene);
        return;
    }
    reader r = {data, size, little(data + 23, 4) >= 7500, &scene->arena};
    for (size_t at = 27; open_record(&r, at, r.size, &objects); at = objects.end) {
        if (!is_named(&objects, "Objects")) continue;
        for (size_t inner = objects.children; open_record(&r, inner, objects.end, &object); inner = object.end) {
            su_control_mesh mesh;
            if (is_named(&object, "Geometry") && read_geometry(&r, &object, &mesh))
                su_control_points_match(scene, &mesh);
        }
    }
}
