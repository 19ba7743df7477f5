#include "io/stage/played.h"
#include "io/stage/field.h"

#define DIM(count) SU_DIM(su_played, count)
#define REAL(field, ...) SU_REAL(su_played, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_played, l),
    offsetof(su_played, n),
    offsetof(su_played, f),
};
static const char *const count_names[] = {"l", "n", "f"};

static const su_field fields[] = {
    REAL(loads, SU_F64, SU_FIELD_OPTIONAL, "m/s^2", "accelerations that modes answer, turned back to the neutral pose",
         DIM(l), DIM(n), 3),
    REAL(shapes, SU_F64, SU_FIELD_OPTIONAL, "m", "displacement of the flesh at frames that were played, turned back",
         DIM(f), DIM(n), 3),
    REAL(weights, SU_F64, SU_FIELD_OPTIONAL, "1", "weight of each such frame", DIM(f)),
};

static su_status check_played(const void *object, const char *path, su_error *err)
{
    const su_played *played = object;
    SU_TRY(su_check_at_least(played->l + played->f, 1, "loads and frames", path, err));
    return su_check_together(!!played->shapes + !!played->weights, 2, "'shapes' and 'weights'", path, err);
}

const su_schema su_played_schema = {
    "supple.played", 1,           sizeof(su_played),   fields,       SU_COUNT_OF(fields),
    counts,          count_names, SU_COUNT_OF(counts), check_played,
};

su_status su_played_load(const char *path, su_played *played, su_error *err)
{
    return su_schema_load(&su_played_schema, path, played, err);
}

su_status su_played_save(const char *path, const su_played *played, su_error *err)
{
    return su_schema_save(&su_played_schema, path, played, err);
}

void su_played_free(su_played *played) { su_schema_free(&su_played_schema, played); }
