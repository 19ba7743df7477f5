#include "reduce/cubature/model_build.h"

#include <stdbool.h>
#include <string.h>

static void carry(const json_t *from, size_t count, const char *const *keys, json_t *to)
{
    for (size_t k = 0; k < count; k++) {
        json_t *value = json_object_get(from, keys[k]);
        if (value) json_object_set(to, keys[k], value);
    }
}

void su_model_carry_meta(const json_t *fit, const json_t *basis, json_t *meta)
{
    static const char *const of_fit[] = {"material", "rest", "frequency", "young", "poisson", "density", "param_names"};
    static const char *const of_basis[] = {"interpolation", "subspace", "linear_modes", "gravity", "gravity_mode"};
    carry(fit, sizeof of_fit / sizeof *of_fit, of_fit, meta);
    carry(basis, sizeof of_basis / sizeof *of_basis, of_basis, meta);
}

#define COPY(to, count, from) SU_TRY(SU_FILE_COPY(&model->file, to, count, from, err))

static su_status copy_mesh(const su_tet *tet, const su_poses *poses, su_model *model, su_error *err)
{
    model->n = tet->n, model->t = tet->t, model->b = tet->b, model->fixed_count = tet->fixed_count,
    model->nbar = tet->nbar;
    COPY(&model->vertices, 3 * tet->n, tet->vertices);
    COPY(&model->tets, 4 * tet->t, tet->tets);
    COPY(&model->surface, 3 * tet->b, tet->surface);
    COPY(&model->fixed, tet->fixed_count, tet->fixed);
    COPY(&model->neutral, 3 * poses->nbar, poses->neutral);
    COPY(&model->embed_tet, tet->nbar, tet->embed_tet);
    COPY(&model->embed_bary, 4 * tet->nbar, tet->embed_bary);
    COPY(&model->shepard_index, tet->ties * tet->n, tet->shepard_index);
    model->ties = tet->ties;
    COPY(&model->shepard_weight, tet->ties * tet->n, tet->shepard_weight);
    COPY(&model->rigid, poses->nbar, poses->rigid);
    return SU_OK;
}

static su_status copy_poses(const su_rig_space *rig, const su_fit *fit, const su_basis *basis, su_model *model,
                            su_error *err)
{
    int64_t m = fit->m, r = basis->r;
    su_rig_space own;
    SU_TRY(su_rig_copy(rig, &model->file, &own, err));
    su_rig_into_model(&own, model);
    model->r = r;
    COPY(&model->corrections, 3 * m * fit->n, fit->corrections);
    COPY(&model->density, fit->t, fit->density);
    COPY(&model->mode_region, r, basis->mode_region);
    model->bases = basis->m;
    COPY(&model->gram, basis->m * basis->m * r * r, basis->gram);

    if (basis->m == m) COPY(&model->rotations, 4 * m * fit->n, basis->rotations);
    model->n1 = fit->n1, model->z = fit->z;
    COPY(&model->turn_start, fit->n1, fit->turn_start);
    COPY(&model->turn_node, fit->z, fit->turn_node);
    COPY(&model->turn_weight, fit->z, fit->turn_weight);
    return SU_OK;
}

/* Region blocks (m, modes, vertices, 3); a vertex belongs to a region where its weight is positive, unless held. */
static su_status make_blocks(const su_basis *basis, const su_elastic *elastic, su_model *model, su_error *err)
{
    int64_t d = basis->d, n = basis->n, m = basis->m, r = basis->r, vertices = 0, entries = 0, mode = 0;
    su_file *file = &model->file;
    model->d = d, model->d1 = d + 1;
    SU_TRY(SU_FILE_ALLOC_ALL(file, err, SU_WANT(model->region_vertex_offsets, d + 1),
                             SU_WANT(model->basis_block_offsets, d + 1)));
    for (int64_t g = 0; g < d; g++) {
        int64_t count = 0, modes = 0;
        for (int64_t v = 0; v < n; v++) count += basis->region_weights[g * n + v] > 0 && elastic->free_index[v] >= 0;
        for (int64_t k = 0; k < r; k++) modes += basis->mode_region[k] == g;
        vertices += count, entries += 3 * m * modes * count;
        model->region_vertex_offsets[g + 1] = (int32_t)vertices;
        model->basis_block_offsets[g + 1] = entries;
    }
    model->region_size = vertices, model->block_size = entries;
    SU_TRY(
        SU_FILE_ALLOC_ALL(file, err, SU_WANT(model->region_vertices, vertices), SU_WANT(model->basis_blocks, entries)));
    for (int64_t g = 0; g < d; g++) {
        int32_t *list = model->region_vertices + model->region_vertex_offsets[g];
        float *block = model->basis_blocks + model->basis_block_offsets[g];
        int64_t count = 0, first = mode;
        for (int64_t v = 0; v < n; v++)
            if (basis->region_weights[g * n + v] > 0 && elastic->free_index[v] >= 0) list[count++] = (int32_t)v;
        while (mode < r && basis->mode_region[mode] == g) mode++;
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = first; k < mode; k++)
                for (int64_t v = 0; v < count; v++)
                    for (int c = 0; c < 3; c++) *block++ = (float)basis->basis[3 * ((i * r + k) * n + list[v]) + c];
    }
    return SU_OK;
}

static su_status copy_cubature(const su_fit *fit, const su_cubature *cubature, su_model *model, su_error *err)
{
    const su_point_set *tets = &cubature->tets, *vertices = &cubature->vertices;
    int64_t c = tets->count, m = fit->m;
    model->c = c, model->ci = vertices->count;
    COPY(&model->cubature_tets, c, tets->points);
    COPY(&model->cubature_weights, m * c, tets->weights);
    COPY(&model->linear_stiffness, model->r * model->r, cubature->linear);
    COPY(&model->inertia_vertices, model->ci, vertices->points);
    COPY(&model->inertia_weights, model->ci, vertices->weights);
    SU_TRY(SU_FILE_ALLOC_ALL(&model->file, err, SU_WANT(model->young, m * c), SU_WANT(model->poisson, m * c)));
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < c; k++) {
            model->young[i * c + k] = fit->young[i * fit->t + tets->points[k]];
            model->poisson[i * c + k] = fit->poisson[i * fit->t + tets->points[k]];
        }
    return SU_OK;
}

/* The model of a basis; elastic: NULL with one of no modes. */
static su_status build(const su_tet *tet, const su_poses *poses, const su_fit *fit, const su_rig_space *rig,
                       const su_basis *basis, const su_elastic *elastic, const su_cubature *cubature, su_model *model,
                       su_error *err)
{
    SU_TRY(copy_mesh(tet, poses, model, err));
    SU_TRY(copy_poses(rig, fit, basis, model, err));
    SU_TRY(make_blocks(basis, elastic, model, err));
    return copy_cubature(fit, cubature, model, err);
}

/* What is made is kept where all went well. */
static su_status finish(su_status status, su_model *model)
{
    if (status != SU_OK) su_model_free(model);
    return status;
}

su_status su_model_of_flesh(const su_tet *tet, const su_poses *poses, const su_fit *fit, su_model *model, su_error *err)
{
    const su_basis none = {.m = 1, .n = tet->n, .gram = (double[]){0}, .mode_region = (int32_t[]){0}};
    const su_rig_space rig = su_rig_of_fit(fit);
    int32_t place = 0;
    double weight = 0;
    const su_point_set no_points = {.points = &place, .weights = &weight};
    *model = (su_model){0};
    return finish(
        build(tet, poses, fit, &rig, &none, NULL, &(su_cubature){.tets = no_points, .vertices = no_points}, model, err),
        model);
}

/* Every tet with weight 1, one region without vertices. */
static su_status build_skinning(const su_tet *tet, const su_poses *poses, const su_fit *fit,
                                const su_skinning *skinning, const int32_t *cluster, double stiffness, su_model *model,
                                su_error *err)
{
    const su_basis none = {.m = 1, .n = tet->n, .mode_region = (int32_t[]){0}};
    const su_rig_space rig = su_rig_of_fit(fit);
    int64_t c = tet->t, m = fit->m, k = skinning->k;
    su_file *file = &model->file;
    SU_TRY(copy_mesh(tet, poses, model, err));
    SU_TRY(copy_poses(&rig, fit, &none, model, err));
    model->r = 12 * k, model->k = k, model->d = 1, model->d1 = 2, model->c = c, model->bases = 0;
    SU_TRY(SU_FILE_ALLOC_ALL(file, err, SU_WANT(model->mode_region, model->r), SU_WANT(model->region_vertices, 0),
                             SU_WANT(model->basis_blocks, 0), SU_WANT(model->region_vertex_offsets, model->d1),
                             SU_WANT(model->basis_block_offsets, model->d1), SU_WANT(model->inertia_vertices, 0),
                             SU_WANT(model->inertia_weights, 0), SU_WANT(model->cubature_tets, c),
                             SU_WANT(model->cubature_weights, m * c)));
    for (int64_t e = 0; e < c; e++) model->cubature_tets[e] = (int32_t)e;
    for (int64_t i = 0; i < m * c; i++) model->cubature_weights[i] = 1;
    COPY(&model->young, m * c, fit->young);
    for (int64_t i = 0; i < m * c; i++) model->young[i] *= stiffness;
    COPY(&model->poisson, m * c, fit->poisson);
    COPY(&model->skinning_weights, tet->n * k, skinning->weights);
    COPY(&model->cluster, c, cluster);
    return SU_OK;
}

su_status su_model_of_skinning(const su_tet *tet, const su_poses *poses, const su_fit *fit, const su_skinning *skinning,
                               const int32_t *cluster, double stiffness, su_model *model, su_error *err)
{
    *model = (su_model){0};
    return finish(build_skinning(tet, poses, fit, skinning, cluster, stiffness, model, err), model);
}

su_status su_model_build(const su_pose_space *space, const su_poses *poses, const su_cubature *cubature,
                         su_model *model, su_error *err)
{
    *model = (su_model){0};
    return finish(
        build(space->tet, poses, space->fit, &space->rig, space->basis, &space->elastic, cubature, model, err), model);
}
