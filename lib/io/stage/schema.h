/* One table per kind of file describes every array: name, type, shape in symbols, range. Loading, saving, checking,
 * `supple info` and the test of docs/formats.md all run from these tables. */
#ifndef SU_IO_SCHEMA_H
#define SU_IO_SCHEMA_H

#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/npz.h"

#include <stdbool.h>
#include <stddef.h>

/* Head of every file struct (its first member, named `file`). */
typedef struct su_file {
    json_t *meta;   /* owned */
    su_arena arena; /* owns the arrays that were allocated for this struct */
    su_npz *source; /* owns the map that loaded arrays point into; NULL for structs made in memory */
} su_file;

enum { SU_FIELD_OPTIONAL = 1, SU_FIELD_ANY_FLOAT = 2 /* NaN allowed */ };

/* A dimension: >= 0 a literal; else the count at byte offset -(dim + 1) of the struct (int64_t). */
#define SU_DIM(type, count) (-(int64_t)offsetof(type, count) - 1)

typedef struct su_field {
    const char *name;
    su_dtype type;
    int dimensions;
    int64_t shape[SU_MAX_DIMENSIONS];
    size_t offset; /* of the pointer in the struct */
    int flags;
    int64_t index_low;   /* integer arrays: smallest value allowed */
    int64_t index_limit; /* and one past the largest, a SU_DIM or literal; 0: unchecked */
    int64_t index_extra; /* added to index_limit (offsets run up to the count: 1) */
    const char *unit;    /* "m", "1", "rad^2/s^2" */
    const char *meaning; /* one line for info and docs */
} su_field;

typedef struct su_schema {
    const char *kind; /* "supple.tet" */
    int version;
    size_t size; /* of the struct */
    const su_field *fields;
    int count;
    const size_t *counts;           /* offsets of all int64_t counts */
    const char *const *count_names; /* "F", "n", ...: for messages and docs */
    int count_count;
    /* Checks across arrays after loading (offsets ascending, first angles 0, ...); NULL: none. */
    su_status (*check)(const void *object, const char *path, su_error *err);
} su_schema;

/* Loads a file of this kind into object (which is overwritten). Arrays are mapped where possible (private: writing to
 * them does not reach the file). Kind, version, types, shapes, consistent counts, finite floats and index ranges are
 * checked; the message names file and array. Absent optional arrays are NULL and their own counts 0. */
su_status su_schema_load(const su_schema *schema, const char *path, void *object, su_error *err);
/* Checks as loading does, then writes atomically. NULL pointers of optional fields are left out. */
su_status su_schema_save(const su_schema *schema, const char *path, const void *object, su_error *err);

/* The same with one array that is too large for memory: its pointer is NULL, and write appends its elements in C order
 * (su_npz_append), which the caller must have checked. */
typedef struct su_field_stream {
    const char *name;
    su_status (*write)(void *context, su_npz_writer *writer, su_error *err);
    void *context;
} su_field_stream;
su_status su_schema_save_streamed(const su_schema *schema, const char *path, const void *object,
                                  const su_field_stream *stream, su_error *err);
/* Releases everything the object owns and zeroes it. */
void su_schema_free(const su_schema *schema, void *object);
/* All kinds, for info: NULL-terminated. */
extern const su_schema *const su_schemas[];

/* Shape of a field in symbols: "(n,3)". */
void su_field_shape_text(const su_schema *schema, const su_field *field, char *out, size_t room);

/* Array of `count` elements owned by the file struct's arena: SU_FILE_ALLOC(&tet->file, &tet->vertices, 3 * n, err). */
su_status su_file_allocate(su_file *file, void *out, int64_t count, size_t size, const char *what, su_error *err);
#define SU_FILE_ALLOC(head, out, count, err)                                                                           \
    su_file_allocate(head, (void *)(out), (int64_t)(count), sizeof **(out), #out, err)
/* The same with a copy of `from` in it; NULL where that is. */
su_status su_file_copy(su_file *file, void *out, int64_t count, size_t size, const void *from, const char *what,
                       su_error *err);
#define SU_FILE_COPY(head, out, count, from, err)                                                                      \
    su_file_copy(head, (void *)(out), (int64_t)(count), sizeof **(out), from, #out, err)
/* Several of them: SU_FILE_ALLOC_ALL(&tet->file, err, SU_WANT(tet->vertices, 3 * n), SU_WANT(tet->tets, 4 * t)). */
#define SU_FILE_ALLOC_ALL(head, err, ...) SU_TAKE_ALL(&(head)->arena, "the arrays of a file", err, __VA_ARGS__)

/* Names of a meta list (param_names, object_names); NULL where index or key is absent. Borrowed. */
const char *su_file_name(const su_file *file, const char *key, int64_t index);

#endif
