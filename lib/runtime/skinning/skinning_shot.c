#include "runtime/skinning/skinning_shot.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"
#include "rig/rest_shape.h"
#include "runtime/kernels/kernels.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct su_skinning_shot {
    const su_skinning_model *model;
    const su_shot *shot;
    su_rig_space rig;
    su_rest_shape shape;
    su_smoothing smoothing;
    double carried[3]; /* m/s^2: what R_v turns of gravity; 0 unless that is relative */
    int64_t width;     /* of a frame: N, P, carried, and strain where the rest is neutral */
    double *frames;    /* (F,width) */
    double *second;    /* (F,width) of their splines */
    double *p;         /* (s) scratch */
    su_arena arena;
};

/* Of one thread. */
typedef struct work {
    su_rotation_field *field;
    double *skin, *x, *turn, *force; /* (nbar,3), (n,3), (n,4), (n,3) */
    double *p, *w, *lanes;           /* (s), (m), (panels,9,8) */
    double *sums;                    /* (9,rows) */
} work;

static void work_free(work *w)
{
    su_rotation_field_free(w->field);
    free(w->skin), free(w->x), free(w->turn), free(w->force), free(w->p), free(w->w), free(w->lanes), free(w->sums);
}

static su_status work_create(const su_skinning_shot *of, work *w, su_error *err)
{
    const su_model *source = of->model->source;
    SU_TRY(su_rotation_field_create(source->n, source->vertices, source->t, source->tets, &of->smoothing, source->n,
                                    NULL, &w->field, err));
    SU_TRY(SU_ALLOC(&w->skin, 3 * source->nbar, "frames", err));
    SU_TRY(SU_ALLOC(&w->x, 3 * source->n, "frames", err));
    SU_TRY(SU_ALLOC(&w->turn, 4 * source->n, "frames", err));
    SU_TRY(SU_ALLOC(&w->force, 3 * source->n, "frames", err));
    SU_TRY(SU_ALLOC(&w->p, source->s, "frames", err));
    SU_TRY(SU_ALLOC(&w->w, source->m, "frames", err));
    SU_TRY(SU_ALLOC(&w->sums, 9 * of->model->rows, "frames", err));
    return SU_ALLOC(&w->lanes, 72 * of->model->panels + 3 * of->model->stride, "frames", err);
}

void su_skinning_shot_free(su_skinning_shot *of)
{
    if (!of) return;
    su_arena_free(&of->arena);
    free(of);
}

/* ---- a frame ---- */

static void rest_at(const su_skinning_shot *of, int64_t frame, double fraction, double *p, double *w, double *skin,
                    double *x, double Q[9], double c[3])
{
    su_shot_sample(of->shot, frame, fraction, su_shot_skin(of->shot), NULL, skin, p, Q, c);
    su_rig_weights(&of->rig, p, w);
    su_rest_shape_evaluate(&of->shape, of->shape.n, NULL, skin, w, x);
}

/* Means over the clusters of R_v. */
static void mean_rotations(const su_skinning_shot *of, work *own, double *N)
{
    const su_skinning_model *m = of->model;
    for (int64_t c = 0; c < m->clusters; c++) {
        double mean[9] = {0}, R[9];
        for (int64_t k = m->part_start[c]; k < m->part_start[c + 1]; k++) {
            su_quaternion_matrix(own->turn + 4 * (int64_t)m->part_vertex[k], R);
            for (int a = 0; a < 9; a++) mean[a] += m->part_share[k] * R[a];
        }
        for (int a = 0; a < 9; a++) N[su_strain_at(c) + 8 * a] = mean[a];
    }
}

/* Means of the rig's own F_e, whose forces 2 V mu F_e on vertices then stand in own->force. */
static void mean_gradients(const su_skinning_shot *of, work *own, double *N)
{
    const su_skinning_model *m = of->model;
    const su_model *source = m->source;
    memset(N, 0, (size_t)(72 * m->panels) * sizeof *N);
    memset(own->force, 0, (size_t)(3 * source->n) * sizeof *own->force);
    for (int64_t i = 0; i < source->c; i++) {
        int64_t e = source->cubature_tets[i], c = source->cluster[i];
        const int32_t *tet = source->tets + 4 * e;
        const double *b = m->tet_gradient + 12 * e;
        double F[9] = {0}, f[3], vmu = m->tet_vmu[e], *to = N + su_strain_at(c), share = vmu / m->vmu[c];
        for (int k = 0; k < 4; k++)
            for (int a = 0; a < 9; a++) F[a] += own->x[3 * (int64_t)tet[k] + a / 3] * b[3 * k + a % 3];
        for (int k = 0; k < 4; k++) {
            su_mulv3(F, b + 3 * k, f);
            for (int d = 0; d < 3; d++) own->force[3 * (int64_t)tet[k] + d] += 2 * vmu * f[d];
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

static void fill_frame(const su_skinning_shot *of, int64_t frame, work *own, double *out)
{
    const su_skinning_model *m = of->model;
    const su_model *source = m->source;
    double Q[9], c[3], *N = out, *sums = own->sums;
    int parts = m->neutral_rest ? 3 : 2;
    bool turned = !m->neutral_rest || su_norm3(of->carried) > 0;
    rest_at(of, frame, 0, own->p, own->w, own->skin, own->x, Q, c);
    if (turned) su_rotation_field_evaluate(own->field, own->x, own->turn, 1);
    if (m->neutral_rest)
        mean_gradients(of, own, N);
    else
        mean_rotations(of, own, N);
    for (int64_t pad = m->clusters; pad < 8 * m->panels; pad++)
        for (int a = 0; a < 9; a++) N[su_strain_at(pad) + 8 * a] = a % 4 == 0;
    memset(sums, 0, (size_t)(9 * m->rows) * sizeof *sums);
    for (int64_t v = 0; v < source->n; v++) {
        double y[3], mass = m->vertex_mass[v];
        for (int d = 0; d < 3; d++) y[d] = mass * own->x[3 * v + d];
        add_vertex(m, v, y, sums);
        if (su_norm3(of->carried) > 0) {
            su_turn_vectors(1, own->turn + 4 * v, of->carried, y);
            for (int d = 0; d < 3; d++) y[d] *= mass;
            add_vertex(m, v, y, sums + 3 * m->rows);
        }
        if (m->neutral_rest) add_vertex(m, v, own->force + 3 * v, sums + 6 * m->rows);
    }
    su_skinning_transform(m, 3 * parts, sums, N + 72 * m->panels);
    if (!m->neutral_rest) return;
    for (int64_t k = 0; k < 8 * m->panels; k++)
        for (int a = 0; a < 9; a++) own->lanes[su_strain_at(k) + 8 * a] = 2 * m->vmu[k] * N[su_strain_at(k) + 8 * a];
    double *within = own->lanes + 72 * m->panels, *strain = N + 72 * m->panels + 6 * m->stride;
    m->kernels->gather(m->panels, m->K, m->stride, m->A, own->lanes, within);
    for (int64_t k = 0; k < 3 * m->stride; k++) strain[k] -= within[k];
}

/* ---- creation ---- */

su_status su_skinning_shot_create(const su_skinning_model *model, const su_shot *shot, const su_sim_settings *settings,
                                  int threads, su_skinning_shot **out, su_error *err)
{
    su_status status;
    su_skinning_shot *of = NULL;
    work *works = NULL;
    const su_model *source = model->source;
    int64_t F = su_shot_frames(shot);
    threads = threads > 0 ? threads : 1;
    SU_GO(SU_ALLOC(&of, 1, "shot", err));
    of->model = model, of->shot = shot, of->rig = su_rig_of_model(source), of->smoothing = su_model_smoothing(source);
    of->shape = (su_rest_shape){.n = source->n,
                                .m = source->m,
                                .ties = source->ties,
                                .vertices = source->vertices,
                                .neutral = source->neutral,
                                .shepard_index = source->shepard_index,
                                .shepard_weight = source->shepard_weight,
                                .corrections = source->corrections};
    const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    su_gravity gravity = su_sim_gravity(settings, still);
    memcpy(of->carried, gravity.carried, sizeof of->carried);
    of->width = 72 * model->panels + (model->neutral_rest ? 9 : 6) * model->stride;
    of->frames = su_arena_alloc(&of->arena, F * of->width, sizeof *of->frames);
    of->second = su_arena_alloc(&of->arena, F * of->width, sizeof *of->second);
    of->p = su_arena_alloc(&of->arena, source->s, sizeof *of->p);
    if (of->arena.failed) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the frames of the shot");
        goto done;
    }
    SU_GO(SU_ALLOC(&works, threads, "frames", err));
    for (int k = 0; k < threads; k++) SU_GO(work_create(of, works + k, err));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t k = 0; k < F; k++) fill_frame(of, k, works + omp_get_thread_num(), of->frames + k * of->width);
    su_shot_spline(shot, of->width, of->frames, of->second);
    *out = of;
    of = NULL;
done:
    for (int k = 0; works && k < threads; k++) work_free(works + k);
    free(works);
    su_skinning_shot_free(of);
    return status;
}

/* ---- instants ---- */

int64_t su_skinning_instant_size(const su_skinning_model *model) { return 2 * 72 * model->panels + 9 * model->stride; }

su_skinning_instant su_skinning_instant_in(const su_skinning_model *model, double *room)
{
    su_skinning_instant at = {.N = room}; /* all but turn as a frame has it */
    at.rig = at.N + 72 * model->panels;
    at.carried = at.rig + 3 * model->stride;
    at.strain = at.carried + 3 * model->stride;
    at.turn = at.strain + 3 * model->stride;
    for (int64_t c = 0; c < 8 * model->panels; c++)
        for (int a = 0; a < 9; a++) at.turn[su_strain_at(c) + 8 * a] = a % 4 == 0;
    return at;
}

void su_skinning_shot_at(const su_skinning_shot *of, int64_t frame, double fraction, su_skinning_instant *out)
{
    const su_skinning_model *m = of->model;
    size_t lanes = (size_t)(72 * m->panels) * sizeof *out->N;
    su_shot_sample(of->shot, frame, fraction, 0, NULL, NULL, NULL, out->Q, out->c);
    su_shot_blend(su_shot_segment_at(of->shot, frame, fraction), of->width, of->frames, of->second, out->N);
    su_skinning_rotations(m, out->N, out->turn);
    if (!m->neutral_rest) memcpy(out->N, out->turn, lanes);
}

void su_skinning_shot_weights(su_skinning_shot *of, int64_t frame, double *w)
{
    su_shot_sample(of->shot, frame, 0, 0, NULL, NULL, of->p, NULL, NULL);
    su_rig_weights(&of->rig, of->p, w);
}

su_status su_skinning_rig_energy(const su_skinning_shot *of, const double *h, double frame_seconds, int threads,
                                 double *energy, su_error *err)
{
    su_status status = SU_OK;
    const su_model *source = of->model->source;
    work *works;
    threads = threads > 0 ? threads : 1;
    SU_TRY(SU_ALLOC(&works, threads, "frames", err));
    for (int k = 0; k < threads; k++) SU_GO(work_create(of, works + k, err));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t k = 0; k < su_shot_frames(of->shot); k++) {
        work *own = works + omp_get_thread_num();
        double Q[2][9], c[2][3], *x[2] = {own->x, own->force};
        energy[k] = 0;
        if (!(h[k] > 0)) continue;
        rest_at(of, k, 0, own->p, own->w, own->skin, x[0], Q[0], c[0]);
        rest_at(of, k - 1, 1 - h[k] / frame_seconds, own->p, own->w, own->skin, x[1], Q[1], c[1]);
        for (int64_t v = 0; v < source->n; v++) {
            double a[3], b[3], square = 0;
            su_mulv3(Q[0], x[0] + 3 * v, a), su_mulv3(Q[1], x[1] + 3 * v, b);
            for (int d = 0; d < 3; d++) {
                double speed = (a[d] + c[0][d] - b[d] - c[1][d]) / h[k];
                square += speed * speed;
            }
            energy[k] += 0.5 * of->model->vertex_mass[v] * square;
        }
    }
done:
    for (int k = 0; k < threads; k++) work_free(works + k);
    free(works);
    return status;
}
