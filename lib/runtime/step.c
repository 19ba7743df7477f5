#include "runtime/step.h"

#include "geometry/mat3.h"
#include "runtime/dense.h"

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

su_status su_stepper_create(const su_runtime_model *model, const su_step_settings *settings, su_stepper *s, su_error *err)
{
    memset(s, 0, sizeof *s);
    s->model = model;
    s->settings = *settings;
    int64_t lead = model->r_padded, widest = SU_PANEL;
    for (int64_t p = 0; p < model->tet_panels; p++)
        if (model->tet_panel[p].stride > widest) widest = model->tet_panel[p].stride;
    for (int64_t p = 0; p < model->point_panels; p++)
        if (model->point_panel[p].stride > widest) widest = model->point_panel[p].stride;
    for (int k = 0; k < 3; k++) {
        su_record *record = s->records + k;
        if (!(record->q = take(s, lead, err)) || !(record->b = take(s, model->m, err)) ||
            !(record->scale = take(s, model->r, err)) || !(record->turn = take(s, 9 * model->inertia, err)) ||
            !(record->world = take(s, 3 * model->inertia, err)) || !(record->still = take(s, 3 * model->points, err)))
            goto failed;
    }
    s->now = s->records, s->before = s->records + 1, s->next = s->records + 2;
    if (!(s->A = take(s, lead * lead, err)) || !(s->K = take(s, lead * lead, err)) ||
        !(s->damping = take(s, lead * lead, err)) || !(s->load = take(s, lead, err)) || !(s->z = take(s, 3 * model->inertia, err)) ||
        !(s->held = take(s, lead, err)) || !(s->force = take(s, lead, err)) || !(s->direction = take(s, lead, err)) ||
        !(s->trial = take(s, lead, err)) || !(s->gathered = take(s, widest, err)) ||
        !(s->scratch = take(s, 2 * lead + model->basis.factor, err)) ||
        !(s->carried = take(s, 9 * model->tets, err)) || !(s->strain = take(s, 9 * model->tets, err)) ||
        !(s->stress = take(s, 9 * model->tets, err)) || !(s->derivative = take(s, 81 * model->tets, err)) ||
        !(s->product = take(s, 9 * widest, err)) || !(s->tile = take(s, widest * widest, err)))
        goto failed;
    return SU_OK;
failed:
    su_stepper_free(s);
    return SU_AGAIN;
}

void su_stepper_free(su_stepper *s)
{
    su_arena_free(&s->arena);
    memset(s, 0, sizeof *s);
}

/* ---- panels ---- */

static void gather(const su_panel *panel, const double *q, double *out)
{
    for (int64_t j = 0; j < panel->stride; j++) out[j] = q[panel->modes[j]];
}

/* q[r] is read by padded columns: it must be 0. */
static void clear_padding(const su_runtime_model *model, double *q)
{
    for (int64_t k = model->r; k < model->r_padded; k++) q[k] = 0;
}

/* still (points,3) = U^ q */
static void displace_points(const su_stepper *s, const su_pose *pose, const double *q, double *still)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->point_panels; p++) {
        const su_panel *panel = model->point_panel + p;
        const double *row = pose->rows + 3 * panel->offset;
        gather(panel, q, s->gathered);
        for (int64_t k = 0; k < 3 * panel->count; k++, row += panel->stride) {
            double sum = 0;
            for (int64_t j = 0; j < panel->stride; j++) sum += row[j] * s->gathered[j];
            still[3 * panel->first + k] = sum;
        }
    }
}

/* gradient (tets,9) = B q */
static void strain_tets(const su_stepper *s, const su_pose *pose, const double *q, double *gradient)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        const double *row = pose->B + 9 * panel->offset;
        gather(panel, q, s->gathered);
        for (int64_t k = 0; k < 9 * panel->count; k++, row += panel->stride) {
            double sum = 0;
            for (int64_t j = 0; j < panel->stride; j++) sum += row[j] * s->gathered[j];
            gradient[9 * panel->first + k] = sum;
        }
    }
}

/* gradient (tets,9) of the previous displacement turned along: sum over corners of (R1 u^0) g'. */
static void strain_carried(const su_stepper *s, const su_pose *pose, const double *still, double *gradient)
{
    const su_runtime_model *model = s->model;
    for (int64_t e = 0; e < model->tets; e++) {
        double *out = gradient + 9 * e;
        memset(out, 0, 9 * sizeof *out);
        for (int c = 0; c < 4; c++) {
            int64_t point = model->corner[4 * e + c];
            if (point >= model->points) continue;
            double u[3];
            const double *g = pose->gradient + 12 * e + 3 * c;
            su_mulv3(pose->rotation + 9 * point, still + 3 * point, u);
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) out[3 * a + b] += u[a] * g[b];
        }
    }
}

/* out (r_padded) += B' t, t (tets,9) */
static void add_forces(const su_stepper *s, const su_pose *pose, const double *t, double *out)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        const double *row = pose->B + 9 * panel->offset;
        double *sum = s->gathered;
        memset(sum, 0, (size_t)panel->stride * sizeof *sum);
        for (int64_t k = 0; k < 9 * panel->count; k++, row += panel->stride) {
            double factor = t[9 * panel->first + k];
            for (int64_t j = 0; j < panel->stride; j++) sum[j] += factor * row[j];
        }
        for (int64_t j = 0; j < panel->stride; j++) out[panel->modes[j]] += sum[j];
    }
}

/* stress (tets,9), weighted, at F = 1 + gradient; derivative (tets,81), weighted, where not NULL. */
static void evaluate_material(const su_stepper *s, const su_pose *pose, const double *gradient, bool project,
                              double *stress, double *derivative)
{
    const su_runtime_model *model = s->model;
    for (int64_t e = 0; e < model->tets; e++) {
        double F[9], mu = s->settings.stiffness * pose->mu[e], lambda = s->settings.stiffness * pose->lambda[e];
        memcpy(F, gradient + 9 * e, sizeof F);
        F[0] += 1, F[4] += 1, F[8] += 1;
        su_material_stress(model->material, mu, lambda, F, stress + 9 * e);
        for (int k = 0; k < 9; k++) stress[9 * e + k] *= pose->volume[e];
        if (!derivative) continue;
        su_material_derivative(model->material, mu, lambda, F, project, derivative + 81 * e);
        for (int k = 0; k < 81; k++) derivative[81 * e + k] *= pose->volume[e];
    }
}

/* K (r_padded,r_padded), lower triangle and more, = B' D B */
static void assemble(su_stepper *s, const su_pose *pose, const double *derivative, double *K)
{
    const su_runtime_model *model = s->model;
    int64_t lead = model->r_padded;
    memset(K, 0, (size_t)(lead * lead) * sizeof *K);
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        int64_t stride = panel->stride;
        memset(s->tile, 0, (size_t)(stride * stride) * sizeof *s->tile);
        for (int64_t e = panel->first; e < panel->first + panel->count; e++) {
            const double *B = pose->B + 9 * (panel->offset + (e - panel->first) * stride), *D = derivative + 81 * e;
            for (int a = 0; a < 9; a++) {
                double *W = s->product + a * stride;
                memset(W, 0, (size_t)stride * sizeof *W);
                for (int b = 0; b < 9; b++)
                    for (int64_t j = 0; j < stride; j++) W[j] += D[9 * a + b] * B[b * stride + j];
            }
            for (int a = 0; a < 9; a++)
                for (int64_t i = 0; i < panel->columns; i++) {
                    double factor = B[a * stride + i], *row = s->tile + i * stride;
                    const double *W = s->product + a * stride;
                    for (int64_t j = 0; j < stride; j++) row[j] += factor * W[j];
                }
        }
        for (int64_t i = 0; i < panel->columns; i++)
            for (int64_t j = 0; j < panel->columns; j++)
                K[panel->modes[i] * lead + panel->modes[j]] += s->tile[i * stride + j];
    }
}

/* ---- loads that do not depend on the new q ---- */

static void take_pose(const su_stepper *s, const su_pose *pose, su_record *record)
{
    const su_runtime_model *model = s->model;
    memcpy(record->b, pose->b, (size_t)model->m * sizeof(double));
    memcpy(record->scale, pose->scale, (size_t)model->r * sizeof(double));
    memcpy(record->turn, pose->turn, (size_t)(9 * model->inertia) * sizeof(double));
    memcpy(record->world, pose->world, (size_t)(3 * model->inertia) * sizeof(double));
    memcpy(record->Q, pose->Q, sizeof record->Q);
}

/* (P1' P0 - 1) u^0 */
static void turn_between(const double *turn1, const double *turn0, const double *still, double out[3])
{
    double world[3];
    su_mulv3(turn0, still, world);
    su_tmulv3(turn1, world, out);
    for (int c = 0; c < 3; c++) out[c] -= still[c];
}

/* out += sum over inertia vertices of mass * U^' z, z (inertia,3) without rotation. */
static void add_inertia(const su_stepper *s, const su_pose *pose, const double *z, double *out)
{
    const su_runtime_model *model = s->model;
    int64_t at = 0;
    for (int64_t p = 0; p < model->point_panels; p++) {
        const su_panel *panel = model->point_panel + p;
        double *sum = s->gathered;
        memset(sum, 0, (size_t)panel->stride * sizeof *sum);
        for (; at < model->inertia && model->inertia_point[at] < panel->first + panel->count; at++) {
            const double *row = pose->rows + 3 * (panel->offset + (model->inertia_point[at] - panel->first) * panel->stride);
            for (int c = 0; c < 3; c++)
                for (int64_t j = 0; j < panel->stride; j++)
                    sum[j] += model->inertia_mass[at] * z[3 * at + c] * row[c * panel->stride + j];
        }
        for (int64_t j = 0; j < panel->columns; j++) out[panel->modes[j]] += sum[j];
    }
}

/* Rig acceleration minus gravity and the rotation part of the history, per inertia vertex, turned back to the neutral
 * frame. before = NULL: static, gravity alone. */
static void inertia_load(su_stepper *s, const su_pose *pose, double h, const double gravity[3], bool dynamic, double *z)
{
    const su_runtime_model *model = s->model;
    const su_record *now = s->now, *before = s->before;
    double ratio = dynamic ? h / now->h : 0;
    bool rotations = dynamic && s->settings.inertia == SU_INERTIA_CONSISTENT;
    for (int64_t k = 0; k < model->inertia; k++) {
        int64_t point = model->inertia_point[k];
        double a[3] = {0, 0, 0}, *out = z + 3 * k;
        if (dynamic) {
            for (int c = 0; c < 3; c++) {
                double X1 = pose->world[3 * k + c], X0 = now->world[3 * k + c], X_1 = before->world[3 * k + c];
                a[c] = ((X1 - X0) - ratio * (X0 - X_1)) / (h * h);
            }
            su_tmulv3(pose->Q, a, a);
        }
        for (int c = 0; c < 3; c++) a[c] -= gravity[c];
        su_tmulv3(pose->rotation + 9 * point, a, out);
        if (!rotations) continue;
        double first[3], second[3];
        turn_between(pose->turn + 9 * k, now->turn + 9 * k, now->still + 3 * point, first);
        turn_between(pose->turn + 9 * k, before->turn + 9 * k, before->still + 3 * point, second);
        for (int c = 0; c < 3; c++) out[c] += (ratio * second[c] - (1 + ratio) * first[c]) / (h * h);
    }
}

/* s->held = U1' M U0 q0 with rotations held still; s->load: everything on the left that q1 does not enter. */
static void history_load(su_stepper *s, const su_pose *pose, double h, const double gravity[3])
{
    const su_runtime_model *model = s->model;
    const su_record *now = s->now, *before = s->before;
    int64_t r = model->r;
    double ratio = h / now->h, *older = s->trial, *z = s->z;
    if (s->settings.inertia == SU_INERTIA_PAPER) {
        su_dense_multiply(r, r, pose->gram, now->q, s->held);
        su_dense_multiply(r, r, pose->gram, before->q, older);
    } else {
        su_gram_apply(&model->basis, pose->b, pose->scale, now->b, now->scale, now->q, s->scratch, s->held);
        su_gram_apply(&model->basis, pose->b, pose->scale, before->b, before->scale, before->q, s->scratch, older);
    }
    for (int64_t k = 0; k < r; k++)
        s->load[k] = (ratio * older[k] - (1 + ratio) * s->held[k]) / (h * h) - s->alpha / h * s->held[k];
    clear_padding(model, s->load);
    inertia_load(s, pose, h, gravity, true, z);
    add_inertia(s, pose, z, s->load);
}

/* ---- Newton ---- */

static double norm(int64_t count, const double *a)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += a[k] * a[k];
    return sqrt(sum);
}

/* A = mass * gram + stiffness * K (+ damping * Kd) */
static void combine(su_stepper *s, const su_pose *pose, double mass, double stiffness, const double *K, double damping)
{
    int64_t r = s->model->r, lead = s->model->r_padded;
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j <= i; j++) {
            double a = mass * pose->gram[i * r + j] + stiffness * K[i * lead + j];
            if (damping != 0) a += damping * s->damping[i * lead + j];
            s->A[i * lead + j] = a;
        }
}

/* s->force = residual at q; returns |r| over the forces that balance in it. mass = 0: static. */
static double residual_at(su_stepper *s, const su_pose *pose, const double *q, double mass, double damping, double *stress)
{
    const su_runtime_model *model = s->model;
    int64_t r = model->r, lead = model->r_padded;
    double *product = s->scratch;
    strain_tets(s, pose, q, s->strain);
    evaluate_material(s, pose, s->strain, true, stress, NULL);
    memset(s->force, 0, (size_t)lead * sizeof *s->force);
    add_forces(s, pose, stress, s->force);
    double size = norm(r, s->force);
    su_dense_multiply(r, r, pose->gram, q, product);
    double inertia = 0;
    for (int64_t k = 0; k < r; k++) {
        double a = mass * product[k] + s->load[k];
        s->force[k] += a;
        inertia += a * a;
    }
    size += sqrt(inertia);
    if (damping != 0) {
        su_dense_multiply(r, lead, s->damping, q, product);
        for (int64_t k = 0; k < r; k++) s->force[k] += damping * (product[k] - s->damping[lead * r + k]);
    }
    return norm(r, s->force) / fmax(size + norm(r, s->load) * 1e-6, DBL_MIN);
}

/* Further Newton iterations on s->next->q; the first solve is done. */
static su_step_end iterate(su_stepper *s, const su_pose *pose, double mass, double damping, int max_iterations)
{
    const su_runtime_model *model = s->model;
    int64_t r = model->r;
    double *q = s->next->q, now = residual_at(s, pose, q, mass, damping, s->stress);
    s->residual = now;
    while (s->iterations < max_iterations && now > s->settings.tolerance) {
        bool exact = true;
        for (;; exact = false) {
            strain_tets(s, pose, q, s->strain);
            evaluate_material(s, pose, s->strain, !exact, s->stress, s->derivative);
            assemble(s, pose, s->derivative, s->K);
            combine(s, pose, mass, 1, s->K, damping);
            if (su_dense_cholesky(r, model->r_padded, s->A)) break;
            if (!exact) return SU_STEP_NOT_DEFINITE;
        }
        residual_at(s, pose, q, mass, damping, s->stress);
        memcpy(s->direction, s->force, (size_t)r * sizeof(double));
        su_dense_solve(r, model->r_padded, s->A, s->direction);
        s->iterations++;
        double length = 1, then = INFINITY;
        for (int halvings = 0; halvings < 12; halvings++, length *= 0.5) {
            for (int64_t k = 0; k < r; k++) s->trial[k] = q[k] - length * s->direction[k];
            clear_padding(model, s->trial);
            then = residual_at(s, pose, s->trial, mass, damping, s->stress);
            if (then < now) break;
        }
        if (!(then < now)) break;   /* rounding: no further descent */
        memcpy(q, s->trial, (size_t)model->r_padded * sizeof(double));
        now = then;
        s->residual = now;
    }
    return isfinite(now) ? SU_STEP_OK : SU_STEP_NOT_FINITE;
}

static bool all_finite(int64_t count, const double *a)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += a[k] * 0.0;
    return sum == 0.0;
}

/* [c_m G + c_k K*] q = -load - B' (P* - c_k D* e*), the linearization at the turned previous state. */
static su_step_end first_solve(su_stepper *s, const su_pose *pose, double mass, double stiffness)
{
    const su_runtime_model *model = s->model;
    int64_t r = model->r, lead = model->r_padded;
    evaluate_material(s, pose, s->carried, true, s->stress, s->derivative);
    assemble(s, pose, s->derivative, s->K);
    combine(s, pose, mass, stiffness, s->K, 0);
    for (int64_t e = 0; e < model->tets; e++)
        for (int a = 0; a < 9; a++) {
            double sum = 0;
            for (int b = 0; b < 9; b++) sum += s->derivative[81 * e + 9 * a + b] * s->carried[9 * e + b];
            s->stress[9 * e + a] -= stiffness * sum;
        }
    memcpy(s->force, s->load, (size_t)lead * sizeof(double));
    add_forces(s, pose, s->stress, s->force);
    if (!all_finite(r, s->force)) return SU_STEP_NOT_FINITE;
    if (!su_dense_cholesky(r, lead, s->A)) return SU_STEP_NOT_DEFINITE;
    for (int64_t k = 0; k < r; k++) s->next->q[k] = -s->force[k];
    clear_padding(model, s->next->q);
    su_dense_solve(r, lead, s->A, s->next->q);
    s->iterations = 1;
    return SU_STEP_OK;
}

/* s->damping: K_d, and in its row r the vector U1' K_d u*, for iterations after the first. */
static void keep_damping(su_stepper *s, const su_pose *pose)
{
    const su_runtime_model *model = s->model;
    int64_t lead = model->r_padded;
    memcpy(s->damping, s->K, (size_t)(lead * lead) * sizeof(double));
    for (int64_t e = 0; e < model->tets; e++)
        for (int a = 0; a < 9; a++) {
            double sum = 0;
            for (int b = 0; b < 9; b++) sum += s->derivative[81 * e + 9 * a + b] * s->carried[9 * e + b];
            s->stress[9 * e + a] = sum;
        }
    memset(s->force, 0, (size_t)lead * sizeof(double));
    add_forces(s, pose, s->stress, s->force);
    memcpy(s->damping + lead * model->r, s->force, (size_t)model->r * sizeof(double));
}

static void rotate_records(su_stepper *s)
{
    su_record *oldest = s->before;
    s->before = s->now, s->now = s->next, s->next = oldest;
}

su_step_end su_stepper_advance(su_stepper *s, const su_pose *pose, double h, const double gravity[3],
                               double extra)
{
    const su_runtime_model *model = s->model;
    const su_step_settings *settings = &s->settings;
    s->alpha = settings->alpha + extra;
    double mass = 1 / (h * h) + s->alpha / h, damping = settings->beta / h;
    s->iterations = 0;
    history_load(s, pose, h, gravity);
    if (settings->inertia == SU_INERTIA_PAPER) strain_tets(s, pose, s->now->q, s->carried);
    else strain_carried(s, pose, s->now->still, s->carried);
    su_step_end end = first_solve(s, pose, mass, 1 + damping);
    if (end == SU_STEP_OK && settings->newton > 1) {
        if (damping != 0) keep_damping(s, pose);
        end = iterate(s, pose, mass, damping, settings->newton);
    }
    if (end != SU_STEP_OK) return end;
    if (!all_finite(model->r, s->next->q)) return SU_STEP_NOT_FINITE;
    displace_points(s, pose, s->next->q, s->next->still);
    double farthest = 0;
    for (int64_t k = 0; k < model->points; k++)
        farthest = fmax(farthest, su_distance3(s->next->still + 3 * k, s->now->still + 3 * k));
    if (!(farthest <= SU_LEAP * model->diagonal)) return SU_STEP_TOO_FAR;
    take_pose(s, pose, s->next);
    s->next->h = h;
    rotate_records(s);
    return SU_STEP_OK;
}

/* q with U1 q nearest, in the mass norm, to the present displacement turned along: (U1'MU1) q = U1'MU0 q0. */
static void carry_over(su_stepper *s, const su_pose *pose, double *q)
{
    const su_runtime_model *model = s->model;
    int64_t r = model->r;
    if (s->settings.inertia == SU_INERTIA_PAPER) {
        memmove(q, s->now->q, (size_t)r * sizeof *q);
    } else {
        su_gram_apply(&model->basis, pose->b, pose->scale, s->now->b, s->now->scale, s->now->q, s->scratch, s->held);
        combine(s, pose, 1, 0, s->K, 0);
        bool definite = su_dense_cholesky(r, model->r_padded, s->A);
        if (definite) su_dense_solve(r, model->r_padded, s->A, s->held);
        memmove(q, definite ? s->held : s->now->q, (size_t)r * sizeof *q);
    }
    clear_padding(model, q);
}

void su_stepper_jump(su_stepper *s, const su_pose *pose, const su_pose *next, double h)
{
    carry_over(s, pose, s->next->q);
    su_stepper_start(s, pose, s->next->q, NULL, next, h);
}

void su_stepper_follow(su_stepper *s, const su_pose *pose, double h)
{
    carry_over(s, pose, s->next->q);
    displace_points(s, pose, s->next->q, s->next->still);
    take_pose(s, pose, s->next);
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
        clear_padding(model, record->q);
        take_pose(s, pose, record);
        displace_points(s, pose, record->q, record->still);
        record->h = h;
    }
    if (next)
        for (int64_t k = 0; k < 3 * model->inertia; k++) s->before->world[k] = 2 * pose->world[k] - next->world[k];
}

su_step_end su_stepper_settle(su_stepper *s, const su_pose *pose, const double gravity[3], int max_iterations)
{
    const su_runtime_model *model = s->model;
    double *z = s->z;
    memset(s->load, 0, (size_t)model->r_padded * sizeof(double));
    inertia_load(s, pose, 1, gravity, false, z);
    add_inertia(s, pose, z, s->load);
    memcpy(s->next->q, s->now->q, (size_t)model->r_padded * sizeof(double));
    s->iterations = 0;
    double tolerance = s->settings.tolerance;
    if (!(tolerance > 0)) s->settings.tolerance = 1e-9;
    su_step_end end = iterate(s, pose, 0, 0, max_iterations);
    s->settings.tolerance = tolerance;
    if (end != SU_STEP_OK) return end;
    if (!all_finite(model->r, s->next->q)) return SU_STEP_NOT_FINITE;
    for (int k = 0; k < 2; k++) {
        su_record *record = k ? s->before : s->now;
        memcpy(record->q, s->next->q, (size_t)model->r_padded * sizeof(double));
        displace_points(s, pose, record->q, record->still);
    }
    return SU_STEP_OK;
}

/* Kinetic energy of U q and its coupling: |d(X + Q u)|^2 - |dX|^2, the quadratic part by Gram matrices, the rest by the
 * inertia vertices, because training covers forces that are linear in U. */
void su_stepper_energy(su_stepper *s, const su_pose *pose, const double gravity[3])
{
    const su_runtime_model *model = s->model;
    const su_record *now = s->now, *before = s->before;
    int64_t r = model->r;
    double *product = s->scratch + model->r_padded, own = 0, older = 0, mixed = 0, coupling = 0, weight = 0;
    su_dense_multiply(r, r, pose->gram, now->q, product);
    for (int64_t k = 0; k < r; k++) own += now->q[k] * product[k];
    su_gram_apply(&model->basis, before->b, before->scale, before->b, before->scale, before->q, s->scratch, s->trial);
    for (int64_t k = 0; k < r; k++) older += before->q[k] * s->trial[k];
    su_gram_apply(&model->basis, now->b, now->scale, before->b, before->scale, before->q, s->scratch, s->trial);
    for (int64_t k = 0; k < r; k++) mixed += now->q[k] * s->trial[k];
    for (int64_t k = 0; k < model->inertia; k++) {
        int64_t point = model->inertia_point[k];
        double turned[3], du0[3], du1[3], rig[3], u[3];
        turn_between(now->turn + 9 * k, before->turn + 9 * k, before->still + 3 * point, turned);
        mixed += model->inertia_mass[k] * su_dot3(now->still + 3 * point, turned);
        su_mulv3(now->turn + 9 * k, now->still + 3 * point, du1);
        su_mulv3(before->turn + 9 * k, before->still + 3 * point, du0);
        su_sub3(now->world + 3 * k, before->world + 3 * k, rig);
        su_sub3(du1, du0, du1);
        coupling += model->inertia_mass[k] * su_dot3(du1, rig);
        su_mulv3(pose->rotation + 9 * point, now->still + 3 * point, u);
        weight -= model->inertia_mass[k] * su_dot3(gravity, u);
    }
    s->kinetic = (0.5 * (own - 2 * mixed + older) + coupling) / (now->h * now->h);
    s->weight = weight;
    s->elastic = 0;
    strain_tets(s, pose, now->q, s->strain);
    for (int64_t e = 0; e < model->tets; e++) {
        double F[9];
        memcpy(F, s->strain + 9 * e, sizeof F);
        F[0] += 1, F[4] += 1, F[8] += 1;
        s->elastic += pose->volume[e] * su_material_energy(model->material, s->settings.stiffness * pose->mu[e],
                                                           s->settings.stiffness * pose->lambda[e], F);
    }
}
