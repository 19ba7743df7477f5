/* The control points of binary FBX meshes: assimp gives a vertex for each polygon corner, artists count control points.
 * Internal to lib/io. */
#ifndef SU_IO_FBX_POINTS_H
#define SU_IO_FBX_POINTS_H

#include "io/scene.h"

/* Sets mesh->control_point where a geometry of the file has just the corners of the mesh; leaves the others alone, and
 * everything where the file is not a binary FBX. */
void su_fbx_control_points(const char *path, su_scene *scene);

#endif
