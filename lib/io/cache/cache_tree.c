#include "io/cache/cache_tree.h"

#include "geometry/affine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUFFIX = 24 }; /* room for "Shape", for a number against equal names */

static su_status no_memory(su_error *err) { return su_fail(err, SU_AGAIN, "not enough memory for the hierarchy"); }

/* Length of the name at the head of a path. */
static size_t head(const char *path) { return strcspn(path, "/"); }

static bool is_taken(const su_cache_tree *tree, int64_t parent, const char *name, int64_t before)
{
    for (int64_t i = 0; i < before; i++)
        if (tree->node[i].parent == parent && strcmp(tree->node[i].name, name) == 0) return true;
    return false;
}

/* A node more below `parent`, under a valid name. */
static su_status add(su_cache_tree *tree, int64_t parent, const char *source, const char *end, int part,
                     bool identifiers, su_error *err)
{
    size_t length = head(source), room = length + strlen(end) + SUFFIX;
    char *name = su_arena_alloc(&tree->arena, (int64_t)room, 1);
    if (!name) return no_memory(err);
    snprintf(name, room, "%s%.*s%s", identifiers && isdigit((unsigned char)*source) ? "_" : "",
             (int)(length ? length : 4), length ? source : "mesh", end);
    for (char *p = name; *p; p++)
        if (identifiers ? !isalnum((unsigned char)*p) || (unsigned char)*p > 126 : (unsigned char)*p < 32) *p = '_';
    size_t whole = strlen(name);
    for (int number = 1; is_taken(tree, parent, name, tree->count);)
        snprintf(name + whole, room - whole, "_%d", number++);
    tree->node[tree->count++] =
        (su_cache_node){.source = source, .name = name, .parent = parent, .part = part, .object = -1};
    return SU_OK;
}

/* The transform of that name below `parent`; -1: there is none. */
static int64_t find(const su_cache_tree *tree, int64_t parent, const char *source)
{
    size_t length = head(source);
    for (int64_t i = 0; i < tree->count; i++) {
        const su_cache_node *node = &tree->node[i];
        if (node->parent == parent && node->part < 0 && head(node->source) == length &&
            memcmp(node->source, source, length) == 0)
            return i;
    }
    return -1;
}

static const double *xform_of(const su_cache_layout *l, int64_t object, int64_t frame)
{
    if (l->object_frames) return l->object_frames + 16 * (l->objects * frame + object);
    return l->object_xform ? l->object_xform + 16 * object : NULL;
}

/* Whether two objects go to the world alike at all frames. */
static bool moves_with(const su_cache_layout *l, int64_t a, int64_t b)
{
    int64_t frames = l->object_frames ? l->frames / (l->samples ? l->samples : 1) : 1;
    for (int64_t f = 0; f < frames; f++)
        if (memcmp(xform_of(l, a, f), xform_of(l, b, f), 16 * sizeof(double)) != 0) return false;
    return true;
}

static su_status place(su_cache_tree *tree, const su_cache_parts *parts, int number, bool identifiers, su_error *err)
{
    const su_cache_part *part = &parts->part[number];
    const su_cache_layout *l = tree->layout;
    const char *path = l->object_paths && part->object < l->objects ? l->object_paths[part->object] : NULL;
    int64_t at = -1;
    bool flat = !path || path[0] != '/' || !path[1];
    char *own = su_arena_alloc(&tree->arena, (int64_t)strlen(part->name) + 1, 1);
    if (!own) return no_memory(err);
    for (size_t k = 0; part->name[k]; k++) own[k] = part->name[k] == '/' ? '_' : part->name[k];
    for (const char *name = flat ? own : path + 1; flat || name[head(name)];) {
        int64_t next = flat ? -1 : find(tree, at, name); /* objects of one name are two */
        if (next < 0) {
            next = tree->count;
            SU_TRY(add(tree, at, name, "", -1, identifiers, err));
        }
        at = next;
        if (flat) break;
        name += head(name) + 1;
        path = name - 1;
    }
    if (at >= 0 && (l->object_xform || l->object_frames)) {
        /* USD's meshes have transforms of their own: beside one that goes elsewhere it gets a group for it */
        if (!l->over && tree->node[at].object >= 0 && !moves_with(l, tree->node[at].object, part->object)) {
            SU_TRY(add(tree, at, path + 1, "", -1, identifiers, err));
            at = tree->count - 1;
        }
        tree->node[at].object = part->object;
    }
    return add(tree, at, flat ? own : path + 1, flat ? "Shape" : "", number, identifiers, err);
}

/* Depth first, children in the order in which they came. */
static su_status sort(su_cache_tree *tree, su_error *err)
{
    su_cache_node *sorted = su_arena_alloc(&tree->arena, tree->count, sizeof *sorted);
    int64_t *last = su_arena_alloc(&tree->arena, tree->count + 1, sizeof *last); /* youngest child so far */
    int64_t *next = su_arena_alloc(&tree->arena, tree->count, sizeof *next);     /* sibling */
    int64_t *first = su_arena_alloc(&tree->arena, tree->count + 1, sizeof *first);
    int64_t *number = su_arena_alloc(&tree->arena, tree->count, sizeof *number);
    if (!sorted || !last || !next || !first || !number) return no_memory(err);
    for (int64_t i = 0; i <= tree->count; i++) first[i] = last[i] = -1;
    for (int64_t i = 0; i < tree->count; i++) {
        int64_t above = tree->node[i].parent + 1;
        next[i] = -1;
        if (last[above] < 0)
            first[above] = i;
        else
            next[last[above]] = i;
        last[above] = i;
    }
    int64_t count = 0;
    for (int64_t at = first[0]; at >= 0;) {
        number[at] = count;
        sorted[count] = tree->node[at];
        if (sorted[count].parent >= 0) sorted[count].parent = number[sorted[count].parent];
        count++;
        if (first[at + 1] >= 0) {
            at = first[at + 1];
            continue;
        }
        while (at >= 0 && next[at] < 0) at = tree->node[at].parent;
        if (at >= 0) at = next[at];
    }
    tree->node = sorted;
    return SU_OK;
}

static void find_moves(su_cache_tree *tree)
{
    const su_cache_layout *l = tree->layout;
    int64_t frames = l->frames / (l->samples ? l->samples : 1);
    for (int64_t i = 0; i < tree->count && l->object_frames; i++) {
        double start[16], now[16];
        su_cache_node *node = &tree->node[i];
        if (node->part >= 0) continue;
        su_cache_tree_local(tree, i, 0, start);
        for (int64_t f = 1; f < frames && !node->moves; f++) {
            su_cache_tree_local(tree, i, f, now);
            node->moves = memcmp(now, start, sizeof now) != 0;
        }
    }
}

su_status su_cache_tree_create(const su_cache_layout *layout, const su_cache_parts *parts, bool identifiers,
                               su_cache_tree *tree, su_error *err)
{
    int64_t most = 0;
    *tree = (su_cache_tree){.layout = layout};
    for (int i = 0; i < parts->count; i++) {
        const char *path = layout->object_paths ? layout->object_paths[parts->part[i].object] : NULL;
        most += 3;
        for (; path && *path; path++) most += *path == '/';
    }
    su_status status = SU_OK;
    if (!(tree->node = su_arena_alloc(&tree->arena, most, sizeof *tree->node))) status = no_memory(err);
    for (int i = 0; i < parts->count && status == SU_OK; i++) status = place(tree, parts, i, identifiers, err);
    if (status == SU_OK) status = sort(tree, err);
    if (status == SU_OK)
        find_moves(tree);
    else
        su_cache_tree_free(tree);
    return status;
}

void su_cache_tree_free(su_cache_tree *tree)
{
    su_arena_free(&tree->arena);
    *tree = (su_cache_tree){0};
}

void su_cache_tree_world(const su_cache_tree *tree, int64_t node, int64_t frame, double m[16])
{
    while (node >= 0 && tree->node[node].object < 0) node = tree->node[node].parent;
    const double *x = node >= 0 ? xform_of(tree->layout, tree->node[node].object, frame) : NULL;
    su_affine_identity(m);
    if (x) memcpy(m, x, 16 * sizeof *m);
}

void su_cache_tree_local(const su_cache_tree *tree, int64_t node, int64_t frame, double m[16])
{
    double above[16], inverse[16];
    su_affine_identity(m);
    if (tree->node[node].object < 0) return;
    su_cache_tree_world(tree, node, frame, m);
    int64_t up = tree->node[node].parent;
    while (up >= 0 && tree->node[up].object < 0) up = tree->node[up].parent;
    if (up < 0) return;
    su_cache_tree_world(tree, up, frame, above);
    if (su_affine_inverse(above, inverse) != 0.0) su_affine_multiply(inverse, m, m);
}
