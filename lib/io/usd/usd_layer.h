/* One USD layer, reading: its prims, attributes and time samples, of text (.usda), of a crate (.usdc) or of a file in
 * a package of these (.usdz); or what several of them make together (usd_stage.h). Files are mapped, and numbers are
 * read where they are asked for. */
#ifndef SU_IO_USD_LAYER_H
#define SU_IO_USD_LAYER_H

#include "core/error.h"
#include "core/memory.h"
#include "io/usd/usd_value.h"

#include <stddef.h>

enum { SU_USD_DEEPEST = 256 }; /* levels of prims and of brackets, parts of a path */

typedef struct su_usd_sample {
    double time; /* time code */
    su_usd_value value;
} su_usd_sample;

typedef struct su_usd_attribute {          /* or a relationship */
    su_usd_text type, name, interpolation; /* of an array, the type of its elements */
    su_usd_value value, weight;            /* weight: metadata of inbetween shapes */
    bool blocked;                          /* the value is None, which hides those of weaker layers */
    int64_t samples, next;                 /* next of the same prim; -1: the last */
    su_usd_sample *sample;                 /* (samples) by time; those that say None are left out */
    int64_t origin;                        /* whose paths it speaks in; 0: the stage's own */
} su_usd_attribute;

/* What a prim, or the layer, takes from elsewhere: a composition arc. The strongest first. */
typedef enum su_usd_arc_kind {
    SU_USD_SUBLAYER,
    SU_USD_INHERIT,
    SU_USD_SELECTION, /* which variant of the set `asset` is taken: `prim` */
    SU_USD_REFERENCE,
    SU_USD_PAYLOAD,
    SU_USD_SPECIALIZE
} su_usd_arc_kind;

typedef struct su_usd_arc {
    su_usd_arc_kind kind;
    char edit;            /* of the list that weaker layers make: 'e' replaces, 'p' before, 'a' behind, 'd' without */
    su_usd_text asset;    /* a file; size 0: the same. Neither it nor prim: nothing, instead of weaker arcs */
    su_usd_text prim;     /* a path; size 0: the file's default prim */
    double offset, scale; /* time code here = offset + scale x code there */
} su_usd_arc;

typedef struct su_usd_prim {
    su_usd_text name, type;
    su_usd_text set;   /* it is the variant `name` of this set of its parent; size 0: it is a prim */
    int64_t parent;    /* an earlier prim; -1: at the top. What stands below a prim follows it */
    int64_t attribute; /* the last; -1: none */
    int64_t arc, arcs; /* the first, how many */
    char specifier;    /* 'd' def, 'o' over, 'c' class */
    char active;       /* 't', 'f'; 0: not said */
    bool defined;      /* def, and so are all above it */
    bool inactive;     /* or one above it is */
} su_usd_prim;

/* Paths of one layer in the terms of the layer that takes from it: what stands at or below `from` stands at `to`. */
typedef struct su_usd_origin {
    su_usd_text from, to;
    bool open;     /* within one layer: other paths mean the same; else they lead nowhere */
    int64_t outer; /* that of the layer that takes from it; 0: that is the stage */
} su_usd_origin;

typedef struct su_usd_layer {
    char *path, *entry; /* entry: the file in a package; NULL: path is none */
    const char *map;    /* the file */
    size_t bytes;
    struct su_usd_crate *crate; /* NULL: text */
    bool no_memory;             /* a value could not be read for want of it */
    int64_t prims, attributes, arcs;
    su_usd_prim *prim;
    su_usd_attribute *attribute;
    su_usd_arc *arc;
    int64_t own_arcs;                /* the first of them: sublayers */
    su_usd_text default_prim;        /* a name */
    double meters, codes_per_second; /* 0.01 and 24 where the layer does not say */
    bool says_meters;
    char up; /* 'Y' or 'Z' */

    /* of several composed */
    int64_t parts, origins;
    struct su_usd_layer **part; /* (parts) what holds the values */
    int64_t files;
    const char **file;     /* (files) that the stage takes from beside its own, each once; the parts' */
    su_usd_origin *origin; /* (origins) the first is none */
    su_arena arena;        /* of names and paths */
    char *missing;         /* the first file that is asked for and cannot be read; NULL: none */
} su_usd_layer;

bool su_usd_is(su_usd_text text, const char *word);
bool su_usd_same(su_usd_text a, su_usd_text b);
/* An order of texts, the shorter first. */
int su_usd_compare(su_usd_text a, su_usd_text b);
/* An attribute of a prim by its name; NULL: it has none. */
const su_usd_attribute *su_usd_find(const su_usd_layer *layer, int64_t prim, const char *name);
bool su_usd_none(su_usd_value value);
/* What an attribute says where time does not matter: its value, else the first sample. */
su_usd_value su_usd_first(const su_usd_attribute *attribute);
/* A token or string; size 0 where the value is none. */
su_usd_text su_usd_token(su_usd_value value);
/* Where a relationship points, of several targets the one of a number, from 0 on: *name is the last of its path, *prim
 * its number, -1 where the layer does not have it. False: nowhere. */
bool su_usd_target(const su_usd_layer *layer, const su_usd_attribute *relationship, int64_t number, su_usd_text *name,
                   int64_t *prim);

/* The length of a prim's path "/a/b", without variants, and the path, without an end. */
int64_t su_usd_path_size(const su_usd_layer *layer, int64_t prim);
void su_usd_write_path(const su_usd_layer *layer, int64_t prim, char *to);

/* Numbers of a value, of all its elements: at most `most` go to out (NULL: none does); quaternions real part first.
 * Returns how many there are, -1 where something else stands there or a number is not finite. */
int64_t su_usd_numbers(su_usd_value value, int64_t most, double *out);
/* The next token of a list of them; false at its end. *list moves on. */
bool su_usd_next_token(su_usd_value *list, su_usd_text *token);

/* ---- for the two kinds of file ---- */

/* One element more of array (count of room); SU_AGAIN. */
su_status su_usd_grow(const su_usd_layer *layer, void *array, int64_t count, int64_t *room, size_t size, su_error *err);
void su_usd_sort_samples(su_usd_attribute *attribute);
/* The same as su_usd_find. */
su_usd_attribute *su_usd_attribute_of(const su_usd_layer *layer, int64_t prim, su_usd_text name);
/* Enters a prim, of which all but attribute, defined and inactive are set; SU_AGAIN. */
su_status su_usd_add_prim(su_usd_layer *layer, int64_t *room, su_usd_prim prim, su_error *err);
/* Enters an arc, whose prim then says where it stands; SU_AGAIN. */
su_status su_usd_add_arc(su_usd_layer *layer, int64_t *room, su_usd_arc arc, su_error *err);
/* The parts of a text path "/a/b" to names; without variants. Returns how many, -1: it is none, or has more than most.
 */
int su_usd_path_names(su_usd_text path, int most, su_usd_text *names);
/* The prim that names lead to, from prim `at` (-1: the top); -1: none. */
int64_t su_usd_prim_at(const su_usd_layer *layer, int64_t at, int count, const su_usd_text *names);

#endif
