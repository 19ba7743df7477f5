/* The Ogawa container: a tree of groups and data blocks, little-endian, unaligned. Written as a stream with bounded
 * memory under a temporary name; read by positions, every offset and size checked against the file. */
#ifndef SU_IO_OGAWA_H
#define SU_IO_OGAWA_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

/* A reference as files store it: offset of a block, top bit set for data. */
typedef uint64_t su_ogawa_ref;
#define SU_OGAWA_DATA ((su_ogawa_ref)1 << 63)
#define SU_OGAWA_EMPTY_GROUP ((su_ogawa_ref)0)
#define SU_OGAWA_EMPTY_DATA SU_OGAWA_DATA

/* ---- writing ---- */

typedef struct su_ogawa_writer su_ogawa_writer;

/* SU_FAILED where the folder is missing or not writable. */
su_status su_ogawa_create(const char *path, su_ogawa_writer **out, su_error *err);
/* A data block of head followed by body; both empty gives the empty reference. */
su_status su_ogawa_put_data(su_ogawa_writer *writer, const void *head, size_t head_size, const void *body,
                            size_t body_size, su_ogawa_ref *ref, su_error *err);
su_status su_ogawa_put_group(su_ogawa_writer *writer, uint64_t count, const su_ogawa_ref *children, su_ogawa_ref *ref,
                             su_error *err);
/* Stores the root, marks the file as complete and gives it its final name. Frees the writer in every case. */
su_status su_ogawa_commit(su_ogawa_writer *writer, su_ogawa_ref root, su_error *err);
/* Drops everything written. NULL is fine. */
void su_ogawa_abandon(su_ogawa_writer *writer);

/* ---- reading ---- */

typedef struct su_ogawa su_ogawa;

/* SU_INPUT where the file is missing, not Ogawa, or was not closed by its writer. */
su_status su_ogawa_open(const char *path, su_ogawa **out, su_error *err);
void su_ogawa_close(su_ogawa *file);
const char *su_ogawa_path(const su_ogawa *file);
su_ogawa_ref su_ogawa_root(const su_ogawa *file);
/* Children of a group: *children is the caller's, freed by free(); NULL where count is 0. */
su_status su_ogawa_group(const su_ogawa *file, su_ogawa_ref ref, uint64_t *count, su_ogawa_ref **children,
                         su_error *err);
/* Payload size of a data block. */
su_status su_ogawa_size(const su_ogawa *file, su_ogawa_ref ref, uint64_t *size, su_error *err);
/* Copies count payload bytes from offset. Thread-safe. */
su_status su_ogawa_read(const su_ogawa *file, su_ogawa_ref ref, uint64_t offset, void *bytes, uint64_t count,
                        su_error *err);

#endif
