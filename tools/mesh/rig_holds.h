/* What a rig's joints hold: flesh along their bones, and the inside of what their names call hard. */
#ifndef SU_MESH_RIG_HOLDS_H
#define SU_MESH_RIG_HOLDS_H

#include "core/tool.h"
#include "geometry/surface.h"
#include "geometry/tetmesh.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"

/* Segments as su_held_bones wants them; owned. */
typedef struct rig_bones {
    int64_t count;
    double *segments; /* (count,2,3) */
    uint8_t *holds;   /* (count) */
    int32_t *owner;   /* (count) joint */
} rig_bones;

void rig_bones_free(rig_bones *bones);

/* Each joint's own segment, and from joints that hold to every child whose flesh follows the rig: a pelvis reaches to
 * both thighs, a skull to both ears. A joint holds unless it or one of its ancestors is named by --free, or no skin
 * vertex follows it; no segment leads to a child that its name calls soft. Where the skin mirrors itself, ends that
 * nearly do as well are made to. Nothing where the rig has no joints. */
su_status rig_bones_find(su_tool *tool, const su_poses *poses, const su_surface *skin, const su_list *released,
                         rig_bones *out);

/* foreign (B,n), NULL where poses or rig do not tell: 1 where the skin that a flesh vertex is tied to goes more than
 * SU_PARTING_WAY (geometry/parting.h) off the way of the bone at some example pose: flesh of another limb that the bone
 * passes through at the neutral pose. Fitted flesh goes 4 % off its bones at most (notes/2026-11-fit.md). Caller
 * frees. */
su_status rig_foreign_flesh(su_tool *tool, const su_poses *poses, const su_tet *tet, double diagonal,
                            uint8_t **foreign);

/* Marks in kept (n) all flesh of the joints that match a pattern of `keep`. SU_INPUT where a pattern has none. */
su_status rig_kept_flesh(su_tool *tool, const su_poses *poses, const rig_bones *bones, const su_list *keep,
                         const su_tet *tet, uint8_t *kept);

/* Marks in hard (n) the flesh deep inside what the names of joints call hard (rig/joint_names.h), unless --free
 * releases it. depth, half (n): of geometry/thickness.h. */
su_status rig_hard_cores(su_tool *tool, const su_poses *poses, const rig_bones *bones, const su_tets *mesh,
                         const double *depth, const double *half, const su_tet *tet, uint8_t *hard);

#endif
