/* NumPy .npz archives: a ZIP of .npy members plus meta.json. Written byte-reproducibly (fixed time stamps, stored,
 * array data aligned to 64 bytes, zip64 where needed); read from a memory map, stored or deflated. */
#ifndef SU_CORE_NPZ_H
#define SU_CORE_NPZ_H

#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define SU_MAX_DIMENSIONS 6

typedef enum su_dtype { SU_F64, SU_F32, SU_I32, SU_I64, SU_U8 } su_dtype;

size_t su_dtype_size(su_dtype type);
const char *su_dtype_name(su_dtype type); /* "f64", ... */

/* ---- writing ---- */

typedef struct su_npz_writer su_npz_writer;

su_status su_npz_create(const char *path, su_npz_writer **out, su_error *err);
/* Adds a whole C-ordered array. */
su_status su_npz_add(su_npz_writer *writer, const char *name, su_dtype type, int dimensions, const int64_t *shape,
                     const void *data, su_error *err);
/* Adds an array piece by piece: begin with the final shape, append elements in C order, end. One at a time. */
su_status su_npz_begin(su_npz_writer *writer, const char *name, su_dtype type, int dimensions, const int64_t *shape,
                       su_error *err);
su_status su_npz_append(su_npz_writer *writer, const void *data, int64_t elements, su_error *err);
su_status su_npz_end(su_npz_writer *writer, su_error *err);
/* Writes meta.json (keys sorted, so that bytes do not depend on insertion order), the directory, and commits. Frees the
 * writer in every case. */
su_status su_npz_commit(su_npz_writer *writer, const json_t *meta, su_error *err);
/* Drops everything written. NULL is fine. */
void su_npz_abandon(su_npz_writer *writer);
/* Uses zip64 records whatever the sizes, before the first array; lets tests reach them with small files. */
void su_npz_force_zip64(su_npz_writer *writer);

/* ---- reading ---- */

typedef struct su_npz su_npz;

typedef struct su_npz_entry {
    const char *name; /* array name without ".npy" */
    su_dtype type;
    int dimensions;
    int64_t shape[SU_MAX_DIMENSIONS];
    int64_t elements;
} su_npz_entry;

/* Opens and checks the directory and every array header; no array data is read yet. SU_INPUT with the file's name in
 * the message where it is missing, truncated or not an .npz. */
su_status su_npz_open(const char *path, su_npz **out, su_error *err);
void su_npz_close(su_npz *file);
const char *su_npz_path(const su_npz *file);
const json_t *su_npz_meta(const su_npz *file); /* borrowed; an empty object where there is no meta.json */
int su_npz_count(const su_npz *file);
const su_npz_entry *su_npz_entry_at(const su_npz *file, int index);
const su_npz_entry *su_npz_find(const su_npz *file, const char *name); /* NULL: absent */
/* Arrays that are there but of no use (big-endian, structured, too many dimensions) are not listed; this says why
 * ("is big-endian ..."). NULL: no such array. */
const char *su_npz_refused(const su_npz *file, const char *name);

/* Data of a member, CRC checked. Stored and aligned members point into the map (valid until close); others are
 * decompressed into memory that the file owns. */
su_status su_npz_data(su_npz *file, const su_npz_entry *entry, const void **data, su_error *err);
/* Copies the data of a member, converted to the wanted type where that loses nothing (f32 -> f64, i32 <-> i64 in
 * range, u8 -> i32, f64 -> f32 where the caller asks for f32). */
su_status su_npz_copy(su_npz *file, const su_npz_entry *entry, su_dtype type, void *data, su_error *err);

/* A single .npy file: f8, f4, i4, i8 or u1, any order of up to SU_MAX_DIMENSIONS, converted to `type` in C order.
 * *data is the caller's, freed by free(). */
su_status su_npy_load(const char *path, su_dtype type, int *dimensions, int64_t *shape, void **data, su_error *err);
su_status su_npy_save(const char *path, su_dtype type, int dimensions, const int64_t *shape, const void *data,
                      su_error *err);

#endif
