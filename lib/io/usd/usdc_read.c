/* Crates of USD (.usdc, from version 0.4.0 on), reading: the tables behind the values become prims and attributes;
 * values stay where they are. After OpenUSD's description of the format in crateFile.h and crateDataTypes.h. */
#include "io/usd/usdc_read.h"

#include "core/memory.h"
#include "io/usd/usdc_arcs.h"
#include "io/usd/usdc_file.h"
#include "io/usd/usdc_packed.h"
#include "io/usd/usdc_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANT = 10 }; /* a kind of spec */

typedef struct reader {
    su_usd_layer *layer;
    struct su_usd_crate *crate;
    int64_t prim_room, attribute_room, arc_room;
    su_error *err;
} reader;

#define OFFSETS "subLayerOffsets"

static su_status refuse(reader *r, const char *what)
{
    return su_fail(r->err, SU_INPUT, "%s: %s", r->layer->path, what);
}

/* ---- tables ---- */

typedef struct section {
    const uint8_t *at, *end;
} section;

static su_status find_section(reader *r, const char *name, section *out)
{
    enum { CONTENTS = 16, ROW = 32, NAME = 16 };
    const struct su_usd_crate *c = r->crate;
    uint64_t contents, count, start, size;
    if (!su_crate_word(c, CONTENTS, &contents) || !su_crate_word(c, contents, &count) ||
        count > ((uint64_t)c->bytes - contents - 8) / ROW)
        return refuse(r, "its table of contents is cut off");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = contents + 8 + ROW * i;
        if (strncmp((const char *)c->at + row, name, NAME) != 0) continue;
        if (!su_crate_word(c, row + NAME, &start) || !su_crate_word(c, row + NAME + 8, &size) ||
            start > (uint64_t)c->bytes || size > (uint64_t)c->bytes - start)
            break;
        *out = (section){c->at + start, c->at + start + size};
        return SU_OK;
    }
    return su_fail(r->err, SU_INPUT, "%s: its table %s is missing or cut off", r->layer->path, name);
}

static bool take_word(section *s, int64_t *out)
{
    if (s->end - s->at < 8) return false;
    uint64_t value = su_crate_number(s->at, 8);
    if (value > INT32_MAX) return false; /* nothing that stands in tables is larger */
    *out = (int64_t)value, s->at += 8;
    return true;
}

/* Bytes that are packed, with their size before them. */
static bool take_packed(section *s, const uint8_t **at, int64_t *bytes)
{
    if (!take_word(s, bytes) || *bytes > s->end - s->at) return false;
    *at = s->at, s->at += *bytes;
    return true;
}

/* `count` whole numbers in [least, limit). */
static su_status take_integers(reader *r, section *s, int64_t count, int64_t least, int64_t limit, int64_t **out)
{
    const uint8_t *at;
    int64_t bytes;
    bool memory = true;
    if (!take_packed(s, &at, &bytes) || count / 4 > su_usdc_most_unpacked(bytes))
        return refuse(r, "one of its tables is broken");
    *out = su_arena_alloc(&r->crate->arena, count, sizeof **out);
    bool good = *out && su_usdc_unpack_integers(at, bytes, false, count, *out, &memory);
    if (!*out || !memory) return su_fail(r->err, SU_AGAIN, "%s: out of memory", r->layer->path);
    for (int64_t i = 0; i < count && good; i++) good = (*out)[i] >= least && (*out)[i] < limit;
    return good ? SU_OK : refuse(r, "one of its tables is broken");
}

static su_status read_tokens(reader *r)
{
    struct su_usd_crate *c = r->crate;
    section s;
    const uint8_t *at;
    int64_t size, bytes;
    SU_TRY(find_section(r, "TOKENS", &s));
    if (!take_word(&s, &c->tokens) || !take_word(&s, &size) || !take_packed(&s, &at, &bytes) ||
        size > su_usdc_most_unpacked(bytes) || c->tokens > size)
        return refuse(r, "its tokens are broken");
    char *text = su_arena_alloc(&c->arena, size + 1, 1);
    c->token = text ? su_arena_alloc(&c->arena, c->tokens, sizeof *c->token) : NULL;
    if (!c->token) return su_fail(r->err, SU_AGAIN, "%s: out of memory", r->layer->path);
    if (!su_usdc_unpack(at, bytes, (uint8_t *)text, size)) return refuse(r, "its tokens are broken");
    const char *word = text, *end = text + size;
    for (int64_t i = 0; i < c->tokens; i++) {
        if (word >= end) return refuse(r, "its tokens are broken");
        c->token[i] = (su_usd_text){word, (int64_t)strlen(word)}; /* a zero stands behind the last */
        word += c->token[i].size + 1;
    }
    SU_TRY(find_section(r, "STRINGS", &s));
    if (!take_word(&s, &c->strings) || c->strings > (s.end - s.at) / 4) return refuse(r, "its strings are broken");
    c->string = s.at;
    return SU_OK;
}

static su_status read_fields(reader *r)
{
    struct su_usd_crate *c = r->crate;
    section s;
    const uint8_t *at;
    int64_t bytes;
    SU_TRY(find_section(r, "FIELDS", &s));
    if (!take_word(&s, &c->fields)) return refuse(r, "its fields are broken");
    SU_TRY(take_integers(r, &s, c->fields, 0, c->tokens, &c->field_name));
    if (!take_packed(&s, &at, &bytes) || 8 * c->fields > su_usdc_most_unpacked(bytes))
        return refuse(r, "its fields are broken");
    c->field_value = su_arena_alloc(&c->arena, c->fields, sizeof *c->field_value);
    if (!c->field_value) return su_fail(r->err, SU_AGAIN, "%s: out of memory", r->layer->path);
    if (c->fields && !su_usdc_unpack(at, bytes, (uint8_t *)c->field_value, 8 * c->fields))
        return refuse(r, "its fields are broken");
    SU_TRY(find_section(r, "FIELDSETS", &s));
    if (!take_word(&s, &c->entries)) return refuse(r, "its fields are broken");
    SU_TRY(take_integers(r, &s, c->entries, -1, c->fields, &c->entry));
    if (c->entries && c->entry[c->entries - 1] != -1) return refuse(r, "its fields are broken");
    return SU_OK;
}

/* Paths stand depth first; each says how far behind it its sibling is: -2 nothing follows, -1 only a child, 0 only a
 * sibling, which is next. */
static su_status read_paths(reader *r)
{
    struct su_usd_crate *c = r->crate;
    section s;
    int64_t count, *index, *token, *jump;
    SU_TRY(find_section(r, "PATHS", &s));
    if (!take_word(&s, &c->paths) || !take_word(&s, &count) || count > c->paths)
        return refuse(r, "its paths are broken");
    SU_TRY(take_integers(r, &s, count, 0, c->paths, &index));
    SU_TRY(take_integers(r, &s, count, -c->tokens + 1, c->tokens, &token));
    SU_TRY(take_integers(r, &s, count, -2, count, &jump));
    if (c->paths > 16 * (count + 1)) return refuse(r, "its paths are broken"); /* room for nothing */
    c->path = su_arena_alloc(&c->arena, c->paths, sizeof *c->path);
    int32_t *parent = su_arena_alloc(&c->arena, count, sizeof *parent),
            *last = c->path ? su_arena_alloc(&c->arena, c->paths, sizeof *last) : NULL;
    if (!last || !parent) return su_fail(r->err, SU_AGAIN, "%s: out of memory", r->layer->path);
    for (int64_t i = 0; i < c->paths; i++)
        c->path[i] = (su_crate_path){.parent = -1, .token = -1, .child = -1, .next = -1, .prim = -1};
    for (int64_t i = 0; i < count; i++) parent[i] = i ? -2 : -1; /* -2: nobody has said where it belongs */
    for (int64_t i = 0; i < count; i++) {
        su_crate_path *p = &c->path[index[i]];
        bool child = jump[i] > 0 || jump[i] == -1, sibling = jump[i] >= 0;
        int64_t next = jump[i] > 0 ? i + jump[i] : i + 1;
        if (parent[i] == -2 || p->token >= 0 || (i == 0 && sibling) || ((child || sibling) && i + 1 >= count) ||
            (sibling && (next >= count || parent[next] != -2)))
            return refuse(r, "its paths are broken");
        p->parent = parent[i], p->property = token[i] < 0, p->token = (int32_t)(token[i] < 0 ? -token[i] : token[i]);
        if (sibling) parent[next] = parent[i];
        if (child) parent[i + 1] = (int32_t)index[i];
        if (p->parent < 0) continue;
        su_crate_path *above = &c->path[p->parent];
        if (above->child < 0)
            above->child = (int32_t)index[i];
        else
            c->path[last[p->parent]].next = (int32_t)index[i];
        last[p->parent] = (int32_t)index[i];
    }
    return SU_OK;
}

static su_status read_specs(reader *r)
{
    struct su_usd_crate *c = r->crate;
    section s;
    int64_t count, *at, *fields, *type;
    SU_TRY(find_section(r, "SPECS", &s));
    if (!take_word(&s, &count)) return refuse(r, "its specs are broken");
    SU_TRY(take_integers(r, &s, count, 0, c->paths, &at));
    SU_TRY(take_integers(r, &s, count, 0, c->entries, &fields));
    SU_TRY(take_integers(r, &s, count, 0, UINT8_MAX, &type));
    for (int64_t i = 0; i < count; i++) c->path[at[i]].spec = (uint8_t)type[i], c->path[at[i]].fields = fields[i];
    return SU_OK;
}

/* ---- prims ---- */

/* A field of a spec; false: it has none of that name. */
static bool field(const struct su_usd_crate *c, const su_crate_path *p, const char *name, su_usd_value *out)
{
    for (int64_t i = p->fields; i < c->entries && c->entry[i] >= 0; i++) {
        int64_t at = c->entry[i];
        if (!su_usd_is(c->token[c->field_name[at]], name)) continue;
        *out = (su_usd_value){.crate = c, .word = c->field_value[at]};
        return true;
    }
    return false;
}

static su_usd_text token_field(const struct su_usd_crate *c, const su_crate_path *p, const char *name)
{
    su_usd_value value;
    return field(c, p, name, &value) ? su_crate_token(value) : (su_usd_text){0};
}

static bool number_field(const struct su_usd_crate *c, const su_crate_path *p, const char *name, double *out)
{
    su_usd_value value;
    return field(c, p, name, &value) && su_crate_numbers(value, 1, out) == 1;
}

/* What a spec takes from elsewhere; offsets of layers stand behind their names, wherever their fields do. */
static su_status read_arcs(reader *r, const su_crate_path *p)
{
    struct su_usd_crate *c = r->crate;
    su_usd_value value;
    for (int64_t i = p->fields; i < c->entries && c->entry[i] >= 0; i++) {
        su_usd_text name = c->token[c->field_name[c->entry[i]]];
        value = (su_usd_value){.crate = c, .word = c->field_value[c->entry[i]]};
        if (!su_usd_is(name, OFFSETS)) SU_TRY(su_crate_arcs(r->layer, &r->arc_room, name, value, r->err));
    }
    return field(c, p, OFFSETS, &value)
               ? su_crate_arcs(r->layer, &r->arc_room, (su_usd_text){OFFSETS, sizeof OFFSETS - 1}, value, r->err)
               : SU_OK;
}

static double seconds_at(const struct su_usd_crate *c, uint64_t offset)
{
    double out;
    memcpy(&out, c->at + offset, sizeof out);
    return out;
}

/* Offsets count from where they stand: to the times, and behind these to the number of values. */
static su_status read_samples(reader *r, su_usd_value samples, su_usd_attribute *attribute)
{
    const struct su_usd_crate *c = r->crate;
    uint64_t at = samples.word & SU_CRATE_PAYLOAD, jump, word, count;
    int64_t room = 0;
    if (su_crate_type(samples.word) != SU_USDC_SAMPLES || samples.word & SU_CRATE_INLINED ||
        !su_crate_word(c, at, &jump) || !su_crate_word(c, at += jump, &word) || !su_crate_word(c, at += 8, &jump) ||
        !su_crate_word(c, at += jump, &count))
        return refuse(r, "time samples cannot be read");
    uint64_t times = word & SU_CRATE_PAYLOAD, number_of_times;
    if (su_crate_type(word) != SU_USDC_DOUBLE_VECTOR || !su_crate_word(c, times, &number_of_times) ||
        number_of_times != count || count > ((uint64_t)c->bytes - times - 8) / 8 ||
        count > ((uint64_t)c->bytes - at - 8) / 8)
        return refuse(r, "time samples cannot be read");
    for (uint64_t k = 0; k < count; k++) {
        su_usd_value value = {.crate = c, .word = su_crate_number(c->at + at + 8 + 8 * k, 8)};
        double time = seconds_at(c, times + 8 + 8 * k);
        if (!isfinite(time)) return refuse(r, "a time is no number");
        if (su_crate_type(value.word) == SU_USDC_BLOCK) continue;
        SU_TRY(su_usd_grow(r->layer, &attribute->sample, attribute->samples, &room, sizeof *attribute->sample, r->err));
        attribute->sample[attribute->samples++] = (su_usd_sample){time, value};
    }
    su_usd_sort_samples(attribute);
    return SU_OK;
}

static su_status read_property(reader *r, int64_t prim, const su_crate_path *p)
{
    su_usd_layer *layer = r->layer;
    const struct su_usd_crate *c = r->crate;
    su_usd_value value;
    su_usd_text type = token_field(c, p, "typeName"), name = c->token[p->token];
    if (type.size > 2 && memcmp(type.at + type.size - 2, "[]", 2) == 0) type.size -= 2;
    SU_TRY(
        su_usd_grow(layer, &layer->attribute, layer->attributes, &r->attribute_room, sizeof *layer->attribute, r->err));
    su_usd_attribute *attribute = &layer->attribute[layer->attributes];
    *attribute = (su_usd_attribute){.type = type, .name = name, .next = layer->prim[prim].attribute};
    attribute->interpolation = token_field(c, p, "interpolation");
    if (field(c, p, "weight", &value)) attribute->weight = value;
    layer->prim[prim].attribute = layer->attributes++;
    if (field(c, p, "default", &value) && su_crate_type(value.word) == SU_USDC_BLOCK)
        attribute->blocked = true;
    else if (field(c, p, "default", &value) || field(c, p, "targetPaths", &value))
        attribute->value = value;
    return field(c, p, "timeSamples", &value) ? read_samples(r, value, attribute) : SU_OK;
}

/* The children of a path in the order that its spec names them: paths are sorted, prims are not. rank (tokens) is 0 and
 * becomes so again. */
static su_status order_children(reader *r, su_crate_path *above, int32_t *rank)
{
    struct su_usd_crate *c = r->crate;
    su_usd_value value;
    uint64_t count, at;
    int32_t *slot;
    if (!field(c, above, "primChildren", &value) || su_crate_type(value.word) != SU_USDC_TOKEN_VECTOR ||
        above->child < 0)
        return SU_OK;
    at = value.word & SU_CRATE_PAYLOAD;
    if (!su_crate_word(c, at, &count) || count > ((uint64_t)c->bytes - at - 8) / 4)
        return refuse(r, "names of prims are broken");
    SU_TRY(SU_ALLOC(&slot, count + 1, "prims", r->err));
    for (uint64_t i = 0; i <= count; i++) slot[i] = -1;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t token = su_crate_number(c->at + at + 8 + 4 * i, 4);
        if (token < (uint64_t)c->tokens) rank[token] = (int32_t)i + 1;
    }
    int32_t first = -1, *end = &first; /* those that are not named stand behind the others */
    for (int32_t k = above->child, next; k >= 0; k = next) {
        next = c->path[k].next;
        int32_t place = c->path[k].property ? 0 : rank[c->path[k].token];
        if (place && slot[place - 1] < 0)
            slot[place - 1] = k;
        else
            *end = k, end = &c->path[k].next;
    }
    *end = -1;
    for (int64_t i = (int64_t)count - 1; i >= 0; i--)
        if (slot[i] >= 0) c->path[slot[i]].next = first, first = slot[i];
    above->child = first;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t token = su_crate_number(c->at + at + 8 + 4 * i, 4);
        if (token < (uint64_t)c->tokens) rank[token] = 0;
    }
    free(slot);
    return SU_OK;
}

/* The set and the name of a variant from the last part of its path, "{set=name}"; false: it is no variant, or one
 * without a name, which is the set's. */
static bool variant_of(su_usd_text part, su_usd_prim *out)
{
    const char *at = part.size > 2 && *part.at == '{' ? memchr(part.at, '=', (size_t)part.size) : NULL;
    if (!at || part.at[part.size - 1] != '}') return false;
    out->set = (su_usd_text){part.at + 1, at - part.at - 1};
    out->name = (su_usd_text){at + 1, part.at + part.size - 1 - (at + 1)};
    return out->set.size > 0 && out->name.size > 0;
}

static su_status read_prim(reader *r, su_crate_path *p, int64_t parent)
{
    static const char specifiers[] = {'d', 'o', 'c'};
    su_usd_layer *layer = r->layer;
    su_usd_value value;
    su_usd_prim prim = {.name = r->crate->token[p->token],
                        .type = token_field(r->crate, p, "typeName"),
                        .parent = parent,
                        .arc = layer->arcs,
                        .specifier = 'o'};
    double active;
    if (field(r->crate, p, "specifier", &value) && su_crate_type(value.word) == SU_USDC_SPECIFIER &&
        (value.word & SU_CRATE_PAYLOAD) < sizeof specifiers)
        prim.specifier = specifiers[value.word & SU_CRATE_PAYLOAD];
    if (number_field(r->crate, p, "active", &active)) prim.active = active == 0.0 ? 'f' : 't';
    if (p->spec == VARIANT) (void)variant_of(prim.name, &prim);
    SU_TRY(read_arcs(r, p));
    prim.arcs = layer->arcs - prim.arc;
    p->prim = (int32_t)layer->prims;
    SU_TRY(su_usd_add_prim(layer, &r->prim_room, prim, r->err));
    for (int32_t k = p->child; k >= 0; k = r->crate->path[k].next) {
        const su_crate_path *property = &r->crate->path[k];
        if (property->property && (property->spec == SU_USDC_ATTRIBUTE || property->spec == SU_USDC_RELATIONSHIP))
            SU_TRY(read_property(r, p->prim, property));
    }
    return SU_OK;
}

/* Prims, and variants, which are paths, too. */
static bool is_prim(const struct su_usd_crate *c, const su_crate_path *p)
{
    su_usd_prim variant = {0};
    return !p->property &&
           (p->spec == SU_USDC_PRIM || (p->spec == VARIANT && variant_of(c->token[p->token], &variant)));
}

/* Depth first, in the order of the layer. */
static su_status read_prims(reader *r, int32_t root)
{
    struct su_usd_crate *c = r->crate;
    int32_t *rank = su_arena_alloc(&c->arena, c->tokens, sizeof *rank), at = root;
    if (!rank) return su_fail(r->err, SU_AGAIN, "%s: out of memory", r->layer->path);
    int depth = 0;
    while (at >= 0) {
        su_crate_path *p = &c->path[at];
        bool inside = at == root;
        if (!inside && is_prim(c, p)) {
            int64_t parent = p->parent == root ? -1 : c->path[p->parent].prim;
            SU_TRY(read_prim(r, p, parent));
            inside = true;
        }
        if (inside) SU_TRY(order_children(r, p, rank));
        if (inside && p->child >= 0) {
            if (++depth > SU_USD_DEEPEST) return refuse(r, "prims are nested too deeply");
            at = p->child;
            continue;
        }
        while (at != root && c->path[at].next < 0) at = c->path[at].parent, depth--;
        at = at == root ? -1 : c->path[at].next;
    }
    return SU_OK;
}

static su_status read_layer(reader *r, int32_t root)
{
    const struct su_usd_crate *c = r->crate;
    su_usd_layer *layer = r->layer;
    const su_crate_path *p = &c->path[root];
    double value;
    if (p->spec != SU_USDC_LAYER) return refuse(r, "has no layer at its root");
    if (number_field(c, p, "metersPerUnit", &value) && value > 0.0) layer->meters = value, layer->says_meters = true;
    if (number_field(c, p, "framesPerSecond", &value) && value > 0.0) layer->codes_per_second = value;
    if (number_field(c, p, "timeCodesPerSecond", &value) && value > 0.0) layer->codes_per_second = value;
    if (su_usd_is(token_field(c, p, "upAxis"), "Z")) layer->up = 'Z';
    layer->default_prim = token_field(c, p, "defaultPrim");
    SU_TRY(read_arcs(r, p));
    layer->own_arcs = layer->arcs;
    return read_prims(r, root);
}

su_status su_usdc_read(su_usd_layer *layer, const char *at, size_t bytes, su_error *err)
{
    enum { HEADER = 24, MINOR = 9, OLDEST = 4 };
    SU_TRY(SU_ALLOC(&layer->crate, 1, "a USD layer", err));
    struct su_usd_crate *c = layer->crate;
    reader r = {.layer = layer, .crate = c, .err = err};
    c->at = (const uint8_t *)at, c->bytes = (int64_t)bytes;
    c->no_memory = &layer->no_memory;
    if (bytes < HEADER) return refuse(&r, "is cut off");
    c->minor = c->at[MINOR];
    if (c->at[MINOR - 1] != 0 || c->minor < OLDEST)
        return su_fail(err, SU_INPUT,
                       "%s: is a binary layer of version %d.%d, which is not read; usdcat -o layer.usda %s",
                       layer->path, c->at[MINOR - 1], c->minor, layer->path);
    SU_TRY(read_tokens(&r));
    SU_TRY(read_fields(&r));
    SU_TRY(read_paths(&r));
    SU_TRY(read_specs(&r));
    for (int64_t i = 0; i < c->paths; i++)
        if (c->path[i].token >= 0 && c->path[i].parent < 0) return read_layer(&r, (int32_t)i);
    return refuse(&r, "has no paths");
}
