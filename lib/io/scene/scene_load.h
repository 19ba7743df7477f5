/* A rigged scene from a file, read in a child process. */
#ifndef SU_IO_SCENE_LOAD_H
#define SU_IO_SCENE_LOAD_H

#include "core/child.h"
#include "core/error.h"
#include "io/scene/scene.h"

/* Reads glTF 2.0, and through assimp any other skinned format that it knows. The parser runs in a child with these
 * limits (NULL: 120 s, 8 GiB): a crash costs one SU_INPUT. SU_INPUT too where numbers are not finite, indices out of
 * range, or there is neither a mesh nor a clip (joints that move without a mesh are a motion for another file's). */
su_status su_scene_load(const char *path, const su_child_limits *limits, su_scene *scene, su_error *err);

#endif
