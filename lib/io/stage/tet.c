#include "io/stage/tet.h"
#include "io/stage/field.h"

#define DIM(count) SU_DIM(su_tet, count)
#define REAL(field, ...) SU_REAL(su_tet, field, __VA_ARGS__)
#define INDEX(field, ...) SU_INDEX(su_tet, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_tet, n),           offsetof(su_tet, t),    offsetof(su_tet, b),
    offsetof(su_tet, fixed_count), offsetof(su_tet, nbar), offsetof(su_tet, ties),
};
static const char *const count_names[] = {"n", "t", "b", "fixed", "nbar", "ties"};

static const su_field fields[] = {
    REAL(vertices, SU_F64, 0, "m", "flesh vertices of the neutral pose, root frame", DIM(n), 3),
    INDEX(tets, SU_I32, 0, 0, DIM(n), 0, "tets (a,b,c,d) with det[b-a, c-a, d-a] > 0", DIM(t), 4),
    INDEX(surface, SU_I32, 0, 0, DIM(n), 0, "boundary triangles, counter-clockwise seen from outside", DIM(b), 3),
    INDEX(fixed, SU_I32, 0, 0, DIM(n), 0, "vertices held to the rig, ascending", DIM(fixed_count)),
    INDEX(embed_tet, SU_I32, 0, 0, DIM(t), 0, "tet that holds each skin vertex", DIM(nbar)),
    REAL(embed_bary, SU_F64, 0, "1", "barycentric coordinates of each skin vertex in its tet; rows sum to 1", DIM(nbar),
         4),
    INDEX(shepard_index, SU_I32, 0, 0, DIM(nbar), 0, "skin vertices that each flesh vertex follows", DIM(n), DIM(ties)),
    REAL(shepard_weight, SU_F64, 0, "1", "their weights, of any sign; rows sum to 1", DIM(n), DIM(ties)),
    INDEX(fixed_bone, SU_I32, SU_FIELD_OPTIONAL, -1, 0, 0, "bone that carries each held vertex, -1 where the skin does",
          DIM(fixed_count)),
};

static su_status check_tet(const void *object, const char *path, su_error *err)
{
    const su_tet *tet = object;
    SU_TRY(su_check_at_least(tet->t, 1, "tets", path, err));
    SU_TRY(su_check_at_least(tet->nbar, 1, "skin vertices", path, err));
    SU_TRY(su_check_ascending(tet->fixed, tet->fixed_count, 1, "fixed", path, err));
    SU_TRY(su_check_tets(tet->vertices, tet->tets, tet->t, path, err));
    SU_TRY(su_check_row_sums(tet->embed_bary, tet->nbar, 4, 1, "embed_bary", path, err));
    SU_TRY(su_check_row_sums(tet->shepard_weight, tet->n, tet->ties, 1, "shepard_weight", path, err));
    return SU_OK;
}

const su_schema su_tet_schema = {
    "supple.tet", 1, sizeof(su_tet), fields, SU_COUNT_OF(fields), counts, count_names, SU_COUNT_OF(counts), check_tet,
};

su_status su_tet_load(const char *path, su_tet *tet, su_error *err)
{
    return su_schema_load(&su_tet_schema, path, tet, err);
}

su_status su_tet_save(const char *path, const su_tet *tet, su_error *err)
{
    return su_schema_save(&su_tet_schema, path, tet, err);
}

void su_tet_free(su_tet *tet) { su_schema_free(&su_tet_schema, tet); }
