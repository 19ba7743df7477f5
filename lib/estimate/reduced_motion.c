#include "estimate/reduced_motion.h"

#include "core/vector_clones.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "rig/rbf.h"
#include "rig/rig_space.h"

#include <cblas.h>
#include <string.h>

static void *take(su_arena *arena, int64_t count, size_t size, su_error *err)
{
    void *block = su_arena_alloc(arena, count, size);
    if (!block) su_fail(err, SU_AGAIN, "not enough memory for the motion of the shot");
    return block;
}

/* The vertices of cubature tets and their rows of the bases. */
static su_status gather_rows(su_reduced_motion *s, su_error *err)
{
    const su_model *model = s->model;
    const su_reduced_basis *basis = &s->basis;
    int64_t c = model->c, r = basis->r;
    int32_t *slot = take(&s->arena, model->n, sizeof *slot, err);
    s->corner = take(&s->arena, 4 * c, sizeof *s->corner, err);
    s->tet_corner = take(&s->arena, 4 * c, sizeof *s->tet_corner, err);
    if (!slot || !s->corner || !s->tet_corner) return SU_AGAIN;
    for (int64_t v = 0; v < model->n; v++) slot[v] = -1;
    for (int64_t i = 0; i < 4 * c; i++) {
        int32_t v = model->tets[4 * (int64_t)model->cubature_tets[i / 4] + i % 4];
        if (slot[v] < 0) s->corner[s->corners] = v, slot[v] = (int32_t)s->corners++;
        s->tet_corner[i] = slot[v];
    }
    s->rows = take(&s->arena, basis->m * s->corners * 3 * r, sizeof *s->rows, err);
    if (!s->rows) return SU_AGAIN;
    for (int64_t g = 0; g < basis->d; g++) {
        int64_t first = basis->first_mode[g], modes = basis->first_mode[g + 1] - first, count = basis->vertex_count[g];
        for (int64_t i = 0; i < basis->m; i++)
            for (int64_t k = 0; k < modes; k++)
                for (int64_t v = 0; v < count; v++) {
                    int32_t at = slot[basis->vertices[g][v]];
                    const float *from = basis->blocks[g] + 3 * ((i * modes + k) * count + v);
                    for (int a = 0; a < 3 && at >= 0; a++)
                        s->rows[((i * s->corners + at) * 3 + a) * r + first + k] = from[a];
                }
    }
    return SU_OK;
}

su_status su_reduced_motion_create(const su_model *model, const su_shot *shot, double stiffness,
                                   su_reduced_motion *motion, su_error *err)
{
    *motion = (su_reduced_motion){.model = model, .shot = shot, .stiffness = stiffness};
    su_status status;
    SU_GO(su_reduced_basis_create(model, SU_COROTATED, &motion->basis, err));
    SU_GO(gather_rows(motion, err));
done:
    if (status != SU_OK) su_reduced_motion_free(motion);
    return status;
}

void su_reduced_motion_free(su_reduced_motion *motion)
{
    su_reduced_basis_free(&motion->basis);
    su_arena_free(&motion->arena);
    *motion = (su_reduced_motion){0};
}

su_status su_instant_basis_create(const su_reduced_motion *s, su_instant_basis *at, su_error *err)
{
    int64_t m = s->model->m, r = s->model->r;
    *at = (su_instant_basis){0};
    at->b = take(&at->arena, m, sizeof(double), err);
    at->scale = take(&at->arena, r, sizeof(double), err);
    at->q = take(&at->arena, r, sizeof(double), err);
    at->scratch = take(&at->arena, s->model->s + m + r * (3 * s->corners + 24 * s->model->c), sizeof(double), err);
    at->sum = take(&at->arena, 3 * s->model->n, sizeof(double), err);
    return at->b && at->scale && at->q && at->scratch && at->sum ? SU_OK : SU_AGAIN;
}

void su_instant_basis_free(su_instant_basis *at) { su_arena_free(&at->arena); }

void su_reduced_motion_enter(const su_reduced_motion *s, int64_t frame, double fraction, su_instant_basis *at)
{
    const su_model *model = s->model;
    double *p = at->scratch, *w = p + model->s;
    if (s->basis.m > 1) {
        su_shot_sample(s->shot, frame, fraction, 0, NULL, NULL, p, NULL, NULL);
        const su_rig_space rig = su_rig_of_model(model);
        su_rig_weights(&rig, p, w);
        su_rig_basis_weights(&rig, p, w, at->b);
    } else {
        at->b[0] = 1;
    }
    su_reduced_basis_scale(&s->basis, at->b, at->scale);
}

/* Modes that are added in one pass over the vertices: the sum is in memory once for all of them. */
enum { TOGETHER = 4 };

/* sum (size) += the columns (some,size) times c. */
SU_CLONES static void add_columns(int64_t size, int64_t some, const float *columns, const double *c, double *sum)
{
    if (some == TOGETHER)
        for (int64_t v = 0; v < size; v++)
            sum[v] += c[0] * columns[v] + c[1] * columns[size + v] + c[2] * columns[2 * size + v] +
                      c[3] * columns[3 * size + v];
    else
        for (int64_t j = 0; j < some; j++)
            for (int64_t v = 0; v < size; v++) sum[v] += c[j] * columns[j * size + v];
}

void su_reduced_motion_add(const su_reduced_motion *s, su_instant_basis *at, const double *q, double *back)
{
    const su_reduced_basis *basis = &s->basis;
    double *sum = at->sum;
    for (int64_t g = 0; g < basis->d; g++) {
        int64_t first = basis->first_mode[g], modes = basis->first_mode[g + 1] - first, count = basis->vertex_count[g];
        memset(sum, 0, (size_t)(3 * count) * sizeof *sum);
        for (int64_t i = 0; i < basis->m; i++)
            for (int64_t k = 0; k < modes; k += TOGETHER) {
                double c[TOGETHER];
                int64_t some = modes - k < TOGETHER ? modes - k : TOGETHER;
                for (int64_t j = 0; j < some; j++) c[j] = at->b[i] * at->scale[first + k + j] * q[first + k + j];
                add_columns(3 * count, some, basis->blocks[g] + (i * modes + k) * 3 * count, c, sum);
            }
        for (int64_t v = 0; v < count; v++)
            for (int a = 0; a < 3; a++) back[3 * (int64_t)basis->vertices[g][v] + a] += sum[3 * v + a];
    }
}

/* out (TOGETHER) = the columns (some,size) times x (size), each summed in lanes, which all processors sum alike. */
SU_CLONES static void dot_columns(int64_t size, int64_t some, const float *columns, const double *x, double *out)
{
    enum { LANES = 8 };
    double sum[TOGETHER][LANES] = {{0}};
    int64_t whole = size - size % LANES;
    for (int64_t v = 0; v < whole; v += LANES)
        for (int64_t j = 0; j < some; j++)
            for (int l = 0; l < LANES; l++) sum[j][l] += (double)columns[j * size + v + l] * x[v + l];
    for (int64_t j = 0; j < some; j++) {
        for (int64_t v = whole; v < size; v++) sum[j][v - whole] += (double)columns[j * size + v] * x[v];
        out[j] = 0;
        for (int l = 0; l < LANES; l++) out[j] += sum[j][l];
    }
}

void su_reduced_motion_project(const su_reduced_motion *s, su_instant_basis *at, const double *x, double *out)
{
    const su_reduced_basis *basis = &s->basis;
    double *of = at->sum;
    memset(out, 0, (size_t)basis->r * sizeof *out);
    for (int64_t g = 0; g < basis->d; g++) {
        int64_t first = basis->first_mode[g], modes = basis->first_mode[g + 1] - first, count = basis->vertex_count[g];
        for (int64_t v = 0; v < count; v++) memcpy(of + 3 * v, x + 3 * (int64_t)basis->vertices[g][v], 3 * sizeof *of);
        for (int64_t i = 0; i < basis->m; i++)
            for (int64_t k = 0; k < modes; k += TOGETHER) {
                double sum[TOGETHER];
                int64_t some = modes - k < TOGETHER ? modes - k : TOGETHER;
                dot_columns(3 * count, some, basis->blocks[g] + (i * modes + k) * 3 * count, of, sum);
                for (int64_t j = 0; j < some; j++) out[first + k + j] += at->b[i] * at->scale[first + k + j] * sum[j];
            }
    }
}

void su_reduced_motion_mass(const su_reduced_motion *s, const su_instant_basis *at, double *M)
{
    int64_t m = s->basis.m, r = s->basis.r;
    memset(M, 0, (size_t)(r * r) * sizeof *M);
    for (int64_t i = 0; i < m * m; i++)
        for (int64_t k = 0; k < r * r; k++) M[k] += at->b[i / m] * at->b[i % m] * s->basis.gram[i * r * r + k];
    for (int64_t k = 0; k < r * r; k++) M[k] *= at->scale[k / r] * at->scale[k % r];
}

/* Rows of U(p) at the corners, (corners,3,r). */
SU_CLONES static void turned_rows(const su_reduced_motion *s, const su_instant_basis *at, const double *turn,
                                  double *rows)
{
    int64_t r = s->basis.r;
    for (int64_t c = 0; c < s->corners; c++) {
        double R[9], *out = rows + 3 * r * c;
        su_quaternion_matrix(turn + 4 * (int64_t)s->corner[c], R);
        memset(out, 0, (size_t)(3 * r) * sizeof *out);
        for (int64_t i = 0; i < s->basis.m; i++) {
            const float *from = s->rows + 3 * r * (i * s->corners + c);
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) {
                    double share = at->b[i] * R[3 * a + b];
                    for (int64_t k = 0; k < r; k++) out[a * r + k] += share * from[b * r + k];
                }
        }
        for (int64_t k = 0; k < 3 * r; k++) out[k] *= at->scale[k % r];
    }
}

/* K_e (144) of cubature tet number c. */
static void tet_tangent(const su_reduced_motion *s, const su_fullsim_instant *at, int64_t c, double K[144])
{
    const su_elastic *body = at->body;
    int64_t e = s->model->cubature_tets[c];
    const int32_t *tet = body->tets + 4 * e;
    double y[12] = {0}; /* edges of the stress-free shape, and what the displacement adds */
    for (int a = 1; a < 4; a++)
        for (int i = 0; i < 3; i++) {
            y[3 * a + i] = at->rest[3 * (int64_t)tet[a] + i] - at->rest[3 * (int64_t)tet[0] + i] +
                           body->offset[9 * e + 3 * i + a - 1];
            y[3 * a + i] += at->u[3 * (int64_t)tet[a] + i] - at->u[3 * (int64_t)tet[0] + i];
        }
    su_tet_elastic(body->material, body->mu[e], body->lambda[e], body->inverse + 9 * e, body->volume[e], y, false, NULL,
                   K, NULL);
}

void su_reduced_motion_tangent(const su_reduced_motion *s, su_instant_basis *at, const su_fullsim_instant *instant,
                               double *K)
{
    const su_model *model = s->model;
    int64_t r = s->basis.r, c = model->c;
    double *positive = at->scratch, *rows = positive + model->m, *left = rows + 3 * r * s->corners,
           *right = left + 12 * r * c;
    su_positive_weights(model->m, instant->w, positive);
    turned_rows(s, at, instant->turn, rows);
    for (int64_t e = 0; e < c; e++) {
        double Ke[144], weight = 0;
        for (int64_t i = 0; i < model->m; i++) weight += positive[i] * model->cubature_weights[i * c + e];
        tet_tangent(s, instant, e, Ke);
        for (int a = 0; a < 12; a++)
            memcpy(left + (12 * e + a) * r, rows + (3 * (int64_t)s->tet_corner[4 * e + a / 3] + a % 3) * r,
                   (size_t)r * sizeof *left);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 12, (int)r, 12, weight, Ke, 12, left + 12 * e * r,
                    (int)r, 0, right + 12 * e * r, (int)r);
    }
    for (int64_t k = 0; k < r * r; k++) K[k] = model->linear_stiffness ? s->stiffness * model->linear_stiffness[k] : 0;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)r, (int)r, (int)(12 * c), 1, left, (int)r, right, (int)r,
                1, K, (int)r);
}
