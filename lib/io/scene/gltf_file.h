/* A glTF 2.0 file as its specification lays it out: JSON, buffers, views and accessors, with the extensions that change
 * how numbers are stored (KHR_mesh_quantization, EXT_ and KHR_meshopt_compression). Internal to lib/io. */
#ifndef SU_IO_GLTF_FILE_H
#define SU_IO_GLTF_FILE_H

#include "core/memory.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct su_gltf_bytes {
    const unsigned char *data; /* NULL: not read yet */
    size_t size;
} su_gltf_bytes;

enum { SU_GLTF_FLOAT = 5126 }; /* componentType of floats; those of integers are smaller */

/* An accessor as numbers: normalized integers as they are meant, -1 to 1. */
typedef struct su_gltf_array {
    double *value; /* (count,width); NULL: not read yet */
    int64_t count, width;
    bool whole; /* stored as integers */
} su_gltf_array;

typedef struct su_gltf {
    const char *path;
    su_arena *arena;    /* owns all but json; borrowed */
    json_t *json;       /* owned */
    su_gltf_bytes blob; /* the binary chunk of a .glb */
    su_gltf_bytes *buffer, *view;
    su_gltf_array *array;
    char *message; /* (message_size) what is wrong; borrowed */
    size_t message_size;
} su_gltf;

/* 1 where the name ends in .gltf, .glb or .vrm (a GLB), or the file begins as a GLB does. */
int su_gltf_is(const char *path);

/* All functions that can fail return 1 or NULL then and have written a sentence to g->message (once: the first stays).
 * Lack of memory is in g->arena->failed, too. */
int su_gltf_fail(su_gltf *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
int su_gltf_no_memory(su_gltf *g);

/* Reads the JSON into a zeroed su_gltf of which path, arena, message and message_size are set. Refuses glTF 1.0 and, by
 * name, what the file requires and we do not know. Close it in any case. */
int su_gltf_open(su_gltf *g);
void su_gltf_close(su_gltf *g);

/* Entry of a list of the file ("nodes"); NULL where there is none. */
const json_t *su_gltf_item(const su_gltf *g, const char *list, int64_t index);
/* An integer of an object, fallback where it has none. */
int64_t su_gltf_integer(const json_t *object, const char *key, int64_t fallback);
/* Numbers of an array of `count`; 0 for success, 1 where it has not so many (out is then untouched). */
int su_gltf_numbers(const json_t *array, size_t count, double *out);

/* Components of an accessor's type ("VEC3"); 0: there is no such type. */
int64_t su_gltf_components(const char *type);
/* What an integer of a normalized accessor of that componentType stands for, -1 to 1; of other types the value itself.
 */
double su_gltf_normalized(int64_t type, double value);
/* Bytes of a buffer view, decoded where it is compressed. */
const su_gltf_bytes *su_gltf_view(su_gltf *g, int64_t index);
/* Numbers of an accessor, which must have `width` components; width 0: any. Read once, kept in the arena. */
const su_gltf_array *su_gltf_accessor(su_gltf *g, int64_t index, int64_t width);

#endif
