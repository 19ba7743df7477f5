#include "io/stage/model.h"
#include "core/memory.h"
#include "io/stage/field.h"

#include <stdlib.h>

#define DIM(count) SU_DIM(su_model, count)
#define REAL(field, ...) SU_REAL(su_model, field, __VA_ARGS__)
#define INDEX(field, ...) SU_INDEX(su_model, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_model, m),           offsetof(su_model, r),           offsetof(su_model, n),
    offsetof(su_model, t),           offsetof(su_model, nbar),        offsetof(su_model, s),
    offsetof(su_model, d),           offsetof(su_model, c),           offsetof(su_model, ci),
    offsetof(su_model, a),           offsetof(su_model, fixed_count), offsetof(su_model, columns),
    offsetof(su_model, region_size), offsetof(su_model, d1),          offsetof(su_model, block_size),
    offsetof(su_model, mean_size),   offsetof(su_model, b),           offsetof(su_model, ties),
    offsetof(su_model, bases),       offsetof(su_model, n1),          offsetof(su_model, z),
    offsetof(su_model, k),
};
static const char *const count_names[] = {
    "m",     "r",           "n",   "t",          "nbar",  "s", "d",    "c",     "c'",  "a", "fixed",
    "m+1+s", "region_size", "d+1", "block_size", "3nbar", "b", "ties", "bases", "n+1", "z", "k",
};

static const su_field fields[] = {
    REAL(vertices, SU_F64, 0, "m", "flesh vertices of the neutral pose, root frame", DIM(n), 3),
    INDEX(tets, SU_I32, 0, 0, DIM(n), 0, "tets (a,b,c,d) with det[b-a, c-a, d-a] > 0", DIM(t), 4),
    INDEX(surface, SU_I32, 0, 0, DIM(n), 0, "boundary triangles, counter-clockwise seen from outside", DIM(b), 3),
    INDEX(fixed, SU_I32, 0, 0, DIM(n), 0, "vertices held to the rig, ascending", DIM(fixed_count)),
    REAL(neutral, SU_F64, 0, "m", "skin of the neutral pose", DIM(nbar), 3),
    INDEX(embed_tet, SU_I32, 0, 0, DIM(t), 0, "tet that holds each skin vertex", DIM(nbar)),
    REAL(embed_bary, SU_F64, 0, "1", "barycentric coordinates of each skin vertex in its tet; rows sum to 1", DIM(nbar),
         4),
    INDEX(shepard_index, SU_I32, 0, 0, DIM(nbar), 0, "skin vertices that each flesh vertex follows", DIM(n), DIM(ties)),
    REAL(shepard_weight, SU_F64, 0, "1", "their weights, of any sign; rows sum to 1", DIM(n), DIM(ties)),
    INDEX(rigid, SU_U8, SU_FIELD_OPTIONAL, 0, 2, 0, "1 where a vertex only follows the rig", DIM(nbar)),
    REAL(params, SU_F64, 0, "rig", "rig parameters of the example poses", DIM(m), DIM(s)),
    REAL(param_scale, SU_F64, 0, "1/rig", "factor on each rig parameter in distances between poses", DIM(s)),
    REAL(rbf, SU_F64, 0, "1", "coefficients of the biharmonic weights w", DIM(m), DIM(m)),
    REAL(corrections, SU_F64, 0, "m", "fitted minus Shepard-interpolated rest shape at each pose", DIM(m), DIM(n), 3),
    REAL(young, SU_F64, 0, "Pa", "Young's modulus of each cubature tet at each pose", DIM(m), DIM(c)),
    REAL(poisson, SU_F64, 0, "1", "Poisson's ratio of each cubature tet at each pose", DIM(m), DIM(c)),
    REAL(density, SU_F64, 0, "kg/m^3", "density of each tet", DIM(t)),
    INDEX(turn_start, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(z), 1,
          "first entry of each vertex in turn_node and turn_weight", DIM(n1)),
    INDEX(turn_node, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(n), 0,
          "nodes of the smoothing of rotations that reach each vertex", DIM(z)),
    REAL(turn_weight, SU_F64, SU_FIELD_OPTIONAL, "1", "their weights phi; those of a vertex sum to 1", DIM(z)),
    REAL(psd_params, SU_F64, SU_FIELD_OPTIONAL, "rig",
         "rig parameters of the sculpted poses, the neutral pose among them", DIM(a), DIM(s)),
    REAL(psd_shapes, SU_F64, SU_FIELD_OPTIONAL, "m", "sculpted corrections of the skin, neutral pose, 0 at the neutral",
         DIM(a), DIM(nbar), 3),
    REAL(psd_rbf, SU_F64, SU_FIELD_OPTIONAL, "1", "coefficients of the weights that blend psd_shapes", DIM(a), DIM(a)),
    REAL(param_mean, SU_F64, SU_FIELD_OPTIONAL, "m", "mean skin of a sequence without rig parameters", DIM(mean_size)),
    REAL(param_basis, SU_F64, SU_FIELD_OPTIONAL, "1/m", "rows that turn a skin minus param_mean into rig parameters",
         DIM(s), DIM(mean_size)),
    INDEX(region_vertices, SU_I32, 0, 0, DIM(n), 0, "vertices of each region, ascending within it", DIM(region_size)),
    INDEX(region_vertex_offsets, SU_I32, 0, 0, DIM(region_size), 1, "first entry of region_vertices of each region",
          DIM(d1)),
    REAL(basis_blocks, SU_F32, 0, "kg^-1/2",
         "turned-back bases: per region a block (bases, modes of the region, vertices, 3)", DIM(block_size)),
    INDEX(basis_block_offsets, SU_I64, 0, 0, DIM(block_size), 1, "first entry of basis_blocks of each region", DIM(d1)),
    INDEX(mode_region, SU_I32, 0, 0, DIM(d1), -1, "region of each mode, ascending", DIM(r)),
    REAL(gram, SU_F64, SU_FIELD_OPTIONAL, "1", "mass products of two bases", DIM(bases), DIM(bases), DIM(r), DIM(r)),
    REAL(basis_rbf, SU_F64, SU_FIELD_OPTIONAL, "1", "coefficients of the weights b that blend bases; without it b = w",
         DIM(m), DIM(columns)),
    REAL(rotations, SU_F64, SU_FIELD_OPTIONAL, "1",
         "rotation neutral to example pose of each vertex, quaternion w x y z; for linear interpolation", DIM(m),
         DIM(n), 4),
    INDEX(cubature_tets, SU_I32, 0, 0, DIM(t), 0, "tets at which elastic forces are evaluated", DIM(c)),
    REAL(cubature_weights, SU_F64, 0, "1", "their weights at each example pose", DIM(m), DIM(c)),
    REAL(linear_stiffness, SU_F64, SU_FIELD_OPTIONAL, "1/s^2",
         "D: what the cubature tets lack of the reduced stiffness, symmetric; at least -0.2 of it", DIM(r), DIM(r)),
    INDEX(inertia_vertices, SU_I32, 0, 0, DIM(n), 0, "vertices at which inertia is evaluated", DIM(ci)),
    REAL(inertia_weights, SU_F64, 0, "1", "their weights: factors on lumped masses", DIM(ci)),
    REAL(skinning_weights, SU_F64, SU_FIELD_OPTIONAL, "kg^-1/2", "skinning eigenmodes: weight of each affine map",
         DIM(n), DIM(k)),
    INDEX(cluster, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(c), 0, "cluster of each cubature tet", DIM(c)),
};

static su_status check_blocks(const su_model *model, const char *path, su_error *err)
{
    SU_TRY(su_check_ascending(model->mode_region, model->r, 0, "mode_region", path, err));
    SU_TRY(su_check_offsets(model->region_vertex_offsets, model->d1, model->region_size, "region_vertex_offsets", path,
                            err));
    if (model->basis_block_offsets[0] != 0 || model->basis_block_offsets[model->d1 - 1] != model->block_size)
        return su_fail(err, SU_INPUT, "%s: 'basis_block_offsets' does not run from 0 to %lld", path,
                       (long long)model->block_size);
    int64_t mode = 0;
    for (int64_t i = 0; i + 1 < model->d1; i++) {
        int64_t first = mode, begin = model->region_vertex_offsets[i];
        int64_t vertices = model->region_vertex_offsets[i + 1] - begin, wanted;
        while (mode < model->r && model->mode_region[mode] == i) mode++;
        if (__builtin_mul_overflow(model->bases * 3 * (mode - first), vertices, &wanted) ||
            model->basis_block_offsets[i + 1] - model->basis_block_offsets[i] != wanted)
            return su_fail(err, SU_INPUT, "%s: the block of region %lld in 'basis_blocks' has a wrong size", path,
                           (long long)i);
        SU_TRY(su_check_ascending(model->region_vertices + begin, vertices, 1, "region_vertices", path, err));
    }
    return SU_OK;
}

/* Skinning modes: twelve coordinates each, in one region without a basis; each cluster has tets. */
static su_status check_skinning(const su_model *model, const char *path, su_error *err)
{
    SU_TRY(
        su_check_together(!!model->skinning_weights + !!model->cluster, 2, "skinning_weights and cluster", path, err));
    if (!model->skinning_weights) return SU_OK;
    if (model->r != 12 * model->k || model->d1 != 2 || model->block_size != 0 || model->region_size != 0)
        return su_fail(err, SU_INPUT, "%s: %lld skinning modes have %lld coordinates and one empty region, not %lld",
                       path, (long long)model->k, (long long)(12 * model->k), (long long)model->r);
    int64_t clusters = 0, seen = 0;
    uint8_t *there;
    for (int64_t e = 0; e < model->c; e++)
        if (model->cluster[e] >= clusters) clusters = model->cluster[e] + 1;
    SU_TRY(SU_ALLOC(&there, clusters, "clusters", err));
    for (int64_t e = 0; e < model->c; e++) seen += !there[model->cluster[e]], there[model->cluster[e]] = 1;
    free(there);
    return seen == clusters && model->c > 0 ? SU_OK
                                            : su_fail(err, SU_INPUT, "%s: %lld of %lld clusters have tets", path,
                                                      (long long)seen, (long long)clusters);
}

static su_status check_model(const void *object, const char *path, su_error *err)
{
    const su_model *model = object;
    SU_TRY(su_check_at_least(model->m, 1, "example poses", path, err));
    SU_TRY(su_check_at_least(model->r, 0, "modes", path, err));
    SU_TRY(su_check_at_least(model->t, 1, "tets", path, err));
    SU_TRY(su_check_at_least(model->d1, model->r > 0 ? 2 : 1, "offsets of regions", path, err));
    if (!model->skinning_weights && !model->gram) return su_fail(err, SU_INPUT, "%s: array 'gram' is missing", path);
    if (!model->skinning_weights && model->bases != 1 && model->bases != model->m)
        return su_fail(err, SU_INPUT, "%s: has %lld bases for %lld example poses", path, (long long)model->bases,
                       (long long)model->m);
    SU_TRY(su_check_smoothing(model->n, model->n1, model->z, model->turn_start, model->turn_node, model->turn_weight,
                              path, err));
    SU_TRY(su_check_tets(model->vertices, model->tets, model->t, path, err));
    SU_TRY(su_check_ascending(model->fixed, model->fixed_count, 1, "fixed", path, err));
    SU_TRY(su_check_row_sums(model->embed_bary, model->nbar, 4, 1, "embed_bary", path, err));
    SU_TRY(su_check_row_sums(model->shepard_weight, model->n, model->ties, 1, "shepard_weight", path, err));
    SU_TRY(su_check_range(model->young, model->m * model->c, 0, 1e300, "young", path, err));
    SU_TRY(su_check_range(model->poisson, model->m * model->c, -1, 0.5, "poisson", path, err));
    SU_TRY(su_check_range(model->density, model->t, 0, 1e300, "density", path, err));
    SU_TRY(su_check_together(!!model->psd_params + !!model->psd_shapes + !!model->psd_rbf, 3,
                             "psd_params, psd_shapes and psd_rbf", path, err));
    SU_TRY(su_check_together(!!model->param_mean + !!model->param_basis, 2, "param_mean and param_basis", path, err));
    if (model->basis_rbf && (model->columns < model->m + 1 || model->columns > model->m + 1 + model->s))
        return su_fail(err, SU_INPUT, "%s: 'basis_rbf' has %lld columns, %lld are wanted", path,
                       (long long)model->columns, (long long)(model->m + 1 + model->s));
    SU_TRY(check_skinning(model, path, err));
    return model->skinning_weights ? SU_OK : check_blocks(model, path, err);
}

const su_schema su_model_schema = {
    "supple.model", 2,           sizeof(su_model),    fields,      SU_COUNT_OF(fields),
    counts,         count_names, SU_COUNT_OF(counts), check_model,
};

double su_model_contact_softness(const su_model *model)
{
    const json_t *factor = json_object_get(model->file.meta, "contact_softness");
    return factor ? json_number_value(factor) : 1;
}

su_status su_model_load(const char *path, su_model *model, su_error *err)
{
    su_status status = su_schema_load(&su_model_schema, path, model, err);
    if (status == SU_OK) model->d = model->d1 - 1;
    return status;
}

su_status su_model_save(const char *path, const su_model *model, su_error *err)
{
    return su_schema_save(&su_model_schema, path, model, err);
}

void su_model_free(su_model *model) { su_schema_free(&su_model_schema, model); }

su_smoothing su_model_smoothing(const su_model *model)
{
    return su_smoothing_of(model->n, model->turn_start, model->turn_node, model->turn_weight);
}
