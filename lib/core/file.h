/* Output files that appear under their final name only when whole. */
#ifndef SU_CORE_FILE_H
#define SU_CORE_FILE_H

#include "core/error.h"
#include "core/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A file being written in the folder of its final place, without a name until it is whole, so that nothing is left of
 * it however the process ends; committed by fsync, under the name `<path>.tmp.<n>`, and rename. Where the file system
 * knows no such files it has that name from the start, is locked, and what a killed process left goes when the file is
 * written again. Every write is checked; the first failure sticks and is returned again by later calls. */
typedef struct su_output {
    FILE *stream;    /* positioned writes by fseeko are allowed */
    char *path;      /* final name */
    char *temporary; /* room for the other */
    bool named;      /* it has it */
} su_output;

/* Opens it in the folder of path. Fails with SU_FAILED where the folder is missing or not writable. */
su_status su_output_open(su_output *out, const char *path, su_error *err);
su_status su_output_write(su_output *out, const void *bytes, size_t count, su_error *err);
/* Flushes and fsyncs what has been written: where several files belong together, before the first is committed. */
su_status su_output_flush(su_output *out, su_error *err);
/* Flushes, fsyncs, closes, renames, fsyncs the folder. On failure the temporary is removed (SU_AGAIN: disk full, I/O).
 */
su_status su_output_commit(su_output *out, su_error *err);
/* The same for what never gets a name: data that wait beside the output until what stands before them is known.
 * Abandoned, not committed. */
su_status su_output_open_scratch(su_output *out, const char *beside, su_error *err);
/* `bytes` of zeros in such a file, mapped: room that the system can take back from memory. Belongs to the arena. */
su_status su_scratch_map(su_arena *arena, const char *beside, int64_t bytes, void *out, su_error *err);
/* Closes and removes the temporary. Safe after commit and on a zeroed struct. */
void su_output_abandon(su_output *out);

/* What an errno is worth that a system call on a file left. SU_AGAIN where another try may do better: a full disk, a
 * quota, an I/O error, no memory, no descriptors. Else `otherwise`: SU_INPUT for files that are read, SU_FAILED for
 * outputs. */
su_status su_file_status(int error, su_status otherwise);

/* Last component of a path; points into it. */
const char *su_base_name(const char *path);

/* XXH3-128 of a whole file as 32 hex digits. */
su_status su_file_digest(const char *path, char hex[33], su_error *err);

/* XXH3-128 accumulated over blocks: begin, add any number of blocks, end (frees). */
typedef struct su_digest su_digest;
su_digest *su_digest_begin(void); /* NULL: no memory */
void su_digest_add(su_digest *digest, const void *bytes, size_t count);
void su_digest_end(su_digest *digest, char hex[33]);

#endif
