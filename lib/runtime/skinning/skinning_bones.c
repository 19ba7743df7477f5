#include "runtime/skinning/skinning_bones.h"

#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "runtime/kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

void su_skinning_bones_free(su_skinning_bones *of)
{
    su_arena_free(&of->arena);
    *of = (su_skinning_bones){0};
}

/* What a flesh vertex is of each bone: x_v = sum over bones of M_b j, by the skin that it is tied to; and what the ties
 * leave of the vertex at the neutral pose, which stays where it is (rig/rest_shape.h). */
static void vertex_rows(const su_skinning_bones *of, const float *weights, const double *skin, int64_t v, double *j)
{
    const su_model *source = of->model->source;
    memset(j, 0, (size_t)of->rows * sizeof *j);
    double left[3];
    for (int c = 0; c < 3; c++) left[c] = source->vertices[3 * v + c];
    for (int64_t k = 0; k < source->ties; k++) {
        int64_t s = source->shepard_index[source->ties * v + k];
        double weight = source->shepard_weight[source->ties * v + k];
        for (int64_t b = 0; b < of->bones; b++) {
            double share = weight * (double)weights[s * of->bones + b];
            if (share == 0) continue;
            for (int c = 0; c < 3; c++) j[4 * b + c] += share * skin[3 * s + c];
            j[4 * b + 3] += share;
        }
        for (int c = 0; c < 3; c++) left[c] -= weight * source->neutral[3 * s + c];
    }
    for (int c = 0; c < 3; c++) j[4 * of->bones + c] = left[c]; /* of the bone that stands still */
}

/* What the rig's strain within clusters pulls with: of all tets (pull, of vertices) less that of the clusters' means.
 */
static void take_strain(su_skinning_bones *of, const double *phi, const double *pull, const double *mean)
{
    const su_skinning_model *m = of->model;
    for (int64_t v = 0; v < m->source->n; v++)
        for (int64_t k = 0; k < of->rows; k++)
            for (int64_t a = 0; a < m->K && pull[v * of->rows + k] != 0; a++)
                of->strain[k * m->stride + a] += pull[v * of->rows + k] * phi[v * m->stride + a];
    for (int64_t c = 0; c < m->clusters; c++)
        for (int64_t a = 0; a < m->K; a++) {
            const float *A = m->A + (c / 8 * m->K + a) * SU_CLUSTER_ROWS + c % 8;
            for (int64_t k = 0; k < of->rows; k++)
                for (int d = 0; d < 3; d++)
                    of->strain[k * m->stride + a] -=
                        2 * m->vmu[c] * (double)A[8 * d] * mean[(c * of->rows + k) * 3 + d];
        }
}

su_status su_skinning_bones_create(const su_skinning_model *model, const su_sim_settings *settings, int64_t bones,
                                   const float *weights, const double *skin, su_skinning_bones *out, su_error *err)
{
    su_status status;
    const su_model *source = model->source;
    int64_t n = source->n, rows = 4 * (bones + 1), stride = (rows + 7) / 8 * 8, K = model->stride;
    double *J = NULL, *phi = NULL, *row = NULL, *pull = NULL, *mean = NULL;
    *out = (su_skinning_bones){.model = model, .bones = bones, .rows = rows, .stride = stride};
    const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    su_gravity gravity = su_sim_gravity(settings, still);
    memcpy(out->gravity, gravity.carried, sizeof out->gravity);
    out->A = su_arena_alloc(&out->arena, SU_CLUSTER_ROWS * model->panels * rows, sizeof *out->A);
    out->rig = su_arena_alloc(&out->arena, rows * K, sizeof *out->rig);
    out->carried = su_arena_alloc(&out->arena, model->clusters * K, sizeof *out->carried);
    out->mass = su_arena_alloc(&out->arena, rows * rows, sizeof *out->mass);
    if (model->neutral_rest) out->strain = su_arena_alloc(&out->arena, rows * K, sizeof *out->strain);
    if (out->arena.failed) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the bones");
        goto done;
    }
    SU_GO(SU_ALLOC(&J, n * rows, "bones", err));
    SU_GO(SU_ALLOC(&phi, n * K, "bones", err));
    SU_GO(SU_ALLOC(&row, model->rows, "bones", err));
    SU_GO(SU_ALLOC(&pull, n * rows, "bones", err));
    SU_GO(SU_ALLOC(&mean, 3 * rows * model->clusters, "bones", err));
    for (int64_t v = 0; v < n; v++) {
        vertex_rows(out, weights, skin, v, J + v * rows);
        su_skinning_row(source, &model->frame, v, row);
        su_skinning_transform(model, 1, row, phi + v * K);
        for (int64_t k = 0; k < rows; k++) {
            double share = model->vertex_mass[v] * J[v * rows + k];
            if (share == 0) continue;
            for (int64_t a = 0; a < model->K; a++) out->rig[k * K + a] += share * phi[v * K + a];
            for (int64_t b = 0; b < rows; b++) out->mass[k * rows + b] += share * J[v * rows + b];
        }
    }
    for (int64_t i = 0; i < source->c; i++) {
        int64_t e = source->cubature_tets[i], c = source->cluster[i];
        const int32_t *tet = source->tets + 4 * e;
        const double *b = model->tet_gradient + 12 * e;
        double vmu = model->tet_vmu[e], mass = source->density[e] * su_tet_volume(source->vertices, tet);
        for (int64_t k = 0; k < rows; k++) {
            double g[3] = {0, 0, 0};
            for (int q = 0; q < 4; q++)
                for (int d = 0; d < 3; d++) g[d] += J[(int64_t)tet[q] * rows + k] * b[3 * q + d];
            for (int d = 0; d < 3; d++) mean[(c * rows + k) * 3 + d] += vmu / model->vmu[c] * g[d];
            for (int q = 0; q < 4; q++) pull[(int64_t)tet[q] * rows + k] += 2 * vmu * su_dot3(g, b + 3 * q);
        }
        for (int q = 0; q < 4; q++)
            for (int64_t a = 0; a < model->K; a++)
                out->carried[c * K + a] += 0.25 * mass * phi[(int64_t)tet[q] * K + a];
    }
    for (int64_t c = 0; c < model->clusters; c++)
        for (int64_t k = 0; k < 3 * rows; k++)
            out->A[((c / 8 * rows + k / 3) * 3 + k % 3) * 8 + c % 8] = (float)mean[c * 3 * rows + k];
    if (out->strain) take_strain(out, phi, pull, mean);
    status = SU_OK;
done:
    free(J), free(phi), free(row), free(pull), free(mean);
    if (status != SU_OK) su_skinning_bones_free(out);
    return status;
}

/* out (3,stride) = sum over the bones' entries Z (3,stride of bones) times rows of M (rows,stride). */
static void combine(const su_skinning_bones *of, const double *Z, const double *M, double *out)
{
    int64_t K = of->model->stride;
    memset(out, 0, (size_t)(3 * K) * sizeof *out);
    for (int64_t k = 0; k < of->rows; k++)
        for (int i = 0; i < 3; i++) {
            double z = Z[i * of->stride + k];
            for (int64_t a = 0; a < K; a++) out[i * K + a] += z * M[k * K + a];
        }
}

double su_skinning_bones_energy(const su_skinning_bones *of, const double *speed)
{
    double twice = 0;
    for (int i = 0; i < 3; i++)
        for (int64_t a = 0; a < of->rows; a++) {
            double sum = 0;
            for (int64_t b = 0; b < of->rows; b++)
                sum += of->mass[a * of->rows + b] * speed[12 * (b / 4) + 4 * i + b % 4];
            twice += sum * speed[12 * (a / 4) + 4 * i + a % 4];
        }
    return twice / 2;
}

void su_skinning_bones_pose(const su_skinning_bones *of, const double *bones, const double Q[9], const double c[3],
                            double *room, su_skinning_instant *out)
{
    const su_skinning_model *m = of->model;
    memset(room, 0, (size_t)(3 * of->stride) * sizeof *room);
    for (int64_t b = 0; b < of->bones; b++)
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 4; k++) room[i * of->stride + 4 * b + k] = bones[12 * b + 4 * i + k];
    for (int i = 0; i < 3; i++) room[i * of->stride + 4 * of->bones + i] = 1;
    m->kernels->gradients(m->panels, of->rows, of->stride, of->A, room, NULL, out->N);
    for (int64_t pad = m->clusters; pad < 8 * m->panels; pad++)
        for (int a = 0; a < 9; a++) out->N[su_strain_at(pad) + 8 * a] = a % 4 == 0;
    combine(of, room, of->rig, out->rig);
    su_skinning_instant_finish(m, out);
    if (of->strain) combine(of, room, of->strain, out->strain);
    memcpy(out->Q, Q, sizeof out->Q);
    memcpy(out->c, c, sizeof out->c);
    memset(out->carried, 0, (size_t)(3 * m->stride) * sizeof *out->carried);
    if (su_norm3(of->gravity) == 0) return;
    for (int64_t k = 0; k < m->clusters; k++) {
        double turned[3] = {0, 0, 0};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) turned[i] += out->turn[su_strain_at(k) + 8 * (3 * i + j)] * of->gravity[j];
        for (int i = 0; i < 3; i++)
            for (int64_t a = 0; a < m->stride; a++)
                out->carried[i * m->stride + a] += turned[i] * of->carried[k * m->stride + a];
    }
}
