#include "rig/borrowed_clip.h"

#include "core/order.h"
#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/human_bones.h"
#include "rig/parent_turn.h"
#include "rig/retarget.h"
#include "rig/same_names.h"
#include "rig/skinning.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char LINK[] = "_$AssimpFbx$_";

static bool is_link(const char *name) { return strstr(name, LINK) != NULL; }

/* The first node of the chain that ends in a node: itself where it has no links. */
static int32_t chain_top(const su_scene *scene, int32_t node)
{
    size_t length = strlen(scene->node[node].name);
    int32_t top = node;
    for (int32_t up = scene->node[node].parent; up >= 0; top = up, up = scene->node[up].parent)
        if (strncmp(scene->node[up].name, scene->node[node].name, length) != 0 ||
            strncmp(scene->node[up].name + length, LINK, strlen(LINK)) != 0)
            break;
    return top;
}

/* Node pose of a whole chain in its parent. */
static void chain_local(const su_scene *scene, int32_t node, int32_t top, double local[16])
{
    memcpy(local, scene->node[node].local, 16 * sizeof *local);
    for (int32_t up = node; up != top;) {
        up = scene->node[up].parent;
        su_affine_multiply(scene->node[up].local, local, local);
    }
}

/* The chain becomes its last node. */
static void join_chain(su_scene *scene, int32_t node)
{
    double local[16];
    int32_t top = chain_top(scene, node);
    chain_local(scene, node, top, local);
    for (int32_t up = node; up != top;) su_affine_identity(scene->node[up = scene->node[up].parent].local);
    memcpy(scene->node[node].local, local, sizeof local);
}

/* The node of the scene that a node of `from` means; -1: none. h: NULL where names are the same. */
static int32_t find_twin(const su_scene *from, int32_t node, const su_scene *scene, const su_same_names *h)
{
    const char *name = from->node[node].name;
    int64_t before = 0;
    int32_t plain = -1, several = 0;
    for (int32_t i = 0; i < node; i++) before += strcmp(from->node[i].name, name) == 0;
    for (int32_t i = 0; i < scene->nodes; i++) {
        if (!h && strcmp(scene->node[i].name, name) == 0 && before-- == 0) return i;
        if (su_names_are_same(h, name, scene->node[i].name)) several += plain >= 0, plain = i;
    }
    return several ? -1 : plain;
}

static const su_scene_channel *channel_of(const su_scene_clip *clip, int32_t node)
{
    for (int64_t i = 0; i < clip->channels; i++)
        if (clip->channel[i].node == node) return &clip->channel[i];
    return NULL;
}

static bool moves(const su_scene *from, const su_scene_clip *clip, int32_t node, int32_t top)
{
    for (int32_t up = node;; up = from->node[up].parent) {
        if (channel_of(clip, up)) return true;
        if (up == top) return false;
    }
}

/* ---- tracks as they are ---- */

static double *copy_numbers(su_arena *arena, int64_t count, const double *numbers, double factor)
{
    double *out = su_arena_alloc(arena, count, sizeof *out);
    for (int64_t i = 0; out && i < count; i++) out[i] = factor * numbers[i];
    return out;
}

static void copy_channel(su_arena *arena, const su_scene_channel *c, double unit, int32_t node, su_scene_channel *out)
{
    *out = *c;
    out->node = node;
    out->translation_times = copy_numbers(arena, c->translations, c->translation_times, 1.0);
    out->rotation_times = copy_numbers(arena, c->rotations, c->rotation_times, 1.0);
    out->scale_times = copy_numbers(arena, c->scales, c->scale_times, 1.0);
    out->translation =
        copy_numbers(arena, 3 * c->translations * su_key_values(c->translation_mode), c->translation, unit);
    out->rotation = copy_numbers(arena, 4 * c->rotations * su_key_values(c->rotation_mode), c->rotation, 1.0);
    out->scale = copy_numbers(arena, 3 * c->scales * su_key_values(c->scale_mode), c->scale, 1.0);
}

/* ---- chains: a key of the whole at every key of a part ---- */

typedef struct keys {
    int64_t count;
    double *times;
} keys;

static int64_t gather(const su_scene *from, const su_scene_clip *clip, int32_t node, int32_t top, double *times)
{
    int64_t count = 0;
    for (int32_t up = node;; up = from->node[up].parent) {
        const su_scene_channel *c = channel_of(clip, up);
        if (c && times) {
            memcpy(times + count, c->translation_times, (size_t)c->translations * sizeof *times);
            memcpy(times + count + c->translations, c->rotation_times, (size_t)c->rotations * sizeof *times);
            memcpy(times + count + c->translations + c->rotations, c->scale_times, (size_t)c->scales * sizeof *times);
        }
        if (c) count += c->translations + c->rotations + c->scales;
        if (up == top) return count;
    }
}

/* Nodes of another file, from `top` down to `node`, that stand for one node here. */
typedef struct chain {
    const su_scene *from;
    const su_scene_clip *clip;
    int32_t node, top;
    double unit;   /* m of one of its lengths */
    double *world; /* (nodes,4,4) scratch */
} chain;

/* The channel of node `to`: where the chain's end stands under what is above its top, at every key of the chain. */
static su_status bake_channel(su_arena *arena, const chain *of, int32_t to, su_scene_channel *out, su_error *err)
{
    const su_scene *from = of->from;
    const su_scene_clip *clip = of->clip;
    int32_t node = of->node, top = of->top;
    double unit = of->unit, *world = of->world;
    keys k = {.count = gather(from, clip, node, top, NULL)};
    int64_t all = k.count;
    k.times = su_arena_alloc(arena, all, sizeof *k.times);
    double *translation = su_arena_alloc(arena, 3 * all, sizeof(double)),
           *rotation = su_arena_alloc(arena, 4 * all, sizeof(double)),
           *scale = su_arena_alloc(arena, 3 * all, sizeof(double));
    if (!k.times || !translation || !rotation || !scale) return su_fail(err, SU_AGAIN, "not enough memory for a clip");
    gather(from, clip, node, top, k.times);
    su_sort(k.times, (size_t)all, sizeof *k.times, su_order_doubles);
    k.count = 0;
    for (int64_t i = 0; i < all; i++)
        if (i == 0 || k.times[i] > k.times[k.count - 1]) k.times[k.count++] = k.times[i];
    for (int64_t i = 0; i < k.count; i++) {
        double local[16], linear[9], r[9];
        su_scene_pose(from, clip, k.times[i], world);
        su_node_in(world, from->node[top].parent, node, local);
        su_affine_linear(local, linear);
        for (int j = 0; j < 3; j++) {
            translation[3 * i + j] = unit * local[4 * j + 3];
            scale[3 * i + j] =
                sqrt(linear[j] * linear[j] + linear[3 + j] * linear[3 + j] + linear[6 + j] * linear[6 + j]);
        }
        if (su_det3(linear) < 0.0) scale[3 * i] = -scale[3 * i];
        for (int j = 0; j < 9; j++) r[j] = scale[3 * i + j % 3] != 0.0 ? linear[j] / scale[3 * i + j % 3] : j % 4 == 0;
        su_quaternion_of(r, rotation + 4 * i);
    }
    *out = (su_scene_channel){.node = to,
                              .translations = k.count,
                              .rotations = k.count,
                              .scales = k.count,
                              .translation_times = k.times,
                              .rotation_times = k.times,
                              .scale_times = k.times,
                              .translation = translation,
                              .rotation = rotation,
                              .scale = scale};
    return SU_OK;
}

/* ---- the whole ---- */

/* Metres a unit of what stands in a node: the file's, and the scale of all above. world: of the node pose. */
static double metres_in(const su_scene *scene, const double *world, int32_t node)
{
    double linear[9], unit = scene->unit > 0.0 ? scene->unit : 1.0;
    if (node < 0) return unit;
    su_affine_linear(world + 16 * node, linear);
    return unit * cbrt(fabs(su_det3(linear)));
}

/* How far apart two joints stand in their parents (there in units of its own, here), over the larger distance to them.
 */
static double apart(const double there[3], const double here[3], double unit)
{
    double scaled[3];
    for (int i = 0; i < 3; i++) scaled[i] = unit * there[i];
    double size = fmax(su_norm3(scaled), su_norm3(here));
    return size > 0.0 ? su_distance3(scaled, here) / size : 0.0;
}

static void copy_morphs(const su_scene *from, const su_scene_clip *clip, su_scene *scene, const su_same_names *h,
                        su_scene_clip *out)
{
    for (int64_t i = 0; i < clip->morph_channels; i++) {
        const su_scene_morph_channel *c = &clip->morph_channel[i];
        int32_t node = find_twin(from, c->node, scene, h);
        if (node < 0) continue;
        su_scene_morph_channel *to = &out->morph_channel[out->morph_channels++];
        *to = *c;
        to->node = node;
        to->times = copy_numbers(&scene->arena, c->keys, c->times, 1.0);
        to->weights = copy_numbers(&scene->arena, c->keys * c->shapes * su_key_values(c->mode), c->weights, 1.0);
    }
}

/* A node that the clip moves, and the one that it means. */
typedef struct pair {
    int32_t node, top, to, first; /* top, first: of their chains; to -1: none */
    double unit;                  /* units there in units here, by what both files say */
    bool carried;                 /* by another joint that the clip moves */
    bool turned;                  /* its parent there is turned against the one here: by turn */
    double turn[9];
    double apart[2];   /* with lengths as they are, and with that unit */
    double rest[2][3]; /* where it stands in its parent, there and here, in units of each */
} pair;

/* Does a joint above it move by the clip, too? */
static bool is_carried(const su_scene *scene, int64_t count, const pair *pairs, int32_t node)
{
    for (int32_t up = scene->node[node].parent; up >= 0; up = scene->node[up].parent)
        for (int64_t i = 0; i < count; i++)
            if (pairs[i].to == up) return true;
    return false;
}

static const double *parent_pose(const su_scene *scene, const double *world, int32_t node)
{
    int32_t up = scene->node[node].parent;
    return up >= 0 ? world + 16 * up : NULL;
}

/* How a found pair stands here and there, in what is above them (there, here: node poses of both files). What hangs on
 * no joint that moves hangs on what each file has put there. */
static void compare_stands(const su_scene *from, const double *there, const su_scene *scene, const double *here,
                           pair *p)
{
    double a[16], b[16], metres = metres_in(scene, here, scene->node[p->first].parent);
    p->unit = metres > 0.0 ? metres_in(from, there, from->node[p->top].parent) / metres : 1.0;
    chain_local(from, p->node, p->top, a);
    chain_local(scene, p->to, p->first, b);
    if (!p->carried) {
        const su_stand one = {su_scene_up(from), parent_pose(from, there, p->top), a},
                       other = {su_scene_up(scene), parent_pose(scene, here, p->first), b};
        p->turned = su_parent_turn(&one, &other, p->turn);
    }
    if (p->turned) {
        const double zero[3] = {0, 0, 0};
        double turn[16];
        su_affine_set(p->turn, zero, turn);
        su_affine_multiply(turn, a, a);
    }
    su_affine_translation(a, p->rest[0]);
    su_affine_translation(b, p->rest[1]);
    p->apart[0] = apart(p->rest[0], p->rest[1], 1.0), p->apart[1] = apart(p->rest[0], p->rest[1], p->unit);
}

static su_status find_pairs(const su_scene *from, const su_scene_clip *clip, su_scene *scene, const su_same_names *h,
                            int64_t *count, pair **pairs, su_error *err)
{
    double *there = su_arena_alloc(&scene->arena, 16 * from->nodes, sizeof *there),
           *here = su_arena_alloc(&scene->arena, 16 * scene->nodes, sizeof *here);
    pair *out = su_arena_alloc(&scene->arena, from->nodes, sizeof *out);
    *count = 0, *pairs = out;
    if (!there || !here || !out) return su_fail(err, SU_AGAIN, "not enough memory for a clip");
    su_scene_pose(from, NULL, 0.0, there);
    su_scene_pose(scene, NULL, 0.0, here);
    for (int32_t n = 0; n < from->nodes; n++) {
        pair p = {.node = n, .top = chain_top(from, n)};
        if (is_link(from->node[n].name) || !moves(from, clip, n, p.top)) continue;
        p.to = find_twin(from, n, scene, h);
        if (p.to >= 0) p.first = chain_top(scene, p.to);
        out[(*count)++] = p;
    }
    for (int64_t i = 0; i < *count; i++) {
        if (out[i].to < 0) continue;
        out[i].carried = is_carried(scene, *count, out, out[i].to);
        compare_stands(from, there, scene, here, &out[i]);
    }
    return SU_OK;
}

static int64_t found_among(int64_t count, const pair *pairs)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) found += pairs[i].to >= 0;
    return found;
}

/* How else names may mean the same: with other words in front where none is found as it is, without numbers behind
 * them where most are not; *rule stays NULL where they do not. */
static su_status find_rule(const su_scene *from, int64_t count, const pair *pairs, su_scene *scene, su_same_names *kept,
                           su_same_names **rule, su_error *err)
{
    su_arena *arena = &scene->arena;
    const char **there = su_arena_alloc(arena, count, sizeof *there),
               **here = su_arena_alloc(arena, scene->nodes, sizeof *here);
    int64_t as_they_are = found_among(count, pairs), found = 0;
    if (!there || !here) return su_fail(err, SU_AGAIN, "not enough memory for a clip");
    for (int64_t i = 0; i < count; i++) there[i] = from->node[pairs[i].node].name;
    for (int64_t j = 0; j < scene->nodes; j++) here[j] = is_link(scene->node[j].name) ? NULL : scene->node[j].name;
    if (as_they_are == 0) SU_TRY(su_same_names_find(count, there, scene->nodes, here, false, kept, &found, err));
    if (found == 0 && 2 * as_they_are < count)
        SU_TRY(su_same_names_find(count, there, scene->nodes, here, true, kept, &found, err));
    if (found > as_they_are) *rule = kept;
    return SU_OK;
}

/* ---- other proportions ---- */

/* Two skeletons have the same axes where joints stand in the same directions from their parents. Their proportions may
 * differ then, and joints keep the places of their own; what they are turned by means the same. */
typedef struct proportions {
    bool fits;   /* the same axes, but for a quarter of the joints */
    bool turned; /* other axes, by more than a quarter of those that stay in their places while the clip plays */
    bool alike;  /* the same proportions, but for a quarter of the joints */
    double size; /* here over there, the median of the distances to the parents */
} proportions;

static bool same_direction(const pair *p)
{
    const double same = 0.966; /* cos 15 degrees: chains of spines differ by less, axes by 90 degrees */
    return su_dot3(p->rest[0], p->rest[1]) >= same * su_norm3(p->rest[0]) * su_norm3(p->rest[1]);
}

/* Does the clip hold a joint in its place in its parent? Where it does not, poses of the files may be any of it. */
static bool is_held(const su_scene *from, const su_scene_clip *clip, const pair *p)
{
    for (int32_t up = p->node;; up = from->node[up].parent) {
        const su_scene_channel *c = channel_of(clip, up);
        if (c && su_scene_travel(c) > SU_ELSEWHERE * su_norm3(p->rest[0])) return false;
        if (up == p->top) return true;
    }
}

static proportions compare_proportions(const su_scene *from, const su_scene_clip *clip, su_arena *arena, int64_t count,
                                       const pair *pairs, int converted)
{
    double *ratio = su_arena_alloc(arena, count, sizeof *ratio);
    int64_t compared = 0, turned = 0, alike = 0, held = 0, held_turned = 0;
    for (int64_t i = 0; ratio && i < count; i++) {
        const pair *p = &pairs[i];
        double there = su_norm3(p->rest[0]), here = su_norm3(p->rest[1]);
        if (p->to < 0 || !(there > 0.0) || !(here > 0.0)) continue;
        bool other = !same_direction(p), still = p->carried && is_held(from, clip, p);
        turned += other, held += still, held_turned += still && other;
        ratio[compared++] = here / (there * (converted ? p->unit : 1.0));
    }
    if (compared == 0) return (proportions){.size = 1.0};
    su_sort(ratio, (size_t)compared, sizeof *ratio, su_order_doubles);
    const double size = ratio[compared / 2];
    for (int64_t i = 0; i < compared; i++) alike += fabs(ratio[i] - size) <= SU_ELSEWHERE * size;
    return (proportions){4 * turned <= compared, 4 * held_turned > held, 4 * alike >= 3 * compared, size};
}

/* Whether a joint that stands elsewhere does by the body and not by its motion: the poses of both files may be any
 * instant of theirs, and what moves about its parent (shoulders and thighs of 3ds Max's bipeds, footsteps) stands as
 * far from it, or in quite another direction. Where bodies have the same proportions, another bone is longer or
 * shorter. */
static bool is_another_bone(const proportions *body, const pair *p, double unit)
{
    double scale = body->size * unit, there = scale * su_norm3(p->rest[0]), here = su_norm3(p->rest[1]);
    if (!body->alike || apart(p->rest[0], p->rest[1], scale) <= SU_ELSEWHERE) return true;
    return fabs(there - here) > SU_ELSEWHERE * fmax(there, here) && same_direction(p);
}

/* Translations and rotations, and their tangents, in the parent here. */
static void turn_channel(const double turn[9], su_scene_channel *c)
{
    double q[4];
    su_quaternion_of(turn, q);
    for (int64_t i = 0; i < c->translations * su_key_values(c->translation_mode); i++)
        su_mulv3(turn, c->translation + 3 * i, c->translation + 3 * i);
    for (int64_t i = 0; i < c->rotations * su_key_values(c->rotation_mode); i++)
        su_quaternion_multiply(q, c->rotation + 4 * i, c->rotation + 4 * i);
}

/* A joint that another carries stays in its own place, and what its track moves it by counts in the size of the body;
 * the way of the topmost does, too, from the ground on, and that of one whose pose alone differs (its_own: false). */
static void fit_translation(const pair *p, double unit, double size, bool its_own, su_scene_channel *c)
{
    int64_t values = su_key_values(c->translation_mode), all = 3 * c->translations * values, value = values / 2;
    bool still = su_scene_travel(c) <= SU_ELSEWHERE * unit * su_norm3(p->rest[0]);
    for (int64_t i = 0; i < all; i++) {
        bool place = i / 3 % values == value; /* not a tangent */
        if (!p->carried || !its_own)
            c->translation[i] *= size;
        else if (still)
            c->translation[i] = place ? p->rest[1][i % 3] : 0.0;
        else
            c->translation[i] = size * (c->translation[i] - (place ? unit * p->rest[0][i % 3] : 0.0)) +
                                (place ? p->rest[1][i % 3] : 0.0);
    }
}

static const char *keep_text(su_arena *arena, const char *text)
{
    char *copy = su_arena_alloc(arena, (int64_t)strlen(text) + 1, 1);
    return copy ? strcpy(copy, text) : NULL;
}

/* Joints that the skins of a scene follow; -1: not enough memory. */
static int64_t joints_of_skins(su_scene *scene)
{
    bool *joint = su_arena_alloc(&scene->arena, scene->nodes, sizeof *joint);
    int64_t count = 0;
    if (!joint) return -1;
    for (int64_t m = 0; m < scene->meshes; m++)
        for (int64_t b = 0; b < scene->mesh[m].bones; b++) {
            bool *at = &joint[scene->mesh[m].bone[b].node];
            count += !*at, *at = true;
        }
    return count;
}

static bool is_hardly_any(int64_t found, int64_t moved, int64_t joints)
{
    return (double)found < SU_HARDLY_THE_SAME * (double)moved && (double)found < SU_HARDLY_THE_SAME * (double)joints;
}

/* ---- other skeletons ---- */

/* bone (nodes): by what the file says, where it says any, else by names. */
static su_status human_bones(const su_scene *scene, su_arena *arena, su_human_bone **bone, bool *is_human,
                             su_error *err)
{
    const char **name = su_arena_alloc(arena, scene->nodes, sizeof *name);
    int32_t *parent = su_arena_alloc(arena, scene->nodes, sizeof *parent);
    bool says = false;
    *bone = su_arena_alloc(arena, scene->nodes, sizeof **bone);
    if (!name || !parent || !*bone) return su_fail(err, SU_AGAIN, "not enough memory for a clip");
    for (int64_t n = 0; n < scene->nodes; n++) says |= scene->node[n].human != NULL;
    for (int64_t n = 0; n < scene->nodes; n++) {
        name[n] = says                           ? scene->node[n].human
                  : is_link(scene->node[n].name) ? NULL
                                                 : su_plain_name(scene->node[n].name);
        parent[n] = scene->node[n].parent;
        while (parent[n] >= 0 && is_link(scene->node[parent[n]].name)) parent[n] = scene->node[parent[n]].parent;
    }
    return su_human_bones_find(scene->nodes, name, parent, arena, *bone, is_human, err);
}

static void report_names(const su_scene *from, su_scene *scene, int32_t there, int32_t here, su_borrowed *report)
{
    if (report->called || strcmp(su_plain_name(from->node[there].name), su_plain_name(scene->node[here].name)) == 0)
        return;
    report->called = keep_text(&scene->arena, from->node[there].name), report->here = scene->node[here].name;
}

/* The same joints by name, of skeletons with other axes. here (nodes): NULL where one of both is no human's. */
static int64_t pair_named(int64_t named, const pair *pairs, const su_human_bone *here, su_joint_pair *out)
{
    const su_human_bone none = {0};
    int64_t count = 0;
    for (int64_t i = 0; i < named; i++)
        if (pairs[i].to >= 0)
            out[count++] = (su_joint_pair){pairs[i].node, pairs[i].to, here ? here[pairs[i].to] : none};
    return count;
}

/* The same bones of two humans, of which the clip moves a quarter at least. */
static int64_t pair_humans(const su_scene *from, su_scene *scene, int64_t named, const pair *pairs,
                           const su_human_bone *there, const su_human_bone *here, su_borrowed *report,
                           su_joint_pair *out)
{
    int64_t count = 0, bones = 0, moved = 0;
    for (int64_t n = 0; n < from->nodes; n++) bones += there[n].part != SU_HUMAN_NONE;
    for (int64_t i = 0; i < named; i++) moved += there[pairs[i].node].part != SU_HUMAN_NONE;
    if ((double)moved < SU_HARDLY_THE_SAME * (double)bones) return 0;
    report->missing = 0, report->one = NULL;
    for (int32_t n = 0; n < scene->nodes; n++) {
        int32_t like = su_human_bone_like(&here[n], from->nodes, there);
        if (like < 0) continue;
        out[count++] = (su_joint_pair){like, n, here[n]};
        report_names(from, scene, like, n, report);
    }
    for (int64_t i = 0; i < named; i++) {
        const int part = there[pairs[i].node].part; /* joints of a trunk with more of them turn what is behind, too */
        bool used = part == SU_HUMAN_SPINE || part == SU_HUMAN_NECK;
        for (int64_t k = 0; k < count; k++) used = used || out[k].there == pairs[i].node;
        if (!used && report->missing++ == 0) report->one = keep_text(&scene->arena, from->node[pairs[i].node].name);
    }
    return count;
}

/* Joints that do not move alike in their parents: the same by name with other axes (turned), or, where hardly any is
 * there by name, bones of a human on both sides. *count 0: neither. */
static su_status pair_others(const su_scene *from, su_scene *scene, int64_t named, const pair *pairs, int64_t joints,
                             bool turned, su_borrowed *report, int64_t *count, su_joint_pair **out, su_error *err)
{
    su_arena *arena = &scene->arena;
    su_human_bone *there, *here;
    bool human[2];
    const int64_t found = found_among(named, pairs);
    const bool strange = found == 0 || is_hardly_any(found, named, joints);
    *count = 0;
    if (!strange && !turned) return SU_OK;
    SU_TRY(human_bones(from, arena, &there, &human[0], err));
    SU_TRY(human_bones(scene, arena, &here, &human[1], err));
    *out = su_arena_alloc(arena, scene->nodes, sizeof **out);
    if (!*out) return su_fail(err, SU_AGAIN, "not enough memory for a clip");
    const bool both = human[0] && human[1];
    if (strange && both)
        *count = pair_humans(from, scene, named, pairs, there, here, report, *out);
    else if (!strange)
        *count = pair_named(named, pairs, both ? here : NULL, *out);
    report->turned = *count > 0, report->human = strange && *count > 0;
    return SU_OK;
}

su_status su_borrow_clip(const su_scene *from, const su_scene_clip *clip, su_scene *scene, su_scene_clip *out,
                         su_borrowed *report, su_error *err)
{
    su_arena *arena = &scene->arena;
    int64_t count, others, elsewhere[2] = {0, 0};
    pair *pairs;
    su_joint_pair *other;
    double *world = su_arena_alloc(arena, 16 * from->nodes, sizeof *world), most = SU_ELSEWHERE;
    *out = *clip;
    *report = (su_borrowed){0};
    out->channels = out->morph_channels = 0;
    out->channel = su_arena_alloc(arena, from->nodes, sizeof *out->channel);
    out->morph_channel = su_arena_alloc(arena, clip->morph_channels, sizeof *out->morph_channel);
    out->name = keep_text(arena, clip->name);
    if (!world || !out->name || !out->channel || !out->morph_channel)
        return su_fail(err, SU_AGAIN, "not enough memory for a clip");
    su_same_names kept, *h = NULL;
    SU_TRY(find_pairs(from, clip, scene, NULL, &count, &pairs, err));
    SU_TRY(find_rule(from, count, pairs, scene, &kept, &h, err));
    if (h) SU_TRY(find_pairs(from, clip, scene, h, &count, &pairs, err));
    const int64_t joints = joints_of_skins(scene);
    for (int64_t i = 0; i < count; i++) {
        const pair *p = &pairs[i];
        if (p->to < 0 && report->missing++ == 0) report->one = keep_text(arena, from->node[p->node].name);
        if (h && p->to >= 0) report_names(from, scene, p->node, p->to, report);
    }
    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < 2; k++) elsewhere[k] += pairs[i].to >= 0 && pairs[i].apart[k] > SU_ELSEWHERE;
    int converted = elsewhere[1] < elsewhere[0]; /* a character scaled as a whole keeps its lengths inside */
    const proportions body = compare_proportions(from, clip, arena, count, pairs, converted);
    SU_TRY(pair_others(from, scene, count, pairs, joints, body.turned, report, &others, &other, err));
    copy_morphs(from, clip, scene, h, out);
    if (others > 0) {
        for (int64_t i = 0; i < others; i++) join_chain(scene, other[i].here);
        SU_TRY(su_retarget(from, clip, scene, others, other, out, &report->size, err));
        report->joints = others;
        report->size *= (scene->unit > 0.0 ? scene->unit : 1.0) / (from->unit > 0.0 ? from->unit : 1.0);
        scene->frame_rate = from->frame_rate;
        return SU_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        const pair *p = &pairs[i];
        if (p->to < 0) continue;
        su_scene_channel *channel = &out->channel[out->channels++];
        double unit = converted ? p->unit : 1.0;
        if (p->top == p->node && p->first == p->to) {
            copy_channel(arena, channel_of(clip, p->node), unit, p->to, channel);
        } else {
            join_chain(scene, p->to);
            const chain whole = {from, clip, p->node, p->top, unit, world};
            SU_TRY(bake_channel(arena, &whole, p->to, channel, err));
        }
        if (arena->failed) continue; /* said below */
        if (p->turned) turn_channel(p->turn, channel);
        if (p->apart[converted] <= SU_ELSEWHERE) continue;
        const bool its_own = !body.fits || is_another_bone(&body, p, unit);
        if (body.fits) fit_translation(p, unit, body.size, its_own, channel);
        if (!its_own) continue;
        report->elsewhere++, report->fitted += body.fits;
        if (p->apart[converted] > most) most = p->apart[converted], report->farthest = scene->node[p->to].name;
    }
    report->size = body.size;
    report->joints = out->channels;
    if (arena->failed) return su_fail(err, SU_AGAIN, "not enough memory for a clip");
    if (out->channels == 0 && out->morph_channels == 0)
        return su_fail(
            err, SU_INPUT,
            "clip '%s' moves nothing of the character: none of its %lld nodes is there by name; put the motion on "
            "the character in another program, which can map names, and export that",
            clip->name, (long long)report->missing);
    if (is_hardly_any(report->joints, count, joints) && out->morph_channels == 0)
        return su_fail(
            err, SU_INPUT,
            "clip '%s' is another skeleton's: of its %lld nodes %lld are there by name, '%s' for one is not; "
            "put the motion on the character in another program, which can map names, and export that",
            clip->name, (long long)count, (long long)report->joints, report->one);
    scene->frame_rate = from->frame_rate;
    return SU_OK;
}
