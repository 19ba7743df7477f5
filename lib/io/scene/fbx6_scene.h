/* A rigged scene out of an FBX file before version 7, which assimp does not read. Internal to lib/io. */
#ifndef SU_IO_FBX6_SCENE_H
#define SU_IO_FBX6_SCENE_H

#include "io/scene/fbx6_tree.h"
#include "io/scene/scene.h"

/* Fills a zeroed scene with models, meshes, skins, blend shapes, materials and takes of a file (fbx6_tree.h), which
 * ends with a 0 behind its size. 0 for success; 1 and a sentence in message. */
int su_fbx6_scene(const char *data, size_t size, su_scene *scene, char *message, size_t message_size);

#endif
