/* Shared by the files that build a character. */
#ifndef SU_RIG_CHARACTER_INTERNAL_H
#define SU_RIG_CHARACTER_INTERNAL_H

#include "rig/bind_pose.h"
#include "rig/character.h"

/* Skinning of the source vertices before they are welded. */
typedef struct su_source_skin {
    double *points;        /* (N,3) neutral pose */
    double *shape_offsets; /* (K,N,3) */
    su_skin skin;          /* (N) rows, bones ascending */
} su_source_skin;

/* A body of objects hangs on so many joints at least: a trunk and limbs. On fewer hang a floor and a hat. */
enum { SU_JOINTS_OF_A_BODY = 3 };

/* Turns what was placed as it was bound (how (parts): SU_BIND_OPEN) by right angles until most of the skin stands as in
 * the node pose; that pose itself must not leak into the neutral shape. */
su_status su_character_stand_upright(su_character *c, su_bind_pose *bind, const su_bind_known *how, su_arena *scratch,
                                     su_error *err);
/* Bones of all parts, parents first, with their rest; then the rows of `source`. Parts have their bind matrices. */
su_status su_character_bones(su_character *c, su_source_skin *source, su_arena *scratch, su_error *err);
/* Root frame, segments and bone_deforms, once the skin is welded. */
su_status su_character_skeleton(su_character *c, const su_bind_pose *bind, su_error *err);
/* For formats of which assimp gives a vertex for each polygon corner: source vertices and polygons become those of the
 * file. Objects of which the file's vertices are not known get the welded ones, in order of first use. */
su_status su_character_source_order(su_character *c, su_arena *scratch, su_error *err);

#endif
