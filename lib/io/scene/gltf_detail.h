/* What assimp drops of a glTF file: stepped and cubic keys, more than four joints a vertex, and which of several nodes
 * of one name a joint or a channel means. Internal to lib/io. */
#ifndef SU_IO_GLTF_DETAIL_H
#define SU_IO_GLTF_DETAIL_H

#include "io/scene/scene.h"

#include <stddef.h>

/* Corrects a scene that assimp has read from this .gltf or .glb, with its own reading of the same file. 0 for success;
 * a file that needs nothing of it is left alone. */
int su_gltf_detail(const char *path, su_scene *scene, char *message, size_t message_size);

/* What is sound glTF and yet crashes assimp 5.2: 1 and a message that says what to do about it. 0 otherwise, for files
 * that cannot be read too. */
int su_gltf_refuse(const char *path, char *message, size_t message_size);

#endif
