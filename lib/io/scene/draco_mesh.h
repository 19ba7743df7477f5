/* A triangle mesh that Draco has packed, unpacked by libdraco, whose interface is C++. Internal to lib/io. */
#ifndef SU_IO_DRACO_MESH_H
#define SU_IO_DRACO_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct su_draco_mesh su_draco_mesh;

/* NULL: `why` (size) has a sentence without an end, empty where memory is what lacks. data is not kept; free the mesh.
 */
su_draco_mesh *su_draco_mesh_unpack(const unsigned char *data, size_t bytes, char *why, size_t size);
void su_draco_mesh_free(su_draco_mesh *mesh);

int64_t su_draco_mesh_points(const su_draco_mesh *mesh);
int64_t su_draco_mesh_faces(const su_draco_mesh *mesh);
/* out (faces,3): points. */
void su_draco_mesh_corners(const su_draco_mesh *mesh, double *out);
/* out (points,width): the attribute of that unique id as it is stored, integers (*whole) not normalized. False: there
 * is none, it has fewer components, or its data are broken. */
bool su_draco_mesh_attribute(const su_draco_mesh *mesh, int64_t id, int64_t width, double *out, bool *whole);

#ifdef __cplusplus
}
#endif

#endif
