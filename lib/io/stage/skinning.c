#include "io/stage/skinning.h"
#include "io/stage/field.h"

#define DIM(count) SU_DIM(su_skinning, count)
#define REAL(field, ...) SU_REAL(su_skinning, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_skinning, n),
    offsetof(su_skinning, k),
    offsetof(su_skinning, rows),
    offsetof(su_skinning, shapes),
};
static const char *const count_names[] = {"n", "k", "R", "K"};

static const su_field fields[] = {
    REAL(weights, SU_F64, 0, "kg^-1/2", "skinning eigenmodes: weight of each affine map at each flesh vertex", DIM(n),
         DIM(k)),
    REAL(eigenvalues, SU_F64, 0, "rad^2/s^2", "eigenvalues of the skinning modes, ascending", DIM(k)),
    REAL(leak, SU_F64, 0, "1", "how far each flesh vertex is held to the rig, 0 to 1", DIM(n)),
    REAL(rig_rows, SU_F64, SU_FIELD_OPTIONAL, "1",
         "motions of the rig that the flesh leaves alone: the sum of s u over the vertices is 0; rows have norm 1",
         DIM(rows), DIM(n)),
    REAL(rig_shapes, SU_F64, SU_FIELD_OPTIONAL, "1",
         "shapes of the rig that it leaves alone: the sum of s . u is 0; rows have norm 1", DIM(shapes), DIM(n), 3),
};

static su_status check_skinning(const void *object, const char *path, su_error *err)
{
    const su_skinning *skinning = object;
    SU_TRY(su_check_at_least(skinning->k, 1, "skinning modes", path, err));
    SU_TRY(su_check_range(skinning->eigenvalues, skinning->k, -1e-300, 1e300, "eigenvalues", path, err));
    return su_check_range(skinning->leak, skinning->n, -1e-300, 1 + 1e-12, "leak", path, err);
}

const su_schema su_skinning_schema = {
    "supple.skinning", 1, sizeof(su_skinning), fields, SU_COUNT_OF(fields), counts, count_names, SU_COUNT_OF(counts),
    check_skinning,
};

su_status su_skinning_load(const char *path, su_skinning *skinning, su_error *err)
{
    return su_schema_load(&su_skinning_schema, path, skinning, err);
}

su_status su_skinning_save(const char *path, const su_skinning *skinning, su_error *err)
{
    return su_schema_save(&su_skinning_schema, path, skinning, err);
}

void su_skinning_free(su_skinning *skinning) { su_schema_free(&su_skinning_schema, skinning); }
