/* Composition arcs of crates: lists of paths, references and payloads, layers, choices of variants. After OpenUSD's
 * crateFile.cpp and crateDataTypes.h. */
#include "io/usd/usdc_arcs.h"

#include "io/usd/usdc_file.h"
#include "io/usd/usdc_values.h"

#include <math.h>

/* Types that the writer does not have. */
enum { REFERENCE_LIST = 35, SELECTIONS = 45, PAYLOAD = 47, PAYLOAD_LIST = 55 };

typedef struct cursor {
    su_usd_layer *layer;
    struct su_usd_crate *crate;
    int64_t *room;
    uint64_t at; /* in the file */
    bool good;
    su_error *err;
} cursor;

static uint64_t take(cursor *c, int bytes)
{
    uint64_t left = c->at <= (uint64_t)c->crate->bytes ? (uint64_t)c->crate->bytes - c->at : 0;
    if (left < (uint64_t)bytes) c->good = false;
    if (!c->good) return 0;
    c->at += (uint64_t)bytes;
    return su_crate_number(c->crate->at + c->at - bytes, bytes);
}

static double take_double(cursor *c)
{
    uint64_t bits = take(c, 8);
    double out;
    memcpy(&out, &bits, sizeof out);
    if (!isfinite(out)) c->good = false;
    return c->good ? out : 0;
}

/* How many things of at least `least` bytes follow. */
static int64_t take_count(cursor *c, int least)
{
    uint64_t count = take(c, 8);
    if (c->good && count > ((uint64_t)c->crate->bytes - c->at) / (uint64_t)least) c->good = false;
    return c->good ? (int64_t)count : 0;
}

static su_usd_text take_string(cursor *c)
{
    uint64_t string = take(c, 4);
    if (c->good && string >= (uint64_t)c->crate->strings) c->good = false;
    if (!c->good) return (su_usd_text){0};
    uint64_t token = su_crate_number(c->crate->string + 4 * string, 4);
    if (token >= (uint64_t)c->crate->tokens) c->good = false;
    return c->good ? c->crate->token[token] : (su_usd_text){0};
}

/* "/a/b" of a prim's path; size 0 for that of nothing. */
static su_usd_text take_path(cursor *c)
{
    enum { LONGEST = 1 << 16 }; /* no path has as many letters */
    const struct su_usd_crate *crate = c->crate;
    uint64_t index = take(c, 4);
    int64_t size = 0;
    if (c->good && index >= (uint64_t)crate->paths) c->good = false;
    if (!c->good || crate->path[index].token < 0) return (su_usd_text){0};
    for (int32_t i = (int32_t)index; crate->path[i].parent >= 0; i = crate->path[i].parent)
        size += 1 + crate->token[crate->path[i].token].size;
    if (size > LONGEST) c->good = false;
    if (size > LONGEST) return (su_usd_text){0};
    char *text = su_arena_alloc(&c->crate->arena, size + 1, 1), *end = text ? text + size : NULL;
    if (!text) return (su_usd_text){0};
    for (int32_t i = (int32_t)index; crate->path[i].parent >= 0; i = crate->path[i].parent) {
        su_usd_text name = crate->token[crate->path[i].token];
        memcpy(end -= name.size, name.at, (size_t)name.size);
        *--end = '/';
    }
    return (su_usd_text){text, size};
}

/* A dictionary: names, and how far behind where it says so each value is. */
static void skip_dictionary(cursor *c)
{
    for (int64_t k = take_count(c, 12); k > 0 && c->good; k--) {
        (void)take_string(c);
        uint64_t from = c->at, jump = take(c, 8);
        if (jump > (uint64_t)c->crate->bytes) c->good = false;
        c->at = from + jump;
        (void)take(c, 8);
    }
}

static su_status add(cursor *c, su_usd_arc arc)
{
    return c->good ? su_usd_add_arc(c->layer, c->room, arc, c->err) : SU_OK;
}

static su_status take_arc(cursor *c, int type, su_usd_arc arc)
{
    enum { OFFSETS = 8 }; /* the version from which on payloads have them */
    if (type != SU_USDC_PATH_LIST) arc.asset = take_string(c);
    arc.prim = take_path(c);
    if (type == REFERENCE_LIST || (type != SU_USDC_PATH_LIST && c->crate->minor >= OFFSETS))
        arc.offset = take_double(c), arc.scale = take_double(c);
    if (type == REFERENCE_LIST) skip_dictionary(c);
    return add(c, arc);
}

/* A byte says whether the list replaces weaker ones, and which lists follow. */
static su_status take_list(cursor *c, int type, su_usd_arc arc)
{
    enum { REPLACES = 1, LEAST = 4 };
    static const struct {
        int bit;
        char edit;
    } lists[] = {{2, 'e'}, {4, 'a'}, {32, 'p'}, {64, 'a'}, {8, 'd'}, {16, 0}}; /* the last: an order */
    int said = (int)take(c, 1), items = 0;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        if (!(said & lists[l].bit)) continue;
        int64_t arcs = c->layer->arcs;
        for (int64_t k = take_count(c, LEAST); k > 0 && c->good; k--) {
            arc.edit = lists[l].edit, items++;
            SU_TRY(take_arc(c, type, arc));
        }
        if (!lists[l].edit) c->layer->arcs = arcs;
    }
    arc.edit = 'e';
    return said & REPLACES && !items ? add(c, arc) : SU_OK; /* of nothing: hides weaker ones */
}

static su_status take_layers(cursor *c)
{
    for (int64_t k = take_count(c, 4); k > 0 && c->good; k--) {
        su_usd_arc arc = {.kind = SU_USD_SUBLAYER, .edit = 'e', .scale = 1};
        arc.asset = take_string(c);
        SU_TRY(add(c, arc));
    }
    return SU_OK;
}

static su_status take_selections(cursor *c)
{
    for (int64_t k = take_count(c, 8); k > 0 && c->good; k--) {
        su_usd_arc arc = {.kind = SU_USD_SELECTION, .edit = 'e', .scale = 1};
        arc.asset = take_string(c), arc.prim = take_string(c);
        SU_TRY(add(c, arc));
    }
    return SU_OK;
}

/* Those of the layers that were named, in their order. */
static void take_offsets(cursor *c)
{
    int64_t count = take_count(c, 16);
    for (int64_t k = 0; k < count && k < c->layer->arcs && c->good; k++)
        c->layer->arc[k].offset = take_double(c), c->layer->arc[k].scale = take_double(c);
}

su_status su_crate_arcs(su_usd_layer *layer, int64_t *room, su_usd_text field, su_usd_value value, su_error *err)
{
    static const struct {
        const char *field;
        su_usd_arc_kind kind;
    } arcs[] = {{"references", SU_USD_REFERENCE},
                {"payload", SU_USD_PAYLOAD},
                {"inheritPaths", SU_USD_INHERIT},
                {"specializes", SU_USD_SPECIALIZE}};
    cursor c = {layer, layer->crate, room, value.word & SU_CRATE_PAYLOAD, true, err};
    su_status status = SU_OK;
    int type = su_crate_type(value.word);
    if (value.word & SU_CRATE_INLINED) return SU_OK; /* of nothing */
    if (type == SU_USDC_STRING_VECTOR && su_usd_is(field, "subLayers")) status = take_layers(&c);
    if (type == SU_USDC_OFFSET_VECTOR && su_usd_is(field, "subLayerOffsets")) take_offsets(&c);
    if (type == SELECTIONS && su_usd_is(field, "variantSelection")) status = take_selections(&c);
    for (size_t i = 0; i < sizeof arcs / sizeof *arcs && status == SU_OK; i++) {
        su_usd_arc arc = {.kind = arcs[i].kind, .edit = 'e', .scale = 1};
        if (!su_usd_is(field, arcs[i].field)) continue;
        if (type == PAYLOAD) status = take_arc(&c, type, arc);
        if (type == REFERENCE_LIST || type == PAYLOAD_LIST || type == SU_USDC_PATH_LIST)
            status = take_list(&c, type, arc);
    }
    if (status != SU_OK) return status;
    if (layer->crate->arena.failed) return su_fail(err, SU_AGAIN, "%s: out of memory", layer->path);
    return c.good ? SU_OK : su_fail(err, SU_INPUT, "%s: what it takes from other layers cannot be read", layer->path);
}
