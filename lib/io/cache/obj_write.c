#include "io/cache/obj.h"

#include "core/file.h"
#include "core/memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that one call of print() may make: a name of 1,000, and what stands around it. */
enum { MOST_AT_ONCE = 1200 };

typedef struct printer {
    su_output out;
    char text[1 << 15];
    size_t used;
    su_status status;
    su_error *err;
} printer;

static void flush(printer *p)
{
    if (p->status == SU_OK && p->used) p->status = su_output_write(&p->out, p->text, p->used, p->err);
    p->used = 0;
}

/* The last bytes, and the file under its name; nothing of it where anything failed. */
static void finish(printer *p)
{
    flush(p);
    if (p->status == SU_OK)
        p->status = su_output_commit(&p->out, p->err);
    else
        su_output_abandon(&p->out);
}

static void print(printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print(printer *p, const char *format, ...)
{
    va_list list;
    if (sizeof p->text - p->used < MOST_AT_ONCE) flush(p);
    va_start(list, format);
    int count = vsnprintf(p->text + p->used, MOST_AT_ONCE, format, list);
    va_end(list);
    p->used += count < MOST_AT_ONCE ? (size_t)count : MOST_AT_ONCE - 1;
}

static int32_t face_object(const su_obj *obj, int64_t first_corner)
{
    return obj->object_ids && obj->face_indices ? obj->object_ids[obj->face_indices[first_corner]] : 0;
}

/* Vertices and faces both stand object after object. */
static bool in_order(const su_obj *obj)
{
    for (int64_t v = 1; v < obj->vertices && obj->object_ids; v++)
        if (obj->object_ids[v] < obj->object_ids[v - 1]) return false;
    for (int64_t f = 0, at = 0, last = 0; f < obj->faces; at += obj->face_counts[f], f++) {
        if (face_object(obj, at) < last) return false;
        last = face_object(obj, at);
    }
    return true;
}

/* Has an object vertices? */
static bool is_used(const su_obj *obj, int32_t object)
{
    bool used = !obj->object_ids;
    for (int64_t v = 0; v < obj->vertices && !used; v++) used = obj->object_ids[v] == object;
    return used;
}

static void print_vertices(printer *p, const su_obj *obj, const float *points, int32_t object)
{
    for (int64_t v = 0; v < obj->vertices; v++)
        if (object < 0 || !obj->object_ids || obj->object_ids[v] == object) {
            print(p, "v %.9g %.9g %.9g", (double)points[3 * v], (double)points[3 * v + 1], (double)points[3 * v + 2]);
            for (int k = 0; k < 3 && obj->color; k++) print(p, " %.9g", (double)obj->color[4 * v + k]);
            print(p, "\n");
        }
}

/* Material and groups of the faces that follow, where they are others than those of the face before. */
typedef struct state {
    int32_t material; /* -2: not said yet */
    int64_t *at;      /* (sets) entry of each that comes next */
    bool *in;         /* (sets) the groups that were said */
} state;

static void print_looks(printer *p, const su_obj *obj, int64_t face, state *now)
{
    const su_looks *looks = &obj->looks;
    bool changed = false, any = false;
    for (int64_t i = 0; i < looks->sets; i++) {
        while (now->at[i] < looks->start[i + 1] && looks->face[now->at[i]] < face) now->at[i]++;
        bool in = now->at[i] < looks->start[i + 1] && looks->face[now->at[i]] == face;
        changed |= in != now->in[i], any |= in;
        now->in[i] = in;
    }
    if (changed) {
        print(p, "g");
        for (int64_t i = 0; i < looks->sets; i++)
            if (now->in[i]) {
                print(p, " ");
                for (const char *c = looks->set_names[i]; *c; c++) print(p, "%c", *c == ' ' || *c == '\t' ? '_' : *c);
            }
        print(p, "%s\n", any ? "" : " default");
    }
    int32_t material = looks->material ? looks->material[face] : -1;
    if (!looks->material || material == now->material || (material < 0 && now->material == -2)) return;
    if (material >= 0) print(p, "usemtl %.1000s\n", looks->material_names[material]);
    if (material < 0) print(p, "usemtl\n");
    now->material = material;
}

static void print_face(printer *p, const su_obj *obj, int64_t face, int64_t at, state *now)
{
    print_looks(p, obj, face, now);
    print(p, "f");
    for (int32_t k = 0; k < obj->face_counts[face]; k++) {
        print(p, " %d", obj->face_indices[at + k] + 1);
        if (obj->uv_indices) print(p, "/%d", obj->uv_indices[at + k] + 1);
    }
    print(p, "\n");
}

su_status su_obj_save(const char *path, const su_obj *obj, const float *points, const char *comment, su_error *err)
{
    printer *p = NULL;
    state now = {.material = -2};
    SU_TRY(SU_ALLOC(&p, 1, "an OBJ file", err));
    p->err = err;
    p->status = SU_ALLOC(&now.at, obj->looks.sets, "groups", err);
    if (p->status == SU_OK) p->status = SU_ALLOC(&now.in, obj->looks.sets, "groups", err);
    for (int64_t i = 0; p->status == SU_OK && i < obj->looks.sets; i++) now.at[i] = obj->looks.start[i];
    if (p->status == SU_OK) p->status = su_output_open(&p->out, path, err);
    if (p->status == SU_OK) {
        bool ordered = in_order(obj);
        int32_t objects = (int32_t)obj->objects, object = -1;
        if (comment) print(p, "# %.1000s\n", comment);
        if (obj->library) print(p, "mtllib %.1000s\n", obj->library);
        if (!ordered) print_vertices(p, obj, points, -1);
        for (int64_t i = 0; i < obj->uvs && obj->uv_indices; i++)
            print(p, "vt %.9g %.9g\n", (double)obj->uv[2 * i], (double)obj->uv[2 * i + 1]);
        int64_t face = 0, at = 0;
        for (int32_t o = 0; ordered && o < (objects ? objects : 1); o++) {
            if (objects && is_used(obj, o)) print(p, "o %.1000s\n", obj->object_names[o]);
            print_vertices(p, obj, points, objects ? o : -1);
            for (; face < obj->faces && face_object(obj, at) == o; at += obj->face_counts[face], face++)
                print_face(p, obj, face, at, &now);
        }
        for (; face < obj->faces; at += obj->face_counts[face], face++) {
            if (objects && face_object(obj, at) != object) {
                object = face_object(obj, at);
                print(p, "o %.1000s\n", obj->object_names[object]);
            }
            print_face(p, obj, face, at, &now);
        }
        finish(p);
    }
    su_status status = p->status;
    free(now.at), free(now.in);
    free(p);
    return status;
}

su_status su_mtl_save(const char *path, const su_looks *looks, const char *comment, su_error *err)
{
    printer *p = NULL;
    SU_TRY(SU_ALLOC(&p, 1, "a material library", err));
    p->err = err;
    p->status = su_output_open(&p->out, path, err);
    if (p->status == SU_OK) {
        if (comment) print(p, "# %.1000s\n", comment);
        for (int64_t i = 0; i < looks->materials; i++) {
            const float *c = looks->color + 4 * i, *s = looks->surface + 2 * i;
            print(p, "\nnewmtl %.1000s\nKd %.9g %.9g %.9g\nd %.9g\nPm %.9g\nPr %.9g\n", looks->material_names[i],
                  (double)c[0], (double)c[1], (double)c[2], (double)c[3], (double)s[0], (double)s[1]);
        }
        finish(p);
    }
    su_status status = p->status;
    free(p);
    return status;
}
