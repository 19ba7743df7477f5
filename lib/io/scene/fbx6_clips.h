/* The takes of an FBX file before version 7. Internal to lib/io. */
#ifndef SU_IO_FBX6_CLIPS_H
#define SU_IO_FBX6_CLIPS_H

#include "io/scene/fbx6_model.h"
#include "io/scene/scene.h"

/* Clips of all takes that move a model: a key at every frame of the file's rate, or 30 a second, between the first key
 * of a take and its last. models (count). 1: no memory;
 * 2: a take is longer than any can be. */
int su_fbx6_clips(const su_fbx6_node *file, int64_t count, const su_fbx6_model *models, su_scene *scene);

#endif
