/* A clip out of a table of joint curves, for rigs that come without one. */
#ifndef SU_RIG_JOINT_CURVES_H
#define SU_RIG_JOINT_CURVES_H

#include "io/scene/scene.h"
#include "io/table.h"

/* Columns: `time` (s) or `frame` (divided by rate, Hz), ascending; NODE.rx, .ry, .rz: rotation vector about the node's
 * own axes, from its node pose, times `angle` (1: rad); NODE.tx, .ty, .tz: added to its translation, units of the file;
 * NODE.sx, .sy, .sz: factors on its scale; or the name of a blend shape: its weight. Each row is a key. The clip and
 * its arrays live in the scene's arena. SU_INPUT with the column where a name is unknown. */
su_status su_joint_curves(su_scene *scene, const su_table *table, const char *path, const char *name, double rate,
                          double angle, su_scene_clip *clip, su_error *err);

#endif
