#include "rig/rig_space.h"

#include "rig/rbf.h"

#include <math.h>
#include <string.h>

/* The arrays have the same names in all three kinds. */
#define SHARED(file_struct)                                                                                            \
    .m = (file_struct)->m, .s = (file_struct)->s, .a = (file_struct)->a, .params = (file_struct)->params,              \
    .param_scale = (file_struct)->param_scale, .nbar = (file_struct)->nbar, .psd_params = (file_struct)->psd_params,   \
    .psd_shapes = (file_struct)->psd_shapes, .psd_rbf = (file_struct)->psd_rbf, .mean_size = (file_struct)->mean_size, \
    .param_mean = (file_struct)->param_mean, .param_basis = (file_struct)->param_basis,                                \
    .param_names = json_object_get((file_struct)->file.meta, "param_names")

su_rig_space su_rig_of_poses(const su_poses *poses) { return (su_rig_space){SHARED(poses)}; }

su_rig_space su_rig_of_fit(const su_fit *fit) { return (su_rig_space){SHARED(fit), .rbf = fit->rbf}; }

su_rig_space su_rig_of_model(const su_model *model)
{
    return (su_rig_space){SHARED(model), .rbf = model->rbf, .columns = model->columns, .basis_rbf = model->basis_rbf};
}

/* ---- copies ---- */

bool su_parameter_moves(int64_t frames, int64_t stride, const double *column)
{
    const double same = 1e-6; /* of the parameter's unit: rounding of values that stand still away from neutral */
    double low = INFINITY, high = -INFINITY;
    for (int64_t f = 0; f < frames; f++) {
        low = fmin(low, column[f * stride]);
        high = fmax(high, column[f * stride]);
    }
    return high - low > same && fmax(-low, high) >= SU_STILL_PARAMETER;
}

su_status su_rig_copy(const su_rig_space *rig, su_file *file, su_rig_space *out, su_error *err)
{
    int64_t m = rig->m, s = rig->s, a = rig->a;
    *out = *rig;
    SU_TRY(SU_FILE_COPY(file, &out->params, m * s, rig->params, err));
    SU_TRY(SU_FILE_COPY(file, &out->param_scale, s, rig->param_scale, err));
    SU_TRY(SU_FILE_COPY(file, &out->rbf, m * m, rig->rbf, err));
    SU_TRY(SU_FILE_COPY(file, &out->basis_rbf, m * rig->columns, rig->basis_rbf, err));
    SU_TRY(SU_FILE_COPY(file, &out->psd_params, a * s, rig->psd_params, err));
    SU_TRY(SU_FILE_COPY(file, &out->psd_shapes, 3 * a * rig->nbar, rig->psd_shapes, err));
    SU_TRY(SU_FILE_COPY(file, &out->psd_rbf, a * a, rig->psd_rbf, err));
    SU_TRY(SU_FILE_COPY(file, &out->param_mean, rig->mean_size, rig->param_mean, err));
    return SU_FILE_COPY(file, &out->param_basis, s * rig->mean_size, rig->param_basis, err);
}

#define SET_SHARED(file_struct, rig)                                                                                   \
    (file_struct)->m = (rig)->m, (file_struct)->s = (rig)->s, (file_struct)->a = (rig)->psd_params ? (rig)->a : 0,     \
    (file_struct)->params = (rig)->params, (file_struct)->param_scale = (rig)->param_scale,                            \
    (file_struct)->rbf = (rig)->rbf, (file_struct)->psd_params = (rig)->psd_params,                                    \
    (file_struct)->psd_shapes = (rig)->psd_shapes, (file_struct)->psd_rbf = (rig)->psd_rbf,                            \
    (file_struct)->mean_size = (rig)->param_mean ? (rig)->mean_size : 0,                                               \
    (file_struct)->param_mean = (rig)->param_mean, (file_struct)->param_basis = (rig)->param_basis

void su_rig_into_fit(const su_rig_space *rig, su_fit *fit)
{
    SET_SHARED(fit, rig);
    fit->nbar = rig->psd_params ? rig->nbar : 0;
}

void su_rig_into_model(const su_rig_space *rig, su_model *model)
{
    SET_SHARED(model, rig);
    model->columns = rig->columns, model->basis_rbf = rig->basis_rbf;
}

/* ---- comparison ---- */

static bool same(int64_t count, const double *a, const double *b)
{
    return (!a && !b) || (a && b && memcmp(a, b, (size_t)count * sizeof *a) == 0);
}

bool su_rig_same_poses(const su_rig_space *a, const su_rig_space *b)
{
    return a->m == b->m && a->s == b->s && same(a->m * a->s, a->params, b->params) &&
           same(a->s, a->param_scale, b->param_scale) && same(a->m * a->m, a->rbf, b->rbf);
}

bool su_rig_same_sculpts(const su_rig_space *a, const su_rig_space *b)
{
    return a->a == b->a && a->nbar == b->nbar && same(3 * a->a * a->nbar, a->psd_shapes, b->psd_shapes);
}

/* ---- weights ---- */

void su_rig_weights(const su_rig_space *rig, const double *p, double *w)
{
    su_rbf_weights(rig->m, rig->s, rig->params, rig->param_scale, rig->rbf, p, w);
}

/* Sums |b| at which b begins to be drawn back to w, and is w (1 where no weight is negative). Chosen. */
static const double drawn_from = 1.5, drawn_wholly = 3;

/* b <- w + tau (b - w), tau falling from 1 where sum |b| is drawn_from to 0 where it is drawn_wholly (docs/formats.md,
 * convention 7): extrapolation with alternating signs would add up unrelated bases. */
static void draw_back(int64_t m, const double *w, double *b)
{
    double sum = 0.0, tau = 0.0;
    for (int64_t i = 0; i < m; i++) sum += fabs(b[i]);
    if (sum <= drawn_from) {
        tau = 1.0;
    } else if (sum < drawn_wholly) {
        double z = (sum - drawn_from) / (drawn_wholly - drawn_from);
        tau = 1.0 - z * z * (3.0 - 2.0 * z);
    }
    if (tau == 0.0) /* also where b overflowed */
        for (int64_t i = 0; i < m; i++) b[i] = w[i];
    else
        for (int64_t i = 0; i < m; i++) b[i] = w[i] + tau * (b[i] - w[i]);
}

void su_rig_basis_weights(const su_rig_space *rig, const double *p, const double *w, double *b)
{
    int64_t m = rig->m, s = rig->s, columns = rig->columns;
    if (!rig->basis_rbf || columns != m + 1 + s || m <= 2) {
        for (int64_t i = 0; i < m; i++) b[i] = w[i];
        return;
    }
    for (int64_t i = 0; i < m; i++) {
        const double *row = rig->basis_rbf + i * columns;
        b[i] = row[m];
        for (int64_t k = 0; k < s; k++) b[i] += row[m + 1 + k] * p[k];
    }
    for (int64_t j = 0; j < m; j++) {
        double r = su_param_distance(s, p, rig->params + j * s, rig->param_scale), kernel = r * r * r;
        for (int64_t i = 0; i < m; i++) b[i] += rig->basis_rbf[i * columns + j] * kernel;
    }
    draw_back(m, w, b);
}

void su_rig_sculpt_weights(const su_rig_space *rig, const double *p, double *weights)
{
    su_rbf_weights(rig->a, rig->s, rig->psd_params, rig->param_scale, rig->psd_rbf, p, weights);
}
