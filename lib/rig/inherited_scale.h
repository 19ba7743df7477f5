/* Nodes that do not take all of the scale above them, as FBX has them. */
#ifndef SU_RIG_INHERITED_SCALE_H
#define SU_RIG_INHERITED_SCALE_H

#include "io/scene/scene.h"

/* local: (nodes,16) each node to its parent as its keys say; becomes what products of nodes expect, the node's own
 * scale rules worked in. May hold a shear then. */
void su_inherit_scales(const su_scene *scene, double *local);

#endif
