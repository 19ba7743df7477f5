#include "reduce/cubature/pose_space.h"

#include "core/memory.h"
#include "geometry/box.h"
#include "rig/rbf.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

su_status su_pose_space_create(su_pose_space *space, const su_tet *tet, const su_fit *fit, const su_basis *basis,
                               su_material material, su_interpolation interpolation, int threads, su_error *err)
{
    *space = (su_pose_space){0};
    if (fit->n != tet->n || fit->t != tet->t || basis->n != tet->n)
        return su_fail(err, SU_INPUT,
                       "tet has %lld vertices, fit %lld and basis %lld; they must come from the same mesh",
                       (long long)tet->n, (long long)fit->n, (long long)basis->n);
    if (fit->k != fit->m || (basis->m != fit->m && basis->m != 1) || basis->s != fit->s)
        return su_fail(err, SU_INPUT, "fit has %lld of %lld poses and basis %lld; they must hold the same poses",
                       (long long)fit->k, (long long)fit->m, (long long)basis->m);
    space->tet = tet, space->fit = fit, space->basis = basis, space->threads = threads;
    space->n = tet->n, space->t = tet->t, space->m = fit->m, space->s = fit->s, space->r = basis->r;
    space->rig = su_rig_of_fit(fit);
    space->rig.columns = basis->columns, space->rig.basis_rbf = basis->basis_rbf;
    space->diagonal = su_box_diagonal(tet->n, tet->vertices);
    su_status status;
    SU_GO(su_elastic_of_fit(&space->elastic, tet, fit, material, err));
    space->smoothing = su_fit_smoothing(fit);
    SU_GO(su_rotation_field_create(&(su_tet_mesh){tet->n, tet->t, tet->vertices, tet->tets}, &space->smoothing, 0, NULL,
                                   &space->field, err));
    space->material = material, space->interpolation = interpolation;
    space->bases = (su_pose_bases){
        basis->m, space->r, space->n, basis->basis, basis->rotations, space->elastic.mass, interpolation};
    SU_GO(SU_ROOM(&space->U, 3 * space->r * space->n, "basis", err));
    SU_GO(SU_ROOM(&space->rotation, 4 * space->n, "rotations", err));
done:
    if (status != SU_OK) su_pose_space_free(space);
    return status;
}

void su_pose_space_free(su_pose_space *space)
{
    if (space->tet) su_elastic_free(&space->elastic);
    su_rotation_field_free(space->field);
    free(space->U), free(space->rotation);
    *space = (su_pose_space){0};
}

void su_place_free(su_place *place)
{
    free(place->p), free(place->w), free(place->positive), free(place->b), free(place->rest);
    *place = (su_place){0};
}

su_status su_place_create(const su_pose_space *space, int64_t pose, const double *p, const double *rest,
                          su_place *place, su_error *err)
{
    int64_t m = space->m, s = space->s;
    su_status status;
    *place = (su_place){.pose = pose};
    SU_GO(SU_ALLOC_ALL("place in pose space", err, SU_WANT(place->p, s), SU_WANT(place->w, m),
                       SU_WANT(place->positive, m), SU_WANT(place->b, m), SU_WANT(place->rest, 3 * space->n)));
    memcpy(place->p, p, (size_t)s * sizeof *p);
    memcpy(place->rest, rest, (size_t)(3 * space->n) * sizeof *rest);
    if (pose >= 0) {
        place->w[pose] = place->positive[pose] = 1;
        if (space->bases.m > 1) place->b[pose] = 1;
    } else {
        su_rig_weights(&space->rig, p, place->w);
        su_positive_weights(m, place->w, place->positive);
        if (space->bases.m > 1) su_rig_basis_weights(&space->rig, p, place->w, place->b);
    }
    if (space->bases.m == 1) place->b[0] = 1;
done:
    if (status != SU_OK) su_place_free(place);
    return status;
}

su_status su_place_at_pose(const su_pose_space *space, int64_t i, su_place *place, su_error *err)
{
    return su_place_create(space, i, space->fit->params + i * space->s, space->fit->shapes + 3 * i * space->n, place,
                           err);
}

static su_status blend_materials(su_pose_space *space, const su_place *place, su_error *err)
{
    const su_fit *fit = space->fit;
    double *young, *poisson;
    SU_TRY(SU_ALLOC(&young, 2 * space->t, "materials", err));
    poisson = young + space->t;
    for (int64_t i = 0; i < space->m; i++) {
        double w = place->positive[i];
        for (int64_t e = 0; w != 0 && e < space->t; e++) {
            young[e] += w * fit->young[i * space->t + e];
            poisson[e] += w * fit->poisson[i * space->t + e];
        }
    }
    su_elastic_set_material(&space->elastic, young, poisson);
    free(young);
    return SU_OK;
}

su_status su_pose_space_enter(su_pose_space *space, const su_place *place, su_error *err)
{
    double *rotation = space->rotation;
    SU_TRY(blend_materials(space, place, err));
    su_rotation_field_evaluate(space->field, place->rest, rotation, space->threads);
    su_elastic_set_rest(&space->elastic, place->rest, space->smoothing.nodes > 0 ? rotation : NULL, space->threads);
    bool linear = space->bases.mode == SU_LINEAR;
    su_interpolate_basis(&space->bases, linear ? place->w : place->b, rotation, space->U, space->threads);
    for (int64_t k = 0; k < space->r; k++)
        for (int64_t f = 0; f < space->tet->fixed_count; f++)
            for (int i = 0; i < 3; i++) space->U[3 * (k * space->n + space->tet->fixed[f]) + i] = 0;
    return SU_OK;
}

su_status su_pose_space_enter_neutral(su_pose_space *space, su_error *err)
{
    su_place neutral;
    SU_TRY(su_place_at_pose(space, 0, &neutral, err));
    su_status status = su_pose_space_enter(space, &neutral, err);
    su_place_free(&neutral);
    return status;
}

/* How many threads `count` places are spread over: one where the flesh is so large that its factors and bases are not
 * wanted several times. */
static int workers_for(const su_pose_space *space, int64_t count)
{
    enum { LARGE = 100000 }; /* tets */
    if (space->t > LARGE || count < 2) return 1;
    return space->threads < count ? space->threads : (int)count;
}

typedef struct crew {
    su_place_work *work;
    void *context;
    su_progress *progress;
    int64_t count, next, done, failed; /* failed: first place that did, or count */
    su_status status;
    su_error error;
} crew;

static void note(crew *c, int64_t place, su_status status, const su_error *error)
{
    if (status == SU_OK || place >= c->failed) return;
    c->failed = place, c->status = status, c->error = *error;
}

/* One worker, until all places are taken. */
static void serve(crew *c, su_pose_space *own, int worker)
{
    for (;;) {
        int64_t place;
        su_error error = {0};
#pragma omp atomic capture
        place = c->next++;
        bool over;
#pragma omp critical(su_pose_space_each)
        over = place >= c->count || c->failed < c->count;
        if (over) return;
        su_status status = c->work(c->context, own, worker, place, &error);
#pragma omp critical(su_pose_space_each)
        {
            note(c, place, status, &error);
            c->done++;
            error = (su_error){0};
            if (c->progress)
                note(c, place, su_progress_update(c->progress, (double)c->done / (double)c->count, &error), &error);
        }
    }
}

su_status su_pose_space_each(su_pose_space *space, int64_t count, su_place_work *work, void *context,
                             su_progress *progress, su_error *err)
{
    int team = workers_for(space, count);
    crew c = {.work = work, .context = context, .progress = progress, .count = count, .failed = count, .status = SU_OK};
    if (team == 1) {
        serve(&c, space, 0);
    } else {
#pragma omp parallel num_threads(team)
        {
            su_pose_space own;
            su_error error = {0};
            su_status status = su_pose_space_create(&own, space->tet, space->fit, space->basis, space->material,
                                                    space->interpolation, 1, &error);
            if (status == SU_OK) {
                serve(&c, &own, omp_get_thread_num());
            } else {
#pragma omp critical(su_pose_space_each)
                note(&c, -1, status, &error);
            }
            su_pose_space_free(&own);
        }
    }
    if (c.status != SU_OK && err) *err = c.error;
    return c.status;
}
