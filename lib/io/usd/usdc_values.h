/* Crates of USD (.usdc), reading: what a value says. usdc_read makes the tables. Internal to lib/io. */
#ifndef SU_IO_USDC_VALUES_H
#define SU_IO_USDC_VALUES_H

#include "core/memory.h"
#include "io/usd/usd_value.h"

#include <string.h>

/* Bits of a value: 48 of payload, a byte of type, and whether it is an array (63), in the word itself (62), packed
 * (61). */
#define SU_CRATE_INLINED ((uint64_t)1 << 62)
#define SU_CRATE_PAYLOAD (((uint64_t)1 << 48) - 1)

typedef struct su_crate_path {
    int32_t parent, token; /* the root's parent: -1. A property's token is told by `property` */
    int32_t child, next;   /* first child; next of the same parent; -1: none */
    int32_t prim;          /* its number in the layer; -1: none */
    bool property;
    uint8_t spec; /* su_usdc_spec; 0: none */
    int64_t fields;
} su_crate_path;

struct su_usd_crate {
    const uint8_t *at;
    int64_t bytes;
    int minor; /* of the version 0.minor */
    su_arena arena;
    int64_t tokens, strings, fields, entries, paths;
    su_usd_text *token;
    const uint8_t *string; /* (strings) 32 bits each: a token */
    int64_t *field_name;   /* (fields) a token */
    uint64_t *field_value; /* (fields) */
    int64_t *entry;        /* (entries) fields of all specs, each spec's up to a -1 */
    su_crate_path *path;   /* (paths) */
    bool *no_memory;       /* once something could not be unpacked for want of it: values are constant */
};

/* A little-endian number of the file, which is as the machine has them. */
static inline uint64_t su_crate_number(const uint8_t *at, int bytes)
{
    uint64_t out = 0;
    memcpy(&out, at, (size_t)bytes);
    return out;
}

/* 8 bytes at an offset of the file; false: it does not have them. */
static inline bool su_crate_word(const struct su_usd_crate *c, uint64_t offset, uint64_t *out)
{
    if (offset > (uint64_t)c->bytes || (uint64_t)c->bytes - offset < 8) return false;
    *out = su_crate_number(c->at + offset, 8);
    return true;
}

static inline int su_crate_type(uint64_t word) { return (int)(word >> 48 & 0xff); }

/* What usd_layer.h says of values, for those of a crate. */
su_usd_text su_crate_token(su_usd_value value);
int su_crate_target(su_usd_value value, int64_t number, int most,
                    su_usd_text *names); /* the names of its path; -1: nowhere */
int64_t su_crate_numbers(su_usd_value value, int64_t most, double *out);
bool su_crate_next_token(su_usd_value *list, su_usd_text *token);
void su_crate_free(struct su_usd_crate *crate);

#endif
