/* The .npy header and element conversions; shared by the archive reader and writer and by caches that stream. */
#ifndef SU_CORE_NPY_H
#define SU_CORE_NPY_H

#include "core/npz.h"

enum { SU_NPY_HEADER_MAX = 1024, SU_NPY_ALIGN = 64 };

/* What a .npy header says. Elements are stored as `type`; SU_U8 with `is_signed` is numpy's int8. */
typedef struct su_npy_header {
    size_t bytes; /* header length: data starts here */
    su_dtype type;
    bool is_signed;
    bool fortran;
    int dimensions;
    int64_t shape[SU_MAX_DIMENSIONS];
    int64_t elements;
    char refused[120]; /* why this array cannot be used (type, dimensions); "" where it can */
} su_npy_header;

/* Length of the whole header from its first 12 bytes; 0 where these do not begin a .npy of a known version or where
 * the header is longer than 64 KB. */
size_t su_npy_header_length(const unsigned char *bytes, size_t available);
/* Parses a header of `length` bytes. False: damaged. A well-formed header of an array that supple has no use for is
 * true with `refused` set. */
bool su_npy_parse(const unsigned char *bytes, size_t length, su_npy_header *header);
/* Writes a version 1.0 header of a multiple of 64 bytes; returns its length. */
size_t su_npy_format(char out[SU_NPY_HEADER_MAX], su_dtype type, int dimensions, const int64_t *shape);

/* Elements of a shape; -1 where negative or beyond int64 (in bytes too). */
int64_t su_npy_elements(int dimensions, const int64_t *shape, size_t size);

/* Converts where nothing is lost; false at the first element that would lose (its index in *where). f64 -> f32 rounds,
 * but must stay finite. */
bool su_npy_convert(su_dtype from, const void *in, su_dtype to, void *out, int64_t count, int64_t *where);
/* Reorders Fortran-ordered elements to C order. */
void su_npy_to_c_order(const su_npy_header *header, const void *in, void *out);

#endif
