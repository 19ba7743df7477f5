/* A rigged scene out of a glTF 2.0 file (.gltf, .glb, .vrm), by the specification. Internal to lib/io. */
#ifndef SU_IO_GLTF_SCENE_H
#define SU_IO_GLTF_SCENE_H

#include "io/scene/scene.h"

#include <stddef.h>

/* Fills a zeroed scene, in this process. 0 for success; 1 and a sentence in message. */
int su_gltf_scene(const char *path, su_scene *scene, char *message, size_t message_size);

#endif
