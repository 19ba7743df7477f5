/* A layout cut into its objects, for formats that give every object a mesh of its own. */
#ifndef SU_IO_CACHE_PARTS_H
#define SU_IO_CACHE_PARTS_H

#include "core/error.h"
#include "core/memory.h"
#include "io/cache/cache_layout.h"

/* Polygons of a part that share a material, or are in a set. */
typedef struct su_cache_group {
    const char *name;
    int32_t material; /* of the layout's looks; -1: a set */
    int64_t faces;
    int32_t *face; /* (faces) of the part, ascending */
} su_cache_group;

typedef struct su_cache_part {
    const char *name;
    int64_t object;      /* of the layout */
    const double *xform; /* (4,4); NULL: identity */
    int64_t vertices, faces, corners, uvs;
    int32_t *vertex;                     /* (vertices) of the layout */
    int32_t *face_counts, *face_indices; /* in vertices of the part */
    float *uv;                           /* (uvs,2) */
    int32_t *uv_indices;                 /* (corners) */
    float *color;                        /* (vertices,4); NULL: none */
    int groups;
    su_cache_group *group; /* (groups) materials first, by their numbers; none is empty */
} su_cache_part;

typedef struct su_cache_parts {
    su_arena arena; /* owns everything */
    int count;
    su_cache_part *part; /* objects without vertices are left out */
    int64_t largest;     /* vertices of the largest part */
} su_cache_parts;

/* SU_INPUT where a polygon spans two objects or an index is out of range. */
su_status su_cache_parts_create(const su_cache_layout *layout, su_cache_parts *parts, su_error *err);
void su_cache_parts_free(su_cache_parts *parts);
/* out (part.vertices,3) from values (layout.vertices,3). */
void su_cache_part_gather(const su_cache_part *part, const float *values, float *out);

#endif
