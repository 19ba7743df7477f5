#include "runtime/skinning/skinning_bones.h"

#include "geometry/mat3.h"
#include "geometry/rotation_field.h"
#include "geometry/rotation_lanes.h"
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

/* Gradients of the smoothing's nodes by the bones' entries, from J (n,rows). */
static void node_rows(su_skinning_bones *of, const su_mean_gradients *g, const double *J)
{
    for (int64_t node = 0; node < of->nodes; node++) {
        float *to = of->node + node / 8 * of->rows * SU_CLUSTER_ROWS + node % 8;
        for (int64_t j = g->start[node]; j < g->start[node + 1]; j++) {
            const double *at = J + (int64_t)g->neighbour[j] * of->rows;
            for (int64_t k = 0; k < of->rows; k++)
                for (int d = 0; d < 3 && at[k] != 0; d++)
                    to[(3 * k + d) * 8] += (float)(at[k] * g->coefficient[3 * j + d]);
        }
    }
}

/* Shares of the clusters in the nodes: of the means over their parts of the smooth gradient. */
static su_status cluster_shares(su_skinning_bones *of, const su_smoothing *smoothing, su_error *err)
{
    const su_skinning_model *m = of->model;
    double *sum = NULL;
    int64_t most = 0, total = 0;
    for (int64_t k = 0; k < m->part_start[m->clusters]; k++)
        most += smoothing->start[m->part_vertex[k] + 1] - smoothing->start[m->part_vertex[k]];
    SU_TRY(SU_TAKE_ALL(&of->arena, "bones", err, SU_WANT(of->share_start, m->clusters + 1),
                       SU_WANT(of->share_node, most), SU_WANT(of->share, most)));

    SU_TRY(SU_ALLOC(&sum, of->nodes, "bones", err));
    for (int64_t c = 0; c < m->clusters; c++) {
        memset(sum, 0, (size_t)of->nodes * sizeof *sum);
        for (int64_t k = m->part_start[c]; k < m->part_start[c + 1]; k++) {
            int64_t v = m->part_vertex[k];
            for (int64_t j = smoothing->start[v]; j < smoothing->start[v + 1]; j++)
                sum[smoothing->node[j]] += smoothing->weight[j] * m->part_share[k];
        }
        for (int64_t node = 0; node < of->nodes; node++)
            if (sum[node] != 0) of->share_node[total] = (int32_t)node, of->share[total++] = sum[node];
        of->share_start[c + 1] = total;
    }
    free(sum);
    return SU_OK;
}

/* What nodes carry: sum over vertices of m phi (n,stride), as they take from the nodes. */
static void carried_by_nodes(su_skinning_bones *of, const su_smoothing *smoothing, const double *phi)
{
    const su_skinning_model *m = of->model;
    int64_t K = m->stride;
    for (int64_t v = 0; v < m->source->n; v++)
        for (int64_t j = smoothing->start[v]; j < smoothing->start[v + 1]; j++)
            for (int64_t a = 0; a < K; a++)
                of->carried[smoothing->node[j] * K + a] += smoothing->weight[j] * m->vertex_mass[v] * phi[v * K + a];
}

/* The same of clusters as nodes: of their tets. */
static void carried_by_clusters(su_skinning_bones *of, const double *phi)
{
    const su_skinning_model *m = of->model;
    const su_model *source = m->source;
    int64_t K = m->stride;
    for (int64_t i = 0; i < source->c; i++) {
        const int32_t *tet = source->tets + 4 * (int64_t)source->cubature_tets[i];
        double mass = source->density[source->cubature_tets[i]] * su_tet_volume(source->vertices, tet);
        for (int q = 0; q < 4; q++)
            for (int64_t a = 0; a < K; a++)
                of->carried[source->cluster[i] * K + a] += 0.25 * mass * phi[(int64_t)tet[q] * K + a];
    }
}

/* What turns: the nodes of the smoothing, and what clusters take of them; without one the clusters themselves, whose
 * gradients A has. */
static su_status take_nodes(su_skinning_bones *of, const double *J, const double *phi, su_error *err)
{
    const su_model *source = of->model->source;
    su_smoothing smoothing = su_model_smoothing(source);
    su_mean_gradients gradients = {0};
    su_status status;
    of->nodes = smoothing.nodes > 0 ? smoothing.nodes : of->model->clusters;
    int64_t panels = su_padded(of->nodes) / SU_LANES;
    of->room += SU_CLUSTER_MATRICES * panels + 2 * 9 * of->nodes;
    SU_TRY(SU_TAKE_ALL(&of->arena, "bones", err, SU_WANT(of->carried, of->nodes * of->model->stride)));
    if (smoothing.nodes == 0) {
        of->node = of->A;
        carried_by_clusters(of, phi);
        return SU_OK;
    }
    SU_TRY(SU_TAKE_ALL(&of->arena, "bones", err, SU_WANT(of->node, SU_CLUSTER_ROWS * panels * of->rows)));
    SU_GO(su_node_gradients_create(source->n, source->vertices, source->t, source->tets, &smoothing, &gradients, err));
    node_rows(of, &gradients, J);
    carried_by_nodes(of, &smoothing, phi);
    if (!of->model->neutral_rest) SU_GO(cluster_shares(of, &smoothing, err));
done:
    su_mean_gradients_free(&gradients);
    return status;
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

/* Means over the clusters of the tets' own gradients by the bones' entries, and what the rig's strain within clusters
 * pulls with, from J (n,rows) and phi (n,stride of the model). */
static su_status take_clusters(su_skinning_bones *of, const double *J, const double *phi, su_error *err)
{
    const su_skinning_model *model = of->model;
    const su_model *source = model->source;
    int64_t rows = of->rows;
    double *pull = NULL, *mean = NULL;
    su_status status;
    if (!model->neutral_rest && su_model_smoothing(source).nodes > 0) return SU_OK;
    SU_TRY(SU_TAKE_ALL(&of->arena, "bones", err, SU_WANT(of->A, SU_CLUSTER_ROWS * model->panels * rows)));
    if (model->neutral_rest) SU_TRY(SU_TAKE_ALL(&of->arena, "bones", err, SU_WANT(of->strain, rows * model->stride)));
    SU_GO(SU_ALLOC_ALL("bones", err, SU_WANT(pull, source->n * rows), SU_WANT(mean, 3 * rows * model->clusters)));
    for (int64_t i = 0; i < source->c; i++) {
        int64_t e = source->cubature_tets[i], c = source->cluster[i];
        const int32_t *tet = source->tets + 4 * e;
        const double *b = model->tet_gradient + 12 * e;
        double vmu = model->tet_vmu[e];
        for (int64_t k = 0; k < rows; k++) {
            double g[3] = {0, 0, 0};
            for (int q = 0; q < 4; q++)
                for (int d = 0; d < 3; d++) g[d] += J[(int64_t)tet[q] * rows + k] * b[3 * q + d];
            for (int d = 0; d < 3; d++) mean[(c * rows + k) * 3 + d] += vmu / model->vmu[c] * g[d];
            for (int q = 0; q < 4; q++) pull[(int64_t)tet[q] * rows + k] += 2 * vmu * su_dot3(g, b + 3 * q);
        }
    }
    for (int64_t c = 0; c < model->clusters; c++)
        for (int64_t k = 0; k < 3 * rows; k++)
            of->A[((c / 8 * rows + k / 3) * 3 + k % 3) * 8 + c % 8] = (float)mean[c * 3 * rows + k];
    if (of->strain) take_strain(of, phi, pull, mean);
done:
    free(pull), free(mean);
    return status;
}

su_status su_skinning_bones_create(const su_skinning_model *model, const su_sim_settings *settings, int64_t bones,
                                   const float *weights, const double *skin, su_skinning_bones *out, su_error *err)
{
    su_status status;
    const su_model *source = model->source;
    int64_t n = source->n, rows = 4 * (bones + 1), stride = su_padded(rows), K = model->stride;
    double *J = NULL, *phi = NULL, *row = NULL;
    *out = (su_skinning_bones){.model = model, .bones = bones, .rows = rows, .stride = stride, .room = 3 * stride};
    const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    su_gravity gravity = su_sim_gravity(settings, still);
    memcpy(out->gravity, gravity.carried, sizeof out->gravity);
    SU_GO(SU_TAKE_ALL(&out->arena, "bones", err, SU_WANT(out->rig, rows * K), SU_WANT(out->mass, rows * rows)));

    SU_GO(SU_ALLOC_ALL("bones", err, SU_WANT(J, n * rows), SU_WANT(phi, n * K), SU_WANT(row, model->rows)));
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
    SU_GO(take_clusters(out, J, phi, err));
    SU_GO(take_nodes(out, J, phi, err));
done:
    free(J), free(phi), free(row);
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

/* G (nodes,9) gradients of the nodes: those of the clusters, N, where these are the nodes; lanes: scratch of whole
 * panels of them. */
static void node_gradients(const su_skinning_bones *of, const double *entries, const double *N, double *lanes,
                           double *G)
{
    if (of->node != of->A)
        of->model->kernels->gradients((of->nodes + 7) / 8, of->rows, of->stride, of->node, entries, NULL, lanes),
            N = lanes;
    for (int64_t k = 0; k < of->nodes; k++)
        for (int a = 0; a < 9; a++) G[9 * k + a] = N[su_strain_at(k) + 8 * a];
}

/* N of the clusters: the mean of the smooth gradients, whose rotation then stands for the mean of their rotations. */
static void cluster_means(const su_skinning_bones *of, const double *G, double *N)
{
    for (int64_t c = 0; c < of->model->clusters; c++) {
        double sum[9] = {0};
        for (int64_t k = of->share_start[c]; k < of->share_start[c + 1]; k++)
            for (int a = 0; a < 9; a++) sum[a] += of->share[k] * G[9 * (int64_t)of->share_node[k] + a];
        for (int a = 0; a < 9; a++) N[su_strain_at(c) + 8 * a] = sum[a];
    }
}

/* carried (3,stride of the model): gravity turned along with the nodes, whose rotations R (nodes,9) are found of G. */
static void turn_gravity(const su_skinning_bones *of, const double *G, double *R, double *carried)
{
    int64_t K = of->model->stride;
    memset(carried, 0, (size_t)(3 * K) * sizeof *carried);
    if (su_norm3(of->gravity) == 0) return;
    su_nearest_rotations(of->nodes, G, R);
    for (int64_t k = 0; k < of->nodes; k++) {
        double turned[3];
        su_mulv3(R + 9 * k, of->gravity, turned);
        for (int i = 0; i < 3; i++)
            for (int64_t a = 0; a < K; a++) carried[i * K + a] += turned[i] * of->carried[k * K + a];
    }
}

void su_skinning_bones_pose(const su_skinning_bones *of, const double *bones, const double Q[9], const double c[3],
                            double *room, su_skinning_instant *out)
{
    const su_skinning_model *m = of->model;
    double *lanes = room + 3 * of->stride, *G = lanes + (of->nodes + 7) / 8 * SU_CLUSTER_MATRICES;
    memset(room, 0, (size_t)(3 * of->stride) * sizeof *room);
    for (int64_t b = 0; b < of->bones; b++)
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 4; k++) room[i * of->stride + 4 * b + k] = bones[12 * b + 4 * i + k];
    for (int i = 0; i < 3; i++) room[i * of->stride + 4 * of->bones + i] = 1;
    if (of->A) m->kernels->gradients(m->panels, of->rows, of->stride, of->A, room, NULL, out->N);
    if (of->share || su_norm3(of->gravity) > 0) node_gradients(of, room, out->N, lanes, G);
    if (!of->A) cluster_means(of, G, out->N);
    for (int64_t pad = m->clusters; pad < 8 * m->panels; pad++)
        for (int a = 0; a < 9; a++) out->N[su_strain_at(pad) + 8 * a] = a % 4 == 0;
    combine(of, room, of->rig, out->rig);
    su_skinning_instant_finish(m, out);
    if (of->strain) combine(of, room, of->strain, out->strain);
    memcpy(out->Q, Q, sizeof out->Q);
    memcpy(out->c, c, sizeof out->c);
    turn_gravity(of, G, G + 9 * of->nodes, out->carried);
}
