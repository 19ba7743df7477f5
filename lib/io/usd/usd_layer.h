/* One USD layer, reading: its prims, attributes and time samples, of text (.usda), of a crate (.usdc) or of the first
 * file in a package of these (.usdz). The file is mapped, and numbers are read where they are asked for. Nothing is
 * composed. */
#ifndef SU_IO_USD_LAYER_H
#define SU_IO_USD_LAYER_H

#include "core/error.h"
#include "io/usd/usd_value.h"

#include <stddef.h>

typedef struct su_usd_sample {
    double time; /* time code */
    su_usd_value value;
} su_usd_sample;

typedef struct su_usd_attribute {          /* or a relationship */
    su_usd_text type, name, interpolation; /* of an array, the type of its elements */
    su_usd_value value;
    int64_t samples, next; /* next of the same prim; -1: the last */
    su_usd_sample *sample; /* (samples) by time; those that say None are left out */
} su_usd_attribute;

typedef struct su_usd_prim {
    su_usd_text name, type;
    int64_t parent;    /* an earlier prim; -1: at the top. What stands below a prim follows it */
    int64_t attribute; /* the last; -1: none */
    bool defined;      /* "def", and so are all above it */
    bool inactive;
} su_usd_prim;

typedef struct su_usd_layer {
    char *path;
    const char *map; /* the file */
    size_t bytes;
    struct su_usd_crate *crate; /* NULL: text */
    bool no_memory;             /* a value could not be read for want of it */
    int64_t prims, attributes;
    su_usd_prim *prim;
    su_usd_attribute *attribute;
    double meters, codes_per_second; /* 0.01 and 24 where the layer does not say */
    bool says_meters;
    char up;         /* 'Y' or 'Z' */
    const char *arc; /* what of another layer or variant is asked for ("references", ...); NULL: nothing */
} su_usd_layer;

bool su_usd_is(su_usd_text text, const char *word);
/* An attribute of a prim by its name; NULL: it has none. */
const su_usd_attribute *su_usd_find(const su_usd_layer *layer, int64_t prim, const char *name);
bool su_usd_none(su_usd_value value);
/* What an attribute says where time does not matter: its value, else the first sample. */
su_usd_value su_usd_first(const su_usd_attribute *attribute);
/* A token or string; size 0 where the value is none. */
su_usd_text su_usd_token(su_usd_value value);
/* Where a relationship points: *name is the last of its path, *prim its number, -1 where the layer does not have it.
 * False: nowhere. */
bool su_usd_target(const su_usd_layer *layer, const su_usd_attribute *relationship, su_usd_text *name, int64_t *prim);

/* Numbers of a value, of all its elements: at most `most` go to out (NULL: none does); quaternions real part first.
 * Returns how many there are, -1 where something else stands there or a number is not finite. */
int64_t su_usd_numbers(su_usd_value value, int64_t most, double *out);
/* The next token of a list of them; false at its end. *list moves on. */
bool su_usd_next_token(su_usd_value *list, su_usd_text *token);

/* ---- for the two kinds of file ---- */

/* One element more of array (count of room); SU_AGAIN. */
su_status su_usd_grow(const su_usd_layer *layer, void *array, int64_t count, int64_t *room, size_t size, su_error *err);
void su_usd_sort_samples(su_usd_attribute *attribute);

#endif
