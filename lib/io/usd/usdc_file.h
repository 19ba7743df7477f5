/* The crate container of binary USD layers (.usdc, version 0.7.0), writing: values go to the file as they come, the
 * tables of tokens, fields, paths and specs behind them at the commit. Compressed tables are stored as literals, which
 * every reader unpacks. The first failure sticks; later calls do nothing, and the commit says it. Internal to
 * lib/io. */
#ifndef SU_IO_USDC_FILE_H
#define SU_IO_USDC_FILE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Numbers of types as the format has them (OpenUSD's crateDataTypes.h). */
typedef enum su_usdc_type {
    SU_USDC_BOOL = 1,
    SU_USDC_INT = 3,
    SU_USDC_FLOAT = 8,
    SU_USDC_DOUBLE = 9,
    SU_USDC_STRING = 10,
    SU_USDC_TOKEN = 11,
    SU_USDC_MATRIX4D = 15,
    SU_USDC_VEC2F = 20,
    SU_USDC_VEC3F = 24,
    SU_USDC_DICTIONARY = 31,
    SU_USDC_TOKEN_LIST = 32,
    SU_USDC_PATH_LIST = 34,
    SU_USDC_TOKEN_VECTOR = 41,
    SU_USDC_SPECIFIER = 42,
    SU_USDC_VARIABILITY = 44,
    SU_USDC_SAMPLES = 46,
    SU_USDC_DOUBLE_VECTOR = 48,
    SU_USDC_OFFSET_VECTOR = 49,
    SU_USDC_STRING_VECTOR = 50,
    SU_USDC_BLOCK = 51 /* None */
} su_usdc_type;

typedef enum su_usdc_spec {
    SU_USDC_ATTRIBUTE = 1,
    SU_USDC_PRIM = 6,
    SU_USDC_LAYER = 7,
    SU_USDC_RELATIONSHIP = 8
} su_usdc_spec;

typedef struct su_usdc_file su_usdc_file;
typedef uint64_t su_usdc_value; /* what the format calls a value representation */

su_status su_usdc_create(const char *path, su_usdc_file **out, su_error *err);
/* Writes the tables and gives the file its final name. Frees the file in every case. */
su_status su_usdc_commit(su_usdc_file *file, su_error *err);
void su_usdc_abandon(su_usdc_file *file);
su_status su_usdc_status(const su_usdc_file *file);

/* ---- values ---- */

su_usdc_value su_usdc_word(su_usdc_file *file, su_usdc_type type, const char *text); /* a token or string */
su_usdc_value su_usdc_small(su_usdc_type type, uint32_t bits); /* bool, specifier, variability: in the value itself */
su_usdc_value su_usdc_float(float x);
su_usdc_value su_usdc_double(su_usdc_file *file, double x);
/* `bytes` as they are: matrices, vectors; array: `count` elements of them. */
su_usdc_value su_usdc_single(su_usdc_file *file, su_usdc_type type, const void *data, int64_t bytes);
su_usdc_value su_usdc_array(su_usdc_file *file, su_usdc_type type, int64_t count, const void *data, int64_t bytes);
/* A vector or array of tokens or strings, an explicit or prepended list of tokens. */
su_usdc_value su_usdc_words(su_usdc_file *file, su_usdc_type type, int64_t count, const char *const *texts);
/* An explicit list of one path. */
su_usdc_value su_usdc_target(su_usdc_file *file, int64_t path);
su_usdc_value su_usdc_times(su_usdc_file *file, int64_t count, const double *times);
su_usdc_value su_usdc_samples(su_usdc_file *file, su_usdc_value times, int64_t count, const su_usdc_value *values);
/* Offsets of `count` sublayers: none. */
su_usdc_value su_usdc_no_offsets(su_usdc_file *file, int64_t count);
/* A dictionary of strings: pairs of keys and values. */
su_usdc_value su_usdc_dictionary(su_usdc_file *file, int64_t count, const char *const (*pairs)[2]);

/* ---- specs ---- */

/* The path of a prim or, property, an attribute below another; the layer itself is path 0. Children come out in the
 * order in which their paths were made. */
int64_t su_usdc_path(su_usdc_file *file, int64_t parent, const char *name, bool property);
/* What follows belongs to this path. The names of children are added by the commit. */
void su_usdc_begin(su_usdc_file *file, int64_t path, su_usdc_spec type);
void su_usdc_field(su_usdc_file *file, const char *name, su_usdc_value value);

#endif
