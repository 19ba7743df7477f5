/* The vertices that an artist sees: assimp gives FBX and Collada meshes a vertex for each polygon corner and cuts them
 * by material. The files themselves are read again for the meshes as they are. Internal to lib/io. */
#ifndef SU_IO_CONTROL_POINTS_H
#define SU_IO_CONTROL_POINTS_H

#include "io/scene/scene.h"

#include <stddef.h>

typedef struct su_control_mesh {
    int64_t points, corners;
    double *position; /* (points,3) */
    int32_t *corner;  /* (corners) -1 - index at the end of each polygon */
} su_control_mesh;

/* Sets control_point, source_polygon and source_mesh of the meshes under one node that together repeat the polygons of
 * `mesh`, in their order, each by its first corners. Nothing where there are none, or where points belong to no
 * polygon: then the order of the file cannot be kept. */
void su_control_points_match(su_scene *scene, const su_control_mesh *mesh);

/* Do so for all meshes of a file, of an FBX by its bytes (su_fbx_file); whatever is not understood is passed over. */
void su_fbx_control_points(const char *data, size_t size, su_scene *scene);
/* Joints of skins, too, where a mesh has the name of one. */
void su_collada_control_points(const char *path, su_scene *scene);

/* A model whose name another one has: where its name stands, and what it was. */
typedef struct su_fbx_name {
    char *place; /* (length), not ended by a 0 */
    size_t length;
    const char *name;
} su_fbx_name;

/* FBX knows its models by number and may give several one name; assimp goes by names. Writes other names of the same
 * length over all but the first of each, in the file's bytes (with a 0 behind them), and returns how many (*names,
 * from the arena). */
int64_t su_fbx_unique_names(char *data, size_t size, su_arena *arena, su_fbx_name **names);

/* Links from a property to an object (of constraints, which are not read) have their numbers in another order than
 * assimp expects, and it gives up the file. Writes PP for PO in the file's bytes, which it passes over. */
void su_fbx_drop_links(char *data, size_t size, su_arena *arena);

/* Makes 0, in the file's bytes, of the range of each clip none of whose keys lies in it, so that assimp keeps them. */
void su_fbx_unsay_ranges(char *data, size_t size, su_arena *arena);

/* Moves the keys of an FBX to where the file has them: assimp begins every clip at 0. And says which are layered. A
 * clip is known by its name and its place among those of that name. */
void su_fbx_clip_times(const char *data, size_t size, su_scene *scene);

/* A whole file with a 0 behind it, in the scene's arena; NULL where it cannot be read. */
char *su_control_points_text(const char *path, su_scene *scene, size_t *size);
/* That of an FBX, of text the binary one that says the same (fbx_text.h). */
char *su_fbx_file(const char *path, su_scene *scene, size_t *size);

#endif
