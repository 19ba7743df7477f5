/* A rigged scene out of an FBX file before version 7, which assimp does not read. Internal to lib/io. */
#ifndef SU_IO_FBX6_SCENE_H
#define SU_IO_FBX6_SCENE_H

#include "io/scene/scene.h"

#include <stddef.h>

/* Fills a zeroed scene, in this process: models, meshes, skins, blend shapes, materials, takes. 0 for success; 1 and a
 * sentence in message. */
int su_fbx6_scene(const char *path, su_scene *scene, char *message, size_t message_size);

#endif
