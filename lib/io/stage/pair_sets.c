#include "io/stage/pair_sets.h"
#include "io/stage/field.h"

#include <string.h>

#define DIM(count) SU_DIM(su_pair_sets, count)
#define REAL(field, ...) SU_REAL(su_pair_sets, field, SU_F64, 0, __VA_ARGS__)
#define INDEX(field, ...) SU_INDEX(su_pair_sets, field, SU_I32, 0, 0, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_pair_sets, v), offsetof(su_pair_sets, v1), offsetof(su_pair_sets, k), offsetof(su_pair_sets, e),
    offsetof(su_pair_sets, d), offsetof(su_pair_sets, c),  offsetof(su_pair_sets, s), offsetof(su_pair_sets, c3),
    offsetof(su_pair_sets, z), offsetof(su_pair_sets, z1), offsetof(su_pair_sets, p), offsetof(su_pair_sets, t),
};
static const char *const count_names[] = {"v", "v+1", "k", "e", "d", "c", "s", "3c", "z", "z+1", "p", "t"};

static const su_field fields[] = {
    INDEX(vertices, 0, 0, "flesh vertices that contact reads, ascending", DIM(v)),
    REAL(stiffness, "N/m^3", "penalty stiffness at each vertex", DIM(v)),
    REAL(area, "m^2", "skin area that each vertex stands for; 0: none of its own", DIM(v)),
    INDEX(related_start, DIM(e), 1, "first entry of each vertex in related", DIM(v1)),
    INDEX(related, DIM(v), 0, "vertices that share a tet with each, itself too, ascending: they never touch", DIM(e)),
    INDEX(triangles, DIM(v), 0, "corners, outward: triangles met in training and rings around them, by pair sets",
          DIM(k), 3),
    INDEX(triangle_start, DIM(k), 1, "first triangle of each pair set", DIM(z1)),
    INDEX(tets, DIM(v), 0, "corners: flesh below the triangles, in which vertices are looked for, by pair sets", DIM(t),
          4),
    INDEX(tet_start, DIM(t), 1, "first tet of each pair set", DIM(z1)),
    INDEX(tet_triangle, DIM(k), 0, "triangle nearest to each tet through the flesh", DIM(t)),
    INDEX(probe, DIM(v), 0, "vertices whose places in the rest shape say where a domain is", DIM(d), DIM(c)),
    INDEX(domain_pair, DIM(d), 0, "domains that touch", DIM(s), 2),
    REAL(pose_mean, "m", "probes of the second domain in the first one's frame, mean over the training poses", DIM(s),
         DIM(c3)),
    REAL(pose_axes, "1", "principal axes about it, rows of norm 1, or 0", DIM(s), SU_PAIR_COORDINATES, DIM(c3)),
    REAL(reach, "m", "largest distance of a training pose to the next one", DIM(s)),
    INDEX(set_pair, DIM(s), 0, "domain pair of each pair set, ascending", DIM(z)),
    REAL(set_pose, "m", "coordinates of its training pose", DIM(z), SU_PAIR_COORDINATES),
    INDEX(set_start, DIM(p), 1, "first pair of each set", DIM(z1)),
    INDEX(pair_vertex, DIM(v), 0, "the vertex that touches", DIM(p)),
    INDEX(pair_triangle, DIM(k), 0, "the triangle that it was met at in training", DIM(p)),
    INDEX(pair_tet, DIM(t), 0, "the tet that held its vertex there", DIM(p)),
    REAL(pair_weight, "1", "how many pairs it stands for", DIM(p)),
};

static su_status check_consistent(const su_pair_sets *s, const char *path, su_error *err)
{
    if (s->v1 != s->v + 1 || s->z1 != s->z + 1 || s->c3 != 3 * s->c)
        return su_fail(err, SU_INPUT, "%s: offsets do not fit what they count", path);
    for (int64_t k = 0; k < s->z; k++) {
        for (int32_t e = s->tet_start[k]; e < s->tet_start[k + 1]; e++)
            if (s->tet_triangle[e] < s->triangle_start[k] || s->tet_triangle[e] >= s->triangle_start[k + 1])
                return su_fail(err, SU_INPUT, "%s: tet %d has a triangle of another set", path, (int)e);
        for (int32_t i = s->set_start[k]; i < s->set_start[k + 1]; i++) {
            int32_t f = s->pair_triangle[i], e = s->pair_tet[i];
            if (f < s->triangle_start[k] || f >= s->triangle_start[k + 1] || e < s->tet_start[k] ||
                e >= s->tet_start[k + 1])
                return su_fail(err, SU_INPUT, "%s: pair %d has a triangle or a tet of another set", path, (int)i);
        }
    }
    return SU_OK;
}

static su_status check_pair_sets(const void *object, const char *path, su_error *err)
{
    const su_pair_sets *s = object;
    SU_TRY(su_check_ascending(s->vertices, s->v, 1, "vertices", path, err));
    SU_TRY(su_check_range(s->stiffness, s->v, 0, 1e300, "stiffness", path, err));
    SU_TRY(su_check_range(s->area, s->v, -1e-300, 1e300, "area", path, err));
    SU_TRY(su_check_range(s->reach, s->s, -1e-300, 1e300, "reach", path, err));
    SU_TRY(su_check_range(s->pair_weight, s->p, 0, 1e300, "pair_weight", path, err));
    SU_TRY(su_check_offsets(s->related_start, s->v1, s->e, "related_start", path, err));
    SU_TRY(su_check_offsets(s->triangle_start, s->z1, s->k, "triangle_start", path, err));
    SU_TRY(su_check_offsets(s->set_start, s->z1, s->p, "set_start", path, err));
    SU_TRY(su_check_offsets(s->tet_start, s->z1, s->t, "tet_start", path, err));
    SU_TRY(su_check_ascending(s->set_pair, s->z, 0, "set_pair", path, err));
    return check_consistent(s, path, err);
}

const su_schema su_pair_sets_schema = {
    "supple.contact", 2,           sizeof(su_pair_sets), fields,          SU_COUNT_OF(fields),
    counts,           count_names, SU_COUNT_OF(counts),  check_pair_sets,
};

su_status su_pair_sets_load(const char *path, su_pair_sets *sets, su_error *err)
{
    return su_schema_load(&su_pair_sets_schema, path, sets, err);
}

su_status su_pair_sets_save(const char *path, const su_pair_sets *sets, su_error *err)
{
    return su_schema_save(&su_pair_sets_schema, path, sets, err);
}

bool su_pair_sets_allow(const su_pair_sets *sets)
{
    const char *which = json_string_value(json_object_get(sets->file.meta, "self_contact"));
    return which && strcmp(which, "new") == 0;
}

void su_pair_sets_free(su_pair_sets *sets) { su_schema_free(&su_pair_sets_schema, sets); }
