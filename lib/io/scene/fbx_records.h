/* The bytes of FBX, binary and text, below any meaning. Internal to lib/io. */
#ifndef SU_IO_FBX_RECORDS_H
#define SU_IO_FBX_RECORDS_H

#include "core/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Records of a binary FBX: end offset, count and bytes of properties (32 bits each, 64 from version 7500 on), a name
 * with its length in one byte, properties, then nested records up to the end offset. */

typedef struct su_fbx_reader {
    const unsigned char *data;
    size_t size;
    bool wide;
    su_arena *arena;
} su_fbx_reader;

typedef struct su_fbx_record {
    size_t end, properties, property_count, children; /* offsets into the file */
    const char *name;
    size_t name_length;
} su_fbx_record;

uint64_t su_fbx_little(const unsigned char *p, int bytes);
bool su_fbx_is_binary(const char *data, size_t size);
/* Binary: of the version that stands behind the magic; the first record is at 27. */
su_fbx_reader su_fbx_read_binary(const char *data, size_t size, su_arena *arena);
/* Reads the header of the record at `at`; false at the closing null record and where it is broken. */
bool su_fbx_open_record(const su_fbx_reader *reader, size_t at, size_t limit, su_fbx_record *out);
bool su_fbx_is_named(const su_fbx_record *record, const char *name);
/* The first property as an array of `type` ('d', 'i' or 'l'): count elements of `bytes` each, decompressed. */
unsigned char *su_fbx_read_array(const su_fbx_reader *reader, const su_fbx_record *record, char type, size_t bytes,
                                 int64_t *count);

/* Text: behind the next "key:" that stands alone; NULL at the end. Strings and comments are passed over. */
const char *su_fbx_next_key(const char *at, const char **key, size_t *length);
bool su_fbx_key_is(const char *key, size_t length, const char *name);

#endif
