#include "io/cache/cache_parts.h"

#include <stdlib.h>
#include <string.h>

static int32_t object_of(const su_cache_layout *l, int64_t vertex) { return l->object_ids ? l->object_ids[vertex] : 0; }

static su_status check(const su_cache_layout *l, int64_t objects, su_error *err)
{
    for (int64_t v = 0; v < l->vertices; v++)
        if (object_of(l, v) < 0 || object_of(l, v) >= objects)
            return su_fail(err, SU_INPUT, "vertex %lld belongs to object %d of %lld", (long long)v, object_of(l, v),
                           (long long)objects);
    int64_t at = 0;
    for (int64_t f = 0; f < l->faces; at += l->face_counts[f], f++) {
        if (l->face_counts[f] < 0 || l->face_counts[f] > l->corners - at)
            return su_fail(err, SU_INPUT, "polygon %lld has %d corners, %lld are left", (long long)f, l->face_counts[f],
                           (long long)(l->corners - at));
        for (int32_t k = 0; k < l->face_counts[f]; k++) {
            int32_t v = l->face_indices[at + k];
            if (v < 0 || v >= l->vertices)
                return su_fail(err, SU_INPUT, "polygon %lld names vertex %d of %lld", (long long)f, v,
                               (long long)l->vertices);
            if (object_of(l, v) != object_of(l, l->face_indices[at]))
                return su_fail(err, SU_INPUT, "polygon %lld spans two objects", (long long)f);
            if (l->uv_indices && (l->uv_indices[at + k] < 0 || l->uv_indices[at + k] >= l->uvs))
                return su_fail(err, SU_INPUT, "polygon %lld names texture coordinate %d of %lld", (long long)f,
                               l->uv_indices[at + k], (long long)l->uvs);
        }
    }
    return SU_OK;
}

static su_status allocate_part(su_cache_parts *parts, su_cache_part *p, bool uv, su_error *err)
{
    p->vertex = su_arena_alloc(&parts->arena, p->vertices, sizeof *p->vertex);
    p->face_counts = su_arena_alloc(&parts->arena, p->faces, sizeof *p->face_counts);
    p->face_indices = su_arena_alloc(&parts->arena, p->corners, sizeof *p->face_indices);
    p->uv_indices = uv ? su_arena_alloc(&parts->arena, p->corners, sizeof *p->uv_indices) : NULL;
    if (!p->vertex || !p->face_counts || !p->face_indices || (uv && !p->uv_indices))
        return su_fail(err, SU_AGAIN, "not enough memory for the topology");
    return SU_OK;
}

/* The part's own texture coordinates, numbered by first use. slot (uvs) is scratch, -1 everywhere. */
static su_status fill_uv(const su_cache_layout *l, su_cache_parts *parts, su_cache_part *p, int32_t *slot,
                         su_error *err)
{
    int32_t *used = su_arena_alloc(&parts->arena, p->corners, sizeof *used);
    if (!used) return su_fail(err, SU_AGAIN, "not enough memory for the topology");
    for (int64_t k = 0; k < p->corners; k++) {
        int32_t uv = p->uv_indices[k];
        if (slot[uv] < 0) slot[uv] = (int32_t)p->uvs, used[p->uvs++] = uv;
        p->uv_indices[k] = slot[uv];
    }
    p->uv = su_arena_alloc(&parts->arena, 2 * p->uvs, sizeof *p->uv);
    if (!p->uv) return su_fail(err, SU_AGAIN, "not enough memory for the topology");
    for (int64_t i = 0; i < p->uvs; i++) {
        memcpy(p->uv + 2 * i, l->uv + 2 * (int64_t)used[i], 2 * sizeof *p->uv);
        slot[used[i]] = -1;
    }
    return SU_OK;
}

static su_status fill(const su_cache_layout *l, int64_t objects, su_cache_parts *parts, su_error *err)
{
    bool uv = l->uv && l->uv_indices;
    int32_t *local = NULL, *slot = NULL;
    su_cache_part *all = su_arena_alloc(&parts->arena, objects, sizeof *all);
    if (!all) return su_fail(err, SU_AGAIN, "not enough memory for the topology");
    su_status status;
    SU_GO(SU_ALLOC(&local, l->vertices, "the topology", err));
    SU_GO(SU_ALLOC(&slot, l->uvs, "the topology", err));
    for (int64_t i = 0; i < l->uvs; i++) slot[i] = -1;
    for (int64_t v = 0; v < l->vertices; v++) local[v] = (int32_t)all[object_of(l, v)].vertices++;
    for (int64_t f = 0, at = 0; f < l->faces; at += l->face_counts[f], f++) {
        if (!l->face_counts[f]) continue;
        su_cache_part *p = &all[object_of(l, l->face_indices[at])];
        p->faces++, p->corners += l->face_counts[f];
    }
    for (int64_t o = 0; o < objects; o++) {
        SU_GO(allocate_part(parts, &all[o], uv, err));
        all[o].object = o;
        all[o].name = l->object_names ? l->object_names[o] : "mesh";
        all[o].xform = l->object_xform ? l->object_xform + 16 * o : NULL;
        all[o].vertices = all[o].faces = all[o].corners = 0;
    }
    for (int64_t v = 0; v < l->vertices; v++) {
        su_cache_part *p = &all[object_of(l, v)];
        p->vertex[p->vertices++] = (int32_t)v;
    }
    for (int64_t f = 0, at = 0; f < l->faces; at += l->face_counts[f], f++) {
        if (!l->face_counts[f]) continue;
        su_cache_part *p = &all[object_of(l, l->face_indices[at])];
        p->face_counts[p->faces++] = l->face_counts[f];
        for (int32_t k = 0; k < l->face_counts[f]; k++, p->corners++) {
            p->face_indices[p->corners] = local[l->face_indices[at + k]];
            if (uv) p->uv_indices[p->corners] = l->uv_indices[at + k];
        }
    }
    parts->part = all;
    for (int64_t o = 0; o < objects; o++) {
        if (!all[o].vertices) continue;
        if (uv) SU_GO(fill_uv(l, parts, &all[o], slot, err));
        if (all[o].vertices > parts->largest) parts->largest = all[o].vertices;
        all[parts->count++] = all[o];
    }
done:
    free(local);
    free(slot);
    return status;
}

/* part_of, face_of (layout.faces): where each polygon went. */
static su_status fill_groups(const su_cache_layout *l, su_cache_parts *parts, const int32_t *part_of,
                             const int32_t *face_of, su_error *err)
{
    const su_looks *looks = l->looks;
    int64_t kinds = looks->materials + looks->sets;
    int32_t *count = NULL, *slot = NULL; /* (parts,kinds) */
    su_status status;
    SU_GO(SU_ALLOC(&count, parts->count * kinds, "materials", err));
    SU_GO(SU_ALLOC(&slot, parts->count * kinds, "materials", err));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t f = 0; f < l->faces && looks->material; f++) {
            if (looks->material[f] < 0 || part_of[f] < 0) continue;
            int64_t at = part_of[f] * kinds + looks->material[f];
            if (pass == 1)
                parts->part[part_of[f]].group[slot[at]].face[parts->part[part_of[f]].group[slot[at]].faces++] =
                    face_of[f];
            else
                count[at]++;
        }
        for (int64_t i = 0; i < looks->sets; i++)
            for (int64_t k = looks->start[i]; k < looks->start[i + 1]; k++) {
                int32_t f = looks->face[k];
                if (part_of[f] < 0) continue;
                int64_t at = part_of[f] * kinds + looks->materials + i;
                if (pass == 1)
                    parts->part[part_of[f]].group[slot[at]].face[parts->part[part_of[f]].group[slot[at]].faces++] =
                        face_of[f];
                else
                    count[at]++;
            }
        for (int p = 0; p < parts->count && pass == 0; p++) {
            su_cache_part *part = &parts->part[p];
            int groups = 0;
            for (int64_t i = 0; i < kinds; i++) groups += count[p * kinds + i] > 0;
            if (!(part->group = su_arena_alloc(&parts->arena, groups, sizeof *part->group))) {
                status = su_fail(err, SU_AGAIN, "not enough memory for the topology");
                goto done;
            }
            for (int64_t i = 0; i < kinds; i++) {
                int32_t faces = count[p * kinds + i];
                if (faces == 0) continue;
                su_cache_group *group = &part->group[part->groups];
                slot[p * kinds + i] = part->groups++;
                group->material = i < looks->materials ? (int32_t)i : -1;
                group->name = i < looks->materials ? looks->material_names[i] : looks->set_names[i - looks->materials];
                if (!(group->face = su_arena_alloc(&parts->arena, faces, sizeof *group->face))) {
                    status = su_fail(err, SU_AGAIN, "not enough memory for the topology");
                    goto done;
                }
            }
        }
    }
done:
    free(count), free(slot);
    return status;
}

static su_status fill_looks(const su_cache_layout *l, int64_t objects, su_cache_parts *parts, su_error *err)
{
    int32_t *number = NULL, *part_of = NULL, *face_of = NULL;
    int64_t *faces = NULL;
    su_status status = SU_OK;
    for (int p = 0; p < parts->count && l->color; p++) {
        su_cache_part *part = &parts->part[p];
        if (!(part->color = su_arena_alloc(&parts->arena, 4 * part->vertices, sizeof *part->color)))
            return su_fail(err, SU_AGAIN, "not enough memory for colours");
        for (int64_t v = 0; v < part->vertices; v++)
            memcpy(part->color + 4 * v, l->color + 4 * (int64_t)part->vertex[v], 4 * sizeof *part->color);
    }
    if (!l->looks || l->looks->materials + l->looks->sets == 0) return SU_OK;
    SU_GO(SU_ALLOC(&number, objects, "materials", err));
    SU_GO(SU_ALLOC(&faces, objects, "materials", err));
    SU_GO(SU_ALLOC(&part_of, l->faces, "materials", err));
    SU_GO(SU_ALLOC(&face_of, l->faces, "materials", err));
    for (int p = 0; p < parts->count; p++) number[parts->part[p].object] = p;
    for (int64_t f = 0, at = 0; f < l->faces; at += l->face_counts[f], f++) {
        int32_t object = l->face_counts[f] ? object_of(l, l->face_indices[at]) : -1;
        part_of[f] = object < 0 ? -1 : number[object]; /* an object with a polygon has vertices */
        face_of[f] = object < 0 ? -1 : (int32_t)faces[object]++;
    }
    SU_GO(fill_groups(l, parts, part_of, face_of, err));
done:
    free(number), free(faces), free(part_of), free(face_of);
    return status;
}

su_status su_cache_parts_create(const su_cache_layout *layout, su_cache_parts *parts, su_error *err)
{
    int64_t objects = layout->object_ids && layout->objects > 0 ? layout->objects : 1;
    *parts = (su_cache_parts){0};
    su_status status = check(layout, objects, err);
    if (status == SU_OK) status = fill(layout, objects, parts, err);
    if (status == SU_OK) status = fill_looks(layout, objects, parts, err);
    if (status != SU_OK) su_cache_parts_free(parts);
    return status;
}

void su_cache_parts_free(su_cache_parts *parts)
{
    su_arena_free(&parts->arena);
    *parts = (su_cache_parts){0};
}

void su_cache_part_gather(const su_cache_part *part, const float *values, float *out)
{
    for (int64_t v = 0; v < part->vertices; v++)
        memcpy(out + 3 * v, values + 3 * (int64_t)part->vertex[v], 3 * sizeof *out);
}
