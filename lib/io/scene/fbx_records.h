/* The bytes of binary FBX, below any meaning. Internal to lib/io. */
#ifndef SU_IO_FBX_RECORDS_H
#define SU_IO_FBX_RECORDS_H

#include "core/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SU_FBX_TICKS 46186158000.0 /* units of its times in a second */

/* Room for one more behind `count` items of an array that has room for *room, which may move: it, or NULL where there
 * is no memory. */
void *su_fbx_one_more(su_arena *arena, void *items, int64_t count, int64_t *room, size_t size);

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
void su_fbx_put_little(unsigned char *p, uint64_t value, int bytes);
bool su_fbx_is_binary(const char *data, size_t size);
/* Binary: of the version that stands behind the magic; the first record is at 27. */
su_fbx_reader su_fbx_read_binary(const char *data, size_t size, su_arena *arena);
/* Reads the header of the record at `at`; false at the closing null record and where it is broken. */
bool su_fbx_open_record(const su_fbx_reader *reader, size_t at, size_t limit, su_fbx_record *out);
bool su_fbx_is_named(const su_fbx_record *record, const char *name);
/* The first property as an array of `type` ('d', 'i' or 'l'): count elements of `bytes` each, decompressed. */
unsigned char *su_fbx_read_array(const su_fbx_reader *reader, const su_fbx_record *record, char type, size_t bytes,
                                 int64_t *count);

typedef struct su_fbx_property {
    char type; /* 0: none */
    const unsigned char *data;
    size_t length; /* of strings */
} su_fbx_property;

/* The property at an offset, and where the next one stands; type 0 where it is broken or an array. */
size_t su_fbx_next_property(const su_fbx_reader *reader, const su_fbx_record *record, size_t at, su_fbx_property *out);
double su_fbx_real(su_fbx_property property); /* of any number, else 0 */
/* Property number `index` of a record, where those before it are numbers and strings. */
su_fbx_property su_fbx_property_at(const su_fbx_reader *reader, const su_fbx_record *record, size_t index);
int64_t su_fbx_whole(su_fbx_property property); /* of type L or I, else 0 */
bool su_fbx_text_is(su_fbx_property property, const char *text);

/* Is a name that no 0 ends this one? */
bool su_fbx_key_is(const char *key, size_t length, const char *name);

#endif
