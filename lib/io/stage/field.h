/* Rows of the schema tables, and checks across arrays that several kinds share. Only the kinds include this. */
#ifndef SU_IO_FIELD_H
#define SU_IO_FIELD_H

#include "geometry/rotation_field.h"
#include "io/stage/schema.h"

#include <stdint.h>

/* SU_REAL(su_tet, vertices, SU_F64, 0, "m", "meaning", dimensions...) */
#define SU_REAL(type, field, dtype, flags, unit, meaning, ...)                                                         \
    {                                                                                                                  \
#field, dtype, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                                             \
            {__VA_ARGS__ }, offsetof(type, field), flags, 0, 0, 0, unit, meaning                                       \
    }
/* SU_INDEX(su_tet, tets, SU_I32, 0, low, limit, extra, "meaning", dimensions...): values in [low, limit + extra). */
#define SU_INDEX(type, field, dtype, flags, low, limit, extra, meaning, ...)                                           \
    {                                                                                                                  \
#field, dtype, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                                             \
            {__VA_ARGS__ }, offsetof(type, field), flags, low, limit, extra, "1", meaning                              \
    }
#define SU_COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

/* All of these fail with SU_INPUT and a message that names file and array. */
su_status su_check_at_least(int64_t value, int64_t least, const char *what, const char *path, su_error *err);
/* Ascending by one step, to 1e-6 s. */
su_status su_check_times(const double *times, int64_t count, const char *path, su_error *err);
/* 4 x 4 matrices, row-major: orthonormal without reflection to 1e-6, last row 0 0 0 1. */
su_status su_check_rigid(const double *matrices, int64_t count, const char *name, const char *path, su_error *err);
su_status su_check_row_sums(const double *values, int64_t rows, int64_t columns, double sum, const char *name,
                            const char *path, su_error *err);
su_status su_check_range(const double *values, int64_t count, double low, double high, const char *name,
                         const char *path, su_error *err); /* low < value < high */
su_status su_check_ascending(const int32_t *values, int64_t count, int strictly, const char *name, const char *path,
                             su_error *err);
/* offsets[0] = 0, never falling, offsets[count - 1] = total. */
su_status su_check_offsets(const int32_t *offsets, int64_t count, int64_t total, const char *name, const char *path,
                           su_error *err);
/* Either all pointers are set or none; names for the message, "psd_params, psd_shapes and psd_rbf". */
su_status su_check_together(int present, int wanted, const char *names, const char *path, su_error *err);
/* parent[i] < count, never i itself, and no cycles; -1 at roots. */
su_status su_check_forest(const int32_t *parent, int64_t count, const char *name, const char *path, su_error *err);
/* No two rows nearer than 1e-6 after scaling. */
su_status su_check_apart(const double *params, const double *scale, int64_t m, int64_t s, const char *path,
                         su_error *err);
/* Rows of n vertices into nodes, each of positive weights that sum to 1, every node reached; absent: fine. */
su_status su_check_smoothing(int64_t n, int64_t n1, int64_t entries, const int32_t *start, const int32_t *node,
                             const double *weight, const char *path, su_error *err);
/* The same as the rotation field takes them; without nodes where they are absent. */
su_smoothing su_smoothing_of(int64_t n, const int32_t *start, const int32_t *node, const double *weight);
/* Positive volume of every tet: det[b-a, c-a, d-a] > 0. */
su_status su_check_tets(const double *vertices, const int32_t *tets, int64_t t, const char *path, su_error *err);

#endif
