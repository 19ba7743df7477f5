/* What the plain point caches (PC2, MDD) share: a fixed header, then positions read at an offset. */
#ifndef SU_IO_POSITIONS_H
#define SU_IO_POSITIONS_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

/* Opens a regular file and reads its first header_bytes. *fd is the caller's on success; *size in bytes. SU_INPUT where
 * it is missing or shorter. */
su_status su_positions_open(const char *path, size_t header_bytes, void *header, int *fd, int64_t *size, su_error *err);

/* Exactly `bytes` bytes from `offset`; SU_INPUT where the file ends before. */
su_status su_positions_read(const char *path, int fd, int64_t offset, void *out, size_t bytes, su_error *err);

#endif
