#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/bind_pose.h"
#include "rig/character_internal.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A joint and the area of skin that follows it: how it is turned from where it was bound to the node pose. */
typedef struct turned_skin {
    double turn[9], area;
} turned_skin;

/* How `carried`, mesh space to y-up space, is turned against the part as it was bound. */
static void turn_from_bound(const su_character_part *part, const double carried[16], double turn[9])
{
    double back[16], linear[9];
    for (int k = 0; k < 9; k++) turn[k] = k % 4 == 0;
    if (su_affine_inverse(part->bind, back) == 0.0) return;
    su_affine_multiply(carried, back, back);
    su_affine_linear(back, linear);
    su_nearest_rotation(linear, turn);
}

/* area (vertices): of the polygons around each, as the part was bound. */
static void vertex_areas(const su_scene_mesh *mesh, const double bind[16], double *area)
{
    const int32_t *corner = mesh->face_indices;
    for (int64_t f = 0; f < mesh->polygons; corner += mesh->face_counts[f++])
        for (int32_t k = 2; k < mesh->face_counts[f]; k++) {
            const int32_t at[3] = {corner[0], corner[k - 1], corner[k]};
            double p[3][3], a[3], b[3], normal[3];
            for (int i = 0; i < 3; i++) su_affine_point(bind, mesh->positions + 3 * (int64_t)at[i], p[i]);
            su_sub3(p[1], p[0], a), su_sub3(p[2], p[0], b);
            su_cross3(a, b, normal);
            for (int i = 0; i < 3; i++) area[at[i]] += su_norm3(normal) / 6.0;
        }
}

/* The rotation among the 24 that map axes to axes which is nearest to most skin: the least sum of angles, so that
 * arms that hang do not turn the body. */
static void nearest_right_angles(int64_t count, const turned_skin *skin, double out[9])
{
    double best = INFINITY, turns[SU_RIGHT_ANGLES][9];
    for (int k = 0; k < 9; k++) out[k] = k % 4 == 0;
    su_right_angles(turns);
    for (int way = 0; way < SU_RIGHT_ANGLES; way++) {
        double sum = 0.0;
        for (int64_t k = 0; k < count; k++) {
            double trace = 0.0;
            for (int i = 0; i < 9; i++) trace += turns[way][i] * skin[k].turn[i];
            sum += skin[k].area * acos(fmax(-1.0, fmin(1.0, 0.5 * (trace - 1.0))));
        }
        if (!(sum < best * (1.0 - 1e-9))) continue; /* of two alike the first, whatever the rounding */
        best = sum;
        memcpy(out, turns[way], sizeof turns[way]);
    }
}

/* Objects without skin count where they are a body, and not the six weapons of one hand. */
static bool objects_are_a_body(const su_character *c)
{
    int joints = 0;
    for (int64_t i = 0; i < c->parts; i++) {
        bool first = c->scene->mesh[c->part[i].mesh].bones == 0 && c->part[i].carrier >= 0;
        for (int64_t k = 0; k < i && first; k++)
            first = c->scene->mesh[c->part[k].mesh].bones > 0 || c->part[k].carrier != c->part[i].carrier;
        joints += first;
    }
    return joints >= SU_JOINTS_OF_A_BODY;
}

/* out (joints of the part's mesh, or one where it has none); area (vertices). Returns how many. */
static int64_t measure_part(const su_bind_pose *bind, const su_character_part *part, const su_scene_mesh *mesh,
                            const double *area, turned_skin *out)
{
    double carried[16];
    for (int64_t b = 0; b < mesh->bones; b++) {
        const su_scene_bone *bone = &mesh->bone[b];
        su_bind_pose_carried(bind, bone, carried);
        turn_from_bound(part, carried, out[b].turn);
        for (int64_t k = bone->first; k < bone->first + bone->count; k++)
            out[b].area += fabs(mesh->influence_weight[k]) * area[mesh->influence_vertex[k]];
    }
    if (mesh->bones > 0) return mesh->bones;
    su_affine_multiply(bind->up, bind->node_pose + 16 * part->node, carried);
    turn_from_bound(part, carried, out->turn);
    for (int64_t v = 0; v < mesh->vertices; v++) out->area += area[v];
    return 1;
}

su_status su_character_stand_upright(su_character *c, su_bind_pose *bind, const su_bind_known *how, su_arena *scratch,
                                     su_error *err)
{
    const double zero[3] = {0, 0, 0};
    double turn[9], r[16];
    int64_t most = 0, count = 0;
    bool objects = objects_are_a_body(c);
    for (int64_t i = 0; i < c->parts; i++)
        if (how[i] == SU_BIND_OPEN) most += 1 + c->scene->mesh[c->part[i].mesh].bones;
    if (most == 0) return SU_OK;
    turned_skin *skin = su_arena_alloc(scratch, most, sizeof *skin);
    for (int64_t i = 0; i < c->parts && skin; i++) {
        const su_scene_mesh *mesh = &c->scene->mesh[c->part[i].mesh];
        if (how[i] != SU_BIND_OPEN || (mesh->bones == 0 && !objects)) continue;
        double *area = su_arena_alloc(scratch, mesh->vertices, sizeof *area);
        if (!area) break;
        vertex_areas(mesh, c->part[i].bind, area);
        count += measure_part(bind, &c->part[i], mesh, area, skin + count);
    }
    if (scratch->failed) return su_fail(err, SU_AGAIN, "not enough memory for the bind pose");
    nearest_right_angles(count, skin, turn);
    su_affine_set(turn, zero, r);
    for (int64_t i = 0; i < c->parts; i++)
        if (how[i] == SU_BIND_OPEN) su_affine_multiply(r, c->part[i].bind, c->part[i].bind);
    for (int64_t i = 0; i < c->scene->nodes; i++)
        if (bind->known[i] == SU_BIND_OPEN) su_affine_multiply(r, bind->rest + 16 * i, bind->rest + 16 * i);
    return SU_OK;
}
