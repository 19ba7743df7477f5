/* Wavefront OBJ: positions, polygons, texture coordinates, object names. Vertex order is kept on both ways. */
#ifndef SU_IO_OBJ_H
#define SU_IO_OBJ_H

#include "core/error.h"

#include <stdint.h>

typedef struct su_obj {
    int64_t vertices, faces, corners, uvs, objects;
    double *points;        /* (vertices,3) */
    float *color;          /* (vertices,3) "v x y z r g b"; NULL: none */
    int32_t *face_counts;  /* (faces) */
    int32_t *face_indices; /* (corners) */
    float *uv;             /* (uvs,2); NULL: none */
    int32_t *uv_indices;   /* (corners); NULL where not every corner has one */
    int32_t *object_ids;   /* (vertices) object of the first face that uses it */
    char **object_names;   /* (objects) at least one */
} su_obj;

/* Faces with fewer than 3 corners, lines, groups, normals and materials are passed over. SU_INPUT with the line. */
su_status su_obj_load(const char *path, su_obj *obj, su_error *err);
/* Positions alone, for the later frames of a sequence: vertex and corner counts must be those given (-1: any). */
su_status su_obj_points(const char *path, int64_t vertices, double *points, su_error *err);
void su_obj_free(su_obj *obj);

/* Writes points (vertices,3; f32, nine significant digits: exact) with the topology of obj, whose own points are not
 * used. Objects whose vertices stand together are written one after the other, else all vertices first. comment: first
 * line, NULL: none. */
su_status su_obj_save(const char *path, const su_obj *obj, const float *points, const char *comment, su_error *err);

#endif
