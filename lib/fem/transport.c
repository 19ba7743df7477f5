#include "fem/transport.h"

#include "core/memory.h"
#include "geometry/svd_lanes.h"
#include "linalg/component_factor.h"

#include <stdlib.h>
#include <string.h>

/* Added to the Laplacian's diagonal, over it, so that flesh that is held nowhere has a factor: far below what ties the
 * stiffest flesh to the softest (1e-5 of its own stiffness), far above rounding. */
#define LIFT 1e-9

/* Energy that may be missing, over that of the strain and of the motion. A walk has 1e-4 at most, a bar of 24 tets that
 * is rolled into itself 0.02, and a tail that its rig turns inside out 0.2 to 300. The solve takes as long as a third
 * of a small step, and reduced motion, which turns by vertices, has nothing like it. */
#define ENOUGH 0.05

struct su_transport {
    const su_elastic *body;
    int threads;
    double *weight; /* (t) mu_e V_e, N m */
    double *size;   /* (t,2) of the strain of each tet and of what is missing, N m */
    /* NULL until something is mended: most shots have nothing to mend */
    su_component_factor *factor; /* of the Laplacian of the free vertices, weighted by mu */
    int64_t *start;              /* (free_count + 1, and one to fill) into at */
    int64_t *at;                 /* of each free vertex, where its part of a tet's pull stands in pull */
    double *pull;                /* (t,12) N of the corners of each tet */
    double *mend;                /* (free_count,3) m */
};

static su_status factor_laplacian(su_transport *s, su_error *err)
{
    const su_elastic *body = s->body;
    su_component_factor *factor = NULL;
    su_sparse laplacian = {0};
    su_status status;
    SU_GO(su_sparse_clone_pattern(&body->pattern, &laplacian, err));
    for (int64_t e = 0; e < body->t; e++) su_elastic_add_laplacian(body, e, s->weight[e], &laplacian);
    for (int64_t j = 0; j < laplacian.size; j++) laplacian.value[laplacian.start[j]] *= 1 + LIFT;
    SU_GO(su_component_factor_create(&body->pattern, &factor, err));
    SU_GO(su_component_factor_set(factor, &laplacian, err));
    s->factor = factor, factor = NULL;
done:
    su_component_factor_free(factor);
    su_sparse_free(&laplacian);
    return status;
}

/* Where the free vertices find what their tets pull them by, tets ascending. */
static su_status list_pulls(su_transport *s, su_error *err)
{
    const su_elastic *body = s->body;
    SU_TRY(SU_ALLOC(&s->pull, 12 * body->t, "carried displacement", err));
    SU_TRY(SU_ALLOC(&s->mend, 3 * body->free_count, "carried displacement", err));
    SU_TRY(SU_ALLOC(&s->start, body->free_count + 2, "carried displacement", err));
    SU_TRY(SU_ALLOC(&s->at, 4 * body->t, "carried displacement", err));
    int64_t *fill = s->start + 1; /* where a vertex ends, once all are in */
    for (int64_t k = 0; k < 4 * body->t; k++)
        if (body->free_index[body->tets[k]] >= 0) fill[body->free_index[body->tets[k]] + 1]++;
    for (int64_t f = 0; f < body->free_count; f++) fill[f + 1] += fill[f];
    for (int64_t k = 0; k < 4 * body->t; k++)
        if (body->free_index[body->tets[k]] >= 0) s->at[fill[body->free_index[body->tets[k]]]++] = 3 * k;
    return SU_OK;
}

su_status su_transport_create(const su_elastic *body, int threads, su_transport **out, su_error *err)
{
    su_transport *s = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "carried displacement", err));
    s->body = body, s->threads = threads;
    SU_GO(SU_ALLOC(&s->weight, body->t, "carried displacement", err));
    SU_GO(SU_ALLOC(&s->size, 2 * body->t, "carried displacement", err));
    for (int64_t e = 0; e < body->t; e++) s->weight[e] = body->mu[e] * body->neutral_volume[e];
    *out = s;
    s = NULL;
done:
    su_transport_free(s);
    return status;
}

void su_transport_free(su_transport *s)
{
    if (!s) return;
    su_component_factor_free(s->factor);
    free(s->weight), free(s->start), free(s->at), free(s->pull), free(s->size), free(s->mend);
    free(s);
}

/* A displacement on its way: u, where it comes from and turned vertex by vertex, and R_e at both rest shapes. */
typedef struct way {
    const double *u, *R0, *R1;
    double *turned;
} way;

/* 2E of a displacement gradient C, squared and summed */
SU_INLINE lanes twice_strain(const lanes C[9])
{
    lanes sum = {0};
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            lanes E = C[3 * i + j] + C[3 * j + i] + column_dot(C, i, j);
            sum += i == j ? E * E : 2.0 * E * E;
        }
    return sum;
}

/* Of eight tets from `first` on, as far as there are: the gradient that u has, turned with the tet, and `turned` lacks.
 * measure: its size and that of the strain, mu V |.|^2, into s->size; else what pulls the corners, into s->pull. */
SU_INLINE void eight_tets(const su_transport *s, int64_t first, const way *w, bool measure)
{
    const su_elastic *body = s->body;
    int64_t some = body->t - first < SU_SVD_LANES ? body->t - first : SU_SVD_LANES;
    lanes g[12], x[12], y[12], R0[9], R1[9], mu = {0}, H[9] = {0}, G[9] = {0}, C[9], off = {0};
    for (int64_t l = 0; l < SU_SVD_LANES; l++) {
        int64_t e = first + (l < some ? l : 0);
        const int32_t *tet = body->tets + 4 * e;
        for (int i = 0; i < 12; i++) {
            int64_t at = 3 * (int64_t)tet[i / 3] + i % 3;
            x[i][l] = w->u[at], y[i][l] = w->turned[at];
        }
        for (int i = 0; i < 9; i++) g[3 + i][l] = body->neutral_inverse[9 * e + i];
        for (int i = 0; i < 9; i++) R0[i][l] = w->R0[9 * e + i], R1[i][l] = w->R1[9 * e + i];
        mu[l] = s->weight[e];
    }
    for (int a = 1; a < 4; a++)
        for (int i = 0; i < 9; i++) {
            H[i] += (x[3 * a + i / 3] - x[i / 3]) * g[3 * a + i % 3];
            G[i] += (y[3 * a + i / 3] - y[i / 3]) * g[3 * a + i % 3];
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = R0[i] * H[j] + R0[3 + i] * H[3 + j] + R0[6 + i] * H[6 + j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            G[3 * i + j] = R1[3 * i] * C[j] + R1[3 * i + 1] * C[3 + j] + R1[3 * i + 2] * C[6 + j] - G[3 * i + j];
            off += G[3 * i + j] * G[3 * i + j];
        }
    if (measure) {
        lanes all = 0.25 * mu * twice_strain(C);
        off *= mu;
        for (int64_t l = 0; l < some; l++) s->size[2 * (first + l)] = all[l], s->size[2 * (first + l) + 1] = off[l];
        return;
    }
    for (int i = 0; i < 3; i++) {
        lanes sum = {0};
        for (int a = 1; a < 4; a++) {
            const lanes *row = G + 3 * i, *at = g + 3 * a;
            x[3 * a + i] = mu * (row[0] * at[0] + row[1] * at[1] + row[2] * at[2]), sum -= x[3 * a + i];
        }
        x[i] = sum;
    }
    for (int64_t l = 0; l < some; l++)
        for (int i = 0; i < 12; i++) s->pull[12 * (first + l) + i] = x[i][l];
}

SU_CLONES static void measure_tets(const su_transport *s, int64_t first, const way *w)
{
    eight_tets(s, first, w, true);
}

SU_CLONES static void pull_tets(const su_transport *s, int64_t first, const way *w) { eight_tets(s, first, w, false); }

/* Is energy missing that the motion would feel? */
static bool lacks(const su_transport *s, const way *w, double motion)
{
    double all = 0, off = 0;
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1)
    for (int64_t first = 0; first < s->body->t; first += SU_SVD_LANES) measure_tets(s, first, w);
    for (int64_t e = 0; e < s->body->t; e++) all += s->size[2 * e], off += s->size[2 * e + 1];
    return off > ENOUGH * (all + motion);
}

/* Adds to w->turned what takes its gradients nearest to those of u, turned with the tets. */
static su_status mend(su_transport *s, const way *w, su_error *err)
{
    const su_elastic *body = s->body;
    if (!s->at) SU_TRY(list_pulls(s, err));
    if (!s->factor) SU_TRY(factor_laplacian(s, err));
#pragma omp parallel num_threads(s->threads) if (s->threads > 1)
    {
#pragma omp for schedule(static)
        for (int64_t first = 0; first < body->t; first += SU_SVD_LANES) pull_tets(s, first, w);
#pragma omp for schedule(static)
        for (int64_t f = 0; f < body->free_count; f++) {
            double sum[3] = {0};
            for (int64_t k = s->start[f]; k < s->start[f + 1]; k++)
                for (int i = 0; i < 3; i++) sum[i] += s->pull[s->at[k] + i];
            memcpy(s->mend + 3 * f, sum, sizeof sum);
        }
    }
    SU_TRY(su_component_factor_solve(s->factor, s->mend, s->mend, err));
    for (int64_t f = 0; f < body->free_count; f++)
        for (int i = 0; i < 3; i++) w->turned[3 * (int64_t)body->free_vertex[f] + i] += s->mend[3 * f + i];
    return SU_OK;
}

su_status su_transport_mend(su_transport *s, const double *R0, const double *R1, double motion, const double *u,
                            double *turned, su_error *err)
{
    const way w = {.u = u, .R0 = R0, .R1 = R1, .turned = turned};
    return lacks(s, &w, motion) ? mend(s, &w, err) : SU_OK;
}
