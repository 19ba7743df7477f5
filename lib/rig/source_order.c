#include "core/order.h"
#include "rig/character_internal.h"

#include <stdlib.h>
#include <string.h>

static su_status no_memory(su_error *err)
{
    return su_fail(err, SU_AGAIN, "not enough memory for the order of the source");
}

#define TAKE(arena, pointer, count)                                                                                    \
    do {                                                                                                               \
        (pointer) = su_arena_alloc(arena, count, sizeof *(pointer));                                                   \
        if (!(pointer)) return no_memory(err);                                                                         \
    } while (0)

static const su_scene_mesh *mesh_of(const su_character *c, int64_t part) { return &c->scene->mesh[c->part[part].mesh]; }

/* Parts first .. last - 1 make one object. */
static int64_t object_end(const su_character *c, int64_t first)
{
    int64_t last = first;
    while (last < c->parts && c->part[last].object == c->part[first].object) last++;
    return last;
}

static int is_known(const su_character *c, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++)
        if (!mesh_of(c, i)->control_point) return 0;
    return 1;
}

/* to (N): the new source vertex of each corner, counted from *count on. welded (nbar): -1. */
static void number_object(const su_character *c, int64_t first, int64_t last, int32_t *welded, int32_t *to,
                          int64_t *count)
{
    int known = is_known(c, first, last);
    for (int64_t i = first; i < last; i++) {
        const su_scene_mesh *mesh = mesh_of(c, i);
        int64_t from = c->part[i].first, base = *count;
        for (int64_t k = first; k < i && known; k++) /* parts of one mesh share its vertices */
            if (mesh_of(c, k)->source_mesh == mesh->source_mesh && mesh_of(c, k)->vertices > 0)
                base = to[c->part[k].first] - mesh_of(c, k)->control_point[0];
        for (int64_t v = from; v < from + mesh->vertices; v++) {
            int32_t *own = &welded[c->source_vertex[v]];
            if (!known && *own < 0) *own = (int32_t)(*count)++;
            to[v] = known ? (int32_t)(base + mesh->control_point[v - from]) : *own;
        }
        if (known && base == *count) *count += mesh->control_points;
    }
}

/* Points of known meshes that no polygon has belong to their object, and follow its first vertex. */
static void place_loose_points(const su_character *c, const int32_t *to, int32_t *object, int32_t *welded)
{
    for (int64_t i = 0, last; i < c->parts; i = last) {
        last = object_end(c, i);
        int known = is_known(c, i, last);
        for (int64_t k = i; k < last && known; k++) {
            if (mesh_of(c, k)->vertices == 0) continue;
            int64_t first = c->part[k].first, base = to[first] - mesh_of(c, k)->control_point[0];
            for (int64_t v = base; v < base + mesh_of(c, k)->control_points; v++)
                object[v] = c->object_ids[first], welded[v] = c->source_vertex[first];
        }
    }
}

typedef struct polygon {
    int64_t mesh, number, corner; /* of the file; first corner here */
    int32_t corners, material;
} polygon;

static int compare_polygons(const void *a, const void *b)
{
    const polygon *x = a, *y = b;
    if (x->mesh != y->mesh) return x->mesh < y->mesh ? -1 : 1;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return (x->corner > y->corner) - (x->corner < y->corner);
}

/* Polygons of the object back into the order of the file. *face, *corner: its first, then behind its last. */
static su_status sort_polygons(su_character *c, int64_t first, int64_t last, int64_t *face, int64_t *corner,
                               su_arena *scratch, su_error *err)
{
    int64_t polygons = 0, corners = 0, at = *corner, k = 0;
    for (int64_t i = first; i < last; i++) polygons += mesh_of(c, i)->polygons, corners += mesh_of(c, i)->corners;
    if (last - first > 1 && is_known(c, first, last)) {
        polygon *order;
        int32_t *indices, *uv = NULL, *material = c->looks.material, *looks = NULL;
        TAKE(scratch, order, polygons);
        if (material) TAKE(scratch, looks, polygons);
        TAKE(scratch, indices, corners);
        if (c->uv_indices) TAKE(scratch, uv, corners);
        for (int64_t i = first; i < last; i++)
            for (int64_t p = 0; p < mesh_of(c, i)->polygons; p++, k++) {
                order[k] = (polygon){mesh_of(c, i)->source_mesh, mesh_of(c, i)->source_polygon[p], at,
                                     c->face_counts[*face + k], material ? material[*face + k] : -1};
                at += order[k].corners;
            }
        su_sort(order, (size_t)polygons, sizeof *order, compare_polygons);
        at = 0;
        for (k = 0; k < polygons; k++) {
            size_t bytes = (size_t)order[k].corners * sizeof *indices;
            c->face_counts[*face + k] = order[k].corners;
            if (looks) looks[k] = order[k].material;
            memcpy(indices + at, c->face_indices + order[k].corner, bytes);
            if (uv) memcpy(uv + at, c->uv_indices + order[k].corner, bytes);
            at += order[k].corners;
        }
        if (looks) memcpy(material + *face, looks, (size_t)polygons * sizeof *looks);
        memcpy(c->face_indices + *corner, indices, (size_t)corners * sizeof *indices);
        if (uv) memcpy(c->uv_indices + *corner, uv, (size_t)corners * sizeof *uv);
    }
    *face += polygons, *corner += corners;
    return SU_OK;
}

su_status su_character_source_order(su_character *c, su_arena *scratch, su_error *err)
{
    int32_t *to, *object, *welded, *merged;
    int64_t count = 0, face = 0, corner = 0;
    float *color = NULL;
    TAKE(scratch, to, c->N);
    TAKE(scratch, merged, c->nbar);
    for (int64_t v = 0; v < c->nbar; v++) merged[v] = -1;
    for (int64_t i = 0, last; i < c->parts; i = last) {
        last = object_end(c, i);
        number_object(c, i, last, merged, to, &count);
        SU_TRY(sort_polygons(c, i, last, &face, &corner, scratch, err));
    }
    TAKE(&c->arena, object, count);
    TAKE(&c->arena, welded, count);
    if (c->color) TAKE(&c->arena, color, 4 * count);
    for (int64_t k = 0; k < c->corners; k++) c->face_indices[k] = to[c->face_indices[k]];
    place_loose_points(c, to, object, welded);
    for (int64_t v = c->N - 1; v >= 0; v--) { /* the first corner wins */
        object[to[v]] = c->object_ids[v], welded[to[v]] = c->source_vertex[v];
        if (color) memcpy(color + 4 * (int64_t)to[v], c->color + 4 * v, 4 * sizeof *color);
    }
    c->N = count;
    c->object_ids = object, c->source_vertex = welded, c->color = color;
    return SU_OK;
}
