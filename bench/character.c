#include "character.h"

#include "geometry/rotation_field.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "reduce/align/align.h"
#include "reduce/modes/regions.h"
#include "rig/rbf_train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(character *c, int64_t count, size_t size)
{
    void *p = su_arena_alloc(&c->arena, count, size);
    if (!p) abort();
    return p;
}
#define TAKE(c, pointer, count) ((pointer) = take(c, count, sizeof *(pointer)))

static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

static const double half_axes[3] = {1.0, 0.45, 0.35};

/* The cube [-1,1]^3 onto the ball, shell by shell, then stretched. */
static void cube_to_ellipsoid(double x[3])
{
    double square = fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2]))), round = sqrt(su_dot3(x, x));
    for (int c = 0; c < 3; c++) x[c] *= (round > 0 ? 0.25 + 0.75 * square / round : 1) * half_axes[c];
}

/* Angle in the x-y plane that grows along x, and a twist about x. */
static void deform(const double in[3], double bend, double twist, double out[3])
{
    double x = in[0], c = cos(twist * x), s = sin(twist * x), y = c * in[1] - s * in[2], z = s * in[1] + c * in[2];
    if (fabs(bend) < 1e-9) {
        out[0] = x, out[1] = y, out[2] = z;
        return;
    }
    double radius = 1 / bend;
    out[0] = sin(bend * x) * (radius - y);
    out[1] = radius - cos(bend * x) * (radius - y);
    out[2] = z;
}

static void make_mesh(character *c)
{
    static const int paths[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int k = c->sizes.cells, step[3] = {(k + 1) * (k + 1), k + 1, 1};
    su_tet *tet = &c->tet;
    tet->n = (int64_t)(k + 1) * (k + 1) * (k + 1), tet->t = 6LL * k * k * k;
    TAKE(c, tet->vertices, 3 * tet->n);
    TAKE(c, tet->tets, 4 * tet->t);
    TAKE(c, tet->fixed, tet->n);
    double *x = tet->vertices;
    for (int a = 0; a <= k; a++)
        for (int b = 0; b <= k; b++)
            for (int d = 0; d <= k; d++, x += 3) {
                x[0] = 2.0 * a / k - 1, x[1] = 2.0 * b / k - 1, x[2] = 2.0 * d / k - 1;
                if (fabs(x[0]) < 0.8 && fabs(x[1]) < 0.2 && fabs(x[2]) < 0.2) /* a bone along the axis */
                    tet->fixed[tet->fixed_count++] = (int32_t)((x - tet->vertices) / 3);
                cube_to_ellipsoid(x);
            }
    int32_t *t = tet->tets;
    for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++)
            for (int d = 0; d < k; d++)
                for (int p = 0; p < 6; p++, t += 4) {
                    t[0] = a * step[0] + b * step[1] + d * step[2];
                    for (int i = 0; i < 3; i++) t[i + 1] = t[i] + step[paths[p][i]];
                    double edges[9];
                    su_tet_edges(tet->vertices + 3 * t[0], tet->vertices + 3 * t[1], tet->vertices + 3 * t[2],
                                 tet->vertices + 3 * t[3], edges);
                    if (su_det3(edges) < 0) {
                        int32_t swap = t[2];
                        t[2] = t[3], t[3] = swap;
                    }
                }
}

/* Skin points all over the ellipsoid; each flesh vertex takes its four nearest. */
static void make_skin(character *c, double *neutral)
{
    su_tet *tet = &c->tet;
    int64_t nbar = tet->nbar = c->sizes.skin;
    for (int64_t i = 0; i < nbar; i++) {
        double z = 1 - 2 * (i + 0.5) / nbar, angle = 2.399963229728653 * (double)i, ring = sqrt(1 - z * z);
        double unit[3] = {z, ring * cos(angle), ring * sin(angle)};
        for (int k = 0; k < 3; k++) neutral[3 * i + k] = 0.98 * unit[k] * half_axes[k];
    }
    tet->ties = 4;
    TAKE(c, tet->shepard_index, 4 * tet->n);
    TAKE(c, tet->shepard_weight, 4 * tet->n);
    TAKE(c, tet->embed_tet, nbar);
    TAKE(c, tet->embed_bary, 4 * nbar);
    int32_t *a_tet = take(c, tet->n, sizeof *a_tet);
    for (int64_t e = 0; e < 4 * tet->t; e++) a_tet[tet->tets[e]] = (int32_t)(e / 4);
    double *nearest = take(c, nbar, sizeof *nearest);
    for (int64_t i = 0; i < nbar; i++) nearest[i] = INFINITY;
    for (int64_t v = 0; v < tet->n; v++) {
        double best[4] = {INFINITY, INFINITY, INFINITY, INFINITY}, sum = 0;
        int32_t *index = tet->shepard_index + 4 * v;
        for (int64_t i = 0; i < nbar; i++) {
            double d = su_distance3(tet->vertices + 3 * v, neutral + 3 * i);
            if (d < nearest[i]) nearest[i] = d, tet->embed_tet[i] = a_tet[v];
            if (d >= best[3]) continue;
            int at = 3;
            for (; at > 0 && best[at - 1] > d; at--) best[at] = best[at - 1], index[at] = index[at - 1];
            best[at] = d, index[at] = (int32_t)i;
        }
        for (int k = 0; k < 4; k++) sum += 1 / (best[k] + 1e-9);
        for (int k = 0; k < 4; k++) tet->shepard_weight[4 * v + k] = 1 / (best[k] + 1e-9) / sum;
    }
    for (int64_t i = 0; i < 4 * nbar; i++) tet->embed_bary[i] = 0.25;
}

/* Poses on a grid of bend and twist. */
static void pose_of(int i, int m, double p[2])
{
    int side = (int)ceil(sqrt((double)m));
    p[0] = i == 0 ? 0 : 0.9 * (i % side) / (side > 1 ? side - 1 : 1);
    p[1] = i == 0 ? 0 : 0.6 * (i / side) / (side > 1 ? side - 1 : 1);
}

static void make_fit(character *c, const double *neutral)
{
    su_fit *fit = &c->fit;
    su_tet *tet = &c->tet;
    int64_t m = c->sizes.m, n = tet->n, t = tet->t;
    *fit = (su_fit){.k = m, .m = m, .n = n, .t = t, .s = 2};
    TAKE(c, fit->pose, m);
    TAKE(c, fit->shapes, 3 * m * n);
    TAKE(c, fit->corrections, 3 * m * n);
    TAKE(c, fit->params, 2 * m);
    TAKE(c, fit->param_scale, 2);
    TAKE(c, fit->rbf, m * m);
    TAKE(c, fit->young, m * t);
    TAKE(c, fit->poisson, m * t);
    TAKE(c, fit->density, t);
    fit->param_scale[0] = fit->param_scale[1] = 1;
    for (int64_t e = 0; e < t; e++) fit->density[e] = 1000;
    for (int64_t e = 0; e < m * t; e++) fit->young[e] = 4e5 * (1 + 0.1 * (double)(e / t)), fit->poisson[e] = 0.45;
    for (int i = 0; i < m; i++) {
        double *p = fit->params + 2 * i;
        fit->pose[i] = i;
        pose_of(i, (int)m, p);
        for (int64_t v = 0; v < n; v++) {
            double *x = fit->shapes + 3 * (i * n + v), *d = fit->corrections + 3 * (i * n + v);
            deform(tet->vertices + 3 * v, p[0], p[1], x);
            for (int k = 0; k < 3; k++) d[k] = x[k] - tet->vertices[3 * v + k];
            for (int j = 0; j < 4; j++) {
                int64_t s = tet->shepard_index[4 * v + j];
                double there[3];
                deform(neutral + 3 * s, p[0], p[1], there);
                for (int k = 0; k < 3; k++) d[k] -= tet->shepard_weight[4 * v + j] * (there[k] - neutral[3 * s + k]);
            }
        }
    }
    if (su_rbf_train(m, 2, fit->params, fit->param_scale, fit->rbf, NULL) != SU_OK) abort();
}

static bool reaches(const character *c, int g, int64_t v)
{
    double at = (c->tet.vertices[3 * v] / half_axes[0] + 1) / 2 * c->sizes.regions;
    return at > g - 0.17 && at < g + 1.17;
}

static void make_basis(character *c)
{
    su_model *model = &c->model;
    int64_t m = model->m, r = model->r, n = model->n, d = c->sizes.regions;
    uint64_t state = 11;
    TAKE(c, model->mode_region, r);
    int64_t *share = take(c, d, sizeof *share), k0 = 0;
    su_region_shares(r, d, share);
    for (int32_t g = 0; g < d; k0 += share[g++])
        for (int64_t k = k0; k < k0 + share[g]; k++) model->mode_region[k] = g;
    TAKE(c, c->basis, m * r * n * 3);
    bool *held = take(c, n, sizeof *held);
    for (int64_t k = 0; k < c->tet.fixed_count; k++) held[c->tet.fixed[k]] = true;
    for (int64_t k = 0; k < r; k++) {
        double wave[9], phase[9];
        for (int i = 0; i < 9; i++) wave[i] = 6 * noise(&state), phase[i] = 6 * noise(&state);
        for (int64_t i = 0; i < m; i++) {
            double *u = c->basis + (i * r + k) * n * 3, size = 0;
            for (int64_t v = 0; v < n; v++) {
                if (held[v] || !reaches(c, model->mode_region[k], v)) continue;
                const double *x = model->vertices + 3 * v;
                for (int a = 0; a < 3; a++) {
                    u[3 * v + a] = sin(wave[3 * a] * x[0] + wave[3 * a + 1] * x[1] + wave[3 * a + 2] * x[2] +
                                       phase[3 * a] + 0.1 * (double)i);
                    size += c->mass[v] * u[3 * v + a] * u[3 * v + a];
                }
            }
            for (int64_t j = 0; j < 3 * n; j++) u[j] = (double)(float)(u[j] / sqrt(size));
        }
    }
    model->d = d, model->d1 = d + 1;
    TAKE(c, model->region_vertices, d * n);
    TAKE(c, model->region_vertex_offsets, d + 1);
    TAKE(c, model->basis_blocks, m * r * n * 3);
    TAKE(c, model->basis_block_offsets, d + 1);
    for (int g = 0; g < d; g++) {
        int32_t *list = model->region_vertices + model->region_vertex_offsets[g], count = 0;
        for (int32_t v = 0; v < n; v++)
            if (!held[v] && reaches(c, g, v)) list[count++] = v;
        model->region_vertex_offsets[g + 1] = model->region_vertex_offsets[g] + count;
        float *block = model->basis_blocks + model->basis_block_offsets[g];
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < r; k++)
                if (model->mode_region[k] == g)
                    for (int32_t v = 0; v < count; v++)
                        for (int a = 0; a < 3; a++) *block++ = (float)c->basis[((i * r + k) * n + list[v]) * 3 + a];
        model->basis_block_offsets[g + 1] = block - model->basis_blocks;
    }
    model->region_size = model->region_vertex_offsets[d], model->block_size = model->basis_block_offsets[d];
    TAKE(c, model->gram, m * m * r * r);
    if (su_gram(m, r, n, c->mass, c->basis, model->gram, 2, NULL) != SU_OK) abort();
}

static void make_cubature(character *c)
{
    su_model *model = &c->model;
    int64_t m = model->m, t = model->t, n = model->n;
    model->c = c->sizes.tets, model->ci = c->sizes.points;
    TAKE(c, model->cubature_tets, model->c);
    TAKE(c, model->inertia_vertices, model->ci);
    TAKE(c, model->cubature_weights, m * model->c);
    TAKE(c, model->young, m * model->c);
    TAKE(c, model->poisson, m * model->c);
    TAKE(c, model->inertia_weights, model->ci);
    for (int64_t k = 0; k < model->c; k++) {
        int64_t e = (k * 7919 + 13) * t / model->c / 7919 % t;
        model->cubature_tets[k] = (int32_t)e;
        for (int64_t i = 0; i < m; i++) {
            model->cubature_weights[i * model->c + k] = (double)t / (double)model->c * (1 + 0.05 * (double)i);
            model->young[i * model->c + k] = c->fit.young[i * t + e];
            model->poisson[i * model->c + k] = c->fit.poisson[i * t + e];
        }
    }
    bool *held = take(c, n, sizeof *held);
    for (int64_t k = 0; k < c->tet.fixed_count; k++) held[c->tet.fixed[k]] = true;
    for (int64_t k = 0; k < model->ci; k++) {
        int64_t v = k * n / model->ci;
        while (held[v]) v++;
        model->inertia_vertices[k] = (int32_t)v;
        model->inertia_weights[k] = (double)n / (double)model->ci;
    }
}

static void make_anim(character *c, double *neutral)
{
    su_anim *anim = &c->anim;
    int64_t F = c->sizes.frames, nbar = c->tet.nbar;
    *anim = (su_anim){.F = F, .nbar = nbar, .s = 2, .neutral = neutral};
    TAKE(c, anim->points, 3 * F * nbar);
    TAKE(c, anim->root, 16 * F);
    TAKE(c, anim->times, F);
    TAKE(c, anim->params, 2 * F);
    for (int64_t f = 0; f < F; f++) {
        double t = anim->times[f] = (double)f / c->sizes.fps, *root = anim->root + 16 * f, turn = 0.3 * sin(4 * t);
        double bend = anim->params[2 * f] = 0.45 - 0.4 * cos(5 * t),
               twist = anim->params[2 * f + 1] = 0.3 - 0.25 * cos(3 * t);
        root[0] = root[5] = cos(turn), root[1] = -sin(turn), root[4] = sin(turn), root[10] = root[15] = 1;
        root[7] = 0.1 * sin(7 * t);
        for (int64_t v = 0; v < nbar; v++) {
            double x[3];
            deform(neutral + 3 * v, bend, twist, x);
            for (int k = 0; k < 3; k++) anim->points[3 * (f * nbar + v) + k] = (float)x[k];
        }
    }
}

void character_create(character *c, const character_sizes *sizes)
{
    memset(c, 0, sizeof *c);
    c->sizes = *sizes;
    su_model *model = &c->model;
    su_tet *tet = &c->tet;
    double *neutral = take(c, 3 * sizes->skin, sizeof *neutral);
    make_mesh(c);
    make_skin(c, neutral);
    make_fit(c, neutral);
    const su_fit *fit = &c->fit;
    *model = (su_model){.m = sizes->m,
                        .bases = sizes->m,
                        .r = sizes->r,
                        .n = tet->n,
                        .t = tet->t,
                        .nbar = tet->nbar,
                        .s = 2,
                        .fixed_count = tet->fixed_count,
                        .vertices = tet->vertices,
                        .tets = tet->tets,
                        .fixed = tet->fixed,
                        .neutral = neutral,
                        .embed_tet = tet->embed_tet,
                        .embed_bary = tet->embed_bary,
                        .ties = tet->ties,
                        .shepard_index = tet->shepard_index,
                        .shepard_weight = tet->shepard_weight,
                        .params = fit->params,
                        .param_scale = fit->param_scale,
                        .rbf = fit->rbf,
                        .corrections = fit->corrections,
                        .density = fit->density};
    model->file.meta = json_object();
    TAKE(c, c->mass, tet->n);
    su_lumped_mass(tet->n, tet->vertices, tet->t, tet->tets, fit->density, c->mass);
    make_basis(c);
    make_cubature(c);
    if (model->m > 2) {
        TAKE(c, model->basis_rbf, model->m * (model->m + 3));
        if (su_basis_rbf_train(model->m, 2, model->params, model->param_scale, &model->columns, model->basis_rbf,
                               NULL) != SU_OK)
            abort();
    }
    make_anim(c, neutral);
    su_shot_target target = {.rig = su_rig_of_fit(fit), .nbar = tet->nbar, .neutral = neutral};
    su_error err = {0};
    if (su_shot_create(&c->anim, "character", &target, 0, NULL, &c->shot, NULL, &err) != SU_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

void character_free(character *c)
{
    su_shot_free(c->shot);
    json_decref(c->model.file.meta);
    su_arena_free(&c->arena);
    memset(c, 0, sizeof *c);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(int count, double *values, double *spread)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    double median = values[count / 2];
    if (spread) *spread = (values[3 * count / 4] - values[count / 4]) / 2 / median;
    return median;
}
