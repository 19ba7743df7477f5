#include "geometry/rotation_field.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <stdlib.h>

/* Only the tets around the wanted vertices are kept; `around` lists them vertex by vertex, ascending in the mesh's own
 * numbering, because the lowest-numbered one sets the sign. */
struct su_rotation_field {
    int64_t wanted, touched;
    int32_t *corner;     /* (touched,4) mesh vertices */
    double *inverse;     /* (touched,9) inverse edge matrix of the neutral shape */
    double *volume;      /* (touched) neutral volume times 6 */
    int64_t *start;      /* (wanted + 1) into around */
    int32_t *around;     /* touched tets of each wanted vertex */
};

void su_rotation_field_free(su_rotation_field *field)
{
    if (!field) return;
    free(field->corner);
    free(field->inverse);
    free(field->volume);
    free(field->start);
    free(field->around);
    free(field);
}

static void edges_of(const int32_t corner[4], const double *x, double edges[9])
{
    su_tet_edges(x + 3 * (int64_t)corner[0], x + 3 * (int64_t)corner[1], x + 3 * (int64_t)corner[2],
                 x + 3 * (int64_t)corner[3], edges);
}

/* Numbers the tets that touch a wanted vertex and lists them around each. first[v]: wanted slot of vertex v, or -1;
 * a vertex that is wanted twice chains its slots through next. */
static su_status gather(su_rotation_field *field, const double *vertices, int64_t t, const int32_t *tets,
                        const int32_t *first, const int32_t *next, su_error *err)
{
    for (int64_t e = 0; e < t; e++) {
        int hit = 0;
        for (int c = 0; c < 4; c++)
            for (int32_t k = first[tets[4 * e + c]]; k >= 0; k = next[k]) field->start[k + 1]++, hit = 1;
        field->touched += hit;
    }
    for (int64_t k = 0; k < field->wanted; k++) field->start[k + 1] += field->start[k];
    SU_TRY(SU_ALLOC(&field->corner, 4 * field->touched, "tets around vertices", err));
    SU_TRY(SU_ALLOC(&field->inverse, 9 * field->touched, "tets around vertices", err));
    SU_TRY(SU_ALLOC(&field->volume, field->touched, "tets around vertices", err));
    SU_TRY(SU_ALLOC(&field->around, field->start[field->wanted], "tets around vertices", err));
    int64_t *fill;
    SU_TRY(SU_ALLOC(&fill, field->wanted, "tets around vertices", err));
    int64_t count = 0;
    su_status status = SU_OK;
    for (int64_t e = 0; e < t && status == SU_OK; e++) {
        int hit = 0;
        for (int c = 0; c < 4; c++)
            for (int32_t k = first[tets[4 * e + c]]; k >= 0; k = next[k])
                field->around[field->start[k] + fill[k]++] = (int32_t)count, hit = 1;
        if (!hit) continue;
        double edges[9];
        edges_of(tets + 4 * e, vertices, edges);
        for (int c = 0; c < 4; c++) field->corner[4 * count + c] = tets[4 * e + c];
        field->volume[count] = su_inverse3(edges, field->inverse + 9 * count);
        if (!(field->volume[count] > 0)) status = su_fail(err, SU_INPUT, "tet %lld has no positive volume", (long long)e);
        count++;
    }
    free(fill);
    return status;
}

su_status su_rotation_field_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets,
                                   int64_t wanted_count, const int32_t *wanted, su_rotation_field **out, su_error *err)
{
    su_status status;
    su_rotation_field *field = NULL;
    int32_t *first = NULL, *next = NULL;
    if (!wanted) wanted_count = n;
    SU_GO(SU_ALLOC(&field, 1, "rotation field", err));
    field->wanted = wanted_count;
    SU_GO(SU_ALLOC(&field->start, wanted_count + 1, "rotation field", err));
    SU_GO(SU_ALLOC(&first, n, "rotation field", err));
    SU_GO(SU_ALLOC(&next, wanted_count, "rotation field", err));
    for (int64_t v = 0; v < n; v++) first[v] = -1;
    for (int64_t k = 0; k < wanted_count; k++) {
        int64_t v = wanted ? wanted[k] : k;
        next[k] = first[v], first[v] = (int32_t)k;
    }
    SU_GO(gather(field, vertices, t, tets, first, next, err));
    *out = field;
    field = NULL;
done:
    free(first);
    free(next);
    su_rotation_field_free(field);
    return status;
}

/* Polar rotation of F = D_s D_m^-1 (PSSD eq. 13). */
static void element_quaternion(const su_rotation_field *field, int64_t e, const double *x, double q[4])
{
    double edges[9], F[9], R[9];
    edges_of(field->corner + 4 * e, x, edges);
    su_mul33(edges, field->inverse + 9 * e, F);
    su_nearest_rotation(F, R);
    su_quaternion_of(R, q);
}

static void vertex_quaternion(const su_rotation_field *field, int64_t k, const double *x, const double *element,
                              double out[4])
{
    double reference[4] = {1, 0, 0, 0}, sum[4] = {0, 0, 0, 0}, own[4];
    for (int64_t a = field->start[k]; a < field->start[k + 1]; a++) {
        int64_t e = field->around[a];
        const double *q = element ? element + 4 * e : own;
        if (!element) element_quaternion(field, e, x, own);
        if (a == field->start[k])
            for (int i = 0; i < 4; i++) reference[i] = q[i];
        double dot = 0;
        for (int i = 0; i < 4; i++) dot += q[i] * reference[i];
        double weight = dot < 0 ? -field->volume[e] : field->volume[e];
        for (int i = 0; i < 4; i++) sum[i] += weight * q[i];
    }
    double length = 0;
    for (int i = 0; i < 4; i++) length += sum[i] * sum[i];
    length = sqrt(length);
    /* No tet around the vertex: the identity. */
    if (length == 0)
        for (int i = 0; i < 4; i++) sum[i] = reference[i], length = 1;
    double scale = sum[0] < 0 ? -1 / length : 1 / length;
    for (int i = 0; i < 4; i++) out[i] = scale * sum[i];
}

void su_rotation_field_evaluate(const su_rotation_field *field, const double *x, double *quaternions, int threads)
{
    /* Without room for the element quaternions each vertex computes those around it: four times the work, same result. */
    double *element = su_calloc(4 * field->touched, sizeof(double));
    if (element) {
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
        for (int64_t e = 0; e < field->touched; e++) element_quaternion(field, e, x, element + 4 * e);
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t k = 0; k < field->wanted; k++) vertex_quaternion(field, k, x, element, quaternions + 4 * k);
    free(element);
}
