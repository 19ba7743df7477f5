#include "runtime/subspace/rest_patch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void su_rest_patch_free(su_rest_patch *patch)
{
    su_mean_gradients_free(&patch->gradients);
    su_arena_free(&patch->arena);
    memset(patch, 0, sizeof *patch);
}

/* What memory is wanted for. */
static const char purpose[] = "a patch of the flesh";

/* Does a tet touch the vertices that are turned, the first that were numbered? */
static bool touches(const int32_t *tet, const int32_t *local, int64_t turned)
{
    bool touched = false;
    for (int c = 0; c < 4; c++) touched |= local[tet[c]] >= 0 && local[tet[c]] < turned;
    return touched;
}

/* Numbers the chosen vertices, then the others of the tets that touch them; local[v] = -1 outside. */
static su_status number_vertices(const su_model *model, int64_t count, const int32_t *vertices, int64_t turned,
                                 su_rest_patch *patch, int32_t *local, su_error *err)
{
    for (int64_t v = 0; v < model->n; v++) local[v] = -1;
    for (int64_t v = 0; v < count; v++) local[vertices ? vertices[v] : v] = (int32_t)v;
    int64_t total = count;
    bool around = turned > 0 && patch->nodes == 0;
    for (int64_t j = 0; patch->nodes > 0 && j < patch->gradients.start[patch->nodes]; j++)
        if (local[patch->gradients.neighbour[j]] < 0) local[patch->gradients.neighbour[j]] = (int32_t)total++;
    for (int64_t e = 0; around && e < model->t; e++) {
        const int32_t *tet = model->tets + 4 * e;
        if (!touches(tet, local, turned)) continue;
        patch->tet_count++;
        for (int c = 0; c < 4; c++)
            if (local[tet[c]] < 0) local[tet[c]] = (int32_t)total++;
    }
    patch->wanted = count;
    patch->turned = turned;
    patch->vertex_count = total;
    SU_TRY(SU_TAKE_ALL(&patch->arena, purpose, err, SU_WANT(patch->vertices, total),
                       SU_WANT(patch->tets, 4 * patch->tet_count)));
    for (int64_t v = 0; v < model->n; v++)
        if (local[v] >= 0) patch->vertices[local[v]] = (int32_t)v;
    int64_t kept = 0;
    for (int64_t e = 0; around && e < model->t; e++) {
        const int32_t *tet = model->tets + 4 * e;
        if (!touches(tet, local, turned)) continue;
        for (int c = 0; c < 4; c++) patch->tets[4 * kept + c] = local[tet[c]];
        kept++;
    }
    return SU_OK;
}

/* The smoothing's nodes that `turned` vertices read, and their gradients, still in the numbering of the flesh. */
static su_status take_nodes(const su_model *model, const int32_t *vertices, int64_t turned, su_rest_patch *patch,
                            su_error *err)
{
    const su_smoothing all = su_model_smoothing(model);
    su_mean_gradients whole = {0}, *own = &patch->gradients;
    int32_t *number = NULL;
    int64_t entries = 0, used = 0;
    su_status status = SU_OK;
    if (all.nodes == 0 || turned == 0) return SU_OK;
    for (int64_t k = 0; k < turned; k++)
        entries += all.start[(vertices ? vertices[k] : k) + 1] - all.start[vertices ? vertices[k] : k];
    SU_TRY(SU_TAKE_ALL(&patch->arena, purpose, err, SU_WANT(patch->node_start, turned + 1),
                       SU_WANT(patch->node, entries), SU_WANT(patch->node_weight, entries)));
    SU_GO(SU_ALLOC(&number, all.nodes, "nodes", err));
    SU_GO(su_node_gradients_create(model->n, model->vertices, model->t, model->tets, &all, &whole, err));
    for (int64_t k = 0; k < turned; k++)
        for (int64_t v = vertices ? vertices[k] : k, j = all.start[v]; j < all.start[v + 1]; j++)
            number[all.node[j]] = 1;
    for (int64_t k = 0; k < all.nodes; k++) {
        number[k] = number[k] ? (int32_t)patch->nodes++ : -1;
        if (number[k] >= 0) used += whole.start[k + 1] - whole.start[k];
    }
    for (int64_t k = 0, at = 0; k < turned; k++) {
        for (int64_t v = vertices ? vertices[k] : k, j = all.start[v]; j < all.start[v + 1]; j++, at++)
            patch->node[at] = number[all.node[j]], patch->node_weight[at] = all.weight[j];
        patch->node_start[k + 1] = (int32_t)at;
    }
    own->count = patch->nodes;
    SU_GO(SU_ALLOC_ALL("nodes", err, SU_WANT(own->start, patch->nodes + 1), SU_WANT(own->neighbour, used),
                       SU_WANT(own->coefficient, 3 * used)));
    for (int64_t k = 0; k < all.nodes; k++) {
        int64_t count = whole.start[k + 1] - whole.start[k];
        if (number[k] < 0) continue;
        int64_t at = own->start[number[k]];
        memcpy(own->neighbour + at, whole.neighbour + whole.start[k], (size_t)count * sizeof *own->neighbour);
        memcpy(own->coefficient + 3 * at, whole.coefficient + 3 * whole.start[k],
               (size_t)(3 * count) * sizeof *own->coefficient);
        own->start[number[k] + 1] = at + count;
    }
done:
    su_mean_gradients_free(&whole);
    free(number);
    return status;
}

/* The rest-shape arrays of the patch's vertices, on renumbered skin vertices. */
static su_status gather_shape(const su_model *model, su_rest_patch *patch, su_error *err)
{
    int64_t count = patch->vertex_count, ties = model->ties;
    int32_t *local, *index;
    double *vertices, *weight, *corrections, *neutral;
    SU_TRY(SU_TAKE_ALL(&patch->arena, purpose, err, SU_WANT(local, model->nbar), SU_WANT(vertices, 3 * count),
                       SU_WANT(index, ties * count), SU_WANT(weight, ties * count),
                       SU_WANT(corrections, model->m * count * 3)));
    for (int64_t v = 0; v < count; v++)
        for (int64_t c = 0; c < ties; c++) local[model->shepard_index[ties * patch->vertices[v] + c]] = 1;
    for (int64_t s = 0; s < model->nbar; s++) local[s] = local[s] ? (int32_t)patch->skin_count++ : -1;
    SU_TRY(SU_TAKE_ALL(&patch->arena, purpose, err, SU_WANT(patch->skin, patch->skin_count),
                       SU_WANT(neutral, 3 * patch->skin_count)));
    for (int64_t s = 0; s < model->nbar; s++)
        if (local[s] >= 0) {
            patch->skin[local[s]] = (int32_t)s;
            memcpy(neutral + 3 * local[s], model->neutral + 3 * s, 3 * sizeof *neutral);
        }
    for (int64_t v = 0; v < count; v++) {
        int64_t from = patch->vertices[v];
        memcpy(vertices + 3 * v, model->vertices + 3 * from, 3 * sizeof *vertices);
        memcpy(weight + ties * v, model->shepard_weight + ties * from, (size_t)ties * sizeof *weight);
        for (int64_t c = 0; c < ties; c++) index[ties * v + c] = local[model->shepard_index[ties * from + c]];
        for (int64_t i = 0; i < model->m; i++)
            memcpy(corrections + 3 * (i * count + v), model->corrections + 3 * (i * model->n + from),
                   3 * sizeof *corrections);
    }
    patch->shape = (su_rest_shape){.n = count,
                                   .m = model->m,
                                   .ties = ties,
                                   .vertices = vertices,
                                   .neutral = neutral,
                                   .shepard_index = index,
                                   .shepard_weight = weight,
                                   .corrections = corrections};
    return SU_OK;
}

su_status su_rest_patch_create(const su_model *model, int64_t count, const int32_t *vertices, int64_t turned,
                               su_rest_patch *patch, su_error *err)
{
    memset(patch, 0, sizeof *patch);
    su_status status;
    int32_t *local = NULL;
    SU_GO(SU_ALLOC(&local, model->n, "vertex numbers", err));
    SU_GO(take_nodes(model, vertices, turned, patch, err));
    SU_GO(number_vertices(model, count, vertices, turned, patch, local, err));
    for (int64_t j = 0; patch->nodes > 0 && j < patch->gradients.start[patch->nodes]; j++)
        patch->gradients.neighbour[j] = local[patch->gradients.neighbour[j]];
    SU_GO(gather_shape(model, patch, err));
done:
    free(local);
    if (status != SU_OK) su_rest_patch_free(patch);
    return status;
}
