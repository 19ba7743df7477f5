#include "reduce/cubature/inertia_rows.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <float.h>
#include <cblas.h>
#include <stdlib.h>
#include <string.h>

void su_motion_free(su_motion *motion)
{
    free(motion->acceleration), free(motion->turn), free(motion->turn_share);
    *motion = (su_motion){0};
}

/* The fields of one place are made one after the other. */
typedef struct maker {
    const su_pose_space *space;
    const su_inertia_sampling *sampling;
    const su_candidates *points;
    su_station_rows *rows;
    double *field; /* (n,3) mass times acceleration */
} maker;

/* Takes over maker->field, which holds accelerations; share: how strong the field is among its kind. */
static void add_field(maker *make, double share)
{
    const su_pose_space *space = make->space;
    const double *mass = space->elastic.mass;
    su_station_rows *rows = make->rows;
    int64_t n = space->n, r = space->r;
    double *target = rows->target + rows->samples * r, norm2 = 0, length = 0;
    float *force = rows->force + rows->samples * make->points->count * 3;
    for (int64_t v = 0; v < n; v++) {
        norm2 += mass[v] * su_dot3(make->field + 3 * v, make->field + 3 * v);
        for (int i = 0; i < 3; i++) make->field[3 * v + i] *= mass[v];
    }
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)r, (int)(3 * n), 1, space->U, (int)(3 * n), make->field, 1, 0, target,
                1);
    for (int64_t k = 0; k < r; k++) length += target[k] * target[k];
    length = fmax(sqrt(length), make->sampling->least_field * sqrt(norm2));
    if (!(length * share > DBL_MIN)) return;
    length *= fmax(1, make->sampling->least_turn / share);
    for (int64_t k = 0; k < r; k++) target[k] /= length;
    for (int64_t k = 0; k < make->points->count; k++) {
        int64_t v = make->points->point[k];
        double own[3];
        memcpy(own, make->field + 3 * v, sizeof own);
        if (make->sampling->turned_back) su_turn_back_vectors(1, space->rotation + 4 * v, own, own);
        for (int i = 0; i < 3; i++) force[3 * k + i] = (float)(own[i] / length);
    }
    rows->samples++;
}

static void unit_axis(int i, double axis[3]) { axis[0] = i == 0, axis[1] = i == 1, axis[2] = i == 2; }

static void add_rigid_fields(maker *make, const double *x, bool spins)
{
    int64_t n = make->space->n;
    for (int i = 0; i < 3; i++) {
        for (int64_t v = 0; v < n; v++) unit_axis(i, make->field + 3 * v);
        add_field(make, 1);
    }
    for (int i = 0; spins && i < 3; i++) {
        double a[3], b[3], one[3], two[3];
        unit_axis(i, a);
        for (int64_t v = 0; v < n; v++) su_cross3(a, x + 3 * v, make->field + 3 * v);
        add_field(make, 1);
        for (int j = i; j < 3; j++) {
            unit_axis(j, b);
            for (int64_t v = 0; v < n; v++) {
                su_cross3(b, x + 3 * v, one);
                su_cross3(a, one, one);
                su_cross3(a, x + 3 * v, two);
                su_cross3(b, two, two);
                for (int c = 0; c < 3; c++) make->field[3 * v + c] = one[c] + two[c];
            }
            add_field(make, 1);
        }
    }
}

/* out = (T - I) u */
static void turned_less_itself(const double T[9], const double u[3], double out[3])
{
    double turned[3];
    su_mulv3(T, u, turned);
    su_sub3(turned, u, out);
}

/* One history state u (n,3) in pose coordinates. */
static void add_history(maker *make, const double *u, const su_motion *motion, int axis, double spin)
{
    int64_t n = make->space->n;
    if (spin > 0) {
        double v[3], q[4], S[9];
        unit_axis(axis, v);
        for (int i = 0; i < 3; i++) v[i] *= spin;
        su_quaternion_exp(v, q);
        su_quaternion_matrix(q, S);
        for (int64_t k = 0; k < n; k++) turned_less_itself(S, u + 3 * k, make->field + 3 * k);
        add_field(make, 1);
    }
    for (int64_t t = 0; motion && t < motion->turns; t++) {
        for (int64_t k = 0; k < n; k++) {
            double R[9], T[9], back[3];
            su_quaternion_matrix(make->space->rotation + 4 * k, R);
            su_quaternion_matrix(motion->turn + 4 * (t * n + k), T);
            su_tmulv3(R, u + 3 * k, back);
            turned_less_itself(T, back, make->field + 3 * k);
            su_mulv3(R, make->field + 3 * k, make->field + 3 * k);
        }
        add_field(make, motion->turn_share[t]);
    }
}

su_status su_inertia_rows(su_pose_space *space, const su_place *place, const su_motion *motion,
                          const su_inertia_sampling *sampling, const su_candidates *points, su_station_rows *rows,
                          su_error *err)
{
    int64_t r = space->r, n = space->n, count = points->count, histories = sampling->states.samples;
    int64_t most = 3 + 9 + histories * (1 + (motion ? motion->turns : 0)) + (motion ? motion->accelerations : 0);
    double *q = NULL, *field = NULL, *u = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("sample states", err, SU_WANT(u, 3 * n), SU_WANT(q, (histories > 0 ? histories : 1) * r)));
    SU_GO(SU_ALLOC_ALL("accelerations", err, SU_WANT(field, 3 * n), SU_WANT(rows->force, most * count * 3),
                       SU_WANT(rows->target, most * r)));
    SU_GO(su_pose_space_enter(space, place, err));
    maker make = {space, sampling, points, rows, field};
    rows->samples = 0;
    add_rigid_fields(&make, place->rest, sampling->spin > 0);
    for (int64_t k = 0; motion && k < motion->accelerations; k++) {
        memcpy(field, motion->acceleration + 3 * k * n, (size_t)(3 * n) * sizeof *field);
        add_field(&make, 1);
    }
    if (sampling->given)
        memcpy(q, sampling->given, (size_t)(histories * r) * sizeof *q);
    else if (histories > 0)
        SU_GO(su_sample_states(space, place->rest, &sampling->states, q, err));
    for (int64_t k = 0; k < histories; k++) {
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)r, (int)(3 * n), 1, space->U, (int)(3 * n), q + k * r, 1, 0, u, 1);
        add_history(&make, u, motion, (int)(k % 3), sampling->spin);
    }
    if (!sampling->turned_back) SU_GO(su_rows_basis(space, points, &rows->basis, err));
done:
    free(q), free(field), free(u);
    return status;
}
