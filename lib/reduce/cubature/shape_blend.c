#include "reduce/cubature/shape_blend.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/tetmesh.h"
#include "linalg/cholesky.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct su_shape_blend {
    su_tet_mesh mesh; /* borrowed */
    double *gradient; /* (t,4,3) of the corners' shape functions, neutral shape */
    double *volume;   /* (t) */
    double *anchor;   /* (n) weak pull to the mean of both shapes: fixes the translation of each component */
    su_sparse laplacian;
    su_cholesky *factor;
    int32_t *tree;   /* (t) tets in breadth-first order over shared vertices */
    int32_t *parent; /* (t) tet that each tet takes its way round from, -1: none */
};

void su_shape_blend_free(su_shape_blend *blend)
{
    if (!blend) return;
    free(blend->gradient), free(blend->volume), free(blend->anchor), free(blend->tree), free(blend->parent);
    su_sparse_free(&blend->laplacian);
    su_cholesky_free(blend->factor);
    free(blend);
}

/* Plus the anchors: its lower triangle. */
static su_status make_laplacian(su_shape_blend *blend, su_error *err)
{
    int64_t n = blend->mesh.n;
    su_laplacian whole;
    su_sparse *L = &blend->laplacian;
    SU_TRY(su_laplacian_create(&blend->mesh, &whole, NULL, err));
    L->size = n, L->owns_pattern = 1;
    su_status status = SU_ALLOC_ALL("Laplacian", err, SU_WANT(L->start, n + 1), SU_WANT(L->row, whole.start[n]),
                                    SU_WANT(L->value, whole.start[n]));
    for (int64_t v = 0; v < n && status == SU_OK; v++) {
        for (int64_t k = whole.start[v]; k < whole.start[v + 1]; k++) {
            if (whole.column[k] < v) continue;
            L->row[L->entries] = whole.column[k], L->value[L->entries] = whole.value[k];
            if (whole.column[k] == v) L->value[L->entries] += blend->anchor[v];
            L->entries++;
        }
        L->start[v + 1] = L->entries;
    }
    su_laplacian_free(&whole);
    return status;
}

/* Breadth-first over shared vertices, from the lowest-numbered tet of each component. */
static su_status make_tree(su_shape_blend *blend, su_error *err)
{
    const int32_t *tets = blend->mesh.tets;
    int64_t n = blend->mesh.n, t = blend->mesh.t, *start = NULL, head = 0, tail = 0;
    int32_t *around = NULL;
    bool *opened = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("mesh graph", err, SU_WANT(blend->tree, t), SU_WANT(blend->parent, t), SU_WANT(start, n + 1),
                       SU_WANT(around, 4 * t), SU_WANT(opened, n)));
    su_simplices_around(n, t, tets, 4, start, around);
    for (int64_t e = 0; e < t; e++) blend->parent[e] = -2;
    for (int64_t seed = 0; seed < t; seed++) {
        if (blend->parent[seed] != -2) continue;
        blend->parent[seed] = -1;
        blend->tree[tail++] = (int32_t)seed;
        while (head < tail) {
            int32_t e = blend->tree[head++];
            for (int c = 0; c < 4; c++) {
                int32_t v = tets[4 * (int64_t)e + c];
                if (opened[v]) continue;
                opened[v] = true;
                for (int64_t k = start[v]; k < start[v + 1]; k++)
                    if (blend->parent[around[k]] == -2) blend->parent[around[k]] = e, blend->tree[tail++] = around[k];
            }
        }
    }
done:
    free(start), free(around), free(opened);
    return status;
}

/* Laplacian entries grow like a length, so what anchors them does: this share of (volume / n)^(1/3), far below the
 * stiffness of any tet, far above round-off. */
static const double ANCHOR = 1e-6;

su_status su_shape_blend_create(const su_tet_mesh *mesh, int threads, su_shape_blend **out, su_error *err)
{
    int64_t n = mesh->n, t = mesh->t;
    su_shape_blend *blend = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&blend, 1, "shape blend", err));
    blend->mesh = *mesh;
    SU_GO(SU_ALLOC_ALL("shape blend", err, SU_WANT(blend->gradient, 12 * t), SU_WANT(blend->volume, t),
                       SU_WANT(blend->anchor, n)));
    double volume = 0;
    for (int64_t e = 0; e < t; e++) {
        blend->volume[e] = su_tet_gradients(mesh->x, mesh->tets + 4 * e, blend->gradient + 12 * e) / 6;
        volume += blend->volume[e];
    }
    for (int64_t v = 0; v < n; v++) blend->anchor[v] = ANCHOR * cbrt(volume / (double)n);
    SU_GO(make_laplacian(blend, err));
    SU_GO(make_tree(blend, err));
    SU_GO(su_cholesky_create(&blend->laplacian, threads, &blend->factor, err));
    SU_GO(su_cholesky_factorize(blend->factor, &blend->laplacian, err));
    *out = blend;
    blend = NULL;
done:
    su_shape_blend_free(blend);
    return status;
}

/* F = R S of one tet in a shape. */
static void polar(const su_shape_blend *blend, int64_t e, const double *x, double R[9], double S[9])
{
    double F[9] = {0};
    for (int a = 0; a < 4; a++) {
        const double *y = x + 3 * (int64_t)blend->mesh.tets[4 * e + a], *g = blend->gradient + 12 * e + 3 * a;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) F[3 * i + j] += y[i] * g[j];
    }
    su_nearest_rotation(F, R);
    su_tmul33(R, F, S);
}

/* Rotation a -> b of each tet as a quaternion whose sign agrees with its parent in the tree, so that angles beyond half
 * a turn are reached by going on, not by going back. */
static void turns(const su_shape_blend *blend, const double *a, const double *b, double *turn)
{
    for (int64_t k = 0; k < blend->mesh.t; k++) {
        int64_t e = blend->tree[k];
        double Ra[9], Rb[9], S[9], R[9], *q = turn + 4 * e;
        polar(blend, e, a, Ra, S);
        polar(blend, e, b, Rb, S);
        su_mult33(Rb, Ra, R);
        su_quaternion_of(R, q);
        if (blend->parent[e] < 0) continue;
        const double *p = turn + 4 * (int64_t)blend->parent[e];
        if (p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3] < 0)
            for (int i = 0; i < 4; i++) q[i] = -q[i];
    }
}

/* Rotation matrix at `fraction` of the turn q, |angle| up to a whole turn. */
static void part_of_turn(const double q[4], double fraction, double R[9])
{
    double sine = su_norm3(q + 1), half = atan2(sine, q[0]), part[4] = {cos(fraction * half), 0, 0, 0};
    double scale = sine > 0 ? sin(fraction * half) / sine : 0;
    for (int i = 0; i < 3; i++) part[i + 1] = scale * q[i + 1];
    su_quaternion_matrix(part, R);
}

su_status su_shape_blend_at(su_shape_blend *blend, const double *a, const double *b, double fraction, double *out,
                            su_error *err)
{
    int64_t n = blend->mesh.n;
    double *turn = NULL, *load = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("shape blend", err, SU_WANT(turn, 4 * blend->mesh.t), SU_WANT(load, 3 * n)));
    turns(blend, a, b, turn);
    for (int64_t v = 0; v < n; v++)
        for (int i = 0; i < 3; i++)
            load[i * n + v] = blend->anchor[v] * ((1 - fraction) * a[3 * v + i] + fraction * b[3 * v + i]);
    for (int64_t e = 0; e < blend->mesh.t; e++) {
        double Ra[9], Rb[9], Sa[9], Sb[9], part[9], R[9], F[9];
        polar(blend, e, a, Ra, Sa);
        polar(blend, e, b, Rb, Sb);
        part_of_turn(turn + 4 * e, fraction, part);
        su_mul33(part, Ra, R);
        for (int i = 0; i < 9; i++) Sa[i] = (1 - fraction) * Sa[i] + fraction * Sb[i];
        su_mul33(R, Sa, F);
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3; i++)
                load[i * n + blend->mesh.tets[4 * e + c]] +=
                    blend->volume[e] * su_dot3(F + 3 * i, blend->gradient + 12 * e + 3 * c);
    }
    SU_GO(su_cholesky_solve(blend->factor, 3, load, load, err));
    for (int64_t v = 0; v < n; v++)
        for (int i = 0; i < 3; i++) out[3 * v + i] = load[i * n + v];
done:
    free(turn), free(load);
    return status;
}
