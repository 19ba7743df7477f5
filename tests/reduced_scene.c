#include "reduced_scene.h"

#include "core/memory.h"
#include "fem/elastic.h"
#include "geometry/rotation_field.h"
#include "geometry/tetmesh.h"
#include "reduce/align/align.h"
#include "rig/rbf_train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(reduced_scene *r, int64_t count, size_t size)
{
    void *p = su_arena_alloc(&r->arena, count, size);
    if (!p) abort();
    return p;
}
#define TAKE(r, pointer, count) ((pointer) = take(r, count, sizeof *(pointer)))

static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

static int region_of_mode(int k, int r, int regions) { return regions == 1 ? 0 : k >= r / 2; }

/* Does a region reach a vertex? Halves that overlap in the middle; held vertices belong to none. */
static bool reaches(const reduced_scene *out, int region, int regions, int64_t v)
{
    const scene *s = out->scene;
    for (int64_t k = 0; k < s->tet.fixed_count; k++)
        if (s->tet.fixed[k] == v) return false;
    if (regions == 1) return true;
    double x = s->tet.vertices[3 * v] / s->mesh.length;
    return region == 0 ? x < 0.7 : x > 0.4;
}

static void make_basis(reduced_scene *out, const reduced_options *options)
{
    su_model *model = &out->model;
    int64_t bases = model->bases, r = model->r, n = model->n;
    uint64_t state = 7;
    TAKE(out, out->basis, bases * r * n * 3);
    /* free degrees of freedom in order, for the basis that spans everything */
    int64_t *dofs = calloc((size_t)(3 * n), sizeof *dofs), free_dofs = 0;
    if (!dofs) abort();
    for (int64_t v = 0; v < n; v++)
        for (int c = 0; c < 3; c++)
            if (reaches(out, 0, 1, v)) dofs[free_dofs++] = 3 * v + c;
    for (int64_t k = 0; k < r; k++) {
        double wave[9], phase[9];
        for (int i = 0; i < 9; i++) wave[i] = 5 * noise(&state), phase[i] = 6 * noise(&state);
        for (int64_t i = 0; i < bases; i++) {
            double *u = out->basis + (i * r + k) * n * 3;
            for (int64_t v = 0; v < n; v++) {
                if (!reaches(out, model->mode_region[k], options->regions, v)) continue;
                const double *x = model->vertices + 3 * v;
                for (int c = 0; c < 3; c++)
                    u[3 * v + c] = (options->r ? x[0] : 0.1 * x[0]) *
                                   sin(wave[3 * c] * x[0] + 3 * wave[3 * c + 1] * x[1] + 3 * wave[3 * c + 2] * x[2] +
                                       phase[3 * c] + 0.3 * (double)i);
            }
            if (!options->r) u[dofs[k]] += 1;
            double size = 0;
            for (int64_t j = 0; j < 3 * n; j++) size += out->mass[j / 3] * u[j] * u[j];
            for (int64_t j = 0; j < 3 * n; j++) u[j] = (double)(float)(u[j] / sqrt(size));
        }
    }
    free(dofs);
}

static void make_blocks(reduced_scene *out, const reduced_options *options)
{
    su_model *model = &out->model;
    int64_t bases = model->bases, r = model->r, n = model->n, d = options->regions;
    model->d = d, model->d1 = d + 1;
    TAKE(out, model->region_vertices, d * n);
    TAKE(out, model->region_vertex_offsets, d + 1);
    TAKE(out, model->basis_blocks, bases * r * n * 3);
    TAKE(out, model->basis_block_offsets, d + 1);
    for (int g = 0; g < d; g++) {
        int32_t *list = model->region_vertices + model->region_vertex_offsets[g];
        int32_t count = 0;
        for (int32_t v = 0; v < n; v++)
            if (reaches(out, g, (int)d, v)) list[count++] = v;
        model->region_vertex_offsets[g + 1] = model->region_vertex_offsets[g] + count;
        float *block = model->basis_blocks + model->basis_block_offsets[g];
        for (int64_t i = 0; i < bases; i++)
            for (int64_t k = 0; k < r; k++)
                if (model->mode_region[k] == g)
                    for (int32_t v = 0; v < count; v++)
                        for (int c = 0; c < 3; c++) *block++ = (float)out->basis[((i * r + k) * n + list[v]) * 3 + c];
        model->basis_block_offsets[g + 1] = block - model->basis_blocks;
    }
    model->region_size = model->region_vertex_offsets[d];
    model->block_size = model->basis_block_offsets[d];
}

/* weights (t): of tets, in place of 1; may be NULL. */
static void make_cubature(reduced_scene *out, int stride, const double *weights)
{
    su_model *model = &out->model;
    const su_fit *fit = &out->scene->fit;
    TAKE(out, model->cubature_tets, model->t);
    TAKE(out, model->inertia_vertices, model->n);
    for (int32_t e = 0; e < model->t; e += stride) model->cubature_tets[model->c++] = e;
    for (int32_t v = 0; v < model->n; v += stride) model->inertia_vertices[model->ci++] = v;
    TAKE(out, model->cubature_weights, model->m * model->c);
    TAKE(out, model->young, model->m * model->c);
    TAKE(out, model->poisson, model->m * model->c);
    TAKE(out, model->inertia_weights, model->ci);
    for (int64_t i = 0; i < model->m; i++)
        for (int64_t k = 0; k < model->c; k++) {
            model->cubature_weights[i * model->c + k] = stride * (weights ? weights[model->cubature_tets[k]] : 1);
            model->young[i * model->c + k] = fit->young[i * model->t + model->cubature_tets[k]];
            model->poisson[i * model->c + k] = fit->poisson[i * model->t + model->cubature_tets[k]];
        }
    for (int64_t k = 0; k < model->ci; k++) model->inertia_weights[k] = stride;
}

/* stiffness (r,r) += factor U'KU at the neutral pose; weights (t) of the tets, may be NULL. */
static void add_neutral_stiffness(reduced_scene *out, const double *weights, double factor, double *stiffness)
{
    const su_model *model = &out->model;
    const su_fit *fit = &out->scene->fit;
    int64_t r = model->r, n = model->n;
    su_elastic body;
    su_sparse K;
    double *young = calloc((size_t)model->t, sizeof *young);
    if (!young) abort();
    for (int64_t e = 0; e < model->t; e++) young[e] = fit->young[e] * (weights ? weights[e] : 1);
    if (su_elastic_create(&body,
                          &(su_elastic_body){.mesh = {n, model->t, model->vertices, model->tets},
                                             .held_count = model->fixed_count,
                                             .held = model->fixed,
                                             .material = SU_NEOHOOKEAN,
                                             .young = young,
                                             .poisson = fit->poisson,
                                             .density = fit->density},
                          NULL) != SU_OK ||
        su_sparse_clone_pattern(&body.pattern, &K, NULL) != SU_OK)
        abort();
    int64_t size = 3 * body.free_count;
    double *packed = calloc((size_t)(r * size), sizeof *packed), *KU = calloc((size_t)size, sizeof *KU);
    if (!packed || !KU) abort();
    su_elastic_stiffness(&body, model->vertices, false, &K, 1);
    for (int64_t k = 0; k < r; k++)
        for (int64_t a = 0; a < size; a++)
            packed[k * size + a] = out->basis[3 * (k * n + body.free_vertex[a / 3]) + a % 3];
    for (int64_t k = 0; k < r; k++) {
        su_sparse_multiply(&K, packed + k * size, KU);
        for (int64_t j = 0; j < r; j++)
            for (int64_t a = 0; a < size; a++) stiffness[k * r + j] += factor * packed[j * size + a] * KU[a];
    }
    su_sparse_free(&K);
    su_elastic_free(&body);
    free(young), free(packed), free(KU);
}

static void make_gram(reduced_scene *out)
{
    su_model *model = &out->model;
    TAKE(out, model->gram, model->bases * model->bases * model->r * model->r);
    if (su_gram(model->bases, model->r, model->n, out->mass, out->basis, model->gram, 1, NULL) != SU_OK) abort();
}

static void make_sim(reduced_scene *out)
{
    su_sim *sim = &out->sim;
    *sim = (su_sim){.F = out->scene->anim.F, .r = out->model.r, .m = out->model.m};
    TAKE(out, sim->times, sim->F);
    TAKE(out, sim->q, sim->F * sim->r);
    TAKE(out, sim->qdot, sim->F * sim->r);
    TAKE(out, sim->weights, sim->F * sim->m);
    TAKE(out, sim->basis_weights, sim->F * sim->m);
    TAKE(out, sim->energy, sim->F * 3);
    TAKE(out, sim->iterations, sim->F);
    TAKE(out, sim->status, sim->F);
}

void reduced_create(reduced_scene *out, scene *s, const reduced_options *options)
{
    const su_tet *tet = &s->tet;
    const su_fit *fit = &s->fit;
    *out = (reduced_scene){.scene = s};
    su_model *model = &out->model;
    int r = options->r ? options->r : (int)(3 * (tet->n - tet->fixed_count));
    *model = (su_model){.m = fit->m,
                        .r = r,
                        .n = tet->n,
                        .t = tet->t,
                        .nbar = tet->nbar,
                        .s = 1,
                        .fixed_count = tet->fixed_count,
                        .vertices = tet->vertices,
                        .tets = tet->tets,
                        .fixed = tet->fixed,
                        .neutral = tet->vertices,
                        .embed_tet = tet->embed_tet,
                        .embed_bary = tet->embed_bary,
                        .ties = tet->ties,
                        .shepard_index = tet->shepard_index,
                        .shepard_weight = tet->shepard_weight,
                        .params = fit->params,
                        .param_scale = fit->param_scale,
                        .rbf = fit->rbf,
                        .corrections = fit->corrections,
                        .density = fit->density,
                        .bases = options->one ? 1 : fit->m,
                        .n1 = fit->n1,
                        .z = fit->z,
                        .turn_start = fit->turn_start,
                        .turn_node = fit->turn_node,
                        .turn_weight = fit->turn_weight};
    model->file.meta = json_object();
    TAKE(out, model->mode_region, r);
    for (int k = 0; k < r; k++) model->mode_region[k] = region_of_mode(k, r, options->regions);
    TAKE(out, out->mass, model->n);
    su_lumped_mass(model->n, model->vertices, model->t, model->tets, model->density, out->mass);
    TAKE(out, out->rotations, model->m * model->n * 4);
    su_rotation_field *field;
    const su_smoothing smoothing = su_fit_smoothing(fit);
    if (su_rotation_field_create(&(su_tet_mesh){model->n, model->t, model->vertices, model->tets}, &smoothing, 0, NULL,
                                 &field, NULL) != SU_OK)
        abort();
    for (int64_t i = 0; i < model->m; i++)
        su_rotation_field_evaluate(field, fit->shapes + 3 * i * model->n, out->rotations + 4 * i * model->n, 1);
    su_rotation_field_free(field);
    if (!options->one) model->rotations = out->rotations;
    if (model->bases > 2) {
        TAKE(out, model->basis_rbf, model->m * (model->m + 2));
        if (su_basis_rbf_train(model->m, 1, model->params, model->param_scale, &model->columns, model->basis_rbf,
                               NULL) != SU_OK)
            abort();
    }
    make_basis(out, options);
    make_blocks(out, options);
    /* Tets that are not the flesh: from 0.6 to 1.05 of what they should weigh, so that D has something to make good, of
     * either sign but no more negative than cubature makes it: D >= -0.05 U'KU. */
    if (options->lacking) {
        TAKE(out, out->tet_weights, model->t);
        for (int64_t e = 0; e < model->t; e++) out->tet_weights[e] = 0.6 + 0.45 * fmod(0.618034 * (double)e, 1);
        TAKE(out, model->linear_stiffness, r * r);
        add_neutral_stiffness(out, NULL, 1, model->linear_stiffness);
        add_neutral_stiffness(out, out->tet_weights, -1, model->linear_stiffness);
    }
    make_cubature(out, options->stride, out->tet_weights);
    if (!options->no_gram) make_gram(out);
    make_sim(out);
    su_error err = {0};
    if (su_runtime_model_create(model, options->interpolation, 0, NULL, &out->runtime, &err) != SU_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

void reduced_free(reduced_scene *r)
{
    su_runtime_model_free(&r->runtime);
    json_decref(r->model.file.meta);
    su_arena_free(&r->arena);
    *r = (reduced_scene){0};
}

su_status reduced_run(reduced_scene *r, const su_sim_settings *settings, su_step_settings step, int threads,
                      su_shot_counts *counts)
{
    su_sim_settings resolved = *settings;
    su_simulation *simulation;
    su_error err = {0};
    su_status status = su_sim_settings_resolve(&resolved, 4.0, r->scene->anim.F, r->scene->anim.times, 0.0, &err);
    if (status != SU_OK) return status;
    step.alpha = resolved.alpha, step.beta = resolved.beta, step.stiffness = resolved.stiffness;
    status = su_simulation_create(&r->runtime, &r->model, r->scene->shot, &resolved, &step, threads, &simulation, &err);
    if (status != SU_OK) return status;
    status = su_simulation_run(simulation, r->sim.F, &r->sim, NULL, &err);
    if (status != SU_OK) fprintf(stderr, "%s\n", err.text);
    if (counts) *counts = *su_simulation_counts(simulation);
    su_simulation_free(simulation);
    return status;
}
