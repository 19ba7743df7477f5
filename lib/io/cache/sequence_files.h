/* The numbered files that a pattern stands for. */
#ifndef SU_IO_SEQUENCE_FILES_H
#define SU_IO_SEQUENCE_FILES_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_file_list {
    char **paths; /* (count) by number */
    int64_t count;
    int64_t first; /* number of the first file; 0 where the name has none */
} su_file_list;

/* True where the last component of a path has a frame number (%d, %04d, ####, $F, $F4) or a wildcard (* ?). */
bool su_is_pattern(const char *path);
/* Files of the pattern, or the path itself. SU_INPUT where there is none, a number is missing or stands twice. */
su_status su_file_list_find(const char *path, su_file_list *list, su_error *err);
/* How many files differ from this one in the last number of their names alone, itself included, and the pattern of all
 * of them (the caller's; NULL: its name has no number). */
su_status su_numbered_neighbours(const char *path, char **pattern, int64_t *count, su_error *err);
void su_file_list_free(su_file_list *list);
/* The path of one frame: the number filled in. SU_USAGE where there is not exactly one. Caller frees. */
su_status su_pattern_path(const char *pattern, int64_t number, char **path, su_error *err);

#endif
