/* USD text layers (.usda), reading: prims, attributes and time samples of one layer as places in its text, which is
 * mapped; numbers are read where they are asked for. Nothing is composed. */
#ifndef SU_IO_USDA_READ_H
#define SU_IO_USDA_READ_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct su_usda_text { /* a piece of the layer; size 0: nothing */
    const char *at;
    int64_t size;
} su_usda_text;

typedef struct su_usda_sample {
    double time; /* time code */
    su_usda_text value;
} su_usda_sample;

typedef struct su_usda_attribute { /* or a relationship, of type "rel" */
    su_usda_text type, name, value, interpolation;
    int64_t samples, next;  /* next of the same prim; -1: the last */
    su_usda_sample *sample; /* (samples) by time; those that say None are left out */
} su_usda_attribute;

typedef struct su_usda_prim {
    su_usda_text name, type;
    int64_t parent;    /* an earlier prim; -1: at the top */
    int64_t attribute; /* the last; -1: none */
    bool defined;      /* "def", and so are all above it */
    bool inactive;
} su_usda_prim;

typedef struct su_usda {
    char *path;
    const char *map;
    size_t bytes;
    int64_t prims, attributes;
    su_usda_prim *prim;
    su_usda_attribute *attribute;
    double meters, codes_per_second; /* 0.01 and 24 where the layer does not say */
    bool says_meters;
    char up;         /* 'Y' or 'Z' */
    const char *arc; /* what of another layer or variant is asked for ("references", ...); NULL: nothing */
} su_usda;

/* SU_INPUT names the line; binary layers are refused with what to do. */
su_status su_usda_open(const char *path, su_usda *file, su_error *err);
void su_usda_close(su_usda *file);

bool su_usda_is(su_usda_text text, const char *word);
/* An attribute of a prim by its name; NULL: it has none. */
const su_usda_attribute *su_usda_find(const su_usda *file, int64_t prim, const char *name);
/* What an attribute says where time does not matter: its value, else the first sample. */
su_usda_text su_usda_value(const su_usda_attribute *attribute);
/* The prim at a path "/a/b" (a piece of text, with < and > around it or without); -1: there is none. */
int64_t su_usda_at(const su_usda *file, su_usda_text path);
/* A token or string without its quotes. */
su_usda_text su_usda_token(su_usda_text value);

/* Numbers in a value, brackets and commas between them passed over: at most `most` go to out (NULL: none does). Returns
 * how many there are, -1 where something else stands there or a number is not finite. */
int64_t su_usda_numbers(su_usda_text value, int64_t most, double *out);
/* The next "string" in a list of them; false at its end. *list moves on. */
bool su_usda_next_token(su_usda_text *list, su_usda_text *token);

#endif
