#include "io/scene/scene_assimp.h"

#include "core/file.h"
#include "geometry/affine.h"
#include "geometry/looks.h"

#include "io/scene/control_points.h"
#include "io/scene/fbx_curves.h"
#include "io/scene/fbx_deformers.h"

#include <assimp/cimport.h>
#include <assimp/cfileio.h>
#include <assimp/config.h>
#include <assimp/material.h>
#include <assimp/metadata.h>
#include <assimp/scene.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Copies an assimp scene into plain arrays. No post-processing is asked for: it would triangulate, reorder and merge.
 */

typedef struct parser {
    const struct aiScene *ai;
    su_scene *out;
    su_arena *arena;
    const struct aiNode **node; /* (nodes) */
    char *message;
    size_t message_size;
} parser;

static int complain(parser *p, const char *text, const char *name)
{
    snprintf(p->message, p->message_size, "%s%s%s", text, name ? ": " : "", name ? name : "");
    return 1;
}

/* What has no name is called after its number. */
static const char *numbered(parser *p, const char *stem, int64_t number)
{
    char *name = su_arena_alloc(p->arena, 32, 1);
    if (name) snprintf(name, 32, "%s%lld", stem, (long long)number);
    return name ? name : "";
}

static const char *copy_text(parser *p, const struct aiString *text)
{
    char *copy = su_arena_alloc(p->arena, (int64_t)text->length + 1, 1);
    if (!copy) return "";
    memcpy(copy, text->data, text->length);
    return copy;
}

static void copy_matrix(const struct aiMatrix4x4 *m, double out[16])
{
    const ai_real row[16] = {m->a1, m->a2, m->a3, m->a4, m->b1, m->b2, m->b3, m->b4,
                             m->c1, m->c2, m->c3, m->c4, m->d1, m->d2, m->d3, m->d4};
    for (int i = 0; i < 16; i++) out[i] = row[i];
}

/* Scene metadata as a number; fallback where absent. */
static double metadata(const struct aiScene *ai, const char *key, double fallback)
{
    for (unsigned i = 0; ai->mMetaData && i < ai->mMetaData->mNumProperties; i++) {
        const struct aiMetadataEntry *e = &ai->mMetaData->mValues[i];
        if (strcmp(ai->mMetaData->mKeys[i].data, key) != 0 || !e->mData) continue;
        switch (e->mType) {
        case AI_INT32:
            return *(const int32_t *)e->mData;
        case AI_UINT64:
            return (double)*(const uint64_t *)e->mData;
        case AI_FLOAT:
            return (double)*(const float *)e->mData;
        case AI_DOUBLE:
            return *(const double *)e->mData;
        default:
            return fallback;
        }
    }
    return fallback;
}

/* The index of the node of this name, -1 where none or several have it (*several is set). */
static int32_t find_node(const parser *p, const char *name, int *several)
{
    int32_t found = -1;
    for (int64_t i = 0; i < p->out->nodes; i++) {
        if (strcmp(p->out->node[i].name, name) != 0) continue;
        if (found >= 0)
            *several = 1;
        else
            found = (int32_t)i;
    }
    return found;
}

static int64_t count_nodes(const struct aiNode *node, int depth)
{
    int64_t count = 1;
    if (depth > 1000) return INT64_MAX / 4096;
    for (unsigned i = 0; i < node->mNumChildren; i++) count += count_nodes(node->mChildren[i], depth + 1);
    return count;
}

/* assimp splits a node of an FBX with pivots or a pre-rotation into a chain, NAME_$AssimpFbx$_Translation and so on
 * down to NAME: whether this is a link of such a chain above the node of that name. */
static bool is_link_of(const char *link, const char *name, size_t length)
{
    return strncmp(link, name, length) == 0 && strncmp(link + length, SU_ASSIMP_LINK, strlen(SU_ASSIMP_LINK)) == 0;
}

/* FBX's InheritType, which assimp keeps beside what it reads. */
static int32_t inheritance(const struct aiNode *node)
{
    const struct aiMetadata *m = node->mMetaData;
    for (unsigned i = 0; m && i < m->mNumProperties; i++) {
        if (strcmp(m->mKeys[i].data, "InheritType") != 0 || m->mValues[i].mType != AI_INT32 || !m->mValues[i].mData)
            continue;
        return su_fbx_inheritance(*(const int32_t *)m->mValues[i].mData);
    }
    return SU_INHERIT_UNSAID;
}

/* Depth first, so that parents come before their children. */
static void add_node(parser *p, const struct aiNode *node, int32_t parent)
{
    int32_t index = (int32_t)p->out->nodes++;
    p->node[index] = node;
    su_scene_node *out = &p->out->node[index];
    out->name = copy_text(p, &node->mName);
    out->parent = parent;
    if (strcmp(p->out->format, "FBX") == 0) {
        out->inherit = parent < 0 || strstr(out->name, SU_ASSIMP_LINK) ? SU_INHERIT_ALL : inheritance(node);
        size_t length = strlen(out->name);
        for (int32_t up = parent; up >= 0 && is_link_of(p->out->node[up].name, out->name, length);
             up = p->out->node[up].parent)
            out->links++;
    }
    copy_matrix(&node->mTransformation, out->local);
    p->out->instances += node->mNumMeshes;
    for (unsigned i = 0; i < node->mNumChildren; i++) add_node(p, node->mChildren[i], index);
}

static int add_nodes(parser *p)
{
    int64_t count = count_nodes(p->ai->mRootNode, 0);
    if (count > 1000000) return complain(p, "the node tree is too deep or too large", NULL);
    p->out->node = su_arena_alloc(p->arena, count, sizeof *p->out->node);
    p->node = su_arena_alloc(p->arena, count, sizeof *p->node);
    if (!p->out->node || !p->node) return complain(p, "not enough memory", NULL);
    add_node(p, p->ai->mRootNode, -1);
    p->out->instance = su_arena_alloc(p->arena, p->out->instances, sizeof *p->out->instance);
    if (!p->out->instance) return complain(p, "not enough memory", NULL);
    int64_t k = 0;
    for (int64_t i = 0; i < count; i++)
        for (unsigned j = 0; j < p->node[i]->mNumMeshes; j++)
            p->out->instance[k++] = (su_scene_instance){(int32_t)i, (int32_t)p->node[i]->mMeshes[j]};
    return 0;
}

static int add_bones(parser *p, const struct aiMesh *mesh, su_scene_mesh *out)
{
    out->bones = mesh->mNumBones;
    out->bone = su_arena_alloc(p->arena, out->bones, sizeof *out->bone);
    for (unsigned b = 0; b < mesh->mNumBones; b++) out->influences += mesh->mBones[b]->mNumWeights;
    out->influence_vertex = su_arena_alloc(p->arena, out->influences, sizeof(int32_t));
    out->influence_weight = su_arena_alloc(p->arena, out->influences, sizeof(double));
    if (!out->bone || !out->influence_vertex || !out->influence_weight) return complain(p, "not enough memory", NULL);
    int64_t k = 0;
    for (unsigned b = 0; b < mesh->mNumBones; b++) {
        const struct aiBone *bone = mesh->mBones[b];
        int several = 0;
        out->bone[b].node = find_node(p, bone->mName.data, &several);
        if (out->bone[b].node < 0)
            return complain(p,
                            "a skin hangs on a joint that is not in the file; export the skeleton with the mesh, or "
                            "as glTF or FBX",
                            bone->mName.data);
        if (several)
            return complain(p, "several nodes have the name of a bone; give the joints unique names", bone->mName.data);
        copy_matrix(&bone->mOffsetMatrix, out->bone[b].inverse_bind);
        out->bone[b].first = k;
        for (unsigned i = 0; i < bone->mNumWeights; i++) {
            if (bone->mWeights[i].mWeight == 0) continue; /* assimp pads empty bones with a zero weight */
            out->influence_vertex[k] = (int32_t)bone->mWeights[i].mVertexId;
            out->influence_weight[k++] = bone->mWeights[i].mWeight;
        }
        out->bone[b].count = k - out->bone[b].first;
    }
    out->influences = k;
    return 0;
}

static int add_shapes(parser *p, const struct aiMesh *mesh, su_scene_mesh *out)
{
    for (unsigned i = 0; i < mesh->mNumAnimMeshes; i++)
        if (mesh->mAnimMeshes[i]->mVertices && mesh->mAnimMeshes[i]->mNumVertices != mesh->mNumVertices)
            return complain(p, "a blend shape has another number of vertices than its mesh", mesh->mName.data);
    int64_t n = out->vertices;
    out->shapes = mesh->mNumAnimMeshes;
    out->shape_names = su_arena_alloc(p->arena, out->shapes, sizeof *out->shape_names);
    out->shape_defaults = su_arena_alloc(p->arena, out->shapes, sizeof(double));
    out->shape_positions = su_arena_alloc(p->arena, 3 * n * out->shapes, sizeof(double));
    if (!out->shape_names || !out->shape_defaults || !out->shape_positions)
        return complain(p, "not enough memory", NULL);
    for (int64_t i = 0; i < out->shapes; i++) {
        const struct aiAnimMesh *shape = mesh->mAnimMeshes[i];
        out->shape_names[i] = copy_text(p, &shape->mName);
        if (!out->shape_names[i][0]) out->shape_names[i] = numbered(p, "shape", i);
        out->shape_defaults[i] = shape->mWeight;
        /* A shape that changes only normals has no positions of its own. */
        const struct aiVector3D *v = shape->mVertices ? shape->mVertices : mesh->mVertices;
        for (int64_t k = 0; k < n; k++) {
            double *to = out->shape_positions + 3 * (n * i + k);
            to[0] = v[k].x, to[1] = v[k].y, to[2] = v[k].z;
        }
    }
    return 0;
}

/* What a mesh has beside its first texture coordinates and colours. */
static void name_unread(parser *p, const struct aiMesh *mesh)
{
    char text[32];
    for (int k = 1; k < AI_MAX_NUMBER_OF_TEXTURECOORDS; k++) {
        if (!mesh->mTextureCoords[k]) continue;
        const struct aiString *name = mesh->mTextureCoordsNames ? mesh->mTextureCoordsNames[k] : NULL;
        snprintf(text, sizeof text, "UV %d", k + 1);
        su_name_list_add(&p->out->unread, name && name->length ? name->data : text);
    }
    for (int k = 1; k < AI_MAX_NUMBER_OF_COLOR_SETS; k++) {
        if (!mesh->mColors[k]) continue;
        snprintf(text, sizeof text, "colours %d", k + 1);
        su_name_list_add(&p->out->unread, text);
    }
}

static int add_mesh(parser *p, const struct aiMesh *mesh, su_scene_mesh *out)
{
    int64_t n = mesh->mNumVertices, corners = 0, polygons = 0;
    for (unsigned i = 0; i < mesh->mNumFaces; i++)
        if (mesh->mFaces[i].mNumIndices >= 3) polygons++, corners += mesh->mFaces[i].mNumIndices;
    out->name = copy_text(p, &mesh->mName);
    name_unread(p, mesh);
    out->vertices = n, out->polygons = polygons, out->corners = corners;
    out->positions = su_arena_alloc(p->arena, 3 * n, sizeof(double));
    out->face_counts = su_arena_alloc(p->arena, polygons, sizeof(int32_t));
    out->face_indices = su_arena_alloc(p->arena, corners, sizeof(int32_t));
    if (mesh->mTextureCoords[0]) out->uv = su_arena_alloc(p->arena, 2 * n, sizeof(float));
    if (mesh->mColors[0]) out->color = su_arena_alloc(p->arena, 4 * n, sizeof(float));
    if (!out->positions || !out->face_counts || !out->face_indices || (mesh->mTextureCoords[0] && !out->uv) ||
        (mesh->mColors[0] && !out->color))
        return complain(p, "not enough memory", NULL);
    if (n > 0 && !mesh->mVertices) return complain(p, "a mesh has no positions", out->name);
    for (int64_t i = 0; i < n; i++) {
        out->positions[3 * i] = mesh->mVertices[i].x;
        out->positions[3 * i + 1] = mesh->mVertices[i].y;
        out->positions[3 * i + 2] = mesh->mVertices[i].z;
        if (out->uv) out->uv[2 * i] = mesh->mTextureCoords[0][i].x, out->uv[2 * i + 1] = mesh->mTextureCoords[0][i].y;
        if (out->color) {
            const struct aiColor4D *c = &mesh->mColors[0][i];
            out->color[4 * i] = c->r, out->color[4 * i + 1] = c->g;
            out->color[4 * i + 2] = c->b, out->color[4 * i + 3] = c->a;
        }
    }
    if (mesh->mMaterialIndex < (unsigned)p->out->materials &&
        strcmp(p->out->material[mesh->mMaterialIndex].name, AI_DEFAULT_MATERIAL_NAME) !=
            0) { /* that of assimp is none */
        out->face_material = su_arena_alloc(p->arena, polygons, sizeof(int32_t));
        if (!out->face_material) return complain(p, "not enough memory", NULL);
        for (int64_t i = 0; i < polygons; i++) out->face_material[i] = (int32_t)mesh->mMaterialIndex;
    }
    int64_t f = 0, k = 0;
    for (unsigned i = 0; i < mesh->mNumFaces; i++) {
        if (mesh->mFaces[i].mNumIndices < 3) continue; /* points and lines carry no skin */
        out->face_counts[f++] = (int32_t)mesh->mFaces[i].mNumIndices;
        for (unsigned j = 0; j < mesh->mFaces[i].mNumIndices; j++)
            out->face_indices[k++] = (int32_t)mesh->mFaces[i].mIndices[j];
    }
    if (add_bones(p, mesh, out)) return 1;
    return add_shapes(p, mesh, out);
}

/* ---- materials ---- */

static float material_number(const struct aiMaterial *from, const char *key, float fallback)
{
    ai_real value;
    unsigned count = 1;
    if (aiGetMaterialFloatArray(from, key, 0, 0, &value, &count) != aiReturn_SUCCESS || !isfinite(value))
        return fallback;
    return (float)(value < 0 ? 0 : value > 1 ? 1 : value);
}

static int add_materials(parser *p)
{
    p->out->materials = p->ai->mNumMaterials;
    p->out->material = su_arena_alloc(p->arena, p->out->materials, sizeof *p->out->material);
    if (!p->out->material) return complain(p, "not enough memory", NULL);
    for (int64_t i = 0; i < p->out->materials; i++) {
        const struct aiMaterial *from = p->ai->mMaterials[i];
        su_scene_material *to = &p->out->material[i];
        struct aiString name;
        struct aiColor4D color = {(ai_real)SU_MATERIAL_GREY, (ai_real)SU_MATERIAL_GREY, (ai_real)SU_MATERIAL_GREY, 1};
        to->name = aiGetMaterialString(from, AI_MATKEY_NAME, &name) == aiReturn_SUCCESS ? copy_text(p, &name) : "";
        if (!to->name[0]) to->name = numbered(p, "material", i);
        (void)aiGetMaterialColor(from, AI_MATKEY_COLOR_DIFFUSE, &color);
        const ai_real rgb[3] = {color.r, color.g, color.b};
        for (int k = 0; k < 3; k++) to->color[k] = isfinite(rgb[k]) ? (float)rgb[k] : SU_MATERIAL_GREY;
        to->color[3] = material_number(from, "$mat.opacity", 1.0f);
        to->surface[0] = material_number(from, "$mat.metallicFactor", 0.0f);
        to->surface[1] = material_number(from, "$mat.roughnessFactor", SU_MATERIAL_ROUGHNESS);
    }
    return 0;
}

/* ---- clips ---- */

static double *copy_vector_keys(parser *p, unsigned count, const struct aiVectorKey *key, double seconds,
                                double **times)
{
    double *value = su_arena_alloc(p->arena, 3 * (int64_t)count, sizeof *value);
    *times = su_arena_alloc(p->arena, count, sizeof **times);
    for (unsigned i = 0; value && *times && i < count; i++) {
        (*times)[i] = key[i].mTime * seconds;
        value[3 * i] = key[i].mValue.x, value[3 * i + 1] = key[i].mValue.y, value[3 * i + 2] = key[i].mValue.z;
    }
    return value;
}

static void add_channel(parser *p, const struct aiNodeAnim *from, double seconds, su_scene_channel *to)
{
    to->translations = from->mNumPositionKeys;
    to->translation = copy_vector_keys(p, from->mNumPositionKeys, from->mPositionKeys, seconds, &to->translation_times);
    to->scales = from->mNumScalingKeys;
    to->scale = copy_vector_keys(p, from->mNumScalingKeys, from->mScalingKeys, seconds, &to->scale_times);
    to->rotations = from->mNumRotationKeys;
    to->rotation = su_arena_alloc(p->arena, 4 * to->rotations, sizeof *to->rotation);
    to->rotation_times = su_arena_alloc(p->arena, to->rotations, sizeof *to->rotation_times);
    for (int64_t i = 0; to->rotation && to->rotation_times && i < to->rotations; i++) {
        const struct aiQuaternion *q = &from->mRotationKeys[i].mValue;
        double v[4] = {q->w, q->x, q->y, q->z};
        double norm = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]);
        to->rotation_times[i] = from->mRotationKeys[i].mTime * seconds;
        for (int c = 0; c < 4; c++) to->rotation[4 * i + c] = norm > 0.0 ? v[c] / norm : c == 0;
    }
}

/* assimp names the channel after the node or after the mesh, the latter with "*N" behind (FBX). */
static int32_t morph_node(const parser *p, const char *name)
{
    char base[sizeof(struct aiString)];
    int ignored = 0;
    snprintf(base, sizeof base, "%s", name);
    int32_t node = find_node(p, base, &ignored);
    char *star = strrchr(base, '*');
    if (node < 0 && star) {
        *star = '\0';
        node = find_node(p, base, &ignored);
    }
    for (int64_t i = 0; node < 0 && i < p->out->instances; i++)
        if (strcmp(p->ai->mMeshes[p->out->instance[i].mesh]->mName.data, base) == 0) node = p->out->instance[i].node;
    return node;
}

/* Weights that a key does not say lie on the line between those that the keys around it say; NaN: none says any. */
static void fill_weights(su_scene_morph_channel *c, int64_t shape)
{
    int64_t before = -1; /* the last key that says one */
    double *w = c->weights + shape;
    for (int64_t i = 0; i < c->keys; i++) {
        if (isnan(w[i * c->shapes])) continue;
        for (int64_t k = before + 1; k < i; k++) {
            double t = before < 0 ? 1.0 : (c->times[k] - c->times[before]) / (c->times[i] - c->times[before]);
            w[k * c->shapes] = before < 0 ? w[i * c->shapes] : (1.0 - t) * w[before * c->shapes] + t * w[i * c->shapes];
        }
        before = i;
    }
    for (int64_t k = before + 1; before >= 0 && k < c->keys; k++) w[k * c->shapes] = w[before * c->shapes];
}

static void add_morph_channel(parser *p, const struct aiMeshMorphAnim *from, double seconds, su_scene_morph_channel *to)
{
    to->keys = from->mNumKeys;
    for (unsigned i = 0; i < from->mNumKeys; i++)
        for (unsigned j = 0; j < from->mKeys[i].mNumValuesAndWeights; j++)
            if (from->mKeys[i].mValues[j] < 65535 && (int64_t)from->mKeys[i].mValues[j] >= to->shapes)
                to->shapes = (int64_t)from->mKeys[i].mValues[j] + 1;
    to->times = su_arena_alloc(p->arena, to->keys, sizeof *to->times);
    to->weights = su_arena_alloc(p->arena, to->keys * to->shapes, sizeof *to->weights);
    if (!to->times || !to->weights) return;
    for (int64_t i = 0; i < to->keys * to->shapes; i++) to->weights[i] = NAN;
    for (int64_t i = 0; i < to->keys; i++) {
        const struct aiMeshMorphKey *key = &from->mKeys[i];
        to->times[i] = key->mTime * seconds;
        for (unsigned j = 0; j < key->mNumValuesAndWeights; j++)
            if ((int64_t)key->mValues[j] < to->shapes) to->weights[i * to->shapes + key->mValues[j]] = key->mWeights[j];
    }
    for (int64_t s = 0; s < to->shapes; s++) fill_weights(to, s);
}

static int add_clip(parser *p, const struct aiAnimation *from, su_scene_clip *clip)
{
    /* FBX comes in frames, with the rate said; 0 means not said: assimp's own default is 25. */
    double seconds = 1.0 / (from->mTicksPerSecond > 0.0 ? from->mTicksPerSecond : 25.0);
    clip->name = copy_text(p, &from->mName);
    if (!clip->name[0]) clip->name = numbered(p, "clip", clip - p->out->clip + 1);
    clip->channel = su_arena_alloc(p->arena, from->mNumChannels, sizeof *clip->channel);
    clip->morph_channel = su_arena_alloc(p->arena, from->mNumMorphMeshChannels, sizeof *clip->morph_channel);
    if (!clip->channel || !clip->morph_channel) return complain(p, "not enough memory", NULL);
    for (unsigned i = 0; i < from->mNumChannels; i++) {
        su_scene_channel *c = &clip->channel[clip->channels];
        int several = 0;
        c->node = find_node(p, from->mChannels[i]->mNodeName.data, &several);
        if (c->node < 0) continue; /* it moves nothing */
        if (several)
            return complain(p, "several nodes have the name of an animated node; give them unique names",
                            from->mChannels[i]->mNodeName.data);
        add_channel(p, from->mChannels[i], seconds, c);
        if (p->arena->failed) return complain(p, "not enough memory", NULL);
        clip->channels++;
    }
    for (unsigned i = 0; i < from->mNumMorphMeshChannels; i++) {
        su_scene_morph_channel *c = &clip->morph_channel[clip->morph_channels];
        c->node = morph_node(p, from->mMorphMeshChannels[i]->mName.data);
        if (c->node < 0 || from->mMorphMeshChannels[i]->mNumKeys == 0) continue;
        add_morph_channel(p, from->mMorphMeshChannels[i], seconds, c);
        if (!c->weights || !c->times) return complain(p, "not enough memory", NULL);
        clip->morph_channels++;
    }
    return su_scene_measure_clip(clip, p->arena) ? complain(p, "not enough memory", NULL) : 0;
}

/* assimp animates the links of a chain where there are pivots; but where there are only pre- and post-rotations
 * (Maya's joint orient) the channel moves NAME by all of it, and would come on top of what the links say. Such a
 * chain gives its transform to its last node. */
static void collapse_chains(parser *p)
{
    for (int64_t c = 0; c < p->out->clips; c++)
        for (int64_t k = 0; k < p->out->clip[c].channels; k++) {
            su_scene_node *node = &p->out->node[p->out->clip[c].channel[k].node];
            int32_t links = node->links;
            for (int32_t up = node->parent; links > 0; up = p->out->node[up].parent, links--) {
                su_scene_node *link = &p->out->node[up];
                su_affine_multiply(link->local, node->local, node->local);
                su_affine_identity(link->local);
            }
        }
}

/* ---- repeated names of an FBX ---- */

/* Gives the nodes back the names that they have in the file: NAME and its links NAME_$AssimpFbx$_... */
static void restore_names(parser *p, int64_t count, const su_fbx_name *names)
{
    for (int64_t i = 0; i < p->out->nodes; i++)
        for (int64_t k = 0; k < count; k++) {
            const char *old = p->out->node[i].name, *tail = old + names[k].length;
            if (strncmp(old, names[k].place, names[k].length) != 0 ||
                (*tail && strncmp(tail, SU_ASSIMP_LINK, strlen(SU_ASSIMP_LINK)) != 0))
                continue;
            size_t room = names[k].length + strlen(tail) + 1;
            char *name = su_arena_alloc(p->arena, (int64_t)room, 1);
            if (name) snprintf(name, room, "%s%s", names[k].name, tail);
            if (name) p->out->node[i].name = name;
            break;
        }
}

/* ---- the whole ---- */

static void read_conventions(parser *p, const char *path)
{
    const char *dot = strrchr(path, '.');
    su_scene *out = p->out;
    out->format = "other", out->unit = 0.0, out->up = -1;
    if (dot && strcasecmp(dot, ".fbx") == 0) {
        out->format = "FBX";
        out->unit = 0.01 * metadata(p->ai, "UnitScaleFactor", 1.0);
        out->up = (int32_t)metadata(p->ai, "UpAxis", 1.0);
        out->frame_rate = su_fbx_rate(metadata(p->ai, "FrameRate", 0.0), metadata(p->ai, "CustomFrameRate", 0.0));
    } else if (dot && strcasecmp(dot, ".dae") == 0) {
        out->format = "Collada", out->unit = 1.0,
        out->up = 1; /* assimp turns the root node to y up and scales it to metres */
    }
    if (!(out->unit >= 0.0 && isfinite(out->unit))) out->unit = 0.0;
    if (out->up < 0 || out->up > 2) out->up = -1;
    if (!(out->frame_rate > 0.0 && isfinite(out->frame_rate))) out->frame_rate = 0.0;
}

static int copy_scene(parser *p, const char *path)
{
    su_scene *scene = p->out;
    read_conventions(p, path);
    if (add_nodes(p) || add_materials(p)) return 1;
    scene->meshes = p->ai->mNumMeshes;
    scene->mesh = su_arena_alloc(p->arena, scene->meshes, sizeof *scene->mesh);
    if (!scene->mesh) return complain(p, "not enough memory", NULL);
    for (int64_t i = 0; i < scene->meshes; i++)
        if (add_mesh(p, p->ai->mMeshes[i], &scene->mesh[i])) return 1;
    scene->clips = p->ai->mNumAnimations;
    scene->clip = su_arena_alloc(p->arena, scene->clips, sizeof *scene->clip);
    if (!scene->clip) return complain(p, "not enough memory", NULL);
    for (int64_t i = 0; i < scene->clips; i++)
        if (add_clip(p, p->ai->mAnimations[i], &scene->clip[i])) return 1;
    if (strcmp(scene->format, "FBX") == 0) collapse_chains(p);
    return 0;
}

/* ---- files for assimp, which takes one that cannot be read to its end for one that ends there ---- */

typedef struct opened {
    struct aiFile file;
    FILE *stream;
    su_arena *arena; /* fails where reading did */
} opened;

static opened *of(struct aiFile *file) { return (opened *)(void *)file->UserData; }

static size_t read_part(struct aiFile *file, char *out, size_t size, size_t count)
{
    size_t got = fread(out, size, count, of(file)->stream);
    if (ferror(of(file)->stream)) of(file)->arena->failed = true;
    return got;
}

static size_t write_nothing(struct aiFile *file, const char *bytes, size_t size, size_t count)
{
    (void)file, (void)bytes, (void)size, (void)count;
    return 0;
}

static size_t place(struct aiFile *file)
{
    long at = ftell(of(file)->stream);
    return at < 0 ? 0 : (size_t)at;
}

static aiReturn go_to(struct aiFile *file, size_t offset, enum aiOrigin origin)
{
    int whence = origin == aiOrigin_SET ? SEEK_SET : origin == aiOrigin_CUR ? SEEK_CUR : SEEK_END;
    return fseek(of(file)->stream, (long)offset, whence) == 0 ? aiReturn_SUCCESS : aiReturn_FAILURE;
}

static size_t length_of(struct aiFile *file)
{
    struct stat about;
    return fstat(fileno(of(file)->stream), &about) == 0 ? (size_t)about.st_size : 0;
}

static void flush_nothing(struct aiFile *file) { (void)file; }

static struct aiFile *open_file(struct aiFileIO *io, const char *path, const char *mode)
{
    su_arena *arena = (su_arena *)(void *)io->UserData;
    FILE *stream = mode[0] == 'r' ? fopen(path, "rb") : NULL;
    opened *made = stream ? calloc(1, sizeof *made) : NULL;
    if (!made && su_file_status(errno, SU_INPUT) == SU_AGAIN) arena->failed = true;
    if (!made && stream) fclose(stream);
    if (!made) return NULL;
    *made = (opened){.file = {.ReadProc = read_part,
                              .WriteProc = write_nothing,
                              .TellProc = place,
                              .FileSizeProc = length_of,
                              .SeekProc = go_to,
                              .FlushProc = flush_nothing,
                              .UserData = (char *)made},
                     .stream = stream,
                     .arena = arena};
    return &made->file;
}

static void close_file(struct aiFileIO *io, struct aiFile *file)
{
    (void)io;
    fclose(of(file)->stream);
    free(of(file));
}

int su_assimp_scene(const char *path, su_scene *scene, char *message, size_t message_size)
{
    parser p = {.out = scene, .arena = &scene->arena, .message = message, .message_size = message_size};
    const char *dot = strrchr(path, '.');
    su_fbx_name *names = NULL;
    int64_t repeats = 0;
    size_t size = 0, sampled_size = 0;
    const char *file = dot && strcasecmp(dot, ".fbx") == 0 ? su_fbx_file(path, scene, &size) : NULL;
    char *data = file ? su_arena_alloc(&scene->arena, (int64_t)size + 1, 1) : NULL, *sampled = data; /* for assimp */
    if (data) {
        memcpy(data, file, size);
        repeats = su_fbx_unique_names(data, size, &scene->arena, &names);
        su_fbx_drop_links(data, size, &scene->arena);
        su_fbx_unsay_ranges(data, size, &scene->arena);
        sampled_size = size;
        sampled = su_fbx_sample_curves(data, &sampled_size, &scene->arena);
        if (!sampled) return complain(&p, "not enough memory", NULL);
    }
    struct aiFileIO files = {.OpenProc = open_file, .CloseProc = close_file, .UserData = (char *)&scene->arena};
    struct aiPropertyStore *store = aiCreatePropertyStore();
    if (!store) scene->arena.failed = true;
    if (!store) return complain(&p, "not enough memory", NULL);
    aiSetImportPropertyInteger(store, AI_CONFIG_IMPORT_REMOVE_EMPTY_BONES, 0); /* what hangs on them belongs to us */
    aiSetImportPropertyInteger(store, AI_CONFIG_IMPORT_NO_SKELETON_MESHES, 1); /* no skin made up for motions (BVH) */
    if (sampled && sampled_size <= UINT32_MAX)
        p.ai = aiImportFileFromMemoryWithProperties(sampled, (unsigned)sampled_size, 0, "fbx", store);
    else
        p.ai = aiImportFileExWithProperties(path, 0, &files, store);
    aiReleasePropertyStore(store);
    if (!p.ai || !p.ai->mRootNode) complain(&p, p.ai ? "the file holds no scene" : aiGetErrorString(), NULL);
    int failed = !p.ai || !p.ai->mRootNode || copy_scene(&p, path);
    if (failed) { /* what assimp has of it goes below */
    } else if (strcmp(scene->format, "FBX") == 0) {
        if (file) su_fbx_control_points(file, size, scene);
        if (file) su_fbx_clip_times(file, size, scene);
        failed = su_fbx_complete(scene, data, size) && complain(&p, "not enough memory", NULL);
        restore_names(&p, repeats, names);
    }
    if (p.ai) aiReleaseImport(p.ai);
    if (failed) return 1;
    su_scene_settle_weights(scene);
    if (strcmp(scene->format, "Collada") == 0) su_collada_control_points(path, scene);
    return 0;
}
