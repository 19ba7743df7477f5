#include "io/usd/usda_read.h"

#include "io/usd/usda_read_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- metadata in parentheses ---- */

typedef struct metadata {
    su_usd_text interpolation, weight, active, up, meters, codes, rate, first;
} metadata;

static su_status read_metadata(su_usda_parser *p, metadata *out)
{
    static const char *const edits[] = {"prepend", "append", "add", "delete", "reorder"};
    if (!su_usda_take(p, '(')) return SU_OK;
    while (!su_usda_take(p, ')')) {
        su_usd_text key, v = {0};
        su_usd_arc_kind kind;
        char edit = 'e';
        if (su_usda_next_is(p, '"') || su_usda_next_is(p, '\'')) { /* a comment */
            SU_TRY(su_usda_quoted(p, &v));
            continue;
        }
        key = su_usda_word(p);
        if (!key.size) return su_usda_refuse(p, "metadata cannot be read");
        for (size_t i = 0; i < sizeof edits / sizeof *edits && edit == 'e'; i++)
            if (su_usd_is(key, edits[i])) edit = *key.at, key = su_usda_word(p);
        if (edit == 'a' && !key.size) return su_usda_refuse(p, "metadata cannot be read");
        if (!su_usda_take(p, '=')) continue;
        if (su_usda_arc_kind(key, &kind) && edit != 'r') {
            SU_TRY(su_usda_arcs(p, kind, edit));
            continue;
        }
        su_usda_skip_space(p);
        if (su_usd_is(key, "variants") && p->at < p->end && *p->at == '{') {
            SU_TRY(su_usda_selections(p));
            continue;
        }
        SU_TRY(su_usda_value(p, &v));
        if (su_usda_next_is(p, '<')) SU_TRY(su_usda_quoted(p, &v)); /* of lists that are only put in order */
        if (su_usda_next_is(p, '(')) SU_TRY(su_usda_bracketed(p, &v));
        if (su_usd_is(key, "interpolation")) out->interpolation = su_usda_unquoted(v);
        if (su_usd_is(key, "weight")) out->weight = v;
        if (su_usd_is(key, "active")) out->active = v;
        if (su_usd_is(key, "upAxis")) out->up = su_usda_unquoted(v);
        if (su_usd_is(key, "defaultPrim")) out->first = su_usda_unquoted(v);
        if (su_usd_is(key, "metersPerUnit")) out->meters = v;
        if (su_usd_is(key, "timeCodesPerSecond")) out->codes = v;
        if (su_usd_is(key, "framesPerSecond")) out->rate = v;
    }
    return SU_OK;
}

/* ---- prims and attributes ---- */

static su_status grow(su_usda_parser *p, void *array, int64_t count, int64_t *room, size_t size)
{
    return su_usd_grow(p->file, array, count, room, size, p->err);
}

static su_status read_samples(su_usda_parser *p, su_usd_attribute *attribute)
{
    int64_t room = 0;
    free(attribute->sample);
    attribute->sample = NULL, attribute->samples = 0;
    if (!su_usda_take(p, '{')) return su_usda_refuse(p, "time samples are missing");
    while (!su_usda_take(p, '}')) {
        su_usd_text v;
        double number;
        if (!su_usda_number(p, &number) || !su_usda_take(p, ':'))
            return su_usda_refuse(p, "a time is no number, or has no value");
        SU_TRY(su_usda_value(p, &v));
        su_usda_take(p, ',');
        if (su_usd_is(v, "None")) continue;
        SU_TRY(grow(p, &attribute->sample, attribute->samples, &room, sizeof *attribute->sample));
        attribute->sample[attribute->samples++] = (su_usd_sample){.time = number, .value.text = v};
    }
    su_usd_sort_samples(attribute);
    return SU_OK;
}

/* The attribute of that name, entered where it is new: its default and its time samples are two statements. */
static su_status attribute_of(su_usda_parser *p, int64_t prim, su_usd_text type, su_usd_text name,
                              su_usd_attribute **out)
{
    su_usd_layer *file = p->file;
    if ((*out = su_usd_attribute_of(file, prim, name))) return SU_OK;
    SU_TRY(grow(p, &file->attribute, file->attributes, &p->attribute_room, sizeof *file->attribute));
    *out = &file->attribute[file->attributes];
    **out = (su_usd_attribute){.type = type, .name = name, .next = file->prim[prim].attribute};
    file->prim[prim].attribute = file->attributes++;
    return SU_OK;
}

static bool ends_with(su_usd_text text, const char *end)
{
    int64_t length = (int64_t)strlen(end);
    return text.size > length && memcmp(text.at + text.size - length, end, (size_t)length) == 0;
}

/* Paths of a relationship that do not begin with "/" are the prim's own: "<Skeleton>", "<../rig>". */
static su_status make_absolute(su_usda_parser *p, int64_t prim, su_usd_text *value)
{
    const su_usd_layer *layer = p->file;
    const char *end = value->at + value->size;
    int64_t own = su_usd_path_size(layer, prim), relative = 0;
    for (const char *at = value->at; (at = memchr(at, '<', (size_t)(end - at))); at++) relative += at[1] != '/';
    if (!relative) return SU_OK;
    char *text = su_arena_alloc(&p->file->arena, value->size + relative * (own + 1) + 1, 1), *to = text;
    if (!text) return su_fail(p->err, SU_AGAIN, "%s: out of memory", layer->path);
    for (const char *at = value->at; at < end;) {
        char c = *to++ = *at++;
        if (c != '<' || *at == '/') continue;
        int64_t above = prim;
        for (; end - at > 1 && memcmp(at, "..", 2) == 0; at += at[2] == '/' ? 3 : 2)
            if (above >= 0) above = layer->prim[above].parent;
        su_usd_write_path(layer, above, to);
        to += su_usd_path_size(layer, above);
        if (*at == '.') at++; /* the prim itself */
        if (*at != '>') *to++ = '/';
    }
    *value = (su_usd_text){text, to - text};
    return SU_OK;
}

/* "uniform token[] name.timeSamples = ... ( metadata )", its first word read. */
static su_status read_attribute(su_usda_parser *p, int64_t prim, su_usd_text type)
{
    su_usd_text name, v = {0};
    su_usd_attribute *attribute;
    metadata meta = {0};
    while (su_usd_is(type, "custom") || su_usd_is(type, "uniform") || su_usd_is(type, "varying") ||
           su_usd_is(type, "config") || su_usd_is(type, "prepend") || su_usd_is(type, "append") ||
           su_usd_is(type, "add") || su_usd_is(type, "delete"))
        type = su_usda_word(p);
    if (su_usda_take(p, '[') && !su_usda_take(p, ']')) return su_usda_refuse(p, "a type cannot be read");
    name = su_usda_word(p);
    if (!type.size || !name.size) return su_usda_refuse(p, "an attribute cannot be read");
    if (su_usda_take(p, '[')) return su_usda_refuse(p, "an attribute cannot be read");
    bool samples = ends_with(name, ".timeSamples"), connection = ends_with(name, ".connect");
    if (samples) name.size -= (int64_t)strlen(".timeSamples");
    if (connection) name.size -= (int64_t)strlen(".connect");
    SU_TRY(attribute_of(p, prim, type, name, &attribute));
    if (su_usda_take(p, '=')) {
        if (samples)
            SU_TRY(read_samples(p, attribute));
        else
            SU_TRY(su_usda_value(p, &v));
    }
    if (su_usd_is(type, "rel") && v.size) SU_TRY(make_absolute(p, prim, &v));
    if (!samples && !connection && v.size) {
        attribute->blocked = su_usd_is(v, "None");
        if (!attribute->blocked) attribute->value = (su_usd_value){.text = v};
    }
    SU_TRY(read_metadata(p, &meta));
    if (meta.interpolation.size) attribute->interpolation = meta.interpolation;
    if (meta.weight.size) attribute->weight = (su_usd_value){.text = meta.weight};
    return SU_OK;
}

/* "reorder nameChildren = [...]", its first word read. */
static su_status skip_order(su_usda_parser *p)
{
    su_usd_text skipped;
    (void)su_usda_word(p);
    return su_usda_take(p, '=') ? su_usda_value(p, &skipped) : su_usda_refuse(p, "an order without names");
}

static su_status read_prim(su_usda_parser *p, char specifier, int64_t parent, int depth);
static su_status read_body(su_usda_parser *p, int64_t prim, int depth);

/* 'variantSet "set" = { "name" ( metadata ) { ... } ... }', its first word read. */
static su_status read_variants(su_usda_parser *p, int64_t parent, int depth)
{
    su_usd_text set, name;
    if (depth > SU_USD_DEEPEST) return su_usda_refuse(p, "prims are nested too deeply");
    SU_TRY(su_usda_value(p, &set));
    if (!su_usda_take(p, '=') || !su_usda_take(p, '{')) return su_usda_refuse(p, "a variant set without variants");
    while (!su_usda_take(p, '}')) {
        metadata meta = {0};
        if (!su_usda_next_is(p, '"') && !su_usda_next_is(p, '\'')) return su_usda_refuse(p, "a variant without a name");
        SU_TRY(su_usda_quoted(p, &name));
        int64_t arcs = p->file->arcs, at = p->file->prims;
        SU_TRY(read_metadata(p, &meta));
        SU_TRY(su_usd_add_prim(p->file, &p->prim_room,
                               (su_usd_prim){.name = su_usda_unquoted(name),
                                             .set = su_usda_unquoted(set),
                                             .parent = parent,
                                             .arc = arcs,
                                             .arcs = p->file->arcs - arcs,
                                             .specifier = 'o'},
                               p->err));
        SU_TRY(read_body(p, at, depth + 1));
    }
    return SU_OK;
}

static su_status read_body(su_usda_parser *p, int64_t prim, int depth)
{
    if (!su_usda_take(p, '{')) return su_usda_refuse(p, "a prim without a body");
    while (!su_usda_take(p, '}')) {
        su_usd_text first = su_usda_word(p);
        if (!first.size) return su_usda_refuse(p, "something that is no part of a prim");
        if (su_usd_is(first, "def") || su_usd_is(first, "over") || su_usd_is(first, "class")) {
            SU_TRY(read_prim(p, *first.at, prim, depth + 1));
        } else if (su_usd_is(first, "variantSet")) {
            SU_TRY(read_variants(p, prim, depth + 1));
        } else if (su_usd_is(first, "reorder")) {
            SU_TRY(skip_order(p));
        } else {
            SU_TRY(read_attribute(p, prim, first));
        }
    }
    return SU_OK;
}

/* 'Mesh "body" ( metadata ) { ... }', its specifier read. */
static su_status read_prim(su_usda_parser *p, char specifier, int64_t parent, int depth)
{
    su_usd_text type = su_usda_word(p), name;
    metadata meta = {0};
    if (depth > SU_USD_DEEPEST) return su_usda_refuse(p, "prims are nested too deeply");
    if (!su_usda_next_is(p, '"') && !su_usda_next_is(p, '\'')) return su_usda_refuse(p, "a prim without a name");
    SU_TRY(su_usda_quoted(p, &name));
    int64_t arcs = p->file->arcs, at = p->file->prims;
    SU_TRY(read_metadata(p, &meta));
    bool off = su_usd_is(meta.active, "false") || su_usd_is(meta.active, "0");
    SU_TRY(su_usd_add_prim(p->file, &p->prim_room,
                           (su_usd_prim){.name = su_usda_unquoted(name),
                                         .type = type,
                                         .parent = parent,
                                         .arc = arcs,
                                         .arcs = p->file->arcs - arcs,
                                         .specifier = specifier,
                                         .active = (char)(off                ? 'f'
                                                          : meta.active.size ? 't'
                                                                             : 0)},
                           p->err));
    return read_body(p, at, depth);
}

static int64_t number_in(su_usd_text text, double *out) { return su_usd_numbers((su_usd_value){.text = text}, 1, out); }

static su_status read_layer(su_usda_parser *p)
{
    su_usd_layer *file = p->file;
    metadata meta = {0};
    double number;
    su_usda_skip_space(p); /* "#usda 1.0" is a comment like others */
    SU_TRY(read_metadata(p, &meta));
    file->own_arcs = file->arcs, file->default_prim = meta.first;
    if (meta.meters.size && number_in(meta.meters, &number) == 1 && number > 0.0)
        file->meters = number, file->says_meters = true;
    if (meta.rate.size && number_in(meta.rate, &number) == 1 && number > 0.0) file->codes_per_second = number;
    if (meta.codes.size && number_in(meta.codes, &number) == 1 && number > 0.0) file->codes_per_second = number;
    if (su_usd_is(meta.up, "Z")) file->up = 'Z';
    for (su_usda_skip_space(p); p->at < p->end; su_usda_skip_space(p)) {
        su_usd_text first = su_usda_word(p);
        if (su_usd_is(first, "reorder")) {
            SU_TRY(skip_order(p));
            continue;
        }
        if (!su_usd_is(first, "def") && !su_usd_is(first, "over") && !su_usd_is(first, "class"))
            return su_usda_refuse(p, "something that is no prim");
        SU_TRY(read_prim(p, *first.at, -1, 0));
    }
    return SU_OK;
}

su_status su_usda_read(su_usd_layer *layer, const char *at, size_t bytes, su_error *err)
{
    su_usda_parser p = {.file = layer, .begin = at, .at = at, .end = at + bytes, .err = err};
    return read_layer(&p);
}
