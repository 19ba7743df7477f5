#include "skin/ex_rotated.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "physics/material.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of the free vertices, the boundary first, each part breadth first over the graph: neighbours near each other.
 */
static su_status number_vertices(const su_ex_rotated_mesh *mesh, su_ex_rotated *body, su_error *err)
{
    su_blocks graph = {0};
    int32_t *first = NULL, *order = NULL;
    int64_t count = 0;
    su_status status;
    SU_GO(SU_ALLOC(&first, mesh->n, "free vertices", err));
    SU_GO(SU_ALLOC(&order, mesh->n, "free vertices", err));
    for (int64_t v = 0; v < mesh->n; v++) {
        first[v] = mesh->held[v] ? -1 : (int32_t)count;
        if (!mesh->held[v]) body->vertex[count++] = (int32_t)v;
    }
    SU_GO(su_blocks_of_tets(first, count, mesh->t, mesh->tets, &graph, err));
    SU_GO(su_blocks_band_order(&graph, order, err));
    for (int64_t k = 0; k < count; k++) order[k] = body->vertex[order[k]];
    body->count = 0;
    for (int interior = 0; interior < 2; interior++) {
        for (int64_t k = 0; k < count; k++) {
            if (mesh->outer[order[k]] == interior) continue;
            body->number[order[k]] = (int32_t)body->count;
            body->vertex[body->count++] = order[k];
        }
        if (!interior) body->outer = body->count;
    }
    for (int64_t v = 0; v < mesh->n; v++)
        if (mesh->held[v]) body->number[v] = -1;
done:
    free(first), free(order);
    su_blocks_free(&graph);
    return status;
}

/* SU_INPUT where a vertex is joined to no held one. */
static su_status check_held(const su_ex_rotated_mesh *mesh, su_error *err)
{
    uint8_t *tied;
    int64_t loose = 0, first = -1;
    SU_TRY(SU_ALLOC(&tied, mesh->n, "held vertices", err));
    memcpy(tied, mesh->held, (size_t)mesh->n);
    for (int64_t v = 0; v < mesh->n; v++) tied[v] = mesh->held[v] != 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t e = 0; e < mesh->t; e++) {
            const int32_t *c = mesh->tets + 4 * e;
            int sum = tied[c[0]] + tied[c[1]] + tied[c[2]] + tied[c[3]];
            if (sum == 0 || sum == 4) continue;
            for (int a = 0; a < 4; a++) tied[c[a]] = 1;
            changed = true;
        }
    }
    for (int64_t v = 0; v < mesh->n; v++)
        if (!tied[v] && loose++ == 0) first = v;
    free(tied);
    if (loose == mesh->n)
        return su_fail(err, SU_INPUT,
                       "no vertex of the flesh is held, so nothing says where it is: supple mesh holds some (--bones, "
                       "--fixed)");
    if (loose > 0)
        return su_fail(err, SU_INPUT,
                       "%lld vertices of the flesh, the first of them %lld, hang on no held vertex, so nothing says "
                       "where they are: supple mesh holds some in every part",
                       (long long)loose, (long long)first);
    return SU_OK;
}

static su_status measure_tets(const su_ex_rotated_mesh *mesh, su_ex_rotated *body, su_error *err)
{
    for (int64_t e = 0; e < mesh->t; e++) {
        const int32_t *c = mesh->tets + 4 * e;
        double edges[9], inverse[9], *g = body->gradient + 12 * e;
        su_tet_edges(mesh->vertices + 3 * (int64_t)c[0], mesh->vertices + 3 * (int64_t)c[1],
                     mesh->vertices + 3 * (int64_t)c[2], mesh->vertices + 3 * (int64_t)c[3], edges);
        body->volume[e] = su_inverse3(edges, inverse) / 6;
        if (!(body->volume[e] > 0))
            return su_fail(err, SU_INPUT, "tet %lld has no positive volume in the neutral shape", (long long)e);
        memcpy(g + 3, inverse, sizeof inverse);
        for (int i = 0; i < 3; i++) g[i] = -(g[3 + i] + g[6 + i] + g[9 + i]);
        body->mu[e] = SU_LAME_MU(mesh->young[e], mesh->poisson[e]);
        body->lambda[e] = SU_LAME_LAMBDA(mesh->young[e], mesh->poisson[e]);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                int32_t row = body->number[c[a]], column = body->number[c[b]];
                body->scatter[16 * e + 4 * a + b] =
                    row < 0 || column < 0 ? -1 : (int32_t)su_blocks_find(&body->pattern, row, column);
            }
    }
    return SU_OK;
}

su_status su_ex_rotated_create(const su_ex_rotated_mesh *mesh, su_ex_rotated *out, su_error *err)
{
    su_ex_rotated body = {.n = mesh->n, .t = mesh->t, .tets = mesh->tets};
    su_status status;
    SU_GO(check_held(mesh, err));
    SU_GO(SU_ALLOC(&body.number, body.n, "elastic mesh", err));
    SU_GO(SU_ALLOC(&body.vertex, body.n, "elastic mesh", err));
    SU_GO(SU_ALLOC(&body.gradient, 12 * body.t, "elastic mesh", err));
    SU_GO(SU_ALLOC(&body.volume, body.t, "elastic mesh", err));
    SU_GO(SU_ALLOC(&body.mu, body.t, "elastic mesh", err));
    SU_GO(SU_ALLOC(&body.lambda, body.t, "elastic mesh", err));
    SU_GO(SU_ALLOC(&body.scatter, 16 * body.t, "elastic mesh", err));
    SU_GO(number_vertices(mesh, &body, err));
    SU_GO(su_blocks_of_tets(body.number, body.count, body.t, body.tets, &body.pattern, err));
    SU_GO(measure_tets(mesh, &body, err));
    *out = body;
    body = (su_ex_rotated){0};
done:
    su_ex_rotated_free(&body);
    return status;
}

void su_ex_rotated_free(su_ex_rotated *body)
{
    if (!body) return;
    free(body->number), free(body->vertex), free(body->gradient), free(body->volume);
    free(body->mu), free(body->lambda), free(body->scatter);
    su_blocks_free(&body->pattern);
    *body = (su_ex_rotated){0};
}

/* F of tet e at x */
static void deformation(const su_ex_rotated *body, int64_t e, const double *x, double F[9])
{
    const double *g = body->gradient + 12 * e;
    for (int i = 0; i < 9; i++) F[i] = 0;
    for (int a = 0; a < 4; a++) {
        const double *p = x + 3 * (int64_t)body->tets[4 * e + a];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) F[3 * i + j] += p[i] * g[3 * a + j];
    }
}

/* tr(R'F - 1) */
static double stretch(const double R[9], const double F[9])
{
    double trace = -3;
    for (int i = 0; i < 9; i++) trace += R[i] * F[i];
    return trace;
}

double su_ex_rotated_energy(const su_ex_rotated *body, const double *R, const double *x)
{
    double energy = 0;
    for (int64_t e = 0; e < body->t; e++) {
        double F[9], square = 0;
        deformation(body, e, x, F);
        for (int i = 0; i < 9; i++) square += (F[i] - R[9 * e + i]) * (F[i] - R[9 * e + i]);
        double trace = stretch(R + 9 * e, F);
        energy += body->volume[e] * (body->mu[e] * square + 0.5 * body->lambda[e] * trace * trace);
    }
    return energy;
}

void su_ex_rotated_force(const su_ex_rotated *body, const double *R, const double *x, double *force)
{
    memset(force, 0, (size_t)(3 * body->count) * sizeof *force);
    for (int64_t e = 0; e < body->t; e++) {
        const double *g = body->gradient + 12 * e, *turn = R + 9 * e;
        double F[9], P[9];
        deformation(body, e, x, F);
        double pull = body->lambda[e] * stretch(turn, F);
        for (int i = 0; i < 9; i++) P[i] = body->volume[e] * (2 * body->mu[e] * (F[i] - turn[i]) + pull * turn[i]);
        for (int a = 0; a < 4; a++) {
            int32_t f = body->number[body->tets[4 * e + a]];
            if (f < 0) continue;
            for (int i = 0; i < 3; i++) force[3 * (int64_t)f + i] -= su_dot3(P + 3 * i, g + 3 * a);
        }
    }
}

void su_ex_rotated_stiffness(const su_ex_rotated *body, const double *R, su_blocks *K)
{
    memset(K->value, 0, (size_t)(9 * K->entries) * sizeof *K->value);
    for (int64_t e = 0; e < body->t; e++) {
        const double *g = body->gradient + 12 * e;
        double turned[12], volume = body->volume[e], mu = 2 * body->mu[e] * volume, lambda = body->lambda[e] * volume;
        for (int a = 0; a < 4; a++) su_mulv3(R + 9 * e, g + 3 * a, turned + 3 * a);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                int32_t at = body->scatter[16 * e + 4 * a + b];
                if (at < 0) continue;
                double *block = K->value + 9 * (int64_t)at, isotropic = mu * su_dot3(g + 3 * a, g + 3 * b);
                for (int i = 0; i < 3; i++) {
                    double along = lambda * turned[3 * a + i];
                    for (int j = 0; j < 3; j++) block[3 * i + j] += along * turned[3 * b + j];
                    block[4 * i] += isotropic;
                }
            }
    }
}
