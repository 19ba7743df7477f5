#include "rig/retarget.h"

#include "core/order.h"
#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/bind_pose.h"
#include "rig/skinning.h"

#include <math.h>
#include <string.h>

/* s: frames of Mixamo's motions; between keys farther apart turns of parents and children would not add up. */
static const double LONGEST_STEP = 1.0 / 30.0;
/* Of a bone's length: what a joint moves in its parent by less is rounding of the file. */
static const double STILL = 1e-3;

/* Both skeletons at rest, by pair. */
typedef struct bodies {
    const su_scene *from;
    const su_scene_clip *clip;
    su_scene *scene;
    int64_t pairs;
    const su_joint_pair *pair;
    double *there, *here;  /* (nodes,16) each: rest poses, node to scene */
    double align[9], size; /* A; ways here over ways there */
    double lift[3];        /* what the rest pose there stands higher, in that size, than the one here */
    int32_t *paired;       /* (nodes here) its pair; -1: none */
    int32_t *carrier;      /* (pairs) the nearest pair above; -1: none */
    int32_t *only;         /* (pairs) the pair that alone hangs on it and says where it points; -1: none */
    int32_t *led;   /* (pairs) of a foot or hand that hangs beside its limb (a target of IK), the limb's; -1: none */
    int32_t *order; /* (nodes here) parents first, and what is led behind its limb */
    double *offset; /* (pairs,9) S_i' A' C_i T_i */
} bodies;

static su_status no_memory(su_error *err) { return su_fail(err, SU_AGAIN, "not enough memory for a clip"); }

static void rotation_of(const double m[16], double r[9])
{
    double linear[9];
    su_affine_linear(m, linear);
    su_nearest_rotation(linear, r);
}

/* The right-angled rotation nearest to r, in its place. */
static void to_right_angles(double r[9])
{
    double best = -INFINITY, turns[SU_RIGHT_ANGLES][9];
    int nearest = 0;
    su_right_angles(turns);
    for (int way = 0; way < SU_RIGHT_ANGLES; way++) {
        double trace = 0.0;
        for (int i = 0; i < 9; i++) trace += turns[way][i] * r[i];
        if (trace > best) best = trace, nearest = way;
    }
    memcpy(r, turns[nearest], sizeof turns[nearest]);
}

/* rest (nodes,16): where nodes are when skins have their neutral shape; of what carries none, in the node pose. Where a
 * skin stands of which the file says only how joints carry it, `top` says. */
static su_status rest_pose(const su_scene *scene, int32_t top, su_arena *arena, double *rest, su_error *err)
{
    su_bind_pose bind = {0};
    double mesh[16], stand[16], r[9], now[9], then[9], at[3], place[3];
    int64_t largest = -1;
    SU_TRY(su_bind_pose_begin(&bind, scene, 1, arena, err)); /* as it stands: y up is the identity */
    for (int64_t i = 0; i < scene->instances; i++)
        if (scene->mesh[scene->instance[i].mesh].bones > 0 &&
            (largest < 0 ||
             scene->mesh[scene->instance[i].mesh].vertices > scene->mesh[scene->instance[largest].mesh].vertices))
            largest = i;
    for (int pass = 0; pass < 2 && largest >= 0; pass++)
        for (int64_t i = 0; i < scene->instances; i++)
            if (scene->mesh[scene->instance[i].mesh].bones > 0 && (i == largest) == (pass == 0))
                su_bind_pose_mesh(&bind, &scene->mesh[scene->instance[i].mesh], scene->instance[i].node, mesh);
    su_bind_pose_node(&bind, top, mesh);
    rotation_of(bind.node_pose + 16 * top, now);
    rotation_of(mesh, then);
    su_mult33(now, then, r);
    to_right_angles(r);
    su_affine_translation(bind.node_pose + 16 * top, at);
    su_affine_translation(mesh, place);
    su_mulv3(r, place, place);
    su_sub3(at, place, place);
    su_affine_set(r, place, stand);
    for (int32_t n = 0; n < scene->nodes; n++)
        if (su_bind_pose_node(&bind, n, rest + 16 * n) == SU_BIND_OPEN)
            su_affine_multiply(stand, rest + 16 * n, rest + 16 * n);
    return SU_OK;
}

static const double *rest_there(const bodies *b, int64_t i) { return b->there + 16 * b->pair[i].there; }
static const double *rest_here(const bodies *b, int64_t i) { return b->here + 16 * b->pair[i].here; }

static void way(const double *from, const double *to, double out[3])
{
    double a[3], b[3];
    su_affine_translation(from, a);
    su_affine_translation(to, b);
    su_sub3(b, a, out);
}

/* A: nearest to what takes the joints there to those here, both about their means. */
static su_status align_bodies(bodies *b, su_error *err)
{
    su_arena *arena = &b->scene->arena;
    double *x = su_arena_alloc(arena, 3 * b->pairs, sizeof *x), *y = su_arena_alloc(arena, 3 * b->pairs, sizeof *y);
    double c[3], large[2] = {0, 0};
    if (!x || !y) return no_memory(err);
    for (int64_t i = 0; i < b->pairs; i++) {
        su_affine_translation(rest_there(b, i), x + 3 * i);
        su_affine_translation(rest_here(b, i), y + 3 * i);
        large[0] = fmax(large[0], su_norm3(x + 3 * i)), large[1] = fmax(large[1], su_norm3(y + 3 * i));
    }
    /* Both of one size, as a rotation does not depend on it but its rounding does. */
    for (int64_t k = 0; k < 3 * b->pairs; k++)
        x[k] /= large[0] > 0.0 ? large[0] : 1.0, y[k] /= large[1] > 0.0 ? large[1] : 1.0;
    su_rigid_fit(b->pairs, x, y, NULL, b->align, c);
    to_right_angles(b->align);
    return SU_OK;
}

/* Who hangs on whom. */
static void find_carriers(bodies *b)
{
    const su_scene *scene = b->scene;
    for (int64_t n = 0; n < scene->nodes; n++) b->paired[n] = -1;
    for (int64_t i = 0; i < b->pairs; i++) b->paired[b->pair[i].here] = (int32_t)i;
    for (int64_t i = 0; i < b->pairs; i++) {
        int32_t up = scene->node[b->pair[i].here].parent;
        while (up >= 0 && b->paired[up] < 0) up = scene->node[up].parent;
        b->carrier[i] = up >= 0 ? b->paired[up] : -1;
    }
}

/* Feet and hands that hang beside their limbs, and the order in which nodes are placed. */
static void find_led(bodies *b)
{
    const su_scene *scene = b->scene;
    int64_t count = 0;
    for (int64_t i = 0; i < b->pairs; i++) {
        const su_human_bone *bone = &b->pair[i].bone;
        int limb = bone->part == SU_HUMAN_FOOT   ? SU_HUMAN_LOWER_LEG
                   : bone->part == SU_HUMAN_HAND ? SU_HUMAN_LOWER_ARM
                                                 : SU_HUMAN_NONE;
        b->led[i] = -1;
        for (int64_t k = 0; k < b->pairs && limb; k++) {
            if (b->pair[k].bone.part != limb || b->pair[k].bone.side != bone->side) continue;
            int32_t up = b->pair[i].here;
            while (up >= 0 && up != b->pair[k].here) up = scene->node[up].parent;
            if (up < 0) b->led[i] = (int32_t)k;
        }
    }
    for (int led = 0; led < 2; led++)
        for (int32_t n = 0; n < scene->nodes; n++) {
            int32_t up = n;
            while (up >= 0 && (b->paired[up] < 0 || b->led[b->paired[up]] < 0)) up = scene->node[up].parent;
            if ((up >= 0) == led) b->order[count++] = n;
        }
}

/* Which pair alone hangs on another, or is led by it. */
static void find_only(bodies *b)
{
    for (int64_t i = 0; i < b->pairs; i++) {
        int32_t hang = 0, last = -1;
        const su_human_bone *bone = &b->pair[i].bone;
        bool limb = bone->part >= SU_HUMAN_UPPER_ARM;
        for (int64_t k = 0; k < b->pairs; k++) {
            const su_human_bone *other = &b->pair[k].bone;
            if ((b->carrier[k] != i && b->led[k] != i) ||
                (limb && (other->part < bone->part || other->side != bone->side)))
                continue;
            hang++, last = (int32_t)k;
        }
        /* Of a human a trunk, a collarbone, a hand and a foot stand in both rest poses as they stand. */
        bool points = !bone->part || (limb && bone->part != SU_HUMAN_HAND && bone->part != SU_HUMAN_FOOT);
        b->only[i] = hang == 1 && points ? last : -1;
    }
}

static su_status measure_size(bodies *b, su_error *err)
{
    double *ratio = su_arena_alloc(&b->scene->arena, b->pairs, sizeof *ratio), legs[2] = {0, 0};
    int64_t count = 0;
    if (!ratio) return no_memory(err);
    for (int64_t i = 0; i < b->pairs; i++) {
        double there[3], here[3];
        if (b->carrier[i] < 0 || b->led[i] >= 0) continue;
        way(rest_there(b, b->carrier[i]), rest_there(b, i), there);
        way(rest_here(b, b->carrier[i]), rest_here(b, i), here);
        int part = b->pair[i].bone.part;
        if (part == SU_HUMAN_LOWER_LEG || part == SU_HUMAN_FOOT) legs[0] += su_norm3(there), legs[1] += su_norm3(here);
        if (su_norm3(there) > 0.0 && su_norm3(here) > 0.0) ratio[count++] = su_norm3(here) / su_norm3(there);
    }
    su_sort(ratio, (size_t)count, sizeof *ratio, su_order_doubles);
    b->size = legs[0] > 0.0 && legs[1] > 0.0 ? legs[1] / legs[0] : count > 0 ? ratio[count / 2] : 1.0;
    return SU_OK;
}

/* Motions stand on a ground that rest poses need not stand on (those of BVH hang about the origin): the lowest joint of
 * the one there counts as high as that of the one here. */
static void stand_on_ground(bodies *b)
{
    const int up = su_scene_up(b->scene);
    double low[2] = {INFINITY, INFINITY}, p[3];
    for (int64_t i = 0; i < b->pairs; i++) {
        su_affine_translation(rest_there(b, i), p);
        su_mulv3(b->align, p, p);
        low[0] = fmin(low[0], b->size * p[up]);
        su_affine_translation(rest_here(b, i), p);
        low[1] = fmin(low[1], p[up]);
    }
    b->lift[up] = low[0] - low[1];
}

/* The least rotation that takes direction a to b; the identity where one has no length. */
static void least_rotation(const double a[3], const double b[3], double out[9])
{
    double q[4], axis[3], sum = 0.0, both = su_norm3(a) * su_norm3(b);
    for (int i = 0; i < 9; i++) out[i] = i % 4 == 0;
    if (!(both > 0.0)) return;
    su_cross3(a, b, axis);
    q[0] = both + su_dot3(a, b);
    for (int i = 0; i < 3; i++) q[1 + i] = axis[i];
    for (int i = 0; i < 4; i++) sum += q[i] * q[i];
    if (!(sum > 1e-12 * both * both)) return; /* opposite: any axis would do, none is better */
    for (int i = 0; i < 4; i++) q[i] /= sqrt(sum);
    su_quaternion_matrix(q, out);
}

/* S_i' A' C_i T_i, from the body outwards: what a limb is turned by, all that hangs on it is, but feet stand. */
static void find_offsets(bodies *b, double *bend)
{
    for (int64_t nth = 0; nth < b->scene->nodes; nth++) {
        int32_t n = b->order[nth], i = b->paired[n], up = b->scene->node[n].parent;
        if (i >= 0 && b->led[i] >= 0) up = b->pair[b->led[i]].here;
        double *c = bend + 9 * n, S[9], T[9], AS[9], CT[9];
        for (int k = 0; k < 9; k++) c[k] = up >= 0 ? bend[9 * up + k] : k % 4 == 0;
        if (i < 0) continue;
        if (b->pair[i].bone.part == SU_HUMAN_FOOT)
            for (int k = 0; k < 9; k++) c[k] = k % 4 == 0;
        if (b->only[i] >= 0) {
            double there[3], here[3], r[9], sum[9];
            way(rest_there(b, i), rest_there(b, b->only[i]), there);
            way(rest_here(b, i), rest_here(b, b->only[i]), here);
            su_mulv3(b->align, there, there);
            su_mulv3(c, here, here);
            least_rotation(here, there, r);
            su_mul33(r, c, sum);
            memcpy(c, sum, sizeof sum);
        }
        rotation_of(rest_there(b, i), S);
        rotation_of(rest_here(b, i), T);
        su_mul33(b->align, S, AS);
        su_mul33(c, T, CT);
        su_tmul33(AS, CT, b->offset + 9 * i);
    }
}

/* Keys of all channels, the gaps between them filled; *count of them from the scene's arena. */
static su_status key_times(const bodies *b, double **times, int64_t *count, su_error *err)
{
    const su_scene_clip *clip = b->clip;
    int64_t all = 0, at = 0, filled = 0;
    for (int64_t i = 0; i < clip->channels; i++)
        all += clip->channel[i].translations + clip->channel[i].rotations + clip->channel[i].scales;
    double *keys = su_arena_alloc(&b->scene->arena, all + 1, sizeof *keys);
    if (!keys) return no_memory(err);
    for (int64_t i = 0; i < clip->channels; i++) {
        const su_scene_channel *c = &clip->channel[i];
        for (int64_t k = 0; k < c->translations; k++) keys[at++] = c->translation_times[k];
        for (int64_t k = 0; k < c->rotations; k++) keys[at++] = c->rotation_times[k];
        for (int64_t k = 0; k < c->scales; k++) keys[at++] = c->scale_times[k];
    }
    if (all == 0) keys[all++] = clip->start;
    su_sort(keys, (size_t)all, sizeof *keys, su_order_doubles);
    const double same = 1e-6; /* s: keys of two tracks that single precision parted */
    at = 1;
    for (int64_t k = 1; k < all; k++)
        if (keys[k] > keys[at - 1] + same) keys[at++] = keys[k];
    for (int64_t k = 1; k < at; k++) filled += (int64_t)ceil((keys[k] - keys[k - 1]) / LONGEST_STEP - same) + 1;
    double *out = su_arena_alloc(&b->scene->arena, at + filled, sizeof *out);
    if (!out) return no_memory(err);
    *count = 0, *times = out;
    for (int64_t k = 0; k < at; k++) {
        int64_t parts = k > 0 ? (int64_t)fmax(1.0, ceil((keys[k] - keys[k - 1]) / LONGEST_STEP - same)) : 1;
        for (int64_t part = 1; part <= parts; part++)
            out[(*count)++] = k > 0 ? keys[k - 1] + (keys[k] - keys[k - 1]) * (double)part / (double)parts : keys[k];
    }
    return SU_OK;
}

/* Does a joint move in its parent there, by more than rounding? */
static bool travels(const bodies *b, int32_t node)
{
    double local[3];
    su_affine_translation(b->from->node[node].local, local);
    for (int64_t i = 0; i < b->clip->channels; i++)
        if (b->clip->channel[i].node == node) return su_scene_travel(&b->clip->channel[i]) > STILL * su_norm3(local);
    return false;
}

/* Nodes here, in their node pose and at one time. */
typedef struct stands {
    double *posed;  /* (nodes,16) node to scene, in the node pose */
    double *still;  /* (nodes,9) how nodes are turned in their parents there */
    double *scale;  /* (nodes) of lengths below */
    double *turned; /* (nodes,9) in the world, now */
    double *place;  /* (nodes,3) */
} stands;

/* A place in the world, in the parent of a node whose parents do not move. */
static void into_parent(const su_scene *scene, const double *posed, int32_t node, const double at[3], double out[3])
{
    int32_t up = scene->node[node].parent;
    double above[16];
    if (up < 0 || su_affine_inverse(posed + 16 * up, above) == 0.0) su_affine_identity(above);
    su_affine_point(above, at, out);
}

/* Where the joint is in the world that hangs on none: by its way from the rest pose. */
static void place_top(const bodies *b, int64_t i, const double *world, double at[3])
{
    double moved[3];
    way(rest_there(b, i), world + 16 * b->pair[i].there, moved);
    su_mulv3(b->align, moved, moved);
    su_affine_translation(rest_here(b, i), at);
    for (int k = 0; k < 3; k++) at[k] += b->size * moved[k] + b->lift[k];
}

/* And one that is led: as it stands on its limb at rest. */
static void place_led(const bodies *b, int64_t i, const stands *now, double at[3])
{
    int32_t limb = b->pair[b->led[i]].here;
    double T[9], on[3];
    way(rest_here(b, b->led[i]), rest_here(b, i), on);
    rotation_of(rest_here(b, b->led[i]), T);
    su_tmulv3(T, on, on);
    su_mulv3(now->turned + 9 * limb, on, on);
    for (int k = 0; k < 3; k++) at[k] = now->place[3 * limb + k] + on[k];
}

/* Where one is in its parent that moves there: by its way from its own place. */
static void place_carried(const bodies *b, int64_t i, const double *world, const stands *now, double out[3])
{
    int32_t there = b->pair[i].there, here = b->pair[i].here, up = b->from->node[there].parent,
            above = b->scene->node[here].parent;
    double at[16], then[16], step[3], linear[9], length = 1.0;
    su_node_in(world, up, there, at);
    su_node_in(b->there, up, there, then);
    way(then, at, step);
    if (up >= 0) {
        su_affine_linear(world + 16 * up, linear);
        su_mulv3(linear, step, step);
    }
    su_mulv3(b->align, step, step);
    su_node_in(b->here, above, here, then);
    su_affine_translation(then, out);
    if (above >= 0) {
        su_tmulv3(now->turned + 9 * above, step, step);
        length = now->scale[above] > 0.0 ? now->scale[above] : 1.0;
    }
    for (int k = 0; k < 3; k++) out[k] += b->size * step[k] / length;
}

/* Turns and places node n, whose parents are; its key k, where it has a channel. */
static void place_node(const bodies *b, int32_t n, int64_t k, const double *world, stands *now, su_scene_clip *out)
{
    const su_scene *scene = b->scene;
    const int32_t i = b->paired[n], up = scene->node[n].parent;
    double *r = now->turned + 9 * n, *place = now->place + 3 * n, local[9], own[3];
    const double *above = up >= 0 ? now->turned + 9 * up : NULL;
    if (i >= 0) {
        double S[9], SO[9];
        rotation_of(world + 16 * b->pair[i].there, S);
        su_mul33(S, b->offset + 9 * i, SO);
        su_mul33(b->align, SO, r);
    } else if (above) {
        su_mul33(above, now->still + 9 * n, r);
    } else {
        memcpy(r, now->still + 9 * n, 9 * sizeof *r);
    }
    su_affine_translation(scene->node[n].local, own);
    if (i >= 0 && (b->led[i] >= 0 || b->carrier[i] < 0)) {
        if (b->led[i] >= 0)
            place_led(b, i, now, place);
        else
            place_top(b, i, world, place);
        into_parent(scene, now->posed, n, place, own);
    } else {
        if (i >= 0 && out->channel[i].translations > 0) place_carried(b, i, world, now, own);
        memcpy(place, own, sizeof own);
        if (above) su_mulv3(above, place, place);
        for (int j = 0; j < 3 && above; j++) place[j] = now->place[3 * up + j] + now->scale[up] * place[j];
    }
    if (i < 0) return;
    const su_scene_channel *c = &out->channel[i];
    if (above)
        su_tmul33(above, r, local);
    else
        memcpy(local, r, sizeof local);
    double *q = c->rotation + 4 * k;
    su_quaternion_of(local, q);
    if (k > 0 && q[0] * q[-4] + q[1] * q[-3] + q[2] * q[-2] + q[3] * q[-1] < 0.0)
        for (int j = 0; j < 4; j++) q[j] = -q[j]; /* the shorter way from the key before */
    if (c->translations > 0) memcpy(c->translation + 3 * k, own, sizeof own);
}

static su_status make_channels(const bodies *b, int64_t count, double *times, su_scene_clip *out, su_error *err)
{
    const su_scene *scene = b->scene;
    su_arena *arena = &b->scene->arena;
    stands now = {.posed = su_arena_alloc(arena, 16 * scene->nodes, sizeof(double)),
                  .still = su_arena_alloc(arena, 9 * scene->nodes, sizeof(double)),
                  .scale = su_arena_alloc(arena, scene->nodes, sizeof(double)),
                  .turned = su_arena_alloc(arena, 9 * scene->nodes, sizeof(double)),
                  .place = su_arena_alloc(arena, 3 * scene->nodes, sizeof(double))};
    double *world = su_arena_alloc(arena, 16 * b->from->nodes, sizeof *world);
    out->channel = su_arena_alloc(arena, b->pairs, sizeof *out->channel), out->channels = b->pairs;
    if (!world || !now.posed || !now.still || !now.scale || !now.turned || !now.place || !out->channel)
        return no_memory(err);
    su_scene_pose(scene, NULL, 0.0, now.posed);
    for (int32_t n = 0; n < scene->nodes; n++) {
        double linear[9];
        rotation_of(scene->node[n].local, now.still + 9 * n);
        su_affine_linear(now.posed + 16 * n, linear);
        now.scale[n] = cbrt(fabs(su_det3(linear)));
    }
    for (int64_t i = 0; i < b->pairs; i++) {
        su_scene_channel *c = &out->channel[i];
        bool goes = b->carrier[i] < 0 || b->led[i] >= 0 || (!b->pair[i].bone.part && travels(b, b->pair[i].there));
        *c = (su_scene_channel){.node = b->pair[i].here, .rotations = count, .translations = goes ? count : 0};
        c->rotation_times = c->translation_times = times;
        c->rotation = su_arena_alloc(arena, 4 * count, sizeof *c->rotation);
        c->translation = su_arena_alloc(arena, goes ? 3 * count : 1, sizeof *c->translation);
        if (!c->rotation || !c->translation) return no_memory(err);
    }
    for (int64_t k = 0; k < count; k++) {
        su_scene_pose(b->from, b->clip, times[k], world);
        for (int64_t n = 0; n < scene->nodes; n++) place_node(b, b->order[n], k, world, &now, out);
    }
    return SU_OK;
}

su_status su_retarget(const su_scene *from, const su_scene_clip *clip, su_scene *scene, int64_t pairs,
                      const su_joint_pair *pair, su_scene_clip *out, double *size, su_error *err)
{
    su_arena *arena = &scene->arena;
    bodies b = {.from = from, .clip = clip, .scene = scene, .pairs = pairs, .pair = pair};
    double *bend = su_arena_alloc(arena, 9 * scene->nodes, sizeof *bend), *times = NULL;
    int64_t count = 0;
    b.there = su_arena_alloc(arena, 16 * from->nodes, sizeof *b.there);
    b.here = su_arena_alloc(arena, 16 * scene->nodes, sizeof *b.here);
    b.paired = su_arena_alloc(arena, scene->nodes, sizeof *b.paired);
    b.carrier = su_arena_alloc(arena, pairs, sizeof *b.carrier);
    b.only = su_arena_alloc(arena, pairs, sizeof *b.only);
    b.led = su_arena_alloc(arena, pairs, sizeof *b.led);
    b.order = su_arena_alloc(arena, scene->nodes, sizeof *b.order);
    b.offset = su_arena_alloc(arena, 9 * pairs, sizeof *b.offset);
    if (!bend || !b.there || !b.here || !b.paired || !b.carrier || !b.only || !b.led || !b.order || !b.offset)
        return no_memory(err);
    int64_t top = 0; /* what nodes before it do not carry */
    for (int64_t i = 1; i < pairs; i++)
        if (pair[i].here < pair[top].here) top = i;
    for (int64_t i = 0; i < pairs; i++)
        if (pair[i].bone.part == SU_HUMAN_HIPS) top = i;
    SU_TRY(rest_pose(from, pair[top].there, arena, b.there, err));
    SU_TRY(rest_pose(scene, pair[top].here, arena, b.here, err));
    SU_TRY(align_bodies(&b, err));
    find_carriers(&b);
    find_led(&b);
    find_only(&b);
    SU_TRY(measure_size(&b, err));
    stand_on_ground(&b);
    find_offsets(&b, bend);
    SU_TRY(key_times(&b, &times, &count, err));
    SU_TRY(make_channels(&b, count, times, out, err));
    *size = b.size;
    return SU_OK;
}
