/* Where the meshes of a cache stand: the source's groups above them, for formats that have a hierarchy. */
#ifndef SU_IO_CACHE_TREE_H
#define SU_IO_CACHE_TREE_H

#include "io/cache/cache_parts.h"

#include <stdbool.h>

typedef struct su_cache_node {
    const char *source; /* its name in the source, ended by a / or a 0 */
    char *name;         /* valid and unlike those of its siblings */
    int64_t parent;     /* an earlier node; -1: at the top */
    int part;           /* of a mesh; -1: a transform */
    int64_t object; /* of a transform: the object that it takes to the world, as the layout has it; -1: as its parent */
    bool moves;     /* of a transform: not the same at all frames */
} su_cache_node;

typedef struct su_cache_tree {
    su_arena arena; /* owns everything */
    const su_cache_layout *layout;
    int64_t count;
    su_cache_node *node; /* parents before children, depth first */
} su_cache_tree;

/* By the layout's object_paths, or /NAME/NAMEShape of each object. A transform that holds a mesh has all that takes the
 * mesh to the world, those above it nothing. identifiers: names of letters, digits and _ alone, as USD wants them; else
 * only / and control characters are taken out. layout and parts are borrowed. */
su_status su_cache_tree_create(const su_cache_layout *layout, const su_cache_parts *parts, bool identifiers,
                               su_cache_tree *tree, su_error *err);
void su_cache_tree_free(su_cache_tree *tree);

/* m (4,4): a transform's own matrix to its parent at a frame of the layout, samples around frames not counted. */
void su_cache_tree_local(const su_cache_tree *tree, int64_t node, int64_t frame, double m[16]);
/* m (4,4): to the world. */
void su_cache_tree_world(const su_cache_tree *tree, int64_t node, int64_t frame, double m[16]);

#endif
