/* What the files of usd_stage share: layers that were opened, and what a prim of the stage is made of. */
#ifndef SU_IO_USD_STAGE_INTERNAL_H
#define SU_IO_USD_STAGE_INTERNAL_H

#include "io/usd/usd_layer.h"

enum { SU_USD_NO_PRIM = -2 }; /* prim of a layer that has none; -1 is the layer itself */

/* A prim as its parent knows it. */
typedef struct su_usd_child {
    int64_t parent, prim;
    su_usd_text set, name; /* as in su_usd_prim */
} su_usd_child;

/* A layer that was opened, with the children of its prims. */
typedef struct su_usd_part {
    su_usd_layer *layer;
    bool whole;            /* asked for without naming a file in a package */
    int64_t *first, *next; /* (prims + 1), (prims): first[prim + 1]; -1: none */
    bool *varies;          /* (prims) it has variants */
    su_usd_child *child;   /* (prims) sorted by parent, set and name */
} su_usd_part;

typedef struct su_usd_sublayer { /* time code of the stack = offset + scale x code of the layer */
    int64_t part;
    double offset, scale;
} su_usd_sublayer;

/* A layer with its sublayers, the strongest first. */
typedef struct su_usd_stack {
    int64_t layers, room;
    su_usd_sublayer *layer; /* (layers) */
} su_usd_stack;

/* One place that a prim of the stage is made of: a path in a stack, and the arc that led there. */
typedef struct su_usd_node {
    const su_usd_stack *stack;
    struct su_usd_node *up;    /* whose arc it is; NULL: the stage's own */
    struct su_usd_node *above; /* that it stands below, of the prim above; NULL: an arc of this prim led to it */
    su_usd_arc_kind kind;      /* of that arc; SU_USD_SELECTION of a variant */
    int levels;                /* of prims below that of the arc */
    bool class;                /* reached as a class, or below one */
    bool special;              /* reached as a prim that is specialized, or from one: weaker than all else */
    bool followed;             /* its arcs were */
    su_usd_text path;          /* "/a/b", once it was asked for */
    int64_t origin;
    double offset, scale;      /* time code of the stage = offset + scale x code of the stack */
    struct su_usd_node *child; /* of the prim below that is made now */
    bool wanted;               /* others of that prim are under it */
    int64_t prim[];            /* (stack->layers) */
} su_usd_node;

typedef struct su_usd_nodes {
    int64_t count, room;
    su_usd_node **at; /* the strongest first */
} su_usd_nodes;

/* The prims of the stage above the one that is made now. */
typedef struct su_usd_lineage {
    const struct su_usd_lineage *up;
    const su_usd_nodes *made_of;
} su_usd_lineage;

typedef struct su_usd_composer {
    su_usd_layer *out; /* the stage; owns the layers */
    int64_t parts, stacks;
    su_usd_part *part;
    su_usd_stack **stack;
    const struct su_usd_sought *sought; /* paths whose nodes are being found */
    const su_usd_lineage *lineage;
    int64_t part_room, owned_room, file_room, stack_room, prim_room, attribute_room, origin_room;
    su_arena arena; /* of nodes */
    su_error *err;
} su_usd_composer;

static inline su_status su_usd_no_memory(su_usd_composer *c)
{
    return su_fail(c->err, SU_AGAIN, "%s: out of memory", c->out->path);
}

static inline su_status su_usd_composer_grow(su_usd_composer *c, void *array, int64_t count, int64_t *room, size_t size)
{
    return su_usd_grow(c->out, array, count, room, size, c->err);
}

static inline const su_usd_layer *su_usd_layer_of(const su_usd_composer *c, const su_usd_node *n, int64_t l)
{
    return c->part[n->stack->layer[l].part].layer;
}

/* ---- usd_stage_layers.c ---- */

/* Enters a layer that was opened. The stage owns it from here on, also where there is no memory. */
su_status su_usd_add_part(su_usd_composer *c, su_usd_layer *layer, bool whole);
/* The first child of a prim of that name; with a set, the variant of it. -1: none. */
int64_t su_usd_part_child(const su_usd_part *p, int64_t prim, su_usd_text set, su_usd_text name);
/* The part of a file that a layer names, opened where it is new; -1: it cannot be read. */
su_status su_usd_part_of(su_usd_composer *c, const su_usd_layer *from, su_usd_text asset, int64_t *found);
/* The stack whose strongest layer is a part. */
su_status su_usd_stack_of(su_usd_composer *c, int64_t root, const su_usd_stack **out);
/* Where a layer lies, with the last '/'. */
su_usd_text su_usd_folder_of(const su_usd_layer *layer);

/* ---- usd_stage_nodes.c ---- */

/* The node of a stack's root. */
su_status su_usd_root_node(su_usd_composer *c, const su_usd_stack *of, su_usd_node **out);
su_status su_usd_insert_node(su_usd_composer *c, su_usd_nodes *list, int64_t at, su_usd_node *n);
/* Adds to `out` the nodes of the prim of a name below that which `list` makes, each under that which it is under there,
 * without what the prim's own arcs lead to. */
su_status su_usd_add_below(su_usd_composer *c, const su_usd_nodes *list, su_usd_text name, su_usd_nodes *out);
/* Adds those: variants last, which any of the others may choose. */
su_status su_usd_follow_arcs(su_usd_composer *c, su_usd_nodes *list);

#endif
