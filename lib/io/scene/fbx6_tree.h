/* FBX before version 7 (Blender up to 2.7, programs up to 2010) as a tree. Internal to lib/io. */
#ifndef SU_IO_FBX6_TREE_H
#define SU_IO_FBX6_TREE_H

#include "core/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct su_fbx6_value {
    const char *text; /* of strings, names ("Model::hip", as text has them) and words; NULL: a number */
    double number;
} su_fbx6_value;

/* NAME: value, value { children } */
typedef struct su_fbx6_node {
    const char *name;
    int64_t values;
    const su_fbx6_value *value; /* (values) */
    struct su_fbx6_node *child, *next;
} su_fbx6_node;

/* Is a file that begins so, with a 0 behind `size`, FBX of a version from 6.0 to below 7.0? */
bool su_fbx6_is(const char *data, size_t size);

/* The top level of a binary file (fbx_text.h makes it of text); all from the arena. NULL where it is broken or memory
 * is short (arena->failed). */
const su_fbx6_node *su_fbx6_read(const char *data, size_t size, su_arena *arena);

/* The first node of a name, from `list` on; NULL: none. */
const su_fbx6_node *su_fbx6_find(const su_fbx6_node *list, const char *name);
/* The same among the children of `parent`, which may be NULL. */
const su_fbx6_node *su_fbx6_child(const su_fbx6_node *parent, const char *name);
/* Text of a value, "" where there is none or it is a number; number, 0 where it is none. */
const char *su_fbx6_text(const su_fbx6_node *node, int64_t index);
double su_fbx6_number(const su_fbx6_node *node, int64_t index);
/* `count` numbers of a row of Properties60, "NAME", "type", "flags", numbers; false: untouched. */
bool su_fbx6_property(const su_fbx6_node *object, const char *name, int count, double *out);

#endif
