#include "reduce/shot_loads.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"
#include "io/anim.h"
#include "linalg/eigen.h"
#include "rig/rest_shape.h"
#include "rig/shot.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sampler {
    const su_tet *tet;
    su_rest_shape shape;
    su_rotation_field *field;
    double *skin, *x[3], *rotation;
    int threads;
} sampler;

static void sampler_free(sampler *s)
{
    su_rotation_field_free(s->field);
    free(s->skin), free(s->x[0]), free(s->x[1]), free(s->x[2]), free(s->rotation);
}

/* out (n,3) at frame f, between its neighbours: R' Q' (X_{f+1} - 2 X_f + X_{f-1}) / dt^2 with X = Q x + c. */
static void load_at(sampler *s, const su_shot *shot, int64_t f, double *out)
{
    int64_t n = s->tet->n;
    double Q[3][9], c[3][3], dt = su_shot_time(shot, f + 1) - su_shot_time(shot, f);
    for (int k = 0; k < 3; k++) {
        su_shot_sample(shot, f + k - 1, 0, 0, NULL, s->skin, NULL, Q[k], c[k]);
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

/* Every stride-th inner frame of one shot; `phase` carries over to the next. */
static su_status add_shot(sampler *s, const su_fit *fit, const char *path, const su_anim *anim, int64_t stride,
                          int64_t *phase, double *loads, int64_t *count, su_error *err)
{
    su_shot *shot;
    const su_shot_target target = {.nbar = s->tet->nbar, .s = fit->s, .a = fit->a, .params = fit->params,
                                   .param_scale = fit->param_scale,
                                   .param_names = json_object_get(fit->file.meta, "param_names"),
                                   .psd_params = fit->psd_params, .psd_shapes = fit->psd_shapes, .psd_rbf = fit->psd_rbf,
                                   .param_mean = fit->param_mean, .param_basis = fit->param_basis, .frames_only = true};
    SU_TRY(su_shot_create(anim, path, &target, 0, NULL, &shot, NULL, err));
    s->shape.neutral = anim->neutral;
    for (int64_t f = 1; f + 1 < anim->F; f++)
        if ((*phase)++ % stride == 0) load_at(s, shot, f, loads + 3 * s->tet->n * (*count)++);
    su_shot_free(shot);
    return SU_OK;
}

/* Replaces `count` loads by their `keep` leading directions, weighted by mass and as strong as the loads are in them. Poses
 * then answer the same loads, so that their bases differ only as the poses do. */
static su_status lead(const su_tet *tet, const su_fit *fit, int64_t keep, double **loads, int64_t *count, su_error *err)
{
    int64_t n = tet->n, made = *count;
    double *mass = NULL, *gram = NULL, *values = NULL, *out = NULL, *weighted = NULL;
    su_status status = SU_OK;
    if (keep >= made) return SU_OK;
    SU_GO(SU_ALLOC(&mass, n, "masses", err));
    SU_GO(SU_ALLOC(&gram, made * made, "loads of the shots", err));
    SU_GO(SU_ALLOC(&values, made, "loads of the shots", err));
    SU_GO(SU_ALLOC(&out, 3 * n * keep, "loads of the shots", err));
    SU_GO(SU_ALLOC(&weighted, 3 * n * made, "loads of the shots", err));
    for (int64_t e = 0; e < tet->t; e++) {
        double edges[9];
        const int32_t *v = tet->tets + 4 * e;
        const double *X = tet->vertices;
        su_tet_edges(X + 3 * (int64_t)v[0], X + 3 * (int64_t)v[1], X + 3 * (int64_t)v[2], X + 3 * (int64_t)v[3], edges);
        for (int a = 0; a < 4; a++) mass[v[a]] += fit->density[e] * su_det3(edges) / 24;
    }
    for (int64_t i = 0; i < tet->fixed_count; i++) mass[tet->fixed[i]] = 0;   /* held flesh answers nothing */
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

su_status su_shot_loads_create(const su_tet *tet, const su_fit *fit, int shot_count, const char *const *shots, int64_t keep,
                               double **loads, int64_t *count, int threads, su_error *err)
{
    sampler s = {.tet = tet, .threads = threads};
    su_anim *anims = NULL;
    int64_t n = tet->n, frames = 0, phase = 0, made = 0, most = 6 * keep;
    double *out = NULL, squares = 0;
    int loaded = 0;
    su_status status;
    s.shape = (su_rest_shape){.n = n, .ties = tet->ties, .vertices = tet->vertices, .shepard_index = tet->shepard_index,
                              .shepard_weight = tet->shepard_weight};
    SU_GO(SU_ALLOC(&anims, shot_count, "shots", err));
    for (; loaded < shot_count; loaded++) {
        SU_GO(su_anim_load(shots[loaded], &anims[loaded], err));
        frames += anims[loaded].F > 2 ? anims[loaded].F - 2 : 0;
    }
    int64_t stride = frames > most ? (frames + most - 1) / most : 1;
    SU_GO(su_rotation_field_create(n, tet->vertices, tet->t, tet->tets, n, NULL, &s.field, err));
    SU_GO(SU_ALLOC(&s.skin, 3 * tet->nbar, "shots", err));
    SU_GO(SU_ALLOC(&s.rotation, 4 * n, "shots", err));
    for (int k = 0; k < 3; k++) SU_GO(SU_ALLOC(&s.x[k], 3 * n, "shots", err));
    SU_GO(SU_ALLOC(&out, 3 * n * (frames / stride + 4), "loads of the shots", err));
    for (int k = 0; k < shot_count; k++)
        SU_GO(add_shot(&s, fit, shots[k], &anims[k], stride, &phase, out, &made, err));
    for (int64_t i = 0; i < 3 * n * made; i++) squares += out[i] * out[i];
    double strength = made ? sqrt(squares / (double)(n * made)) : 0;
    for (int axis = 0; axis < 3; axis++, made++)
        for (int64_t v = 0; v < n; v++) out[3 * (made * n + v) + axis] = fmax(strength, 1e-3 * 9.81);
    SU_GO(lead(tet, fit, keep, &out, &made, err));
    *loads = out, *count = made;
    out = NULL;
done:
    sampler_free(&s);
    for (int k = 0; k < loaded; k++) su_anim_free(&anims[k]);
    free(anims), free(out);
    return status;
}

su_status su_shot_loads_turn(int64_t n, const double *vertices, int64_t t, const int32_t *tets, const double *x,
                             int64_t count, const double *loads, double *out, int threads, su_error *err)
{
    su_rotation_field *field = NULL;
    double *rotation = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&rotation, 4 * n, "rotations", err));
    SU_GO(su_rotation_field_create(n, vertices, t, tets, n, NULL, &field, err));
    su_rotation_field_evaluate(field, x, rotation, threads);
    for (int64_t v = 0; v < n; v++) {
        double R[9];
        su_quaternion_matrix(rotation + 4 * v, R);
        for (int64_t k = 0; k < count; k++) su_mulv3(R, loads + 3 * (k * n + v), out + 3 * (k * n + v));
    }
done:
    su_rotation_field_free(field);
    free(rotation);
    return status;
}
