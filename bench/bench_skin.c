/* Steklov-Poincaré skinning, SP's tables again: arms of its sizes bent from 0 to 150 degrees in 50 frames, by each
 * solver. bench_skin [scale [which [solvers [tolerance]]]]: scale 1 is the paper's size; which 0: the steep arm, 1 the
 * even one; solvers: letters of d v s k c, V and S: as the paper has them; f: SP Fig. 3 and 4. One thread; seconds a
 * frame, `frame` of the processor, the parts by the clock. */
#include "arm.h"
#include "core/memory.h"
#include "core/threads.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "skin/contact_springs.h"
#include "skin/equilibrium.h"
#include "skin/tet_rotations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern void openblas_set_num_threads(int) __attribute__((weak));

enum { FRAMES = 50 };
static const double FULL_BEND = 150 * M_PI / 180;
/* Over the diagonal, at which steps end: a tenth of what a picture of 2000 pixels shows. */
static const double TOLERANCE = 5e-5, SETTLED = 5e-4;
/* Share of the first error at which the solve of a step ends while contacts come and go: as lib/skin has it. */
static const double INEXACT = 0.01, INEXACT_SURFACE = 0.05;

typedef struct shot {
    arm a;
    su_ex_rotated body;
    su_bone_weights weights;
    su_contact_body contact;
    su_contact_finder *finder;
    su_spring_list springs;
    su_kept_pairs kept;
    double find_seconds; /* spent on finding contacts */
    double *w;           /* (n) of the forearm */
    double diagonal;
} shot;

/* Of this process: other work beside counts less than on a clock. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(su_status status, const su_error *err)
{
    if (status == SU_OK) return;
    fprintf(stderr, "bench_skin: %s\n", err->text);
    exit(1);
}

static void *room(int64_t count, size_t size)
{
    void *p = su_calloc(count, size);
    if (!p) abort();
    return p;
}

/* As SP section 3 has it: all pairs anew at each shape that is asked for. */
static int64_t find_anew(void *context, const double *x, const su_spring **springs, double *energy)
{
    shot *s = context;
    const su_contact_pair *pairs;
    int64_t found;
    double start = su_seconds();
    s->springs.count = 0, *energy = 0;
    if (su_contact_find(s->finder, x, &pairs, &found, NULL) != SU_OK) return -1;
    int64_t count = su_springs_of_pairs(&s->contact, found, pairs, x, &s->springs, energy);
    *springs = s->springs.spring;
    s->find_seconds += su_seconds() - start;
    return count;
}

static int64_t find(void *context, const double *x, const su_spring **springs, double *energy)
{
    shot *s = context;
    double start = su_seconds();
    s->springs.count = 0, *energy = 0;
    int64_t count = su_springs_of_kept(&s->kept, x, SU_SKIN_SIDEWAYS, &s->springs, energy);
    *springs = s->springs.spring;
    s->find_seconds += su_seconds() - start;
    return count;
}

static su_status meet(void *context, const double *x, bool anew, su_error *err)
{
    shot *s = context;
    double start = su_seconds();
    if (anew) su_kept_pairs_begin(&s->kept, NULL);
    su_status status = su_kept_pairs_aim(&s->kept, x, err);
    s->find_seconds += su_seconds() - start;
    return status;
}

static void make_shot(shot *s, int which, double scale)
{
    su_error err;
    arm_shape shape = arm_of_paper(which, scale);
    s->a = arm_create(&shape);
    const arm *a = &s->a;
    su_ex_rotated_mesh mesh = {a->n, a->t, a->x, a->tets, a->held, a->is_outer, a->young, a->poisson};
    must(su_ex_rotated_create(&mesh, &s->body, &err), &err);
    double start = su_seconds();
    must(su_bone_weights_create(&(su_tets){a->n, a->t, a->x, a->tets}, 2, a->bone_of, 1, &s->weights, &err), &err);
    s->w = room(a->n, sizeof *s->w);
    for (int64_t v = 0; v < a->n; v++)
        for (int64_t z = s->weights.start[v]; z < s->weights.start[v + 1]; z++)
            if (s->weights.bone[z] == 1) s->w[v] = s->weights.weight[z];
    double *k = room(a->n, sizeof *k);
    must(su_contact_body_create(a->n, a->x, a->t, a->tets, &s->contact, &err), &err);
    su_contact_stiffness(&s->contact, a->young, a->poisson, k);
    must(su_contact_finder_create(&s->contact, 1, &s->finder, &err), &err);
    su_contact_finder_set_stiffness(s->finder, k);
    must(su_kept_pairs_create(&s->contact, s->finder, &s->kept, &err), &err);
    free(k);
    s->diagonal = sqrt(shape.length * shape.length + 8 * shape.radius * shape.radius);
    printf("arm %d: %lld tets, %lld vertices: %lld boundary, %lld interior, %lld held; bone weights %.1f s\n", which,
           (long long)a->t, (long long)a->n, (long long)s->body.outer, (long long)(s->body.count - s->body.outer),
           (long long)(a->n - s->body.count), su_seconds() - start);
}

static void play(shot *s, su_skin_method method, const char *name, bool anew, double inexact, double tolerance,
                 double *reference)
{
    const arm *a = &s->a;
    su_error err;
    su_skin_factors *factors;
    su_pose_solver *solver;
    double *Q = room(9 * a->n, sizeof *Q), *R = room(9 * a->t, sizeof *R), *x = room(3 * a->n, sizeof *x);
    double *Q0 = room(9 * a->n, sizeof *Q), *u = room(3 * a->n, sizeof *u), bones[8], start = su_seconds();
    must(su_skin_factors_create(&s->body, method, 5, 1, &factors, &err), &err);
    must(su_pose_solver_create(factors, &solver, &err), &err);
    printf("%s: prepared in %.1f s\n%9s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", name, su_seconds() - start,
           "degrees", "pairs", "stiffness", "interior", "solve", "finding", "frame", "its/solve", "steps", "deepest%",
           "open");
    const int bounds[] = {0, 15, 30, 35, 40, 45, 50};
    su_pose_counts before = {0};
    double worst = 0;
    for (int part = 0; part < 6; part++) {
        double pairs = 0, deepest = 0, whole = processor_seconds();
        int frames = 0, steps = 0, open = 0;
        s->find_seconds = 0;
        for (int k = bounds[part] + 1; k <= bounds[part + 1]; k++, frames++) {
            memcpy(Q0, Q, (size_t)(9 * a->n) * sizeof *Q);
            arm_bend(a, FULL_BEND * k / FRAMES, s->w, bones, x);
            su_bone_weights_rotate(&s->weights, bones, Q, R);
            for (int64_t v = 0; v < a->n && k > 1; v++) { /* from the frame before, turned along */
                double back[3];
                su_tmulv3(Q0 + 9 * v, u + 3 * v, back);
                su_mulv3(Q + 9 * v, back, back);
                for (int c = 0; c < 3 && !a->held[v]; c++) u[3 * v + c] = x[3 * v + c], x[3 * v + c] += back[c];
                for (int c = 0; c < 3 && a->held[v]; c++) u[3 * v + c] = x[3 * v + c];
            }
            if (k == 1) memcpy(u, x, (size_t)(3 * a->n) * sizeof *u); /* the rig's shape, until the end of the frame */
            must(su_pose_solver_set(solver, R, Q, &err), &err);
            su_equilibrium_settings settings = {.tolerance = tolerance * s->diagonal,
                                                .settled = SETTLED * s->diagonal,
                                                .inexact = inexact,
                                                .most = 200,
                                                .surface = method == SU_SKIN_SURFACE,
                                                .near = k > 1};
            su_equilibrium_result result;
            const su_skin_contacts contacts =
                anew ? (su_skin_contacts){find_anew, NULL, s} : (su_skin_contacts){find, meet, s};
            su_kept_pairs_begin(&s->kept, NULL);
            must(su_equilibrium_find(solver, &s->body, R, &contacts, &settings, x, &result, &err), &err);
            for (int64_t i = 0; i < 3 * a->n; i++) u[i] = x[i] - u[i];
            steps += result.steps, pairs += (double)result.springs, open += !result.converged;
            const su_contact_pair *pair;
            int64_t count;
            must(su_contact_find(s->finder, x, &pair, &count, &err), &err);
            for (int64_t i = 0; i < count; i++) deepest = fmax(deepest, pair[i].depth);
            if (part == 5 && k == FRAMES) {
                for (int64_t i = 0; i < 3 * a->n && reference[0] != 0; i++)
                    worst = fmax(worst, fabs(x[i] - reference[i]));
                if (reference[0] == 0) memcpy(reference, x, (size_t)(3 * a->n) * sizeof *x);
            }
        }
        whole = (processor_seconds() - whole) / frames;
        const su_pose_counts *now = su_pose_solver_counts(solver);
        printf("%4d-%-4d %9.0f %9.3f %9.3f %9.3f %9.3f %9.3f %9.1f %9.1f %9.3f %9d\n", 3 * bounds[part],
               3 * bounds[part + 1], pairs / frames, (now->stiffness_seconds - before.stiffness_seconds) / frames,
               (now->interior_seconds - before.interior_seconds) / frames,
               (now->solve_seconds - before.solve_seconds) / frames, s->find_seconds / frames, whole,
               (double)(now->iterations - before.iterations) / (double)(now->solves - before.solves),
               (double)steps / frames, 100 * deepest / s->diagonal, open);
        before = *now;
        fflush(stdout);
    }
    printf("  from the first solver's last shape by at most %.2g of the diagonal; interior %.1f iterations a solve\n",
           worst / s->diagonal,
           before.interior_solves ? (double)before.interior_iterations / (double)before.interior_solves : 0);
    su_pose_solver_free(solver);
    su_skin_factors_free(factors);
    free(Q), free(R), free(x), free(Q0), free(u);
}

/* Root mean square and largest distance of free vertices, over the diagonal. */
static void distance(const shot *s, const double *a, const double *b, double *rms, double *most)
{
    *rms = *most = 0;
    for (int64_t k = 0; k < s->body.count; k++) {
        double d = su_distance3(a + 3 * (int64_t)s->body.vertex[k], b + 3 * (int64_t)s->body.vertex[k]) / s->diagonal;
        *rms += d * d / (double)s->body.count, *most = fmax(*most, d);
    }
    *rms = sqrt(*rms);
}

/* R of every tet from its own deformation. */
static void polar_rotations(const shot *s, const double *x, double *R)
{
    for (int64_t e = 0; e < s->a.t; e++) {
        double F[9] = {0};
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 9; i++)
                F[i] += x[3 * (int64_t)s->a.tets[4 * e + a] + i / 3] * s->body.gradient[12 * e + 3 * a + i % 3];
        su_nearest_rotation(F, R + 9 * e);
    }
}

/* SP Fig. 3 in numbers: the same equilibria by corotational elasticity. Its stress is that of the ex-rotated law with
 * the tet's own polar rotation, so solving and taking rotations by turns ends there. SP Fig. 4: the error, over the
 * diagonal, after so many iterations from the rig's shape at 90 degrees. */
static void figures(shot *s)
{
    const arm *a = &s->a;
    su_error err;
    double *Q = room(9 * a->n, sizeof *Q), *R = room(9 * a->t, sizeof *R), *rig = room(3 * a->n, sizeof *rig),
           *x = room(3 * a->n, sizeof *x), *y = room(3 * a->n, sizeof *y), bones[8], rms, most, before;
    su_equilibrium_settings settings = {.tolerance = 1e-8 * s->diagonal, .inexact = 0.05, .most = 200};
    su_equilibrium_result result;
    su_skin_factors *factors;
    su_pose_solver *solver;
    must(su_skin_factors_create(&s->body, SU_SKIN_VOLUME, 5, 1, &factors, &err), &err);
    must(su_pose_solver_create(factors, &solver, &err), &err);
    printf("ex-rotated against corotational, no contact, %% of the diagonal\n%9s %9s %9s %9s\n", "degrees", "rms",
           "largest", "turns");
    for (int degrees = 30; degrees <= 150; degrees += 30) {
        int turns = 0;
        arm_bend(a, degrees * M_PI / 180, s->w, bones, rig);
        su_bone_weights_rotate(&s->weights, bones, Q, R);
        memcpy(x, rig, (size_t)(3 * a->n) * sizeof *x);
        must(su_pose_solver_set(solver, R, Q, &err), &err);
        must(su_equilibrium_find(solver, &s->body, R, NULL, &settings, x, &result, &err), &err);
        memcpy(y, x, (size_t)(3 * a->n) * sizeof *y);
        for (most = 1; most > 1e-6 && turns < 400; turns++) {
            memcpy(rig, y, (size_t)(3 * a->n) * sizeof *y);
            polar_rotations(s, y, R);
            must(su_pose_solver_set(solver, R, Q, &err), &err);
            must(su_equilibrium_find(solver, &s->body, R, NULL, &settings, y, &result, &err), &err);
            distance(s, rig, y, &before, &most);
        }
        distance(s, x, y, &rms, &most);
        printf("%9d %9.3f %9.3f %9d\n", degrees, 100 * rms, 100 * most, turns);
    }
    su_pose_solver_free(solver), su_skin_factors_free(factors);
    static const struct {
        su_skin_method method;
        const char *name;
    } solvers[] = {{SU_SKIN_VOLUME, "volume"}, {SU_SKIN_KEPT, "kept"}, {SU_SKIN_COUPLED, "coupled"}};
    const int counts[] = {1, 2, 4, 8, 16, 32};
    arm_bend(a, M_PI / 2, s->w, bones, rig);
    su_bone_weights_rotate(&s->weights, bones, Q, R);
    printf("largest error after iterations at 90 degrees, %% of the diagonal\n%9s", "solver");
    for (int k = 0; k < 6; k++) printf(" %9d", counts[k]);
    for (int m = 0; m < 3; m++) {
        double *force = room(3 * s->body.count, sizeof *force), *d = room(3 * s->body.count, sizeof *d);
        must(su_skin_factors_create(&s->body, solvers[m].method, 5, 1, &factors, &err), &err);
        must(su_pose_solver_create(factors, &solver, &err), &err);
        must(su_pose_solver_set(solver, R, Q, &err), &err);
        if (m == 0) {
            memcpy(x, rig, (size_t)(3 * a->n) * sizeof *x);
            must(su_equilibrium_find(solver, &s->body, R, NULL, &settings, x, &result, &err), &err);
        }
        su_ex_rotated_force(&s->body, R, rig, force);
        printf("\n%9s", solvers[m].name);
        for (int k = 0; k < 6; k++) {
            su_pose_solve solve = {.most = counts[k]};
            must(su_pose_solver_solve(solver, &solve, force, d, &err), &err);
            memcpy(y, rig, (size_t)(3 * a->n) * sizeof *y);
            for (int64_t f = 0; f < 3 * s->body.count; f++) y[3 * (int64_t)s->body.vertex[f / 3] + f % 3] += d[f];
            distance(s, x, y, &rms, &most);
            printf(" %9.4f", 100 * most);
        }
        su_pose_solver_free(solver), su_skin_factors_free(factors);
        free(force), free(d);
    }
    printf("\n");
    free(Q), free(R), free(rig), free(x), free(y);
}

int main(int argc, char **argv)
{
    /* Capitals: as in the paper. Contacts are found anew at each step, and solves of steps are exact. */
    static const struct {
        char letter;
        su_skin_method method;
        const char *name;
        bool anew;
        double inexact;
    } solvers[] = {{'v', SU_SKIN_VOLUME, "volume", false, INEXACT},
                   {'s', SU_SKIN_SURFACE, "surface", false, INEXACT_SURFACE},
                   {'k', SU_SKIN_KEPT, "kept", false, INEXACT},
                   {'c', SU_SKIN_COUPLED, "coupled", false, INEXACT},
                   {'d', SU_SKIN_DIRECT, "direct", false, INEXACT},
                   {'V', SU_SKIN_VOLUME, "volume, the paper's", true, 0},
                   {'S', SU_SKIN_SURFACE, "surface, the paper's", true, 0}};
    shot s = {0};
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    make_shot(&s, argc > 2 ? atoi(argv[2]) : 1, argc > 1 ? atof(argv[1]) : 0.4);
    double *reference = room(3 * s.a.n, sizeof *reference), tolerance = argc > 4 ? atof(argv[4]) : TOLERANCE;
    for (size_t k = 0; k < sizeof solvers / sizeof *solvers; k++)
        if (strchr(argc > 3 ? argv[3] : "vsc", solvers[k].letter))
            play(&s, solvers[k].method, solvers[k].name, solvers[k].anew, solvers[k].inexact, tolerance, reference);
    if (strchr(argc > 3 ? argv[3] : "f", 'f')) figures(&s);
    free(reference), free(s.w);
    su_kept_pairs_free(&s.kept);
    su_contact_finder_free(s.finder);
    su_contact_body_free(&s.contact);
    free(s.springs.spring);
    su_bone_weights_free(&s.weights);
    su_ex_rotated_free(&s.body);
    arm_free(&s.a);
    return 0;
}
