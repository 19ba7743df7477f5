/* Alembic archives: objects, properties, samples, time samplings and metadata on top of the Ogawa container. What a
 * mesh or a transform is made of stands in io/alembic.h. */
#ifndef SU_IO_ABC_ARCHIVE_H
#define SU_IO_ABC_ARCHIVE_H

#include "io/alembic/ogawa.h"

#include <stdbool.h>

typedef enum su_abc_type {
    SU_ABC_BOOL,
    SU_ABC_U8,
    SU_ABC_I8,
    SU_ABC_U16,
    SU_ABC_I16,
    SU_ABC_U32,
    SU_ABC_I32,
    SU_ABC_U64,
    SU_ABC_I64,
    SU_ABC_F16,
    SU_ABC_F32,
    SU_ABC_F64,
    SU_ABC_STRING,
    SU_ABC_WSTRING
} su_abc_type;

typedef enum su_abc_kind {
    SU_ABC_COMPOUND,
    SU_ABC_SCALAR,
    SU_ABC_ARRAY,
    SU_ABC_SINGLE /* array whose samples all have one element */
} su_abc_kind;

/* Bytes of one value; 0 for strings. */
size_t su_abc_type_size(su_abc_type type);

/* ---- writing ----
 * Samples go to the file as they come; 8 bytes a stored sample stay in memory. Objects and properties belong to the
 * archive; a NULL from an add function (no memory) may be passed on, the failure comes out of su_abc_sample or commit.
 */

typedef struct su_abc_archive su_abc_archive;
typedef struct su_abc_object su_abc_object;
typedef struct su_abc_property su_abc_property;

su_status su_abc_archive_create(const char *path, su_abc_archive **out, su_error *err);
/* Index of a sampling: sample i at times[i mod count] + cycle * (i / count), s; times increase within a cycle, at most
 * SU_ABC_TIMES_MAX of them. One time: uniform. Equal samplings share an index. */
enum { SU_ABC_TIMES_MAX = 64 };
int su_abc_time_sampling(su_abc_archive *archive, int count, const double *times, double cycle);
/* parent NULL: below the top object. Names must be unique among siblings and free of '/'. */
su_abc_object *su_abc_add_object(su_abc_archive *archive, su_abc_object *parent, const char *name,
                                 const char *metadata);
/* The compound of all that is directly below an object. */
su_abc_property *su_abc_properties(su_abc_object *object);
/* parent: a compound; NULL: that of the top object. */
su_abc_property *su_abc_add_compound(su_abc_archive *archive, su_abc_property *parent, const char *name,
                                     const char *metadata);
su_abc_property *su_abc_add_property(su_abc_archive *archive, su_abc_property *parent, const char *name,
                                     const char *metadata, su_abc_kind kind, su_abc_type type, int extent,
                                     int time_sampling);
/* Next sample: `elements` times extent numbers (1 element for scalars). */
su_status su_abc_sample(su_abc_archive *archive, su_abc_property *property, const void *values, int64_t elements,
                        su_error *err);
/* Repeats the last sample `times` more times; no data is written. */
su_status su_abc_repeat(su_abc_archive *archive, su_abc_property *property, int64_t times, su_error *err);
/* Writes everything that is left and commits. metadata: of the archive. Frees the archive in every case. */
su_status su_abc_archive_commit(su_abc_archive *archive, const char *metadata, su_error *err);
void su_abc_archive_abandon(su_abc_archive *archive);

/* ---- reading ---- */

typedef struct su_abc_time {
    uint32_t samples; /* of the property with most samples */
    double cycle;     /* s; SU_ABC_ACYCLIC where every time is stored */
    uint32_t count;   /* stored times */
    double *times;    /* (count) s */
} su_abc_time;
#define SU_ABC_ACYCLIC (0x1.fffffffffffffp+1023 / 32)

/* Time of sample i, s. */
double su_abc_time_of(const su_abc_time *time, int64_t i);

typedef struct su_abc_entry { /* one property as its header describes it */
    char *name, *metadata;
    su_abc_kind kind;
    su_abc_type type;
    int extent;
    int64_t samples, first, last; /* first = last = 0: constant */
    int time_sampling;
    su_ogawa_ref group;
} su_abc_entry;

typedef struct su_abc_node { /* one object; an instance appears as what it repeats, under its own name */
    char *name, *metadata;
    struct su_abc_node *parent;        /* NULL: the top object */
    su_ogawa_ref properties;           /* its compound; empty group: none */
    int index;                         /* of itself in the tree's nodes */
    int depth;                         /* 0: the top object */
    const struct su_abc_node *repeats; /* of an instance: the object whose properties it has */
} su_abc_node;

typedef struct su_abc_tree {
    su_ogawa *file;
    int version;    /* of the library that is claimed, major 10000 + minor 100 + patch */
    char *metadata; /* of the archive */
    int time_count;
    su_abc_time *times;
    int string_count; /* table of metadata */
    char **strings;
    int node_count;
    su_abc_node **nodes; /* [0] is the top object; depth first, what stands below instances at the end; parents before
                            children */
} su_abc_tree;

/* Reads all object headers and puts in the place of each instance what it repeats. Every count, offset and index is
 * checked; SU_INPUT names what is wrong. */
su_status su_abc_tree_open(const char *path, su_abc_tree *tree, su_error *err);
void su_abc_tree_close(su_abc_tree *tree);

/* Properties of a compound; *entries is the caller's, freed by su_abc_entries_free. */
su_status su_abc_entries(const su_abc_tree *tree, su_ogawa_ref compound, int *count, su_abc_entry **entries,
                         su_error *err);
void su_abc_entries_free(int count, su_abc_entry *entries);
const su_abc_entry *su_abc_find(int count, const su_abc_entry *entries, const char *name); /* NULL: absent */

/* Is an object of this schema (AbcGeom_PolyMesh_v1, ...) by its metadata? */
bool su_abc_is_schema(const char *metadata, const char *wanted);
/* Members of the one compound of a schema object (.geom, .xform); count 0 where it is not there. As su_abc_entries. */
su_status su_abc_schema_entries(const su_abc_tree *tree, const su_abc_node *node, const char *compound, int *count,
                                su_abc_entry **entries, su_error *err);

/* Numeric samples of one property, ready to be read in any order. Zeroed: closed. */
typedef struct su_abc_samples {
    su_abc_kind kind;
    su_abc_type type;
    int extent;
    int64_t samples, first, last;
    int time_sampling;
    uint64_t ref_count;
    su_ogawa_ref *refs;
} su_abc_samples;

su_status su_abc_samples_open(const su_abc_tree *tree, const su_abc_entry *entry, su_abc_samples *out, su_error *err);
void su_abc_samples_close(su_abc_samples *samples);
/* Elements of sample i (clamped to the last). */
su_status su_abc_samples_count(const su_abc_tree *tree, const su_abc_samples *samples, int64_t i, int64_t *elements,
                               su_error *err);
/* Values of sample i: elements * extent numbers as stored; elements must be what su_abc_samples_count gave. */
su_status su_abc_samples_read(const su_abc_tree *tree, const su_abc_samples *samples, int64_t i, int64_t elements,
                              void *values, su_error *err);

/* Value of a key in a metadata string "key=value;...", copied to text (cut to size). False where absent. */
bool su_abc_metadata_value(const char *metadata, const char *key, char *text, size_t size);

#endif
