#include "io/stage/anim.h"
#include "io/stage/field.h"

#include <math.h>

#define DIM(count) SU_DIM(su_anim, count)
#define REAL(field, ...) SU_REAL(su_anim, field, __VA_ARGS__)
#define INDEX(field, ...) SU_INDEX(su_anim, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_anim, F),       offsetof(su_anim, nbar),      offsetof(su_anim, T),     offsetof(su_anim, P),
    offsetof(su_anim, corners), offsetof(su_anim, N),         offsetof(su_anim, s),     offsetof(su_anim, uvs),
    offsetof(su_anim, objects), offsetof(su_anim, K),         offsetof(su_anim, B),     offsetof(su_anim, nodes),
    offsetof(su_anim, joints),  offsetof(su_anim, materials), offsetof(su_anim, sets1), offsetof(su_anim, set_faces),
};
static const char *const count_names[] = {"F",       "nbar", "T", "P", "corners", "N", "s",   "uvs",
                                          "objects", "K",    "B", "J", "L",       "M", "S+1", "y"};

static const su_field fields[] = {
    REAL(points, SU_F32, 0, "m", "skin at every frame as the rig gives it, root frame", DIM(F), DIM(nbar), 3),
    REAL(root, SU_F64, 0, "1, m", "root frame to world: rotation, and translation in the last column", DIM(F), 4, 4),
    REAL(neutral, SU_F64, 0, "m", "skin of the neutral pose", DIM(nbar), 3),
    INDEX(triangles, SU_I32, 0, 0, DIM(nbar), 0, "triangles of the skin", DIM(T), 3),
    INDEX(face_counts, SU_I32, 0, 3, 0, 0, "corners of each of the artist's polygons", DIM(P)),
    INDEX(face_indices, SU_I32, 0, 0, DIM(N), 0, "source vertex of each corner of the artist's polygons", DIM(corners)),
    INDEX(source_vertex, SU_I32, 0, 0, DIM(nbar), 0, "skin vertex that each source vertex was welded to", DIM(N)),
    REAL(times, SU_F64, 0, "s", "time of each frame on the clip's own clock, uniform", DIM(F)),
    REAL(params, SU_F64, 0, "rig", "rig parameters of each frame", DIM(F), DIM(s)),
    REAL(uv, SU_F32, SU_FIELD_OPTIONAL, "1", "texture coordinates", DIM(uvs), 2),
    INDEX(uv_indices, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(uvs), 0, "texture coordinate of each polygon corner",
          DIM(corners)),
    INDEX(object_ids, SU_I32, SU_FIELD_OPTIONAL, 0, 0, 0, "object of each source vertex", DIM(N)),
    REAL(object_xform, SU_F64, SU_FIELD_OPTIONAL, "1, m", "transform of each object in the source", DIM(objects), 4, 4),
    REAL(color, SU_F32, SU_FIELD_OPTIONAL, "1", "vertex colour of each source vertex, red green blue alpha", DIM(N), 4),
    REAL(young, SU_F64, SU_FIELD_OPTIONAL, "Pa or 1", "painted Young's modulus, absolute or as a factor", DIM(nbar)),
    REAL(poisson, SU_F64, SU_FIELD_OPTIONAL, "1", "painted Poisson's ratio", DIM(nbar)),
    REAL(morphs, SU_F64, SU_FIELD_OPTIONAL, "m", "blend shapes as offsets of the neutral skin", DIM(K), DIM(nbar), 3),
    REAL(weights, SU_F32, SU_FIELD_OPTIONAL, "1", "skinning weights", DIM(nbar), DIM(B)),
    REAL(bones, SU_F64, SU_FIELD_OPTIONAL, "1, m", "bone to root frame at every frame", DIM(F), DIM(B), 4, 4),
    REAL(bone_rest, SU_F64, SU_FIELD_OPTIONAL, "1, m", "bone to root frame at the neutral pose", DIM(B), 4, 4),
    INDEX(bone_parent, SU_I32, SU_FIELD_OPTIONAL, -1, DIM(B), 0, "parent of each bone, -1 at roots", DIM(B)),
    REAL(bone_segments, SU_F64, SU_FIELD_OPTIONAL, "m", "head and tail of each bone at the neutral pose, root frame",
         DIM(B), 2, 3),
    INDEX(rigid, SU_U8, SU_FIELD_OPTIONAL, 0, 2, 0, "1 where a vertex only follows the rig", DIM(nbar)),
    INDEX(node_parent, SU_I32, SU_FIELD_OPTIONAL, -1, DIM(nodes), 0, "parent of each node of the source, -1 at roots",
          DIM(nodes)),
    REAL(node_rest, SU_F64, SU_FIELD_OPTIONAL, "1, source", "node to its parent in the source's node pose", DIM(nodes),
         4, 4),
    REAL(node_keys, SU_F32, SU_FIELD_OPTIONAL, "1, source",
         "the same at every frame: translation, rotation w x y z, scale", DIM(F), DIM(nodes), 10),
    INDEX(joint_node, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(nodes), 0, "node of each bone, then of joints without weight",
          DIM(joints)),
    REAL(joint_bind, SU_F64, SU_FIELD_OPTIONAL, "1, m", "neutral skin to the node of each joint: inverse bind matrix",
         DIM(joints), 4, 4),
    INDEX(object_node, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(nodes), 0, "node of each object", DIM(objects)),
    INDEX(face_material, SU_I32, SU_FIELD_OPTIONAL, -1, DIM(materials), 0, "material of each polygon, -1: none",
          DIM(P)),
    REAL(material_color, SU_F32, SU_FIELD_OPTIONAL, "1", "base colour of each material, linear red green blue, opacity",
         DIM(materials), 4),
    REAL(material_surface, SU_F32, SU_FIELD_OPTIONAL, "1", "metallic and roughness of each material", DIM(materials),
         2),
    INDEX(face_set_start, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(set_faces), 1, "first entry of each set in face_set_faces",
          DIM(sets1)),
    INDEX(face_set_faces, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(P), 0, "polygons of each set, ascending", DIM(set_faces)),
    REAL(object_frames, SU_F64, SU_FIELD_OPTIONAL, "1, m", "object_xform at every frame, where one moves", DIM(F),
         DIM(objects), 4, 4),
};

/* The node tree of the source is there as a whole, or not at all. */
static su_status check_nodes(const su_anim *anim, const char *path, su_error *err)
{
    int there = !!anim->node_parent + !!anim->node_rest + !!anim->node_keys + !!anim->joint_node + !!anim->joint_bind +
                !!anim->object_node;
    if (there == 0) return SU_OK;
    if (there < 6 || !anim->weights)
        return su_fail(err, SU_INPUT,
                       "%s: of node_parent, node_rest, node_keys, joint_node, joint_bind, object_node and weights some "
                       "are missing",
                       path);
    SU_TRY(su_check_at_least(anim->objects, 1, "objects", path, err));
    SU_TRY(su_check_at_least(anim->B, 1, "bones", path, err));
    SU_TRY(su_check_at_least(anim->joints, anim->B, "joints", path, err));
    for (int64_t i = 0; i < anim->nodes; i++)
        if (anim->node_parent[i] >= i)
            return su_fail(err, SU_INPUT, "%s: 'node_parent' has element %lld before its parent", path, (long long)i);
    for (int64_t i = 0; i < anim->F * anim->nodes; i++) {
        const float *q = anim->node_keys + 10 * i + 3;
        double square = 0.0;
        for (int k = 0; k < 4; k++) square += (double)q[k] * (double)q[k];
        if (!(fabs(square - 1.0) < 1e-3)) /* far above rounding, far below any other mistake */
            return su_fail(err, SU_INPUT, "%s: 'node_keys' has no unit quaternion at element %lld", path,
                           (long long)(10 * i + 3));
    }
    return SU_OK;
}

static su_status check_looks(const su_anim *anim, const char *path, su_error *err)
{
    SU_TRY(su_check_together(!!anim->face_material + !!anim->material_color + !!anim->material_surface, 3,
                             "face_material, material_color and material_surface", path, err));
    SU_TRY(su_check_together(!!anim->face_set_start + !!anim->face_set_faces, 2, "face_set_start and face_set_faces",
                             path, err));
    if (!anim->face_set_start) return SU_OK;
    SU_TRY(su_check_at_least(anim->sets1, 1, "face sets", path, err));
    SU_TRY(su_check_offsets(anim->face_set_start, anim->sets1, anim->set_faces, "face_set_start", path, err));
    for (int64_t i = 0; i + 1 < anim->sets1; i++)
        SU_TRY(su_check_ascending(anim->face_set_faces + anim->face_set_start[i],
                                  anim->face_set_start[i + 1] - anim->face_set_start[i], 1, "face_set_faces", path,
                                  err));
    return SU_OK;
}

static su_status check_anim(const void *object, const char *path, su_error *err)
{
    const su_anim *anim = object;
    SU_TRY(su_check_at_least(anim->F, 1, "frames", path, err));
    SU_TRY(su_check_at_least(anim->nbar, 1, "skin vertices", path, err));
    SU_TRY(su_check_at_least(anim->T, 1, "triangles", path, err));
    SU_TRY(su_check_times(anim->times, anim->F, path, err));
    SU_TRY(su_check_rigid(anim->root, anim->F, "root", path, err));
    int64_t corners = 0;
    for (int64_t i = 0; i < anim->P; i++) corners += anim->face_counts[i];
    if (corners != anim->corners)
        return su_fail(err, SU_INPUT, "%s: 'face_counts' sum to %lld, 'face_indices' has %lld elements", path,
                       (long long)corners, (long long)anim->corners);
    if (anim->uv_indices && !anim->uv) return su_fail(err, SU_INPUT, "%s: 'uv_indices' without 'uv'", path);
    if (anim->object_ids && anim->object_xform) {
        for (int64_t i = 0; i < anim->N; i++)
            if (anim->object_ids[i] >= anim->objects)
                return su_fail(err, SU_INPUT, "%s: 'object_ids' names object %d of %lld", path, anim->object_ids[i],
                               (long long)anim->objects);
    }
    SU_TRY(check_nodes(anim, path, err));
    SU_TRY(check_looks(anim, path, err));
    return anim->bone_parent ? su_check_forest(anim->bone_parent, anim->B, "bone_parent", path, err) : SU_OK;
}

const su_schema su_anim_schema = {
    "supple.anim", 1,           sizeof(su_anim),     fields,     SU_COUNT_OF(fields),
    counts,        count_names, SU_COUNT_OF(counts), check_anim,
};

su_status su_anim_load(const char *path, su_anim *anim, su_error *err)
{
    return su_schema_load(&su_anim_schema, path, anim, err);
}

su_status su_anim_save(const char *path, const su_anim *anim, su_error *err)
{
    return su_schema_save(&su_anim_schema, path, anim, err);
}

void su_anim_free(su_anim *anim) { su_schema_free(&su_anim_schema, anim); }
