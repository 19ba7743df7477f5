#include "runtime/skinning/skinning_model.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/tetmesh.h"
#include "geometry/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_skinning_model_free(su_skinning_model *model)
{
    su_arena_free(&model->arena);
    *model = (su_skinning_model){0};
}

/* B (stride,stride) += factor times rows' columns, over count rows a, b (count,stride). */
static void add_products(int64_t count, int64_t stride, const double *a, const double *b, double factor, double *B)
{
    for (int64_t v = 0; v < count; v++)
        for (int64_t i = 0; i < stride; i++) {
            double x = factor * a[v * stride + i], *row = B + i * stride;
            const double *from = b + v * stride;
            if (x != 0)
                for (int64_t j = 0; j < stride; j++) row[j] += x * from[j];
        }
}

/* A function is spanned by those before it where less than this share of its norm in the mass (squared) is its own. */
#define SPANNED 1e-8

/* T out of M (rows,rows) of eq. 28's phi, by Gram and Schmidt: of the functions that are left. MT (rows,rows): room for
 * M times them. */
static void orthonormalize(su_skinning_model *m, const double *M, double *MT)
{
    int64_t n = m->rows;
    m->K = 0;
    for (int64_t i = 0; i < n; i++) {
        double *row = m->T + m->K * n, norm = M[i * n + i];
        memset(row, 0, (size_t)n * sizeof *row);
        row[i] = 1;
        for (int turn = 0; turn < 2; turn++) /* twice, against rounding */
            for (int64_t k = 0; k < m->K; k++) {
                const double *other = m->T + k * n;
                double product = su_dot(n, row, MT + k * n);
                for (int64_t b = 0; b <= i; b++) row[b] -= product * other[b];
            }
        double *times = MT + m->K * n, square;
        for (int64_t a = 0; a < n; a++) times[a] = su_dot(i + 1, M + a * n, row);
        square = su_dot(n, row, times);
        if (!(square > SPANNED * norm)) continue;
        for (int64_t b = 0; b < n; b++) row[b] /= sqrt(square), times[b] /= sqrt(square);
        m->K++;
    }
    m->stride = su_padded(m->K);
}

void su_skinning_transform(const su_skinning_model *m, int64_t columns, const double *in, double *out)
{
    for (int64_t c = 0; c < columns; c++)
        for (int64_t k = 0; k < m->stride; k++) {
            double sum = 0;
            for (int64_t a = 0; k < m->K && a < m->rows; a++) sum += m->T[k * m->rows + a] * in[c * m->rows + a];
            out[c * m->stride + k] = sum;
        }
}

void su_skinning_to_file(const su_skinning_model *m, const double *Z, double *out)
{
    memset(out, 0, (size_t)(3 * m->rows) * sizeof *out);
    for (int64_t k = 0; k < m->K; k++)
        for (int64_t a = 0; a < m->rows; a++)
            for (int i = 0; i < 3; i++) out[3 * a + i] += m->T[k * m->rows + a] * Z[i * m->stride + k];
}

static void make_symmetric(int64_t stride, double *B)
{
    for (int64_t i = 0; i < stride; i++)
        for (int64_t j = 0; j < i; j++)
            B[i * stride + j] = B[j * stride + i] = 0.5 * (B[i * stride + j] + B[j * stride + i]);
}

/* Masses of vertices, gradients and stiffness of tets, and clusters' means of both (eq. 31), with phi (n,stride). */
static void take_tets(su_skinning_model *m, const double *phi, double *mean, double *stiff)
{
    const su_model *source = m->source;
    for (int64_t i = 0; i < source->c; i++) {
        int64_t e = source->cubature_tets[i], c = source->cluster[i];
        double *b = m->tet_gradient + 12 * e;
        double volume = su_tet_gradients(source->vertices, source->tets + 4 * e, b) / 6;
        double mu = SU_LAME_MU(source->young[i], source->poisson[i]);
        double lambda = SU_LAME_LAMBDA(source->young[i], source->poisson[i]);
        double vmu = m->tet_vmu[e] = volume * mu;
        m->vmu[c] += vmu, m->vlambda[c] += volume * lambda;
        for (int i4 = 0; i4 < 4; i4++) {
            int64_t v = source->tets[4 * e + i4];
            const double *from = phi + v * m->stride;
            for (int j4 = 0; j4 < 4; j4++) {
                double s = 2 * vmu * su_dot3(b + 3 * i4, b + 3 * j4);
                double *to = stiff + (int64_t)source->tets[4 * e + j4] * m->stride;
                for (int64_t k = 0; k < m->K; k++) to[k] += s * from[k];
            }
            for (int d = 0; d < 3; d++) {
                double *to = mean + (3 * c + d) * m->stride, s = vmu * b[3 * i4 + d];
                for (int64_t k = 0; k < m->K; k++) to[k] += s * from[k];
            }
        }
    }
}

/* A in lanes; what the clusters have of the stiffness taken out of the remainder, which stays semidefinite. */
static void take_clusters(su_skinning_model *m, double *mean)
{
    memcpy(m->remainder, m->stiffness, (size_t)(m->stride * m->stride) * sizeof *m->remainder);
    for (int64_t c = 0; c < m->clusters; c++)
        for (int d = 0; d < 3; d++) {
            double *row = mean + (3 * c + d) * m->stride;
            for (int64_t k = 0; k < m->K; k++) {
                row[k] /= m->vmu[c];
                m->A[((c / 8 * m->K + k) * 3 + d) * 8 + c % 8] = (float)row[k];
            }
            add_products(1, m->stride, row, row, -2 * m->vmu[c], m->remainder);
        }
    make_symmetric(m->stride, m->remainder);
}

/* Which vertices a cluster has, each once, with a quarter of V mu of each of its tets there. */
static su_status take_parts(su_skinning_model *m, su_error *err)
{
    const su_model *source = m->source;
    int64_t *first = NULL, total = 0;
    int32_t *tets = NULL, *slot = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("clusters", err, SU_WANT(first, m->clusters + 1), SU_WANT(tets, source->c),
                       SU_WANT(slot, source->n)));
    for (int64_t i = 0; i < source->c; i++) first[source->cluster[i] + 1]++;
    for (int64_t c = 0; c < m->clusters; c++) first[c + 1] += first[c];
    for (int64_t i = source->c - 1; i >= 0; i--) tets[--first[source->cluster[i] + 1]] = source->cubature_tets[i];
    SU_GO(SU_TAKE_ALL(&m->arena, "clusters", err, SU_WANT(m->part_start, m->clusters + 1),
                      SU_WANT(m->part_vertex, 4 * source->c), SU_WANT(m->part_share, 4 * source->c)));

    for (int64_t v = 0; v < source->n; v++) slot[v] = -1;
    for (int64_t c = 0; c < m->clusters; c++) {
        int64_t end = c + 1 < m->clusters ? first[c + 2] : source->c;
        m->part_start[c] = total;
        for (int64_t i = first[c + 1]; i < end; i++)
            for (int k = 0; k < 4; k++) {
                int32_t e = tets[i], v = source->tets[4 * (int64_t)e + k];
                if (slot[v] < m->part_start[c]) m->part_vertex[slot[v] = (int32_t)total++] = v;
                m->part_share[slot[v]] += 0.25 * m->tet_vmu[e] / m->vmu[c];
            }
    }
    m->part_start[m->clusters] = total;
done:
    free(first), free(tets), free(slot);
    return status;
}

static su_status check_materials(const su_model *source, su_error *err)
{
    for (int64_t i = 0; i < source->c; i++)
        if (!(source->young[i] > 0) || !(source->poisson[i] < 0.5) || !(source->poisson[i] >= 0))
            return su_fail(err, SU_INPUT, "tet %d has no stiffness that a cluster could take on",
                           source->cubature_tets[i]);
    return SU_OK;
}

su_status su_skinning_model_create(const su_model *source, su_skinning_model *out, su_error *err)
{
    su_status status;
    const su_kernel_set *set;
    double *phi = NULL, *mean = NULL, *stiff = NULL, *mass = NULL;
    const char *material = json_string_value(json_object_get(source->file.meta, "material"));
    const char *rest = json_string_value(json_object_get(source->file.meta, "rest"));
    int law = material ? su_material_from_name(material) : SU_COROTATIONAL;
    *out = (su_skinning_model){.source = source, .rows = 4 * source->k};
    su_skinning_model *m = out;
    SU_GO(su_kernel_set_find(&set, err));
    m->kernels = &set->clusters, m->linear = &set->step;
    if (law < 0) {
        status = su_fail(err, SU_INPUT, "unknown material '%s'", material);
        goto done;
    }
    m->material = (su_material)law;
    m->neutral_rest = rest && strcmp(rest, "neutral") == 0;
    for (int64_t i = 0; i < source->c; i++)
        if (source->cluster[i] >= m->clusters) m->clusters = source->cluster[i] + 1;
    m->panels = su_padded(m->clusters) / SU_LANES;
    m->frame = su_skinning_frame_of(source), m->diagonal = 2 * m->frame.length;
    SU_GO(check_materials(source, err));
    int64_t rows = m->rows, most = su_padded(rows), square = most * most;
    SU_GO(SU_TAKE_ALL(&m->arena, "the model", err, SU_WANT(m->A, SU_CLUSTER_ROWS * m->panels * rows),
                      SU_WANT(m->vmu, 8 * m->panels), SU_WANT(m->vlambda, 8 * m->panels), SU_WANT(m->T, rows * rows),
                      SU_WANT(m->stiffness, square), SU_WANT(m->remainder, square), SU_WANT(m->weight, most),
                      SU_WANT(m->vertex_mass, source->n), SU_WANT(m->tet_gradient, 12 * source->t),
                      SU_WANT(m->tet_vmu, source->t)));

    SU_GO(SU_ALLOC_ALL("model", err, SU_WANT(mass, 2 * rows * rows + rows), SU_WANT(phi, source->n * most),
                       SU_WANT(stiff, source->n * most)));
    SU_GO(SU_ALLOC(&mean, 3 * m->clusters * most, "clusters", err));
    su_lumped_mass(source->n, source->vertices, source->t, source->tets, source->density, m->vertex_mass);
    double *row = mass + 2 * rows * rows;
    for (int64_t v = 0; v < source->n; v++) {
        su_skinning_row(source, &m->frame, v, row);
        add_products(1, rows, row, row, m->vertex_mass[v], mass);
        m->total_mass += m->vertex_mass[v];
    }
    orthonormalize(m, mass, mass + rows * rows);
    if (m->K == 0) {
        status = su_fail(err, SU_INPUT, "the skinning modes move nothing");
        goto done;
    }
    for (int64_t v = 0; v < source->n; v++) {
        double *to = phi + v * m->stride;
        su_skinning_row(source, &m->frame, v, row);
        su_skinning_transform(m, 1, row, to);
        for (int64_t k = 0; k < m->K; k++) m->weight[k] += m->vertex_mass[v] * to[k];
    }
    take_tets(m, phi, mean, stiff);
    add_products(source->n, m->stride, phi, stiff, 1, m->stiffness);
    make_symmetric(m->stride, m->stiffness);
    take_clusters(m, mean);
    m->arap = m->material == SU_COROTATIONAL;
    for (int64_t c = 0; c < m->clusters; c++) m->arap &= m->vlambda[c] == 0;
    SU_GO(take_parts(m, err));
    m->bytes = (SU_CLUSTER_ROWS * m->panels * m->K) * (int64_t)sizeof(float) +
               (16 * m->panels + 3 * m->stride * m->stride) * (int64_t)sizeof(double);
done:
    free(phi), free(mean), free(stiff), free(mass);
    if (status != SU_OK) su_skinning_model_free(out);
    return status;
}

/* What the iteration over lanes did not finish, one after the other. */
static void finish_rotations(const double *F, double *R, uint8_t hard)
{
    for (int lane = 0; lane < 8; lane++) {
        if (!(hard >> lane & 1)) continue;
        double f[9], r[9];
        for (int a = 0; a < 9; a++) f[a] = F[8 * a + lane];
        su_nearest_rotation(f, r);
        for (int a = 0; a < 9; a++) R[8 * a + lane] = r[a];
    }
}

void su_skinning_rotations(const su_skinning_model *model, const double *F, double *R)
{
    for (int64_t p = 0; p < model->panels; p++, F += SU_CLUSTER_MATRICES, R += SU_CLUSTER_MATRICES) {
        uint8_t hard;
        model->kernels->rotations(1, F, R, &hard);
        if (hard) finish_rotations(F, R, hard);
    }
}
