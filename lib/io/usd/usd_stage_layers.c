/* Layers of a stage: where they are, each opened once, and which lie over which. */
#include "core/order.h"
#include "io/usd/usd_file.h"
#include "io/usd/usd_stage_internal.h"
#include "io/usd/usdc_values.h"

#include <stdlib.h>
#include <string.h>

static su_status discard(su_usd_layer *layer, su_status status)
{
    su_usd_close(layer);
    free(layer);
    return status;
}

static int compare_children(const void *a, const void *b)
{
    const su_usd_child *x = a, *y = b;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    int different = su_usd_compare(x->set, y->set);
    if (different == 0) different = su_usd_compare(x->name, y->name);
    return different ? different : (x->prim > y->prim) - (x->prim < y->prim);
}

int64_t su_usd_part_child(const su_usd_part *p, int64_t prim, su_usd_text set, su_usd_text name)
{
    const su_usd_child wanted = {.parent = prim, .prim = -1, .set = set, .name = name};
    int64_t low = 0, high = p->layer->prims;
    while (low < high) { /* the first behind it */
        int64_t middle = low + (high - low) / 2;
        if (compare_children(&p->child[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == p->layer->prims) return -1;
    const su_usd_child *found = &p->child[low];
    bool is_it = found->parent == prim && su_usd_same(found->set, set) && su_usd_same(found->name, name);
    return is_it ? found->prim : -1;
}

su_status su_usd_add_part(su_usd_composer *c, su_usd_layer *layer, bool whole)
{
    su_status status = su_usd_composer_grow(c, &c->out->part, c->out->parts, &c->owned_room, sizeof *c->out->part);
    if (status != SU_OK) return discard(layer, status);
    c->out->part[c->out->parts++] = layer;
    su_usd_part own = {.layer = layer,
                       .whole = whole,
                       .first = su_arena_alloc(&c->arena, layer->prims + 1, sizeof(int64_t)),
                       .next = su_arena_alloc(&c->arena, layer->prims, sizeof(int64_t)),
                       .varies = su_arena_alloc(&c->arena, layer->prims, sizeof(bool)),
                       .child = su_arena_alloc(&c->arena, layer->prims, sizeof(su_usd_child))};
    if (c->arena.failed) return su_usd_no_memory(c);
    for (int64_t i = 0; i <= layer->prims; i++) own.first[i] = -1;
    for (int64_t i = layer->prims - 1; i >= 0; i--) {
        own.next[i] = own.first[layer->prim[i].parent + 1];
        own.first[layer->prim[i].parent + 1] = i;
        if (layer->prim[i].set.size) own.varies[layer->prim[i].parent] = true;
        own.child[i] = (su_usd_child){layer->prim[i].parent, i, layer->prim[i].set, layer->prim[i].name};
    }
    if (layer->prims > 1) su_sort(own.child, (size_t)layer->prims, sizeof *own.child, compare_children);
    SU_TRY(su_usd_composer_grow(c, &c->part, c->parts, &c->part_room, sizeof *c->part));
    c->part[c->parts++] = own;
    return SU_OK;
}

/* Takes "." and ".." out of a path in a package, which has no links; of a file's path only ".". */
static void simplify(char *path, bool package)
{
    char *to = path;
    for (const char *at = path; *at;) {
        const char *end = strchr(at, '/');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        bool here = length == 1 && *at == '.', up = package && length == 2 && memcmp(at, "..", 2) == 0;
        if (up && to > path) {
            to--;
            while (to > path && to[-1] != '/') to--;
        } else if (!here && !up) {
            memmove(to, at, length);
            to += length;
            if (end) *to++ = '/';
        }
        at += length + (end ? 1 : 0);
    }
    *to = '\0';
}

su_usd_text su_usd_folder_of(const su_usd_layer *layer)
{
    const char *path = layer->entry ? layer->entry : layer->path, *end = strrchr(path, '/');
    return (su_usd_text){path, end ? end - path + 1 : 0};
}

/* Where a layer's text for a file leads: relative to the layer, in its package where it is in one. Windows' paths have
 * backslashes. */
static su_status locate(su_usd_composer *c, const su_usd_layer *from, su_usd_text asset, char **path, char **entry)
{
    static const char arguments[] = ":SDF_FORMAT_ARGS:";
    su_usd_text folder = su_usd_folder_of(from);
    size_t before = *asset.at == '/' ? 0 : (size_t)folder.size;
    char *text = su_arena_alloc(&c->arena, (int64_t)before + asset.size + 1, 1), *cut;
    if (!text) return su_usd_no_memory(c);
    memcpy(text, folder.at, before);
    memcpy(text + before, asset.at, (size_t)asset.size);
    for (char *at = text + before; *at; at++)
        if (*at == '\\') *at = '/';
    if ((cut = strstr(text, arguments))) *cut = '\0';
    simplify(text, from->entry != NULL);
    *path = from->entry ? from->path : text, *entry = from->entry ? text : NULL;
    size_t length = strlen(text);
    if (!from->entry && length && text[length - 1] == ']' && (cut = strrchr(text, '['))) {
        text[length - 1] = *cut = '\0'; /* "package.usdz[layer.usdc]" */
        *entry = cut + 1;
    }
    return SU_OK;
}

/* Materials of MaterialX, which pictures are made with: nobody misses them here. */
static bool is_material(su_usd_text asset)
{
    static const char end[] = ".mtlx";
    int64_t length = (int64_t)sizeof end - 1;
    return asset.size > length && memcmp(asset.at + asset.size - length, end, (size_t)length) == 0;
}

su_status su_usd_part_of(su_usd_composer *c, const su_usd_layer *from, su_usd_text asset, int64_t *found)
{
    char *path = NULL, *entry = NULL;
    su_usd_layer *layer;
    su_error why = {0};
    bool known = false; /* several layers of a package are one file */
    *found = -1;
    SU_TRY(locate(c, from, asset, &path, &entry));
    for (int64_t i = 0; i < c->parts; i++) {
        const su_usd_layer *own = c->part[i].layer;
        if (strcmp(own->path, path) != 0) continue;
        known = true;
        if (entry ? own->entry && strcmp(own->entry, entry) == 0 : c->part[i].whole) {
            *found = i;
            return SU_OK;
        }
    }
    SU_TRY(SU_ALLOC(&layer, 1, "a USD layer", c->err));
    su_status status = su_usd_open_layer(path, entry, layer, &why);
    if (status == SU_OK) {
        if (layer->crate) layer->crate->no_memory = &c->out->no_memory;
        SU_TRY(su_usd_add_part(c, layer, !entry));
        *found = c->parts - 1;
        if (known) return SU_OK;
        SU_TRY(su_usd_composer_grow(c, &c->out->file, c->out->files, &c->file_room, sizeof *c->out->file));
        c->out->file[c->out->files++] = layer->path;
        return SU_OK;
    }
    free(layer);
    if (status == SU_AGAIN) return su_fail(c->err, SU_AGAIN, "%s", why.text);
    if (!c->out->missing && !is_material(asset)) {
        size_t room = strlen(why.text) + 1;
        if (!(c->out->missing = malloc(room))) return su_usd_no_memory(c);
        memcpy(c->out->missing, why.text, room);
    }
    return SU_OK;
}

/* A part and its sublayers behind the layers of a stack. */
static su_status stack_layers(su_usd_composer *c, su_usd_stack *s, su_usd_sublayer own)
{
    for (int64_t i = 0; i < s->layers; i++)
        if (s->layer[i].part == own.part) return SU_OK; /* the weaker of two says nothing; and a circle ends */
    SU_TRY(su_usd_composer_grow(c, &s->layer, s->layers, &s->room, sizeof *s->layer));
    s->layer[s->layers++] = own;
    for (int64_t i = 0; i < c->part[own.part].layer->own_arcs; i++) {
        const su_usd_layer *layer = c->part[own.part].layer;
        su_usd_arc arc = layer->arc[i];
        int64_t found;
        if (arc.kind != SU_USD_SUBLAYER || !arc.asset.size) continue;
        SU_TRY(su_usd_part_of(c, layer, arc.asset, &found));
        if (found < 0) continue;
        double clock = layer->codes_per_second / c->part[found].layer->codes_per_second;
        SU_TRY(stack_layers(
            c, s, (su_usd_sublayer){found, own.offset + own.scale * arc.offset, own.scale * arc.scale * clock}));
    }
    return SU_OK;
}

su_status su_usd_stack_of(su_usd_composer *c, int64_t root, const su_usd_stack **out)
{
    for (int64_t i = 0; i < c->stacks; i++)
        if (c->stack[i]->layer[0].part == root) {
            *out = c->stack[i];
            return SU_OK;
        }
    SU_TRY(su_usd_composer_grow(c, &c->stack, c->stacks, &c->stack_room, sizeof *c->stack));
    su_usd_stack *own;
    SU_TRY(SU_ALLOC(&own, 1, "USD layers", c->err));
    c->stack[c->stacks++] = own;
    *out = own;
    return stack_layers(c, own, (su_usd_sublayer){root, 0, 1});
}
