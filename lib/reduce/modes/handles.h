/* Handles of regions (PSSD section 7): points and segments of the neutral pose, from a file or from bones. */
#ifndef SU_REDUCE_HANDLES_H
#define SU_REDUCE_HANDLES_H

#include "core/error.h"
#include "geometry/tetmesh.h"

#include <stdint.h>

/* A handle is a point (both ends equal) or a segment at the neutral pose, m. Handles of one name form one region. */
typedef struct su_handle {
    char name[64];
    double ends[6];
} su_handle;

/* Number of regions, counted in the order in which their names first appear; region (count): that of each handle, or
 * NULL. */
int64_t su_handle_regions(int64_t count, const su_handle *handles, int32_t *region);

/* Reads `name,x,y,z` or `name,x,y,z,x,y,z` a line; empty lines and lines that start with # are skipped. *handles is the
 * caller's, freed by free(). SU_INPUT with the line in the message. */
su_status su_handles_read(const char *path, int64_t *count, su_handle **handles, su_error *err);

/* Bones of the neutral pose, borrowed. */
typedef struct su_bone_segments {
    int64_t count;
    const char *const *names; /* (count) may hold NULLs */
    const double *ends;       /* (count,2,3) m */
} su_bone_segments;

/* Handles from a list `BONE,REGION=BONE+BONE,...` whose bones may be patterns (fnmatch: ear*.L). what: the option,
 * for messages. SU_USAGE where the list is malformed, SU_INPUT where a bone is missing. *handles is the caller's. */
su_status su_handles_of_bones(const char *list, const char *what, const su_bone_segments *bones, int64_t *count,
                              su_handle **handles, su_error *err);

/* `count` points, a region each, spread over the vertices that are not held (held (n), 1; NULL: all): the first is the
 * one farthest from their mean, each next one the farthest from those before it. Fewer than count vertices: SU_INPUT.
 * *handles is the caller's. */
su_status su_handles_spread(int64_t n, const double *vertices, const uint8_t *held, int64_t count, su_handle **handles,
                            su_error *err);

/* The flesh vertices of each handle: a point is its nearest vertex, a segment the corners of the tets it crosses (its
 * nearest vertex where it crosses none); what two handles claim goes to the nearer one, to the first at equal distance.
 * region_of (n): region that holds a vertex, -1: none. SU_INPUT where that leaves a region without a vertex. */
su_status su_handle_vertices(const su_tet_mesh *mesh, int64_t count, const su_handle *handles, int32_t *region_of,
                             su_error *err);

#endif
