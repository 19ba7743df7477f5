#include "reduce/anchors.h"

#include "core/memory.h"
#include "reduce/elastic_rows.h"
#include "reduce/stiffening.h"
#include "rig/rbf.h"
#include "rig/rbf_train.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of all pairs of example poses. */
static double mean_distance(const su_pose_space *space)
{
    int64_t m = space->m, s = space->s;
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < i; j++)
            sum += su_param_distance(s, space->fit->params + i * s, space->fit->params + j * s, space->fit->param_scale);
    return m > 1 ? 2 * sum / (double)(m * (m - 1)) : 0;
}

static bool far_from_all(const su_pose_space *space, const su_anchors *anchors, const double *p, double least)
{
    for (int64_t k = 0; k < anchors->count; k++)
        if (su_param_distance(space->s, anchors->params + k * space->s, p, space->fit->param_scale) <= least) return false;
    return true;
}

/* Where the basis is a few per cent too stiff it stays so: freed of it, motions leave out what they would take with them, and what tets
 * answer to that in large rotations is more than a few per cent. */
static double share_unlocked(const su_stiffening *found)
{
    const double none = 0.05, all = 0.15;
    double x = fmin(fmax((found->largest - none) / (all - none), 0), 1);
    return x * x * (3 - 2 * x);
}

/* Stiffness at the places of out->place, each by itself. */
typedef struct factory {
    const su_training_places *places;
    int64_t unlock;
    su_stiffness_probe **probes;   /* (workers) made when first needed */
    su_anchors *out;
} factory;

static su_status stiffness_at(void *context, su_pose_space *space, int worker, int64_t anchor, su_error *err)
{
    factory *f = context;
    const su_place *place = &f->places->place[f->out->place[anchor]];
    int64_t size = space->r * space->r;
    double *stiffness = f->out->stiffness + anchor * size, *free_of_locking;
    su_stiffening found = {0, 0};
    if (f->unlock == 0 || place->pose >= 0) return su_place_stiffness(space, place, stiffness, err);
    if (!f->probes[worker]) SU_TRY(su_stiffness_probe_create(space, f->unlock, &f->probes[worker], err));
    SU_TRY(SU_ALLOC(&free_of_locking, size, "stiffness anchors", err));
    su_status status = su_unlocked_stiffness(f->probes[worker], place, stiffness, free_of_locking, &found, err);
    double share = share_unlocked(&found);
    for (int64_t i = 0; i < size && status == SU_OK; i++) stiffness[i] += share * (free_of_locking[i] - stiffness[i]);
    free(free_of_locking);
    return status;
}

su_status su_anchors_create(su_pose_space *space, const su_training_places *places, int64_t unlock, su_anchors *out,
                            su_error *err)
{
    int64_t s = space->s, size = space->r * space->r;
    double least = fmax(0.01 * mean_distance(space), 1e-6);
    int workers = su_pose_space_workers(space, places->count);
    factory f = {.places = places, .unlock = unlock, .out = out};
    su_status status;
    *out = (su_anchors){0};
    SU_GO(SU_ALLOC(&f.probes, workers, "stiffness anchors", err));
    SU_GO(SU_ALLOC(&out->params, places->count * s, "stiffness anchors", err));
    SU_GO(SU_ALLOC(&out->stiffness, places->count * size, "stiffness anchors", err));
    SU_GO(SU_ALLOC(&out->place, places->count, "stiffness anchors", err));
    for (int64_t a = 0; a < places->count; a++) {
        const su_place *place = &places->place[a];
        if (place->pose < 0 && !far_from_all(space, out, place->p, least)) continue;
        memcpy(out->params + out->count * s, place->p, (size_t)s * sizeof *out->params);
        out->place[out->count++] = a;
    }
    SU_GO(su_pose_space_each(space, out->count, stiffness_at, &f, NULL, err));
    SU_GO(SU_ALLOC(&out->rbf, out->count * out->count, "stiffness anchors", err));
    SU_GO(su_rbf_train(out->count, s, out->params, space->fit->param_scale, out->rbf, err));
done:
    for (int k = 0; f.probes && k < workers; k++) su_stiffness_probe_free(f.probes[k]);
    free(f.probes);
    if (status != SU_OK) su_anchors_free(out);
    return status;
}

void su_anchors_free(su_anchors *anchors)
{
    free(anchors->params), free(anchors->rbf), free(anchors->stiffness), free(anchors->place);
    *anchors = (su_anchors){0};
}

/* B (9,r): what each mode makes of the deformation gradient of tet e; P (9,r): the stress that answers it, times the volume. */
static void strain_and_stress(const su_pose_space *space, const double *U, int64_t e, double weight, double *B, double *P)
{
    const su_elastic *elastic = &space->elastic;
    const int32_t *tet = elastic->tets + 4 * e;
    const double *g = elastic->inverse + 9 * e;
    int64_t r = space->r, n = space->n;
    double mu = weight * elastic->volume[e] * elastic->mu[e], lambda = weight * elastic->volume[e] * elastic->lambda[e];
    memset(B, 0, (size_t)(9 * r) * sizeof *B);
    for (int64_t k = 0; k < r; k++) {
        for (int c = 0; c < 3; c++)
            for (int a = 0; a < 3; a++) {
                double d = U[3 * (k * n + tet[c + 1]) + a] - U[3 * (k * n + tet[0]) + a];
                for (int b = 0; b < 3; b++) B[(3 * a + b) * r + k] += d * g[3 * c + b];
            }
        double pressure = lambda * (B[k] + B[4 * r + k] + B[8 * r + k]);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                P[(3 * a + b) * r + k] = mu * (B[(3 * a + b) * r + k] + B[(3 * b + a) * r + k]) + (a == b ? pressure : 0);
    }
}

su_status su_tets_stiffness(su_pose_space *space, const su_place *place, int64_t count, const int32_t *tets, const double *weights,
                            const uint8_t *apart, double *stiffness, su_error *err)
{
    int64_t r = space->r;
    double *U = NULL, *rotation = NULL, *B = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&U, 3 * r * space->n, "basis", err));
    SU_GO(SU_ALLOC(&rotation, 4 * space->n, "rotations", err));
    SU_GO(SU_ALLOC(&B, 18 * r, "stiffness of tets", err));
    SU_GO(su_pose_space_enter(space, place, U, rotation, err));
    memset(stiffness, 0, (size_t)(r * r) * sizeof *stiffness);
    for (int64_t k = 0; k < count; k++) {
        double weight = 0;
        if (apart && apart[k]) continue;
        for (int64_t i = 0; i < space->m; i++) weight += place->positive[i] * weights[i * count + k];
        strain_and_stress(space, U, tets[k], weight, B, B + 9 * r);
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)r, (int)r, 9, 1, B, (int)r, B + 9 * r, (int)r, 1, stiffness, (int)r);
    }
done:
    free(U), free(rotation), free(B);
    return status;
}

typedef struct chosen_tets {
    const su_training_places *places;
    int64_t count;
    const int32_t *tets;
    const double *weights;
    const uint8_t *apart;
    su_anchors *anchors;
} chosen_tets;

static su_status subtract_at(void *context, su_pose_space *space, int worker, int64_t anchor, su_error *err)
{
    const chosen_tets *c = context;
    int64_t r = space->r;
    double *own, *lack = c->anchors->stiffness + anchor * r * r;
    (void)worker;
    SU_TRY(SU_ALLOC(&own, r * r, "stiffness of tets", err));
    su_status status = su_tets_stiffness(space, &c->places->place[c->anchors->place[anchor]], c->count, c->tets, c->weights, c->apart, own, err);
    for (int64_t i = 0; i < r && status == SU_OK; i++)   /* symmetric bit by bit */
        for (int64_t j = 0; j <= i; j++) lack[i * r + j] = lack[j * r + i] = lack[i * r + j] - 0.5 * (own[i * r + j] + own[j * r + i]);
    free(own);
    return status;
}

su_status su_anchors_subtract(su_pose_space *space, const su_training_places *places, int64_t count, const int32_t *tets,
                              const double *weights, const uint8_t *apart, su_anchors *anchors, su_error *err)
{
    chosen_tets chosen = {places, count, tets, weights, apart, anchors};
    return su_pose_space_each(space, anchors->count, subtract_at, &chosen, NULL, err);
}

void su_anchors_blend(const su_pose_space *space, const su_anchors *anchors, const double *p, double *work, double *stiffness)
{
    int64_t size = space->r * space->r, count = anchors->count;
    double *weights = work, *positive = work + count;
    su_rbf_weights(count, space->s, anchors->params, space->fit->param_scale, anchors->rbf, p, weights);
    su_positive_weights(count, weights, positive);
    su_drawn_back_weights(count, positive, weights);
    memset(stiffness, 0, (size_t)size * sizeof *stiffness);
    for (int64_t k = 0; k < count; k++) cblas_daxpy((int)size, weights[k], anchors->stiffness + k * size, 1, stiffness, 1);
}
