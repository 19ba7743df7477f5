#include "geometry/looks.h"

#include "core/memory.h"
#include "core/order.h"

#include <stdlib.h>
#include <string.h>

static su_status no_memory(su_error *err) { return su_fail(err, SU_AGAIN, "not enough memory for materials and sets"); }

void su_looks_free(su_looks *looks)
{
    for (int64_t i = 0; i < looks->materials && looks->material_names; i++) free(looks->material_names[i]);
    for (int64_t i = 0; i < looks->sets && looks->set_names; i++) free(looks->set_names[i]);
    free(looks->material_names), free(looks->color), free(looks->surface), free(looks->material);
    free(looks->set_names), free(looks->start), free(looks->face);
    *looks = (su_looks){0};
}

static su_status copy_names(int64_t count, char *const *from, char ***out, su_error *err)
{
    SU_TRY(SU_ALLOC(out, count, "names", err));
    for (int64_t i = 0; i < count; i++)
        if (!((*out)[i] = strdup(from[i]))) return no_memory(err);
    return SU_OK;
}

su_status su_looks_copy(const su_looks *from, int64_t polygons, su_looks *out, su_error *err)
{
    su_status status;
    *out = (su_looks){.materials = from->materials, .sets = from->sets, .set_faces = from->set_faces};
    SU_GO(copy_names(from->materials, from->material_names, &out->material_names, err));
    SU_GO(copy_names(from->sets, from->set_names, &out->set_names, err));
    if (from->material) {
        SU_GO(SU_ALLOC(&out->material, polygons, "materials", err));
        SU_GO(SU_ALLOC(&out->color, 4 * from->materials, "materials", err));
        SU_GO(SU_ALLOC(&out->surface, 2 * from->materials, "materials", err));
        memcpy(out->material, from->material, (size_t)polygons * sizeof *out->material);
        memcpy(out->color, from->color, (size_t)(4 * from->materials) * sizeof *out->color);
        memcpy(out->surface, from->surface, (size_t)(2 * from->materials) * sizeof *out->surface);
    }
    if (from->sets) {
        SU_GO(SU_ALLOC(&out->start, from->sets + 1, "sets", err));
        SU_GO(SU_ALLOC(&out->face, from->set_faces, "sets", err));
        memcpy(out->start, from->start, (size_t)(from->sets + 1) * sizeof *out->start);
        if (from->set_faces) memcpy(out->face, from->face, (size_t)from->set_faces * sizeof *out->face);
    }
done:
    if (status != SU_OK) su_looks_free(out);
    return status;
}

/* Room for `count` elements of an array that a pointer points to. */
static bool grow(void *array, int64_t count, size_t size)
{
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    if (!(grown = realloc(old, (size_t)(count > 0 ? count : 1) * size))) return false;
    memcpy(array, &grown, sizeof grown);
    return true;
}

su_status su_looks_material(su_looks *looks, const char *name, int32_t *index, su_error *err)
{
    int64_t n = looks->materials;
    for (int64_t i = 0; i < n; i++)
        if (strcmp(looks->material_names[i], name) == 0) {
            *index = (int32_t)i;
            return SU_OK;
        }
    if (!grow(&looks->material_names, n + 1, sizeof *looks->material_names) ||
        !grow(&looks->color, 4 * (n + 1), sizeof *looks->color) ||
        !grow(&looks->surface, 2 * (n + 1), sizeof *looks->surface) || !(looks->material_names[n] = strdup(name)))
        return no_memory(err);
    for (int k = 0; k < 3; k++) looks->color[4 * n + k] = SU_MATERIAL_GREY;
    looks->color[4 * n + 3] = 1.0f;
    looks->surface[2 * n] = 0.0f, looks->surface[2 * n + 1] = SU_MATERIAL_ROUGHNESS;
    looks->materials++;
    *index = (int32_t)n;
    return SU_OK;
}

su_status su_looks_add_set(su_looks *looks, const char *name, int64_t count, const int32_t *faces, su_error *err)
{
    int64_t at = 0;
    while (at < looks->sets && strcmp(looks->set_names[at], name) != 0) at++;
    if (!grow(&looks->face, looks->set_faces + count, sizeof *looks->face)) return no_memory(err);
    if (at == looks->sets) {
        if (!grow(&looks->set_names, at + 1, sizeof *looks->set_names) ||
            !grow(&looks->start, at + 2, sizeof *looks->start) || !(looks->set_names[at] = strdup(name)))
            return no_memory(err);
        looks->start[at] = looks->start[at + 1] = (int32_t)looks->set_faces;
        looks->sets++;
    }
    /* behind what the set has, and those of later sets move */
    int64_t first = looks->start[at], end = looks->start[at + 1];
    memmove(looks->face + end + count, looks->face + end, (size_t)(looks->set_faces - end) * sizeof *looks->face);
    if (count > 0) memcpy(looks->face + end, faces, (size_t)count * sizeof *faces);
    su_sort(looks->face + first, (size_t)(end + count - first), sizeof *looks->face, su_order_int32);
    int64_t kept = first;
    for (int64_t k = first; k < end + count; k++)
        if (k == first || looks->face[k] != looks->face[kept - 1]) looks->face[kept++] = looks->face[k];
    int64_t added = kept - end, twice = count - added;
    memmove(looks->face + kept, looks->face + kept + twice, (size_t)(looks->set_faces - end) * sizeof *looks->face);
    for (int64_t i = at + 1; i <= looks->sets; i++) looks->start[i] += (int32_t)added;
    looks->set_faces += added;
    return SU_OK;
}

/* Leaves the sets of which keep (sets) is true. */
static void keep_sets(su_looks *looks, const bool *keep)
{
    int64_t sets = 0, faces = 0;
    for (int64_t i = 0; i < looks->sets; i++) {
        int64_t first = looks->start[i], count = looks->start[i + 1] - first;
        if (!keep[i]) {
            free(looks->set_names[i]);
            continue;
        }
        memmove(looks->face + faces, looks->face + first, (size_t)count * sizeof *looks->face);
        looks->set_names[sets] = looks->set_names[i];
        looks->start[sets++] = (int32_t)faces;
        faces += count;
    }
    looks->sets = sets, looks->set_faces = faces;
    if (looks->start) looks->start[sets] = (int32_t)faces;
}

su_status su_looks_materials_of_sets(su_looks *looks, int64_t polygons, const bool *alone, su_error *err)
{
    bool said = false;
    int32_t *uses = NULL;
    bool *keep = NULL;
    su_status status = SU_OK;
    if (looks->sets == 0) return SU_OK;
    SU_GO(SU_ALLOC(&uses, polygons, "sets", err));
    SU_GO(SU_ALLOC(&keep, looks->sets, "sets", err));
    if (!looks->material) {
        SU_GO(SU_ALLOC(&looks->material, polygons, "materials", err));
        for (int64_t f = 0; f < polygons; f++) looks->material[f] = -1;
    }
    for (int64_t i = 0; i < looks->sets; i++) said |= alone[i];
    for (int64_t i = 0; i < looks->sets; i++)
        for (int64_t k = looks->start[i]; k < looks->start[i + 1] && said == alone[i]; k++) uses[looks->face[k]]++;
    for (int64_t i = 0; i < looks->sets; i++) {
        int32_t index;
        keep[i] = said && !alone[i];
        for (int64_t k = looks->start[i]; k < looks->start[i + 1]; k++)
            keep[i] |= uses[looks->face[k]] > 1 || looks->material[looks->face[k]] >= 0;
        if (keep[i]) continue;
        SU_GO(su_looks_material(looks, looks->set_names[i], &index, err));
        for (int64_t k = looks->start[i]; k < looks->start[i + 1]; k++) looks->material[looks->face[k]] = index;
    }
    keep_sets(looks, keep);
    if (looks->materials == 0) free(looks->material), looks->material = NULL;
done:
    free(uses), free(keep);
    return status;
}

su_status su_looks_keep_used(su_looks *looks, int64_t polygons, su_error *err)
{
    int32_t *number = NULL;
    int64_t count = 0;
    SU_TRY(SU_ALLOC(&number, looks->materials, "materials", err));
    for (int64_t f = 0; f < polygons && looks->material; f++)
        if (looks->material[f] >= 0) number[looks->material[f]] = 1;
    for (int64_t i = 0; i < looks->materials; i++) {
        if (!number[i]) {
            free(looks->material_names[i]);
            continue;
        }
        looks->material_names[count] = looks->material_names[i];
        memmove(looks->color + 4 * count, looks->color + 4 * i, 4 * sizeof *looks->color);
        memmove(looks->surface + 2 * count, looks->surface + 2 * i, 2 * sizeof *looks->surface);
        number[i] = (int32_t)count++;
    }
    for (int64_t f = 0; f < polygons && looks->material; f++)
        if (looks->material[f] >= 0) looks->material[f] = number[looks->material[f]];
    looks->materials = count;
    if (count == 0) free(looks->material), looks->material = NULL;
    free(number);
    return SU_OK;
}

su_status su_looks_keep(su_looks *looks, int64_t polygons, const int32_t *new_face, su_error *err)
{
    int64_t count = 0, faces = 0;
    bool *keep = NULL;
    SU_TRY(SU_ALLOC(&keep, looks->sets, "sets", err));
    for (int64_t i = 0; i < looks->sets; i++) {
        int64_t first = faces, end = looks->start[i + 1];
        for (int64_t k = looks->start[i]; k < end; k++)
            if (new_face[looks->face[k]] >= 0) looks->face[faces++] = new_face[looks->face[k]];
        looks->start[i] = (int32_t)first;
        keep[i] = faces > first;
    }
    if (looks->start) looks->start[looks->sets] = (int32_t)faces;
    keep_sets(looks, keep);
    free(keep);
    for (int64_t f = 0; f < polygons; f++) {
        if (new_face[f] < 0) continue;
        if (looks->material) looks->material[new_face[f]] = looks->material[f];
        count++;
    }
    return su_looks_keep_used(looks, count, err);
}
