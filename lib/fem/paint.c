#include "fem/paint.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "linalg/cholesky.h"

#include <math.h>
#include <stdlib.h>

/* Couplings across faces, (t,4), 0 at the boundary. */
static void face_couplings(const double *vertices, int64_t t, const int32_t *tets, const int32_t *neighbour,
                           double zeta, double *coupling)
{
    double volume = 0;
    for (int64_t e = 0; e < t; e++) volume += su_tet_volume(vertices, tets + 4 * e);
    double size = cbrt(volume / (double)t);
    for (int64_t e = 0; e < t; e++)
        for (int f = 0; f < 4; f++) {
            int32_t other = neighbour[4 * e + f];
            if (other < 0) continue;
            double between[3] = {0}, ab[3], ac[3], cross[3];
            for (int c = 0; c < 4; c++)
                for (int i = 0; i < 3; i++)
                    between[i] += 0.25 * (vertices[3 * (int64_t)tets[4 * (int64_t)other + c] + i] -
                                          vertices[3 * (int64_t)tets[4 * e + c] + i]);
            const double *a = vertices + 3 * (int64_t)tets[4 * e + su_tet_face[f][0]];
            su_sub3(vertices + 3 * (int64_t)tets[4 * e + su_tet_face[f][1]], a, ab);
            su_sub3(vertices + 3 * (int64_t)tets[4 * e + su_tet_face[f][2]], a, ac);
            su_cross3(ab, ac, cross);
            double distance = fmax(su_norm3(between), 1e-3 * size); /* of two slivers it may vanish */
            coupling[4 * e + f] = 0.5 * zeta * 0.5 * su_norm3(cross) / (distance * size);
        }
}

/* Rows of tets in ascending order, the lower triangle. weight (t): of the data term. */
static su_status assemble(int64_t t, const int32_t *neighbour, const double *coupling, const double *weight,
                          su_sparse *A, su_error *err)
{
    SU_TRY(SU_ALLOC(&A->start, t + 1, "paint", err));
    A->owns_pattern = 1, A->size = t;
    SU_TRY(SU_ALLOC(&A->row, 5 * t, "paint", err));
    SU_TRY(SU_ALLOC(&A->value, 5 * t, "paint", err));
    for (int64_t e = 0; e < t; e++) {
        int64_t begin = A->entries++, diagonal = begin;
        A->row[begin] = e, A->value[begin] = weight[e];
        for (int f = 0; f < 4; f++) {
            int64_t other = neighbour[4 * e + f], at;
            if (other < 0) continue;
            A->value[diagonal] += coupling[4 * e + f];
            if (other < e) continue;
            for (at = A->entries++; at > begin + 1 && A->row[at - 1] > other; at--)
                A->row[at] = A->row[at - 1], A->value[at] = A->value[at - 1];
            A->row[at] = other, A->value[at] = -coupling[4 * e + f];
        }
        A->start[e + 1] = A->entries;
    }
    return SU_OK;
}

/* 1 in tets that hold skin vertices; everywhere in parts of the flesh that hold none, whose data is the mean. */
static su_status data_weights(int64_t t, const int32_t *tets, const int32_t *holds, double *weight, su_error *err)
{
    int32_t *part = NULL;
    uint8_t *painted = NULL;
    int64_t parts;
    su_status status;
    SU_GO(SU_ALLOC(&part, t, "paint", err));
    SU_GO(su_tet_parts(t, tets, part, &parts, err));
    SU_GO(SU_ALLOC(&painted, parts, "paint", err));
    for (int64_t e = 0; e < t; e++) painted[part[e]] |= holds[e] > 0;
    for (int64_t e = 0; e < t; e++) weight[e] = holds[e] > 0 || !painted[part[e]];
done:
    free(part), free(painted);
    return status;
}

su_status su_paint_spread(const su_tet_mesh *mesh, const su_paint_skin *skin, double zeta, int64_t fields,
                          const double *values, double *out, su_error *err)
{
    int64_t t = mesh->t;
    const double *vertices = mesh->x;
    const int32_t *tets = mesh->tets;
    int32_t *neighbour = NULL, *holds = NULL;
    double *coupling = NULL, *weight = NULL;
    su_sparse A = {0};
    su_cholesky *factor = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&neighbour, 4 * t, "paint", err));
    SU_GO(SU_ALLOC(&holds, t, "paint", err));
    SU_GO(SU_ALLOC(&coupling, 4 * t, "paint", err));
    SU_GO(SU_ALLOC(&weight, t, "paint", err));
    for (int64_t v = 0; v < skin->nbar; v++)
        if (!skin->left_out || !skin->left_out[v]) holds[skin->embed_tet[v]]++;
    SU_GO(su_tet_neighbours(t, tets, neighbour, err));
    face_couplings(vertices, t, tets, neighbour, zeta, coupling);
    SU_GO(data_weights(t, tets, holds, weight, err));
    SU_GO(assemble(t, neighbour, coupling, weight, &A, err));
    SU_GO(su_cholesky_create(&A, 1, &factor, err));
    SU_GO(su_cholesky_factorize(factor, &A, err));
    for (int64_t k = 0; k < fields; k++) {
        double *E = out + k * t, mean = 0, low = INFINITY, high = -INFINITY;
        int64_t count = 0;
        for (int64_t e = 0; e < t; e++) E[e] = 0;
        for (int64_t v = 0; v < skin->nbar; v++) {
            if (skin->left_out && skin->left_out[v]) continue;
            double value = values[k * skin->nbar + v];
            E[skin->embed_tet[v]] += value, mean += value, count++;
            low = fmin(low, value), high = fmax(high, value);
        }
        if (!count) {
            status = su_fail(err, SU_INPUT, "no skin vertex has a tet to paint");
            goto done;
        }
        for (int64_t e = 0; e < t; e++) E[e] = holds[e] ? E[e] / holds[e] : weight[e] * mean / (double)count;
        SU_GO(su_cholesky_solve(factor, 1, E, E, err));
        for (int64_t e = 0; e < t; e++) E[e] = fmin(fmax(E[e], low), high); /* but for rounding they are inside */
    }
done:
    su_cholesky_free(factor);
    su_sparse_free(&A);
    free(neighbour), free(holds), free(coupling), free(weight);
    return status;
}
