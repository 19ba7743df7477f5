#include "fem/transport.h"

#include "core/memory.h"
#include "fem/transport_lanes.h"
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

/* Tets that a thread takes at once. */
enum { GROUP = 64 };

struct su_transport {
    const su_elastic *body;
    const su_carried_kernels *kernels;
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
    s->body = body, s->threads = threads, s->kernels = SU_OF_SET_HERE(su_carried_kernels);
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

/* Of the group that begins there. */
static int64_t end_of(const su_transport *s, int64_t first)
{
    return s->body->t - first < GROUP ? s->body->t : first + GROUP;
}

/* Is energy missing that the motion would feel? */
static bool lacks(const su_transport *s, const su_carried *w, double motion)
{
    double all = 0, off = 0;
    int64_t t = s->body->t;
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1)
    for (int64_t first = 0; first < t; first += GROUP) s->kernels->sizes(w, first, end_of(s, first), s->size);
    for (int64_t e = 0; e < t; e++) all += s->size[2 * e], off += s->size[2 * e + 1];
    return off > ENOUGH * (all + motion);
}

/* Adds to turned, that of w, what takes its gradients nearest to those of u, turned with the tets. */
static su_status mend(su_transport *s, const su_carried *w, double *turned, su_error *err)
{
    const su_elastic *body = s->body;
    if (!s->at) SU_TRY(list_pulls(s, err));
    if (!s->factor) SU_TRY(factor_laplacian(s, err));
#pragma omp parallel num_threads(s->threads) if (s->threads > 1)
    {
#pragma omp for schedule(static)
        for (int64_t first = 0; first < body->t; first += GROUP) s->kernels->pulls(w, first, end_of(s, first), s->pull);
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
        for (int i = 0; i < 3; i++) turned[3 * (int64_t)body->free_vertex[f] + i] += s->mend[3 * f + i];
    return SU_OK;
}

su_status su_transport_mend(su_transport *s, const double *R0, const double *R1, double motion, const double *u,
                            double *turned, su_error *err)
{
    const su_carried w = {.tets = s->body->tets,
                          .inverse = s->body->neutral_inverse,
                          .weight = s->weight,
                          .u = u,
                          .turned = turned,
                          .R0 = R0,
                          .R1 = R1};
    return lacks(s, &w, motion) ? mend(s, &w, turned, err) : SU_OK;
}
