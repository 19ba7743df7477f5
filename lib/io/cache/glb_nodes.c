#include "io/cache/glb_internal.h"

#include "core/json_text.h"
#include "geometry/affine.h"
#include "geometry/rotation.h"

#include <string.h>

/* Is there anything in the targets at the part's vertices? */
static bool has_flesh(const su_glb *g, const su_cache_part *p)
{
    for (int64_t k = 0; k < g->targets->count; k++)
        for (int64_t v = 0; v < p->vertices; v++) {
            const float *d = g->targets->target + 3 * (k * g->vertices + p->vertex[v]);
            if (d[0] != 0.0f || d[1] != 0.0f || d[2] != 0.0f) return true;
        }
    return false;
}

/* The joint of the part's own node that carries all of it; -1: none does. */
static int64_t carrier_of(const su_glb_skin *skin, const su_cache_part *p)
{
    const su_cache_skin *s = skin->source;
    for (int64_t v = 0; v < p->vertices; v++) {
        int64_t at = s->skin_vertex[p->vertex[v]] * skin->slots;
        if (skin->joint[at] != skin->joint[s->skin_vertex[p->vertex[0]] * skin->slots] || skin->weight[at] != 1.0f)
            return -1;
    }
    int64_t joint = p->vertices ? skin->joint[s->skin_vertex[p->vertex[0]] * skin->slots] : -1;
    return joint >= 0 && s->joint_node[joint] == s->object_node[p->object] ? joint : -1;
}

/* Joints that only carry parts without a skin are none of the skin's. */
static void list_joints(su_glb_writer *w)
{
    const su_glb_skin *skin = w->glb->skin;
    const su_cache_skin *s = skin->source;
    for (int64_t j = 0; j < s->joints; j++) w->slot[j] = 0;
    for (int i = 0; i < w->parts->count; i++)
        if (w->place[i].carrier >= 0) w->slot[w->place[i].carrier] = -1;
    for (int i = 0; i < w->parts->count; i++)
        for (int64_t v = 0; v < w->parts->part[i].vertices && w->place[i].skinned; v++)
            for (int k = 0; k < skin->slots; k++) {
                int64_t at = s->skin_vertex[w->parts->part[i].vertex[v]] * skin->slots + k;
                if (skin->weight[at] > 0.0f) w->slot[skin->joint[at]] = 0;
            }
    bool skinned = false;
    for (int i = 0; i < w->parts->count; i++) skinned |= w->place[i].skinned;
    for (int64_t j = 0; j < s->joints; j++)
        if (w->slot[j] == 0 && skinned)
            w->slot[j] = (int32_t)w->joints++;
        else
            w->slot[j] = -1;
}

static bool is_joint(const su_glb_writer *w, int64_t node)
{
    const su_cache_skin *s = w->glb->skin->source;
    for (int64_t j = 0; j < s->joints; j++)
        if (w->slot[j] >= 0 && s->joint_node[j] == node) return true;
    return false;
}

static su_status add_node(su_glb_writer *w, const char *name, int64_t parent, int64_t *index)
{
    json_t *node = json_pack("{s:o}", "name", su_json_text(name, "node"));
    *index = (int64_t)json_array_size(w->file.nodes);
    w->file.bad |= json_array_append_new(w->file.nodes, node);
    if (parent < 0 || w->file.bad) return w->file.bad ? su_glb_no_memory(&w->file) : SU_OK;
    json_t *above = json_array_get(w->file.nodes, (size_t)parent), *children = json_object_get(above, "children");
    if (!children) {
        w->file.bad |= json_object_set_new(above, "children", json_array());
        children = json_object_get(above, "children");
    }
    w->file.bad |= json_array_append_new(children, json_integer((json_int_t)*index));
    return w->file.bad ? su_glb_no_memory(&w->file) : SU_OK;
}

static void set_numbers(su_glb_writer *w, json_t *node, const char *name, int count, const double *values,
                        const double *without)
{
    bool same = true;
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        same &= (float)values[i] == (float)without[i];
        w->file.bad |= json_array_append_new(list, json_real((double)(float)values[i]));
    }
    if (same)
        json_decref(list);
    else
        w->file.bad |= json_object_set_new(node, name, list);
}

static void set_rest(su_glb_writer *w, json_t *node, const double rest[16], bool matrix)
{
    static const double zero[3] = {0, 0, 0}, one[3] = {1, 1, 1}, still[4] = {0, 0, 0, 1};
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    double t[3], q[4], s[3], columns[16];
    for (int i = 0; i < 16; i++) columns[i] = rest[4 * (i % 4) + i / 4];
    if (matrix) {
        set_numbers(w, node, "matrix", 16, columns, identity);
        return;
    }
    su_affine_split(rest, t, q, s);
    const double turn[4] = {q[1], q[2], q[3], q[0]};
    set_numbers(w, node, "translation", 3, t, zero);
    set_numbers(w, node, "rotation", 4, turn, still);
    set_numbers(w, node, "scale", 3, s, one);
}

su_status su_glb_place_on_tree(su_glb_writer *w)
{
    const su_glb *g = w->glb;
    const su_cache_skin *s = g->skin->source;
    int64_t index;
    for (int i = 0; i < w->parts->count; i++) {
        const su_cache_part *p = &w->parts->part[i];
        su_glb_place *to = &w->place[i];
        to->targets = has_flesh(g, p);
        to->carrier = carrier_of(g->skin, p);
        to->skinned = to->carrier < 0;
    }
    list_joints(w);
    for (int64_t n = 0; n < s->nodes; n++) {
        SU_TRY(add_node(w, s->node_names[n], s->node_parent[n], &index));
        set_rest(w, json_array_get(w->file.nodes, (size_t)index), s->node_rest + 16 * n, g->skin->fixed[n]);
    }
    for (int64_t j = 0; j < s->joints; j++) {
        w->joint_node[j] = s->joint_node[j];
        bool twin = false; /* a node that two meshes bind differently; a list of joints names each node once */
        for (int64_t k = 0; k < j && w->slot[j] >= 0; k++)
            twin |= w->slot[k] >= 0 && s->joint_node[k] == s->joint_node[j];
        if (twin) SU_TRY(add_node(w, s->node_names[s->joint_node[j]], s->joint_node[j], &w->joint_node[j]));
    }
    for (int i = 0; i < w->parts->count; i++) {
        su_glb_place *to = &w->place[i];
        to->node = s->object_node[w->parts->part[i].object];
        json_t *node = json_array_get(w->file.nodes, (size_t)to->node);
        if (json_object_get(node, "mesh") || (to->skinned && is_joint(w, to->node))) {
            /* skinning does not ask where its mesh stands; a carried one stays below its node */
            SU_TRY(add_node(w, w->parts->part[i].name, to->skinned ? -1 : to->node, &to->node));
            node = json_array_get(w->file.nodes, (size_t)to->node);
        }
        w->file.bad |= json_object_set_new(node, "mesh", json_integer(i));
        if (to->skinned) w->file.bad |= json_object_set_new(node, "skin", json_integer(0));
    }
    return SU_OK;
}

su_status su_glb_place_on_root(su_glb_writer *w)
{
    int64_t root;
    SU_TRY(add_node(w, "root", -1, &root));
    for (int i = 0; i < w->parts->count; i++) {
        su_glb_place *to = &w->place[i];
        to->carrier = -1, to->targets = w->glb->targets->count > 0;
        SU_TRY(add_node(w, w->parts->part[i].name, root, &to->node));
        w->file.bad |= json_object_set_new(json_array_get(w->file.nodes, (size_t)to->node), "mesh", json_integer(i));
    }
    return SU_OK;
}

su_status su_glb_put_skin(su_glb_writer *w)
{
    const su_cache_skin *s = w->glb->skin->source;
    json_t *joints = json_array();
    float *data;
    if (w->joints == 0) {
        json_decref(joints);
        return SU_OK;
    }
    int matrices = su_glb_accessor(&w->file, w->joints, 16, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &data);
    for (int64_t j = 0; j < s->joints && matrices >= 0; j++) {
        if (w->slot[j] < 0) continue;
        w->file.bad |= json_array_append_new(joints, json_integer((json_int_t)w->joint_node[j]));
        for (int i = 0; i < 16; i++) /* columns */
            data[16 * w->slot[j] + i] = (float)s->joint_bind[16 * j + 4 * (i % 4) + i / 4];
    }
    w->file.bad |= json_array_append_new(w->file.skins,
                                         json_pack("{s:o, s:i}", "joints", joints, "inverseBindMatrices", matrices));
    return matrices < 0 ? su_glb_no_memory(&w->file) : SU_OK;
}
