#include "rig/bind_pose.h"

#include "geometry/affine.h"
#include "geometry/box.h"
#include "geometry/rotation.h"
#include "rig/skinning.h"

#include <math.h>

void su_upright(int up, double out[16])
{
    static const double turn[3][9] = {
        {0, -1, 0, 1, 0, 0, 0, 0, 1}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 0, 0, 0, 0, 1, 0, -1, 0}};
    const double zero[3] = {0, 0, 0};
    su_affine_set(turn[up], zero, out);
}

/* The joint with most weight among those that `wanted` accepts: known rest or any; -1: none. */
static int64_t heaviest_joint(const su_bind_pose *bind, const su_scene_mesh *mesh, int known_only)
{
    int64_t best = -1;
    double most = -1.0;
    for (int64_t i = 0; i < mesh->bones; i++) {
        const su_scene_bone *b = &mesh->bone[i];
        double sum = 0.0, linear[9];
        su_affine_linear(b->inverse_bind, linear);
        if ((known_only && !bind->known[b->node]) || su_det3(linear) == 0.0) continue;
        for (int64_t k = b->first; k < b->first + b->count; k++) sum += fabs(mesh->influence_weight[k]);
        if (sum > most) best = i, most = sum;
    }
    return best;
}

void su_bind_pose_carried(const su_bind_pose *bind, const su_scene_bone *bone, double out[16])
{
    su_affine_multiply(bind->node_pose + 16 * bone->node, bone->inverse_bind, out);
    su_affine_multiply(bind->up, out, out);
}

/* Do all joints that carry something carry the mesh to one place? */
static bool is_carried_to(const su_bind_pose *bind, const su_scene_mesh *mesh, const double reference[16])
{
    double low[3], high[3], corners[2][3];
    su_bounding_box(mesh->vertices, mesh->positions, low, high);
    su_affine_point(reference, low, corners[0]);
    su_affine_point(reference, high, corners[1]);
    double tolerance = 1e-3 * su_distance3(corners[0], corners[1]);
    for (int64_t i = 0; i < mesh->bones; i++) {
        if (mesh->bone[i].count == 0 && !bind->hung[mesh->bone[i].node]) continue;
        double m[16];
        su_bind_pose_carried(bind, &mesh->bone[i], m);
        for (int corner = 0; corner < 8; corner++) {
            double p[3], a[3], b[3];
            for (int k = 0; k < 3; k++) p[k] = corner >> k & 1 ? high[k] : low[k];
            su_affine_point(m, p, a);
            su_affine_point(reference, p, b);
            if (!(su_distance3(a, b) <= tolerance)) return false;
        }
    }
    return true;
}

/* Does the mesh stand in the node pose as it was bound, which its heaviest joint carries to `reference`? Of FBX all
 * skins must: else its clusters say more, for the few joints of an arm agree in any pose of the body. */
static bool stands_as_bound(const su_bind_pose *bind, const su_scene_mesh *mesh, const double reference[16])
{
    if (!bind->is_fbx) return is_carried_to(bind, mesh, reference);
    for (int64_t i = 0; i < bind->scene->instances; i++) {
        const su_scene_mesh *each = &bind->scene->mesh[bind->scene->instance[i].mesh];
        double there[16];
        int64_t joint = heaviest_joint(bind, each, 0);
        if (joint < 0) continue;
        su_bind_pose_carried(bind, &each->bone[joint], there);
        if (!is_carried_to(bind, each, there)) return false;
    }
    return true;
}

su_status su_bind_pose_begin(su_bind_pose *bind, const su_scene *scene, int up, su_arena *arena, su_error *err)
{
    bind->scene = scene, bind->is_fbx = strcmp(scene->format, "FBX") == 0;
    su_upright(up, bind->up);
    bind->node_pose = su_arena_alloc(arena, 16 * scene->nodes, sizeof(double));
    bind->rest = su_arena_alloc(arena, 16 * scene->nodes, sizeof(double));
    bind->known = su_arena_alloc(arena, scene->nodes, 1);
    bind->hung = su_arena_alloc(arena, scene->nodes, 1);
    if (!bind->node_pose || !bind->rest || !bind->known || !bind->hung)
        return su_fail(err, SU_AGAIN, "not enough memory for the skeleton");
    su_scene_pose(scene, NULL, 0.0, bind->node_pose);
    for (int64_t i = 0; i < scene->instances; i++)
        for (int32_t n = scene->instance[i].node; n >= 0 && scene->mesh[scene->instance[i].mesh].bones == 0;
             n = scene->node[n].parent)
            bind->hung[n] = 1;
    return SU_OK;
}

su_bind_known su_bind_pose_node(const su_bind_pose *bind, int32_t node, double out[16])
{
    const su_scene *scene = bind->scene;
    double step[16];
    int32_t from = node;
    while (from >= 0 && !bind->known[from]) from = scene->node[from].parent;
    for (int32_t d = node + 1; from < 0 && d < scene->nodes; d++) {
        int32_t above = d;
        while (above > node) above = scene->node[above].parent;
        if (bind->known[d] && above == node) from = d;
    }
    /* Between the two nodes the node pose stands in for the bind pose. */
    if (from >= 0 && su_affine_inverse(bind->node_pose + 16 * from, step) != 0.0) {
        su_affine_multiply(step, bind->node_pose + 16 * node, step);
        su_affine_multiply(bind->rest + 16 * from, step, out);
        return bind->known[from];
    }
    su_affine_multiply(bind->up, bind->node_pose + 16 * node, out);
    return SU_BIND_STANDS;
}

/* What the bind matrices stretch, beyond their common scale: as long as the joints themselves were not stretched when
 * the mesh was bound, inverse_bind = (a rotation) P for all joints, with one symmetric P of the mesh (Collada's bind
 * shape matrix, uneven scale above a mesh). The identity where the joints disagree. */
static void bound_stretch(const su_scene_mesh *mesh, double stretch[9])
{
    int found = 0;
    for (int k = 0; k < 9; k++) stretch[k] = k % 4 == 0;
    for (int64_t i = 0; i < mesh->bones; i++) {
        double linear[9], r[9], p[9];
        if (mesh->bone[i].count == 0) continue;
        su_affine_linear(mesh->bone[i].inverse_bind, linear);
        double scale = cbrt(su_det3(linear));
        if (!(fabs(scale) > 0.0) || !isfinite(scale)) continue;
        for (int k = 0; k < 9; k++) linear[k] /= scale;
        su_nearest_rotation(linear, r);
        su_tmul33(r, linear, p); /* polar decomposition: linear = r p */
        for (int k = 0; found && k < 9; k++)
            if (!(fabs(p[k] - stretch[k]) < 1e-3)) {
                for (int j = 0; j < 9; j++) stretch[j] = j % 4 == 0;
                return;
            }
        if (!found++) memcpy(stretch, p, sizeof p);
    }
}

/* The mesh as it was bound, as large as its joint makes it. */
static void as_bound(const su_scene_mesh *mesh, const double reference[16], double out[16])
{
    double linear[9];
    const double zero[3] = {0, 0, 0};
    su_affine_linear(reference, linear);
    double scale = cbrt(su_det3(linear)); /* a mirror is in its sign */
    if (!(fabs(scale) > 0.0) || !isfinite(scale)) scale = 1.0;
    bound_stretch(mesh, linear);
    for (int k = 0; k < 9; k++) linear[k] *= scale;
    su_affine_set(linear, zero, out);
}

su_bind_known su_bind_pose_mesh(su_bind_pose *bind, const su_scene_mesh *mesh, int32_t node, double out[16])
{
    su_bind_known how = SU_BIND_STANDS;
    int64_t known = heaviest_joint(bind, mesh, 1), joint = heaviest_joint(bind, mesh, 0);
    if (joint < 0) {
        how = su_bind_pose_node(bind, node, out);
    } else if (known >= 0) {
        how = bind->known[mesh->bone[known].node];
        su_affine_multiply(bind->rest + 16 * mesh->bone[known].node, mesh->bone[known].inverse_bind, out);
    } else {
        double reference[16];
        su_bind_pose_carried(bind, &mesh->bone[joint], reference);
        int32_t above = mesh->bone[joint].node;
        while (above >= 0 && !bind->known[above]) above = bind->scene->node[above].parent;
        if (above >= 0) { /* another mesh has fixed the skeleton's bind pose */
            how = su_bind_pose_node(bind, mesh->bone[joint].node, out);
            su_affine_multiply(out, mesh->bone[joint].inverse_bind, out);
        } else if (stands_as_bound(bind, mesh, reference)) {
            memcpy(out, reference, sizeof reference);
        } else if (bind->is_fbx) { /* its clusters bind in the world, at the mesh's node */
            su_affine_multiply(bind->up, bind->node_pose + 16 * node, out);
        } else {
            as_bound(mesh, reference, out);
            how = SU_BIND_OPEN;
        }
    }
    for (int64_t i = 0; i < mesh->bones; i++) {
        double inverse[16];
        int32_t n = mesh->bone[i].node;
        if (bind->known[n] || su_affine_inverse(mesh->bone[i].inverse_bind, inverse) == 0.0) continue;
        su_affine_multiply(out, inverse, bind->rest + 16 * n);
        bind->known[n] = (uint8_t)how;
    }
    return how;
}
