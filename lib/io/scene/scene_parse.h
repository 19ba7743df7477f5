/* Which reader a file goes to, in this process. Internal to lib/io. */
#ifndef SU_IO_SCENE_PARSE_H
#define SU_IO_SCENE_PARSE_H

#include "io/scene/scene.h"

#include <stddef.h>

/* Fills a zeroed scene from a file, in this process. 0 for success; 1 and a sentence in message, which for files that
 * are known and not read says what to do instead. */
int su_scene_parse(const char *path, su_scene *scene, char *message, size_t message_size);

#endif
