#include "reduce/anchors.h"

#include "core/memory.h"
#include "reduce/elastic_rows.h"
#include "reduce/stiffening.h"
#include "rig/rbf.h"
#include "rig/rbf_train.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of all pairs of example poses. */
static double mean_distance(const su_pose_space *space)
{
    int64_t m = space->m, s = space->s;
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < i; j++)
            sum += su_param_distance(s, space->fit->params + i * s, space->fit->params + j * s, space->fit->param_scale);
    return m > 1 ? 2 * sum / (double)(m * (m - 1)) : 0;
}

static bool far_from_all(const su_pose_space *space, const su_anchors *anchors, const double *p, double least)
{
    for (int64_t k = 0; k < anchors->count; k++)
        if (su_param_distance(space->s, anchors->params + k * space->s, p, space->fit->param_scale) <= least) return false;
    return true;
}

su_status su_symmetric_root(int64_t r, double *matrix, su_error *err)
{
    double *vectors, *values;
    SU_TRY(SU_ALLOC(&vectors, r * r + r, "a matrix's root", err));
    values = vectors + r * r;
    memcpy(vectors, matrix, (size_t)(r * r) * sizeof *matrix);
    lapack_int info = LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'V', 'U', (lapack_int)r, vectors, (lapack_int)r, values);
    for (int64_t i = 0; i < r && info == 0; i++)   /* V diag(l^(1/4)), whose square by rows is the root */
        for (int64_t k = 0; k < r; k++) vectors[i * r + k] *= sqrt(sqrt(fmax(values[k], 0)));
    if (info == 0) cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)r, (int)r, 1, vectors, (int)r, 0, matrix, (int)r);
    for (int64_t i = 0; i < r; i++)
        for (int64_t k = 0; k < i; k++) matrix[i * r + k] = matrix[k * r + i];
    free(vectors);
    return info == 0 ? SU_OK : su_fail(err, SU_NUMERICS, "the stiffness at an anchor has no eigenvalues (LAPACK %d)", (int)info);
}

su_status su_anchors_create(su_pose_space *space, const su_training_places *places, int64_t unlock, su_anchors *out,
                            su_error *err)
{
    int64_t s = space->s, size = space->r * space->r;
    double least = fmax(0.01 * mean_distance(space), 1e-6);
    su_stiffness_probe *probe = NULL;
    su_status status;
    *out = (su_anchors){0};
    if (unlock > 0) SU_GO(su_stiffness_probe_create(space, unlock, &probe, err));
    SU_GO(SU_ALLOC(&out->params, places->count * s, "stiffness anchors", err));
    SU_GO(SU_ALLOC(&out->roots, places->count * size, "stiffness anchors", err));
    for (int64_t a = 0; a < places->count; a++) {
        const su_place *place = &places->place[a];
        if (place->pose < 0 && !far_from_all(space, out, place->p, least)) continue;
        memcpy(out->params + out->count * s, place->p, (size_t)s * sizeof *out->params);
        SU_GO(probe && place->pose < 0 ? su_unlocked_stiffness(probe, place, out->roots + out->count * size, err)
                                       : su_place_stiffness(space, place, out->roots + out->count * size, err));
        SU_GO(su_symmetric_root(space->r, out->roots + out->count * size, err));
        out->count++;
    }
    SU_GO(SU_ALLOC(&out->rbf, out->count * out->count, "stiffness anchors", err));
    SU_GO(su_rbf_train(out->count, s, out->params, space->fit->param_scale, out->rbf, err));
done:
    su_stiffness_probe_free(probe);
    if (status != SU_OK) su_anchors_free(out);
    return status;
}

void su_anchors_free(su_anchors *anchors)
{
    free(anchors->params), free(anchors->rbf), free(anchors->roots);
    *anchors = (su_anchors){0};
}

void su_anchors_blend(const su_pose_space *space, const su_anchors *anchors, const double *p, double *work, double *stiffness)
{
    int64_t r = space->r, size = r * r;
    double *weights = work, *root = work + anchors->count;
    su_rbf_weights(anchors->count, space->s, anchors->params, space->fit->param_scale, anchors->rbf, p, weights);
    memset(root, 0, (size_t)size * sizeof *root);
    for (int64_t k = 0; k < anchors->count; k++) cblas_daxpy((int)size, weights[k], anchors->roots + k * size, 1, root, 1);
    cblas_dsymm(CblasRowMajor, CblasLeft, CblasUpper, (int)r, (int)r, 1, root, (int)r, root, (int)r, 0, stiffness, (int)r);
}
