#include "runtime/subspace/rest_lanes.h"

#include "core/memory.h"
#include "geometry/rotation_field.h"

#include <stdlib.h>
#include <string.h>

/* What memory is wanted for. */
static const char purpose[] = "the rest shape";

void su_rest_lanes_free(su_rest_lanes *lanes)
{
    su_arena_free(&lanes->arena);
    memset(lanes, 0, sizeof *lanes);
}

int64_t su_rest_lanes_bytes(const su_rest_lanes *lanes)
{
    int64_t count = lanes->patch->vertex_count;
    int64_t ties = lanes->ties.ties;
    return count * (3 * 12 + 3 * lanes->ties.m * 4 + 4 + ties * 8) + lanes->patch->skin_count * (4 + 24) +
           lanes->ring.points * 4 + (lanes->ring.points ? lanes->ring.start[lanes->ring.points] * 16 : 0) +
           (lanes->rows.points ? lanes->rows.start[lanes->rows.points] * 8 : 0);
}

/* order: vertices by the first skin point that each follows, so that what one has read is still near for the next. */
static su_status sort_by_skin(const su_rest_lanes *lanes, int32_t *order, su_error *err)
{
    const su_rest_patch *patch = lanes->patch;
    const su_rest_ties *ties = &lanes->ties;
    int32_t *start;
    SU_TRY(SU_ALLOC(&start, patch->skin_count + 1, "skin points", err));
    for (int64_t v = 0; v < ties->count; v++) start[(ties->ties ? ties->index[ties->ties * v] : 0) + 1]++;
    for (int64_t k = 0; k < patch->skin_count; k++) start[k + 1] += start[k];
    for (int32_t v = 0; v < ties->count; v++) order[start[ties->ties ? ties->index[ties->ties * v] : 0]++] = v;
    free(start);
    return SU_OK;
}

/* In single precision. */
static su_status narrow_ring(su_rest_lanes *lanes, const su_mean_gradients *exact, su_error *err)
{
    int64_t count = exact->start[exact->count];
    int32_t *start, *neighbour;
    float *coefficient;
    SU_TRY(SU_TAKE_ALL(&lanes->arena, purpose, err, SU_WANT(start, exact->count + 1), SU_WANT(neighbour, count),
                       SU_WANT(coefficient, 3 * count)));

    for (int64_t k = 0; k <= exact->count; k++) start[k] = (int32_t)exact->start[k];
    for (int64_t j = 0; j < count; j++) neighbour[j] = exact->neighbour[j];
    for (int64_t j = 0; j < 3 * count; j++) coefficient[j] = (float)exact->coefficient[j];
    lanes->ring = (su_ring){exact->count, start, neighbour, coefficient};
    return SU_OK;
}

static su_status take_ring(su_rest_lanes *lanes, su_error *err)
{
    const su_rest_patch *patch = lanes->patch;
    su_status status;
    su_mean_gradients exact = {0};
    int32_t *wanted = NULL;
    if (patch->turned == 0) return SU_OK;
    if (patch->nodes > 0) {
        int64_t entries = patch->node_start[patch->turned];
        float *weight;
        SU_TRY(SU_TAKE_ALL(&lanes->arena, purpose, err, SU_WANT(weight, entries)));

        for (int64_t j = 0; j < entries; j++) weight[j] = (float)patch->node_weight[j];
        lanes->rows = (su_node_rows){patch->turned, patch->node_start, patch->node, weight};
        return narrow_ring(lanes, &patch->gradients, err);
    }
    SU_GO(SU_ALLOC(&wanted, patch->turned, "tets around vertices", err));
    for (int64_t v = 0; v < patch->turned; v++) wanted[v] = (int32_t)v;
    SU_GO(su_mean_gradients_create(patch->vertex_count, patch->shape.vertices, patch->tet_count, patch->tets,
                                   patch->turned, wanted, &exact, err));
    SU_GO(narrow_ring(lanes, &exact, err));
done:
    free(wanted);
    su_mean_gradients_free(&exact);
    return status;
}

su_status su_rest_lanes_create(const su_rest_patch *patch, const su_pose_kernels *kernels, su_rest_lanes *lanes,
                               su_error *err)
{
    *lanes = (su_rest_lanes){.patch = patch, .kernels = kernels};
    const su_rest_shape *shape = &patch->shape;
    int64_t count = patch->vertex_count, m = shape->m;
    float *near, *weight, *corrections;
    int32_t *order;
    su_status status;
    SU_GO(SU_TAKE_ALL(&lanes->arena, purpose, err, SU_WANT(near, 3 * count), SU_WANT(weight, shape->ties * count),
                      SU_WANT(corrections, 3 * m * count), SU_WANT(order, count)));

    lanes->ties = (su_rest_ties){.count = count,
                                 .m = m,
                                 .ties = shape->ties,
                                 .order = order,
                                 .index = shape->shepard_index,
                                 .weight = weight,
                                 .base = shape->vertices,
                                 .near = near,
                                 .corrections = corrections};
    double centre[3] = {0};
    for (int64_t k = 0; k < 3 * count; k++) centre[k % 3] += shape->vertices[k] / (double)count;
    for (int64_t k = 0; k < 3 * count; k++) near[k] = (float)(shape->vertices[k] - centre[k % 3]);
    for (int64_t k = 0; k < shape->ties * count; k++) weight[k] = (float)shape->shepard_weight[k];
    for (int64_t v = 0; v < count; v++)
        for (int64_t k = 0; k < 3 * m; k++)
            corrections[3 * v * m + k] = (float)shape->corrections[3 * (k / 3 * count + v) + k % 3];
    SU_GO(sort_by_skin(lanes, order, err));
    SU_GO(take_ring(lanes, err));
done:
    if (status != SU_OK) su_rest_lanes_free(lanes);
    return status;
}

void su_rest_lanes_moved(const su_rest_lanes *lanes, const double *const skins[SU_REST_FRAMES], float *moved)
{
    lanes->kernels->moved(3 * lanes->patch->skin_count, lanes->patch->shape.neutral, skins, moved);
}

void su_rest_lanes_positions(const su_rest_lanes *lanes, int64_t frames, const float *moved, const float *w,
                             double *const x[2], float *near)
{
    const su_rest_patch *patch = lanes->patch;
    lanes->kernels->rest(frames, &lanes->ties, patch->wanted, moved, w, x, patch->turned > 0 ? near : NULL);
}

void su_rest_lanes_rotations(const su_rest_lanes *lanes, int64_t frames, const float *near, float *nodes,
                             float *rotation)
{
    const su_rest_patch *patch = lanes->patch;
    if (lanes->rows.points > 0) {
        lanes->kernels->gradients(frames, &lanes->ring, near, nodes);
        lanes->kernels->node_rotations(frames, &lanes->rows, nodes, rotation);
    } else if (patch->turned > 0) {
        lanes->kernels->rotations(frames, &lanes->ring, near, rotation);
    } else {
        for (int64_t k = 0; k < SU_TURN_WIDE * patch->wanted; k++) rotation[k] = k / 16 % 9 % 4 == 0;
    }
}
