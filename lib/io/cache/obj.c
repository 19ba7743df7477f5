#include "io/cache/obj.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/order.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Arrays that grow by doubling; a failed growth sticks in the parser. */
typedef struct grow {
    void *data;
    int64_t count, capacity;
} grow;

typedef struct parser {
    const char *path;
    int64_t line;
    su_error *err;
    su_status status;
    grow points, colors, uv, counts, indices, uv_indices, ids, names, materials;
    grow groups, group_faces; /* pairs of a group and a face; groups of the current line */
    su_looks looks;
    char *library;
    int32_t material; /* current; -1: none */
    bool all_colored, all_textured;
    int32_t object; /* current */
    bool only_points;
} parser;

static void *extend(parser *p, grow *g, int64_t more, size_t size)
{
    if (g->count + more > g->capacity) {
        int64_t capacity = 2 * g->capacity + more + 64;
        void *grown = realloc(g->data, (size_t)capacity * size);
        if (!grown) {
            p->status = su_fail(p->err, SU_AGAIN, "%s: out of memory", p->path);
            return NULL;
        }
        g->data = grown, g->capacity = capacity;
    }
    void *at = (char *)g->data + (size_t)g->count * size;
    g->count += more;
    return at;
}

static void refuse(parser *p, const char *what)
{
    if (p->status == SU_OK) p->status = su_fail(p->err, SU_INPUT, "%s:%lld: %s", p->path, (long long)p->line, what);
}

/* Up to `most` numbers of a line; returns how many. */
static int numbers(char *text, int most, double *out)
{
    int count = 0;
    for (; count < most; count++) {
        char *end;
        out[count] = strtod(text, &end);
        if (end == text || !isfinite(out[count])) break;
        text = end;
    }
    return count;
}

static void read_vertex(parser *p, char *text)
{
    double x[7];
    int count = numbers(text, 7, x);
    if (count < 3) {
        refuse(p, "a vertex needs three finite numbers");
        return;
    }
    double *point = extend(p, &p->points, 3, sizeof *point);
    if (!point) return;
    memcpy(point, x, 3 * sizeof *x);
    if (p->only_points) return;
    int32_t *id = extend(p, &p->ids, 1, sizeof *id);
    if (!id) return;
    *id = p->object;
    if (count != 6) { /* four numbers: x y z w */
        p->all_colored = false;
        return;
    }
    float *color = extend(p, &p->colors, 4, sizeof *color);
    if (!color) return;
    for (int i = 0; i < 3; i++) color[i] = (float)x[3 + i];
    color[3] = 1.0f;
}

static void read_uv(parser *p, char *text)
{
    double x[2] = {0.0, 0.0};
    if (numbers(text, 2, x) < 1) {
        refuse(p, "a texture coordinate needs a finite number");
        return;
    }
    float *uv = extend(p, &p->uv, 2, sizeof *uv);
    if (uv) uv[0] = (float)x[0], uv[1] = (float)x[1];
}

/* Index from 1, or from the end where negative; -1 where out of range. */
static int64_t resolve(long long index, int64_t count)
{
    int64_t at = index > 0 ? index - 1 : index < 0 ? count + index : -1;
    return at >= 0 && at < count ? at : -1;
}

static void read_face(parser *p, char *text)
{
    int64_t vertices = p->points.count / 3, uvs = p->uv.count / 2, start = p->indices.count;
    int32_t corners = 0;
    for (;;) {
        char *end;
        long long v = strtoll(text, &end, 10);
        if (end == text) break;
        int64_t vertex = resolve(v, vertices), coordinate = -1;
        if (vertex < 0) {
            refuse(p, "a face names a vertex that is not there");
            return;
        }
        if (*end == '/') {
            text = end + 1;
            long long t = strtoll(text, &end, 10);
            if (end != text && (coordinate = resolve(t, uvs)) < 0) {
                refuse(p, "a face names a texture coordinate that is not there");
                return;
            }
            if (*end == '/') (void)strtoll(end + 1, &end, 10);
        }
        int32_t *index = extend(p, &p->indices, 1, sizeof *index),
                *uv_index = extend(p, &p->uv_indices, 1, sizeof *uv_index);
        if (!index || !uv_index) return;
        *index = (int32_t)vertex, *uv_index = (int32_t)coordinate;
        if (coordinate < 0) p->all_textured = false;
        corners++;
        text = end;
    }
    if (corners < 3) { /* not a polygon */
        p->indices.count = p->uv_indices.count = start;
        return;
    }
    int32_t *count = extend(p, &p->counts, 1, sizeof *count), *ids = p->ids.data;
    int32_t *material = extend(p, &p->materials, 1, sizeof *material);
    if (!count || !material) return;
    *count = corners, *material = p->material;
    for (int64_t i = 0; i < p->groups.count; i++) {
        int32_t *pair = extend(p, &p->group_faces, 2, sizeof *pair);
        if (!pair) return;
        pair[0] = ((const int32_t *)p->groups.data)[i], pair[1] = (int32_t)p->counts.count - 1;
    }
    const int32_t *index = (const int32_t *)p->indices.data + start;
    for (int32_t k = 0; k < corners; k++)
        if (ids[index[k]] >= -1) ids[index[k]] = -2 - p->object; /* claimed by the first face that uses it */
}

static void read_object(parser *p, char *name)
{
    size_t length = strlen(name);
    while (length > 0 && (name[length - 1] == ' ' || name[length - 1] == '\t')) name[--length] = 0;
    char **names = p->names.data;
    for (int64_t i = 0; i < p->names.count; i++)
        if (strcmp(names[i], name) == 0) {
            p->object = (int32_t)i;
            return;
        }
    char *copy = strdup(name), **slot = copy ? extend(p, &p->names, 1, sizeof *slot) : NULL;
    if (!slot) {
        free(copy);
        p->status = su_fail(p->err, SU_AGAIN, "%s: out of memory", p->path);
        return;
    }
    *slot = copy;
    p->object = (int32_t)p->names.count - 1;
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) text[--length] = 0;
    return text;
}

static void read_material(parser *p, char *text)
{
    const char *name = trimmed(text);
    p->material = -1;
    if (*name) p->status = su_looks_material(&p->looks, name, &p->material, p->err);
}

/* The groups of the faces that follow; "default" is what faces without a group are in. */
static void read_groups(parser *p, char *text)
{
    char *rest;
    p->groups.count = 0;
    for (char *name = strtok_r(text, " \t", &rest); name && p->status == SU_OK; name = strtok_r(NULL, " \t", &rest)) {
        int64_t k = 0;
        if (strcmp(name, "default") == 0) continue;
        while (k < p->looks.sets && strcmp(p->looks.set_names[k], name) != 0) k++;
        if (k == p->looks.sets) p->status = su_looks_add_set(&p->looks, name, 0, NULL, p->err);
        int32_t *group = p->status == SU_OK ? extend(p, &p->groups, 1, sizeof *group) : NULL;
        if (group) *group = (int32_t)k;
    }
}

static void read_library(parser *p, char *text)
{
    if (p->library) return;
    if (!(p->library = strdup(trimmed(text)))) p->status = su_fail(p->err, SU_AGAIN, "%s: out of memory", p->path);
}

static bool keyword(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == '\t' || !line[length]);
}

static void read_line(parser *p, char *line)
{
    while (*line == ' ' || *line == '\t') line++;
    bool space = line[0] && (line[1] == ' ' || line[1] == '\t');
    if (line[0] == 'v' && space)
        read_vertex(p, line + 2);
    else if (p->only_points)
        return;
    else if (line[0] == 'f' && space)
        read_face(p, line + 2);
    else if (line[0] == 'o' && space)
        read_object(p, line + 2 + strspn(line + 2, " \t"));
    else if (line[0] == 'v' && line[1] == 't' && (line[2] == ' ' || line[2] == '\t'))
        read_uv(p, line + 3);
    else if (line[0] == 'g' && (space || !line[1]))
        read_groups(p, line + 1);
    else if (keyword(line, "usemtl"))
        read_material(p, line + 6);
    else if (keyword(line, "mtllib"))
        read_library(p, line + 6);
}

static su_status read_file(const char *path, char **text, size_t *size, su_error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot open: %s", path, strerror(errno));
    su_status status = SU_OK;
    *text = NULL, *size = 0;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        status = su_fail(err, SU_INPUT, "%s: not a regular file", path);
    else if (!(*text = malloc((size_t)info.st_size + 1)))
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
    while (status == SU_OK && *size < (size_t)info.st_size) {
        ssize_t got = read(fd, *text + *size, (size_t)info.st_size - *size);
        if (got < 0 && errno != EINTR) status = su_fail(err, SU_AGAIN, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0) break;
        if (got > 0) *size += (size_t)got;
    }
    close(fd);
    if (status == SU_OK && memchr(*text, 0, *size)) status = su_fail(err, SU_INPUT, "%s: not a text file", path);
    if (status == SU_OK)
        (*text)[*size] = 0;
    else
        free(*text), *text = NULL;
    return status;
}

static su_status parse(parser *p)
{
    char *text = NULL;
    size_t size;
    SU_TRY(read_file(p->path, &text, &size, p->err));
    for (char *at = text; *at && p->status == SU_OK;) {
        char *end = at + strcspn(at, "\r\n");
        while (end > at && end[-1] == '\\' && *end) { /* a line goes on behind a backslash */
            end[-1] = ' ';
            if (end[0] == '\r' && end[1] == '\n') *end++ = ' ';
            *end = ' ';
            end += strcspn(end, "\r\n");
            p->line++;
        }
        char *next = *end ? end + 1 : end;
        if (end[0] == '\r' && *next == '\n') next++;
        *end = 0;
        p->line++;
        read_line(p, at);
        at = next;
    }
    free(text);
    if (p->status == SU_OK && p->points.count == 0)
        p->status = su_fail(p->err, SU_INPUT, "%s: holds no vertices", p->path);
    if (p->status == SU_OK && (p->points.count / 3 > INT32_MAX || p->indices.count > INT32_MAX))
        p->status = su_fail(p->err, SU_INPUT, "%s: more vertices or corners than supple can number", p->path);
    return p->status;
}

static void parser_free(parser *p)
{
    char **names = p->names.data;
    for (int64_t i = 0; i < p->names.count; i++) free(names[i]);
    free(p->points.data), free(p->colors.data), free(p->uv.data), free(p->counts.data);
    free(p->indices.data), free(p->uv_indices.data), free(p->ids.data), free(p->names.data);
    free(p->materials.data), free(p->groups.data), free(p->group_faces.data), free(p->library);
    su_looks_free(&p->looks);
}

static void *hand_over(grow *g)
{
    void *data = g->data;
    *g = (grow){0};
    return data;
}

static int by_group(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Faces of the groups, sorted at the end: they stand in the file in any order. A group of all faces of an object by its
 * name, as Blender and Maya write it beside or instead of the object, is kept as it is. */
static su_status fill_groups(parser *p)
{
    int64_t pairs = p->group_faces.count / 2, kept = 0;
    int32_t *pair = p->group_faces.data;
    su_looks *looks = &p->looks;
    if (pairs > INT32_MAX) return su_fail(p->err, SU_INPUT, "%s: too many faces in groups", p->path);
    if (looks->sets == 0) return SU_OK;
    free(looks->face);
    looks->face = NULL;
    SU_TRY(SU_ALLOC(&looks->face, pairs, "groups", p->err));
    if (pairs > 0) su_sort(pair, (size_t)pairs, 2 * sizeof *pair, by_group);
    int64_t sets = 0;
    for (int64_t i = 0, k = 0; i < looks->sets; i++) {
        int64_t first = kept;
        for (; k < pairs && pair[2 * k] == i; k++)
            if (kept == first || looks->face[kept - 1] != pair[2 * k + 1]) looks->face[kept++] = pair[2 * k + 1];
        if (kept == first) { /* a group without faces */
            free(looks->set_names[i]);
            continue;
        }
        looks->set_names[sets] = looks->set_names[i];
        looks->start[sets++] = (int32_t)first;
    }
    looks->sets = sets, looks->set_faces = kept;
    looks->start[sets] = (int32_t)kept;
    return SU_OK;
}

/* ---- material libraries ---- */

static su_status read_mtl(const char *path, su_looks *looks, su_error *err)
{
    char *text = NULL;
    size_t size;
    int32_t at = -1;
    SU_TRY(read_file(path, &text, &size, err));
    char *rest;
    for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        double x[3];
        line += strspn(line, " \t");
        if (keyword(line, "newmtl")) {
            const char *name = trimmed(line + 6);
            at = -1;
            for (int64_t i = 0; i < looks->materials; i++)
                if (strcmp(looks->material_names[i], name) == 0) at = (int32_t)i;
        }
        if (at < 0) continue;
        if (keyword(line, "Kd") && numbers(line + 2, 3, x) == 3)
            for (int k = 0; k < 3; k++) looks->color[4 * at + k] = (float)x[k];
        if (keyword(line, "d") && numbers(line + 1, 1, x) == 1) looks->color[4 * at + 3] = (float)x[0];
        if (keyword(line, "Tr") && numbers(line + 2, 1, x) == 1) looks->color[4 * at + 3] = (float)(1.0 - x[0]);
        if (keyword(line, "Pm") && numbers(line + 2, 1, x) == 1) looks->surface[2 * at] = (float)x[0];
        if (keyword(line, "Pr") && numbers(line + 2, 1, x) == 1) looks->surface[2 * at + 1] = (float)x[0];
    }
    free(text);
    return SU_OK;
}

/* Colours of the library beside the file; a library that is not there or no text says nothing. */
static su_status read_colors(parser *p)
{
    char *path = NULL;
    su_error unused;
    size_t folder = (size_t)(su_base_name(p->path) - p->path);
    if (!p->library || p->looks.materials == 0) return SU_OK;
    if (asprintf(&path, "%.*s%s", p->library[0] == '/' ? 0 : (int)folder, p->path, p->library) < 0)
        return su_fail(p->err, SU_AGAIN, "%s: out of memory", p->path);
    su_status status = read_mtl(path, &p->looks, &unused);
    free(path);
    return status == SU_AGAIN ? su_fail(p->err, SU_AGAIN, "%s: out of memory", p->path) : SU_OK;
}

su_status su_obj_load(const char *path, su_obj *obj, su_error *err)
{
    parser p = {.path = path, .err = err, .all_colored = true, .all_textured = true, .object = -1, .material = -1};
    su_status status = parse(&p);
    if (status == SU_OK) status = fill_groups(&p);
    if (status == SU_OK) status = read_colors(&p);
    *obj = (su_obj){0};
    if (status == SU_OK && p.names.count == 0) read_object(&p, (char[]){"mesh"}), status = p.status;
    if (status == SU_OK) {
        obj->vertices = p.points.count / 3, obj->faces = p.counts.count, obj->corners = p.indices.count;
        obj->objects = p.names.count;
        int32_t *ids = p.ids.data;
        for (int64_t v = 0; v < obj->vertices; v++) {
            if (ids[v] < -1) ids[v] = -2 - ids[v]; /* else no face uses it: the object it stands in */
            if (ids[v] < 0) ids[v] = 0;
        }
        if (p.all_colored) obj->color = hand_over(&p.colors);
        if (p.all_textured && p.uv.count && obj->faces) {
            obj->uvs = p.uv.count / 2;
            obj->uv = hand_over(&p.uv), obj->uv_indices = hand_over(&p.uv_indices);
        }
        obj->points = hand_over(&p.points), obj->face_counts = hand_over(&p.counts);
        obj->face_indices = hand_over(&p.indices), obj->object_ids = hand_over(&p.ids);
        obj->object_names = hand_over(&p.names);
        obj->looks = p.looks, obj->library = p.library;
        p.looks = (su_looks){0}, p.library = NULL;
        if (obj->looks.materials) obj->looks.material = hand_over(&p.materials);
    }
    parser_free(&p);
    return status;
}

su_status su_obj_points(const char *path, int64_t vertices, double *points, su_error *err)
{
    parser p = {.path = path, .err = err, .only_points = true};
    su_status status = parse(&p);
    if (status == SU_OK && p.points.count != 3 * vertices)
        status = su_fail(err, SU_INPUT, "%s: has %lld vertices, %lld were expected: topology must not change", path,
                         (long long)(p.points.count / 3), (long long)vertices);
    if (status == SU_OK) memcpy(points, p.points.data, (size_t)p.points.count * sizeof *points);
    parser_free(&p);
    return status;
}

void su_obj_free(su_obj *obj)
{
    for (int64_t i = 0; i < obj->objects && obj->object_names; i++) free(obj->object_names[i]);
    free(obj->points), free(obj->color), free(obj->face_counts), free(obj->face_indices);
    free(obj->uv), free(obj->uv_indices), free(obj->object_ids), free(obj->object_names), free(obj->library);
    su_looks_free(&obj->looks);
    *obj = (su_obj){0};
}
