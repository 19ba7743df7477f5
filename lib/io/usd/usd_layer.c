#include "io/usd/usd_layer.h"

#include "core/order.h"
#include "io/usd/usdc_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

su_status su_usd_grow(const su_usd_layer *layer, void *array, int64_t count, int64_t *room, size_t size, su_error *err)
{
    void *old, *grown;
    if (count < *room) return SU_OK;
    *room = 2 * *room + 16;
    memcpy(&old, array, sizeof old);
    if (!(grown = realloc(old, (size_t)*room * size))) return su_fail(err, SU_AGAIN, "%s: out of memory", layer->path);
    memcpy(array, &grown, sizeof grown);
    return SU_OK;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const su_usd_sample *)a)->time, y = ((const su_usd_sample *)b)->time;
    return (x > y) - (x < y);
}

void su_usd_sort_samples(su_usd_attribute *attribute)
{
    if (attribute->samples > 1)
        su_sort(attribute->sample, (size_t)attribute->samples, sizeof *attribute->sample, by_time);
}

su_status su_usd_add_prim(su_usd_layer *layer, int64_t *room, su_usd_prim prim, su_error *err)
{
    const su_usd_prim *above = prim.parent >= 0 ? &layer->prim[prim.parent] : NULL;
    prim.attribute = -1;
    prim.defined = prim.specifier == 'd' && (!above || above->defined);
    prim.inactive = prim.active == 'f' || (above && above->inactive);
    SU_TRY(su_usd_grow(layer, &layer->prim, layer->prims, room, sizeof *layer->prim, err));
    layer->prim[layer->prims++] = prim;
    return SU_OK;
}

su_status su_usd_add_arc(su_usd_layer *layer, int64_t *room, su_usd_arc arc, su_error *err)
{
    SU_TRY(su_usd_grow(layer, &layer->arc, layer->arcs, room, sizeof *layer->arc, err));
    layer->arc[layer->arcs++] = arc;
    return SU_OK;
}

/* ---- what is there ---- */

bool su_usd_is(su_usd_text text, const char *word)
{
    size_t length = strlen(word);
    return text.size == (int64_t)length && memcmp(text.at, word, length) == 0;
}

int su_usd_compare(su_usd_text a, su_usd_text b)
{
    if (a.size != b.size) return a.size < b.size ? -1 : 1;
    return a.size ? memcmp(a.at, b.at, (size_t)a.size) : 0;
}

bool su_usd_same(su_usd_text a, su_usd_text b) { return su_usd_compare(a, b) == 0; }

su_usd_attribute *su_usd_attribute_of(const su_usd_layer *layer, int64_t prim, su_usd_text name)
{
    for (int64_t i = layer->prim[prim].attribute; i >= 0; i = layer->attribute[i].next)
        if (su_usd_same(layer->attribute[i].name, name)) return &layer->attribute[i];
    return NULL;
}

const su_usd_attribute *su_usd_find(const su_usd_layer *layer, int64_t prim, const char *name)
{
    return su_usd_attribute_of(layer, prim, (su_usd_text){name, (int64_t)strlen(name)});
}

int64_t su_usd_path_size(const su_usd_layer *layer, int64_t prim)
{
    int64_t size = 0;
    for (; prim >= 0; prim = layer->prim[prim].parent)
        if (!layer->prim[prim].set.size) size += 1 + layer->prim[prim].name.size;
    return size;
}

void su_usd_write_path(const su_usd_layer *layer, int64_t prim, char *to)
{
    for (to += su_usd_path_size(layer, prim); prim >= 0; prim = layer->prim[prim].parent) {
        su_usd_text name = layer->prim[prim].name;
        if (layer->prim[prim].set.size) continue;
        memcpy(to -= name.size, name.at, (size_t)name.size);
        *--to = '/';
    }
}

bool su_usd_none(su_usd_value value) { return !value.crate && value.text.size == 0; }

su_usd_value su_usd_first(const su_usd_attribute *attribute)
{
    if (!attribute) return (su_usd_value){0};
    return !su_usd_none(attribute->value) || !attribute->samples ? attribute->value : attribute->sample[0].value;
}

su_usd_text su_usd_token(su_usd_value value)
{
    if (value.crate) return su_crate_token(value);
    su_usd_text v = value.text;
    if (v.size >= 2 && strchr("\"'@<", *v.at) && *v.at) v.at++, v.size -= 2; /* without its quotes */
    return v;
}

int su_usd_path_names(su_usd_text path, int most, su_usd_text *names)
{
    int count = 0;
    if (path.size < 1 || path.at[0] != '/') return -1;
    for (int64_t at = 1, end; at < path.size; at = end) {
        bool variant = path.at[at] == '{'; /* "/a{set=name}b" */
        for (end = at; end < path.size && path.at[end] != '/' && (variant || path.at[end] != '{'); end++)
            if (variant && path.at[end] == '}') break;
        if (!variant && end > at) {
            if (count == most) return -1;
            names[count++] = (su_usd_text){path.at + at, end - at};
        }
        if (end < path.size && path.at[end] != '{') end++;
    }
    return count;
}

int64_t su_usd_prim_at(const su_usd_layer *layer, int64_t at, int count, const su_usd_text *names)
{
    for (int k = 0; k < count; k++) {
        int64_t found = -1;
        for (int64_t i = at + 1; i < layer->prims && found < 0; i++) {
            if (layer->prim[i].parent < at) break; /* behind all that stands below it */
            if (layer->prim[i].parent == at && !layer->prim[i].set.size && su_usd_same(layer->prim[i].name, names[k]))
                found = i;
        }
        if (found < 0) return -1;
        at = found;
    }
    return at;
}

/* The path of a number in "[</a>, </b>]", or "</a>". */
static su_usd_text path_in(su_usd_text list, int64_t number)
{
    const char *at = list.at, *end = list.at + list.size;
    for (; (at = memchr(at, '<', (size_t)(end - at))); at++) {
        const char *stop = memchr(at, '>', (size_t)(end - at));
        if (!stop) break;
        if (number-- == 0) return (su_usd_text){at + 1, stop - at - 1};
    }
    return (su_usd_text){0};
}

bool su_usd_target(const su_usd_layer *layer, const su_usd_attribute *relationship, int64_t number, su_usd_text *name,
                   int64_t *prim)
{
    su_usd_text names[SU_USD_DEEPEST], from[SU_USD_DEEPEST];
    su_usd_value value = su_usd_first(relationship);
    if (su_usd_none(value)) return false;
    int count = value.crate ? su_crate_target(value, number, SU_USD_DEEPEST, names)
                            : su_usd_path_names(path_in(value.text, number), SU_USD_DEEPEST, names);
    if (count < 1) return false;
    *name = names[count - 1], *prim = -1;
    for (int64_t o = relationship->origin; o > 0; o = layer->origin[o].outer) {
        const su_usd_origin *origin = &layer->origin[o];
        int inside = su_usd_path_names(origin->from, SU_USD_DEEPEST, from), k = 0;
        while (k < inside && k < count && su_usd_same(names[k], from[k])) k++;
        if (k < inside && !origin->open) return true;
        if (k < inside) continue;
        int outside = su_usd_path_names(origin->to, SU_USD_DEEPEST, from);
        if (inside < 0 || outside < 0 || outside + count - inside > SU_USD_DEEPEST) return true;
        memmove(names + outside, names + inside, (size_t)(count - inside) * sizeof *names);
        memcpy(names, from, (size_t)outside * sizeof *names);
        count += outside - inside;
    }
    *prim = su_usd_prim_at(layer, -1, count, names);
    return true;
}

int64_t su_usd_numbers(su_usd_value value, int64_t most, double *out)
{
    if (value.crate) return su_crate_numbers(value, most, out);
    if (value.text.size == 0) return 0;
    const char *at = value.text.at, *end = at + value.text.size;
    int64_t count = 0;
    while (at < end) {
        char *stop;
        if (strchr(" \t\r\n,()[]", *at)) { /* a zero byte is none of them, and no number */
            if (!*at) return -1;
            at++;
            continue;
        }
        double number = strtod(at, &stop); /* something stands behind every value: it cannot run out of the layer */
        if (stop == at || stop > end || !isfinite(number)) return -1;
        if (out && count < most) out[count] = number;
        count++;
        at = stop;
    }
    return count;
}

bool su_usd_next_token(su_usd_value *value, su_usd_text *token)
{
    if (value->crate) return su_crate_next_token(value, token);
    su_usd_text *list = &value->text;
    if (list->size == 0) return false;
    const char *end = list->at + list->size, *at = list->at;
    while (at < end && *at != '"' && *at != '\'') at++;
    if (at == end) return false;
    token->at = at + 1;
    const char *stop = memchr(at + 1, *at, (size_t)(end - at - 1));
    if (!stop) return false;
    token->size = stop - token->at;
    list->at = stop + 1, list->size = end - list->at;
    return true;
}
