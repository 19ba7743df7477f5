#include "rig_holds.h"

#include "core/memory.h"
#include "geometry/affine.h"
#include "geometry/box.h"
#include "geometry/mat3.h"
#include "geometry/mirror.h"
#include "geometry/parting.h"
#include "geometry/thickness.h"
#include "rig/joint_names.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Joints nearer than this part of the skeleton's size are one place. */
#define SAME_PLACE 1e-3
/* Hard is what is stiffer than this by its joints' names (skull and soft cheek meet at the geometric mean). */
#define HARD 10.0
/* The core of a hard part: deeper than this part of the local half-thickness. */
#define CORE_DEPTH 0.4
/* Flesh follows a joint where it has more than this of the skin's weights around it. */
#define FOLLOWS 0.5

void rig_bones_free(rig_bones *bones)
{
    free(bones->segments), free(bones->holds), free(bones->owner);
    *bones = (rig_bones){0};
}

static const char *name_of(const su_poses *poses, int64_t bone)
{
    return su_file_name(&poses->file, "bone_names", bone);
}

/* Takes the joints below `name` off those that hold. */
static su_status release(su_tool *tool, const su_poses *poses, const char *name, uint8_t *holds)
{
    int64_t named = 0;
    for (int64_t b = 0; b < poses->B; b++) {
        int64_t up = b;
        for (int64_t depth = 0; depth <= poses->B && up >= 0; depth++) {
            const char *own = name_of(poses, up);
            if (own && !strcmp(own, name)) {
                holds[b] = 0, named++;
                break;
            }
            up = poses->bone_parent ? poses->bone_parent[up] : -1;
        }
    }
    if (!named) return su_fail(&tool->err, SU_INPUT, "%s: has no bone '%s'", tool->inputs.items[0], name);
    su_detail(tool, "--free %s: %lld bones let their flesh go", name, (long long)named);
    return SU_OK;
}

su_status rig_bones_find(su_tool *tool, const su_poses *poses, const su_surface *skin, const su_list *released,
                         rig_bones *out)
{
    su_error *err = &tool->err;
    int64_t B = poses->B, most = 2 * B; /* a segment of its own and one from its parent for each joint */
    if (!poses->bone_segments)
        return released->count ? su_fail(err, SU_INPUT, "%s: has no bones, --free cannot be met", tool->inputs.items[0])
                               : SU_OK;
    SU_TRY(SU_ALLOC(&out->segments, 6 * most, "bones", err));
    SU_TRY(SU_ALLOC(&out->holds, most, "bones", err));
    SU_TRY(SU_ALLOC(&out->owner, most, "bones", err));
    out->count = B;
    memcpy(out->segments, poses->bone_segments, (size_t)(6 * B) * sizeof *out->segments);
    for (int64_t b = 0; b < B; b++) {
        out->owner[b] = (int32_t)b;
        out->holds[b] = !poses->weights;
        for (int64_t v = 0; poses->weights && v < poses->nbar && !out->holds[b]; v++)
            out->holds[b] = poses->weights[v * B + b] > 0.0f;
    }
    for (int k = 0; k < released->count; k++) SU_TRY(release(tool, poses, released->items[k], out->holds));
    double near = SAME_PLACE * su_box_diagonal(2 * poses->B, poses->bone_segments);
    for (int64_t b = 0; poses->bone_parent && b < B; b++) {
        int64_t parent = poses->bone_parent[b];
        const double *head = poses->bone_segments + 6 * b;
        if (parent < 0 || !out->holds[b] || !out->holds[parent]) continue;
        const double *from = poses->bone_segments + 6 * parent;
        if (su_distance3(from, head) <= near || su_distance3(from + 3, head) <= near) continue;
        if (su_joint_name_stiffness(name_of(poses, b)) == 1) continue;
        memcpy(out->segments + 6 * out->count, from, 3 * sizeof *from);
        memcpy(out->segments + 6 * out->count + 3, head, 3 * sizeof *head);
        out->holds[out->count] = 1, out->owner[out->count++] = (int32_t)parent;
    }
    su_mirror mirror;
    SU_TRY(su_mirror_find(skin, &mirror, err));
    return su_mirror_points(&mirror, SU_MIRROR_NEAR * skin->diagonal, 2 * out->count, out->segments, err);
}

/* What the ties give each flesh vertex of the skin's positions (nbar,3) beyond those of the neutral pose; out (n,3). */
static void tied_positions(const su_tet *tet, const su_poses *poses, const double *skin, double *out)
{
    for (int64_t v = 0; v < tet->n; v++) {
        memcpy(out + 3 * v, tet->vertices + 3 * v, 3 * sizeof *out);
        for (int64_t k = v * tet->ties; k < (v + 1) * tet->ties; k++)
            for (int i = 0; i < 3; i++) {
                int64_t at = 3 * (int64_t)tet->shepard_index[k] + i;
                out[3 * v + i] += tet->shepard_weight[k] * (skin[at] - poses->neutral[at]);
            }
    }
}

su_status rig_foreign_flesh(su_tool *tool, const su_poses *poses, const su_tet *tet, double diagonal, uint8_t **foreign)
{
    double *tied = NULL;
    uint8_t *out = NULL;
    su_status status = SU_OK;
    if (!poses->bones || !poses->bone_rest || !poses->B) return SU_OK;
    SU_GO(SU_ALLOC(&tied, 3 * tet->n, "flesh of limbs", &tool->err));
    SU_GO(SU_ALLOC(&out, poses->B * tet->n, "flesh of limbs", &tool->err));
    for (int64_t k = 1; k < poses->m; k++) {
        tied_positions(tet, poses, poses->shapes + 3 * k * poses->nbar, tied);
        for (int64_t b = 0; b < poses->B; b++) {
            double back[16], way[16], p[3];
            if (!su_affine_inverse(poses->bone_rest + 16 * b, back)) continue;
            su_affine_multiply(poses->bones + 16 * (k * poses->B + b), back, way);
            for (int64_t v = 0; v < tet->n; v++) {
                su_affine_point(way, tet->vertices + 3 * v, p);
                if (su_distance3(p, tied + 3 * v) > SU_PARTING_WAY * diagonal) out[b * tet->n + v] = 1;
            }
        }
    }
    *foreign = out, out = NULL;
done:
    free(tied), free(out);
    return status;
}

/* out (n): a value of the skin at each flesh vertex, by the sizes of its ties. */
static void at_flesh(const su_tet *tet, const double *skin, double *out)
{
    for (int64_t v = 0; v < tet->n; v++) {
        double sum = 0, whole = 0;
        for (int64_t k = v * tet->ties; k < (v + 1) * tet->ties; k++) {
            double w = fabs(tet->shepard_weight[k]);
            sum += w * skin[tet->shepard_index[k]], whole += w;
        }
        out[v] = whole > 0 ? sum / whole : 0;
    }
}

static su_status match_kept(su_tool *tool, const su_poses *poses, const su_list *keep, double *joint)
{
    for (int64_t b = 0; b < poses->B; b++) joint[b] = 0;
    for (int k = 0; k < keep->count; k++) {
        int64_t matched = 0;
        for (int64_t b = 0; b < poses->B; b++) {
            const char *name = name_of(poses, b);
            if (name && fnmatch(keep->items[k], name, 0) == 0) joint[b] = 1, matched++;
        }
        if (!matched) return su_fail(&tool->err, SU_INPUT, "--keep %s: no joint is called so", keep->items[k]);
    }
    return SU_OK;
}

/* Marks in core (n) the inside of what is hard, flesh (n) being the logarithm of its stiffness; how many, in count.
 * Parts one tet thick (a staff, a finger) have no vertex inside: there the tets are the inside. */
static su_status mark_cores(const su_tets *mesh, const double *depth, const double *half, const double *flesh,
                            int threads, uint8_t *core, int64_t *count, su_error *err)
{
    double *tet_depth = NULL, *tet_half = NULL;
    su_status status = SU_OK;
    for (int64_t v = 0; v < mesh->n; v++)
        if (flesh[v] > log(HARD) && depth[v] > 0 && depth[v] > CORE_DEPTH * half[v]) core[v] = 1, ++*count;
    SU_GO(SU_ALLOC(&tet_depth, mesh->t, "flesh depth", err));
    SU_GO(SU_ALLOC(&tet_half, mesh->t, "flesh thickness", err));
    SU_GO(su_tet_thickness(mesh, threads, tet_depth, tet_half, err));
    for (int64_t e = 0; e < mesh->t; e++) {
        const int32_t *v = mesh->tets + 4 * e;
        double hard = 0.25 * (flesh[v[0]] + flesh[v[1]] + flesh[v[2]] + flesh[v[3]]);
        if (depth[v[0]] > 0 || depth[v[1]] > 0 || depth[v[2]] > 0 || depth[v[3]] > 0) continue;
        if (hard <= log(HARD) || tet_depth[e] <= CORE_DEPTH * tet_half[e]) continue;
        for (int i = 0; i < 4; i++) *count += !core[v[i]], core[v[i]] = 1;
    }
done:
    free(tet_depth), free(tet_half);
    return status;
}

su_status rig_kept_flesh(su_tool *tool, const su_poses *poses, const rig_bones *bones, const su_list *keep,
                         const su_tet *tet, uint8_t *kept)
{
    su_error *err = &tool->err;
    double *joint = NULL, *skin = NULL, *flesh = NULL;
    su_status status = SU_OK;
    if (keep->count == 0) return SU_OK;
    if (!poses->weights || !bones->holds)
        return su_fail(err, SU_INPUT, "%s: has no joints, --keep cannot be met", tool->inputs.items[0]);
    SU_GO(SU_ALLOC_ALL("joints", err, SU_WANT(joint, poses->B), SU_WANT(skin, poses->nbar), SU_WANT(flesh, tet->n)));
    SU_GO(match_kept(tool, poses, keep, joint));
    su_joint_values_at_skin(poses->nbar, poses->B, poses->weights, joint, skin), at_flesh(tet, skin, flesh);
    for (int64_t v = 0; v < tet->n; v++) kept[v] |= flesh[v] > FOLLOWS;
done:
    free(joint), free(skin), free(flesh);
    return status;
}

su_status rig_hard_cores(su_tool *tool, const su_poses *poses, const rig_bones *bones, const su_tets *mesh,
                         const double *depth, const double *half, const su_tet *tet, uint8_t *hard)
{
    su_error *err = &tool->err;
    double *joint = NULL, *carried = NULL, *skin = NULL, *flesh = NULL;
    const char **names = NULL;
    int64_t cores = 0;
    bool any = false;
    su_status status = SU_OK;
    if (!poses->weights || !bones->holds) return SU_OK;
    SU_GO(SU_ALLOC_ALL("joints", err, SU_WANT(joint, poses->B), SU_WANT(carried, poses->B), SU_WANT(skin, poses->nbar),
                       SU_WANT(flesh, mesh->n)));
    SU_GO(SU_ALLOC(&names, poses->B, "joints", err));
    for (int64_t b = 0; b < poses->B; b++) names[b] = name_of(poses, b);
    su_joints_carry(poses->nbar, poses->B, poses->weights, carried);
    su_joint_stiffness(poses->B, names, poses->bone_parent, carried, joint);
    for (int64_t b = 0; b < poses->B; b++) {
        joint[b] = bones->holds[b] ? log(joint[b]) : 0;
        any = any || joint[b] > log(HARD);
    }
    if (!any) goto done;
    su_joint_values_at_skin(poses->nbar, poses->B, poses->weights, joint, skin), at_flesh(tet, skin, flesh);
    SU_GO(mark_cores(mesh, depth, half, flesh, tool->threads, hard, &cores, err));
    su_stats_integer(tool, "hard_core", cores);
done:
    free(joint), free(carried), free(names), free(skin), free(flesh);
    return status;
}
