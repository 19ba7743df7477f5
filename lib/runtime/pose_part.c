#include "runtime/pose_part.h"

#include "fem/material.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "rig/rbf.h"

#include <stdlib.h>
#include <string.h>

static void *take(su_arena *arena, int64_t count, su_error *err)
{
    void *block = su_arena_alloc(arena, count, sizeof(double));
    if (!block) su_fail(err, SU_AGAIN, "not enough memory for the pose part");
    return block;
}

su_status su_blend_create(const su_runtime_model *model, su_blend *blend, su_arena *arena, su_error *err)
{
    blend->serial = 0;
    bool good = (blend->w = take(arena, model->m, err)) && (blend->b = take(arena, model->m, err)) &&
                (blend->positive = take(arena, model->m, err)) && (blend->scale = take(arena, model->lead, err));
    return good ? SU_OK : SU_AGAIN;
}

void su_blend_copy(const su_runtime_model *model, const su_blend *from, su_blend *to)
{
    size_t size = (size_t)model->m * sizeof(double);
    memcpy(to->w, from->w, size);
    memcpy(to->b, from->b, size);
    memcpy(to->positive, from->positive, size);
    memcpy(to->scale, from->scale, (size_t)model->lead * sizeof(double));
    to->serial = from->serial;
}

su_status su_pose_create(const su_runtime_model *model, su_pose *pose, su_error *err)
{
    memset(pose, 0, sizeof *pose);
    su_arena *arena = &pose->arena;
    int64_t chosen = model->chosen_padded, tets = model->tets_padded, inertia = model->inertia_padded;
    if (su_blend_create(model, &pose->blend, arena, err) != SU_OK ||
        !(pose->rotation = take(arena, 9 * chosen, err)) || !(pose->rows = take(arena, model->row_entries, err)) ||
        !(pose->B = take(arena, model->B_entries, err)) || !(pose->gradient = take(arena, 12 * tets, err)) ||
        !(pose->volume = take(arena, tets, err)) || !(pose->mu = take(arena, tets, err)) ||
        !(pose->lambda = take(arena, tets, err)) || !(pose->turn = take(arena, 9 * inertia, err)) ||
        !(pose->world = take(arena, 3 * inertia, err)) || !(pose->gram = take(arena, model->pair_entries, err)) ||
        !(pose->mixed[0] = take(arena, model->pair_entries, err)) ||
        !(pose->mixed[1] = take(arena, model->pair_entries, err))) {
        su_pose_free(pose);
        return SU_AGAIN;
    }
    return SU_OK;
}

void su_pose_free(su_pose *pose)
{
    su_arena_free(&pose->arena);
    memset(pose, 0, sizeof *pose);
}

su_status su_pose_work_create(const su_runtime_model *model, su_pose_work *work, su_error *err)
{
    memset(work, 0, sizeof *work);
    if ((work->x = take(&work->arena, 3 * model->patch.vertex_count, err)) &&
        (work->quaternions = take(&work->arena, 4 * model->chosen, err)))
        return SU_OK;
    su_pose_work_free(work);
    return SU_AGAIN;
}

void su_pose_work_free(su_pose_work *work)
{
    su_arena_free(&work->arena);
    memset(work, 0, sizeof *work);
}

su_status su_pose_input_create(const su_runtime_model *model, su_pose_input *input, su_error *err)
{
    memset(input, 0, sizeof *input);
    su_status status;
    SU_GO(SU_ALLOC(&input->p, model->s, "rig parameters", err));
    SU_GO(SU_ALLOC(&input->skin, 3 * model->patch.skin_count, "skin points", err));
done:
    if (status != SU_OK) su_pose_input_free(input);
    return status;
}

void su_pose_input_free(su_pose_input *input)
{
    free(input->p);
    free(input->skin);
    memset(input, 0, sizeof *input);
}

/* ---- the parts ---- */

void su_blend_evaluate(const su_runtime_model *model, const double *p, int64_t serial, su_blend *blend)
{
    su_rbf_weights(model->m, model->s, model->params, model->param_scale, model->rbf, p, blend->w);
    su_positive_weights(model->m, blend->w, blend->positive);
    if (model->basis.interpolation == SU_LINEAR)
        memcpy(blend->b, blend->w, (size_t)model->m * sizeof *blend->b);
    else
        su_basis_weights(model->m, model->s, model->params, model->param_scale, model->basis_rbf_columns,
                         model->basis_rbf, p, blend->w, blend->b);
    su_reduced_basis_scale(&model->basis, blend->b, blend->scale);
    blend->serial = serial;
}

static void turn_points(const su_runtime_model *model, const su_pose_input *input, su_pose_work *work, su_pose *pose)
{
    bool corotated = model->basis.interpolation == SU_COROTATED;
    int64_t chosen = model->chosen_padded, inertia = model->inertia_padded;
    su_rest_patch_evaluate(&model->patch, input->skin, pose->blend.w, work->x, corotated ? work->quaternions : NULL);
    for (int64_t k = 0; k < model->chosen; k++) {
        double R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        if (corotated) su_quaternion_matrix(work->quaternions + 4 * k, R);
        for (int a = 0; a < 9; a++) pose->rotation[a * chosen + k] = R[a];
    }
    for (int64_t s = 0; s < model->inertia; s++) {
        int64_t k = model->inertia_point[s];
        double R[9], P[9], X[3];
        for (int a = 0; a < 9; a++) R[a] = pose->rotation[a * chosen + k];
        su_mul33(pose->Q, R, P);
        su_mulv3(pose->Q, work->x + 3 * k, X);
        for (int a = 0; a < 9; a++) pose->turn[a * inertia + s] = P[a];
        for (int c = 0; c < 3; c++) pose->world[c * inertia + s] = X[c] + pose->c[c];
    }
}

static void blend_rows(const su_runtime_model *model, su_pose *pose)
{
    for (int64_t p = 0; p < model->point_panels; p++) {
        const su_panel *panel = model->point_panel + p;
        const float *source = model->point_rows + 3 * model->m * panel->offset;
        double *rows = pose->rows + 3 * panel->offset;
        int64_t size = 3 * panel->stride;
        for (int64_t k = 0; k < panel->count; k++, rows += size) {
            memset(rows, 0, (size_t)size * sizeof *rows);
            for (int64_t i = 0; i < model->m; i++, source += size)
                for (int64_t j = 0; j < size; j++) rows[j] += pose->blend.b[i] * (double)source[j];
            for (int c = 0; c < 3; c++)
                for (int64_t j = 0; j < panel->columns; j++)
                    rows[c * panel->stride + j] *= pose->blend.scale[panel->modes[j]];
        }
    }
}

/* Convention 8: where a rest tet has less than this part of its neutral volume, its rest shape is R_e times the neutral
 * one. F = 1 + grad u, so that no force acts at u = 0 there either. */
#define COLLAPSED 0.1

static bool rest_of_tet(const su_runtime_model *model, int64_t k, const double *x, double inverse[9], double *volume)
{
    const int32_t *v = model->corner + 4 * k;
    double edges[9], F[9], R[9];
    su_tet_edges(x + 3 * (int64_t)v[0], x + 3 * (int64_t)v[1], x + 3 * (int64_t)v[2], x + 3 * (int64_t)v[3], edges);
    su_mul33(edges, model->neutral_inverse + 9 * k, F);
    if (su_det3(F) >= COLLAPSED) {
        *volume = su_inverse3(edges, inverse) / 6;
        return false;
    }
    su_nearest_rotation(F, R);
    su_mult33(model->neutral_inverse + 9 * k, R, inverse);   /* (R D)^-1 = D^-1 R' */
    *volume = model->neutral_volume[k];
    return true;
}

/* Shape gradients of a tet's corners, its weighted volume and Lame parameters. */
static void shape_tet(const su_runtime_model *model, int64_t k, const su_pose_work *work, su_pose *pose)
{
    double inverse[9] = {0}, volume, *g = pose->gradient + k;
    int64_t tets = model->tets_padded;
    pose->collapsed += rest_of_tet(model, k, work->x, inverse, &volume);
    for (int b = 0; b < 3; b++) {
        g[b * tets] = -inverse[b] - inverse[3 + b] - inverse[6 + b];
        for (int c = 0; c < 3; c++) g[(3 * (c + 1) + b) * tets] = inverse[3 * c + b];
    }
    double weight = 0, young = 0, poisson = 0;
    for (int64_t i = 0; i < model->m; i++) {
        weight += pose->blend.positive[i] * model->tet_weight[i * model->tets + k];
        young += pose->blend.positive[i] * model->young[i * model->tets + k];
        poisson += pose->blend.positive[i] * model->poisson[i * model->tets + k];
    }
    pose->volume[k] = weight * volume;
    su_lame(young, poisson, pose->mu + k, pose->lambda + k);
}

static const double *rows_of_point(const su_runtime_model *model, const su_pose *pose, int64_t point,
                                   const su_panel **panel)
{
    int64_t low = 0, high = model->point_panels - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (model->point_panel[middle].first <= point) low = middle;
        else high = middle - 1;
    }
    *panel = model->point_panel + low;
    return pose->rows + 3 * ((*panel)->offset + (point - (*panel)->first) * (*panel)->stride);
}

static void build_B(const su_runtime_model *model, const su_panel *panel, int64_t k, su_pose *pose)
{
    int64_t stride = panel->stride;
    double *B = pose->B + 9 * (panel->offset + (k - panel->first) * stride);
    memset(B, 0, (size_t)(9 * stride) * sizeof *B);
    for (int c = 0; c < 4; c++) {
        int64_t point = model->corner[4 * k + c];
        if (point >= model->points) continue;
        const su_panel *own;
        const double *rows = rows_of_point(model, pose, point, &own);
        double R[9], g[3];
        for (int a = 0; a < 9; a++) R[a] = pose->rotation[a * model->chosen_padded + point];
        for (int b = 0; b < 3; b++) g[b] = pose->gradient[(3 * c + b) * model->tets_padded + k];
        for (int64_t at = model->piece_start[4 * k + c]; at < model->piece_start[4 * k + c + 1]; at++) {
            const su_piece *piece = model->pieces + at;
            const double *x = rows + piece->from, *y = x + own->stride, *z = y + own->stride;
            for (int a = 0; a < 3; a++) {
                double *B0 = B + (3 * a) * stride + piece->to, *B1 = B0 + stride, *B2 = B1 + stride;
                for (int64_t j = 0; j < piece->count; j++) {
                    double turned = R[3 * a] * x[j] + R[3 * a + 1] * y[j] + R[3 * a + 2] * z[j];
                    B0[j] += turned * g[0];
                    B1[j] += turned * g[1];
                    B2[j] += turned * g[2];
                }
            }
        }
    }
}

void su_gram_blend(const su_runtime_model *model, const su_blend *left, const su_blend *right, double *blocks)
{
    int64_t m = model->m;
    for (int64_t k = 0; k < model->pairs; k++) {
        const su_gram_pair *pair = model->pair + k;
        int64_t a0 = model->basis.first_mode[pair->left], b0 = model->basis.first_mode[pair->right];
        for (int64_t a = 0; a < pair->rows; a++)
            for (int64_t at = 0; at < pair->stride; at += 8) {
                int64_t entry = pair->offset + a * pair->stride + at;
                const double *source = model->pair_gram + entry * m * m;
                double sum[8] = {0};
                for (int64_t j = 0; j < m; j++) {
                    double inner[8] = {0};
                    for (int64_t i = 0; i < m; i++, source += 8)
                        for (int lane = 0; lane < 8; lane++) inner[lane] += left->b[i] * source[lane];
                    for (int lane = 0; lane < 8; lane++) sum[lane] += right->b[j] * inner[lane];
                }
                for (int lane = 0; lane < 8; lane++)
                    blocks[entry + lane] = sum[lane] * left->scale[a0 + a] * right->scale[b0 + at + lane];
            }
    }
}

void su_gram_times(const su_runtime_model *model, const double *blocks, const double *q, double *padded, double *out)
{
    const int64_t *first = model->basis.first_mode;
    double part[64];
    memset(out, 0, (size_t)model->lead * sizeof *out);
    for (int64_t g = 0; g < model->basis.d; g++)
        for (int64_t k = 0; k < model->region_offset[g + 1] - model->region_offset[g]; k++)
            padded[model->region_offset[g] + k] = first[g] + k < first[g + 1] ? q[first[g] + k] : 0;
    for (int64_t k = 0; k < model->pairs; k++) {
        const su_gram_pair *pair = model->pair + k;
        for (int64_t a = 0; a < pair->rows; a += 64) {
            int64_t rows = pair->rows - a < 64 ? pair->rows - a : 64;
            model->kernels->rows_times(rows, pair->stride, blocks + pair->offset + a * pair->stride,
                                       padded + model->region_offset[pair->right], part);
            for (int64_t i = 0; i < rows; i++) out[first[pair->left] + a + i] += part[i];
        }
    }
}

void su_pose_evaluate(const su_runtime_model *model, const su_pose_input *input, const su_blend *const older[2],
                      su_pose_work *work, su_pose *pose)
{
    memcpy(pose->Q, input->Q, sizeof pose->Q);
    memcpy(pose->c, input->c, sizeof pose->c);
    pose->collapsed = 0;
    turn_points(model, input, work, pose);
    blend_rows(model, pose);
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        for (int64_t k = panel->first; k < panel->first + panel->count; k++) {
            shape_tet(model, k, work, pose);
            build_B(model, panel, k, pose);
        }
    }
    su_gram_blend(model, &pose->blend, &pose->blend, pose->gram);
    for (int k = 0; k < 2; k++) {
        pose->follows[k] = older[k] ? older[k]->serial : 0;
        if (older[k]) su_gram_blend(model, &pose->blend, older[k], pose->mixed[k]);
    }
}
