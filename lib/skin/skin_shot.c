#include "skin/skin_shot.h"

#include "core/memory.h"
#include "fem/fullsim.h"
#include "geometry/box.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"
#include "physics/loads.h"
#include "rig/rest_shape.h"
#include "skin/contact_springs.h"
#include "skin/tet_rotations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Newton steps after which contacts count as not settled, and the share of the first error at which a step's solve ends
 * while they come and go. Steps of `surface` leave more than that whatever their solves do. */
enum { MOST_STEPS = 200 };
static const double INEXACT = 0.01, INEXACT_SURFACE = 0.05;
/* Diagonals by which contacts may still move flesh when they count as settled: a pixel of a picture of 2,000. */
static const double SETTLED = 5e-4;

struct su_skin_shot {
    const su_tet *tet;
    const su_fit *fit;
    su_skin_source source;
    int64_t B;                       /* bones */
    const double *bones, *bone_rest; /* (frames,B,16), (B,16) of the source; NULL: none */
    su_rig_space rig;
    su_rest_shape rest;
    su_skin_options options;
    su_ex_rotated body;
    su_skin_factors *factors;
    su_bone_weights weights;   /* bones 0: the rest shape turns the tets */
    su_contact_body contact;   /* with self-contact; n = 0 without */
    double *contact_stiffness; /* (n) N/m^3 */
    double *neutral;           /* (nbar,3) */
    double tolerance;          /* m */
    double diagonal;           /* of the neutral flesh, m */
};

/* What one thread works with. */
typedef struct worker {
    const su_skin_shot *of;
    su_pose_solver *solver;
    su_rotation_field *field;
    su_smoothing smoothing;
    su_loads loads;
    double *skin, *p, *bones;  /* (nbar,3), (s), (B,4) */
    double *x, *rest, *turn;   /* (n,3), (n,3), (n,4) */
    double *Q, *R, *before;    /* (n,9), (t,9), (n,9): rotations, those of the frame before */
    su_contact_finder *finder; /* NULL: no self-contact */
    su_kept_pairs kept;        /* of the frame */
    su_spring_list springs;
    su_skin_frame frame;
    int64_t last; /* the frame that u belongs to; -1: none */
    su_arena arena;
} worker;

/* ---- creation ---- */

static su_status find_weights(su_skin_shot *s, su_error *err)
{
    const su_tet *tet = s->tet;
    int32_t *bone_of;
    bool any = false;
    if (!tet->fixed_bone || !s->bones || !s->bone_rest) return SU_OK;
    SU_TRY(SU_ALLOC(&bone_of, tet->n, "bones of vertices", err));
    memset(bone_of, -1, (size_t)tet->n * sizeof *bone_of);
    for (int64_t k = 0; k < tet->fixed_count; k++) {
        if (tet->fixed_bone[k] >= s->B) {
            free(bone_of);
            return su_fail(err, SU_INPUT, "bone %d holds flesh, but the motion has %lld bones", (int)tet->fixed_bone[k],
                           (long long)s->B);
        }
        bone_of[tet->fixed[k]] = tet->fixed_bone[k];
        any = any || tet->fixed_bone[k] >= 0;
    }
    su_status status = any ? su_bone_weights_create(&(su_tets){tet->n, tet->t, tet->vertices, tet->tets}, s->B, bone_of,
                                                    s->options.threads, &s->weights, err)
                           : SU_OK;
    free(bone_of);
    return status;
}

/* The boundary, and every vertex that something outside pushes. */
static void mark_outer(const su_skin_shot *s, uint8_t *outer)
{
    const su_external *external = s->options.external;
    for (int64_t k = 0; k < 3 * s->tet->b; k++) outer[s->tet->surface[k]] = 1;
    for (int64_t k = 0; external && k < external->points; k++)
        for (int i = 0; i < 4; i++) outer[s->tet->tets[4 * (int64_t)s->tet->embed_tet[external->vertex[k]] + i]] = 1;
}

static su_status create_body(su_skin_shot *s, su_error *err)
{
    const su_tet *tet = s->tet;
    uint8_t *held = NULL, *outer = NULL;
    double *young = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&held, tet->n, "held vertices", err));
    SU_GO(SU_ALLOC(&outer, tet->n, "held vertices", err));
    SU_GO(SU_ALLOC(&young, tet->t, "moduli", err));
    for (int64_t k = 0; k < tet->fixed_count; k++) held[tet->fixed[k]] = 1;
    mark_outer(s, outer);
    for (int64_t e = 0; e < tet->t; e++) young[e] = s->options.stiffness * s->fit->young[e];
    su_ex_rotated_mesh mesh = {tet->n, tet->t, tet->vertices, tet->tets, held, outer, young, s->fit->poisson};
    SU_GO(su_ex_rotated_create(&mesh, &s->body, err));
    s->diagonal = su_box_diagonal(tet->n, tet->vertices);
    s->tolerance = s->options.tolerance * s->diagonal;
    if (s->options.self_contact) {
        SU_GO(su_contact_body_create(tet->n, tet->vertices, tet->t, tet->tets, &s->contact, err));
        SU_GO(SU_ALLOC(&s->contact_stiffness, tet->n, "contact stiffness", err));
        su_contact_stiffness(&s->contact, young, s->fit->poisson, s->contact_stiffness);
    }
done:
    free(held), free(outer), free(young);
    return status;
}

su_status su_skin_shot_create(const su_tet *tet, const su_fit *fit, const su_skin_source *source,
                              const su_skin_options *options, su_skin_shot **out, su_error *err)
{
    su_skin_shot *s = NULL;
    su_status status;
    *out = NULL;
    SU_TRY(su_check_whole_fit(tet, fit, err));
    SU_GO(SU_ALLOC(&s, 1, "the shot", err));
    s->tet = tet, s->fit = fit, s->source = *source, s->options = *options;
    const su_anim *anim = source->anim;
    const su_poses *poses = source->poses;
    s->B = poses ? poses->B : anim->B;
    s->bones = poses ? poses->bones : anim->bones, s->bone_rest = poses ? poses->bone_rest : anim->bone_rest;
    s->rig = su_rig_of_fit(fit);
    SU_GO(SU_ALLOC(&s->neutral, 3 * tet->nbar, "the neutral skin", err));
    su_embedded_neutral(tet, s->neutral);
    s->rest = (su_rest_shape){
        tet->n,          fit->m, tet->ties, tet->vertices, s->neutral, tet->shepard_index, tet->shepard_weight,
        fit->corrections};
    SU_GO(create_body(s, err));
    SU_GO(find_weights(s, err));
    SU_GO(su_skin_factors_create(&s->body, options->method, options->rings, options->threads, &s->factors, err));
    *out = s;
    s = NULL;
done:
    su_skin_shot_free(s);
    return status;
}

void su_skin_shot_free(su_skin_shot *s)
{
    if (!s) return;
    su_skin_factors_free(s->factors);
    su_bone_weights_free(&s->weights);
    su_ex_rotated_free(&s->body);
    su_contact_body_free(&s->contact);
    free(s->contact_stiffness);
    free(s->neutral);
    free(s);
}

bool su_skin_shot_has_bones(const su_skin_shot *s) { return s->weights.bones > 0; }

static su_status worker_create(const su_skin_shot *s, worker *w, su_error *err)
{
    int64_t n = s->tet->n, points = s->options.external ? s->options.external->points : 0;
    su_arena *arena = &w->arena;
    w->of = s, w->last = -1;
    struct {
        double **array;
        int64_t count;
    } arrays[] = {{&w->skin, 3 * s->tet->nbar},
                  {&w->p, s->fit->s + 1},
                  {&w->bones, 4 * (s->B + 1)},
                  {&w->x, 3 * n},
                  {&w->rest, 3 * n},
                  {&w->turn, 4 * n},
                  {&w->Q, 9 * n},
                  {&w->before, 9 * n},
                  {&w->R, 9 * s->tet->t},
                  {&w->frame.u, 3 * n},
                  {&w->frame.w, s->fit->m}};
    bool good = true;
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        good = (*arrays[k].array = su_arena_alloc(arena, arrays[k].count, sizeof(double))) && good;
    if (!good) return su_fail(err, SU_AGAIN, "no memory for %lld flesh vertices", (long long)n);
    w->smoothing = su_fit_smoothing(s->fit);
    SU_TRY(su_rotation_field_create(&(su_tet_mesh){n, s->tet->t, s->tet->vertices, s->tet->tets}, &w->smoothing, 0,
                                    NULL, &w->field, err));
    if (points > 0)
        SU_TRY(
            su_loads_create(s->options.external, s->tet->embed_tet, s->tet->embed_bary, s->tet->tets, &w->loads, err));
    if (s->options.self_contact) {
        SU_TRY(su_contact_finder_create(&s->contact, 1, &w->finder, err));
        su_contact_finder_set_stiffness(w->finder, s->contact_stiffness);
        SU_TRY(su_contact_finder_allow_copies(w->finder, err));
        SU_TRY(su_kept_pairs_create(&s->contact, w->finder, &w->kept, err));
    }
    return su_pose_solver_create(s->factors, &w->solver, err);
}

static void worker_free(worker *w)
{
    su_pose_solver_free(w->solver);
    su_rotation_field_free(w->field);
    su_loads_free(&w->loads);
    su_kept_pairs_free(&w->kept);
    su_contact_finder_free(w->finder);
    free(w->springs.spring);
    su_arena_free(&w->arena);
}

/* ---- contacts ---- */

static void place(const worker *w, int64_t k, const double *x, double y[3])
{
    double a[3] = {0, 0, 0};
    for (int i = 0; i < 4; i++) {
        int64_t v = w->loads.corner[4 * k + i];
        for (int c = 0; c < 3; c++) a[c] += w->loads.bary[4 * k + i] * (x[3 * v + c] - w->rest[3 * v + c]);
    }
    su_loads_place(&w->loads, k, a, y);
}

static int64_t find_contacts(void *context, const double *x, const su_spring **springs, double *energy)
{
    worker *w = context;
    w->springs.count = 0;
    *energy = 0;
    for (int64_t k = 0; w->loads.external && k < w->loads.external->points; k++) {
        su_spring *spring = su_spring_next(&w->springs);
        double y[3], push = 0;
        if (!spring) return -1;
        place(w, k, x, y);
        *energy += su_loads_evaluate(&w->loads, k, y, spring->force, spring->H);
        for (int c = 0; c < 3; c++) push += fabs(spring->force[c]);
        if (push == 0) continue;
        spring->stiffness = 0;
        memcpy(spring->vertex, w->loads.corner + 4 * k, sizeof spring->vertex);
        memcpy(spring->weight, w->loads.bary + 4 * k, sizeof spring->weight);
        w->springs.count++;
    }
    if (w->finder && su_springs_of_kept(&w->kept, x, SU_SKIN_SIDEWAYS, &w->springs, energy) < 0) return -1;
    *springs = w->springs.spring;
    return w->springs.count;
}

static su_status meet_contacts(void *context, const double *x, bool anew, su_error *err)
{
    worker *w = context;
    if (anew) su_kept_pairs_begin(&w->kept, NULL);
    return su_kept_pairs_aim(&w->kept, x, err);
}

/* Does the rig lead the vertex and all that it presses on? */
static bool held_by_rig(const worker *w, const su_contact_pair *pair)
{
    const int32_t *number = w->of->body.number, *corner = w->of->contact.surface + 3 * (int64_t)pair->triangle;
    return number[pair->vertex] < 0 && number[corner[0]] < 0 && number[corner[1]] < 0 && number[corner[2]] < 0;
}

static su_status measure_depth(worker *w, su_error *err)
{
    const su_contact_pair *pairs;
    int64_t count;
    w->frame.deepest = w->frame.deepest_held = 0;
    if (!w->finder) return SU_OK;
    SU_TRY(su_contact_find(w->finder, w->x, &pairs, &count, err));
    for (int64_t k = 0; k < count; k++) {
        double *deepest = held_by_rig(w, pairs + k) ? &w->frame.deepest_held : &w->frame.deepest;
        *deepest = fmax(*deepest, pairs[k].depth - pairs[k].allowed);
    }
    return SU_OK;
}

/* ---- a frame ---- */

static void pose(worker *w, int64_t frame)
{
    const su_skin_shot *s = w->of;
    double Q[9], c[3];
    if (s->source.poses) {
        memcpy(w->rest, s->fit->shapes + 3 * s->tet->n * frame, (size_t)(3 * s->tet->n) * sizeof *w->rest);
    } else {
        su_shot_sample(s->source.shot, frame, 0, w->p, Q, c);
        su_shot_sample_skin(s->source.shot, frame, 0, 0, NULL, 1, w->skin);
        su_rig_weights(&s->rig, w->p, w->frame.w);
        su_rest_shape_evaluate(&s->rest, s->tet->n, NULL, w->skin, w->frame.w, w->rest);
    }
    if (su_skin_shot_has_bones(s)) {
        for (int64_t b = 0; b < s->B; b++) {
            double from[9], to[9], inverse[9], A[9], R[9];
            for (int i = 0; i < 9; i++) {
                from[i] = s->bone_rest[16 * b + 4 * (i / 3) + i % 3];
                to[i] = s->bones[16 * (frame * s->B + b) + 4 * (i / 3) + i % 3];
            }
            memset(A, 0, sizeof A);
            if (su_inverse3(from, inverse) != 0) su_mul33(to, inverse, A);
            su_nearest_rotation(A, R);
            su_quaternion_of(R, w->bones + 4 * b);
        }
        su_bone_weights_rotate(&s->weights, w->bones, w->Q, w->R);
    } else {
        su_rotation_field_evaluate(w->field, w->rest, w->turn, 1);
        su_vertex_rotations(s->tet->n, s->tet->t, s->tet->tets, w->turn, w->Q, w->R);
    }
    if (!w->loads.external) return;
    w->loads.t = s->source.anim->times[frame], w->loads.h = 0;
    memcpy(w->loads.Q, Q, sizeof Q);
    memcpy(w->loads.c, c, sizeof c);
    for (int64_t k = 0; k < w->loads.external->points; k++) {
        memcpy(w->loads.skin + 3 * k, w->skin + 3 * (int64_t)w->loads.external->vertex[k], 3 * sizeof(double));
        place(w, k, w->rest, w->loads.now + 3 * k);
        su_loads_prepare(&w->loads, k, w->loads.now + 3 * k);
    }
}

/* x: the rig's shape, or where the frame before ended, turned along; held vertices are the rig's. */
static void start(worker *w, bool previous)
{
    const su_skin_shot *s = w->of;
    memcpy(w->x, w->rest, (size_t)(3 * s->tet->n) * sizeof *w->x);
    for (int64_t v = 0; v < s->tet->n && previous; v++) {
        double back[3];
        su_tmulv3(w->before + 9 * v, w->frame.u + 3 * v, back);
        su_mulv3(w->Q + 9 * v, back, back);
        for (int c = 0; c < 3 && s->body.number[v] >= 0; c++) w->x[3 * v + c] += back[c];
    }
}

static su_status solve_frame(worker *w, int64_t frame, bool previous, su_error *err)
{
    const su_skin_shot *s = w->of;
    su_skin_contacts contacts = {find_contacts, w->finder ? meet_contacts : NULL, w};
    if (w->finder) su_kept_pairs_begin(&w->kept, NULL);
    su_equilibrium_settings settings = {.tolerance = s->tolerance,
                                        .settled = SETTLED * s->diagonal,
                                        .inexact = s->options.method == SU_SKIN_SURFACE ? INEXACT_SURFACE : INEXACT,
                                        .most = MOST_STEPS,
                                        .surface = s->options.method == SU_SKIN_SURFACE,
                                        .near = previous || s->options.posed};
    if (s->options.posed) settings.rest = w->rest;
    su_equilibrium_result result;
    memcpy(w->before, w->Q, (size_t)(9 * s->tet->n) * sizeof *w->Q);
    pose(w, frame);
    start(w, previous);
    su_status status = su_pose_solver_set(w->solver, w->R, w->Q, err);
    if (status == SU_OK)
        status = su_equilibrium_find(w->solver, &s->body, w->R, w->loads.external || w->finder ? &contacts : NULL,
                                     &settings, w->x, &result, err);
    if (status != SU_OK && status != SU_NUMERICS) return status;
    if (status == SU_NUMERICS) { /* this frame follows the rig; its status says so */
        memcpy(w->x, w->rest, (size_t)(3 * s->tet->n) * sizeof *w->x);
        result = (su_equilibrium_result){.elastic = su_ex_rotated_energy(&s->body, w->R, w->x)};
    }
    for (int64_t i = 0; i < 3 * s->tet->n; i++) w->frame.u[i] = w->x[i] - w->rest[i];
    w->frame.elastic = result.elastic, w->frame.steps = result.steps, w->frame.springs = result.springs;
    w->frame.status = status == SU_NUMERICS ? SU_STATUS_FAILED : result.converged ? SU_STATUS_OK : SU_STATUS_HALVED;
    return measure_depth(w, err);
}

/* One run of frames that may begin from each other, [run SU_SKIN_RUN, (run + 1) SU_SKIN_RUN) cut to [from, to). */
static su_status solve_run(worker *w, int64_t run, int64_t from, int64_t to, su_skin_done *done, void *context,
                           su_error *err)
{
    bool previous = w->of->options.start == SU_SKIN_FROM_PREVIOUS;
    int64_t first = run * SU_SKIN_RUN, last = first + SU_SKIN_RUN < to ? first + SU_SKIN_RUN : to;
    for (int64_t k = previous ? first : first > from ? first : from; k < last; k++) {
        SU_TRY(solve_frame(w, k, previous && k > first && !su_shot_cut(w->of->source.shot, k), err));
        if (k < from) continue;
        su_status status;
#pragma omp critical(su_skin_done)
        status = done(context, k, &w->frame, err);
        SU_TRY(status);
    }
    return SU_OK;
}

static void add_counts(const su_pose_counts *from, su_pose_counts *to)
{
    to->stiffness += from->stiffness, to->solves += from->solves, to->iterations += from->iterations;
    to->interior_solves += from->interior_solves, to->interior_iterations += from->interior_iterations;
    to->factorizations += from->factorizations, to->stiffness_seconds += from->stiffness_seconds;
    to->solve_seconds += from->solve_seconds, to->interior_seconds += from->interior_seconds;
}

su_status su_skin_shot_run(su_skin_shot *s, int64_t from, int64_t to, su_skin_done *done, void *context,
                           su_pose_counts *counts, su_error *err)
{
    int64_t first = from / SU_SKIN_RUN, runs = (to + SU_SKIN_RUN - 1) / SU_SKIN_RUN - first;
    int team = s->options.threads < runs ? s->options.threads : (int)runs;
    su_status status = SU_OK;
    worker *workers;
    SU_TRY(SU_ALLOC(&workers, team, "workers", err));
    for (int k = 0; k < team && status == SU_OK; k++) status = worker_create(s, workers + k, err);
    if (status == SU_OK) {
        int next = 0;
#pragma omp parallel num_threads(team) if (team > 1)
        {
            int mine;
            bool go = true;
            su_error own = {0};
#pragma omp atomic capture
            mine = next++;
#pragma omp for schedule(dynamic)
            for (int64_t k = 0; k < runs; k++) {
                if (!go) continue;
                su_status one = solve_run(workers + mine, first + k, from, to, done, context, &own);
                if (one == SU_OK) continue;
                go = false;
#pragma omp critical(su_skin_failed)
                if (status == SU_OK) {
                    status = one;
                    if (err) *err = own;
                }
            }
        }
    }
    for (int k = 0; k < team; k++) {
        if (workers[k].solver && counts) add_counts(su_pose_solver_counts(workers[k].solver), counts);
        worker_free(workers + k);
    }
    free(workers);
    return status;
}
