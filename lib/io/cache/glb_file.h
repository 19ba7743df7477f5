/* The container of binary glTF 2.0: JSON lists and one binary chunk. Internal to lib/io/cache. */
#ifndef SU_IO_GLB_FILE_H
#define SU_IO_GLB_FILE_H

#include "core/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { SU_GLB_U8 = 5121, SU_GLB_U16 = 5123, SU_GLB_U32 = 5125, SU_GLB_FLOAT = 5126 };
enum { SU_GLB_NO_TARGET = 0, SU_GLB_ATTRIBUTES = 34962, SU_GLB_INDICES = 34963 };

typedef struct su_glb_file {
    json_t *views, *accessors, *meshes, *nodes, *skins, *channels, *samplers;
    uint8_t *data; /* the binary chunk */
    size_t count, capacity;
    int bad; /* something of the JSON could not be added: no memory */
    su_error *err;
} su_glb_file;

void su_glb_file_begin(su_glb_file *file, su_error *err);
void su_glb_file_free(su_glb_file *file);
su_status su_glb_no_memory(su_glb_file *file);

/* A new accessor over its own view: `elements` of `width` numbers (16: a 4x4 matrix). *data, a pointer to the numbers:
 * where they go, zeroed, until the next accessor. Returns its index; -1: no memory. */
int su_glb_accessor(su_glb_file *file, int64_t elements, int width, int type, int target, void *data);
/* glTF wants the range of positions and of key times. */
void su_glb_range(su_glb_file *file, int index, int64_t elements, int width, const float *values);
/* Head, JSON and chunk. Under the final name only when whole. */
su_status su_glb_write(su_glb_file *file, const char *path, const json_t *document);

#endif
