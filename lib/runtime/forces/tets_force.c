#include "runtime/forces/tets_force.h"

#include "core/memory.h"
#include "geometry/vector.h"
#include "runtime/forces/linear_force.h"
#include "runtime/kernels/kernels.h"
#include "runtime/subspace/pose_part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct tets {
    const su_runtime_model *model;
    double stiffness;          /* factor on Young's modulus */
    double *carried;           /* lanes of 9 entries: grad u* */
    double *strain;            /* the same at q */
    double *stress;            /* weighted */
    float *carried_derivative; /* lanes of 45 entries: at u*, which damping takes */
    float *derivative;         /* at q */
    uint8_t *irregular;        /* a bit a tet: left to the scalar code */
    double *gathered;          /* (widest panel) */
    float *gathered_float;
    double *rows;             /* (largest panel, 9) and a gap */
    double *tile;             /* (widest,widest) */
    float *work;              /* of the tangent kernels */
    double *straight, *since; /* (lead) */
    su_arena arena;
} tets;

static double *lane(double *base, int64_t element, int entry)
{
    return base + su_strain_at(element) + SU_LANES * entry;
}

static void put_strain(const tets *s, const su_panel *panel, double *gradient)
{
    for (int64_t k = 0; k < panel->count; k++)
        for (int a = 0; a < 9; a++) *lane(gradient, panel->first + k, a) = s->rows[9 * k + a];
}

/* rough: in float, no more than B itself is rounded. */
static void strain_at(const tets *s, const su_pose *pose, const double *q, bool rough, double *gradient)
{
    const su_kernels *kernels = s->model->kernels;
    for (int64_t p = 0; p < s->model->tets.panels; p++) {
        const su_panel *panel = s->model->tets.panel + p;
        const float *B = pose->B + 9 * panel->offset;
        double *out = gradient + 9 * panel->first;
        bool abreast = p < s->model->tets.panels_abreast;
        su_panel_gather(panel, q, s->gathered);
        for (int64_t j = 0; rough && j < panel->stride; j++) s->gathered_float[j] = (float)s->gathered[j];
        if (abreast && rough)
            kernels->strain_abreast_float(panel->count, panel->columns, B, s->gathered_float, out);
        else if (abreast)
            kernels->strain_abreast(panel->count, panel->columns, B, s->gathered, out);
        else if (rough)
            kernels->rows_times_float(9 * panel->count, panel->stride, B, s->gathered_float, s->rows);
        else
            kernels->rows_times(9 * panel->count, panel->stride, B, s->gathered, s->rows);
        if (!abreast) put_strain(s, panel, gradient);
    }
}

static void add_stress(const tets *s, const su_pose *pose, double *out)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tets.panels; p++) {
        const su_panel *panel = model->tets.panel + p;
        const float *B = pose->B + 9 * panel->offset;
        memset(s->gathered, 0, (size_t)panel->stride * sizeof *s->gathered);
        if (p < model->tets.panels_abreast) {
            model->kernels->force_abreast(panel->count, panel->columns, B, s->stress + 9 * panel->first, s->gathered);
        } else {
            for (int64_t k = 0; k < panel->count; k++)
                for (int a = 0; a < 9; a++) s->rows[9 * k + a] = *lane(s->stress, panel->first + k, a);
            model->kernels->rows_combine(9 * panel->count, panel->stride, B, s->rows, s->gathered);
        }
        su_panel_scatter(panel, s->gathered, out);
    }
}

/* Entry of a derivative (lanes of 45, in float). */
static float *derivative_lane(float *base, int64_t element, int entry)
{
    return base + su_derivative_at(element) + SU_DERIVATIVE_LANES * entry;
}

/* out[9] += factor * D x of one element; returns x' D x. */
static double derivative_times(float *D, int64_t e, const double x[9], double factor, double out[9])
{
    double sum = 0;
    for (int a = 0, at = 0; a < 9; a++)
        for (int b = a; b < 9; b++, at++) {
            double d = *derivative_lane(D, e, at);
            out[a] += factor * d * x[b];
            if (b > a) out[b] += factor * d * x[a];
            sum += (b > a ? 2 : 1) * d * x[a] * x[b];
        }
    return sum;
}

/* Strain less that of the turned previous state. */
static void strain_since(const tets *s, const double *strain, int64_t e, double out[9])
{
    for (int a = 0; a < 9; a++) out[a] = *lane((double *)strain, e, a) - *lane(s->carried, e, a);
}

/* |F|^2 beyond which a strain is as good as not finite: derivatives take its cube. */
static const double LOST = 1e100;

/* Tets that the vector code left: inverted or nearly flat ones. False where a strain is not finite. */
static bool respond_irregular(tets *s, const su_pose *pose, const su_response *what)
{
    const su_runtime_model *model = s->model;
    for (int64_t e = 0; e < model->tets.count; e++) {
        if (!(s->irregular[e / 8] >> (e % 8) & 1)) continue;
        double F[9], P[9], H[81], since[9], sum = 0, volume = pose->volume[e];
        double mu = s->stiffness * pose->mu[e], lambda = s->stiffness * pose->lambda[e];
        for (int a = 0; a < 9; a++) {
            F[a] = *lane((double *)what->strain, e, a) + (a % 4 == 0);
            sum += F[a] * F[a];
        }
        if (!(sum < LOST)) return false;
        su_material_stress(model->material, mu, lambda, F, P);
        if (what->derivative) {
            su_material_derivative(model->material, mu, lambda, F, what->project, H);
            for (int a = 0, at = 0; a < 9; a++)
                for (int b = 0; b < 9; b++) {
                    P[a] -= what->linear * H[9 * a + b] * (F[b] - (b % 4 == 0));
                    if (b >= a) *derivative_lane(what->derivative, e, at++) = (float)(volume * H[9 * a + b]);
                }
        }
        for (int a = 0; a < 9; a++) P[a] *= volume;
        if (what->damping != 0) {
            strain_since(s, what->strain, e, since);
            derivative_times(s->carried_derivative, e, since, what->damping, P);
            for (int at = 0; at < SU_DERIVATIVE_ENTRIES && what->derivative; at++)
                *derivative_lane(what->derivative, e, at) +=
                    (float)what->damping * *derivative_lane(s->carried_derivative, e, at);
        }
        for (int a = 0; a < 9; a++) *lane(s->stress, e, a) = P[a];
    }
    return true;
}

/* what: the strain, and how the stress and its derivative are wanted; the rest of it is filled in. */
static bool respond(tets *s, const su_pose *pose, su_response what)
{
    what.material = s->model->material, what.count = s->model->tets.padded, what.stiffness = s->stiffness;
    what.mu = pose->mu, what.lambda = pose->lambda, what.volume = pose->volume;
    what.stress = s->stress, what.irregular = s->irregular;
    what.held = s->carried_derivative, what.carried = s->carried;
    s->model->kernels->respond(&what);
    return respond_irregular(s, pose, &what);
}

static double elastic_energy(const tets *s, const su_pose *pose, const double *strain, double damping)
{
    const su_runtime_model *model = s->model;
    double energy = 0;
    for (int64_t e = 0; e < model->tets.count; e++) {
        double F[9], since[9], unused[9] = {0};
        for (int a = 0; a < 9; a++) F[a] = *lane((double *)strain, e, a) + (a % 4 == 0);
        energy += pose->volume[e] *
                  su_material_energy(model->material, s->stiffness * pose->mu[e], s->stiffness * pose->lambda[e], F);
        if (damping == 0) continue;
        strain_since(s, strain, e, since);
        energy += 0.5 * damping * derivative_times(s->carried_derivative, e, since, 0, unused);
    }
    return energy;
}

/* force += factor D q, unless NULL; returns half of q' factor D q. */
static double add_linear(tets *s, const double *q, double factor, double *force)
{
    const su_runtime_model *model = s->model;
    memset(s->straight, 0, (size_t)model->lead * sizeof *s->straight);
    su_linear_times(model, factor * s->stiffness, q, s->straight);
    for (int64_t k = 0; force && k < model->r; k++) force[k] += s->straight[k];
    return 0.5 * su_dot(model->r, q, s->straight);
}

/* What the tets lack: force (lead; NULL: not wanted) += D q + damping D (q - the present q). Returns its energy. */
static double linear_force(tets *s, const su_force_at *at, double *force)
{
    const su_runtime_model *model = s->model;
    if (!model->linear) return 0;
    double energy = add_linear(s, at->q, 1, force);
    if (at->damping == 0) return energy;
    for (int64_t k = 0; k < model->lead; k++) s->since[k] = k < model->r ? at->q[k] - at->from[k] : 0;
    return energy + add_linear(s, s->since, at->damping, force);
}

/* Adds a panel's tile to the upper triangle of K. */
static void scatter_tile(const su_runtime_model *model, const su_panel *panel, const double *tile, double scale,
                         double *K)
{
    const int64_t *first = model->basis.first_mode, stride = panel->stride;
    for (int64_t a = 0, i0 = 0; a < panel->region_count; a++) {
        int64_t rows = first[panel->regions[a] + 1] - first[panel->regions[a]];
        for (int64_t b = a, j0 = i0; b < panel->region_count; b++) {
            int64_t columns = first[panel->regions[b] + 1] - first[panel->regions[b]];
            for (int64_t i = 0; i < rows; i++) {
                double *to = K + (first[panel->regions[a]] + i) * model->lead + first[panel->regions[b]];
                const double *from = tile + (i0 + i) * stride + j0;
                for (int64_t j = a == b ? i : 0; j < columns; j++) to[j] += scale * from[j];
            }
            j0 += columns;
        }
        i0 += rows;
    }
}

static void assemble(tets *s, const su_pose *pose, const float *derivative, double scale, double *A, double *force)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tets.panels; p++) {
        const su_panel *panel = model->tets.panel + p;
        memset(s->tile, 0, (size_t)(panel->columns * panel->stride) * sizeof *s->tile);
        memset(s->gathered, 0, (size_t)panel->stride * sizeof *s->gathered);
        const float *B = pose->B + 9 * panel->offset;
        if (p < model->tets.panels_abreast) {
            model->kernels->tangent_abreast(panel->count, panel->columns, panel->stride, B,
                                            derivative + SU_DERIVATIVE_ENTRIES * panel->first, s->work, s->tile);
            if (force)
                model->kernels->force_abreast(panel->count, panel->columns, B, s->stress + 9 * panel->first,
                                              s->gathered);
        } else {
            model->kernels->tangent(&(su_panel_products){panel->first, panel->count, panel->columns, panel->stride, B,
                                                         derivative, force ? s->stress : NULL, s->work, s->tile,
                                                         s->gathered});
        }
        scatter_tile(model, panel, s->tile, scale, A);
        if (force) su_panel_scatter(panel, s->gathered, force);
    }
}

/* ---- the part ---- */

static void prepare(void *self, const void *instant, const su_subspace *subspace, const su_state *now, bool turned)
{
    (void)subspace; /* the state holds the corners */
    const tets *s = self;
    const su_pose *pose = instant;
    if (turned)
        s->model->kernels->turned_strain(s->model->tets.padded, pose->corner_rotation, now->force, pose->gradient,
                                         s->carried);
    else
        strain_at(s, pose, now->q, false, s->carried);
}

static bool linearize(void *self, const void *instant, const double *from, double factor, double *A, double *out)
{
    tets *s = self;
    const su_response what = {
        .strain = s->carried, .derivative = s->carried_derivative, .project = true, .linear = factor};
    if (!respond(s, instant, what)) return false;
    if (!A) return true;
    assemble(s, instant, s->carried_derivative, factor, A, out);
    if (!s->model->linear) return true;
    su_linear_add(s->model, factor * s->stiffness, A);
    add_linear(s, from, 1 - factor, out);
    return true;
}

static bool evaluate(void *self, const void *instant, const su_force_at *at)
{
    tets *s = self;
    const su_response what = {.strain = s->strain,
                              .derivative = at->tangent == SU_TANGENT_NONE ? NULL : s->derivative,
                              .project = at->tangent == SU_TANGENT_PROJECTED,
                              .damping = at->damping};
    if (!at->again) strain_at(s, instant, at->q, false, s->strain);
    return respond(s, instant, what);
}

static void add_force(void *self, const void *instant, const su_force_at *at, double *out)
{
    add_stress(self, instant, out);
    linear_force(self, at, out);
}

static void add_tangent(void *self, const void *instant, const su_force_at *at, double *A, double *out)
{
    tets *s = self;
    assemble(s, instant, s->derivative, 1, A, out);
    if (s->model->linear) su_linear_add(s->model, (1 + at->damping) * s->stiffness, A);
    if (out) linear_force(s, at, out);
}

static double energy(void *self, const void *instant, const su_force_at *at)
{
    tets *s = self;
    if (!at->again) strain_at(s, instant, at->q, false, s->strain);
    return elastic_energy(s, instant, s->strain, at->damping) + linear_force(s, at, NULL);
}

/* Displacements at the corners of tets, turned back: leaves the strain at q in s->strain, in float. */
static void keep(void *self, const void *instant, const su_subspace *subspace, const su_state *reached)
{
    const tets *s = self;
    const su_runtime_model *model = s->model;
    const su_pose *pose = instant;
    int64_t kept;
    const double *still = subspace->still(subspace->self, reached->subspace, &kept);
    strain_at(s, pose, reached->q, true, s->strain); /* from which the next step starts */
    model->kernels->corners(model->tets.padded, kept, model->tets.base, still, pose->corner_rotation, pose->gradient,
                            s->strain, reached->force);
}

static double largest_square(void *self, const double *a, const double *b)
{
    const tets *s = self;
    int64_t padded = s->model->tets.padded;
    double most = 0;
    for (int c = 0; c < 4; c++) {
        double here = s->model->kernels->largest_square(padded, a + 3 * c * padded, b ? b + 3 * c * padded : NULL);
        if (most < here || isnan(here)) most = here;
    }
    return most;
}

static void release(void *self)
{
    tets *s = self;
    su_arena_free(&s->arena);
    free(s);
}

su_status su_tets_force_create(const su_runtime_model *model, double stiffness, su_force *out, su_error *err)
{
    tets *s;
    int64_t widest = SU_PANEL, most = 0, padded = model->tets.padded;
    SU_TRY(SU_ALLOC(&s, 1, "elastic force", err));
    s->model = model, s->stiffness = stiffness;
    for (int64_t p = 0; p < model->tets.panels; p++) {
        if (model->tets.panel[p].stride > widest) widest = model->tets.panel[p].stride;
        if (model->tets.panel[p].count > most) most = model->tets.panel[p].count;
    }
    /* by rows: D B of a group of eight tets; abreast: the tile's triangle in sixteen lanes */
    int64_t by_rows = 9 * SU_LANES * widest + SU_LANES, triangle = SU_ABREAST * (widest * (widest + 1) / 2 + 7);
    int64_t derivatives = SU_DERIVATIVE_ENTRIES * (padded + SU_LANES); /* whole sixteens */
    su_status status = SU_TAKE_ALL(
        &s->arena, "the elastic force", err, SU_WANT(s->carried, 9 * padded), SU_WANT(s->strain, 9 * padded),
        SU_WANT(s->stress, 9 * padded), SU_WANT(s->carried_derivative, derivatives),
        SU_WANT(s->derivative, derivatives), SU_WANT(s->irregular, padded / 8 + 1), SU_WANT(s->gathered, widest),
        SU_WANT(s->gathered_float, widest), SU_WANT(s->rows, 9 * most + SU_LANES), SU_WANT(s->tile, widest * widest),
        SU_WANT(s->work, by_rows > triangle ? by_rows : triangle), SU_WANT(s->straight, model->lead),
        SU_WANT(s->since, model->lead));
    if (status != SU_OK) {
        release(s);
        return status;
    }
    *out = (su_force){.self = s,
                      .state_size = 12 * padded,
                      .prepare = prepare,
                      .linearize = linearize,
                      .evaluate = evaluate,
                      .add_force = add_force,
                      .add_tangent = add_tangent,
                      .energy = energy,
                      .keep = keep,
                      .largest_square = largest_square,
                      .release = release};
    return SU_OK;
}

void su_tets_force_set_stiffness(su_force *force, double stiffness) { ((tets *)force->self)->stiffness = stiffness; }
