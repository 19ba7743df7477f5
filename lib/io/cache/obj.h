/* Wavefront OBJ: positions, polygons, texture coordinates, object names, materials, groups, colours. Vertex order is
 * kept on both ways. */
#ifndef SU_IO_OBJ_H
#define SU_IO_OBJ_H

#include "core/error.h"
#include "geometry/looks.h"

#include <stdint.h>

typedef struct su_obj {
    int64_t vertices, faces, corners, uvs, objects;
    double *points;        /* (vertices,3) */
    float *color;          /* (vertices,4) "v x y z r g b", opacity 1; NULL: none */
    int32_t *face_counts;  /* (faces) */
    int32_t *face_indices; /* (corners) */
    float *uv;             /* (uvs,2); NULL: none */
    int32_t *uv_indices;   /* (corners); NULL where not every corner has one */
    int32_t *object_ids;   /* (vertices) object of the first face that uses it */
    char **object_names;   /* (objects) at least one */
    su_looks looks;        /* "usemtl" are materials, "g" are sets */
    char *library;         /* the first "mtllib" as it is written; NULL: none */
} su_obj;

/* Faces with fewer than 3 corners, lines and normals are passed over. Materials get their colours from the library
 * where it can be read. The group "default" is none. SU_INPUT with the line. */
su_status su_obj_load(const char *path, su_obj *obj, su_error *err);
/* Positions alone, for the later frames of a sequence: vertex and corner counts must be those given (-1: any). */
su_status su_obj_points(const char *path, int64_t vertices, double *points, su_error *err);
void su_obj_free(su_obj *obj);

/* Writes points (vertices,3; f32, nine significant digits: exact) with the topology of obj, whose own points are not
 * used. Objects whose vertices stand together are written one after the other, else all vertices first. Colours without
 * their opacity. comment: first line, NULL: none. */
su_status su_obj_save(const char *path, const su_obj *obj, const float *points, const char *comment, su_error *err);

/* The materials of a mesh as a library (.mtl) that "mtllib" names. */
su_status su_mtl_save(const char *path, const su_looks *looks, const char *comment, su_error *err);

#endif
