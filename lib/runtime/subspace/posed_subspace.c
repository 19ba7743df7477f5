#include "runtime/subspace/posed_subspace.h"

#include "core/memory.h"
#include "geometry/vector.h"
#include "geometry/mat3.h"
#include "runtime/kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

/* Where the arrays of a state's share begin. Arrays by component as in su_pose. */
typedef struct layout {
    int64_t blend, serial; /* su_blend; serial as a number */
    int64_t turn;          /* (9,inertia_padded) P */
    int64_t world;         /* (3,inertia_padded) X */
    int64_t still;         /* (3,kept_padded) U^ q, rotations not yet applied */
    int64_t inertia;       /* (3,inertia_padded) the same at the inertia vertices */
    int64_t norm;          /* q' U'MU q, kg m^2 */
    int64_t end;
} layout;

typedef struct posed {
    const su_runtime_model *model;
    layout at;
    double *gathered;     /* (widest panel) */
    double *rows;         /* (largest panel, 3) and a gap */
    double *padded;       /* regions padded */
    double *held, *older; /* (lead) */
    double *acceleration; /* (3,inertia_padded) */
    double *z;            /* (3,inertia_padded) */
    float *blocks;        /* Gram blocks of an instant that follows another than its pose part took it to */
    float *blend_lanes;
    su_arena arena;
} posed;

static su_blend blend_at(const posed *p, const double *state)
{
    su_blend blend = su_blend_in(p->model, (double *)state + p->at.blend);
    blend.serial = (int64_t)state[p->at.serial];
    return blend;
}

su_blend su_posed_blend(const su_subspace *subspace, const double *state) { return blend_at(subspace->self, state); }

/* ---- mass ---- */

/* Padding columns of a block land on columns that the next blocks of the row overwrite or that stay 0. */
static void mass(void *self, const void *instant, double factor, double *A)
{
    const su_runtime_model *model = ((posed *)self)->model;
    const su_pose *pose = instant;
    const int64_t *first = model->basis.first_mode, lead = model->lead;
    memset(A, 0, (size_t)(lead * lead) * sizeof *A);
    for (int64_t k = 0; k < model->gram.pairs; k++) {
        const su_gram_pair *pair = model->gram.pair + k;
        if (pair->left > pair->right) continue;
        for (int64_t a = 0; a < pair->rows; a++) {
            double *to = A + (first[pair->left] + a) * lead + first[pair->right];
            const float *from = pose->gram + pair->offset + a * pair->stride;
            for (int64_t j = 0; j < pair->stride; j++) to[j] = factor * from[j];
        }
    }
    for (int64_t k = model->r; k < model->size; k++) A[k * lead + k] = 1;
}

static void mass_times(void *self, const void *instant, const double *q, double *out)
{
    posed *p = self;
    su_gram_times(p->model, ((const su_pose *)instant)->gram, q, p->padded, out);
}

/* out = U1' M U_k q_k with rotations held still, at the instant whose weights are `own`; k = 0: the instant before, 1:
 * that before it. */
static void mixed_times(posed *p, const su_pose *pose, const su_blend *own, int k, const su_state *state, double *out)
{
    const float *blocks = pose->mixed[k];
    su_blend blend = blend_at(p, state->subspace);
    if (!p->model->gram.fixed && (pose->follows[k] == 0 || pose->follows[k] != blend.serial)) {
        su_gram_blend(p->model, own, &blend, p->blend_lanes, p->blocks);
        blocks = p->blocks;
    }
    su_gram_times(p->model, blocks, state->q, p->padded, out);
}

static void carried_mass(void *self, const void *instant, const su_state *state, double *out)
{
    const su_pose *pose = instant;
    mixed_times(self, pose, &pose->blend, 0, state, out);
}

/* ---- history ---- */

/* The rows of a kept point of a panel. */
static const float *rows_of(const su_pose *pose, const su_panel *panel, int64_t point)
{
    return pose->rows + 3 * (panel->offset + (point - panel->first) * panel->stride);
}

/* out += sum over inertia vertices of mass * U^' z */
static void add_inertia(const posed *p, const su_pose *pose, double *out)
{
    const su_runtime_model *model = p->model;
    int64_t at = 0, inertia = model->inertia.padded;
    for (int64_t k = 0; k < model->points.panels; k++) {
        const su_panel *panel = model->points.panel + k;
        int64_t from = at;
        memset(p->gathered, 0, (size_t)panel->stride * sizeof *p->gathered);
        for (; at < model->inertia.count && model->inertia.point[at] < panel->first + panel->count; at++) {
            double scaled[3];
            for (int c = 0; c < 3; c++) scaled[c] = model->inertia.mass[at] * p->z[c * inertia + at];
            model->kernels->rows_combine(3, panel->stride, rows_of(pose, panel, model->inertia.point[at]), scaled,
                                         p->gathered);
        }
        if (at > from) su_panel_scatter(panel, p->gathered, out);
    }
}

/* z: rig acceleration minus gravity and the rotation part of the history, per inertia vertex, turned back to the
 * neutral pose. */
static void inertia_load(posed *p, const su_pose *pose, const su_history *history)
{
    const su_runtime_model *model = p->model;
    const double *now = history->now->subspace, *before = history->before->subspace;
    bool dynamic = history->h > 0, rotations = dynamic && history->inertia == SU_INERTIA_CONSISTENT;
    double h = dynamic ? history->h : 1, ratio = dynamic ? h / history->now->h : 0, world[3];
    int64_t inertia = model->inertia.padded;
    su_mulv3(pose->Q, history->gravity->acts, world);
    for (int c = 0; c < 3; c++) {
        const double *X1 = pose->world + c * inertia, *X0 = now + p->at.world + c * inertia,
                     *X_1 = before + p->at.world + c * inertia;
        double *a = p->acceleration + c * inertia;
        for (int64_t k = 0; k < inertia; k++)
            a[k] = dynamic ? ((X1[k] - X0[k]) - ratio * (X0[k] - X_1[k])) / (h * h) - world[c] : -world[c];
    }
    model->kernels->inertia(&(su_inertia_load){.count = inertia,
                                               .acceleration = p->acceleration,
                                               .turn1 = pose->turn,
                                               .turn0 = rotations ? now + p->at.turn : NULL,
                                               .turn_before = before + p->at.turn,
                                               .u0 = now + p->at.inertia,
                                               .u_before = before + p->at.inertia,
                                               .ratio = ratio,
                                               .h = h},
                            p->z);
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < inertia; k++) p->z[c * inertia + k] += history->gravity->carried[c];
}

static void history(void *self, const void *instant, const su_history *history_of, double *load)
{
    posed *p = self;
    const su_pose *pose = instant;
    const su_state *now = history_of->now, *before = history_of->before;
    double h = history_of->h;
    if (h > 0) {
        double ratio = h / now->h, first = (1 + ratio) / (h * h) + history_of->alpha / h, second = ratio / (h * h);
        if (history_of->inertia == SU_INERTIA_CONSISTENT) {
            mixed_times(p, pose, &pose->blend, 0, now, p->held);
            mixed_times(p, pose, &pose->blend, 1, before, p->older);
        } else {
            mass_times(p, pose, now->q, p->held);
            mass_times(p, pose, before->q, p->older);
        }
        for (int64_t k = 0; k < p->model->lead; k++) load[k] = second * p->older[k] - first * p->held[k];
    } else {
        memset(load, 0, (size_t)p->model->lead * sizeof *load);
    }
    inertia_load(p, pose, history_of);
    add_inertia(p, pose, load);
}

/* ---- states ---- */

/* p->rows = turned-back displacements (count,3) of points that stand one behind the other in a panel, at its share of
 * q in p->gathered. */
static void still_at(const posed *p, const su_pose *pose, const su_panel *panel, int64_t first, int64_t count)
{
    p->model->kernels->rows_times(3 * count, panel->stride, rows_of(pose, panel, first), p->gathered, p->rows);
}

static void displace(void *self, const void *instant, const double *q, double *state)
{
    const posed *p = self;
    const su_runtime_model *model = p->model;
    const su_pose *pose = instant;
    double *still = state + p->at.still, *inertia = state + p->at.inertia;
    int64_t kept = model->points.kept_padded;
    for (int64_t k = 0; k < model->points.kept_panels; k++) {
        const su_panel *panel = model->points.panel + k;
        su_panel_gather(panel, q, p->gathered);
        still_at(p, pose, panel, panel->first, panel->count);
        double *x = still + panel->first, *y = x + kept, *z = y + kept;
        for (int64_t i = 0; i < panel->count; i++)
            x[i] = p->rows[3 * i], y[i] = p->rows[3 * i + 1], z[i] = p->rows[3 * i + 2];
    }
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < model->inertia.count; k++)
            inertia[c * model->inertia.padded + k] = still[c * kept + model->inertia.point[k]];
}

static void keep(void *self, const void *instant, const double *q, double *state)
{
    posed *p = self;
    const su_runtime_model *model = p->model;
    const su_pose *pose = instant;
    mass_times(p, pose, q, p->held);
    state[p->at.norm] = su_dot(model->r, q, p->held);
    su_blend blend = blend_at(p, state);
    su_blend_copy(model, &pose->blend, &blend);
    state[p->at.serial] = (double)blend.serial; /* serials stay far below 2^53 */
    memcpy(state + p->at.turn, pose->turn, (size_t)(9 * model->inertia.padded) * sizeof *state);
    memcpy(state + p->at.world, pose->world, (size_t)(3 * model->inertia.padded) * sizeof *state);
}

static void start_moving(void *self, const void *instant, const void *next, double *state)
{
    const posed *p = self;
    const su_pose *pose = instant, *then = next;
    for (int64_t k = 0; k < 3 * p->model->inertia.padded; k++)
        state[p->at.world + k] = 2 * pose->world[k] - then->world[k];
}

static double largest_square(void *self, const double *a, const double *b)
{
    const posed *p = self;
    return p->model->kernels->largest_square(p->model->points.kept_padded, a + p->at.still, b ? b + p->at.still : NULL);
}

/* Kinetic energy of U q and its coupling: |d(X + Q u)|^2 - |dX|^2, the quadratic part by Gram matrices, the rest by the
 * inertia vertices, because training covers forces that are linear in U. */
static void energy(void *self, const void *instant, const su_history *history_of, double *kinetic, double *weight)
{
    posed *p = self;
    const su_runtime_model *model = p->model;
    const su_pose *pose = instant;
    const double *now = history_of->now->subspace, *before = history_of->before->subspace, h = history_of->h;
    const double *now_turn = now + p->at.turn, *now_u = now + p->at.inertia, *now_X = now + p->at.world;
    const double *older_turn = before + p->at.turn, *older_u = before + p->at.inertia, *older_X = before + p->at.world;
    int64_t inertia = model->inertia.padded;
    double world[3], coupling = 0, sum = 0, turned = 0;
    su_mulv3(pose->Q, history_of->gravity->acts, world);
    const su_blend own_blend = blend_at(p, now);
    mixed_times(p, pose, &own_blend, 0, history_of->before, p->held);

    double own = now[p->at.norm], mixed = su_dot(model->r, history_of->now->q, p->held), older = before[p->at.norm];
    for (int64_t k = 0; k < model->inertia.count; k++) {
        double here[3] = {0}, there[3] = {0};
        for (int c = 0; c < 3; c++)
            for (int b = 0; b < 3; b++) {
                here[c] += now_turn[(3 * c + b) * inertia + k] * now_u[b * inertia + k];
                there[c] += older_turn[(3 * c + b) * inertia + k] * older_u[b * inertia + k];
            }
        for (int c = 0; c < 3; c++) {
            int64_t at = c * inertia + k;
            turned += model->inertia.mass[k] * (here[c] * there[c] - now_u[at] * older_u[at]);
            coupling += model->inertia.mass[k] * (here[c] - there[c]) * (now_X[at] - older_X[at]);
            sum -= model->inertia.mass[k] * (world[c] * here[c] - history_of->gravity->carried[c] * now_u[at]);
        }
    }
    *kinetic = (0.5 * (own - 2 * (mixed + turned) + older) + coupling) / (h * h);
    *weight = sum;
}

/* ---- chosen points ---- */

/* Points of one panel, as those of a tet or of a contact pair mostly are, are scattered together. */
static void add_force(void *self, const void *instant, int count, const int32_t *points, const double *share,
                      const double f[3], double *out)
{
    const posed *p = self;
    const su_runtime_model *model = p->model;
    const su_pose *pose = instant;
    const su_panel *panel = NULL;
    int64_t kept = model->points.kept_padded;
    for (int k = 0; k < count; k++) {
        int64_t point = points[k];
        double z[3];
        if (point < 0 || share[k] == 0) continue;
        const float *R = pose->rotation + point;
        for (int b = 0; b < 3; b++)
            z[b] = share[k] * (R[b * kept] * f[0] + R[(3 + b) * kept] * f[1] + R[(6 + b) * kept] * f[2]);
        const su_panel *own = su_panel_of(&model->points, point);
        if (own != panel) {
            if (panel) su_panel_scatter(panel, p->gathered, out);
            panel = own;
            memset(p->gathered, 0, (size_t)panel->stride * sizeof *p->gathered);
        }
        model->kernels->rows_combine(3, panel->stride, rows_of(pose, panel, point), z, p->gathered);
    }
    if (panel) su_panel_scatter(panel, p->gathered, out);
}

static void add_displacement(void *self, const void *instant, const double *state, int64_t point, double factor,
                             double u[3])
{
    const posed *p = self;
    const su_pose *pose = instant;
    const double *still = state + p->at.still;
    int64_t kept = p->model->points.kept_padded;
    for (int c = 0; c < 3; c++)
        for (int b = 0; b < 3; b++)
            u[c] += factor * pose->rotation[(3 * c + b) * kept + point] * still[b * kept + point];
}

/* y (count,3) = places of points that stand one behind the other + turns of what u has of them. */
static void turn_points(const su_runtime_model *model, const su_pose *pose, int64_t first, int64_t count,
                        const double *const u[3], int64_t stride, double *y)
{
    int64_t kept = model->points.kept_padded, padded = model->points.chosen_padded;
    const double *x[3];
    const float *R[9];
    for (int k = 0; k < 9; k++) R[k] = pose->rotation + k * kept + first;
    for (int c = 0; c < 3; c++) x[c] = pose->place + c * padded + first;
    for (int64_t i = 0; i < count; i++) {
        double z[3] = {u[0][stride * i], u[1][stride * i], u[2][stride * i]};
        for (int c = 0; c < 3; c++)
            y[3 * i + c] = x[c][i] + R[3 * c][i] * z[0] + R[3 * c + 1][i] * z[1] + R[3 * c + 2][i] * z[2];
    }
}

/* Numbers that rise by one are taken together. */
static void places(void *self, const void *instant, const double *q, const double *state, int64_t count,
                   const int32_t *chosen, double *y)
{
    const posed *p = self;
    const su_runtime_model *model = p->model;
    const su_pose *pose = instant;
    int64_t kept = model->points.kept_padded, padded = model->points.chosen_padded;
    const double *still = state ? state + p->at.still : NULL;
    const su_panel *gathered = NULL;
    for (int64_t k = 0, end; k < count; k = end) {
        int64_t first = chosen[k];
        bool moves = (q || state) && first < model->points.kept;
        const su_panel *panel = moves ? su_panel_of(&model->points, first) : NULL;
        int64_t last = moves ? panel->first + panel->count : padded;
        for (end = k + 1; end < count && chosen[end] == chosen[end - 1] + 1 && chosen[end] < last;) end++;
        if (!moves) {
            for (int64_t i = k; i < end; i++)
                for (int c = 0; c < 3; c++) y[3 * i + c] = pose->place[c * padded + chosen[i]];
        } else if (q) {
            if (panel != gathered) su_panel_gather(gathered = panel, q, p->gathered);
            still_at(p, pose, panel, first, end - k);
            turn_points(model, pose, first, end - k, (const double *[]){p->rows, p->rows + 1, p->rows + 2}, 3,
                        y + 3 * k);
        } else {
            const double *u = still + first;
            turn_points(model, pose, first, end - k, (const double *[]){u, u + kept, u + 2 * kept}, 1, y + 3 * k);
        }
    }
}

static const double *still_points(void *self, const double *state, int64_t *padded)
{
    const posed *p = self;
    *padded = p->model->points.kept_padded;
    return state + p->at.still;
}

/* ---- memory ---- */

static void release(void *self)
{
    posed *p = self;
    su_arena_free(&p->arena);
    free(p);
}

static int64_t room(layout *at, int64_t count)
{
    int64_t begin = at->end;
    at->end += su_padded(count); /* each array aligned for vectors */
    return begin;
}

static layout lay_out(const su_runtime_model *model)
{
    layout at = {.end = 0};
    at.blend = room(&at, su_blend_size(model)), at.serial = room(&at, 1);
    at.turn = room(&at, 9 * model->inertia.padded), at.world = room(&at, 3 * model->inertia.padded);
    at.still = room(&at, 3 * model->points.kept_padded), at.inertia = room(&at, 3 * model->inertia.padded);
    at.norm = room(&at, 1);
    return at;
}

su_status su_posed_subspace_create(const su_runtime_model *model, su_subspace *out, su_error *err)
{
    posed *p;
    int64_t widest = SU_PANEL, most = 0;
    SU_TRY(SU_ALLOC(&p, 1, "subspace", err));
    p->model = model;
    p->at = lay_out(model);
    for (int64_t k = 0; k < model->points.panels; k++) {
        if (model->points.panel[k].stride > widest) widest = model->points.panel[k].stride;
        if (model->points.panel[k].count > most) most = model->points.panel[k].count;
    }
    su_status status =
        SU_TAKE_ALL(&p->arena, "the subspace", err, SU_WANT(p->gathered, widest), SU_WANT(p->rows, 3 * most + SU_PANEL),
                    SU_WANT(p->padded, model->gram.region_offset[model->basis.d]), SU_WANT(p->held, model->lead),
                    SU_WANT(p->older, model->lead), SU_WANT(p->acceleration, 3 * model->inertia.padded),
                    SU_WANT(p->z, 3 * model->inertia.padded), SU_WANT(p->blocks, model->gram.entries),
                    SU_WANT(p->blend_lanes, 2 * SU_FRAMES * model->m));
    if (status != SU_OK) {
        release(p);
        return status;
    }
    *out = (su_subspace){.self = p,
                         .r = model->r,
                         .size = model->size,
                         .lead = model->lead,
                         .state_size = p->at.end,
                         .diagonal = model->diagonal,
                         .mass = mass,
                         .carried_mass = carried_mass,
                         .mass_times = mass_times,
                         .history = history,
                         .displace = displace,
                         .keep = keep,
                         .start_moving = start_moving,
                         .largest_square = largest_square,
                         .energy = energy,
                         .add_force = add_force,
                         .add_displacement = add_displacement,
                         .places = places,
                         .still = still_points,
                         .release = release};
    return SU_OK;
}
