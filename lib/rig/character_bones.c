#include "core/order.h"
#include "geometry/affine.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "rig/character_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAKE(arena, pointer, count)                                                                                    \
    do {                                                                                                               \
        (pointer) = su_arena_alloc(arena, count, sizeof *(pointer));                                                   \
        if (!(pointer)) return su_fail(err, SU_AGAIN, "not enough memory for the skeleton");                           \
    } while (0)

/* A bone is a node with a rest; a node that two meshes bind differently is two bones. */
typedef struct bone_list {
    int64_t count;
    int32_t *node;
    double *rest; /* (count,16) mesh bind . inverse(inverse bind) */
} bone_list;

static int64_t find_bone(const bone_list *list, int32_t node, const double rest[16], double tolerance)
{
    for (int64_t i = 0; i < list->count; i++) {
        double worst = 0.0;
        if (list->node[i] != node) continue;
        for (int k = 0; k < 12; k++) {
            double scale = k % 4 == 3 ? 1.0
                                      : 1.0 / fmax(1e-12, fabs(rest[4 * (k / 4)]) + fabs(rest[4 * (k / 4) + 1]) +
                                                              fabs(rest[4 * (k / 4) + 2]));
            worst = fmax(worst, fabs(list->rest[16 * i + k] - rest[k]) * scale / (k % 4 == 3 ? tolerance : 1e-3));
        }
        if (worst <= 1.0) return i;
    }
    return -1;
}

static int64_t add_bone(bone_list *list, int32_t node, const double rest[16], double tolerance)
{
    int64_t found = find_bone(list, node, rest, tolerance);
    if (found >= 0) return found;
    list->node[list->count] = node;
    memcpy(list->rest + 16 * list->count, rest, 16 * sizeof *rest);
    return list->count++;
}

/* Bones in the order of the node tree, so that parents come first; renumber maps old to new. */
static void sort_bones(bone_list *list, int64_t *renumber)
{
    for (int64_t i = 0; i < list->count; i++) {
        renumber[i] = 0;
        for (int64_t j = 0; j < list->count; j++)
            renumber[i] += list->node[j] < list->node[i] || (list->node[j] == list->node[i] && j < i);
    }
}

/* ---- rows ---- */

typedef struct influence {
    int64_t vertex;
    int32_t bone;
    double weight;
} influence;

static int compare_influences(const void *a, const void *b)
{
    const influence *x = a, *y = b;
    if (x->vertex != y->vertex) return x->vertex < y->vertex ? -1 : 1;
    return (x->bone > y->bone) - (x->bone < y->bone);
}

/* Sorted influences to rows that sum to 1. A vertex without weight goes to `home` of its part. */
static su_status build_rows(su_character *c, int64_t count, const influence *in, const int32_t *home,
                            su_source_skin *source, su_arena *scratch, su_error *err)
{
    int64_t *start, k = 0, at = 0;
    int32_t *bone;
    double *weight;
    TAKE(scratch, start, c->N + 1);
    TAKE(scratch, bone, count + c->N);
    TAKE(scratch, weight, count + c->N);
    for (int64_t i = 0; i < c->parts; i++) {
        int64_t last = i + 1 < c->parts ? c->part[i + 1].first : c->N;
        const su_scene_mesh *mesh = &c->scene->mesh[c->part[i].mesh];
        uint8_t *counted = NULL; /* corners of one vertex of the file count once */
        if (mesh->control_point) TAKE(scratch, counted, mesh->control_points);
        for (int64_t v = c->part[i].first; v < last; v++) {
            double sum = 0.0;
            int negative = 0, first = 1;
            if (counted) first = !counted[mesh->control_point[v - c->part[i].first]];
            if (counted) counted[mesh->control_point[v - c->part[i].first]] = 1;
            start[v] = at;
            for (; k < count && in[k].vertex == v; k++) {
                negative |= in[k].weight < 0.0;
                if (!(in[k].weight > 0.0)) continue;
                if (at > start[v] && bone[at - 1] == in[k].bone)
                    weight[at - 1] += in[k].weight;
                else
                    bone[at] = in[k].bone, weight[at++] = in[k].weight;
                sum += in[k].weight;
            }
            c->negative += negative && first;
            if (sum > 0.0) {
                c->normalized += fabs(sum - 1.0) > 1e-3 && first;
                for (int64_t j = start[v]; j < at; j++) weight[j] /= sum;
            } else {
                c->unweighted += first;
                bone[at] = home[i], weight[at++] = 1.0;
            }
        }
    }
    start[c->N] = at;
    source->skin = (su_skin){c->N, start, bone, weight};
    return SU_OK;
}

/* Takes the scale out of a rest: rest . adjust is rigid. */
static void make_rigid(const double rest[16], double rigid[16], double adjust[16])
{
    const double zero[3] = {0, 0, 0};
    double linear[9], r[9], stretch[9], inverse[9], t[3];
    su_affine_linear(rest, linear);
    su_affine_translation(rest, t);
    su_nearest_rotation(linear, r);
    su_tmul33(r, linear, stretch);
    if (su_inverse3(stretch, inverse) == 0.0)
        for (int i = 0; i < 9; i++) inverse[i] = i % 4 == 0;
    su_affine_set(inverse, zero, adjust);
    su_affine_set(r, t, rigid);
}

static su_status keep_bones(su_character *c, const bone_list *list, const int64_t *renumber, su_error *err)
{
    c->B = list->count;
    TAKE(&c->arena, c->bone_names, c->B);
    TAKE(&c->arena, c->bone_node, c->B);
    TAKE(&c->arena, c->bone_parent, c->B);
    TAKE(&c->arena, c->bone_rest, 16 * c->B);
    TAKE(&c->arena, c->bone_adjust, 16 * c->B);
    for (int64_t i = 0; i < c->B; i++) {
        int64_t to = renumber[i];
        c->bone_node[to] = list->node[i];
        c->bone_names[to] = c->scene->node[list->node[i]].name;
        make_rigid(list->rest + 16 * i, c->bone_rest + 16 * to, c->bone_adjust + 16 * to);
    }
    for (int64_t i = 0; i < c->B; i++) {
        c->bone_parent[i] = -1;
        for (int32_t n = c->scene->node[c->bone_node[i]].parent; n >= 0 && c->bone_parent[i] < 0;
             n = c->scene->node[n].parent)
            for (int64_t j = 0; j < i && c->bone_parent[i] < 0; j++)
                if (c->bone_node[j] == n) c->bone_parent[i] = (int32_t)j;
    }
    return SU_OK;
}

su_status su_character_bones(su_character *c, su_source_skin *source, su_arena *scratch, su_error *err)
{
    int64_t most = c->parts, total = c->N, count = 0, *renumber;
    bone_list list = {0};
    influence *in;
    int32_t *home;
    double tolerance = 1e-4 * c->diagonal;
    for (int64_t i = 0; i < c->parts; i++) most += c->scene->mesh[c->part[i].mesh].bones + 1;
    for (int64_t i = 0; i < c->parts; i++) total += c->scene->mesh[c->part[i].mesh].influences;
    TAKE(scratch, list.node, most);
    TAKE(scratch, list.rest, 16 * most);
    TAKE(scratch, renumber, most);
    TAKE(scratch, in, total);
    TAKE(scratch, home, c->parts);
    for (int64_t i = 0; i < c->parts; i++) {
        const su_character_part *part = &c->part[i];
        const su_scene_mesh *mesh = &c->scene->mesh[part->mesh];
        int64_t top = -1;
        for (int64_t b = 0; b < mesh->bones; b++) {
            double rest[16];
            if (mesh->bone[b].count == 0) continue;
            if (su_affine_inverse(mesh->bone[b].inverse_bind, rest) == 0.0)
                return su_fail(err, SU_INPUT, "the bind matrix of joint '%s' cannot be inverted",
                               c->scene->node[mesh->bone[b].node].name);
            su_affine_multiply(part->bind, rest, rest);
            int64_t at = add_bone(&list, mesh->bone[b].node, rest, tolerance);
            if (top < 0 || list.node[at] < list.node[top]) top = at;
            for (int64_t k = mesh->bone[b].first; k < mesh->bone[b].first + mesh->bone[b].count; k++)
                in[count++] =
                    (influence){part->first + mesh->influence_vertex[k], (int32_t)at, mesh->influence_weight[k]};
        }
        if (top < 0) { /* no skin: the node carries it */
            top = add_bone(&list, part->node, part->bind, tolerance);
            for (int64_t v = 0; v < mesh->vertices; v++) in[count++] = (influence){part->first + v, (int32_t)top, 1.0};
        }
        home[i] = (int32_t)top;
    }
    sort_bones(&list, renumber);
    for (int64_t k = 0; k < count; k++) in[k].bone = (int32_t)renumber[in[k].bone];
    for (int64_t i = 0; i < c->parts; i++) home[i] = (int32_t)renumber[home[i]];
    su_sort(in, (size_t)count, sizeof *in, compare_influences);
    SU_TRY(build_rows(c, count, in, home, source, scratch, err));
    return keep_bones(c, &list, renumber, err);
}

/* ---- segments and root ---- */

static int is_below(const su_scene *scene, int32_t node, int32_t above)
{
    while (node > above) node = scene->node[node].parent;
    return node == above;
}

/* The end of a bone: the child joint that carries most of the skin beyond; at the tips the middle of what the bone
 * itself carries, which lies inside the flesh whatever the bone's axes are. */
static void place_segments(su_character *c, const double *carried, const double *centre)
{
    for (int64_t i = 0; i < c->B; i++) {
        double *head = c->bone_segments + 6 * i, *tail = head + 3, most = 0.0;
        int64_t child = -1;
        su_affine_translation(c->bone_rest + 16 * i, head);
        for (int64_t j = i + 1; j < c->B; j++) {
            double beyond = 0.0, there[3];
            if (c->bone_parent[j] != i || !c->bone_deforms[j]) continue;
            for (int64_t k = j; k < c->B; k++)
                if (is_below(c->scene, c->bone_node[k], c->bone_node[j])) beyond += carried[k];
            su_affine_translation(c->bone_rest + 16 * j, there);
            if (beyond > most && su_distance3(head, there) > 1e-3 * c->diagonal) child = j, most = beyond;
        }
        if (child >= 0)
            su_affine_translation(c->bone_rest + 16 * child, tail);
        else
            memcpy(tail, carried[i] > 0.0 ? centre + 3 * i : head, 3 * sizeof(double));
    }
}

/* A node without skinning whose mesh the blend shapes change is where the mesh stands, and no bone: flesh around it
 * would stay there while the skin leaves. Has the character no others? Shapes of a face leave most of a head alone. */
#define SHAPED_SHARE 0.5 /* of a node's vertices are moved by blend shapes */
#define SHAPED_WAY 1e-3  /* of the diagonal, the way that counts */

static bool shapes_move_all(const su_character *c, su_arena *scratch, bool *out)
{
    int64_t *all = su_arena_alloc(scratch, c->B, sizeof *all), *moved = su_arena_alloc(scratch, c->B, sizeof *moved);
    if (!all || !moved) return false;
    *out = c->K > 0;
    for (int64_t i = 0; i < c->parts; i++) *out = *out && c->scene->mesh[c->part[i].mesh].influences == 0;
    for (int64_t v = 0; *out && v < c->nbar; v++) {
        double way = 0.0;
        if (c->skin.start[v] == c->skin.start[v + 1] || (c->rigid && c->rigid[v])) continue;
        for (int64_t k = 0; k < c->K; k++) {
            const double *offset = c->morphs + 3 * (c->nbar * k + v);
            way = fmax(way, su_dot3(offset, offset));
        }
        all[c->skin.bone[c->skin.start[v]]]++;
        moved[c->skin.bone[c->skin.start[v]]] += sqrt(way) > SHAPED_WAY * c->diagonal;
    }
    for (int64_t b = 0; b < c->B; b++) *out = *out && (double)moved[b] >= SHAPED_SHARE * (double)all[b];
    return true;
}

/* Joints that carry nothing: those of skins, and for formats that list only joints with weight what lies between and
 * above the joints of flesh. Readers that make bones of joints (Blender) find the bind pose of a chain only where it
 * has no gap.
 */
static su_status find_links(su_character *c, const su_bind_pose *bind, su_arena *scratch, su_error *err)
{
    const su_scene *scene = c->scene;
    uint8_t *taken, *between;
    TAKE(scratch, taken, scene->nodes);
    TAKE(scratch, between, scene->nodes);
    TAKE(&c->arena, c->linked_node, scene->nodes);
    TAKE(&c->arena, c->linked_rest, 16 * scene->nodes);
    for (int64_t b = 0; b < c->B; b++) taken[c->bone_node[b]] = 1;
    for (int64_t p = 0; p < c->parts; p++) {
        const su_scene_mesh *mesh = &scene->mesh[c->part[p].mesh];
        for (int64_t b = 0; b < mesh->bones; b++) {
            double rest[16];
            int32_t node = mesh->bone[b].node;
            if (taken[node] || su_affine_inverse(mesh->bone[b].inverse_bind, rest) == 0.0) continue;
            su_affine_multiply(c->part[p].bind, rest, c->linked_rest + 16 * c->linked);
            c->linked_node[c->linked++] = node, taken[node] = 1;
        }
    }
    if (strcmp(scene->format, "glTF") == 0) return SU_OK;
    for (int64_t b = 0; b < c->B; b++)
        for (int32_t n = c->bone_node[b]; c->bone_deforms[b] && n >= c->root_node; n = scene->node[n].parent)
            between[n] = 1;
    for (int64_t i = 0; i < scene->instances; i++) between[scene->instance[i].node] = 0;
    for (int64_t n = 1; n < scene->nodes; n++) { /* 0 is the scene itself */
        if (!between[n] || taken[n]) continue;
        su_bind_pose_node(bind, (int32_t)n, c->linked_rest + 16 * c->linked);
        c->linked_node[c->linked++] = (int32_t)n;
    }
    return SU_OK;
}

su_status su_character_skeleton(su_character *c, const su_bind_pose *bind, su_error *err)
{
    const su_scene *scene = c->scene;
    su_arena scratch = {0};
    su_status status = SU_OK;
    double *carried = su_arena_alloc(&scratch, c->B, sizeof *carried);
    double *centre = su_arena_alloc(&scratch, 3 * c->B, sizeof *centre);
    c->bone_segments = su_arena_alloc(&c->arena, 6 * c->B, sizeof *c->bone_segments);
    c->bone_deforms = su_arena_alloc(&c->arena, c->B, 1);
    if (!carried || !centre || !c->bone_segments || !c->bone_deforms) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the skeleton");
        goto done;
    }
    for (int64_t v = 0; v < c->nbar; v++)
        for (int64_t k = c->skin.start[v]; k < c->skin.start[v + 1]; k++) {
            int32_t b = c->skin.bone[k];
            if (c->rigid && c->rigid[v]) continue; /* a bone ends in flesh, not in the sword that its hand holds */
            c->bone_deforms[b] = 1;
            carried[b] += c->skin.weight[k];
            for (int i = 0; i < 3; i++) centre[3 * b + i] += c->skin.weight[k] * c->neutral[3 * v + i];
        }
    for (int64_t b = 0; b < c->B; b++)
        for (int i = 0; i < 3 && carried[b] > 0.0; i++) centre[3 * b + i] /= carried[b];
    place_segments(c, carried, centre);
    bool shaped;
    if (!shapes_move_all(c, &scratch, &shaped)) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the skeleton");
        goto done;
    }
    if (shaped) c->bone_segments = NULL;

    int32_t root = -1;
    for (int64_t b = 0; b < c->B; b++) {
        int32_t n = c->bone_node[b];
        if (!c->bone_deforms[b]) continue;
        if (root < 0) root = n;
        while (root != n) { /* numbers grow downwards, so the larger one climbs */
            if (root > n)
                root = scene->node[root].parent;
            else
                n = scene->node[n].parent;
        }
    }
    double rest[16];
    c->root_node = root;
    su_bind_pose_node(bind, root, rest);
    make_rigid(rest, c->root_rest, c->root_adjust);
    SU_GO(find_links(c, bind, &scratch, err));
    for (int64_t i = 0; i < c->objects; i++)
        for (int64_t p = c->parts - 1; p >= 0; p--)
            if (c->part[p].object == i)
                su_affine_multiply(c->convert, bind->node_pose + 16 * c->part[p].node, c->object_xform + 16 * i);
done:
    su_arena_free(&scratch);
    return status;
}
