#include "runtime/step/step_internal.h"

#include "geometry/mat3.h"
#include "geometry/vector.h"
#include "runtime/kernels/kernels.h"

#include <stdbool.h>
#include <string.h>

su_status su_stepper_set_loads(su_stepper *s, su_loads *loads, su_error *err)
{
    int64_t points = loads->external->points, lead = s->model->lead;
    s->loads = loads;
    s->load_rows = su_arena_alloc(&s->arena, 3 * points * lead, sizeof(double));
    s->load_vector = su_arena_alloc(&s->arena, lead, sizeof(double));
    s->load_shift = su_arena_alloc(&s->arena, 3 * points, sizeof(double));
    s->near_points = su_arena_alloc(&s->arena, points, sizeof *s->near_points);
    if (s->load_rows && s->load_vector && s->load_shift && s->near_points) return SU_OK;
    return su_fail(err, SU_AGAIN, "not enough memory for the contact points");
}

/* Displacement of load point k, root frame: still displacements of a record turned by the pose. */
static void load_displacement(const su_stepper *s, const su_pose *pose, const double *still, int64_t k, double a[3])
{
    const su_runtime_model *model = s->model;
    int64_t kept = model->kept_padded;
    memset(a, 0, 3 * sizeof *a);
    for (int i = 0; i < 4; i++) {
        int64_t point = model->extra_point[4 * k + i];
        if (point < 0) continue;
        for (int c = 0; c < 3; c++)
            for (int b = 0; b < 3; b++)
                a[c] +=
                    s->loads->bary[4 * k + i] * pose->rotation[(3 * c + b) * kept + point] * still[b * kept + point];
    }
}

/* out (lead) += (A U)' f of load point k, f (3) in the root frame. */
static void add_load(const su_stepper *s, const su_pose *pose, int64_t k, const double f[3], double *out)
{
    const su_runtime_model *model = s->model;
    int64_t kept = model->kept_padded;
    for (int i = 0; i < 4; i++) {
        int64_t point = model->extra_point[4 * k + i];
        if (point < 0) continue;
        double z[3] = {0};
        for (int c = 0; c < 3; c++)
            for (int b = 0; b < 3; b++)
                z[b] += s->loads->bary[4 * k + i] * pose->rotation[(3 * c + b) * kept + point] * f[c];
        const su_panel *panel = model->point_panel + model->panel_of_point[point];
        memset(s->gathered, 0, (size_t)panel->stride * sizeof *s->gathered);
        model->kernels->rows_combine(3, panel->stride,
                                     pose->rows + 3 * (panel->offset + (point - panel->first) * panel->stride), z,
                                     s->gathered);
        for (int64_t j = 0; j < panel->columns; j++) out[panel->modes[j]] += s->gathered[j];
    }
}

void su_step_keep_loads(su_stepper *s, const su_pose *pose, const su_record *record)
{
    su_loads *loads = s->loads;
    if (!loads) return;
    memcpy(loads->Q, pose->Q, sizeof loads->Q);
    memcpy(loads->c, pose->c, sizeof loads->c);
    for (int64_t k = 0; k < loads->external->points; k++) {
        double a[3];
        load_displacement(s, pose, record->still, k, a);
        su_loads_place(loads, k, a, loads->now + 3 * k);
    }
}

void su_step_prepare_loads(su_stepper *s, const su_pose *pose, double h)
{
    su_loads *loads = s->loads;
    const double margin = 0.05 * s->model->diagonal;
    if (!loads) return;
    loads->h = h;
    memcpy(loads->Q, pose->Q, sizeof loads->Q);
    memcpy(loads->c, pose->c, sizeof loads->c);
    s->near_count = 0;
    for (int64_t k = 0; k < loads->external->points; k++) {
        double *a = s->load_shift + 3 * k, y[3], f[3], n[3];
        load_displacement(s, pose, s->now->still, k, a);
        su_loads_place(loads, k, a, y);
        su_loads_prepare(loads, k, y);
        bool near = h == 0;
        for (int64_t c = 0; c < loads->external->colliders && !near; c++)
            near = su_loads_depth(loads, c, y, margin, n) > -margin;
        if (near && loads->external->colliders > 0) {
            double *rows = s->load_rows + 3 * s->near_count * s->model->lead;
            memset(rows, 0, (size_t)(3 * s->model->lead) * sizeof *rows);
            for (int c = 0; c < 3; c++) {
                double axis[3] = {c == 0, c == 1, c == 2};
                add_load(s, pose, k, axis, rows + c * s->model->lead);
            }
            s->near_points[s->near_count++] = (int32_t)k;
        } else {
            su_tmulv3(pose->Q, loads->steady + 3 * k, f);
            for (int c = 0; c < 3; c++) f[c] = -f[c];
            add_load(s, pose, k, f, s->load);
        }
    }
}

double su_step_near_loads(su_stepper *s, const double *q, double *out, double *A)
{
    const su_runtime_model *model = s->model;
    int64_t r = model->r, lead = model->lead;
    double energy = 0;
    for (int64_t i = 0; s->loads && i < s->near_count; i++) {
        int64_t k = s->near_points[i];
        const double *rows = s->load_rows + 3 * i * lead;
        double a[3], y[3], f[3], H[9], size = 0;
        for (int c = 0; c < 3; c++) a[c] = q ? su_dot(r, rows + c * lead, q) : s->load_shift[3 * k + c];
        su_loads_place(s->loads, k, a, y);
        energy += su_loads_evaluate(s->loads, k, y, f, H);
        for (int c = 0; c < 9; c++) size += H[c] * H[c];
        if (!q)
            for (int c = 0; c < 3; c++) f[c] += H[3 * c] * a[0] + H[3 * c + 1] * a[1] + H[3 * c + 2] * a[2];
        for (int64_t j = 0; j < r; j++) out[j] -= rows[j] * f[0] + rows[lead + j] * f[1] + rows[2 * lead + j] * f[2];
        if (!A || size == 0) continue;
        for (int64_t j = 0; j < r; j++) {
            double w[3];
            for (int c = 0; c < 3; c++)
                w[c] = H[3 * c] * rows[j] + H[3 * c + 1] * rows[lead + j] + H[3 * c + 2] * rows[2 * lead + j];
            double *row = A + j * lead;
            for (int64_t l = j; l < r; l++)
                row[l] += w[0] * rows[l] + w[1] * rows[lead + l] + w[2] * rows[2 * lead + l];
        }
    }
    return energy;
}
