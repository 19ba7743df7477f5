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

su_status su_pose_create(const su_runtime_model *model, su_pose *pose, su_error *err)
{
    memset(pose, 0, sizeof *pose);
    su_arena *arena = &pose->arena;
    if (!(pose->w = take(arena, model->m, err)) || !(pose->b = take(arena, model->m, err)) ||
        !(pose->positive = take(arena, model->m, err)) || !(pose->scale = take(arena, model->r_padded, err)) ||
        !(pose->x = take(arena, 3 * model->patch.vertex_count, err)) ||
        !(pose->rotation = take(arena, 9 * model->chosen, err)) ||
        !(pose->rows = take(arena, model->row_entries, err)) || !(pose->B = take(arena, model->B_entries, err)) ||
        !(pose->gradient = take(arena, 12 * model->tets, err)) || !(pose->volume = take(arena, model->tets, err)) ||
        !(pose->mu = take(arena, model->tets, err)) || !(pose->lambda = take(arena, model->tets, err)) ||
        !(pose->turn = take(arena, 9 * model->inertia, err)) ||
        !(pose->world = take(arena, 3 * model->inertia, err)) ||
        !(pose->gram = take(arena, model->r * model->r, err)) ||
        !(pose->scratch = take(arena, 4 * model->chosen + model->basis.factor * model->r, err))) {
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

static void blend_weights(const su_runtime_model *model, const double *p, su_pose *pose)
{
    su_rbf_weights(model->m, model->s, model->params, model->param_scale, model->rbf, p, pose->w);
    su_positive_weights(model->m, pose->w, pose->positive);
    if (model->basis.interpolation == SU_LINEAR)
        memcpy(pose->b, pose->w, (size_t)model->m * sizeof *pose->b);
    else
        su_basis_weights(model->m, model->s, model->params, model->param_scale, model->basis_rbf_columns,
                         model->basis_rbf, p, pose->w, pose->b);
    su_reduced_basis_scale(&model->basis, pose->b, pose->scale);
}

static void turn_points(const su_runtime_model *model, const su_pose_input *input, su_pose *pose)
{
    double *quaternions = pose->scratch;
    bool corotated = model->basis.interpolation == SU_COROTATED;
    su_rest_patch_evaluate(&model->patch, input->skin, pose->w, pose->x, corotated ? quaternions : NULL);
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int64_t k = 0; k < model->chosen; k++) {
        if (corotated) su_quaternion_matrix(quaternions + 4 * k, pose->rotation + 9 * k);
        else memcpy(pose->rotation + 9 * k, one, sizeof one);
    }
    for (int64_t s = 0; s < model->inertia; s++) {
        int64_t k = model->inertia_point[s];
        su_mul33(pose->Q, pose->rotation + 9 * k, pose->turn + 9 * s);
        su_mulv3(pose->Q, pose->x + 3 * k, pose->world + 3 * s);
        for (int c = 0; c < 3; c++) pose->world[3 * s + c] += pose->c[c];
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
                for (int64_t j = 0; j < size; j++) rows[j] += pose->b[i] * (double)source[j];
            for (int c = 0; c < 3; c++)
                for (int64_t j = 0; j < panel->columns; j++)
                    rows[c * panel->stride + j] *= pose->scale[panel->modes[j]];
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
static void shape_tet(const su_runtime_model *model, int64_t k, su_pose *pose)
{
    double inverse[9] = {0}, volume, *g = pose->gradient + 12 * k;
    pose->collapsed += rest_of_tet(model, k, pose->x, inverse, &volume);
    for (int b = 0; b < 3; b++) {
        g[b] = 0;
        for (int c = 0; c < 3; c++) {
            g[3 * (c + 1) + b] = inverse[3 * c + b];
            g[b] -= inverse[3 * c + b];
        }
    }
    double weight = 0, young = 0, poisson = 0;
    for (int64_t i = 0; i < model->m; i++) {
        weight += pose->positive[i] * model->tet_weight[i * model->tets + k];
        young += pose->positive[i] * model->young[i * model->tets + k];
        poisson += pose->positive[i] * model->poisson[i * model->tets + k];
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
        const double *rows = rows_of_point(model, pose, point, &own), *R = pose->rotation + 9 * point;
        const double *g = pose->gradient + 12 * k + 3 * c;
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

/* U' M U = Y sum_ij b_i b_j U^_i' M U^_j Y, or with a common factor S_i: (sum b_i S_i Y)' (sum b_i S_i Y). */
static void blend_gram(const su_runtime_model *model, su_pose *pose)
{
    const su_reduced_basis *basis = &model->basis;
    int64_t m = basis->m, r = basis->r;
    double *gram = pose->gram;
    memset(gram, 0, (size_t)(r * r) * sizeof *gram);
    if (basis->gram) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m; j++) {
                double bb = pose->b[i] * pose->b[j];
                if (bb == 0.0) continue;
                const double *source = basis->gram + (i * m + j) * r * r;
                for (int64_t k = 0; k < r * r; k++) gram[k] += bb * source[k];
            }
        for (int64_t a = 0; a < r; a++)
            for (int64_t k = 0; k < r; k++) gram[a * r + k] *= pose->scale[a] * pose->scale[k];
        return;
    }
    double *S = pose->scratch;
    memset(S, 0, (size_t)(basis->factor * r) * sizeof *S);
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < basis->factor * r; k++) S[k] += pose->b[i] * basis->gram_factor[i * basis->factor * r + k];
    for (int64_t row = 0; row < basis->factor; row++) {
        double *s = S + row * r;
        for (int64_t k = 0; k < r; k++) s[k] *= pose->scale[k];
        for (int64_t a = 0; a < r; a++)
            for (int64_t k = 0; k < r; k++) gram[a * r + k] += s[a] * s[k];
    }
}

void su_pose_evaluate(const su_runtime_model *model, const su_pose_input *input, su_pose *pose)
{
    memcpy(pose->Q, input->Q, sizeof pose->Q);
    memcpy(pose->c, input->c, sizeof pose->c);
    pose->collapsed = 0;
    blend_weights(model, input->p, pose);
    turn_points(model, input, pose);
    blend_rows(model, pose);
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        for (int64_t k = panel->first; k < panel->first + panel->count; k++) {
            shape_tet(model, k, pose);
            build_B(model, panel, k, pose);
        }
    }
    blend_gram(model, pose);
}

void su_gram_apply(const su_reduced_basis *basis, const double *b_left, const double *scale_left,
                   const double *b_right, const double *scale_right, const double *q, double *scratch, double *out)
{
    int64_t m = basis->m, r = basis->r;
    double *turned = scratch, *s = scratch + r;
    for (int64_t k = 0; k < r; k++) {
        turned[k] = scale_right[k] * q[k];
        out[k] = 0;
    }
    if (basis->gram) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m; j++) {
                double bb = b_left[i] * b_right[j];
                if (bb == 0.0) continue;
                const double *gram = basis->gram + (i * m + j) * r * r;
                for (int64_t a = 0; a < r; a++) {
                    double sum = 0;
                    for (int64_t k = 0; k < r; k++) sum += gram[a * r + k] * turned[k];
                    out[a] += bb * sum;
                }
            }
    } else {
        for (int64_t row = 0; row < basis->factor; row++) s[row] = 0;
        for (int64_t j = 0; j < m; j++)
            for (int64_t row = 0; row < basis->factor; row++) {
                const double *S = basis->gram_factor + (j * basis->factor + row) * r;
                double sum = 0;
                for (int64_t k = 0; k < r; k++) sum += S[k] * turned[k];
                s[row] += b_right[j] * sum;
            }
        for (int64_t i = 0; i < m; i++)
            for (int64_t row = 0; row < basis->factor; row++) {
                const double *S = basis->gram_factor + (i * basis->factor + row) * r;
                for (int64_t k = 0; k < r; k++) out[k] += b_left[i] * s[row] * S[k];
            }
    }
    for (int64_t k = 0; k < r; k++) out[k] *= scale_left[k];
}
