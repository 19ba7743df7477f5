/* What `supple import --list` prints. */
#ifndef IMPORT_LIST_H
#define IMPORT_LIST_H

#include "io/scene.h"

#include <stdio.h>

void print_scene(FILE *out, const su_scene *scene);

#endif
