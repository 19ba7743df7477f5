#include "skin/tet_rotations.h"

#include "core/memory.h"
#include "geometry/rotation.h"
#include "reduce/modes/regions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights below it turn nothing by a tenth of a degree, and are left out. */
static const double LEAST_WEIGHT = 1e-3;

/* Of a bone's weights W (n): vertex k, or behind the vertices the mean over a tet. */
static double weight_at(const double *W, int64_t n, const int32_t *tets, int64_t k)
{
    double sum = 0;
    for (int a = 0; a < 4; a++) sum += 0.25 * W[k < n ? k : tets[4 * (k - n) + a]];
    return sum;
}

/* Row of W's columns w (count) of the bones that hold: kept, made to sum to 1, appended. */
static void append_row(const int32_t *holder, int64_t count, const double *w, su_bone_weights *out, int64_t row)
{
    double sum = 0;
    int64_t at = out->start[row];
    for (int64_t h = 0; h < count; h++) sum += w[h] > LEAST_WEIGHT ? w[h] : 0;
    for (int64_t h = 0; h < count; h++)
        if (w[h] > LEAST_WEIGHT) out->bone[at] = holder[h], out->weight[at++] = w[h] / sum;
    out->start[row + 1] = at;
}

su_status su_bone_weights_create(const su_tets *flesh, int64_t bones, const int32_t *bone_of, int threads,
                                 su_bone_weights *out, su_error *err)
{
    int64_t n = flesh->n, t = flesh->t;
    su_bone_weights weights = {.n = n, .t = t, .bones = bones};
    int32_t *holder = NULL, *number = NULL, *region_of = NULL;
    double *W = NULL, *row = NULL;
    int64_t count = 0;
    su_status status;
    SU_GO(SU_ALLOC(&number, bones + 1, "bone weights", err));
    SU_GO(SU_ALLOC(&holder, bones + 1, "bone weights", err));
    SU_GO(SU_ALLOC(&region_of, n, "bone weights", err));
    for (int64_t v = 0; v < n; v++)
        if (bone_of[v] >= 0) number[bone_of[v]] = 1;
    for (int64_t b = 0; b < bones; b++)
        if (number[b]) number[b] = (int32_t)count, holder[count++] = (int32_t)b;
    if (count == 0) {
        status = su_fail(err, SU_FAILED, "no bone holds a vertex of the flesh");
        goto done;
    }
    for (int64_t v = 0; v < n; v++) region_of[v] = bone_of[v] < 0 ? -1 : number[bone_of[v]];
    SU_GO(SU_ALLOC(&W, count * n, "bone weights", err));
    SU_GO(SU_ALLOC(&row, count, "bone weights", err));
    SU_GO(SU_ALLOC(&weights.start, n + t + 1, "bone weights", err));
    SU_GO(su_bounded_biharmonic(&(su_tet_mesh){n, t, flesh->x, flesh->tets}, count, region_of, W, NULL, threads, err));
    int64_t room = 0;
    for (int64_t k = 0; k < n + t; k++)
        for (int64_t h = 0; h < count; h++) room += weight_at(W + h * n, n, flesh->tets, k) > LEAST_WEIGHT;
    SU_GO(SU_ALLOC(&weights.bone, room + 1, "bone weights", err));
    SU_GO(SU_ALLOC(&weights.weight, room + 1, "bone weights", err));
    for (int64_t k = 0; k < n + t; k++) {
        for (int64_t h = 0; h < count; h++) row[h] = weight_at(W + h * n, n, flesh->tets, k);
        append_row(holder, count, row, &weights, k);
    }
    *out = weights;
    weights = (su_bone_weights){0};
done:
    free(holder), free(number), free(region_of), free(W), free(row);
    su_bone_weights_free(&weights);
    return status;
}

void su_bone_weights_free(su_bone_weights *weights)
{
    free(weights->start), free(weights->bone), free(weights->weight);
    *weights = (su_bone_weights){0};
}

void su_bone_weights_rotate(const su_bone_weights *w, const double *quaternions, double *Q, double *R)
{
    for (int64_t k = 0; k < w->n + w->t; k++) {
        double sum[4] = {0, 0, 0, 0}, length = 0, most = 0;
        const double *heaviest = NULL;
        for (int64_t z = w->start[k]; z < w->start[k + 1]; z++)
            if (w->weight[z] > most) most = w->weight[z], heaviest = quaternions + 4 * (int64_t)w->bone[z];
        for (int64_t z = w->start[k]; z < w->start[k + 1]; z++) {
            const double *q = quaternions + 4 * (int64_t)w->bone[z];
            double side = 0;
            for (int c = 0; c < 4; c++) side += q[c] * heaviest[c];
            for (int c = 0; c < 4; c++) sum[c] += (side < 0 ? -1 : 1) * w->weight[z] * q[c];
        }
        for (int c = 0; c < 4; c++) length += sum[c] * sum[c];
        length = sqrt(length);
        for (int c = 0; c < 4; c++) sum[c] = length > 0 ? sum[c] / length : c == 0;
        su_quaternion_matrix(sum, k < w->n ? Q + 9 * k : R + 9 * (k - w->n));
    }
}

void su_vertex_rotations(int64_t n, int64_t t, const int32_t *tets, const double *quaternions, double *Q, double *R)
{
    for (int64_t v = 0; v < n; v++) su_quaternion_matrix(quaternions + 4 * v, Q + 9 * v);
    for (int64_t e = 0; e < t; e++) {
        const double *corner[4];
        for (int a = 0; a < 4; a++) corner[a] = quaternions + 4 * (int64_t)tets[4 * e + a];
        su_mean_rotation(corner, R + 9 * e);
    }
}
