/* UsdSkel: the skins, skeletons and animations of one USD layer as a rigged scene. */
#ifndef SU_IO_USD_SKEL_H
#define SU_IO_USD_SKEL_H

#include "core/error.h"
#include "io/scene/scene.h"

#include <stdbool.h>
#include <stddef.h>

/* Is it a USD layer with a skeleton and a mesh that moves by one, and not by its own points, or a motion without any
 * mesh? *skinned is false where it cannot be read, too; SU_AGAIN where there is no memory. */
su_status su_usd_is_skinned(const char *path, bool *skinned, su_error *err);

/* Fills a zeroed scene, in this process: nodes of skeletons, joints and what stands above them, meshes with skins,
 * blend shapes and texture coordinates, a clip for each SkelAnimation. Nothing is composed. 0 for success; 1 and a
 * sentence in message. */
int su_usd_skel_scene(const char *path, su_scene *scene, char *message, size_t message_size);

#endif
