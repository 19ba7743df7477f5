#include "runtime/step/step.h"

#include "geometry/mat3.h"
#include "runtime/kernels/kernels.h"
#include "runtime/step/step_internal.h"

#include <math.h>
#include <string.h>

const char *su_step_end_text(su_step_end end)
{
    static const char *const texts[] = {[SU_STEP_OK] = "",
                                        [SU_STEP_NOT_DEFINITE] = "the reduced matrix is not definite",
                                        [SU_STEP_NOT_FINITE] = "the forces are not finite",
                                        [SU_STEP_TOO_FAR] = "the flesh leapt",
                                        [SU_STEP_NO_DESCENT] = "no descent"};
    return texts[end];
}

/* ---- memory ---- */

static void *take(su_stepper *s, int64_t count, su_error *err)
{
    void *block = su_arena_alloc(&s->arena, count, sizeof(double));
    if (!block) su_fail(err, SU_AGAIN, "not enough memory for the integrator");
    return block;
}

static bool create_record(su_stepper *s, su_record *record, su_error *err)
{
    const su_runtime_model *model = s->model;
    return (record->q = take(s, model->lead, err)) && su_blend_create(model, &record->blend, &s->arena, err) == SU_OK &&
           (record->turn = take(s, 9 * model->inertia_padded, err)) &&
           (record->world = take(s, 3 * model->inertia_padded, err)) &&
           (record->still = take(s, 3 * model->kept_padded, err)) &&
           (record->corners = take(s, 12 * model->tets_padded, err)) &&
           (record->inertia = take(s, 3 * model->inertia_padded, err));
}

su_status su_stepper_create(const su_runtime_model *model, const su_step_settings *settings, su_stepper *s,
                            su_error *err)
{
    memset(s, 0, sizeof *s);
    s->model = model;
    s->settings = *settings;
    int64_t lead = model->lead, widest = SU_PANEL, rows = SU_PANEL, tets = model->tets_padded;
    for (int kind = 0; kind < 2; kind++)
        for (int64_t p = 0; p < (kind ? model->tet_panels : model->point_panels); p++) {
            const su_panel *panel = (kind ? model->tet_panel : model->point_panel) + p;
            if (panel->stride > widest) widest = panel->stride;
            if (9 * panel->count > rows) rows = 9 * panel->count;
        }
    bool good = true;
    for (int k = 0; k < 3 && good; k++) good = create_record(s, s->records + k, err);
    s->now = s->records, s->before = s->records + 1, s->next = s->records + 2;
    double **vectors[] = {&s->inverse,   &s->load,  &s->held,     &s->older, &s->force,
                          &s->direction, &s->trial, &s->straight, &s->since};
    for (int k = 0; k < 9 && good; k++) good = (*vectors[k] = take(s, lead, err)) != NULL;
    good = good && (s->A = take(s, lead * lead, err)) && (s->gathered = take(s, widest, err)) &&
           (s->padded = take(s, model->region_offset[model->basis.d], err)) && (s->rows = take(s, rows + 8, err)) &&
           (s->acceleration = take(s, 3 * model->inertia_padded, err)) &&
           (s->z = take(s, 3 * model->inertia_padded, err)) &&
           (s->nowhere = take(s, 3 * (model->kept_padded > tets ? model->kept_padded : tets), err)) &&
           (s->carried = take(s, 9 * tets, err)) && (s->strain = take(s, 9 * tets, err)) &&
           (s->stress = take(s, 9 * tets, err)) &&
           (s->derivative = take(s, SU_DERIVATIVE_ENTRIES * (tets + 8) / 2, err)) &&
           (s->carried_derivative = take(s, SU_DERIVATIVE_ENTRIES * (tets + 8) / 2, err)) &&
           (s->irregular = take(s, tets / 8 + 1, err)) &&
           (s->work = take(s, 36 * widest + 4 + 8 * (widest * (widest + 1) / 2 + 7), err)) &&
           (s->tile = take(s, widest * widest, err)) && (s->blocks = take(s, (model->pair_entries + 1) / 2, err)) &&
           (s->blend_lanes = take(s, 8 * model->m, err));
    if (!good) su_stepper_free(s);
    return good ? SU_OK : SU_AGAIN;
}

void su_stepper_free(su_stepper *s)
{
    su_arena_free(&s->arena);
    memset(s, 0, sizeof *s);
}

/* ---- loads that do not depend on the new q ---- */

/* The record's q is there. */
static void take_pose(su_stepper *s, const su_pose *pose, su_record *record)
{
    const su_runtime_model *model = s->model;
    su_gram_times(model, pose->gram, record->q, s->padded, s->held);
    record->norm = su_step_dot(model->r, record->q, s->held);
    su_blend_copy(model, &pose->blend, &record->blend);
    memcpy(record->turn, pose->turn, (size_t)(9 * model->inertia_padded) * sizeof(double));
    memcpy(record->world, pose->world, (size_t)(3 * model->inertia_padded) * sizeof(double));
    memcpy(record->Q, pose->Q, sizeof record->Q);
}

/* out += sum over inertia vertices of mass * U^' z */
static void add_inertia(const su_stepper *s, const su_pose *pose, const double *z, double *out)
{
    const su_runtime_model *model = s->model;
    int64_t at = 0, inertia = model->inertia_padded;
    for (int64_t p = 0; p < model->point_panels; p++) {
        const su_panel *panel = model->point_panel + p;
        int64_t from = at;
        memset(s->gathered, 0, (size_t)panel->stride * sizeof *s->gathered);
        for (; at < model->inertia && model->inertia_point[at] < panel->first + panel->count; at++) {
            double scaled[3];
            for (int c = 0; c < 3; c++) scaled[c] = model->inertia_mass[at] * z[c * inertia + at];
            model->kernels->rows_combine(
                3, panel->stride,
                pose->rows + 3 * (panel->offset + (model->inertia_point[at] - panel->first) * panel->stride), scaled,
                s->gathered);
        }
        if (at > from) su_step_scatter(panel, s->gathered, out);
    }
}

/* s->z: rig acceleration minus gravity and the rotation part of the history, per inertia vertex, turned back to the
 * neutral pose. */
static void inertia_load(su_stepper *s, const su_pose *pose, double h, const double gravity[3], bool dynamic)
{
    const su_runtime_model *model = s->model;
    const su_record *now = s->now, *before = s->before;
    double ratio = dynamic ? h / now->h : 0, world[3];
    bool rotations = dynamic && s->settings.inertia == SU_INERTIA_CONSISTENT;
    int64_t inertia = model->inertia_padded;
    su_mulv3(pose->Q, gravity, world);
    for (int c = 0; c < 3; c++) {
        const double *X1 = pose->world + c * inertia, *X0 = now->world + c * inertia,
                     *X_1 = before->world + c * inertia;
        double *a = s->acceleration + c * inertia;
        for (int64_t k = 0; k < inertia; k++)
            a[k] = dynamic ? ((X1[k] - X0[k]) - ratio * (X0[k] - X_1[k])) / (h * h) - world[c] : -world[c];
    }
    model->kernels->inertia(inertia, s->acceleration, pose->turn, rotations ? now->turn : NULL, now->inertia,
                            before->turn, before->inertia, ratio, h, s->z);
}

/* out = U1' M U_k q_k with rotations held still; k = 0: now, 1: before. */
static void mixed_times(su_stepper *s, const su_pose *pose, int k, double *out)
{
    const su_runtime_model *model = s->model;
    const su_record *record = k ? s->before : s->now;
    const float *blocks = pose->gram;
    if (s->settings.inertia == SU_INERTIA_CONSISTENT) {
        blocks = pose->mixed[k];
        if (pose->follows[k] == 0 || pose->follows[k] != record->blend.serial) {
            su_gram_blend(model, &pose->blend, &record->blend, s->blend_lanes, s->blocks);
            blocks = s->blocks;
        }
    }
    su_gram_times(model, blocks, record->q, s->padded, out);
}

/* s->load: everything on the left that q1 does not enter; s->held: U1' M U0 q0. */
static void history_load(su_stepper *s, const su_pose *pose, double h, const double gravity[3])
{
    double ratio = h / s->now->h, first = (1 + ratio) / (h * h) + s->alpha / h, second = ratio / (h * h);
    mixed_times(s, pose, 0, s->held);
    mixed_times(s, pose, 1, s->older);
    for (int64_t k = 0; k < s->model->lead; k++) s->load[k] = second * s->older[k] - first * s->held[k];
    inertia_load(s, pose, h, gravity, true);
    add_inertia(s, pose, s->z, s->load);
}

/* ---- steps ---- */

/* Largest displacement of a point from the rest shape, over the flesh's diagonal. */
static double farthest(const su_stepper *s, const su_record *record)
{
    return sqrt(su_step_largest_square(s, record, NULL)) / s->model->diagonal;
}

static void rotate_records(su_stepper *s)
{
    su_record *oldest = s->before;
    s->before = s->now, s->now = s->next, s->next = oldest;
}

su_step_end su_stepper_advance(su_stepper *s, const su_pose *pose, double h, const double gravity[3], double extra)
{
    const su_runtime_model *model = s->model;
    const su_step_settings *settings = &s->settings;
    s->alpha = settings->alpha + extra;
    double mass = 1 / (h * h) + s->alpha / h, damping = settings->beta / h, leap = NAN;
    s->iterations = 0;
    history_load(s, pose, h, gravity);
    su_step_prepare_loads(s, pose, h);
    if (settings->inertia == SU_INERTIA_PAPER)
        su_step_strain(s, pose, s->now->q, s->carried);
    else
        model->kernels->turned_strain(model->tets_padded, pose->corner_rotation, s->now->corners, pose->gradient,
                                      s->carried);
    su_step_end end = su_step_first_solve(s, pose, mass, 1 + damping);
    if (end == SU_STEP_OK && settings->newton > 1) end = su_step_iterate(s, pose, mass, damping, settings->newton);
    if (end == SU_STEP_OK) end = su_step_check(s, pose, mass, damping, &leap);
    if (end != SU_STEP_OK) return end;
    if (!su_step_all_finite(model->r, s->next->q)) return SU_STEP_NOT_FINITE;
    double limit = SU_LEAP * model->diagonal;
    if (!(leap <= limit * limit) || !(farthest(s, s->next) <= SU_REACH)) return SU_STEP_TOO_FAR;
    take_pose(s, pose, s->next);
    su_step_keep_loads(s, pose, s->next);
    s->next->h = h;
    rotate_records(s);
    return SU_STEP_OK;
}

/* q with U1 q nearest, in the mass norm, to the present displacement turned along: (U1'MU1) q = U1'MU0 q0. */
static void carry_over(su_stepper *s, const su_pose *pose, double *q)
{
    const su_runtime_model *model = s->model;
    size_t bytes = (size_t)model->lead * sizeof(double);
    memcpy(s->trial, s->now->q, bytes);
    if (s->settings.inertia == SU_INERTIA_CONSISTENT) {
        mixed_times(s, pose, 0, s->held);
        su_step_start_system(s, pose, 1, s->A);
        if (model->kernels->cholesky(model->size, model->lead, s->A, s->inverse)) {
            model->kernels->solve(model->size, model->lead, s->A, s->inverse, s->held);
            memcpy(s->trial, s->held, bytes);
        }
    }
    memcpy(q, s->trial, bytes);
    for (int64_t k = model->r; k < model->lead; k++) q[k] = 0;
}

void su_stepper_jump(su_stepper *s, const su_pose *pose, const su_pose *next, double h)
{
    carry_over(s, pose, s->next->q);
    su_stepper_start(s, pose, s->next->q, NULL, next, h);
}

void su_stepper_follow(su_stepper *s, const su_pose *pose, double h)
{
    carry_over(s, pose, s->next->q);
    for (int64_t k = 0; k < s->model->r; k++) s->next->q[k] *= 0.5;
    su_step_displace(s, pose, s->next);
    take_pose(s, pose, s->next);
    su_step_keep_loads(s, pose, s->next);
    s->next->h = h;
    rotate_records(s);
}

void su_stepper_start(su_stepper *s, const su_pose *pose, const double *q, const double *q_before, const su_pose *next,
                      double h)
{
    const su_runtime_model *model = s->model;
    size_t size = (size_t)model->r * sizeof *q;
    if (q)
        memmove(s->next->q, q, size);
    else
        memset(s->next->q, 0, size);
    if (q_before)
        memmove(s->before->q, q_before, size);
    else
        memcpy(s->before->q, s->next->q, size);
    memcpy(s->now->q, s->next->q, size);
    for (int k = 0; k < 2; k++) {
        su_record *record = k ? s->before : s->now;
        for (int64_t i = model->r; i < model->lead; i++) record->q[i] = 0;
        take_pose(s, pose, record);
        su_step_displace(s, pose, record);
        record->h = h;
    }
    su_step_keep_loads(s, pose, s->now);
    if (next)
        for (int64_t k = 0; k < 3 * model->inertia_padded; k++)
            s->before->world[k] = 2 * pose->world[k] - next->world[k];
}

su_step_end su_stepper_settle(su_stepper *s, const su_pose *pose, const double gravity[3], int max_iterations)
{
    const su_runtime_model *model = s->model;
    size_t bytes = (size_t)model->lead * sizeof(double);
    memset(s->load, 0, bytes);
    inertia_load(s, pose, 1, gravity, false);
    add_inertia(s, pose, s->z, s->load);
    su_step_prepare_loads(s, pose, 0);
    memcpy(s->next->q, s->now->q, bytes);
    s->iterations = 0;
    double tolerance = s->settings.tolerance;
    if (!(tolerance > 0)) s->settings.tolerance = 1e-9;
    su_step_end end = su_step_iterate(s, pose, 0, 0, max_iterations);
    s->settings.tolerance = tolerance;
    if (end != SU_STEP_OK) return end;
    if (!su_step_all_finite(model->r, s->next->q)) return SU_STEP_NOT_FINITE;
    for (int k = 0; k < 2; k++) {
        su_record *record = k ? s->before : s->now;
        memcpy(record->q, s->next->q, bytes);
        take_pose(s, pose, record);
        su_step_displace(s, pose, record);
    }
    return SU_STEP_OK;
}

/* Kinetic energy of U q and its coupling: |d(X + Q u)|^2 - |dX|^2, the quadratic part by Gram matrices, the rest by the
 * inertia vertices, because training covers forces that are linear in U. */
void su_stepper_energy(su_stepper *s, const su_pose *pose, const double gravity[3])
{
    const su_runtime_model *model = s->model;
    const su_record *now = s->now, *before = s->before;
    int64_t inertia = model->inertia_padded;
    double world[3], coupling = 0, weight = 0, turned = 0;
    su_mulv3(pose->Q, gravity, world);
    const float *blocks = pose->mixed[0];
    if (pose->follows[0] == 0 || pose->follows[0] != before->blend.serial) {
        su_gram_blend(model, &now->blend, &before->blend, s->blend_lanes, s->blocks);
        blocks = s->blocks;
    }
    su_gram_times(model, blocks, before->q, s->padded, s->held);
    double own = now->norm, mixed = su_step_dot(model->r, now->q, s->held), older = before->norm;
    for (int64_t k = 0; k < model->inertia; k++) {
        double here[3] = {0}, there[3] = {0};
        for (int c = 0; c < 3; c++)
            for (int b = 0; b < 3; b++) {
                here[c] += now->turn[(3 * c + b) * inertia + k] * now->inertia[b * inertia + k];
                there[c] += before->turn[(3 * c + b) * inertia + k] * before->inertia[b * inertia + k];
            }
        for (int c = 0; c < 3; c++) {
            int64_t at = c * inertia + k;
            turned += model->inertia_mass[k] * (here[c] * there[c] - now->inertia[at] * before->inertia[at]);
            coupling += model->inertia_mass[k] * (here[c] - there[c]) * (now->world[at] - before->world[at]);
            weight -= model->inertia_mass[k] * world[c] * here[c];
        }
    }
    s->kinetic = (0.5 * (own - 2 * (mixed + turned) + older) + coupling) / (now->h * now->h);
    s->weight = weight;
    su_step_strain(s, pose, now->q, s->strain);
    memset(s->force, 0, (size_t)model->lead * sizeof *s->force);
    s->elastic = su_step_elastic_energy(s, pose, s->strain, 0) + su_step_linear_force(s, now->q, 0, s->force);
}
