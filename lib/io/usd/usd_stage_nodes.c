/* What a prim of a stage is made of, as OpenUSD describes it (Pcp, "LIVERPS"), without relocates. */
#include "io/usd/usd_stage_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_NODES = 1 << 10, /* of a prim: more is a layer that takes from itself */
    LONGEST = 64          /* arcs to a prim below one with an arc to a prim below one, and so on */
};

/* A path of a stack whose nodes are being found. */
typedef struct su_usd_sought {
    const struct su_usd_sought *up;
    const su_usd_stack *stack;
    int count;
    const su_usd_text *names;
} su_usd_sought;

su_status su_usd_insert_node(su_usd_composer *c, su_usd_nodes *list, int64_t at, su_usd_node *n)
{
    if (list->count >= MOST_NODES)
        return su_fail(c->err, SU_INPUT, "%s: a prim is made of more than %d others", c->out->path, MOST_NODES);
    SU_TRY(su_usd_composer_grow(c, &list->at, list->count, &list->room, sizeof *list->at));
    memmove(list->at + at + 1, list->at + at, (size_t)(list->count - at) * sizeof(su_usd_node *));
    list->at[at] = n, list->count++;
    return SU_OK;
}

su_status su_usd_root_node(su_usd_composer *c, const su_usd_stack *of, su_usd_node **out)
{
    if (!(*out = su_arena_alloc(&c->arena, 1, sizeof **out + (size_t)of->layers * sizeof(int64_t))))
        return su_usd_no_memory(c);
    (*out)->stack = of, (*out)->scale = 1, (*out)->followed = true;
    for (int64_t l = 0; l < of->layers; l++) (*out)->prim[l] = -1;
    return SU_OK;
}

/* A node for what stands in the stack of n where n does, of which no layer has anything yet. */
static su_status empty_like(su_usd_composer *c, const su_usd_node *n, su_usd_node **out)
{
    SU_TRY(su_usd_root_node(c, n->stack, out));
    for (int64_t k = 0; k < n->stack->layers; k++) (*out)->prim[k] = SU_USD_NO_PRIM;
    (*out)->kind = n->kind, (*out)->class = n->class, (*out)->origin = n->origin, (*out)->levels = n->levels;
    (*out)->offset = n->offset, (*out)->scale = n->scale, (*out)->followed = false, (*out)->special = n->special;
    return SU_OK;
}

/* Of a node its child of a name, or its variant `name` of a set: *out NULL where no layer has it. */
static su_status child_of(su_usd_composer *c, const su_usd_node *n, su_usd_text set, su_usd_text name,
                          su_usd_node **out)
{
    *out = NULL;
    for (int64_t l = 0; l < n->stack->layers; l++) {
        const su_usd_part *p = &c->part[n->stack->layer[l].part];
        if (n->prim[l] == SU_USD_NO_PRIM) continue;
        int64_t child = su_usd_part_child(p, n->prim[l], set, name);
        if (child < 0) continue;
        if (!*out) SU_TRY(empty_like(c, n, out));
        (*out)->prim[l] = child;
    }
    return SU_OK;
}

/* The path of a node, kept. */
static su_status find_path(su_usd_composer *c, su_usd_node *n)
{
    int64_t l = 0;
    if (n->path.at) return SU_OK;
    while (l + 1 < n->stack->layers && n->prim[l] == SU_USD_NO_PRIM) l++;
    const su_usd_layer *layer = su_usd_layer_of(c, n, l);
    int64_t size = su_usd_path_size(layer, n->prim[l]);
    char *text = su_arena_alloc(&c->out->arena, size + 1, 1);
    if (!text) return su_usd_no_memory(c);
    su_usd_write_path(layer, n->prim[l], text);
    n->path = (su_usd_text){text, size};
    return SU_OK;
}

/* The child of a name that no layer has. */
static su_status empty_child(su_usd_composer *c, su_usd_node *n, su_usd_text name, su_usd_node **out)
{
    SU_TRY(find_path(c, n));
    SU_TRY(empty_like(c, n, out));
    char *text = su_arena_alloc(&c->out->arena, n->path.size + name.size + 2, 1);
    if (!text) return su_usd_no_memory(c);
    memcpy(text, n->path.at, (size_t)n->path.size);
    text[n->path.size] = '/';
    memcpy(text + n->path.size + 1, name.at, (size_t)name.size);
    (*out)->path = (su_usd_text){text, n->path.size + 1 + name.size};
    return SU_OK;
}

/* What paths mean that stand behind an arc of n to `from` in a stack, whose root is `root`. */
static su_status find_origin(su_usd_composer *c, su_usd_node *n, int count, const su_usd_text *names, su_usd_node *root)
{
    int64_t size = 0;
    SU_TRY(find_path(c, n));
    for (int k = 0; k < count; k++) size += 1 + names[k].size;
    char *from = su_arena_alloc(&c->out->arena, size + 1, 1), *at = from;
    if (!from) return su_usd_no_memory(c);
    for (int k = 0; k < count; k++) {
        *at++ = '/';
        memcpy(at, names[k].at, (size_t)names[k].size);
        at += names[k].size;
    }
    SU_TRY(su_usd_composer_grow(c, &c->out->origin, c->out->origins, &c->origin_room, sizeof *c->out->origin));
    c->out->origin[c->out->origins] = (su_usd_origin){{from, size}, n->path, root->stack == n->stack, n->origin};
    root->origin = c->out->origins++;
    return SU_OK;
}

/* ---- arcs ---- */

/* Arcs of one kind at a node, the strongest first, each with the layer of the stack that says it. */
typedef struct wanted {
    int64_t count, room;
    struct {
        su_usd_arc arc;
        int64_t layer;
    } * at;
} wanted;

static bool names_nothing(const su_usd_arc *arc) { return !arc->asset.at && !arc->prim.at; }

/* Leaves out those that are the same: of files in other folders the same name is another. */
static void leave_out(const su_usd_composer *c, const su_usd_node *n, wanted *list, const su_usd_arc *arc, int64_t l)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < list->count; i++) {
        const su_usd_arc *own = &list->at[i].arc;
        if (!su_usd_same(own->asset, arc->asset) || !su_usd_same(own->prim, arc->prim) || own->offset != arc->offset ||
            own->scale != arc->scale ||
            (arc->asset.size && !su_usd_same(su_usd_folder_of(su_usd_layer_of(c, n, list->at[i].layer)),
                                             su_usd_folder_of(su_usd_layer_of(c, n, l)))))
            list->at[kept++] = list->at[i];
    }
    list->count = kept;
}

/* Lists are edited from the weakest layer to the strongest. */
static su_status collect(su_usd_composer *c, const su_usd_node *n, su_usd_arc_kind kind, wanted *list)
{
    static const char order[] = {'e', 'd', 'p', 'a'};
    list->count = 0;
    for (int64_t l = n->stack->layers - 1; l >= 0; l--) {
        if (n->prim[l] < 0) continue;
        const su_usd_layer *layer = su_usd_layer_of(c, n, l);
        const su_usd_prim *prim = &layer->prim[n->prim[l]];
        for (size_t o = 0; o < sizeof order; o++) {
            bool replaced = false;
            int64_t front = 0;
            for (int64_t i = prim->arc; i < prim->arc + prim->arcs; i++) {
                const su_usd_arc *arc = &layer->arc[i];
                if (arc->kind != kind || arc->edit != order[o]) continue;
                if (order[o] == 'e' && !replaced) list->count = 0, replaced = true;
                if (names_nothing(arc)) continue;
                leave_out(c, n, list, arc, l);
                if (order[o] == 'd') continue;
                int64_t at = order[o] == 'p' && front < list->count ? front : list->count;
                front++;
                SU_TRY(su_usd_composer_grow(c, &list->at, list->count, &list->room, sizeof *list->at));
                memmove(list->at + at + 1, list->at + at, (size_t)(list->count - at) * sizeof *list->at);
                list->at[at].arc = *arc, list->at[at].layer = l, list->count++;
            }
        }
    }
    return SU_OK;
}

/* Puts a node that an arc of `up` leads to in its place: arcs of a node follow it by kind, those of the prim itself
 * before those of prims above it. */
static su_status add_arc(su_usd_composer *c, su_usd_nodes *list, su_usd_node *up, su_usd_arc_kind kind, su_usd_node *n)
{
    int64_t at = 0;
    while (list->at[at] != up) at++;
    for (at++; at < list->count; at++) {
        const su_usd_node *branch = list->at[at]; /* that hangs on `up` itself */
        while (branch && branch->up != up) branch = branch->up;
        if (!branch || branch->kind > kind || (branch->kind == kind && branch->levels)) break;
    }
    n->up = up, n->kind = kind, n->levels = 0, n->class |= up->class;
    n->special = up->special || kind == SU_USD_SPECIALIZE;
    return su_usd_insert_node(c, list, at, n);
}

su_status su_usd_add_below(su_usd_composer *c, const su_usd_nodes *list, su_usd_text name, su_usd_nodes *out)
{
    bool any = false;
    for (int64_t i = list->count - 1; i >= 0; i--) { /* what is under a node stands behind it */
        su_usd_node *n = list->at[i];
        SU_TRY(child_of(c, n, (su_usd_text){0}, name, &n->child));
        any |= n->child != NULL;
        if (!n->child && n->wanted) SU_TRY(empty_child(c, n, name, &n->child));
        if (n->child && n->up) n->up->wanted = true;
        n->wanted = false;
    }
    for (int64_t i = 0; i < list->count && any; i++) {
        su_usd_node *n = list->at[i];
        if (!n->child) continue;
        n->child->above = n;
        n->child->up = n->up ? n->up->child : NULL, n->child->levels = n->up ? n->levels + 1 : 0;
        SU_TRY(su_usd_insert_node(c, out, out->count, n->child));
    }
    return SU_OK;
}

/* The nodes at a path of names in a stack: of all but the last name with what they take from elsewhere, of the last
 * name with what the prims above it take. */
static su_status nodes_at(su_usd_composer *c, su_usd_node *root, int count, const su_usd_text *names, su_usd_nodes *out)
{
    su_usd_nodes now = {0};
    const su_usd_sought here = {c->sought, root->stack, count, names};
    su_status status;
    int length = 0;
    for (const su_usd_sought *k = c->sought; k; k = k->up) {
        if (++length > LONGEST)
            return su_fail(c->err, SU_INPUT, "%s: prims lead from one to another more than %d times", c->out->path,
                           LONGEST);
        bool again = k->stack == here.stack && k->count == count;
        for (int i = 0; i < count && again; i++) again = su_usd_same(k->names[i], names[i]);
        if (again) return SU_OK; /* a circle */
    }
    c->sought = &here;
    SU_GO(su_usd_insert_node(c, &now, 0, root));
    for (int k = 0; k < count; k++) {
        out->count = 0;
        SU_GO(su_usd_add_below(c, &now, names[k], out));
        if (k + 1 == count) break;
        SU_GO(su_usd_follow_arcs(c, out));
        su_usd_nodes swapped = now;
        now = *out, *out = swapped;
    }
done:
    c->sought = here.up;
    free(now.at);
    return status;
}

/* Whether the place that names lead to in a stack, or one below it, led to n, or to what n stands below: what is there
 * would come again and again. */
static su_status leads_back(su_usd_composer *c, su_usd_node *n, const su_usd_stack *target, int count,
                            const su_usd_text *names, bool *back)
{
    su_usd_text own[SU_USD_DEEPEST];
    *back = false;
    for (su_usd_node *above = n; above && !*back; above = above->above)
        for (su_usd_node *m = above; m && !*back; m = m->up) {
            if (m->stack != target) continue;
            SU_TRY(find_path(c, m));
            int parts = su_usd_path_names(m->path, SU_USD_DEEPEST, own), k = 0;
            while (k < count && k < parts && su_usd_same(own[k], names[k])) k++;
            *back = k == count && (above == n || k == parts);
        }
    return SU_OK;
}

/* Adds what a path of a stack leads to under n. */
static su_status add_target(su_usd_composer *c, su_usd_nodes *list, su_usd_node *n, su_usd_arc_kind kind,
                            su_usd_node *root, int count, const su_usd_text *names)
{
    bool back, class = kind == SU_USD_INHERIT || kind == SU_USD_SPECIALIZE;
    su_usd_nodes found = {0};
    su_status status;
    SU_TRY(leads_back(c, n, root->stack, count, names, &back));
    if (back) return SU_OK;
    SU_GO(find_origin(c, n, count, names, root));
    SU_GO(nodes_at(c, root, count, names, &found));
    for (int64_t i = 0; i < found.count; i++) {
        su_usd_node *own = found.at[i];
        own->class |= class, own->special |= n->special || kind == SU_USD_SPECIALIZE;
        if (own->up) { /* of a prim above the target */
            int64_t at = 0;
            while (list->at[at] != found.at[i - 1]) at++;
            SU_GO(su_usd_insert_node(c, list, at + 1, own));
        } else {
            SU_GO(add_arc(c, list, n, kind, own));
        }
    }
done:
    free(found.at);
    return status;
}

static void move_before(su_usd_nodes *list, su_usd_node *n, const su_usd_node *other)
{
    int64_t from = 0, to = 0;
    while (list->at[from] != n) from++;
    while (list->at[to] != other) to++;
    for (; from > to; from--) list->at[from] = list->at[from - 1], list->at[from - 1] = n;
}

/* Whether a node has the place that names lead to in a stack. */
static su_status is_at(su_usd_composer *c, su_usd_node *n, const su_usd_stack *of, int count, const su_usd_text *names,
                       bool *there)
{
    su_usd_text own[SU_USD_DEEPEST];
    *there = false;
    if (n->stack != of) return SU_OK;
    SU_TRY(find_path(c, n));
    *there = su_usd_path_names(n->path, SU_USD_DEEPEST, own) == count;
    for (int k = 0; k < count && *there; k++) *there = su_usd_same(own[k], names[k]);
    return SU_OK;
}

/* A class that n inherits is inherited from outside, too: by what n was reached from, of the path that it has there. Of
 * such a class only what stands there itself counts: what it takes from elsewhere n has already. */
static su_status imply_class(su_usd_composer *c, su_usd_nodes *list, su_usd_node *n, su_usd_arc_kind kind, int count,
                             const su_usd_text *names)
{
    su_usd_node *weaker = NULL; /* of those that are specialized the outer is the stronger */
    for (int64_t i = 0; i < list->count && !weaker && kind == SU_USD_SPECIALIZE; i++) {
        bool there;
        SU_TRY(is_at(c, list->at[i], n->stack, count, names, &there));
        if (there && list->at[i]->up == n) weaker = list->at[i];
    }
    su_usd_text from[SU_USD_DEEPEST], to[SU_USD_DEEPEST], path[SU_USD_DEEPEST];
    for (su_usd_node *m = n; m->up; m = m->up) {
        SU_TRY(find_path(c, m));
        SU_TRY(find_path(c, m->up));
        int inside = su_usd_path_names(m->path, SU_USD_DEEPEST, from) - m->levels, k = 0;
        int outside = su_usd_path_names(m->up->path, SU_USD_DEEPEST, to) - m->levels;
        if (inside < 0 || outside < 0) return SU_OK; /* deeper than any prim of a stage */
        while (k < inside && k < count && su_usd_same(names[k], from[k])) k++;
        if (k < inside && m->up->stack == m->stack) continue; /* it is the same class there */
        if (k == inside) {                                    /* below what was taken: there below what took it */
            if (outside + count - inside > SU_USD_DEEPEST) return SU_OK;
            memmove(path + outside, names + inside, (size_t)(count - inside) * sizeof *path);
            memcpy(path, to, (size_t)outside * sizeof *path);
            count += outside - inside, names = path;
        }
        su_usd_node *at;
        bool known = false;
        for (int64_t i = 0; i < list->count && !known; i++)
            if (list->at[i]->up == m->up) SU_TRY(is_at(c, list->at[i], m->up->stack, count, names, &known));
        if (!known) SU_TRY(leads_back(c, m->up, m->up->stack, count, names, &known));
        if (known || m->kind == SU_USD_SELECTION) continue;
        SU_TRY(su_usd_root_node(c, m->up->stack, &at));
        at->offset = m->up->offset, at->scale = m->up->scale;
        SU_TRY(find_origin(c, m->up, count, names, at));
        for (int i = 0; i < count && at; i++) SU_TRY(child_of(c, at, (su_usd_text){0}, names[i], &at));
        if (!at) continue;
        at->class = true;
        SU_TRY(add_arc(c, list, m->up, kind, at));
        if (weaker) move_before(list, at, weaker);
        if (weaker) weaker = at;
    }
    return SU_OK;
}

static su_status follow(su_usd_composer *c, su_usd_nodes *list, su_usd_node *n, const su_usd_arc *arc, int64_t l)
{
    su_usd_text names[SU_USD_DEEPEST];
    const su_usd_stack *target = n->stack;
    const su_usd_sublayer *own = &n->stack->layer[l];
    double codes = c->part[n->stack->layer[0].part].layer->codes_per_second;
    int64_t found;
    su_usd_node *root;
    if (arc->asset.size) {
        SU_TRY(su_usd_part_of(c, su_usd_layer_of(c, n, l), arc->asset, &found));
        if (found < 0) return SU_OK;
        SU_TRY(su_usd_stack_of(c, found, &target));
    }
    const su_usd_layer *to = c->part[target->layer[0].part].layer;
    int count = arc->prim.size ? su_usd_path_names(arc->prim, SU_USD_DEEPEST, names) : to->default_prim.size ? 1 : 0;
    if (!arc->prim.size) names[0] = to->default_prim;
    if (count < 1) return SU_OK;
    double clock = codes / to->codes_per_second, scale = own->scale * arc->scale * clock,
           offset = own->offset + own->scale * arc->offset;
    SU_TRY(su_usd_root_node(c, target, &root));
    root->offset = n->offset + n->scale * offset, root->scale = n->scale * scale;
    SU_TRY(add_target(c, list, n, arc->kind, root, count, names));
    bool class = arc->kind == SU_USD_INHERIT || (arc->kind == SU_USD_SPECIALIZE && target == n->stack);
    return class ? imply_class(c, list, n, arc->kind, count, names) : SU_OK;
}

/* All arcs of a node but its variants. */
static su_status follow_node(su_usd_composer *c, su_usd_nodes *list, su_usd_node *n)
{
    static const su_usd_arc_kind kinds[] = {SU_USD_INHERIT, SU_USD_REFERENCE, SU_USD_PAYLOAD, SU_USD_SPECIALIZE};
    wanted arcs = {0};
    bool any = false;
    su_status status = SU_OK;
    n->followed = true;
    for (int64_t l = 0; l < n->stack->layers; l++)
        any |= n->prim[l] >= 0 && su_usd_layer_of(c, n, l)->prim[n->prim[l]].arcs > 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && any; k++) {
        SU_GO(collect(c, n, kinds[k], &arcs));
        for (int64_t i = 0; i < arcs.count; i++) SU_GO(follow(c, list, n, &arcs.at[i].arc, arcs.at[i].layer));
    }
done:
    free(arcs.at);
    return status;
}

/* The variant of a set that the strongest of nodes chooses; size 0: none. */
static su_usd_text choice_of(const su_usd_composer *c, const su_usd_nodes *list, su_usd_text set)
{
    for (int64_t k = 0; k < list->count; k++)
        for (int64_t l = 0; l < list->at[k]->stack->layers; l++) {
            if (list->at[k]->prim[l] < 0) continue;
            const su_usd_layer *layer = su_usd_layer_of(c, list->at[k], l);
            const su_usd_prim *prim = &layer->prim[list->at[k]->prim[l]];
            for (int64_t i = prim->arc; i < prim->arc + prim->arcs; i++)
                if (layer->arc[i].kind == SU_USD_SELECTION && su_usd_same(layer->arc[i].asset, set))
                    return layer->arc[i].prim;
        }
    return (su_usd_text){0};
}

/* That for a node: prims of the stage that stand above and are made of it, too, choose before the others here. */
static su_status choose(su_usd_composer *c, const su_usd_nodes *list, su_usd_node *n, su_usd_text set,
                        su_usd_text *choice)
{
    for (const su_usd_lineage *above = c->lineage; above && c->sought; above = above->up)
        for (int64_t i = 0; i < above->made_of->count; i++) {
            su_usd_node *other = above->made_of->at[i];
            if (other->stack != n->stack) continue;
            SU_TRY(find_path(c, n));
            SU_TRY(find_path(c, other));
            if (!su_usd_same(n->path, other->path)) continue;
            *choice = choice_of(c, above->made_of, set);
            if (choice->size) return SU_OK;
        }
    *choice = choice_of(c, list, set);
    return SU_OK;
}

/* Whether the variant of a set was added under a node. */
static bool has_variant(const su_usd_composer *c, const su_usd_nodes *list, const su_usd_node *n, su_usd_text set)
{
    for (int64_t i = 0; i < list->count; i++) {
        const su_usd_node *v = list->at[i];
        for (int64_t l = 0; v->up == n && v->kind == SU_USD_SELECTION && !v->levels && l < v->stack->layers; l++)
            if (v->prim[l] >= 0 && su_usd_same(su_usd_layer_of(c, v, l)->prim[v->prim[l]].set, set)) return true;
    }
    return false;
}

/* Adds the next variant that is chosen; *more false where there is none. */
static su_status add_variant(su_usd_composer *c, su_usd_nodes *list, bool *more)
{
    *more = true;
    for (int64_t k = 0; k < list->count; k++)
        for (int64_t l = 0; l < list->at[k]->stack->layers; l++) {
            su_usd_node *n = list->at[k], *chosen;
            su_usd_text choice;
            const su_usd_part *p = &c->part[n->stack->layer[l].part];
            if (n->prim[l] < 0 || !p->varies[n->prim[l]]) continue;
            for (int64_t i = p->first[n->prim[l] + 1]; i >= 0; i = p->next[i]) {
                su_usd_text set = p->layer->prim[i].set;
                if (!set.size || has_variant(c, list, n, set)) continue;
                SU_TRY(choose(c, list, n, set, &choice));
                SU_TRY(child_of(c, n, set, choice, &chosen));
                if (chosen) return add_arc(c, list, n, SU_USD_SELECTION, chosen);
            }
        }
    *more = false;
    return SU_OK;
}

/* Puts what is specialized behind all else, in the order in which it stands. */
static su_status weaken_special(su_usd_composer *c, su_usd_nodes *list)
{
    su_usd_node **special;
    int64_t kept = 0, moved = 0;
    for (int64_t i = 0; i < list->count; i++) moved += list->at[i]->special;
    if (moved == 0) return SU_OK;
    SU_TRY(SU_ALLOC(&special, moved, "USD prims", c->err));
    moved = 0;
    for (int64_t i = 0; i < list->count; i++) {
        if (list->at[i]->special)
            special[moved++] = list->at[i];
        else
            list->at[kept++] = list->at[i];
    }
    memcpy(list->at + kept, special, (size_t)moved * sizeof(su_usd_node *));
    free(special);
    return SU_OK;
}

su_status su_usd_follow_arcs(su_usd_composer *c, su_usd_nodes *list)
{
    for (bool more = true; more;) {
        for (int64_t k = 0; k < list->count; k++) {
            if (list->at[k]->followed) continue;
            SU_TRY(follow_node(c, list, list->at[k]));
            k = -1; /* a stronger one may have come */
        }
        SU_TRY(add_variant(c, list, &more));
    }
    return weaken_special(c, list);
}
