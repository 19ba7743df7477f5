#include "runtime/rest_lanes.h"

#include "geometry/mat3.h"

#include <stdlib.h>
#include <string.h>

void su_rest_lanes_free(su_rest_lanes *lanes)
{
    su_arena_free(&lanes->arena);
    memset(lanes, 0, sizeof *lanes);
}

int64_t su_rest_lanes_bytes(const su_rest_lanes *lanes)
{
    int64_t count = lanes->patch->vertex_count;
    return count * ((3 + 4 + 3 * lanes->patch->shape.m) * 8 + 16) + lanes->patch->skin_count * 4 +
           lanes->ring_tets * (int64_t)sizeof *lanes->ring;
}

static su_status take_rings(su_rest_lanes *lanes, su_error *err)
{
    const su_rest_patch *patch = lanes->patch;
    const double *x = patch->shape.vertices;
    uint8_t *seen = NULL;
    double *volumes = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&seen, patch->turned, "tets around vertices", err));
    SU_GO(SU_ALLOC(&volumes, patch->tet_count, "tets around vertices", err));
    double total = 0;
    lanes->ring_tets = patch->tet_count;
    for (int64_t k = 0; k < patch->tet_count; k++) {
        su_ring_tet *tet = lanes->ring + k;
        double edges[9], inverse[9] = {0};
        for (int c = 0; c < 4; c++) {
            int32_t v = tet->vertex[c] = patch->tets[4 * k + c];
            tet->point[c] = v < patch->turned ? v : -1;
            tet->first[c] = tet->point[c] >= 0 && !seen[v];
            if (tet->point[c] >= 0) seen[v] = 1;
        }
        su_tet_edges(x + 3 * tet->vertex[0], x + 3 * tet->vertex[1], x + 3 * tet->vertex[2], x + 3 * tet->vertex[3], edges);
        double volume = su_inverse3(edges, inverse);
        for (int i = 0; i < 9; i++) tet->inverse[i] = (float)inverse[i];
        volumes[k] = volume;
        total += volume;
    }
    for (int64_t k = 0; k < patch->tet_count; k++) lanes->ring[k].volume = (float)(volumes[k] * (double)patch->tet_count / total);
done:
    free(seen);
    free(volumes);
    return status;
}

su_status su_rest_lanes_create(const su_rest_patch *patch, const su_pose_kernels *kernels, su_rest_lanes *lanes,
                               su_error *err)
{
    *lanes = (su_rest_lanes){.patch = patch, .kernels = kernels};
    const su_rest_shape *shape = &patch->shape;
    int64_t count = patch->vertex_count, m = shape->m;
    lanes->base = su_arena_alloc(&lanes->arena, 3 * count, sizeof(double));
    lanes->corrections = su_arena_alloc(&lanes->arena, 3 * m * count, sizeof(double));
    lanes->ring = su_arena_alloc(&lanes->arena, patch->tet_count, sizeof *lanes->ring);
    if (!lanes->base || !lanes->corrections || !lanes->ring) {
        su_rest_lanes_free(lanes);
        return su_fail(err, SU_AGAIN, "not enough memory for the rest shape");
    }
    for (int64_t v = 0; v < count; v++)
        for (int c = 0; c < 3; c++) {
            lanes->centre[c] += shape->vertices[3 * v + c] / (double)count;
            double base = shape->vertices[3 * v + c];
            for (int64_t k = shape->ties * v; k < shape->ties * (v + 1); k++)
                base -= shape->shepard_weight[k] * shape->neutral[3 * (int64_t)shape->shepard_index[k] + c];
            lanes->base[3 * v + c] = base;
            for (int64_t i = 0; i < m; i++)
                lanes->corrections[3 * (v * m + i) + c] = shape->corrections[3 * (i * count + v) + c];
        }
    su_status status = take_rings(lanes, err);
    if (status != SU_OK) su_rest_lanes_free(lanes);
    return status;
}

void su_rest_lanes_positions(const su_rest_lanes *lanes, const double *const skins[SU_FRAMES], const double *w, int half,
                             double *skin, double *x, float *near)
{
    const su_rest_patch *patch = lanes->patch;
    lanes->kernels->interleave(3 * patch->skin_count, skins, skin);
    lanes->kernels->rest(patch->vertex_count, x ? patch->wanted : 0, patch->shape.m, patch->shape.ties, lanes->base,
                         patch->shape.shepard_index, patch->shape.shepard_weight, lanes->corrections, skin, w, lanes->centre, half, x,
                         patch->turned > 0 ? near : NULL);
}

void su_rest_lanes_rotations(const su_rest_lanes *lanes, const float *near, float *sums, double *const rotation[2])
{
    const su_rest_patch *patch = lanes->patch;
    if (patch->turned > 0) {
        lanes->kernels->rotations(lanes->ring_tets, lanes->ring, patch->turned, near, sums, rotation);
        return;
    }
    for (int half = 0; half < 2 && rotation[half]; half++)
        for (int64_t k = 0; k < 72 * patch->wanted; k++) rotation[half][k] = k / 8 % 9 % 4 == 0;
}
