/* A scene as assimp and our own readers of what it drops see it: all formats but glTF. Internal to lib/io. */
#ifndef SU_IO_SCENE_ASSIMP_H
#define SU_IO_SCENE_ASSIMP_H

#include "io/scene/scene.h"

#include <stddef.h>

/* Fills a zeroed scene from a file, in this process. What assimp has to say about a bad file goes to message; where
 * memory was missing the scene's arena says so, whatever is returned. */
int su_assimp_scene(const char *path, su_scene *scene, char *message, size_t message_size);

#endif
