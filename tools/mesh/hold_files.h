/* The files a user gives to say what is held: bone segments, and skin vertices. */
#ifndef SU_TOOLS_MESH_HOLD_FILES_H
#define SU_TOOLS_MESH_HOLD_FILES_H

#include "core/error.h"

#include <stdint.h>

/* Bone segments (count,2,3): a .npy array of that shape, or a text file with six numbers a line (head, tail; metres).
 * Lines that start with '#' are skipped. Caller frees. */
su_status read_bones(const char *path, int64_t *count, double **segments, su_error *err);

/* Marks skin vertices: a .npy array of indices, or a text file with one index a line. marks (nbar), caller frees. */
su_status read_held_skin(const char *path, int64_t nbar, uint8_t **marks, su_error *err);

#endif
