#include "io/cache/ply.h"

#include "core/file.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ELEMENTS = 16, MOST_PROPERTIES = 64, NAME_ROOM = 40 };

typedef enum type { NONE, I8, U8, I16, U16, I32, U32, F32, F64 } type;

typedef struct property {
    char name[NAME_ROOM];
    type count; /* of a list; NONE: a single value */
    type value;
} property;

typedef struct element {
    char name[NAME_ROOM];
    int64_t count;
    int properties;
    property property[MOST_PROPERTIES];
} element;

/* What a vertex property means: a place in a row of X Y Z RED GREEN BLUE ALPHA U V. */
enum { X, RED = 3, ALPHA = 6, U = 7, ROW = 9 };

typedef struct parser {
    const char *path;
    su_error *err;
    char *data; /* whole file, 0 behind it */
    const char *at, *end;
    bool ascii, swap;
    int elements;
    element *element; /* (MOST_ELEMENTS) */
} parser;

static su_status refuse(const parser *p, const char *what)
{
    return su_fail(p->err, SU_INPUT, "%s: %s", p->path, what);
}

static su_status read_file(parser *p)
{
    struct stat info;
    int fd = open(p->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return su_fail(p->err, su_file_status(errno, SU_INPUT), "%s: cannot open: %s", p->path, strerror(errno));
    su_status status = SU_OK;
    size_t size = 0;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        status = refuse(p, "not a regular file");
    else if (!(p->data = malloc((size_t)info.st_size + 1)))
        status = su_fail(p->err, SU_AGAIN, "%s: out of memory", p->path);
    while (status == SU_OK && size < (size_t)info.st_size) {
        ssize_t got = read(fd, p->data + size, (size_t)info.st_size - size);
        if (got < 0 && errno != EINTR)
            status = su_fail(p->err, SU_AGAIN, "%s: cannot read: %s", p->path, strerror(errno));
        if (got == 0) break;
        if (got > 0) size += (size_t)got;
    }
    close(fd);
    if (status != SU_OK) return status;
    p->data[size] = 0;
    p->at = p->data, p->end = p->data + size;
    return SU_OK;
}

/* ---- header ---- */

static type type_named(const char *name)
{
    static const char *const names[][2] = {{"", ""},           {"char", "int8"},     {"uchar", "uint8"},
                                           {"short", "int16"}, {"ushort", "uint16"}, {"int", "int32"},
                                           {"uint", "uint32"}, {"float", "float32"}, {"double", "float64"}};
    for (int i = 1; i <= F64; i++)
        if (strcmp(name, names[i][0]) == 0 || strcmp(name, names[i][1]) == 0) return (type)i;
    return NONE;
}

/* The next line of the header, cut to size; false at the end. */
static bool next_line(parser *p, char *line, size_t room)
{
    if (p->at >= p->end) return false;
    const char *stop = memchr(p->at, '\n', (size_t)(p->end - p->at));
    size_t length = (size_t)((stop ? stop : p->end) - p->at), kept = length < room ? length : room - 1;
    memcpy(line, p->at, kept);
    while (kept > 0 && (line[kept - 1] == '\r' || line[kept - 1] == ' ')) kept--;
    line[kept] = 0;
    p->at += stop ? length + 1 : length;
    return true;
}

static su_status read_format(parser *p, const char *line)
{
    const uint16_t one = 1;
    bool host_is_big = *(const unsigned char *)&one == 0;
    if (strncmp(line, "format ascii", 12) == 0)
        p->ascii = true;
    else if (strncmp(line, "format binary_little_endian", 27) == 0)
        p->swap = host_is_big;
    else if (strncmp(line, "format binary_big_endian", 24) == 0)
        p->swap = !host_is_big;
    else
        return refuse(p, "is neither ASCII nor binary PLY");
    return SU_OK;
}

static su_status read_property(parser *p, const char *line)
{
    char count[16] = "", value[16] = "", name[NAME_ROOM] = "";
    element *e = p->elements ? &p->element[p->elements - 1] : NULL;
    if (!e || e->properties == MOST_PROPERTIES) return refuse(p, "its header has a property out of place, or too many");
    property *out = &e->property[e->properties++];
    if (sscanf(line, "property list %15s %15s %39s", count, value, name) == 3) {
        out->count = type_named(count);
        if (out->count == NONE || out->count >= F32)
            return refuse(p, "a list in its header has no whole-numbered count");
    } else if (sscanf(line, "property %15s %39s", value, name) != 2) {
        return refuse(p, "its header has a property that cannot be read");
    }
    out->value = type_named(value);
    memcpy(out->name, name, sizeof name);
    return out->value == NONE ? su_fail(p->err, SU_INPUT, "%s: property '%s' has an unknown type", p->path, name)
                              : SU_OK;
}

static su_status read_header(parser *p)
{
    char line[300];
    bool format = false;
    if (!next_line(p, line, sizeof line) || strcmp(line, "ply") != 0) return refuse(p, "not a PLY file");
    while (next_line(p, line, sizeof line)) {
        if (strcmp(line, "end_header") == 0) return format ? SU_OK : refuse(p, "its header names no format");
        if (strncmp(line, "format ", 7) == 0) {
            SU_TRY(read_format(p, line));
            format = true;
        } else if (strncmp(line, "element ", 8) == 0) {
            if (p->elements == MOST_ELEMENTS) return refuse(p, "its header has too many elements");
            element *e = &p->element[p->elements++];
            long long count;
            if (sscanf(line, "element %39s %18lld", e->name, &count) != 2 || count < 0)
                return refuse(p, "its header has an element that cannot be read");
            e->count = count;
        } else if (strncmp(line, "property ", 9) == 0) {
            SU_TRY(read_property(p, line));
        } else if (line[0] && strncmp(line, "comment", 7) != 0 && strncmp(line, "obj_info", 8) != 0) {
            return refuse(p, "its header has a line that is no part of PLY");
        }
    }
    return refuse(p, "its header does not end");
}

/* ---- values ---- */

static bool binary_value(parser *p, type kind, double *out)
{
    static const size_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 4, 8};
    size_t size = sizes[kind];
    unsigned char raw[8];
    if ((size_t)(p->end - p->at) < size) return false;
    for (size_t i = 0; i < size; i++) raw[i] = (unsigned char)p->at[p->swap ? size - 1 - i : i];
    p->at += size;
    switch (kind) {
    case I8:
        *out = (int8_t)raw[0];
        break;
    case U8:
        *out = raw[0];
        break;
    case I16: {
        int16_t v;
        memcpy(&v, raw, 2), *out = v;
        break;
    }
    case U16: {
        uint16_t v;
        memcpy(&v, raw, 2), *out = v;
        break;
    }
    case I32: {
        int32_t v;
        memcpy(&v, raw, 4), *out = v;
        break;
    }
    case U32: {
        uint32_t v;
        memcpy(&v, raw, 4), *out = v;
        break;
    }
    case F32: {
        float v;
        memcpy(&v, raw, 4), *out = (double)v;
        break;
    }
    default:
        memcpy(out, raw, 8);
    }
    return true;
}

static bool value(parser *p, type kind, double *out)
{
    if (!p->ascii) return binary_value(p, kind, out);
    char *stop;
    *out = strtod(p->at, &stop);
    bool found = stop != p->at;
    p->at = stop;
    return found;
}

/* The length of a list, 0 to what the file can hold. */
static bool list_length(parser *p, const property *list, int64_t *count)
{
    double x;
    if (!value(p, list->count, &x) || !(x >= 0.0 && x <= (double)(p->end - p->at))) return false;
    *count = (int64_t)x;
    return true;
}

static bool skip(parser *p, const property *what)
{
    int64_t count = 1;
    double ignored;
    if (what->count != NONE && !list_length(p, what, &count)) return false;
    while (count-- > 0)
        if (!value(p, what->value, &ignored)) return false;
    return true;
}

/* ---- elements ---- */

static int slot_of(const property *what)
{
    static const struct {
        const char *name;
        int slot;
    } known[] = {
        {"x", X}, {"y", X + 1}, {"z", X + 2}, {"red", RED}, {"green", RED + 1}, {"blue", RED + 2},   {"alpha", ALPHA},
        {"s", U}, {"t", U + 1}, {"u", U},     {"v", U + 1}, {"texture_u", U},   {"texture_v", U + 1}};
    for (size_t i = 0; what->count == NONE && i < sizeof known / sizeof *known; i++)
        if (strcmp(what->name, known[i].name) == 0) return known[i].slot;
    return -1;
}

static su_status cut_off(const parser *p, const element *e, int64_t row)
{
    return su_fail(p->err, SU_INPUT, "%s: %s %lld is cut off or cannot be read", p->path, e->name, (long long)row);
}

static su_status read_vertices(parser *p, const element *e, su_obj *mesh)
{
    int slot[MOST_PROPERTIES];
    bool have[ROW] = {false};
    double scale[ROW], row[ROW] = {0.0};
    for (int k = 0; k < ROW; k++) scale[k] = 1.0;
    for (int k = 0; k < e->properties; k++)
        if ((slot[k] = slot_of(&e->property[k])) >= 0) {
            have[slot[k]] = true;
            if (slot[k] >= RED && slot[k] <= ALPHA)
                scale[slot[k]] = e->property[k].value == U8 ? 255.0 : e->property[k].value == U16 ? 65535.0 : 1.0;
        }
    if (!have[X] || !have[X + 1] || !have[X + 2]) return refuse(p, "its vertices have no x, y and z");
    if (e->count > p->end - p->at || e->count > INT32_MAX) return refuse(p, "announces more vertices than it holds");
    mesh->vertices = e->count;
    SU_TRY(SU_ALLOC(&mesh->points, 3 * e->count, "vertices", p->err));
    if (have[RED] && have[RED + 1] && have[RED + 2]) SU_TRY(SU_ALLOC(&mesh->color, 4 * e->count, "colours", p->err));
    if (have[U] && have[U + 1]) SU_TRY(SU_ALLOC(&mesh->uv, 2 * e->count, "texture coordinates", p->err));
    for (int64_t v = 0; v < e->count; v++) {
        for (int k = 0; k < e->properties; k++)
            if (!(slot[k] < 0 ? skip(p, &e->property[k]) : value(p, e->property[k].value, &row[slot[k]])))
                return cut_off(p, e, v);
        for (int i = 0; i < 3; i++) mesh->points[3 * v + i] = row[X + i];
        for (int i = 0; i < 4 && mesh->color; i++)
            mesh->color[4 * v + i] = i == 3 && !have[ALPHA] ? 1.0f : (float)(row[RED + i] / scale[RED + i]);
        for (int i = 0; i < 2 && mesh->uv; i++) mesh->uv[2 * v + i] = (float)row[U + i];
        bool finite = isfinite(row[X]) && isfinite(row[X + 1]) && isfinite(row[X + 2]);
        for (int i = 0; i < 4 && mesh->color; i++) finite &= isfinite(mesh->color[4 * v + i]);
        for (int i = 0; i < 2 && mesh->uv; i++) finite &= isfinite(mesh->uv[2 * v + i]);
        if (!finite)
            return su_fail(p->err, SU_INPUT, "%s: vertex %lld has values that are no finite numbers", p->path,
                           (long long)v);
    }
    return SU_OK;
}

static bool grow(int32_t **array, int64_t *room, int64_t wanted)
{
    if (wanted <= *room) return true;
    int64_t more = 2 * wanted + 64;
    int32_t *grown = realloc(*array, (size_t)more * sizeof **array);
    if (grown) *array = grown, *room = more;
    return grown != NULL;
}

static su_status read_faces(parser *p, const element *e, su_obj *mesh)
{
    int64_t faces = 0, corners = 0;
    for (int64_t f = 0; e->properties && f < e->count; f++) /* rows of nothing have no end */
        for (int k = 0; k < e->properties; k++) {
            const property *what = &e->property[k];
            int64_t count;
            if (what->count == NONE ||
                (strcmp(what->name, "vertex_indices") != 0 && strcmp(what->name, "vertex_index") != 0)) {
                if (!skip(p, what)) return cut_off(p, e, f);
                continue;
            }
            if (!list_length(p, what, &count)) return cut_off(p, e, f);
            if (mesh->corners + count > INT32_MAX) return refuse(p, "has more corners than supple can number");
            if (!grow(&mesh->face_indices, &corners, mesh->corners + count) ||
                !grow(&mesh->face_counts, &faces, mesh->faces + 1))
                return su_fail(p->err, SU_AGAIN, "%s: out of memory", p->path);
            for (int64_t i = 0; i < count; i++) {
                double x;
                if (!value(p, what->value, &x)) return cut_off(p, e, f);
                if (!(x >= 0.0 && x < (double)mesh->vertices))
                    return su_fail(p->err, SU_INPUT, "%s: face %lld names a vertex that is not there", p->path,
                                   (long long)f);
                mesh->face_indices[mesh->corners + i] = (int32_t)x;
            }
            if (count < 3) continue; /* not a polygon */
            mesh->face_counts[mesh->faces++] = (int32_t)count;
            mesh->corners += count;
        }
    return SU_OK;
}

static su_status read_elements(parser *p, su_obj *mesh, bool only_points)
{
    bool vertices = false;
    for (int i = 0; i < p->elements; i++) {
        const element *e = &p->element[i];
        if (strcmp(e->name, "vertex") == 0 && !vertices) {
            SU_TRY(read_vertices(p, e, mesh));
            vertices = true;
            if (only_points) return SU_OK;
        } else if (strcmp(e->name, "face") == 0) {
            if (!vertices) return refuse(p, "has faces before its vertices");
            SU_TRY(read_faces(p, e, mesh));
        } else {
            for (int64_t row = 0; e->properties && row < e->count; row++)
                for (int k = 0; k < e->properties; k++)
                    if (!skip(p, &e->property[k])) return cut_off(p, e, row);
        }
    }
    return vertices && mesh->vertices ? SU_OK : refuse(p, "holds no vertices");
}

/* One object; the texture coordinates are those of the vertices. */
static su_status finish(su_obj *mesh, su_error *err)
{
    mesh->objects = 1;
    SU_TRY(SU_ALLOC(&mesh->object_names, 1, "the mesh", err));
    SU_TRY(SU_ALLOC(&mesh->object_ids, mesh->vertices, "the mesh", err));
    if (!(mesh->object_names[0] = strdup("mesh"))) return su_fail(err, SU_AGAIN, "out of memory for a mesh");
    if (!mesh->uv || mesh->corners == 0) return SU_OK;
    mesh->uvs = mesh->vertices;
    SU_TRY(SU_ALLOC(&mesh->uv_indices, mesh->corners, "the mesh", err));
    memcpy(mesh->uv_indices, mesh->face_indices, (size_t)mesh->corners * sizeof *mesh->uv_indices);
    return SU_OK;
}

static su_status load(const char *path, bool only_points, su_obj *mesh, su_error *err)
{
    parser p = {.path = path, .err = err};
    su_status status;
    *mesh = (su_obj){0};
    SU_GO(SU_ALLOC(&p.element, MOST_ELEMENTS, "a header", err));
    SU_GO(read_file(&p));
    SU_GO(read_header(&p));
    SU_GO(read_elements(&p, mesh, only_points));
    if (!only_points) SU_GO(finish(mesh, err));
done:
    free(p.element);
    free(p.data);
    if (status != SU_OK) su_obj_free(mesh);
    return status;
}

su_status su_ply_points(const char *path, int64_t vertices, double *points, su_error *err)
{
    su_obj mesh;
    SU_TRY(load(path, true, &mesh, err));
    su_status status = SU_OK;
    if (mesh.vertices != vertices)
        status = su_fail(err, SU_INPUT, "%s: has %lld vertices, %lld were expected: topology must not change", path,
                         (long long)mesh.vertices, (long long)vertices);
    else
        memcpy(points, mesh.points, (size_t)(3 * vertices) * sizeof *points);
    su_obj_free(&mesh);
    return status;
}

su_status su_mesh_file_load(const char *path, su_obj *mesh, su_error *err)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ".ply") == 0 ? load(path, false, mesh, err) : su_obj_load(path, mesh, err);
}
