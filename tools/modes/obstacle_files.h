/* Ground planes and colliders from the command line. */
#ifndef SU_MODES_OBSTACLE_FILES_H
#define SU_MODES_OBSTACLE_FILES_H

#include "core/tool.h"
#include "io/cache/obj.h"
#include "reduce/modes/obstacles.h"

typedef struct obstacle_file {
    int pose; /* -1: every pose */
    su_obstacle obstacle;
    su_obj mesh;
    int32_t *triangles; /* of a collider, owned */
} obstacle_file;

/* planes: [POSE:]X,Y,Z,NX,NY,NZ; colliders: [POSE:]FILE.obj. *out (*count) is the caller's, freed by obstacles_free. */
su_status obstacles_read(const su_list *planes, const su_list *colliders, int64_t *count, obstacle_file **out,
                         su_error *err);
void obstacles_free(int64_t count, obstacle_file *list);

#endif
