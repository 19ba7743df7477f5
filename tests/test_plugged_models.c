/* A subspace and a force that lib/ knows nothing of, plugged into the stepper: the whole flesh (q are the displacements
 * of all free vertices) and every tet, evaluated by fem. Each with the other and with the run time's own, against the
 * full simulation.
 *
 * All four combinations share their coordinates: the model's basis is the identity over the square roots of the masses,
 * turned by R_v, and so is the whole flesh. Instants are made here; what is foreign reads rest shape and rotations of
 * its own, what is the run time's the su_pose that stands first. */
#include "core/memory.h"
#include "fem/elastic.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"
#include "reduced_scene.h"
#include "rig/rest_shape.h"
#include "runtime/forces/tets_force.h"
#include "runtime/reduced_step.h"
#include "runtime/subspace/pose_part.h"
#include "runtime/subspace/posed_subspace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

enum { FRAMES = 8 };
static const double poses3[] = {0.0, 0.8, -0.8};
/* Length over which rotations are smoothed, m. */
static const double smoothing_length = 0.3;

typedef struct instant {
    su_pose pose; /* first: what the run time's own parts are given */
    double *x;    /* (n,3) rest shape, root frame */
    double *turn; /* (n,4) R_v */
    double *R;    /* (n,9) the same */
} instant;

/* ---- the whole flesh ---- */

/* q (3 a free vertex): displacements turned back, times the square root of the mass, so that U'MU = 1. A state: y (n,3)
 * in the world, X (n,3) where the rig puts it, displacements turned back (3,padded) by component. */
typedef struct whole {
    int64_t n, free, padded, still_at;
    double diagonal;
    const int32_t *vertex; /* (free) the flesh vertex of each point; points are free vertices in the model's order */
    const int32_t *number; /* (free) of a point: its place in q */
    const double *mass;    /* (n) */
} whole;

static double *state_y(double *state) { return state; }
static double *state_X(const whole *w, double *state) { return state + 3 * w->n; }
static double *state_still(const whole *w, double *state) { return state + w->still_at; }

static void whole_mass(void *self, const void *at, double factor, double *A)
{
    const whole *w = self;
    int64_t r = 3 * w->free, lead = (r + 1 + 7) / 8 * 8, size = (r + 7) / 8 * 8;
    (void)at;
    memset(A, 0, (size_t)(lead * lead) * sizeof *A);
    for (int64_t k = 0; k < size; k++) A[k * lead + k] = k < r ? factor : 1;
}

static void copy_q(const whole *w, const double *q, double *out)
{
    int64_t r = 3 * w->free, lead = (r + 1 + 7) / 8 * 8;
    for (int64_t k = 0; k < lead; k++) out[k] = k < r ? q[k] : 0;
}

static void whole_mass_times(void *self, const void *at, const double *q, double *out)
{
    (void)at;
    copy_q(self, q, out);
}

static void whole_carried_mass(void *self, const void *at, const su_state *state, double *out)
{
    (void)at;
    copy_q(self, state->q, out);
}

/* M (Q1'(c1 + Q1 x1 - y0)/h - Q1'v0)/h - alpha/h M R1 R0'u0 - M g, turned back; what Q1 u1 adds to y1 is the stepper's
 * own mass term. */
static void whole_history(void *self, const void *at, const su_history *history, double *load)
{
    const whole *w = self;
    const instant *i = at;
    const double *y0 = history->now->subspace, *y_1 = history->before->subspace;
    double h = history->h;
    copy_q(w, history->now->q, load);
    for (int64_t k = 0; k < 3 * w->free; k++) load[k] *= h > 0 ? -history->alpha / h : 0;
    for (int64_t point = 0; point < w->free; point++) {
        int64_t v = w->vertex[point];
        double world[3], a[3], back[3];
        su_mulv3(i->pose.Q, i->x + 3 * v, world);
        for (int c = 0; c < 3 && h > 0; c++)
            world[c] =
                ((world[c] + i->pose.c[c] - y0[3 * v + c]) / h - (y0[3 * v + c] - y_1[3 * v + c]) / history->now->h) /
                h;
        if (!(h > 0)) memset(world, 0, sizeof world);
        su_tmulv3(i->pose.Q, world, a);
        for (int c = 0; c < 3; c++) a[c] -= history->gravity->acts[c];
        su_tmulv3(i->R + 9 * v, a, back);
        for (int c = 0; c < 3; c++)
            load[3 * w->number[point] + c] += sqrt(w->mass[v]) * (back[c] + history->gravity->carried[c]);
    }
}

static void whole_displace(void *self, const void *at, const double *q, double *state)
{
    const whole *w = self;
    double *still = state_still(w, state);
    (void)at;
    for (int64_t point = 0; point < w->free; point++)
        for (int c = 0; c < 3; c++)
            still[c * w->padded + point] = q[3 * w->number[point] + c] / sqrt(w->mass[w->vertex[point]]);
}

static void whole_keep(void *self, const void *at, const double *q, double *state)
{
    const whole *w = self;
    const instant *i = at;
    double *y = state_y(state), *X = state_X(w, state);
    for (int64_t v = 0; v < w->n; v++) {
        su_mulv3(i->pose.Q, i->x + 3 * v, X + 3 * v);
        for (int c = 0; c < 3; c++) y[3 * v + c] = X[3 * v + c] += i->pose.c[c];
    }
    for (int64_t point = 0; point < w->free; point++) {
        int64_t v = w->vertex[point];
        double back[3], u[3], world[3];
        for (int c = 0; c < 3; c++) back[c] = q[3 * w->number[point] + c] / sqrt(w->mass[v]);
        su_mulv3(i->R + 9 * v, back, u);
        su_mulv3(i->pose.Q, u, world);
        for (int c = 0; c < 3; c++) y[3 * v + c] += world[c];
    }
}

/* y_1 = 2 X0 - X1 + Q u_before: y holds X0 + Q u_before */
static void whole_start_moving(void *self, const void *at, const void *next, double *state)
{
    const whole *w = self;
    const instant *i = next;
    double *y = state_y(state), *X = state_X(w, state);
    (void)at;
    for (int64_t v = 0; v < w->n; v++) {
        double there[3];
        su_mulv3(i->pose.Q, i->x + 3 * v, there);
        for (int c = 0; c < 3; c++) {
            double back = X[3 * v + c] - (there[c] + i->pose.c[c]);
            y[3 * v + c] += back, X[3 * v + c] += back;
        }
    }
}

static double whole_largest_square(void *self, const double *a, const double *b)
{
    const whole *w = self;
    const double *x = a + w->still_at, *y = b ? b + w->still_at : NULL;
    double most = 0;
    for (int64_t point = 0; point < w->free; point++) {
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            double d = x[c * w->padded + point] - (y ? y[c * w->padded + point] : 0);
            sum += d * d;
        }
        most = fmax(most, sum);
    }
    return most;
}

static void whole_energy(void *self, const void *at, const su_history *history, double *kinetic, double *weight)
{
    const whole *w = self;
    const instant *i = at;
    const double *y0 = history->now->subspace, *y_1 = history->before->subspace;
    const double *X0 = y0 + 3 * w->n, *X_1 = y_1 + 3 * w->n;
    double world[3];
    *kinetic = *weight = 0;
    for (int64_t k = 0; k < 3 * w->n; k++) {
        double g[3];
        su_mulv3(i->R + 9 * (k / 3), history->gravity->carried, g);
        for (int c = 0; c < 3; c++) g[c] = history->gravity->acts[c] - g[c];
        su_mulv3(i->pose.Q, g, world);
        double d = y0[k] - y_1[k], D = X0[k] - X_1[k];
        *kinetic += 0.5 * w->mass[k / 3] * (d * d - D * D) / (history->h * history->h);
        *weight -= w->mass[k / 3] * world[k % 3] * (y0[k] - X0[k]);
    }
}

static void whole_add_force(void *self, const void *at, int count, const int32_t *points, const double *share,
                            const double f[3], double *out)
{
    const whole *w = self;
    const instant *i = at;
    for (int k = 0; k < count; k++) {
        int32_t vertex = w->vertex[points[k]];
        double back[3];
        su_tmulv3(i->R + 9 * (int64_t)vertex, f, back);
        for (int c = 0; c < 3; c++) out[3 * w->number[points[k]] + c] += share[k] * back[c] / sqrt(w->mass[vertex]);
    }
}

static void whole_add_displacement(void *self, const void *at, const double *state, int64_t point, double factor,
                                   double u[3])
{
    const whole *w = self;
    const instant *i = at;
    double back[3], here[3];
    for (int c = 0; c < 3; c++) back[c] = state[w->still_at + c * w->padded + point];
    su_mulv3(i->R + 9 * (int64_t)w->vertex[point], back, here);
    for (int c = 0; c < 3; c++) u[c] += factor * here[c];
}

static const double *whole_still(void *self, const double *state, int64_t *padded)
{
    const whole *w = self;
    *padded = w->padded;
    return state + w->still_at;
}

static void release_nothing(void *self) { (void)self; }

static su_subspace whole_subspace(whole *w)
{
    int64_t r = 3 * w->free;
    return (su_subspace){.self = w,
                         .r = r,
                         .size = (r + 7) / 8 * 8,
                         .lead = (r + 1 + 7) / 8 * 8,
                         .state_size = w->still_at + 3 * w->padded,
                         .diagonal = w->diagonal,
                         .mass = whole_mass,
                         .carried_mass = whole_carried_mass,
                         .mass_times = whole_mass_times,
                         .history = whole_history,
                         .displace = whole_displace,
                         .keep = whole_keep,
                         .start_moving = whole_start_moving,
                         .largest_square = whole_largest_square,
                         .energy = whole_energy,
                         .add_force = whole_add_force,
                         .add_displacement = whole_add_displacement,
                         .still = whole_still,
                         .release = release_nothing};
}

/* ---- every tet ---- */

/* On any subspace whose chosen points are the free vertices. It takes the rows from there, and no share of a state. */
typedef struct every_tet {
    su_elastic *body;
    const su_subspace *subspace;
    bool turned_rest;
    const int32_t *vertex;     /* (free) of the points */
    const int32_t *dof_vertex; /* (n) of a flesh vertex: its number among the body's free ones */
    su_sparse K, held;         /* at q, and at u* */
    double *U;                 /* (3 free,lead) rows, as the body numbers its degrees of freedom */
    double *u, *carried;       /* (3 free) at q, and u* */
    double *y, *f;             /* (n,3) */
    double *product, *column;  /* (3 free) */
} every_tet;

static void bring(every_tet *e, const instant *i)
{
    const su_subspace *s = e->subspace;
    memset(e->U, 0, (size_t)(3 * e->body->free_count * s->lead) * sizeof *e->U);
    for (int32_t point = 0; point < e->body->free_count; point++)
        for (int c = 0; c < 3; c++) {
            const double axis[3] = {c == 0, c == 1, c == 2};
            double *row = e->U + (3 * e->dof_vertex[e->vertex[point]] + c) * s->lead;
            s->add_force(s->self, i, 1, &point, (double[]){1}, axis, row);
        }
    su_elastic_set_rest(e->body, i->x, e->turned_rest ? i->turn : NULL, 1);
}

/* y = x + u */
static void place(every_tet *e, const instant *i, const double *u)
{
    memcpy(e->y, i->x, (size_t)(3 * e->body->n) * sizeof *e->y);
    for (int64_t k = 0; k < 3 * e->body->free_count; k++) e->y[3 * e->body->free_vertex[k / 3] + k % 3] += u[k];
}

static void displace_all(every_tet *e, const instant *i, const double *q)
{
    for (int64_t k = 0; k < 3 * e->body->free_count; k++) {
        e->u[k] = 0;
        for (int64_t j = 0; j < e->subspace->r; j++) e->u[k] += e->U[k * e->subspace->lead + j] * q[j];
    }
    place(e, i, e->u);
}

/* out += U' v, v (3 free) */
static void project(const every_tet *e, double factor, const double *v, double *out)
{
    for (int64_t k = 0; k < 3 * e->body->free_count; k++)
        for (int64_t j = 0; j < e->subspace->r; j++) out[j] += factor * e->U[k * e->subspace->lead + j] * v[k];
}

/* out += U' f at y */
static void project_force(every_tet *e, double *out)
{
    su_elastic_force(e->body, e->y, e->f, 1);
    for (int64_t k = 0; k < 3 * e->body->free_count; k++) e->product[k] = e->f[3 * e->body->free_vertex[k / 3] + k % 3];
    project(e, 1, e->product, out);
}

/* A += factor U'KU */
static void project_matrix(const every_tet *e, const su_sparse *K, double factor, double *A)
{
    int64_t dofs = 3 * e->body->free_count, lead = e->subspace->lead;
    for (int64_t j = 0; j < e->subspace->r; j++) {
        for (int64_t k = 0; k < dofs; k++) e->column[k] = e->U[k * lead + j];
        su_sparse_multiply(K, e->column, e->product);
        for (int64_t i = 0; i <= j; i++)
            for (int64_t k = 0; k < dofs; k++) A[i * lead + j] += factor * e->U[k * lead + i] * e->product[k];
    }
}

/* product = K* (u - u*); returns (u - u*)'K*(u - u*) */
static double damped(every_tet *e)
{
    double sum = 0;
    for (int64_t k = 0; k < 3 * e->body->free_count; k++) e->column[k] = e->u[k] - e->carried[k];
    su_sparse_multiply(&e->held, e->column, e->product);
    for (int64_t k = 0; k < 3 * e->body->free_count; k++) sum += e->column[k] * e->product[k];
    return sum;
}

static void every_prepare(void *self, const void *at, const su_subspace *subspace, const su_state *now, bool turned)
{
    every_tet *e = self;
    bring(e, at);
    if (!turned) displace_all(e, at, now->q);
    for (int64_t point = 0; point < e->body->free_count; point++) {
        double *u = e->carried + 3 * e->dof_vertex[e->vertex[point]];
        if (!turned) {
            memcpy(u, e->u + (u - e->carried), 3 * sizeof *u);
            continue;
        }
        memset(u, 0, 3 * sizeof *u);
        subspace->add_displacement(subspace->self, at, now->subspace, point, 1, u);
    }
    place(e, at, e->carried);
    su_elastic_stiffness(e->body, e->y, true, &e->held, 1);
}

static bool every_linearize(void *self, const void *at, const double *from, double factor, double *A, double *out)
{
    every_tet *e = self;
    (void)from;
    if (!A) return true; /* K* is held already */
    place(e, at, e->carried);
    project_force(e, out);
    su_sparse_multiply(&e->held, e->carried, e->product);
    project(e, -factor, e->product, out);
    project_matrix(e, &e->held, factor, A);
    return true;
}

static bool every_evaluate(void *self, const void *at, const su_force_at *where)
{
    every_tet *e = self;
    if (!where->again) {
        bring(e, at);
        displace_all(e, at, where->q);
    }
    if (where->tangent != SU_TANGENT_NONE)
        su_elastic_stiffness(e->body, e->y, where->tangent == SU_TANGENT_PROJECTED, &e->K, 1);
    return isfinite(largest(3 * e->body->free_count, e->u));
}

static void every_add_force(void *self, const void *at, const su_force_at *where, double *out)
{
    every_tet *e = self;
    (void)at;
    project_force(e, out);
    if (where->damping == 0) return;
    damped(e);
    project(e, where->damping, e->product, out);
}

static void every_add_tangent(void *self, const void *at, const su_force_at *where, double *A, double *out)
{
    every_tet *e = self;
    project_matrix(e, &e->K, 1, A);
    if (where->damping != 0) project_matrix(e, &e->held, where->damping, A);
    if (out) every_add_force(self, at, where, out);
}

static double every_energy(void *self, const void *at, const su_force_at *where)
{
    every_tet *e = self;
    if (!where->again) {
        bring(e, at);
        displace_all(e, at, where->q);
    }
    double energy = su_elastic_energy(e->body, e->y, 1);
    return where->damping == 0 ? energy : energy + 0.5 * where->damping * damped(e);
}

static void every_keep(void *self, const void *at, const su_subspace *subspace, const su_state *reached)
{
    (void)self, (void)at, (void)subspace, (void)reached;
}

static const su_force every_force = {.prepare = every_prepare,
                                     .linearize = every_linearize,
                                     .evaluate = every_evaluate,
                                     .add_force = every_add_force,
                                     .add_tangent = every_add_tangent,
                                     .energy = every_energy,
                                     .keep = every_keep,
                                     .release = release_nothing};

/* ---- the scene ---- */

typedef struct stage {
    scene s;
    reduced_scene r;
    su_runtime_model model; /* with every free vertex as a point */
    su_rotation_field *field;
    su_sim_settings settings;
    su_pose_work work;
    su_pose_input input;
    su_elastic body;
    int32_t *vertex, *number, *dof_vertex;
    double *skin;
    int64_t serial;
    instant instants[2];
    whole flesh;
    every_tet tets;
    su_subspace subspace; /* of the stepper at hand, for the test's own force */
    su_arena arena;
} stage;

#define TAKE(t, pointer, count) assert_non_null((pointer) = su_arena_alloc(&(t)->arena, count, sizeof *(pointer)))

/* The model's basis becomes the identity over the square roots of the masses. */
static void take_every_freedom(reduced_scene *r)
{
    su_model *model = &r->model;
    int64_t free = model->r / 3;
    memset(model->basis_blocks, 0, (size_t)(model->r * free * 3) * sizeof *model->basis_blocks);
    memset(model->gram, 0, (size_t)(model->r * model->r) * sizeof *model->gram);
    for (int64_t k = 0; k < model->r; k++) {
        double mass = r->mass[model->region_vertices[k / 3]];
        float entry = (float)(1 / sqrt(mass));
        model->basis_blocks[(k * free + k / 3) * 3 + k % 3] = entry;
        model->gram[k * model->r + k] = mass * (double)entry * (double)entry;
    }
}

static void create_instant(stage *t, instant *i)
{
    assert_int_equal(su_pose_create(&t->model, &i->pose, NULL), SU_OK);
    TAKE(t, i->x, 3 * t->s.tet.n);
    TAKE(t, i->turn, 4 * t->s.tet.n);
    TAKE(t, i->R, 9 * t->s.tet.n);
}

static void create_stage(stage *t, bool turned)
{
    memset(t, 0, sizeof *t);
    scene_create(&t->s, 3, 1, 1, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
    if (turned) scene_turn_rest(&t->s, smoothing_length);
    reduced_create(&t->r, &t->s, &(reduced_options){.regions = 1, .stride = 1, .one = true});
    take_every_freedom(&t->r);
    const su_tet *tet = &t->s.tet;
    const su_fit *fit = &t->s.fit;
    int64_t n = tet->n, free = t->r.model.r / 3;
    su_error err = {0};
    assert_int_equal(
        su_runtime_model_create(&t->r.model, SU_COROTATED, free, t->r.model.region_vertices, &t->model, &err), SU_OK);
    assert_int_equal(t->model.points.kept, free);
    const su_smoothing smoothing = su_fit_smoothing(fit);
    assert_int_equal(su_rotation_field_create(&(su_tet_mesh){n, tet->t, tet->vertices, tet->tets}, &smoothing, 0, NULL,
                                              &t->field, NULL),
                     SU_OK);
    assert_int_equal(su_elastic_of_fit(&t->body, tet, fit, SU_NEOHOOKEAN, NULL), SU_OK);
    assert_int_equal(t->body.free_count, free);
    assert_int_equal(su_pose_work_create(&t->model, &t->work, NULL), SU_OK);
    assert_int_equal(su_pose_input_create(&t->model, true, &t->input, NULL), SU_OK);
    TAKE(t, t->skin, 3 * n);
    TAKE(t, t->vertex, free);
    TAKE(t, t->number, free);
    TAKE(t, t->dof_vertex, n);
    for (int64_t k = 0; k < free; k++) t->dof_vertex[t->body.free_vertex[k]] = (int32_t)k;
    for (int64_t point = 0; point < free; point++) {
        t->vertex[point] = t->model.patch.vertices[point];
        for (int32_t k = 0; k < free; k++)
            if (t->r.model.region_vertices[k] == t->vertex[point]) t->number[point] = k;
    }
    for (int k = 0; k < 2; k++) create_instant(t, t->instants + k);
    t->flesh = (whole){.n = n,
                       .free = free,
                       .padded = t->model.points.kept_padded,
                       .still_at = (6 * n + 7) / 8 * 8,
                       .diagonal = t->model.diagonal,
                       .vertex = t->vertex,
                       .number = t->number,
                       .mass = t->r.mass};
    every_tet *e = &t->tets;
    *e = (every_tet){.body = &t->body,
                     .subspace = &t->subspace,
                     .turned_rest = turned,
                     .vertex = t->vertex,
                     .dof_vertex = t->dof_vertex};
    assert_int_equal(su_sparse_clone_pattern(&t->body.pattern, &e->K, NULL), SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&t->body.pattern, &e->held, NULL), SU_OK);
    TAKE(t, e->U, 3 * free * t->model.lead);
    TAKE(t, e->u, 3 * free);
    TAKE(t, e->carried, 3 * free);
    TAKE(t, e->y, 3 * n);
    TAKE(t, e->f, 3 * n);
    TAKE(t, e->product, 3 * free);
    TAKE(t, e->column, 3 * free);
    t->settings = su_sim_defaults();
    t->settings.gravity_mode = SU_GRAVITY_ABSOLUTE, t->settings.alpha = 1;
}

static void free_stage(stage *t)
{
    for (int k = 0; k < 2; k++) su_pose_free(&t->instants[k].pose);
    su_pose_work_free(&t->work);
    su_pose_input_free(&t->input);
    su_sparse_free(&t->tets.K);
    su_sparse_free(&t->tets.held);
    su_elastic_free(&t->body);
    su_rotation_field_free(t->field);
    su_runtime_model_free(&t->model);
    reduced_free(&t->r);
    scene_free(&t->s);
    su_arena_free(&t->arena);
}

/* The rig at frame + fraction, for everybody. */
static instant *make_instant(stage *t, int64_t frame, double fraction, int which)
{
    instant *i = t->instants + which;
    const su_blend *none[1][2] = {{NULL, NULL}};
    const su_model *model = &t->r.model;
    /* every vertex is a skin vertex here */
    su_shot_sample(t->s.shot, frame, fraction, t->input.p, t->input.Q, t->input.c);
    su_shot_sample_skin(t->s.shot, frame, fraction, 0, NULL, 1, t->skin);
    for (int64_t k = 0; k < t->model.patch.skin_count; k++)
        memcpy(t->input.skin + 3 * k, t->skin + 3 * t->model.patch.skin[k], 3 * sizeof(double));
    su_blend_evaluate(&t->model, t->input.p, ++t->serial, &i->pose.blend);
    su_pose_evaluate(&t->model, 1, &t->input, none, &t->work, &i->pose);
    su_rest_shape shape = {model->n,
                           model->m,
                           model->ties,
                           model->vertices,
                           model->neutral,
                           model->shepard_index,
                           model->shepard_weight,
                           model->corrections};
    su_rest_shape_evaluate(&shape, model->n, NULL, t->skin, i->pose.blend.w, i->x);
    su_rotation_field_evaluate(t->field, i->x, i->turn, 1);
    for (int64_t v = 0; v < model->n; v++) su_quaternion_matrix(i->turn + 4 * v, i->R + 9 * v);
    return i;
}

/* u (F,n,3) and energies (F,3) of the shot with these parts. */
static void play(stage *t, bool whole_flesh, bool every, double *u, double *energy)
{
    su_subspace subspace = {0};
    su_force force = every_force;
    su_stepper stepper;
    su_error err = {0};
    su_sim_settings settings = t->settings;
    su_gravity g;
    const scene *s = &t->s;
    assert_int_equal(su_sim_settings_resolve(&settings, 4.0, s->anim.F, s->anim.times, 0.0, &err), SU_OK);
    su_step_settings step = {
        .alpha = settings.alpha, .beta = settings.beta, .stiffness = 1, .newton = 60, .tolerance = 1e-11};
    if (whole_flesh)
        subspace = whole_subspace(&t->flesh);
    else
        assert_int_equal(su_posed_subspace_create(&t->model, &subspace, NULL), SU_OK);
    t->subspace = subspace;
    force.self = &t->tets;
    if (!every) assert_int_equal(su_tets_force_create(&t->model, 1, &force, NULL), SU_OK);
    assert_int_equal(su_stepper_plug(&subspace, &force, &step, &stepper, &err), SU_OK);
    for (int64_t frame = 0; frame < FRAMES; frame++) {
        const instant *at = t->instants;
        for (int k = 1; k <= settings.substeps; k++) {
            if (frame == 0) {
                at = make_instant(t, 0, 0, 0);
                su_stepper_start(&stepper, at, NULL, NULL, make_instant(t, 0, 1.0 / settings.substeps, 1),
                                 settings.step);
                break;
            }
            at = make_instant(t, frame - 1, (double)k / settings.substeps, 0);
            g = su_sim_gravity(&settings, at->pose.Q);
            assert_int_equal(su_stepper_advance(&stepper, at, settings.step, &g, 0), SU_STEP_OK);
        }
        g = su_sim_gravity(&settings, at->pose.Q);
        su_stepper_energy(&stepper, at, &g);
        const double these[3] = {stepper.kinetic, stepper.elastic, stepper.weight};
        memcpy(energy + 3 * frame, these, sizeof these);
        double *out = u + 3 * frame * s->tet.n;
        for (int64_t point = 0; point < t->flesh.free; point++)
            stepper.subspace.add_displacement(stepper.subspace.self, at, stepper.now->subspace, point, 1,
                                              out + 3 * t->vertex[point]);
    }
    su_stepper_free(&stepper);
}

static void every_combination_is_the_full_simulation(void **unused)
{
    (void)unused;
    for (int rest = 0; rest < 2; rest++) {
        stage t;
        create_stage(&t, rest == 1);
        int64_t n3 = 3 * t.s.tet.n, count = FRAMES * n3;
        double full_energy[3 * FRAMES], *full = scene_full_run(&t.s, &t.settings, 1e-12, full_energy, NULL, NULL),
                                        size = largest(count, full);
        assert_true(size > 0.01);
        for (int combination = 0; combination < 4; combination++) {
            bool whole_flesh = combination & 1, every = combination & 2;
            double energy[3 * FRAMES], *u = su_calloc(count, sizeof *u), elastic = 0, off = 0;
            play(&t, whole_flesh, every, u, energy);
            for (int k = 0; k < FRAMES; k++) {
                elastic = fmax(elastic, full_energy[3 * k + 1]);
                off = fmax(off, fabs(energy[3 * k + 1] - full_energy[3 * k + 1]));
                off = fmax(off, fabs(energy[3 * k + 2] - full_energy[3 * k + 2]));
            }
            printf("# %s rest, %s, %s: off by %.1e, energies by %.1e\n", rest ? "turned" : "posed",
                   whole_flesh ? "whole flesh" : "posed subspace", every ? "every tet" : "cubature tets",
                   difference(count, u, full) / size, off / elastic);
            /* Whole flesh and every tet are the full simulation in other coordinates, in double: what Newton leaves,
             * 1e-11 of the forces, times what a step's matrix makes of it. The run time's own parts read rotations
             * (good to 1e-6) and rows in float. */
            double bound = whole_flesh && every ? 1e-10 : 2e-6;
            assert_near(difference(count, u, full) / size, 0, bound);
            assert_near(off / elastic, 0, 10 * bound);
            free(u);
        }
        free(full);
        free_stage(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_combination_is_the_full_simulation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
