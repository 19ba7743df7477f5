#include "reduce/modes/shot_loads.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"
#include "geometry/tetmesh.h"
#include "io/stage/anim.h"
#include "linalg/eigen.h"
#include "linalg/sparse.h"
#include "physics/settings.h"
#include "reduce/modes/modes.h"
#include "reduce/modes/shot_motion.h"
#include "rig/rest_shape.h"
#include "rig/shot.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What uniform loads have of gravity at least, where next to nothing in the shots is accelerated. */
#define LEAST_LOAD 1e-3

typedef struct sampler {
    const su_tet *tet;
    su_rest_shape shape;
    su_rotation_field *field;
    double *skin, *x[3], *rotation, *load;
    int threads;
} sampler;

static void sampler_free(sampler *s)
{
    su_rotation_field_free(s->field);
    free(s->skin), free(s->x[0]), free(s->x[1]), free(s->x[2]), free(s->rotation), free(s->load);
}

/* out (n,3) at frame f, between its neighbours: R' Q' (X_{f+1} - 2 X_f + X_{f-1}) / dt^2 with X = Q x + c. */
static void load_at(sampler *s, const su_shot *shot, int64_t f, double dt, double *out)
{
    int64_t n = s->tet->n;
    double Q[3][9], c[3][3];
    for (int k = 0; k < 3; k++) {
        su_shot_sample(shot, f + k - 1, 0, NULL, Q[k], c[k]);
        su_shot_sample_skin(shot, f + k - 1, 0, 0, NULL, 1, s->skin);
        su_rest_shape_evaluate(&s->shape, n, NULL, s->skin, NULL, s->x[k]);
    }
    su_rotation_field_evaluate(s->field, s->x[1], s->rotation, s->threads);
    for (int64_t v = 0; v < n; v++) {
        double X[3][3], a[3], root[3], R[9];
        for (int k = 0; k < 3; k++) su_mulv3(Q[k], s->x[k] + 3 * v, X[k]);
        for (int i = 0; i < 3; i++)
            a[i] = (X[0][i] + c[0][i] - 2 * (X[1][i] + c[1][i]) + X[2][i] + c[2][i]) / (dt * dt);
        su_tmulv3(Q[1], a, root);
        su_quaternion_matrix(s->rotation + 4 * v, R);
        su_tmulv3(R, root, out + 3 * v);
    }
}

typedef su_status (*visit)(void *context, const double *load, double dt, su_error *err);

/* Shows every stride-th inner frame of one shot to `see`; `phase` carries over to the next. */
static su_status each_load(sampler *s, const su_play *play, int number, int64_t stride, int64_t *phase, visit see,
                           void *context, su_error *err)
{
    const su_fit *fit = play->fit;
    const su_anim *anim = &play->anims[number];
    su_shot *shot;
    const su_shot_target target = {.rig = su_rig_of_fit(fit), .nbar = s->tet->nbar};
    su_status status = SU_OK;
    SU_TRY(su_shot_create(anim, play->paths[number], &target, 0, NULL, &shot, NULL, err));
    s->shape.neutral = anim->neutral;
    double dt = su_sim_frame_seconds(anim->F, anim->times, NAN);
    for (int64_t f = 1; f + 1 < anim->F && status == SU_OK; f++) {
        if ((*phase)++ % stride) continue;
        load_at(s, shot, f, dt, s->load);
        status = see(context, s->load, dt, err);
    }
    su_shot_free(shot);
    return status;
}

/* Replaces `count` loads by their `keep` leading directions, weighted by mass and as strong as the loads are in them.
 * Poses then answer the same loads, so that their bases differ only as the poses do. */
static su_status lead(const su_tet *tet, const su_fit *fit, int64_t keep, double **loads, int64_t *count, su_error *err)
{
    int64_t n = tet->n, made = *count;
    double *mass = NULL, *gram = NULL, *values = NULL, *out = NULL, *weighted = NULL;
    su_status status = SU_OK;
    if (keep >= made) return SU_OK;
    SU_GO(SU_ALLOC(&mass, n, "masses", err));
    SU_GO(SU_ALLOC_ALL("loads of the shots", err, SU_WANT(gram, made * made), SU_WANT(values, made),
                       SU_WANT(out, 3 * n * keep), SU_WANT(weighted, 3 * n * made)));
    su_lumped_mass(n, tet->vertices, tet->t, tet->tets, fit->density, mass);
    for (int64_t i = 0; i < tet->fixed_count; i++) mass[tet->fixed[i]] = 0; /* held flesh answers nothing */
    for (int64_t k = 0; k < made; k++)
        for (int64_t i = 0; i < 3 * n; i++) weighted[3 * n * k + i] = (*loads)[3 * n * k + i] * sqrt(mass[i / 3]);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)made, (int)(3 * n), 1, weighted, (int)(3 * n), 0, gram,
                (int)made);
    SU_GO(su_eigen_symmetric(made, gram, values, err));
    for (int64_t k = 0; k < keep; k++)
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)(3 * n), (int)made, 1, *loads, (int)(3 * n),
                    gram + (made - 1 - k) * made, 1, 0, out + 3 * n * k, 1);
    free(*loads);
    *loads = out, *count = keep;
    out = NULL;
done:
    free(mass), free(gram), free(values), free(out), free(weighted);
    return status;
}

typedef struct collected {
    double *loads;
    int64_t count, size;
} collected;

static su_status collect(void *context, const double *load, double dt, su_error *err)
{
    collected *c = context;
    (void)dt, (void)err;
    memcpy(c->loads + c->size * c->count++, load, (size_t)c->size * sizeof *load);
    return SU_OK;
}

/* ---- rehearsal: how the flesh would swing under the loads, in a linear model of the neutral pose ---- */

typedef struct rehearsal {
    const su_elastic *elastic;
    int64_t size, count;
    double *modes;    /* (count,size) on the free dofs, K and M diagonal */
    double *squares;  /* (count) omega^2 */
    double *weighted; /* (size) M a */
    double *force;    /* (count) */
    su_linear_motion motion;
} rehearsal;

static void rehearsal_free(rehearsal *r)
{
    free(r->modes), free(r->squares), free(r->weighted), free(r->force);
    su_linear_motion_free(&r->motion);
}

static su_status swing(void *context, const double *load, double dt, su_error *err)
{
    rehearsal *r = context;
    for (int64_t f = 0; f < r->elastic->free_count; f++) {
        int64_t v = r->elastic->free_vertex[f];
        for (int i = 0; i < 3; i++) r->weighted[3 * f + i] = -r->elastic->mass[v] * load[3 * v + i];
    }
    cblas_dgemv(CblasColMajor, CblasTrans, (int)r->size, (int)r->count, 1, r->modes, (int)r->size, r->weighted, 1, 0,
                r->force, 1);
    return su_linear_motion_frame(&r->motion, r->force, dt, err);
}

/* Modes and static answers, turned among each other so that they swing on their own. */
static su_status rehearsal_create(const su_play *play, const su_elastic *elastic, int64_t load_count,
                                  const double *loads, rehearsal *out, su_error *err)
{
    const su_tet *tet = play->tet;
    int threads = play->threads;
    int64_t n = tet->n, linear = play->plan->rehearsal_modes, size = elastic->pattern.size, r = linear + load_count;
    double *values = NULL, *full = NULL, *turned = NULL, *product = NULL, *reduced = NULL;
    su_sparse K = {0};
    su_status status;
    const su_mode_problem problem = {
        .elastic = elastic, .x = tet->vertices, .load_count = load_count, .loads = loads, .responses = load_count};
    out->elastic = elastic, out->size = size, out->count = r;
    SU_GO(SU_ALLOC_ALL("rehearsal", err, SU_WANT(values, linear), SU_WANT(full, 3 * n * r)));
    SU_GO(su_modes_solve(&problem, linear, r, values, full, NULL, threads, err));
    SU_GO(SU_ALLOC_ALL("rehearsal", err, SU_WANT(turned, size * r), SU_WANT(product, size * r), SU_WANT(reduced, r * r),
                       SU_WANT(out->modes, size * r), SU_WANT(out->squares, r), SU_WANT(out->weighted, size),
                       SU_WANT(out->force, r)));
    for (int64_t k = 0; k < r; k++)
        for (int64_t f = 0; f < elastic->free_count; f++)
            memcpy(turned + k * size + 3 * f, full + 3 * (k * n + elastic->free_vertex[f]), 3 * sizeof *full);
    SU_GO(su_sparse_clone_pattern(&elastic->pattern, &K, err));
    su_elastic_stiffness(elastic, tet->vertices, true, &K, threads);
    for (int64_t k = 0; k < r; k++) su_sparse_multiply(&K, turned + k * size, product + k * size);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)r, (int)r, (int)size, 1, turned, (int)size, product,
                (int)size, 0, reduced, (int)r);
    SU_GO(su_eigen_symmetric(r, reduced, out->squares, err));
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)size, (int)r, (int)r, 1, turned, (int)size, reduced,
                (int)r, 0, out->modes, (int)size);
    status = su_linear_motion_create(r, out->squares, &out->motion, err);
done:
    su_sparse_free(&K);
    free(values), free(full), free(turned), free(product), free(reduced);
    return status;
}

/* out (count,n,3): M^-1 K phi, the loads whose static answers are the motions phi = modes * states. K phi = omega^2 M
 * phi within the rehearsal's space. */
static void loads_of(const rehearsal *r, int64_t n, int64_t count, const double *states, double *out)
{
    for (int64_t k = 0; k < count; k++)
        for (int64_t mode = 0; mode < r->count; mode++) {
            double factor = states[k * r->count + mode] * r->squares[mode];
            for (int64_t f = 0; f < r->elastic->free_count; f++)
                for (int i = 0; i < 3; i++)
                    out[3 * (k * n + r->elastic->free_vertex[f]) + i] += factor * r->modes[mode * r->size + 3 * f + i];
        }
}

static su_status motion_loads(const su_tet *tet, rehearsal *r, int64_t keep, double gain, su_shot_loads *out,
                              su_error *err)
{
    int64_t n = tet->n;
    double *states = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&states, keep * r->count, "rehearsal", err));
    SU_GO(SU_ALLOC(&out->loads, 3 * n * keep, "loads of the shots", err));
    SU_GO(su_linear_motion_principal(&r->motion, keep, gain, states, &out->principal, err));
    loads_of(r, n, out->principal, states, out->loads);
done:
    free(states);
    return status;
}

static su_status sampler_create(sampler *s, const su_play *play, su_error *err)
{
    const su_tet *tet = play->tet;
    int64_t n = tet->n;
    *s = (sampler){.tet = tet, .threads = play->threads};
    s->shape = (su_rest_shape){.n = n,
                               .ties = tet->ties,
                               .vertices = tet->vertices,
                               .shepard_index = tet->shepard_index,
                               .shepard_weight = tet->shepard_weight};
    su_smoothing smoothing = su_fit_smoothing(play->fit);
    SU_TRY(su_rotation_field_create(&(su_tet_mesh){n, tet->t, tet->vertices, tet->tets}, &smoothing, n, NULL, &s->field,
                                    err));
    SU_TRY(SU_ALLOC_ALL("shots", err, SU_WANT(s->skin, 3 * tet->nbar), SU_WANT(s->rotation, 4 * n)));
    for (int k = 0; k < 3; k++) SU_TRY(SU_ALLOC(&s->x[k], 3 * n, "shots", err));
    return SU_ALLOC(&s->load, 3 * n, "shots", err);
}

/* Of about `most` frames of the shots the accelerations, and behind them one along each axis as strong as they are. */
static su_status collect_loads(sampler *s, const su_play *play, int64_t most, collected *all, su_error *err)
{
    int64_t n = play->tet->n, frames = 0, phase = 0;
    double squares = 0;
    for (int k = 0; k < play->count; k++) frames += play->anims[k].F > 2 ? play->anims[k].F - 2 : 0;
    int64_t stride = frames > most ? (frames + most - 1) / most : 1;
    SU_TRY(SU_ALLOC(&all->loads, 3 * n * (frames / stride + 4), "loads of the shots", err));
    for (int k = 0; k < play->count; k++) SU_TRY(each_load(s, play, k, stride, &phase, collect, all, err));
    for (int64_t i = 0; i < 3 * n * all->count; i++) squares += all->loads[i] * all->loads[i];
    const su_sim_settings usual = su_sim_defaults();
    double least = LEAST_LOAD * su_norm3(usual.gravity);
    double strength = all->count ? sqrt(squares / (double)(n * all->count)) : 0;
    for (int axis = 0; axis < 3; axis++, all->count++)
        for (int64_t v = 0; v < n; v++) all->loads[3 * (all->count * n + v) + axis] = fmax(strength, least);
    return SU_OK;
}

/* Leads the linear model through the shots. */
static su_status rehearse(const su_play *play, su_material material, int64_t keep, su_shot_loads *out, su_error *err)
{
    const su_training_plan *plan = play->plan;
    const su_tet *tet = play->tet;
    const su_fit *fit = play->fit;
    sampler s = {0};
    collected all = {.size = 3 * tet->n};
    rehearsal r = {0};
    su_elastic elastic = {0};
    su_status status;
    SU_GO(sampler_create(&s, play, err));
    SU_GO(collect_loads(&s, play, plan->loads_a_response * keep, &all, err));
    SU_GO(lead(tet, fit, plan->directions_a_response * keep, &all.loads, &all.count, err));
    SU_GO(su_elastic_of_fit(&elastic, tet, fit, material, err));
    SU_GO(rehearsal_create(play, &elastic, all.count, all.loads, &r, err));
    for (int k = 0; k < play->count; k++) {
        int64_t phase = 0;
        su_linear_motion_start(&r.motion);
        SU_GO(each_load(&s, play, k, 1, &phase, swing, &r, err));
    }
    SU_GO(motion_loads(tet, &r, keep, plan->largest_gain, out, err));
done:
    sampler_free(&s);
    rehearsal_free(&r);
    su_elastic_free(&elastic);
    free(all.loads);
    return status;
}

su_status su_shot_loads_create(const su_play *play, su_material material, int64_t keep, su_shot_loads *out,
                               su_error *err)
{
    su_play loaded = *play;
    su_anim *anims;
    int count = 0;
    SU_TRY(SU_ALLOC(&anims, play->count, "shots", err));
    su_status status;
    for (; count < play->count; count++) SU_GO(su_anim_load(play->paths[count], &anims[count], err));
    loaded.anims = anims;
    if (keep > 0) SU_GO(rehearse(&loaded, material, keep, out, err));
    if (play->most > 0) SU_GO(su_shots_play(&loaded, &out->played, err));
    status = SU_OK;
done:
    for (int k = 0; k < count; k++) su_anim_free(&anims[k]);
    free(anims);
    return status;
}

void su_shot_loads_free(su_shot_loads *loads)
{
    free(loads->loads);
    su_played_shots_free(&loads->played);
}

void su_shot_loads_turn(int64_t n, const double *rotation, const su_shot_loads *loads, double *out)
{
    for (int64_t v = 0; v < n; v++) {
        double R[9];
        su_quaternion_matrix(rotation + 4 * v, R);
        for (int64_t k = 0; k < loads->principal; k++)
            su_mulv3(R, loads->loads + 3 * (k * n + v), out + 3 * (k * n + v));
        for (int64_t k = 0; k < loads->played.count; k++) {
            double *to = out + 3 * ((loads->principal + k) * n + v);
            su_mulv3(R, loads->played.shapes + 3 * (k * n + v), to);
            for (int i = 0; i < 3; i++) to[i] *= loads->played.weights[k];
        }
    }
}
