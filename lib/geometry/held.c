#include "geometry/held.h"

#include "core/memory.h"
#include "geometry/boxtree.h"
#include "geometry/kdtree.h"
#include "geometry/mat3.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_held_free(su_held *held)
{
    free(held->fixed);
    free(held->bone);
    free(held->part);
    free(held->part_core);
    free(held->part_share);
    memset(held, 0, sizeof *held);
}

static double distance_to_segment(const double p[3], const double *segment)
{
    double d[3], r[3], c[3];
    su_sub3(segment + 3, segment, d);
    su_sub3(p, segment, r);
    double length = su_dot3(d, d), s = length > 0.0 ? fmax(0.0, fmin(1.0, su_dot3(r, d) / length)) : 0.0;
    for (int i = 0; i < 3; i++) c[i] = r[i] - s * d[i];
    return su_norm3(c);
}

/* Faces count as inside within this part of a tet's height, and what only grazes a tet does not pass through: a bone in
 * the body's plane of symmetry, where nodes lie, then holds the same on both sides whatever rounding says. */
#define ON_FACE 1e-9
#define GRAZES 1e-6 /* of the segment */

/* Clips the segment by the four faces: barycentric coordinates run linearly along it. */
static bool segment_meets_tet(const double *x, const int32_t *tet, const double *segment)
{
    double a[4], b[4], enter = 0.0, leave = 1.0;
    su_tet_barycentric(x, tet, segment, a);
    su_tet_barycentric(x, tet, segment + 3, b);
    for (int i = 0; i < 4; i++) {
        if (a[i] < -ON_FACE && b[i] < -ON_FACE) return false;
        if (a[i] < 0.0 && b[i] < 0.0) continue;
        if (a[i] < 0.0) enter = fmax(enter, a[i] / (a[i] - b[i]));
        if (b[i] < 0.0) leave = fmin(leave, a[i] / (a[i] - b[i]));
    }
    return leave - enter > GRAZES;
}

/* Radius of a bone over the half-thickness of the flesh around it: of femur and humerus in thigh and upper arm; those
 * of forearms and fingers are thicker. Bones would else be as thin as the mesh is fine, and limbs turn about them. */
#define BONE_RADIUS 0.2

typedef struct bone_query {
    const su_tets *mesh;
    const double *depth, *half; /* (n) under the skin, and local half-thickness */
    const double *segment;
    int32_t bone;
    const uint8_t *foreign; /* (n) or NULL */
    double *distance;
    su_held *held;
} bone_query;

static void hold_vertex(bone_query *q, int32_t v, double distance)
{
    if (distance >= q->distance[v] || (q->foreign && q->foreign[v])) return;
    q->held->fixed[v] = 1, q->held->bone[v] = q->bone, q->distance[v] = distance;
}

static bool hold_tet(void *context, int32_t e)
{
    bone_query *q = context;
    const int32_t *tet = q->mesh->tets + 4 * (int64_t)e;
    if (!segment_meets_tet(q->mesh->x, tet, q->segment)) return true;
    for (int i = 0; i < 4; i++) {
        int32_t v = tet[i];
        hold_vertex(q, v, distance_to_segment(q->mesh->x + 3 * (int64_t)v, q->segment));
    }
    return true;
}

/* The vertices inside of the bone; of one that runs along the skin those that lie deeper than beside it. */
static void hold_inside(bone_query *q)
{
    for (int64_t v = 0; v < q->mesh->n; v++) {
        double d = distance_to_segment(q->mesh->x + 3 * v, q->segment);
        if (d <= BONE_RADIUS * q->half[v] && d <= q->depth[v]) hold_vertex(q, (int32_t)v, d);
    }
}

static int32_t owner_of(const su_held_bones *bones, int64_t segment)
{
    return bones->owner ? bones->owner[segment] : (int32_t)segment;
}

static const uint8_t *foreign_to(const su_held_bones *bones, const su_tets *mesh, int32_t bone)
{
    return bones->foreign ? bones->foreign + bone * mesh->n : NULL;
}

static su_status hold_by_bones(const su_tets *mesh, const su_held_bones *bones, const double *depth, const double *half,
                               su_held *held, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree tree = {0};
    double *distance = NULL;
    SU_GO(su_boxtree_of_tets(mesh->x, mesh->t, mesh->tets, &tree, err));
    SU_GO(SU_ALLOC(&distance, mesh->n, "bone distances", err));
    for (int64_t v = 0; v < mesh->n; v++) distance[v] = DBL_MAX;
    for (int64_t k = 0; k < bones->count; k++) {
        if (bones->holds && !bones->holds[k]) continue;
        int32_t bone = owner_of(bones, k);
        bone_query q = {.mesh = mesh,
                        .depth = depth,
                        .half = half,
                        .segment = bones->segments + 6 * k,
                        .bone = bone,
                        .foreign = foreign_to(bones, mesh, bone),
                        .distance = distance,
                        .held = held};
        double low[3], high[3];
        for (int i = 0; i < 3; i++)
            low[i] = fmin(q.segment[i], q.segment[3 + i]), high[i] = fmax(q.segment[i], q.segment[3 + i]);
        su_boxtree_overlap(&tree, low, high, hold_tet, &q);
        hold_inside(&q);
    }
done:
    su_boxtree_free(&tree);
    free(distance);
    return status;
}

/* What is held on one side is held on the other, too: a bone that runs close to a face passes through tets on one side
 * that it misses on the other. */
static su_status hold_mirrored(const su_tets *mesh, const su_held_bones *bones, su_held *held, su_error *err)
{
    su_kdtree *tree = NULL;
    uint8_t *before = NULL;
    su_status status = SU_OK;
    if (!(bones->reach > 0) || bones->mirror.axis < 0) return SU_OK;
    SU_GO(SU_ALLOC(&before, mesh->n, "held vertices", err));
    SU_GO(su_kdtree_create(mesh->n, mesh->x, &tree, err));
    memcpy(before, held->fixed, (size_t)mesh->n);
    for (int64_t v = 0; v < mesh->n; v++) {
        double image[3], distance, least = DBL_MAX;
        int32_t near;
        if (!before[v]) continue;
        for (int i = 0; i < 3; i++) image[i] = mesh->x[3 * v + i];
        image[bones->mirror.axis] = 2 * bones->mirror.at - image[bones->mirror.axis];
        if (su_kdtree_nearest(tree, image, 1, &near, &distance) < 1 || distance > bones->reach) continue;
        if (held->fixed[near]) continue;
        held->fixed[near] = held->bone[v] < 0;
        for (int64_t k = 0; held->bone[v] >= 0 && k < bones->count; k++) {
            const uint8_t *foreign = foreign_to(bones, mesh, owner_of(bones, k));
            if ((bones->holds && !bones->holds[k]) || (foreign && foreign[near])) continue;
            held->fixed[near] = 1;
            double d = distance_to_segment(mesh->x + 3 * (int64_t)near, bones->segments + 6 * k);
            if (d < least) least = d, held->bone[near] = owner_of(bones, k);
        }
    }
done:
    su_kdtree_free(tree);
    free(before);
    return status;
}

/* Depth over the half-thickness there beyond which a part without bones is held: its core, with two fifths of flesh
 * over it on either side. */
#define CORE 0.6

/* Fewer than three held vertices leave a part free to turn: the whole tet of the deepest vertex is held then. */
static void hold_core(const su_tets *mesh, const double *depth, const double *half, int64_t part, su_held *held)
{
    int32_t deepest = -1;
    int64_t in_tet = -1, count = 0;
    for (int64_t e = 0; e < mesh->t; e++) {
        if (held->part[e] != part) continue;
        for (int i = 0; i < 4; i++) {
            int32_t v = mesh->tets[4 * e + i];
            if (deepest < 0 || depth[v] > depth[deepest]) deepest = v, in_tet = e;
            if (!held->fixed[v] && depth[v] > 0.0 && depth[v] > CORE * half[v]) held->fixed[v] = 1, count++;
        }
    }
    for (int i = 0; count < 3 && i < 4; i++) held->fixed[mesh->tets[4 * in_tet + i]] = 1;
}

static su_status hold_parts(const su_tets *mesh, const double *depth, const double *half, su_held *held, su_error *err)
{
    su_status status = SU_OK;
    int32_t *vertex_part = NULL;
    int64_t *total = NULL, *fixed = NULL;
    SU_GO(SU_ALLOC(&vertex_part, mesh->n, "flesh parts", err));
    SU_GO(SU_ALLOC(&total, held->parts, "flesh parts", err));
    SU_GO(SU_ALLOC(&fixed, held->parts, "flesh parts", err));
    for (int64_t k = 0; k < 4 * mesh->t; k++) vertex_part[mesh->tets[k]] = held->part[k / 4];
    for (int64_t v = 0; v < mesh->n; v++) fixed[vertex_part[v]] += held->fixed[v];
    for (int64_t q = 0; q < held->parts; q++)
        if ((held->part_core[q] = fixed[q] < 3)) hold_core(mesh, depth, half, q, held);
    memset(fixed, 0, (size_t)held->parts * sizeof *fixed);
    for (int64_t v = 0; v < mesh->n; v++)
        total[vertex_part[v]]++, fixed[vertex_part[v]] += held->fixed[v], held->count += held->fixed[v];
    for (int64_t q = 0; q < held->parts; q++) held->part_share[q] = (double)fixed[q] / (double)total[q];
done:
    free(vertex_part);
    free(total);
    free(fixed);
    return status;
}

su_status su_held_find(const su_tets *mesh, const double *depth, const double *half, const su_held_bones *bones,
                       const uint8_t *wanted, su_held *out, su_error *err)
{
    su_status status = SU_OK;
    su_held held = {0};
    SU_GO(SU_ALLOC(&held.fixed, mesh->n, "held vertices", err));
    SU_GO(SU_ALLOC(&held.bone, mesh->n, "held vertices", err));
    SU_GO(SU_ALLOC(&held.part, mesh->t, "flesh parts", err));
    for (int64_t v = 0; v < mesh->n; v++) held.bone[v] = -1;
    SU_GO(su_tet_parts(mesh->t, mesh->tets, held.part, &held.parts, err));
    SU_GO(SU_ALLOC(&held.part_core, held.parts, "flesh parts", err));
    SU_GO(SU_ALLOC(&held.part_share, held.parts, "flesh parts", err));
    SU_GO(hold_by_bones(mesh, bones, depth, half, &held, err));
    for (int64_t v = 0; wanted && v < mesh->n; v++) held.fixed[v] |= wanted[v] != 0;
    SU_GO(hold_mirrored(mesh, bones, &held, err));
    SU_GO(hold_parts(mesh, depth, half, &held, err));
    *out = held;
    memset(&held, 0, sizeof held);
done:
    su_held_free(&held);
    return status;
}
