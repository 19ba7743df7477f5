#include "runtime/step.h"

#include "geometry/mat3.h"
#include "runtime/kernels.h"
#include "runtime/step_loads.h"

#include <float.h>
#include <math.h>
#include <string.h>

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
    return (record->q = take(s, model->lead, err)) &&
           su_blend_create(model, &record->blend, &s->arena, err) == SU_OK &&
           (record->turn = take(s, 9 * model->inertia_padded, err)) &&
           (record->world = take(s, 3 * model->inertia_padded, err)) &&
           (record->still = take(s, 3 * model->chosen_padded, err)) &&
           (record->inertia = take(s, 3 * model->inertia_padded, err));
}

su_status su_stepper_create(const su_runtime_model *model, const su_step_settings *settings, su_stepper *s, su_error *err)
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
    double **vectors[] = {&s->inverse, &s->load, &s->held, &s->older, &s->force, &s->damped, &s->direction, &s->trial};
    for (int k = 0; k < 8 && good; k++) good = (*vectors[k] = take(s, lead, err)) != NULL;
    good = good && (s->A = take(s, lead * lead, err)) && (s->K = take(s, lead * lead, err)) &&
           (s->gathered = take(s, widest, err)) && (s->padded = take(s, model->region_offset[model->basis.d], err)) &&
           (s->rows = take(s, rows + 8, err)) && (s->acceleration = take(s, 3 * model->inertia_padded, err)) &&
           (s->z = take(s, 3 * model->inertia_padded, err)) && (s->moved = take(s, 3 * model->chosen_padded, err)) &&
           (s->carried = take(s, 9 * tets, err)) && (s->strain = take(s, 9 * tets, err)) &&
           (s->stress = take(s, 9 * tets, err)) && (s->derivative = take(s, SU_DERIVATIVE_ENTRIES * tets, err)) &&
           (s->irregular = take(s, tets / 8 + 1, err)) && (s->work = take(s, 144 * widest, err)) &&
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

/* ---- panels ---- */

static double *lane(double *base, int entries, int64_t element, int entry)
{
    return base + (element / 8 * entries + entry) * 8 + element % 8;
}

/* Padding columns read q[r] = 0. */
static void gather(const su_panel *panel, const double *q, double *out)
{
    for (int64_t j = 0; j < panel->stride; j++) out[j] = q[panel->modes[j]];
}

static void scatter_add(const su_panel *panel, const double *from, double *q)
{
    for (int64_t j = 0; j < panel->columns; j++) q[panel->modes[j]] += from[j];
}

/* still (3,chosen_padded) = U^ q, and the same at the inertia vertices. */
static void displace_points(const su_stepper *s, const su_pose *pose, su_record *record)
{
    const su_runtime_model *model = s->model;
    int64_t chosen = model->chosen_padded;
    for (int64_t p = 0; p < model->point_panels; p++) {
        const su_panel *panel = model->point_panel + p;
        gather(panel, record->q, s->gathered);
        model->kernels->rows_times(3 * panel->count, panel->stride, pose->rows + 3 * panel->offset, s->gathered, s->rows);
        double *x = record->still + panel->first, *y = x + chosen, *z = y + chosen;
        for (int64_t k = 0; k < panel->count; k++)
            x[k] = s->rows[3 * k], y[k] = s->rows[3 * k + 1], z[k] = s->rows[3 * k + 2];
    }
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < model->inertia; k++)
            record->inertia[c * model->inertia_padded + k] = record->still[c * chosen + model->inertia_point[k]];
}

/* gradient (lanes of 9) = B q */
static void strain_tets(const su_stepper *s, const su_pose *pose, const double *q, double *gradient)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        gather(panel, q, s->gathered);
        model->kernels->rows_times(9 * panel->count, panel->stride, pose->B + 9 * panel->offset, s->gathered, s->rows);
        for (int64_t k = 0; k < panel->count; k++)
            for (int a = 0; a < 9; a++) *lane(gradient, 9, panel->first + k, a) = s->rows[9 * k + a];
    }
}

/* out (lead) += B' t, t lanes of 9 */
static void add_forces(const su_stepper *s, const su_pose *pose, double *t, double *out)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        for (int64_t k = 0; k < panel->count; k++)
            for (int a = 0; a < 9; a++) s->rows[9 * k + a] = *lane(t, 9, panel->first + k, a);
        memset(s->gathered, 0, (size_t)panel->stride * sizeof *s->gathered);
        model->kernels->rows_combine(9 * panel->count, panel->stride, pose->B + 9 * panel->offset, s->rows, s->gathered);
        scatter_add(panel, s->gathered, out);
    }
}

/* Tets that the vector code left: inverted or nearly flat ones. False where a strain is not finite. */
static bool respond_irregular(su_stepper *s, const su_response *what)
{
    const su_runtime_model *model = s->model;
    for (int64_t e = 0; e < model->tets; e++) {
        if (!(s->irregular[e / 8] >> (e % 8) & 1)) continue;
        double F[9], P[9], H[81], mu = what->stiffness * what->mu[e], lambda = what->stiffness * what->lambda[e], sum = 0;
        for (int a = 0; a < 9; a++) {
            F[a] = *lane((double *)what->strain, 9, e, a) + (a % 4 == 0);
            sum += F[a] * F[a];
        }
        if (!(sum < 1e100)) return false;
        su_material_stress(what->material, mu, lambda, F, P);
        if (what->derivative) {
            su_material_derivative(what->material, mu, lambda, F, what->project, H);
            for (int a = 0, at = 0; a < 9; a++)
                for (int b = 0; b < 9; b++) {
                    P[a] -= what->linear * H[9 * a + b] * (F[b] - (b % 4 == 0));
                    if (b >= a) *lane(what->derivative, SU_DERIVATIVE_ENTRIES, e, at++) = what->volume[e] * H[9 * a + b];
                }
        }
        for (int a = 0; a < 9; a++) *lane(what->stress, 9, e, a) = what->volume[e] * P[a];
    }
    return true;
}

/* Weighted stress, less linear * D strain, and where wanted the weighted derivative. */
static bool respond(su_stepper *s, const su_pose *pose, const double *strain, bool derivative, bool project, double linear)
{
    const su_runtime_model *model = s->model;
    su_response what = {.material = model->material, .count = model->tets_padded, .mu = pose->mu, .lambda = pose->lambda,
                        .volume = pose->volume, .stiffness = s->settings.stiffness, .strain = strain,
                        .project = project, .linear = linear, .stress = s->stress,
                        .derivative = derivative ? s->derivative : NULL, .irregular = s->irregular};
    model->kernels->respond(&what);
    return respond_irregular(s, &what);
}

/* Adds a panel's tile to the upper triangle of K. Columns beyond the last whole block of 8 stand in its rows. */
static void scatter_tile(const su_runtime_model *model, const su_panel *panel, const double *tile, double scale, double *K)
{
    const int64_t *first = model->basis.first_mode, full = panel->columns / 8 * 8, stride = panel->stride;
    for (int64_t a = 0, i0 = 0; a < panel->region_count; a++) {
        int64_t rows = first[panel->regions[a] + 1] - first[panel->regions[a]];
        for (int64_t b = a, j0 = i0; b < panel->region_count; b++) {
            int64_t columns = first[panel->regions[b] + 1] - first[panel->regions[b]];
            for (int64_t i = 0; i < rows; i++) {
                double *to = K + (first[panel->regions[a]] + i) * model->lead + first[panel->regions[b]];
                const double *from = tile + (i0 + i) * stride + j0;
                int64_t j = a == b ? i : 0, upper = i0 + i < full && full - j0 < columns ? full - j0 : columns;
                for (; j < upper; j++) to[j] += scale * from[j];
                for (; j < columns; j++) to[j] += scale * tile[(j0 + j) * stride + i0 + i];
            }
            j0 += columns;
        }
        i0 += rows;
    }
}

/* K += scale * B' D B (upper triangle), force += B' stress */
static void assemble(su_stepper *s, const su_pose *pose, double scale, double *K, double *force)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        memset(s->tile, 0, (size_t)(panel->stride * panel->stride) * sizeof *s->tile);
        memset(s->gathered, 0, (size_t)panel->stride * sizeof *s->gathered);
        model->kernels->tangent(panel->first, panel->count, panel->columns, panel->stride, pose->B + 9 * panel->offset,
                                s->derivative, s->stress, s->work, s->tile, s->gathered);
        scatter_tile(model, panel, s->tile, scale, K);
        scatter_add(panel, s->gathered, force);
    }
}

/* A = mass * U'MU, upper triangle; 1 on the padding's diagonal. Padding columns of a block land on columns that the next
 * blocks of the row overwrite or that stay 0. */
static void start_system(const su_stepper *s, const su_pose *pose, double mass, double *A)
{
    const su_runtime_model *model = s->model;
    const int64_t *first = model->basis.first_mode, lead = model->lead;
    memset(A, 0, (size_t)(lead * lead) * sizeof *A);
    for (int64_t k = 0; k < model->pairs; k++) {
        const su_gram_pair *pair = model->pair + k;
        if (pair->left > pair->right) continue;
        for (int64_t a = 0; a < pair->rows; a++) {
            double *to = A + (first[pair->left] + a) * lead + first[pair->right];
            const float *from = pose->gram + pair->offset + a * pair->stride;
            for (int64_t j = 0; j < pair->stride; j++) to[j] = mass * from[j];
        }
    }
    for (int64_t k = model->r; k < model->size; k++) A[k * lead + k] = 1;
}

/* ---- loads that do not depend on the new q ---- */

static double dot(int64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += a[k] * b[k];
    return sum;
}

/* The record's q is there. */
static void take_pose(su_stepper *s, const su_pose *pose, su_record *record)
{
    const su_runtime_model *model = s->model;
    su_gram_times(model, pose->gram, record->q, s->padded, s->held);
    record->norm = dot(model->r, record->q, s->held);
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
        if (at > from) scatter_add(panel, s->gathered, out);
    }
}

/* s->z: rig acceleration minus gravity and the rotation part of the history, per inertia vertex, turned back to the neutral
 * pose. */
static void inertia_load(su_stepper *s, const su_pose *pose, double h, const double gravity[3], bool dynamic)
{
    const su_runtime_model *model = s->model;
    const su_record *now = s->now, *before = s->before;
    double ratio = dynamic ? h / now->h : 0, world[3];
    bool rotations = dynamic && s->settings.inertia == SU_INERTIA_CONSISTENT;
    int64_t inertia = model->inertia_padded;
    su_mulv3(pose->Q, gravity, world);
    for (int c = 0; c < 3; c++) {
        const double *X1 = pose->world + c * inertia, *X0 = now->world + c * inertia, *X_1 = before->world + c * inertia;
        double *a = s->acceleration + c * inertia;
        for (int64_t k = 0; k < inertia; k++)
            a[k] = dynamic ? ((X1[k] - X0[k]) - ratio * (X0[k] - X_1[k])) / (h * h) - world[c] : -world[c];
    }
    model->kernels->inertia(inertia, s->acceleration, pose->turn, rotations ? now->turn : NULL, now->inertia, before->turn,
                            before->inertia, ratio, h, s->z);
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

static double norm(int64_t count, const double *a)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += a[k] * a[k];
    return sqrt(sum);
}

/* ---- Newton ---- */

static bool all_finite(int64_t count, const double *a)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += a[k] * 0.0;
    return sum == 0.0;
}

static double elastic_energy(const su_stepper *s, const su_pose *pose, double *strain)
{
    const su_runtime_model *model = s->model;
    double energy = 0;
    for (int64_t e = 0; e < model->tets; e++) {
        double F[9];
        for (int a = 0; a < 9; a++) F[a] = *lane(strain, 9, e, a) + (a % 4 == 0);
        energy += pose->volume[e] * su_material_energy(model->material, s->settings.stiffness * pose->mu[e],
                                                       s->settings.stiffness * pose->lambda[e], F);
    }
    return energy;
}

/* s->force = residual at q; returns |r| over the forces that balance in it. mass = 0: static. damping: beta / h, of K_d in
 * s->K, with U1' K_d u* in s->damped. NaN where something is not finite. potential (NULL: not wanted): what the residual is
 * the gradient of. derivative: leaves the exact one in s->derivative. */
static double residual_at(su_stepper *s, const su_pose *pose, const double *q, double mass, double damping, double *potential,
                          bool derivative)
{
    const su_runtime_model *model = s->model;
    int64_t r = model->r, lead = model->lead;
    strain_tets(s, pose, q, s->strain);
    if (!respond(s, pose, s->strain, derivative, false, 0)) return NAN;
    memset(s->force, 0, (size_t)lead * sizeof *s->force);
    add_forces(s, pose, s->stress, s->force);
    double size = norm(r, s->force), inertia = 0;
    su_gram_times(model, pose->gram, q, s->padded, s->held);
    if (potential) *potential = elastic_energy(s, pose, s->strain) + 0.5 * mass * dot(r, q, s->held) + dot(r, q, s->load);
    for (int64_t k = 0; k < r; k++) {
        double a = mass * s->held[k] + s->load[k];
        s->force[k] += a;
        inertia += a * a;
    }
    size += sqrt(inertia);
    if (s->loads && s->near_count > 0) {
        memset(s->load_vector, 0, (size_t)lead * sizeof(double));
        double energy = su_step_near_loads(s, q, s->load_vector, NULL);
        if (potential) *potential += energy;
        for (int64_t k = 0; k < r; k++) s->force[k] += s->load_vector[k];
        size += norm(r, s->load_vector);
    }
    if (damping != 0) {
        model->kernels->symmetric_times(model->size, lead, s->K, q, s->held);
        if (potential) *potential += damping * (0.5 * dot(r, q, s->held) - dot(r, q, s->damped));
        for (int64_t k = 0; k < r; k++) s->force[k] += damping * (s->held[k] - s->damped[k]);
    }
    return norm(r, s->force) / fmax(size + norm(r, s->load) * 1e-6, DBL_MIN);
}

/* s->A = mass * U'MU + K(q) + damping * K_d, factored; exact, from s->derivative, where that is wanted and definite, else
 * projected. s->strain is at q. Spoils s->held. */
static bool factor_tangent(su_stepper *s, const su_pose *pose, const double *q, double mass, double damping, bool exact)
{
    const su_runtime_model *model = s->model;
    for (int project = !exact; project < 2; project++) {
        if (project && !respond(s, pose, s->strain, true, true, 0)) return false;
        start_system(s, pose, mass, s->A);
        assemble(s, pose, 1, s->A, s->held);
        if (damping != 0)
            for (int64_t k = 0; k < model->r * model->lead; k++) s->A[k] += damping * s->K[k];
        su_step_near_loads(s, q, s->held, s->A);
        if (model->kernels->cholesky(model->size, model->lead, s->A, s->inverse)) return true;
    }
    return false;
}

/* Newton iterations on s->next->q. Without a tolerance the last one is not looked at: check_solve does where points move
 * far. */
static su_step_end iterate(su_stepper *s, const su_pose *pose, double mass, double damping, int max_iterations)
{
    const su_runtime_model *model = s->model;
    int64_t r = model->r;
    size_t bytes = (size_t)model->lead * sizeof(double);
    double *q = s->next->q, now = residual_at(s, pose, q, mass, damping, NULL, true);
    s->residual = now;
    while (s->iterations < max_iterations && now > s->settings.tolerance) {
        memcpy(s->direction, s->force, bytes);
        if (!factor_tangent(s, pose, q, mass, damping, true)) return SU_STEP_NOT_DEFINITE;
        model->kernels->solve(model->size, model->lead, s->A, s->inverse, s->direction);
        s->iterations++;
        bool last = s->iterations == max_iterations;
        if (last && s->settings.tolerance == 0) {
            for (int64_t k = 0; k < r; k++) q[k] -= s->direction[k];
            break;
        }
        double length = 1, then = INFINITY;
        for (int halvings = 0; halvings < 12; halvings++, length *= 0.5) {
            memset(s->trial, 0, bytes);
            for (int64_t k = 0; k < r; k++) s->trial[k] = q[k] - length * s->direction[k];
            then = residual_at(s, pose, s->trial, mass, damping, NULL, !last);
            if (then < now) break;
        }
        if (!(then < now)) break;   /* rounding: no further descent */
        memcpy(q, s->trial, bytes);
        now = then;
        s->residual = now;
    }
    return isfinite(now) ? SU_STEP_OK : SU_STEP_NOT_FINITE;
}

/* U1' K_d u* into s->damped, for iterations after the first; s->derivative is at u*. */
static void keep_damping(su_stepper *s, const su_pose *pose)
{
    const su_runtime_model *model = s->model;
    for (int64_t e = 0; e < model->tets_padded; e += SU_LANES) {
        const double *D = s->derivative + SU_DERIVATIVE_ENTRIES * e, *x = s->carried + 9 * e;
        double *t = s->stress + 9 * e;
        memset(t, 0, 9 * SU_LANES * sizeof *t);
        for (int a = 0; a < 9; a++)
            for (int b = a; b < 9; b++, D += SU_LANES)
                for (int k = 0; k < SU_LANES; k++) {
                    t[8 * a + k] += D[k] * x[8 * b + k];
                    if (b > a) t[8 * b + k] += D[k] * x[8 * a + k];
                }
    }
    memset(s->damped, 0, (size_t)model->lead * sizeof(double));
    add_forces(s, pose, s->stress, s->damped);
}

/* [c_m G + c_k K*] q = -load - B' (P* - c_k D* e*), the linearization at the turned previous state. keep: K* stays in s->K. */
static su_step_end first_solve(su_stepper *s, const su_pose *pose, double mass, double stiffness, bool keep)
{
    const su_runtime_model *model = s->model;
    double *q = s->next->q;
    if (!respond(s, pose, s->carried, true, true, stiffness)) return SU_STEP_NOT_FINITE;
    memcpy(s->force, s->load, (size_t)model->lead * sizeof(double));
    start_system(s, pose, mass, s->A);
    if (keep) {
        memset(s->K, 0, (size_t)(model->lead * model->lead) * sizeof(double));
        assemble(s, pose, 1, s->K, s->force);
        for (int64_t k = 0; k < model->r * model->lead; k++) s->A[k] += stiffness * s->K[k];
    } else {
        assemble(s, pose, stiffness, s->A, s->force);
    }
    su_step_near_loads(s, NULL, s->force, s->A);
    for (int64_t k = 0; k < model->lead; k++) q[k] = k < model->r ? -s->force[k] : 0;
    if (!all_finite(model->r, q)) return SU_STEP_NOT_FINITE;
    if (!model->kernels->cholesky(model->size, model->lead, s->A, s->inverse)) return SU_STEP_NOT_DEFINITE;
    model->kernels->solve(model->size, model->lead, s->A, s->inverse, q);
    s->iterations = 1;
    return SU_STEP_OK;
}

/* Square of the largest motion of a point against the rig. */
static double largest_leap(const su_stepper *s)
{
    return s->model->kernels->largest_square(s->model->chosen_padded, s->next->still, s->now->still);
}

/* Minimizes the potential by Newton with projected matrices and a line search, for steps that a linearization leads astray:
 * converged implicit Euler does not blow up. From s->next->q or from the q before, whichever is lower. */
static su_step_end minimize(su_stepper *s, const su_pose *pose, double mass, double damping)
{
    enum { ITERATIONS = 30, HALVINGS = 25 };
    const double good = 0.01, fair = 0.1;
    const su_runtime_model *model = s->model;
    size_t bytes = (size_t)model->lead * sizeof(double);
    double *q = s->next->q, here = NAN, there = NAN;
    double now = residual_at(s, pose, q, mass, damping, &here, false);
    residual_at(s, pose, s->now->q, mass, damping, &there, false);
    if (!(here <= there)) memcpy(q, s->now->q, bytes);
    now = residual_at(s, pose, q, mass, damping, &here, false);
    for (int k = 0; k < ITERATIONS && now > good; k++) {
        memcpy(s->direction, s->force, bytes);
        if (!factor_tangent(s, pose, q, mass, damping, false)) return SU_STEP_NOT_DEFINITE;
        model->kernels->solve(model->size, model->lead, s->A, s->inverse, s->direction);
        s->iterations++;
        residual_at(s, pose, q, mass, damping, &here, false);
        double slope = dot(model->r, s->force, s->direction), length = 1;
        int halvings = 0;
        for (; halvings < HALVINGS; halvings++, length *= 0.5) {
            memset(s->trial, 0, bytes);
            for (int64_t i = 0; i < model->r; i++) s->trial[i] = q[i] - length * s->direction[i];
            now = residual_at(s, pose, s->trial, mass, damping, &there, false);
            if (there <= here - 1e-4 * length * slope) break;
        }
        if (halvings == HALVINGS) break;
        memcpy(q, s->trial, bytes);
        here = there;
    }
    now = residual_at(s, pose, q, mass, damping, NULL, false);
    s->residual = now;
    return now <= fair ? SU_STEP_OK : isfinite(now) ? SU_STEP_NO_DESCENT : SU_STEP_NOT_FINITE;
}

/* Displaces the points. Is the linearization to be trusted? Looked at where points move far; if not, the step is minimized.
 * *leap: as largest_leap, at the end. */
static su_step_end check_solve(su_stepper *s, const su_pose *pose, double mass, double damping, bool kept, double *leap)
{
    const su_runtime_model *model = s->model;
    double far = SU_STRIDE * model->diagonal;
    displace_points(s, pose, s->next);
    *leap = largest_leap(s);
    if (*leap <= far * far) return SU_STEP_OK;
    if (damping != 0 && !kept) {
        if (!respond(s, pose, s->carried, true, true, 0)) return SU_STEP_NOT_FINITE;
        memset(s->K, 0, (size_t)(model->lead * model->lead) * sizeof(double));
        assemble(s, pose, 1, s->K, s->held);
        keep_damping(s, pose);
    }
    s->residual = residual_at(s, pose, s->next->q, mass, damping, NULL, false);
    if (s->residual <= 0.1) return SU_STEP_OK;
    su_step_end end = minimize(s, pose, mass, damping);
    displace_points(s, pose, s->next);
    *leap = largest_leap(s);
    return end;
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
        strain_tets(s, pose, s->now->q, s->carried);
    else
        model->kernels->turned_strain(model->tets_padded, model->chosen_padded, model->corner_lanes, pose->rotation,
                                      s->now->still, pose->gradient, s->moved, s->carried);
    bool more = settings->newton > 1;
    su_step_end end = first_solve(s, pose, mass, 1 + damping, more && damping != 0);
    if (end == SU_STEP_OK && more) {
        if (damping != 0) keep_damping(s, pose);
        end = iterate(s, pose, mass, damping, settings->newton);
    }
    if (end == SU_STEP_OK) end = check_solve(s, pose, mass, damping, more, &leap);
    if (end != SU_STEP_OK) return end;
    if (!all_finite(model->r, s->next->q)) return SU_STEP_NOT_FINITE;
    double limit = SU_LEAP * model->diagonal;
    if (!(leap <= limit * limit)) return SU_STEP_TOO_FAR;
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
        start_system(s, pose, 1, s->A);
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
    displace_points(s, pose, s->next);
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
    if (q) memmove(s->next->q, q, size);
    else memset(s->next->q, 0, size);
    if (q_before) memmove(s->before->q, q_before, size);
    else memcpy(s->before->q, s->next->q, size);
    memcpy(s->now->q, s->next->q, size);
    for (int k = 0; k < 2; k++) {
        su_record *record = k ? s->before : s->now;
        for (int64_t i = model->r; i < model->lead; i++) record->q[i] = 0;
        take_pose(s, pose, record);
        displace_points(s, pose, record);
        record->h = h;
    }
    su_step_keep_loads(s, pose, s->now);
    if (next)
        for (int64_t k = 0; k < 3 * model->inertia_padded; k++) s->before->world[k] = 2 * pose->world[k] - next->world[k];
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
    su_step_end end = iterate(s, pose, 0, 0, max_iterations);
    s->settings.tolerance = tolerance;
    if (end != SU_STEP_OK) return end;
    if (!all_finite(model->r, s->next->q)) return SU_STEP_NOT_FINITE;
    for (int k = 0; k < 2; k++) {
        su_record *record = k ? s->before : s->now;
        memcpy(record->q, s->next->q, bytes);
        take_pose(s, pose, record);
        displace_points(s, pose, record);
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
    double own = now->norm, mixed = dot(model->r, now->q, s->held), older = before->norm;
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
    strain_tets(s, pose, now->q, s->strain);
    s->elastic = elastic_energy(s, pose, s->strain);
}
