#include "runtime/skinning/skinning_rig.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "runtime/kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

su_skinning_rig su_skinning_rig_of(const su_skinning_model *model, const su_sim_settings *settings)
{
    const su_model *source = model->source;
    su_skinning_rig rig = {.model = model,
                           .space = su_rig_of_model(source),
                           .smoothing = su_model_smoothing(source),
                           .shape = {.n = source->n,
                                     .m = source->m,
                                     .ties = source->ties,
                                     .vertices = source->vertices,
                                     .neutral = source->neutral,
                                     .shepard_index = source->shepard_index,
                                     .shepard_weight = source->shepard_weight,
                                     .corrections = source->corrections},
                           .width =
                               SU_CLUSTER_MATRICES * model->panels + (model->neutral_rest ? 9 : 6) * model->stride};
    const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    su_gravity gravity = su_sim_gravity(settings, still);
    memcpy(rig.carried, gravity.carried, sizeof rig.carried);
    return rig;
}

void su_skinning_work_free(su_skinning_work *w)
{
    if (!w) return;
    su_rotation_field_free(w->field);
    free(w->skin), free(w->x), free(w->turn), free(w->other), free(w->p), free(w->w), free(w->lanes), free(w->sums);
    free(w);
}

su_status su_skinning_work_create(const su_skinning_rig *rig, su_skinning_work **out, su_error *err)
{
    su_status status;
    su_skinning_work *w = NULL;
    const su_model *source = rig->model->source;
    SU_GO(SU_ALLOC(&w, 1, "frames", err));
    SU_GO(su_rotation_field_create(&(su_tet_mesh){source->n, source->t, source->vertices, source->tets},
                                   &rig->smoothing, source->n, NULL, &w->field, err));
    SU_GO(SU_ALLOC_ALL("frames", err, SU_WANT(w->skin, 3 * source->nbar), SU_WANT(w->x, 3 * source->n),
                       SU_WANT(w->turn, 4 * source->n), SU_WANT(w->other, 3 * source->n), SU_WANT(w->p, source->s),
                       SU_WANT(w->w, source->m), SU_WANT(w->sums, 9 * rig->model->rows),
                       SU_WANT(w->lanes, SU_CLUSTER_MATRICES * rig->model->panels + 3 * rig->model->stride)));
    *out = w;
    w = NULL;
done:
    su_skinning_work_free(w);
    return status;
}

/* Means over the clusters of R_v. */
static void mean_rotations(const su_skinning_model *m, su_skinning_work *own, double *N)
{
    for (int64_t c = 0; c < m->clusters; c++) {
        double mean[9] = {0}, R[9];
        for (int64_t k = m->part_start[c]; k < m->part_start[c + 1]; k++) {
            su_quaternion_matrix(own->turn + 4 * (int64_t)m->part_vertex[k], R);
            for (int a = 0; a < 9; a++) mean[a] += m->part_share[k] * R[a];
        }
        for (int a = 0; a < 9; a++) N[su_strain_at(c) + 8 * a] = mean[a];
    }
}

/* Means of the rig's own F_e, whose forces 2 V mu F_e on vertices then stand in own->other. */
static void mean_gradients(const su_skinning_model *m, su_skinning_work *own, double *N)
{
    const su_model *source = m->source;
    memset(N, 0, (size_t)(SU_CLUSTER_MATRICES * m->panels) * sizeof *N);
    memset(own->other, 0, (size_t)(3 * source->n) * sizeof *own->other);
    for (int64_t i = 0; i < source->c; i++) {
        int64_t e = source->cubature_tets[i], c = source->cluster[i];
        const int32_t *tet = source->tets + 4 * e;
        const double *b = m->tet_gradient + 12 * e;
        double F[9] = {0}, f[3], vmu = m->tet_vmu[e], *to = N + su_strain_at(c), share = vmu / m->vmu[c];
        for (int k = 0; k < 4; k++)
            for (int a = 0; a < 9; a++) F[a] += own->x[3 * (int64_t)tet[k] + a / 3] * b[3 * k + a % 3];
        for (int k = 0; k < 4; k++) {
            su_mulv3(F, b + 3 * k, f);
            for (int d = 0; d < 3; d++) own->other[3 * (int64_t)tet[k] + d] += 2 * vmu * f[d];
        }
        for (int a = 0; a < 9; a++) to[8 * a] += share * F[a];
    }
}

/* to (3,rows) += phi y' of a vertex, as files have phi */
static void add_vertex(const su_skinning_model *m, int64_t vertex, const double y[3], double *to)
{
    const su_model *source = m->source;
    const double *w = source->skinning_weights + source->k * vertex;
    double affine[4];
    su_skinning_affine(source, &m->frame, vertex, affine);
    for (int i = 0; i < 3; i++) {
        double *row = to + i * m->rows, a[4];
        for (int c = 0; c < 4; c++) a[c] = y[i] * affine[c];
        for (int64_t b = 0; b < source->k; b++)
            for (int c = 0; c < 4; c++) row[4 * b + c] += w[b] * a[c];
    }
}

void su_skinning_rig_numbers(const su_skinning_rig *rig, su_skinning_work *own, double *numbers)
{
    const su_skinning_model *m = rig->model;
    const su_model *source = m->source;
    double *N = numbers, *sums = own->sums;
    int parts = m->neutral_rest ? 3 : 2;
    bool turned = !m->neutral_rest || su_norm3(rig->carried) > 0;
    su_rest_shape_evaluate(&rig->shape, source->n, NULL, own->skin, own->w, own->x);
    if (turned) su_rotation_field_evaluate(own->field, own->x, own->turn, 1);
    if (m->neutral_rest)
        mean_gradients(m, own, N);
    else
        mean_rotations(m, own, N);
    for (int64_t pad = m->clusters; pad < 8 * m->panels; pad++)
        for (int a = 0; a < 9; a++) N[su_strain_at(pad) + 8 * a] = a % 4 == 0;
    memset(sums, 0, (size_t)(9 * m->rows) * sizeof *sums);
    for (int64_t v = 0; v < source->n; v++) {
        double y[3], mass = m->vertex_mass[v];
        for (int d = 0; d < 3; d++) y[d] = mass * own->x[3 * v + d];
        add_vertex(m, v, y, sums);
        if (su_norm3(rig->carried) > 0) {
            su_turn_vectors(1, own->turn + 4 * v, rig->carried, y);
            for (int d = 0; d < 3; d++) y[d] *= mass;
            add_vertex(m, v, y, sums + 3 * m->rows);
        }
        if (m->neutral_rest) add_vertex(m, v, own->other + 3 * v, sums + 6 * m->rows);
    }
    su_skinning_transform(m, 3 * parts, sums, N + SU_CLUSTER_MATRICES * m->panels);
    if (!m->neutral_rest) return;
    for (int64_t k = 0; k < 8 * m->panels; k++)
        for (int a = 0; a < 9; a++) own->lanes[su_strain_at(k) + 8 * a] = 2 * m->vmu[k] * N[su_strain_at(k) + 8 * a];
    double *within = own->lanes + SU_CLUSTER_MATRICES * m->panels,
           *strain = N + SU_CLUSTER_MATRICES * m->panels + 6 * m->stride;
    m->kernels->gather(m->panels, m->K, m->stride, m->A, own->lanes, within);
    for (int64_t k = 0; k < 3 * m->stride; k++) strain[k] -= within[k];
}

int64_t su_skinning_instant_size(const su_skinning_model *model)
{
    return 2 * SU_CLUSTER_MATRICES * model->panels + 9 * model->stride;
}

su_skinning_instant su_skinning_instant_in(const su_skinning_model *model, double *room)
{
    su_skinning_instant at = {.N = room}; /* all but turn as a frame has it */
    at.rig = at.N + SU_CLUSTER_MATRICES * model->panels;
    at.carried = at.rig + 3 * model->stride;
    at.strain = at.carried + 3 * model->stride;
    at.turn = at.strain + 3 * model->stride;
    for (int64_t c = 0; c < 8 * model->panels; c++)
        for (int a = 0; a < 9; a++) at.turn[su_strain_at(c) + 8 * a] = a % 4 == 0;
    return at;
}

void su_skinning_instant_finish(const su_skinning_model *model, su_skinning_instant *at)
{
    su_skinning_rotations(model, at->N, at->turn);
    if (!model->neutral_rest) memcpy(at->N, at->turn, (size_t)(SU_CLUSTER_MATRICES * model->panels) * sizeof *at->N);
}
