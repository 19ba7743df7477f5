#include "io/stage/fit.h"
#include "io/stage/field.h"

#define DIM(count) SU_DIM(su_fit, count)
#define REAL(field, ...) SU_REAL(su_fit, field, __VA_ARGS__)
#define INDEX(field, ...) SU_INDEX(su_fit, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_fit, k), offsetof(su_fit, n),    offsetof(su_fit, t),         offsetof(su_fit, m),  offsetof(su_fit, s),
    offsetof(su_fit, a), offsetof(su_fit, nbar), offsetof(su_fit, mean_size), offsetof(su_fit, n1), offsetof(su_fit, z),
};
static const char *const count_names[] = {"k", "n", "t", "m", "s", "a", "nbar", "3nbar", "n+1", "z"};

static const su_field fields[] = {
    INDEX(pose, SU_I32, 0, 0, DIM(m), 0, "example poses inside, ascending", DIM(k)),
    REAL(shapes, SU_F64, 0, "m", "fitted rest shape of the flesh at each pose, root frame", DIM(k), DIM(n), 3),
    REAL(corrections, SU_F64, 0, "m", "fitted minus Shepard-interpolated rest shape", DIM(k), DIM(n), 3),
    REAL(params, SU_F64, 0, "rig", "rig parameters of all example poses", DIM(m), DIM(s)),
    REAL(param_scale, SU_F64, 0, "1/rig", "factor on each rig parameter in distances between poses", DIM(s)),
    REAL(rbf, SU_F64, 0, "1", "coefficients of the biharmonic weights w", DIM(m), DIM(m)),
    REAL(young, SU_F64, 0, "Pa", "Young's modulus of each tet at each pose", DIM(k), DIM(t)),
    REAL(poisson, SU_F64, 0, "1", "Poisson's ratio of each tet at each pose", DIM(k), DIM(t)),
    REAL(density, SU_F64, 0, "kg/m^3", "density of each tet", DIM(t)),
    INDEX(turn_start, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(z), 1,
          "first entry of each vertex in turn_node and turn_weight", DIM(n1)),
    INDEX(turn_node, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(n), 0,
          "nodes of the smoothing of rotations that reach each vertex", DIM(z)),
    REAL(turn_weight, SU_F64, SU_FIELD_OPTIONAL, "1", "their weights phi; those of a vertex sum to 1", DIM(z)),
    REAL(psd_params, SU_F64, SU_FIELD_OPTIONAL, "rig",
         "rig parameters of the sculpted poses, the neutral pose among them", DIM(a), DIM(s)),
    REAL(psd_shapes, SU_F64, SU_FIELD_OPTIONAL, "m", "sculpted corrections of the skin, neutral pose, 0 at the neutral",
         DIM(a), DIM(nbar), 3),
    REAL(psd_rbf, SU_F64, SU_FIELD_OPTIONAL, "1", "coefficients of the weights that blend psd_shapes", DIM(a), DIM(a)),
    REAL(param_mean, SU_F64, SU_FIELD_OPTIONAL, "m", "mean skin of a sequence without rig parameters", DIM(mean_size)),
    REAL(param_basis, SU_F64, SU_FIELD_OPTIONAL, "1/m", "rows that turn a skin minus param_mean into rig parameters",
         DIM(s), DIM(mean_size)),
};

static su_status check_fit(const void *object, const char *path, su_error *err)
{
    const su_fit *fit = object;
    SU_TRY(su_check_at_least(fit->k, 1, "poses", path, err));
    SU_TRY(su_check_at_least(fit->t, 1, "tets", path, err));
    SU_TRY(su_check_ascending(fit->pose, fit->k, 1, "pose", path, err));
    SU_TRY(su_check_range(fit->young, fit->k * fit->t, 0, 1e300, "young", path, err));
    SU_TRY(su_check_range(fit->poisson, fit->k * fit->t, -1, 0.5, "poisson", path, err));
    SU_TRY(su_check_range(fit->density, fit->t, 0, 1e300, "density", path, err));
    SU_TRY(su_check_smoothing(fit->n, fit->n1, fit->z, fit->turn_start, fit->turn_node, fit->turn_weight, path, err));
    SU_TRY(su_check_together(!!fit->psd_params + !!fit->psd_shapes + !!fit->psd_rbf, 3,
                             "psd_params, psd_shapes and psd_rbf", path, err));
    SU_TRY(su_check_together(!!fit->param_mean + !!fit->param_basis, 2, "param_mean and param_basis", path, err));
    return SU_OK;
}

const su_schema su_fit_schema = {
    "supple.fit", 2, sizeof(su_fit), fields, SU_COUNT_OF(fields), counts, count_names, SU_COUNT_OF(counts), check_fit,
};

su_status su_fit_load(const char *path, su_fit *fit, su_error *err)
{
    return su_schema_load(&su_fit_schema, path, fit, err);
}

su_status su_fit_save(const char *path, const su_fit *fit, su_error *err)
{
    return su_schema_save(&su_fit_schema, path, fit, err);
}

void su_fit_free(su_fit *fit) { su_schema_free(&su_fit_schema, fit); }

su_smoothing su_fit_smoothing(const su_fit *fit)
{
    return su_smoothing_of(fit->n, fit->turn_start, fit->turn_node, fit->turn_weight);
}
