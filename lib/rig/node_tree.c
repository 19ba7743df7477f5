#include "rig/node_tree.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/skinning.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define TAKE(arena, pointer, count)                                                                                    \
    do {                                                                                                               \
        (pointer) = su_arena_alloc(arena, count, sizeof *(pointer));                                                   \
        if (!(pointer)) return su_fail(err, SU_AGAIN, "not enough memory for the node tree");                          \
    } while (0)

static bool is_identity(const double m[16])
{
    for (int i = 0; i < 16; i++)
        if (fabs(m[i] - (i % 5 == 0)) > 1e-12) return false; /* rounding of a product of units */
    return true;
}

/* The root that assimp makes where a file has several (glTF) or none of its own (FBX), and that says nothing. */
static bool is_made_up(const su_character *c)
{
    const su_scene *scene = c->scene;
    const su_scene_node *root = &scene->node[0];
    if (strcmp(root->name, "ROOT") != 0 && strcmp(root->name, "RootNode") != 0) return false;
    int64_t children = 0;
    for (int64_t i = 1; i < scene->nodes; i++) children += scene->node[i].parent == 0;
    bool used = children == 0 || !is_identity(root->local);
    for (int64_t i = 0; i < scene->instances; i++) used |= scene->instance[i].node == 0;
    for (int64_t b = 0; b < c->B; b++) used |= c->bone_node[b] == 0;
    for (int64_t i = 0; i < c->linked; i++) used |= c->linked_node[i] == 0;
    for (int64_t k = 0; k < scene->clips; k++)
        for (int64_t i = 0; i < scene->clip[k].channels; i++) used |= scene->clip[k].channel[i].node == 0;
    return !used;
}

su_status su_node_tree_create(const su_character *c, su_arena *arena, su_node_tree *out, su_error *err)
{
    const su_scene *scene = c->scene;
    int64_t skipped = is_made_up(c), converted = !is_identity(c->convert), shift = converted - skipped;
    *out = (su_node_tree){.nodes = scene->nodes + shift};
    TAKE(arena, out->names, out->nodes);
    TAKE(arena, out->parent, out->nodes);
    TAKE(arena, out->rest, 16 * out->nodes);
    TAKE(arena, out->scene_node, out->nodes);
    out->joints = c->B + c->linked;
    TAKE(arena, out->joint_node, out->joints);
    TAKE(arena, out->joint_bind, 16 * out->joints);
    TAKE(arena, out->object_node, c->objects);
    if (converted) {
        out->names[0] = "metres";
        out->parent[0] = out->scene_node[0] = -1;
        memcpy(out->rest, c->convert, sizeof c->convert);
    }
    double *local;
    TAKE(arena, local, 16 * scene->nodes);
    su_scene_local(scene, NULL, 0.0, local);
    for (int64_t i = skipped; i < scene->nodes; i++) {
        const su_scene_node *node = &scene->node[i];
        int64_t to = i + shift;
        bool top = node->parent < skipped;
        out->names[to] = node->name, out->scene_node[to] = (int32_t)i;
        out->parent[to] = top ? (int32_t)converted - 1 : (int32_t)(node->parent + shift);
        memcpy(out->rest + 16 * to, local + 16 * i, sizeof node->local);
    }
    for (int64_t b = 0; b < c->B; b++) { /* bone = node . adjust, and the skin is bound to the bone's rest */
        const double *rest = c->bone_rest + 16 * b;
        double *bind = out->joint_bind + 16 * b;
        out->joint_node[b] = (int32_t)(c->bone_node[b] + shift);
        if (su_affine_inverse(rest, bind) == 0.0) su_affine_identity(bind);
        su_affine_multiply(c->bone_adjust + 16 * b, bind, bind);
    }
    for (int64_t i = 0; i < c->linked; i++) {
        double *bind = out->joint_bind + 16 * (c->B + i);
        out->joint_node[c->B + i] = (int32_t)(c->linked_node[i] + shift);
        if (su_affine_inverse(c->linked_rest + 16 * i, bind) == 0.0) su_affine_identity(bind);
    }
    for (int64_t p = 0; p < c->parts; p++) out->object_node[c->part[p].object] = (int32_t)(c->part[p].node + shift);
    return SU_OK;
}

void su_node_tree_keys(const su_node_tree *tree, const double *local, float *keys)
{
    for (int64_t i = 0; i < tree->nodes; i++, keys += SU_NODE_KEY) {
        const double *m = tree->scene_node[i] < 0 ? tree->rest + 16 * i : local + 16 * tree->scene_node[i];
        double key[SU_NODE_KEY];
        su_affine_split(m, key, key + 3, key + 7);
        for (int k = 0; k < SU_NODE_KEY; k++) keys[k] = (float)key[k];
    }
}
