#include "core/order.h"
#include "io/scene/control_points.h"
#include "io/scene/fbx_records.h"
#include "io/scene/fbx_text.h"

#include <stdbool.h>
#include <string.h>

static bool read_geometry(const su_fbx_reader *r, const su_fbx_record *parent, su_control_mesh *out)
{
    su_fbx_record child;
    int64_t numbers = 0;
    memset(out, 0, sizeof *out);
    for (size_t at = parent->children; su_fbx_open_record(r, at, parent->end, &child); at = child.end) {
        if (su_fbx_is_named(&child, "Vertices"))
            out->position = (double *)(void *)su_fbx_read_array(r, &child, 'd', 8, &numbers);
        if (su_fbx_is_named(&child, "PolygonVertexIndex"))
            out->corner = (int32_t *)(void *)su_fbx_read_array(r, &child, 'i', 4, &out->corners);
    }
    out->points = numbers / 3;
    return out->position && out->corner && out->points > 0 && out->corners > 0;
}

/* ---- names of models ---- */

typedef struct model_list {
    su_arena *arena;
    int64_t count, room;
    su_fbx_name *item;
} model_list;

static void add_model(model_list *list, char *name, size_t length)
{
    su_fbx_name *more = su_fbx_one_more(list->arena, list->item, list->count, &list->room, sizeof *more);
    if (!more) return;
    list->item = more;
    list->item[list->count++] = (su_fbx_name){.place = name, .length = length};
}

/* The properties of a Model are its number (L, 8 bytes), "NAME\0\1Model" (S, length in 4 bytes) and its class. */
static void list_models(unsigned char *data, size_t size, model_list *list)
{
    enum { NUMBER = 9, HEAD = 5, ENDING = 7 };
    su_fbx_reader r = su_fbx_read_binary((const char *)data, size, list->arena);
    su_fbx_record objects, object;
    for (size_t at = 27; su_fbx_open_record(&r, at, r.size, &objects); at = objects.end) {
        if (!su_fbx_is_named(&objects, "Objects")) continue;
        for (size_t inner = objects.children; su_fbx_open_record(&r, inner, objects.end, &object); inner = object.end) {
            unsigned char *property = data + object.properties;
            size_t room = object.children - object.properties;
            if (!su_fbx_is_named(&object, "Model") || room < NUMBER + HEAD || property[0] != 'L' ||
                property[NUMBER] != 'S')
                continue;
            uint64_t length = su_fbx_little(property + NUMBER + 1, 4);
            unsigned char *name = property + NUMBER + HEAD;
            if (length < ENDING || length > room - NUMBER - HEAD ||
                memcmp(name + length - ENDING, "\0\1Model", ENDING) != 0)
                continue;
            add_model(list, (char *)name, (size_t)length - ENDING);
        }
    }
}

static int compare_models(const void *a, const void *b)
{
    const su_fbx_name *x = a, *y = b;
    size_t least = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->place, y->place, least);
    if (order == 0) order = (x->length > y->length) - (x->length < y->length);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static bool same_name(const su_fbx_name *a, const char *name, size_t length)
{
    return a->length == length && memcmp(a->place, name, length) == 0;
}

/* Writes a name of the same length that no model has over the place; false where there is none. */
static bool rename_model(const model_list *list, const su_fbx_name *model, int64_t *number)
{
    static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    enum { DIGITS = 62, TRIES = 4096 };
    for (int i = 0; i < TRIES; i++) {
        int64_t rest = (*number)++, k = 0;
        char *last = model->place + model->length - 1;
        for (; k < (int64_t)model->length && (k == 0 || rest > 0); k++, rest /= DIGITS) last[-k] = digit[rest % DIGITS];
        bool taken = rest > 0;
        for (k = 0; k < list->count && !taken; k++)
            taken = list->item[k].place != model->place && same_name(&list->item[k], model->place, model->length);
        if (!taken) return true;
    }
    return false;
}

int64_t su_fbx_unique_names(char *data, size_t size, su_arena *arena, su_fbx_name **names)
{
    model_list list = {.arena = arena};
    int64_t changed = 0, number = 0;
    list_models((unsigned char *)data, size, &list);
    if (list.count > 1) su_sort(list.item, (size_t)list.count, sizeof *list.item, compare_models);
    su_fbx_name *out = su_arena_alloc(arena, list.count, sizeof *out);
    for (int64_t i = 0; out && i < list.count; i++)
        if (i > 0 && list.item[i].length > 0 && same_name(&list.item[i - 1], list.item[i].place, list.item[i].length))
            out[changed++] = list.item[i];
    for (int64_t i = 0; i < changed; i++) { /* after all were compared, for this writes over the names */
        char *kept = su_arena_alloc(arena, (int64_t)out[i].length + 1, 1);
        if (!kept) return 0;
        memcpy(kept, out[i].place, out[i].length);
        out[i].name = kept;
        if (!rename_model(&list, &out[i], &number)) memcpy(out[i].place, kept, out[i].length);
    }
    *names = out;
    return changed;
}

/* ---- links ---- */

void su_fbx_drop_links(char *data, size_t size, su_arena *arena)
{
    static const char kind[] = "S\2\0\0\0PO";
    su_fbx_reader r = su_fbx_read_binary(data, size, arena);
    su_fbx_record top, inner;
    for (size_t at = 27; su_fbx_open_record(&r, at, r.size, &top); at = top.end) {
        if (!su_fbx_is_named(&top, "Connections")) continue;
        for (size_t in = top.children; su_fbx_open_record(&r, in, top.end, &inner); in = inner.end) {
            char *property = data + inner.properties;
            if (inner.children - inner.properties >= sizeof kind - 1 && memcmp(property, kind, sizeof kind - 1) == 0)
                property[sizeof kind - 2] = 'P';
        }
    }
}

/* ---- the file ---- */

char *su_fbx_file(const char *path, su_scene *scene, size_t *size)
{
    char *data = su_control_points_text(path, scene, size);
    return data ? su_fbx_binary(data, size, &scene->arena) : NULL;
}

void su_fbx_control_points(const char *data, size_t size, su_scene *scene)
{
    su_fbx_record objects, object;
    su_fbx_reader r = su_fbx_read_binary(data, size, &scene->arena);
    for (size_t at = 27; su_fbx_open_record(&r, at, r.size, &objects); at = objects.end) {
        if (!su_fbx_is_named(&objects, "Objects")) continue;
        for (size_t inner = objects.children; su_fbx_open_record(&r, inner, objects.end, &object); inner = object.end) {
            su_control_mesh mesh;
            if (su_fbx_is_named(&object, "Geometry") && read_geometry(&r, &object, &mesh))
                su_control_points_match(scene, &mesh);
        }
    }
}
