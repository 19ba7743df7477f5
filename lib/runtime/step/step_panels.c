/* The reduced step's products over panels: displacements, strains, elastic response, reduced matrix. */
#include "runtime/step/step_internal.h"

#include "runtime/kernels/kernels.h"
#include "runtime/forces/linear_force.h"

#include <math.h>
#include <string.h>

double su_step_dot(int64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += a[k] * b[k];
    return sum;
}

bool su_step_all_finite(int64_t count, const double *a)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += a[k] * 0.0;
    return sum == 0.0;
}

static double *lane(double *base, int64_t element, int entry)
{
    return base + su_strain_at(element) + SU_LANES * entry;
}

/* Padding columns read q[r] = 0. */
static void gather(const su_panel *panel, const double *q, double *out)
{
    for (int64_t j = 0; j < panel->stride; j++) out[j] = q[panel->modes[j]];
}

void su_step_scatter(const su_panel *panel, const double *from, double *q)
{
    for (int64_t j = 0; j < panel->columns; j++) q[panel->modes[j]] += from[j];
}

static void put_strain(const su_stepper *s, const su_panel *panel, double *gradient)
{
    for (int64_t k = 0; k < panel->count; k++)
        for (int a = 0; a < 9; a++) *lane(gradient, panel->first + k, a) = s->rows[9 * k + a];
}

/* The strain in float, from which the next step starts: no more than B itself is rounded. */
static void rough_strain(const su_stepper *s, const su_pose *pose, const double *q, double *gradient)
{
    const su_runtime_model *model = s->model;
    float *few = (float *)s->gathered;
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        for (int64_t j = 0; j < panel->stride; j++) few[j] = (float)q[panel->modes[j]];
        if (p < model->panels_abreast) {
            model->kernels->strain_abreast_float(panel->count, panel->columns, pose->B + 9 * panel->offset, few,
                                                 gradient + 9 * panel->first);
            continue;
        }
        model->kernels->rows_times_float(9 * panel->count, panel->stride, pose->B + 9 * panel->offset, few, s->rows);
        put_strain(s, panel, gradient);
    }
}

void su_step_displace(const su_stepper *s, const su_pose *pose, su_record *record)
{
    const su_runtime_model *model = s->model;
    int64_t kept = model->kept_padded;
    for (int64_t p = 0; p < model->kept_panels; p++) {
        const su_panel *panel = model->point_panel + p;
        gather(panel, record->q, s->gathered);
        model->kernels->rows_times(3 * panel->count, panel->stride, pose->rows + 3 * panel->offset, s->gathered,
                                   s->rows);
        double *x = record->still + panel->first, *y = x + kept, *z = y + kept;
        for (int64_t k = 0; k < panel->count; k++)
            x[k] = s->rows[3 * k], y[k] = s->rows[3 * k + 1], z[k] = s->rows[3 * k + 2];
    }
    for (int c = 0; c < 3; c++)
        for (int64_t k = 0; k < model->inertia; k++)
            record->inertia[c * model->inertia_padded + k] = record->still[c * kept + model->inertia_point[k]];
    rough_strain(s, pose, record->q, s->strain);
    model->kernels->corners(model->tets_padded, kept, model->base, record->still, pose->corner_rotation, pose->gradient,
                            s->strain, record->corners);
}

double su_step_largest_square(const su_stepper *s, const su_record *a, const su_record *b)
{
    const su_runtime_model *model = s->model;
    int64_t tets = model->tets_padded;
    double most = model->kernels->largest_square(model->kept_padded, a->still, b ? b->still : s->nowhere);
    for (int c = 0; c < 4; c++) {
        double here =
            model->kernels->largest_square(tets, a->corners + 3 * c * tets, b ? b->corners + 3 * c * tets : s->nowhere);
        if (most < here || isnan(here)) most = here;
    }
    return most;
}

void su_step_strain(const su_stepper *s, const su_pose *pose, const double *q, double *gradient)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        gather(panel, q, s->gathered);
        if (p < model->panels_abreast) {
            model->kernels->strain_abreast(panel->count, panel->columns, pose->B + 9 * panel->offset, s->gathered,
                                           gradient + 9 * panel->first);
            continue;
        }
        model->kernels->rows_times(9 * panel->count, panel->stride, pose->B + 9 * panel->offset, s->gathered, s->rows);
        put_strain(s, panel, gradient);
    }
}

void su_step_add_forces(const su_stepper *s, const su_pose *pose, double *out)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        const float *B = pose->B + 9 * panel->offset;
        memset(s->gathered, 0, (size_t)panel->stride * sizeof *s->gathered);
        if (p < model->panels_abreast) {
            model->kernels->force_abreast(panel->count, panel->columns, B, s->stress + 9 * panel->first, s->gathered);
        } else {
            for (int64_t k = 0; k < panel->count; k++)
                for (int a = 0; a < 9; a++) s->rows[9 * k + a] = *lane(s->stress, panel->first + k, a);
            model->kernels->rows_combine(9 * panel->count, panel->stride, B, s->rows, s->gathered);
        }
        su_step_scatter(panel, s->gathered, out);
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
static void strain_since(const su_stepper *s, const double *strain, int64_t e, double out[9])
{
    for (int a = 0; a < 9; a++) out[a] = *lane((double *)strain, e, a) - *lane(s->carried, e, a);
}

/* Tets that the vector code left: inverted or nearly flat ones. False where a strain is not finite. */
static bool respond_irregular(su_stepper *s, const su_pose *pose, const su_step_response *what)
{
    const su_runtime_model *model = s->model;
    for (int64_t e = 0; e < model->tets; e++) {
        if (!(s->irregular[e / 8] >> (e % 8) & 1)) continue;
        double F[9], P[9], H[81], since[9], sum = 0, volume = pose->volume[e];
        double mu = s->settings.stiffness * pose->mu[e], lambda = s->settings.stiffness * pose->lambda[e];
        for (int a = 0; a < 9; a++) {
            F[a] = *lane((double *)what->strain, e, a) + (a % 4 == 0);
            sum += F[a] * F[a];
        }
        if (!(sum < 1e100)) return false;
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

bool su_step_respond(su_stepper *s, const su_pose *pose, const su_step_response *what)
{
    const su_runtime_model *model = s->model;
    su_response response = {.material = model->material,
                            .count = model->tets_padded,
                            .mu = pose->mu,
                            .lambda = pose->lambda,
                            .volume = pose->volume,
                            .stiffness = s->settings.stiffness,
                            .strain = what->strain,
                            .project = what->project,
                            .linear = what->linear,
                            .stress = s->stress,
                            .derivative = what->derivative,
                            .damping = what->damping,
                            .held = s->carried_derivative,
                            .carried = s->carried,
                            .irregular = s->irregular};
    model->kernels->respond(&response);
    if (!respond_irregular(s, pose, what)) return false;
    return true;
}

double su_step_elastic_energy(const su_stepper *s, const su_pose *pose, const double *strain, double damping)
{
    const su_runtime_model *model = s->model;
    double energy = 0;
    for (int64_t e = 0; e < model->tets; e++) {
        double F[9], since[9], unused[9] = {0};
        for (int a = 0; a < 9; a++) F[a] = *lane((double *)strain, e, a) + (a % 4 == 0);
        energy += pose->volume[e] * su_material_energy(model->material, s->settings.stiffness * pose->mu[e],
                                                       s->settings.stiffness * pose->lambda[e], F);
        if (damping == 0) continue;
        strain_since(s, strain, e, since);
        energy += 0.5 * damping * derivative_times(s->carried_derivative, e, since, 0, unused);
    }
    return energy;
}

/* force += factor D q; returns half of q' factor D q. */
static double add_linear(su_stepper *s, const double *q, double factor, double *force)
{
    const su_runtime_model *model = s->model;
    memset(s->straight, 0, (size_t)model->lead * sizeof *s->straight);
    su_linear_times(model, model->linear, factor * s->settings.stiffness, q, s->straight);
    for (int64_t k = 0; k < model->r; k++) force[k] += s->straight[k];
    return 0.5 * su_step_dot(model->r, q, s->straight);
}

double su_step_linear_force(su_stepper *s, const double *q, double damping, double *force)
{
    const su_runtime_model *model = s->model;
    if (!model->linear) return 0;
    double energy = add_linear(s, q, 1, force);
    if (damping == 0) return energy;
    for (int64_t k = 0; k < model->lead; k++) s->since[k] = k < model->r ? q[k] - s->now->q[k] : 0;
    return energy + add_linear(s, s->since, damping, force);
}

void su_step_linear_held(su_stepper *s, double factor, double *force)
{
    if (s->model->linear) add_linear(s, s->now->q, factor, force);
}

void su_step_linear_add(const su_stepper *s, double factor, double *A)
{
    if (s->model->linear) su_linear_add(s->model, s->model->linear, factor * s->settings.stiffness, A);
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

void su_step_assemble(su_stepper *s, const su_pose *pose, const float *derivative, double scale, double *A,
                      double *force)
{
    const su_runtime_model *model = s->model;
    for (int64_t p = 0; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        memset(s->tile, 0, (size_t)(panel->columns * panel->stride) * sizeof *s->tile);
        memset(s->gathered, 0, (size_t)panel->stride * sizeof *s->gathered);
        const float *B = pose->B + 9 * panel->offset;
        if (p < model->panels_abreast) {
            model->kernels->tangent_abreast(panel->count, panel->columns, panel->stride, B,
                                            derivative + SU_DERIVATIVE_ENTRIES * panel->first, s->work, s->tile);
            if (force)
                model->kernels->force_abreast(panel->count, panel->columns, B, s->stress + 9 * panel->first,
                                              s->gathered);
        } else {
            model->kernels->tangent(panel->first, panel->count, panel->columns, panel->stride, B, derivative,
                                    force ? s->stress : NULL, s->work, s->tile, s->gathered);
        }
        scatter_tile(model, panel, s->tile, scale, A);
        if (force) su_step_scatter(panel, s->gathered, force);
    }
}

/* Padding columns of a block land on columns that the next blocks of the row overwrite or that stay 0. */
void su_step_start_system(const su_stepper *s, const su_pose *pose, double mass, double *A)
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
