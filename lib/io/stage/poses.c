#include "io/stage/poses.h"
#include "io/stage/field.h"

#include <math.h>

#define DIM(count) SU_DIM(su_poses, count)
#define REAL(field, ...) SU_REAL(su_poses, field, __VA_ARGS__)
#define INDEX(field, ...) SU_INDEX(su_poses, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_poses, m), offsetof(su_poses, nbar), offsetof(su_poses, T), offsetof(su_poses, s),
    offsetof(su_poses, a), offsetof(su_poses, B),    offsetof(su_poses, K), offsetof(su_poses, mean_size),
};
static const char *const count_names[] = {"m", "nbar", "T", "s", "a", "B", "K", "3nbar"};

static const su_field fields[] = {
    REAL(neutral, SU_F64, 0, "m", "skin of the neutral pose", DIM(nbar), 3),
    INDEX(triangles, SU_I32, 0, 0, DIM(nbar), 0, "triangles of the skin", DIM(T), 3),
    REAL(params, SU_F64, 0, "rig", "rig parameters of each example pose, pose 0 is the neutral", DIM(m), DIM(s)),
    REAL(param_scale, SU_F64, 0, "1/rig", "factor on each rig parameter in distances between poses", DIM(s)),
    REAL(shapes, SU_F64, 0, "m", "skin of each example pose with sculpted corrections, root frame", DIM(m), DIM(nbar),
         3),
    REAL(rigged, SU_F64, 0, "m", "skin of each example pose as the rig gives it, root frame", DIM(m), DIM(nbar), 3),
    REAL(psd_params, SU_F64, SU_FIELD_OPTIONAL, "rig",
         "rig parameters of the sculpted poses, the neutral pose among them", DIM(a), DIM(s)),
    REAL(psd_shapes, SU_F64, SU_FIELD_OPTIONAL, "m", "sculpted corrections of the skin, neutral pose, 0 at the neutral",
         DIM(a), DIM(nbar), 3),
    REAL(psd_rbf, SU_F64, SU_FIELD_OPTIONAL, "1", "coefficients of the weights that blend psd_shapes", DIM(a), DIM(a)),
    REAL(param_mean, SU_F64, SU_FIELD_OPTIONAL, "m", "mean skin of a sequence without rig parameters", DIM(mean_size)),
    REAL(param_basis, SU_F64, SU_FIELD_OPTIONAL, "1/m", "rows that turn a skin minus param_mean into rig parameters",
         DIM(s), DIM(mean_size)),
    REAL(young, SU_F64, SU_FIELD_OPTIONAL, "Pa or 1", "painted Young's modulus at each example pose", DIM(m),
         DIM(nbar)),
    REAL(poisson, SU_F64, SU_FIELD_OPTIONAL, "1", "painted Poisson's ratio at each example pose", DIM(m), DIM(nbar)),
    REAL(weights, SU_F32, SU_FIELD_OPTIONAL, "1", "skinning weights", DIM(nbar), DIM(B)),
    REAL(bone_segments, SU_F64, SU_FIELD_OPTIONAL, "m", "head and tail of each bone at the neutral pose, root frame",
         DIM(B), 2, 3),
    REAL(bone_rest, SU_F64, SU_FIELD_OPTIONAL, "1, m", "bone to root frame at the neutral pose", DIM(B), 4, 4),
    INDEX(bone_parent, SU_I32, SU_FIELD_OPTIONAL, -1, DIM(B), 0, "parent of each bone, -1 at roots", DIM(B)),
    REAL(bones, SU_F64, SU_FIELD_OPTIONAL, "1, m", "bone to root frame at each example pose", DIM(m), DIM(B), 4, 4),
    REAL(morphs, SU_F64, SU_FIELD_OPTIONAL, "m", "blend shapes as offsets of the neutral skin", DIM(K), DIM(nbar), 3),
    INDEX(rigid, SU_U8, SU_FIELD_OPTIONAL, 0, 2, 0, "1 where a vertex only follows the rig", DIM(nbar)),
};

/* Pose 0 is the neutral pose itself: to 1e-6 of the size. */
static su_status check_neutral(const su_poses *poses, const char *path, su_error *err)
{
    double largest = 0, size = 0;
    for (int64_t i = 0; i < 3 * poses->nbar; i++) {
        largest = fmax(largest, fabs(poses->shapes[i] - poses->neutral[i]));
        size = fmax(size, fabs(poses->neutral[i] - poses->neutral[i % 3]));
    }
    if (largest <= 1e-6 * size) return SU_OK;
    return su_fail(err, SU_INPUT, "%s: 'shapes' of pose 0 is %.3g m away from 'neutral'", path, largest);
}

static su_status check_poses(const void *object, const char *path, su_error *err)
{
    const su_poses *poses = object;
    SU_TRY(su_check_at_least(poses->m, 1, "example poses", path, err));
    SU_TRY(su_check_at_least(poses->nbar, 1, "skin vertices", path, err));
    SU_TRY(su_check_at_least(poses->T, 1, "triangles", path, err));
    SU_TRY(su_check_range(poses->param_scale, poses->s, -1e-300, 1e300, "param_scale", path, err));
    SU_TRY(su_check_apart(poses->params, poses->param_scale, poses->m, poses->s, path, err));
    SU_TRY(check_neutral(poses, path, err));
    SU_TRY(su_check_together(!!poses->psd_params + !!poses->psd_shapes + !!poses->psd_rbf, 3,
                             "psd_params, psd_shapes and psd_rbf", path, err));
    SU_TRY(su_check_together(!!poses->param_mean + !!poses->param_basis, 2, "param_mean and param_basis", path, err));
    if (poses->param_mean && poses->mean_size != 3 * poses->nbar)
        return su_fail(err, SU_INPUT, "%s: 'param_mean' has %lld elements, three a skin vertex are wanted", path,
                       (long long)poses->mean_size);
    return poses->bone_parent ? su_check_forest(poses->bone_parent, poses->B, "bone_parent", path, err) : SU_OK;
}

const su_schema su_poses_schema = {
    "supple.poses", 1,           sizeof(su_poses),    fields,      SU_COUNT_OF(fields),
    counts,         count_names, SU_COUNT_OF(counts), check_poses,
};

su_status su_poses_load(const char *path, su_poses *poses, su_error *err)
{
    return su_schema_load(&su_poses_schema, path, poses, err);
}

su_status su_poses_save(const char *path, const su_poses *poses, su_error *err)
{
    return su_schema_save(&su_poses_schema, path, poses, err);
}

void su_poses_free(su_poses *poses) { su_schema_free(&su_poses_schema, poses); }
