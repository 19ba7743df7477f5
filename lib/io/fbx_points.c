#include "io/fbx_points.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Records of a binary FBX: end offset, count and bytes of properties (32 bits each, 64 from version 7500 on), a name with
 * its length in one byte, properties, then nested records up to the end offset. */

typedef struct reader {
    const unsigned char *data;
    size_t size;
    bool wide;
    su_arena *arena;
} reader;

typedef struct record {
    size_t end, properties, property_count, children;   /* offsets into the file */
    const char *name;
    size_t name_length;
} record;

typedef struct geometry {
    int64_t points, corners;
    double *position;   /* (points,3) */
    int32_t *corner;    /* (corners) -1 - index at the end of each polygon, as stored */
} geometry;

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
    if (rec->property_count < 1 || rec->children - rec->properties < 13 || r->data[rec->properties] != (unsigned char)type)
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

static bool read_geometry(const reader *r, const record *parent, geometry *out)
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

/* Do the mesh's vertices repeat the corners of this geometry, one after the other? Points that no polygon uses would have
 * no vertex: then the order of the file cannot be kept. */
static bool match(su_scene_mesh *mesh, const geometry *g, su_arena *arena)
{
    if (mesh->vertices != g->corners || mesh->corners != g->corners) return false;
    uint8_t *used = su_arena_alloc(arena, g->points, 1);
    int32_t *point = su_arena_alloc(arena, mesh->vertices, sizeof *point);
    if (!used || !point) return false;
    for (int64_t v = 0; v < mesh->vertices; v++) {
        int64_t at = g->corner[v] < 0 ? -1 - (int64_t)g->corner[v] : g->corner[v];
        if (at >= g->points || mesh->face_indices[v] != (int32_t)v) return false;
        for (int i = 0; i < 3; i++)
            if ((float)g->position[3 * at + i] != (float)mesh->positions[3 * v + i]) return false;
        point[v] = (int32_t)at, used[at] = 1;
    }
    for (int64_t i = 0; i < g->points; i++)
        if (!used[i]) return false;
    mesh->control_point = point, mesh->control_points = g->points;
    return true;
}

void su_fbx_control_points(const char *path, su_scene *scene)
{
    static const char magic[21] = "Kaydara FBX Binary  ";
    FILE *in = fopen(path, "rb");
    record objects, object;
    unsigned char *data = NULL;
    long size = -1;
    if (!in) return;
    if (fseek(in, 0, SEEK_END) == 0 && (size = ftell(in)) > 27) {
        rewind(in);
        data = su_arena_alloc(&scene->arena, size, 1);
        if (data && fread(data, 1, (size_t)size, in) != (size_t)size) data = NULL;
    }
    fclose(in);
    if (!data || memcmp(data, magic, sizeof magic) != 0) return;
    reader r = {data, (size_t)size, little(data + 23, 4) >= 7500, &scene->arena};
    for (size_t at = 27; open_record(&r, at, r.size, &objects); at = objects.end) {
        if (!is_named(&objects, "Objects")) continue;
        for (size_t inner = objects.children; open_record(&r, inner, objects.end, &object); inner = object.end) {
            geometry g;
            bool found = false;
            if (!is_named(&object, "Geometry") || !read_geometry(&r, &object, &g)) continue;
            for (int64_t i = 0; i < scene->meshes && !found; i++)
                found = !scene->mesh[i].control_point && match(&scene->mesh[i], &g, &scene->arena);
        }
    }
}
