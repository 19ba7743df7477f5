#include "io/stage/basis.h"
#include "io/stage/field.h"

#include <math.h>

#define DIM(count) SU_DIM(su_basis, count)
#define REAL(field, ...) SU_REAL(su_basis, field, __VA_ARGS__)
#define INDEX(field, ...) SU_INDEX(su_basis, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_basis, m),       offsetof(su_basis, r), offsetof(su_basis, n), offsetof(su_basis, d),
    offsetof(su_basis, columns), offsetof(su_basis, s), offsetof(su_basis, f),
};
static const char *const count_names[] = {"m", "r", "n", "d", "m+1+s", "s", "f"};

static const su_field fields[] = {
    REAL(basis, SU_F64, 0, "kg^-1/2", "aligned basis of each example pose, turned back to the neutral pose", DIM(m),
         DIM(r), DIM(n), 3),
    REAL(rotations, SU_F64, 0, "1", "rotation neutral to pose of each vertex, quaternion w x y z", DIM(m), DIM(n), 4),
    REAL(gram, SU_F64, 0, "1", "mass products of the bases of two poses", DIM(m), DIM(m), DIM(r), DIM(r)),
    INDEX(parent, SU_I32, 0, -1, DIM(m), 0, "pose that each pose was aligned to, -1 at pose 0", DIM(m)),
    REAL(angles, SU_F64, 0, "rad", "principal angles to the parent, ascending within a region", DIM(m), DIM(r)),
    REAL(basis_rbf, SU_F64, SU_FIELD_OPTIONAL, "1", "coefficients of the weights b that blend bases; without it b = w",
         DIM(m), DIM(columns)),
    REAL(param_scale, SU_F64, 0, "1/rig", "factor on each rig parameter in distances between poses", DIM(s)),
    INDEX(mode_region, SU_I32, 0, 0, DIM(d), 0, "region of each mode, ascending", DIM(r)),
    REAL(region_weights, SU_F64, 0, "1", "weight of each vertex in each region", DIM(d), DIM(n)),
    REAL(state_q, SU_F64, SU_FIELD_OPTIONAL, "kg^1/2 m",
         "reduced coordinates of the states that one basis for all poses was made from", DIM(f), DIM(r)),
    REAL(state_force, SU_F64, SU_FIELD_OPTIONAL, "kg^-1/2 N",
         "elastic forces of the flesh in those states, turned back, in the basis", DIM(f), DIM(r)),
    REAL(state_contact, SU_F64, SU_FIELD_OPTIONAL, "kg^-1/2 N",
         "forces of the flesh on itself in those states, where it was kept out of itself, likewise", DIM(f), DIM(r)),
    INDEX(state_shot, SU_I32, SU_FIELD_OPTIONAL, 0, 0, 0, "shot of each state, counted as meta `shots` lists them",
          DIM(f)),
    INDEX(state_frame, SU_I32, SU_FIELD_OPTIONAL, 0, 0, 0, "frame of each state in its shot, from 0", DIM(f)),
    INDEX(state_start, SU_I32, SU_FIELD_OPTIONAL, -1, 0, 0,
          "frame from which each state was played, at rest there; −1: in steps too coarse to say where the flesh is at "
          "that frame",
          DIM(f)),
};

static su_status check_basis(const void *object, const char *path, su_error *err)
{
    const su_basis *basis = object;
    SU_TRY(su_check_at_least(basis->m, 1, "example poses", path, err));
    SU_TRY(su_check_at_least(basis->r, 1, "modes", path, err));
    SU_TRY(su_check_ascending(basis->mode_region, basis->r, 0, "mode_region", path, err));
    SU_TRY(su_check_forest(basis->parent, basis->m, "parent", path, err));
    for (int64_t i = 0; i < basis->m; i++)
        if ((basis->parent[i] == -1) != (i == 0))
            return su_fail(err, SU_INPUT, "%s: array 'parent' must be -1 at pose 0 and only there", path);
    for (int64_t i = 0; i < basis->m * basis->n; i++) {
        const double *q = basis->rotations + 4 * i;
        if (fabs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1) > 1e-6)
            return su_fail(err, SU_INPUT, "%s: quaternion %lld of 'rotations' is not of length 1", path, (long long)i);
    }
    SU_TRY(su_check_together(!!basis->state_q + !!basis->state_force + !!basis->state_shot + !!basis->state_frame +
                                 !!basis->state_start,
                             5, "state_q, state_force, state_shot, state_frame and state_start", path, err));
    if (basis->state_contact && !basis->state_q)
        return su_fail(err, SU_INPUT, "%s: 'state_contact' without 'state_q'", path);
    if (basis->basis_rbf && basis->columns < basis->m + 1)
        return su_fail(err, SU_INPUT, "%s: 'basis_rbf' has %lld columns, more than %lld are wanted", path,
                       (long long)basis->columns, (long long)basis->m);
    return SU_OK;
}

const su_schema su_basis_schema = {
    "supple.basis", 2,           sizeof(su_basis),    fields,      SU_COUNT_OF(fields),
    counts,         count_names, SU_COUNT_OF(counts), check_basis,
};

su_status su_basis_load(const char *path, su_basis *basis, su_error *err)
{
    return su_schema_load(&su_basis_schema, path, basis, err);
}

su_status su_basis_save(const char *path, const su_basis *basis, su_error *err)
{
    return su_schema_save(&su_basis_schema, path, basis, err);
}

void su_basis_free(su_basis *basis) { su_schema_free(&su_basis_schema, basis); }
