/* Stanford PLY, ASCII and binary of either byte order: vertices (x y z; colours red green blue alpha; texture
 * coordinates s t, u v or texture_u texture_v) and faces (a list vertex_indices or vertex_index). Everything else is
 * passed over. */
#ifndef SU_IO_PLY_H
#define SU_IO_PLY_H

#include "io/cache/obj.h"

/* As su_obj_points. */
su_status su_ply_points(const char *path, int64_t vertices, double *points, su_error *err);

/* A mesh file of a kind that its name tells: .ply, else OBJ (as su_obj_load). A PLY is one object, called "mesh". Freed
 * by su_obj_free. */
su_status su_mesh_file_load(const char *path, su_obj *mesh, su_error *err);

#endif
