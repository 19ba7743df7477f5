#include "io/stage/modes.h"
#include "io/stage/field.h"

#define DIM(count) SU_DIM(su_modes, count)
#define REAL(field, ...) SU_REAL(su_modes, field, __VA_ARGS__)
#define INDEX(field, ...) SU_INDEX(su_modes, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_modes, k),
    offsetof(su_modes, r),
    offsetof(su_modes, n),
    offsetof(su_modes, linear),
    offsetof(su_modes, d),
    offsetof(su_modes, offset_count),
    offsetof(su_modes, row_offset_count),
    offsetof(su_modes, z),
};
static const char *const count_names[] = {"k", "r", "n", "linear", "d", "k+1", "R+1", "z"};

static const su_field fields[] = {
    INDEX(pose, SU_I32, 0, 0, 0, 0, "example poses inside, ascending", DIM(k)),
    REAL(modes, SU_F64, 0, "kg^-1/2", "mass-orthonormal modes of each pose, region after region", DIM(k), DIM(r),
         DIM(n), 3),
    REAL(eigenvalues, SU_F64, 0, "rad^2/s^2", "eigenvalues of the linear modes, region after region", DIM(k),
         DIM(linear)),
    REAL(region_weights, SU_F64, 0, "1", "weight of each vertex in each region", DIM(d), DIM(n)),
    INDEX(mode_region, SU_I32, 0, 0, DIM(d), 0, "region of each mode, ascending", DIM(r)),
    INDEX(contact_offsets, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(row_offset_count), 0, "first contact row of each pose",
          DIM(offset_count)),
    INDEX(contact_row_offsets, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(z), 1, "first coefficient of each contact row",
          DIM(row_offset_count)),
    INDEX(contact_vertices, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(n), 0, "flesh vertex of each contact coefficient",
          DIM(z)),
    REAL(contact_coefficients, SU_F64, SU_FIELD_OPTIONAL, "1",
         "contact rows: the sum of c . u over a row is 0; rows have norm 1", DIM(z), 3),
};

static su_status check_modes(const void *object, const char *path, su_error *err)
{
    const su_modes *modes = object;
    SU_TRY(su_check_at_least(modes->k, 1, "poses", path, err));
    SU_TRY(su_check_at_least(modes->r, 1, "modes", path, err));
    SU_TRY(su_check_ascending(modes->pose, modes->k, 1, "pose", path, err));
    SU_TRY(su_check_ascending(modes->mode_region, modes->r, 0, "mode_region", path, err));
    SU_TRY(su_check_range(modes->eigenvalues, modes->k * modes->linear, -1e-300, 1e300, "eigenvalues", path, err));
    SU_TRY(su_check_together(!!modes->contact_offsets + !!modes->contact_row_offsets + !!modes->contact_vertices +
                                 !!modes->contact_coefficients,
                             4, "the four contact arrays", path, err));
    if (!modes->contact_offsets) return SU_OK;
    if (modes->offset_count != modes->k + 1)
        return su_fail(err, SU_INPUT, "%s: 'contact_offsets' has %lld elements, %lld are wanted", path,
                       (long long)modes->offset_count, (long long)modes->k + 1);
    SU_TRY(su_check_offsets(modes->contact_offsets, modes->offset_count, modes->row_offset_count - 1, "contact_offsets",
                            path, err));
    return su_check_offsets(modes->contact_row_offsets, modes->row_offset_count, modes->z, "contact_row_offsets", path,
                            err);
}

const su_schema su_modes_schema = {
    "supple.modes", 1,           sizeof(su_modes),    fields,      SU_COUNT_OF(fields),
    counts,         count_names, SU_COUNT_OF(counts), check_modes,
};

su_status su_modes_load(const char *path, su_modes *modes, su_error *err)
{
    return su_schema_load(&su_modes_schema, path, modes, err);
}

su_status su_modes_save(const char *path, const su_modes *modes, su_error *err)
{
    return su_schema_save(&su_modes_schema, path, modes, err);
}

void su_modes_free(su_modes *modes) { su_schema_free(&su_modes_schema, modes); }
