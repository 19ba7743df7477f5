#include "io/usd/usd_stage.h"

#include "core/order.h"
#include "io/usd/usd_file.h"
#include "io/usd/usd_stage_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PRIMS = 1 << 22 }; /* of a stage: more is a layer that takes from itself */

static bool says(const su_usd_attribute *a) { return !su_usd_none(a->value) || a->samples || a->blocked; }

/* What an attribute of a node says that stronger ones of the stage's last prim do not. */
static su_status merge(su_usd_composer *c, const su_usd_node *n, int64_t l, const su_usd_attribute *weak)
{
    su_usd_layer *out = c->out;
    su_usd_prim *prim = &out->prim[out->prims - 1];
    su_usd_attribute *own = su_usd_attribute_of(out, out->prims - 1, weak->name);
    if (!own) {
        SU_TRY(su_usd_composer_grow(c, &out->attribute, out->attributes, &c->attribute_room, sizeof *out->attribute));
        own = &out->attribute[out->attributes];
        *own = (su_usd_attribute){.name = weak->name, .next = prim->attribute};
        prim->attribute = out->attributes++;
    }
    if (!own->type.size) own->type = weak->type;
    if (!own->interpolation.size) own->interpolation = weak->interpolation;
    if (su_usd_none(own->weight)) own->weight = weak->weight;
    if (says(own)) return SU_OK;
    own->value = weak->value, own->blocked = weak->blocked, own->origin = n->origin;
    if (!weak->samples) return SU_OK;
    const su_usd_sublayer *at = &n->stack->layer[l];
    if (!(own->sample = malloc((size_t)weak->samples * sizeof *own->sample))) return su_usd_no_memory(c);
    own->samples = weak->samples;
    for (int64_t k = 0; k < own->samples; k++) {
        own->sample[k] = weak->sample[k];
        own->sample[k].time = n->offset + n->scale * (at->offset + at->scale * weak->sample[k].time);
    }
    if (n->scale * at->scale < 0) su_usd_sort_samples(own);
    return SU_OK;
}

/* The stage's next prim, of its nodes. */
static su_status add_prim(su_usd_composer *c, const su_usd_nodes *made_of, su_usd_text name, int64_t parent)
{
    su_usd_prim own = {.name = name, .parent = parent};
    for (int64_t k = 0; k < made_of->count; k++)
        for (int64_t l = 0; l < made_of->at[k]->stack->layers; l++) {
            if (made_of->at[k]->prim[l] < 0) continue;
            const su_usd_prim *prim = &su_usd_layer_of(c, made_of->at[k], l)->prim[made_of->at[k]->prim[l]];
            bool class = prim->specifier == 'c' && !made_of->at[k]->class;
            if (!own.type.size) own.type = prim->type;
            if (!own.active) own.active = prim->active;
            if (!own.specifier && (prim->specifier == 'd' || class)) own.specifier = prim->specifier;
        }
    if (!own.specifier) own.specifier = 'o';
    if (c->out->prims >= MOST_PRIMS)
        return su_fail(c->err, SU_INPUT, "%s: is made of more than %d prims", c->out->path, MOST_PRIMS);
    SU_TRY(su_usd_add_prim(c->out, &c->prim_room, own, c->err));
    for (int64_t k = 0; k < made_of->count; k++)
        for (int64_t l = 0; l < made_of->at[k]->stack->layers; l++) {
            if (made_of->at[k]->prim[l] < 0) continue;
            const su_usd_layer *layer = su_usd_layer_of(c, made_of->at[k], l);
            for (int64_t i = layer->prim[made_of->at[k]->prim[l]].attribute; i >= 0; i = layer->attribute[i].next)
                SU_TRY(merge(c, made_of->at[k], l, &layer->attribute[i]));
        }
    return SU_OK;
}

typedef struct child_name {
    su_usd_text name;
    int64_t order;
} child_name;

static int by_name(const void *a, const void *b)
{
    const child_name *x = a, *y = b;
    int different = su_usd_compare(x->name, y->name);
    return different ? different : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
    int64_t x = ((const child_name *)a)->order, y = ((const child_name *)b)->order;
    return (x > y) - (x < y);
}

/* Names of children, each once: as the weakest has them, and behind these what stronger ones add. */
static su_status child_names(su_usd_composer *c, const su_usd_nodes *made_of, child_name **names, int64_t *count)
{
    int64_t room = 0, all = 0;
    *names = NULL, *count = 0;
    for (int64_t k = made_of->count - 1; k >= 0; k--)
        for (int64_t l = made_of->at[k]->stack->layers - 1; l >= 0; l--) {
            const su_usd_part *p = &c->part[made_of->at[k]->stack->layer[l].part];
            if (made_of->at[k]->prim[l] == SU_USD_NO_PRIM) continue;
            for (int64_t i = p->first[made_of->at[k]->prim[l] + 1]; i >= 0; i = p->next[i]) {
                if (p->layer->prim[i].set.size) continue;
                SU_TRY(su_usd_composer_grow(c, names, all, &room, sizeof **names));
                (*names)[all] = (child_name){p->layer->prim[i].name, all};
                all++;
            }
        }
    if (all > 1) su_sort(*names, (size_t)all, sizeof **names, by_name);
    for (int64_t i = 0; i < all; i++)
        if (*count == 0 || !su_usd_same((*names)[*count - 1].name, (*names)[i].name))
            (*names)[(*count)++] = (*names)[i];
    if (*count > 1) su_sort(*names, (size_t)*count, sizeof **names, by_order);
    return SU_OK;
}

/* All that stands below the stage's prim `parent`, -1 the stage, which is made of these nodes. */
static su_status add_children(su_usd_composer *c, const su_usd_nodes *made_of, int64_t parent, int depth)
{
    const su_usd_lineage here = {c->lineage, made_of};
    child_name *names;
    su_usd_nodes own = {0};
    int64_t count;
    su_status status;
    if (depth > SU_USD_DEEPEST) return su_fail(c->err, SU_INPUT, "%s: prims are nested too deeply", c->out->path);
    c->lineage = &here;
    SU_GO(child_names(c, made_of, &names, &count));
    for (int64_t i = 0; i < count; i++) {
        own.count = 0;
        SU_GO(su_usd_add_below(c, made_of, names[i].name, &own));
        SU_GO(su_usd_follow_arcs(c, &own));
        int64_t at = c->out->prims;
        SU_GO(add_prim(c, &own, names[i].name, parent));
        if (!c->out->prim[at].inactive) SU_GO(add_children(c, &own, at, depth + 1));
    }
done:
    c->lineage = here.up;
    free(names), free(own.at);
    return status;
}

/* ---- the stage ---- */

static su_status compose(su_usd_composer *c, su_usd_layer *root)
{
    const su_usd_stack *own;
    su_usd_node *n;
    su_usd_nodes top = {0};
    SU_TRY(su_usd_add_part(c, root, true));
    SU_TRY(su_usd_stack_of(c, 0, &own));
    SU_TRY(su_usd_composer_grow(c, &c->out->origin, 0, &c->origin_room, sizeof *c->out->origin));
    c->out->origin[c->out->origins++] = (su_usd_origin){.open = true};
    SU_TRY(su_usd_root_node(c, own, &n));
    su_status status = su_usd_insert_node(c, &top, 0, n);
    if (status == SU_OK) status = add_children(c, &top, -1, 0);
    free(top.at);
    return status;
}

su_status su_usd_open(const char *path, su_usd_layer *layer, su_error *err)
{
    bool alone = true;
    su_usd_layer *root;
    SU_TRY(su_usd_open_layer(path, NULL, layer, err));
    alone = layer->arcs == 0;
    for (int64_t i = 0; i < layer->prims && alone; i++) alone = !layer->prim[i].set.size;
    if (alone) return SU_OK;
    su_status status = SU_ALLOC(&root, 1, "a USD layer", err);
    if (status != SU_OK) {
        su_usd_close(layer);
        return status;
    }
    *root = *layer; /* whose crate tells `layer` of missing memory */
    *layer = (su_usd_layer){.meters = root->meters,
                            .says_meters = root->says_meters,
                            .codes_per_second = root->codes_per_second,
                            .up = root->up,
                            .path = strdup(path)};
    su_usd_composer c = {.out = layer, .err = err};
    if (layer->path) {
        status = compose(&c, root);
    } else {
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
        su_usd_close(root);
        free(root);
    }
    for (int64_t i = 0; i < c.stacks; i++) free(c.stack[i]->layer), free(c.stack[i]);
    free(c.stack), free(c.part);
    su_arena_free(&c.arena);
    if (status != SU_OK) su_usd_close(layer);
    return status;
}
