/* The solves of a reduced step. */
#include "runtime/step/step_internal.h"

#include "runtime/kernels/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

static double norm(int64_t count, const double *a) { return sqrt(su_step_dot(count, a, a)); }

/* Strain at q into s->strain, the response to it into s->stress and, wanted as it is or projected, s->derivative. */
enum { STRESS, EXACT, PROJECTED };
static bool respond_at(su_stepper *s, const su_pose *pose, const double *q, double damping, int wanted)
{
    su_step_response what = {.strain = s->strain,
                             .derivative = wanted == STRESS ? NULL : s->derivative,
                             .project = wanted == PROJECTED,
                             .damping = damping};
    if (q) su_step_strain(s, pose, q, s->strain);
    return su_step_respond(s, pose, &what);
}

/* s->force += mass G q + load, s->held = G q. */
static void add_inertia_force(su_stepper *s, const su_pose *pose, const double *q, double mass, double *square)
{
    double sum = 0;
    su_gram_times(s->model, pose->gram, q, s->padded, s->held);
    for (int64_t k = 0; k < s->model->r; k++) {
        double a = mass * s->held[k] + s->load[k];
        s->force[k] += a;
        sum += a * a;
    }
    if (square) *square = sum;
}

/* s->force = residual at q; returns |r| over the forces that balance in it. mass = 0: static. damping: beta / h, of the
 * derivative at the turned previous state. NaN where something is not finite. potential (NULL: not wanted): what the
 * residual is the gradient of. derivative: leaves the exact one in s->derivative. */
static double residual_at(su_stepper *s, const su_pose *pose, const double *q, double mass, double damping,
                          double *potential, bool derivative)
{
    int64_t r = s->model->r, lead = s->model->lead;
    double inertia, size = 0;
    su_step_strain(s, pose, q, s->strain);
    if (damping != 0) { /* which is not among the forces that balance */
        if (!respond_at(s, pose, NULL, 0, STRESS)) return NAN;
        memset(s->force, 0, (size_t)lead * sizeof *s->force);
        su_step_add_forces(s, pose, s->force);
        su_step_linear_force(s, q, 0, s->force);
        size = norm(r, s->force);
    }
    if (!respond_at(s, pose, NULL, damping, derivative ? EXACT : STRESS)) return NAN;
    memset(s->force, 0, (size_t)lead * sizeof *s->force);
    su_step_add_forces(s, pose, s->force);
    double linear = su_step_linear_force(s, q, damping, s->force);
    if (size == 0) size = norm(r, s->force);
    add_inertia_force(s, pose, q, mass, &inertia);
    if (potential)
        *potential = su_step_elastic_energy(s, pose, s->strain, damping) + linear +
                     0.5 * mass * su_step_dot(r, q, s->held) + su_step_dot(r, q, s->load);
    size += sqrt(inertia);
    if (s->loads && s->near_count > 0) {
        memset(s->load_vector, 0, (size_t)lead * sizeof(double));
        double energy = su_step_near_loads(s, q, s->load_vector, NULL);
        if (potential) *potential += energy;
        for (int64_t k = 0; k < r; k++) s->force[k] += s->load_vector[k];
        size += norm(r, s->load_vector);
    }
    return norm(r, s->force) / fmax(size + norm(r, s->load) * 1e-6, DBL_MIN);
}

/* s->A = mass * U'MU + (K + damping K*)(q), factored; exact, from s->derivative, where that is wanted and definite,
 * else projected, which is definite but for what little D may take off. s->strain and s->stress are at q. force: leaves
 * the residual at q in s->force, too. Spoils s->held. */
static bool factor_tangent(su_stepper *s, const su_pose *pose, const double *q, double mass, double damping, bool exact,
                           bool force)
{
    const su_runtime_model *model = s->model;
    if (force) memset(s->force, 0, (size_t)model->lead * sizeof *s->force);
    for (int way = exact ? EXACT : PROJECTED; way <= PROJECTED; way++, force = false) {
        if (way != EXACT && !respond_at(s, pose, NULL, damping, way)) return false;
        su_step_start_system(s, pose, mass, s->A);
        su_step_assemble(s, pose, s->derivative, 1, s->A, force ? s->force : NULL);
        su_step_linear_add(s, 1 + damping, s->A);
        if (force) su_step_linear_force(s, q, damping, s->force);
        if (force) add_inertia_force(s, pose, q, mass, NULL);
        su_step_near_loads(s, q, force ? s->force : s->held, s->A);
        if (model->kernels->cholesky(model->size, model->lead, s->A, s->inverse)) return true;
    }
    return false;
}

/* Without a tolerance: as many solves as are wanted, the right-hand side from the same pass as the matrix.
 * su_step_check looks at the end where points move far. */
static su_step_end plain_solves(su_stepper *s, const su_pose *pose, double mass, double damping, int solves)
{
    const su_runtime_model *model = s->model;
    double *q = s->next->q;
    while (s->iterations < solves) {
        if (!respond_at(s, pose, q, damping, EXACT)) return SU_STEP_NOT_FINITE;
        if (!factor_tangent(s, pose, q, mass, damping, true, true)) return SU_STEP_NOT_DEFINITE;
        model->kernels->solve(model->size, model->lead, s->A, s->inverse, s->force);
        for (int64_t k = 0; k < model->r; k++) q[k] -= s->force[k];
        s->iterations++;
    }
    return su_step_all_finite(model->r, q) ? SU_STEP_OK : SU_STEP_NOT_FINITE;
}

su_step_end su_step_iterate(su_stepper *s, const su_pose *pose, double mass, double damping, int max_iterations)
{
    const su_runtime_model *model = s->model;
    int64_t r = model->r;
    size_t bytes = (size_t)model->lead * sizeof(double);
    if (s->settings.tolerance == 0) return plain_solves(s, pose, mass, damping, max_iterations);
    double *q = s->next->q, now = residual_at(s, pose, q, mass, damping, NULL, true);
    s->residual = now;
    while (s->iterations < max_iterations && now > s->settings.tolerance) {
        bool last = ++s->iterations == max_iterations;
        if (!factor_tangent(s, pose, q, mass, damping, true, false)) return SU_STEP_NOT_DEFINITE;
        memcpy(s->direction, s->force, bytes);
        model->kernels->solve(model->size, model->lead, s->A, s->inverse, s->direction);
        double length = 1, then = INFINITY;
        for (int halvings = 0; halvings < 12; halvings++, length *= 0.5) {
            memset(s->trial, 0, bytes);
            for (int64_t k = 0; k < r; k++) s->trial[k] = q[k] - length * s->direction[k];
            then = residual_at(s, pose, s->trial, mass, damping, NULL, !last);
            if (then < now) break;
        }
        if (!(then < now)) break; /* rounding: no further descent */
        memcpy(q, s->trial, bytes);
        now = then;
        s->residual = now;
    }
    return isfinite(now) ? SU_STEP_OK : SU_STEP_NOT_FINITE;
}

su_step_end su_step_first_solve(su_stepper *s, const su_pose *pose, double mass, double stiffness)
{
    const su_runtime_model *model = s->model;
    double *q = s->next->q;
    su_step_response what = {
        .strain = s->carried, .derivative = s->carried_derivative, .project = true, .linear = stiffness};
    if (!su_step_respond(s, pose, &what)) return SU_STEP_NOT_FINITE;
    memcpy(s->force, s->load, (size_t)model->lead * sizeof(double));
    su_step_start_system(s, pose, mass, s->A);
    su_step_assemble(s, pose, s->carried_derivative, stiffness, s->A, s->force);
    su_step_linear_add(s, stiffness, s->A);
    su_step_linear_held(s, 1 - stiffness, s->force);
    su_step_near_loads(s, NULL, s->force, s->A);
    for (int64_t k = 0; k < model->lead; k++) q[k] = k < model->r ? -s->force[k] : 0;
    if (!su_step_all_finite(model->r, q)) return SU_STEP_NOT_FINITE;
    if (!model->kernels->cholesky(model->size, model->lead, s->A, s->inverse)) return SU_STEP_NOT_DEFINITE;
    model->kernels->solve(model->size, model->lead, s->A, s->inverse, q);
    s->iterations = 1;
    return SU_STEP_OK;
}

/* Minimizes the potential by Newton with projected matrices and a line search, for steps that a linearization leads
 * astray: converged implicit Euler does not blow up. From s->next->q or from the q before, whichever is lower. */
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
        if (!factor_tangent(s, pose, q, mass, damping, false, false)) return SU_STEP_NOT_DEFINITE;
        model->kernels->solve(model->size, model->lead, s->A, s->inverse, s->direction);
        s->iterations++;
        residual_at(s, pose, q, mass, damping, &here, false);
        double slope = su_step_dot(model->r, s->force, s->direction), length = 1;
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

su_step_end su_step_check(su_stepper *s, const su_pose *pose, double mass, double damping, double *leap)
{
    const su_runtime_model *model = s->model;
    double far = SU_STRIDE * model->diagonal;
    su_step_displace(s, pose, s->next);
    *leap = su_step_largest_square(s, s->next, s->now);
    if (*leap <= far * far) return SU_STEP_OK;
    s->residual = residual_at(s, pose, s->next->q, mass, damping, NULL, false);
    if (s->residual <= 0.1) return SU_STEP_OK;
    su_step_end end = minimize(s, pose, mass, damping);
    su_step_displace(s, pose, s->next);
    *leap = su_step_largest_square(s, s->next, s->now);
    return end;
}
