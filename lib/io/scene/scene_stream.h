/* How a scene crosses the pipe from the child that parsed it. Internal to lib/io. */
#ifndef SU_IO_SCENE_STREAM_H
#define SU_IO_SCENE_STREAM_H

#include "io/scene/scene.h"

#include <stddef.h>

/* Writes the whole scene to fd; 0 for success. */
int su_scene_encode(const su_scene *scene, int fd);
/* Reads it back into a zeroed scene. The bytes are not trusted: every count is checked against what is left. */
su_status su_scene_decode(const void *data, size_t count, su_scene *scene, su_error *err);

#endif
