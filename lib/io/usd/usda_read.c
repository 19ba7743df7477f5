#include "io/usd/usda_read.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 256 };

typedef struct parser {
    su_usd_layer *file;
    const char *begin;
    const char *at, *end;
    int64_t prim_room, attribute_room;
    su_error *err;
} parser;

static su_status refuse(parser *p, const char *what)
{
    int64_t line = 1;
    for (const char *c = p->begin; c < p->at && c < p->end; c++) line += *c == '\n';
    return su_fail(p->err, SU_INPUT, "%s:%lld: %s", p->file->path, (long long)line, what);
}

/* ---- text ---- */

static void skip_space(parser *p)
{
    while (p->at < p->end) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n') p->at++;
        else if (isspace((unsigned char)*p->at) || *p->at == ';')
            p->at++;
        else
            break;
    }
}

static bool next_is(parser *p, char c)
{
    skip_space(p);
    return p->at < p->end && *p->at == c;
}

static bool take(parser *p, char c)
{
    if (!next_is(p, c)) return false;
    p->at++;
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':' || c == '.' || c == '!' || (c & 0x80);
}

/* Letters, digits and what names are made of; size 0 where something else stands there. */
static su_usd_text word(parser *p)
{
    skip_space(p);
    su_usd_text out = {p->at, 0};
    while (p->at < p->end && is_word(*p->at)) p->at++;
    out.size = p->at - out.at;
    return out;
}

/* "text", 'text', """text""", '''text''', @asset@, @@@asset@@@, <path>: with its ends. */
static su_status quoted(parser *p, su_usd_text *out)
{
    char quote = *p->at == '<' ? '>' : *p->at;
    int length = quote != '>' && p->end - p->at > 2 && p->at[1] == quote && p->at[2] == quote ? 3 : 1;
    out->at = p->at;
    for (p->at += length; p->at < p->end; p->at++) {
        if (*p->at == '\\' && (quote == '"' || quote == '\'')) {
            p->at++;
            continue;
        }
        if (*p->at != quote) continue;
        if (length == 3 && !(p->end - p->at > 2 && p->at[1] == quote && p->at[2] == quote)) continue;
        p->at += length;
        out->size = p->at - out->at;
        return SU_OK;
    }
    return refuse(p, "a text does not end");
}

static bool is_quote(char c) { return c == '"' || c == '\'' || c == '@' || c == '<'; }

/* What stands between brackets, with them. */
static su_status bracketed(parser *p, su_usd_text *out)
{
    char open[DEEPEST];
    int depth = 0;
    su_usd_text inner;
    out->at = p->at;
    while (p->at < p->end) {
        char c = *p->at;
        if (c == '#') {
            skip_space(p);
            continue;
        }
        if (is_quote(c)) {
            SU_TRY(quoted(p, &inner));
            continue;
        }
        p->at++;
        if (c == '(' || c == '[' || c == '{') {
            if (depth == DEEPEST) return refuse(p, "brackets are nested too deeply");
            open[depth++] = c;
        } else if (c == ')' || c == ']' || c == '}') {
            if (depth == 0 || (open[depth - 1] == '(') != (c == ')') || (open[depth - 1] == '[') != (c == ']'))
                return refuse(p, "brackets do not match");
            if (--depth == 0) {
                out->size = p->at - out->at;
                return SU_OK;
            }
        }
    }
    return refuse(p, "a bracket is not closed");
}

static su_status value(parser *p, su_usd_text *out)
{
    skip_space(p);
    if (p->at >= p->end) return refuse(p, "a value is missing");
    if (is_quote(*p->at)) return quoted(p, out);
    if (*p->at == '(' || *p->at == '[' || *p->at == '{') return bracketed(p, out);
    out->at = p->at;
    while (p->at < p->end && (is_word(*p->at) || *p->at == '-' || *p->at == '+')) p->at++;
    out->size = p->at - out->at;
    return out->size ? SU_OK : refuse(p, "a value is missing");
}

static su_usd_text unquoted(su_usd_text text) { return su_usd_token((su_usd_value){.text = text}); }

/* ---- metadata in parentheses ---- */

typedef struct metadata {
    su_usd_text interpolation, active, up, meters, codes, rate;
    const char *arc;
} metadata;

static su_status read_metadata(parser *p, metadata *out)
{
    static const char *const arcs[] = {"references", "payload", "inherits", "specializes", "variantSets", "subLayers"};
    if (!take(p, '(')) return SU_OK;
    while (!take(p, ')')) {
        su_usd_text key, v = {0};
        if (next_is(p, '"') || next_is(p, '\'')) { /* a comment */
            SU_TRY(quoted(p, &v));
            continue;
        }
        key = word(p);
        if (!key.size) return refuse(p, "metadata cannot be read");
        if (su_usd_is(key, "prepend") || su_usd_is(key, "append") || su_usd_is(key, "add") ||
            su_usd_is(key, "delete") || su_usd_is(key, "reorder"))
            key = word(p);
        if (!take(p, '=')) continue;
        SU_TRY(value(p, &v));
        if (su_usd_is(key, "payload") && next_is(p, '<')) SU_TRY(quoted(p, &v));
        skip_space(p);
        if (p->at < p->end && *p->at == '<') SU_TRY(quoted(p, &v)); /* @asset@</prim> */
        if (next_is(p, '(')) SU_TRY(bracketed(p, &v));              /* (offset = 1) behind a sublayer */
        if (su_usd_is(key, "interpolation")) out->interpolation = unquoted(v);
        if (su_usd_is(key, "active")) out->active = v;
        if (su_usd_is(key, "upAxis")) out->up = unquoted(v);
        if (su_usd_is(key, "metersPerUnit")) out->meters = v;
        if (su_usd_is(key, "timeCodesPerSecond")) out->codes = v;
        if (su_usd_is(key, "framesPerSecond")) out->rate = v;
        for (size_t i = 0; i < sizeof arcs / sizeof *arcs; i++)
            if (su_usd_is(key, arcs[i]) && !su_usd_is(v, "None")) out->arc = arcs[i];
    }
    return SU_OK;
}

/* ---- prims and attributes ---- */

static su_status grow(parser *p, void *array, int64_t count, int64_t *room, size_t size)
{
    return su_usd_grow(p->file, array, count, room, size, p->err);
}

/* A number of at most LONGEST letters; what follows may be the end of the layer. */
static bool read_time(parser *p, double *out)
{
    enum { LONGEST = 63 };
    char text[LONGEST + 1] = "", *stop;
    skip_space(p);
    for (int k = 0; k < LONGEST && p->at + k < p->end && p->at[k] != ':'; k++) text[k] = p->at[k];
    *out = strtod(text, &stop);
    p->at += stop - text;
    return stop != text && isfinite(*out);
}

static su_status read_samples(parser *p, su_usd_attribute *attribute)
{
    int64_t room = 0;
    free(attribute->sample);
    attribute->sample = NULL, attribute->samples = 0;
    if (!take(p, '{')) return refuse(p, "time samples are missing");
    while (!take(p, '}')) {
        su_usd_text v;
        double number;
        if (!read_time(p, &number) || !take(p, ':')) return refuse(p, "a time is no number, or has no value");
        SU_TRY(value(p, &v));
        take(p, ',');
        if (su_usd_is(v, "None")) continue;
        SU_TRY(grow(p, &attribute->sample, attribute->samples, &room, sizeof *attribute->sample));
        attribute->sample[attribute->samples++] = (su_usd_sample){.time = number, .value.text = v};
    }
    su_usd_sort_samples(attribute);
    return SU_OK;
}

/* The attribute of that name, entered where it is new: its default and its time samples are two statements. */
static su_status attribute_of(parser *p, int64_t prim, su_usd_text type, su_usd_text name, su_usd_attribute **out)
{
    su_usd_layer *file = p->file;
    for (int64_t i = file->prim[prim].attribute; i >= 0; i = file->attribute[i].next)
        if (file->attribute[i].name.size == name.size &&
            memcmp(file->attribute[i].name.at, name.at, (size_t)name.size) == 0) {
            *out = &file->attribute[i];
            return SU_OK;
        }
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

/* "uniform token[] name.timeSamples = ... ( metadata )", its first word read. */
static su_status read_attribute(parser *p, int64_t prim, su_usd_text type)
{
    su_usd_text name, v = {0};
    su_usd_attribute *attribute;
    metadata meta = {0};
    while (su_usd_is(type, "custom") || su_usd_is(type, "uniform") || su_usd_is(type, "varying") ||
           su_usd_is(type, "config") || su_usd_is(type, "prepend") || su_usd_is(type, "append") ||
           su_usd_is(type, "add") || su_usd_is(type, "delete"))
        type = word(p);
    if (take(p, '[') && !take(p, ']')) return refuse(p, "a type cannot be read");
    name = word(p);
    if (!type.size || !name.size) return refuse(p, "an attribute cannot be read");
    if (take(p, '[')) return refuse(p, "an attribute cannot be read");
    bool samples = ends_with(name, ".timeSamples"), connection = ends_with(name, ".connect");
    if (samples) name.size -= (int64_t)strlen(".timeSamples");
    if (connection) name.size -= (int64_t)strlen(".connect");
    SU_TRY(attribute_of(p, prim, type, name, &attribute));
    if (take(p, '=')) {
        if (samples)
            SU_TRY(read_samples(p, attribute));
        else
            SU_TRY(value(p, &v));
    }
    if (!samples && !connection && v.size && !su_usd_is(v, "None")) attribute->value = (su_usd_value){.text = v};
    SU_TRY(read_metadata(p, &meta));
    if (meta.interpolation.size) attribute->interpolation = meta.interpolation;
    return SU_OK;
}

static su_status read_prim(parser *p, bool defined, int64_t parent, int depth);

static su_status read_body(parser *p, int64_t prim, int depth)
{
    su_usd_text skipped;
    if (!take(p, '{')) return refuse(p, "a prim without a body");
    while (!take(p, '}')) {
        su_usd_text first = word(p);
        if (!first.size) return refuse(p, "something that is no part of a prim");
        if (su_usd_is(first, "def") || su_usd_is(first, "over") || su_usd_is(first, "class")) {
            SU_TRY(read_prim(p, p->file->prim[prim].defined && su_usd_is(first, "def"), prim, depth + 1));
        } else if (su_usd_is(first, "variantSet")) {
            p->file->arc = "variants";
            SU_TRY(value(p, &skipped));
            if (!take(p, '=')) return refuse(p, "a variant set without variants");
            SU_TRY(value(p, &skipped));
        } else if (su_usd_is(first, "reorder")) {
            (void)word(p);
            if (!take(p, '=')) return refuse(p, "an order without names");
            SU_TRY(value(p, &skipped));
        } else {
            SU_TRY(read_attribute(p, prim, first));
        }
    }
    return SU_OK;
}

/* 'Mesh "body" ( metadata ) { ... }', its specifier read. */
static su_status read_prim(parser *p, bool defined, int64_t parent, int depth)
{
    su_usd_layer *file = p->file;
    su_usd_text type = word(p), name;
    metadata meta = {0};
    if (depth > DEEPEST) return refuse(p, "prims are nested too deeply");
    if (!next_is(p, '"') && !next_is(p, '\'')) return refuse(p, "a prim without a name");
    SU_TRY(quoted(p, &name));
    SU_TRY(read_metadata(p, &meta));
    if (meta.arc) file->arc = meta.arc;
    SU_TRY(grow(p, &file->prim, file->prims, &p->prim_room, sizeof *file->prim));
    int64_t at = file->prims++;
    file->prim[at] = (su_usd_prim){.name = unquoted(name),
                                   .type = type,
                                   .parent = parent,
                                   .attribute = -1,
                                   .defined = defined,
                                   .inactive = su_usd_is(meta.active, "false") || su_usd_is(meta.active, "0") ||
                                               (parent >= 0 && file->prim[parent].inactive)};
    return read_body(p, at, depth);
}

static int64_t number_in(su_usd_text text, double *out) { return su_usd_numbers((su_usd_value){.text = text}, 1, out); }

static su_status read_layer(parser *p)
{
    su_usd_layer *file = p->file;
    metadata meta = {0};
    double number;
    skip_space(p); /* "#usda 1.0" is a comment like others */
    SU_TRY(read_metadata(p, &meta));
    file->arc = meta.arc;
    if (meta.meters.size && number_in(meta.meters, &number) == 1 && number > 0.0)
        file->meters = number, file->says_meters = true;
    if (meta.rate.size && number_in(meta.rate, &number) == 1 && number > 0.0) file->codes_per_second = number;
    if (meta.codes.size && number_in(meta.codes, &number) == 1 && number > 0.0) file->codes_per_second = number;
    if (su_usd_is(meta.up, "Z")) file->up = 'Z';
    for (skip_space(p); p->at < p->end; skip_space(p)) {
        su_usd_text first = word(p), skipped;
        if (su_usd_is(first, "reorder")) {
            (void)word(p);
            if (!take(p, '=')) return refuse(p, "an order without names");
            SU_TRY(value(p, &skipped));
            continue;
        }
        bool defined = su_usd_is(first, "def");
        if (!defined && !su_usd_is(first, "over") && !su_usd_is(first, "class"))
            return refuse(p, "something that is no prim");
        SU_TRY(read_prim(p, defined, -1, 0));
    }
    return SU_OK;
}

su_status su_usda_read(su_usd_layer *layer, const char *at, size_t bytes, su_error *err)
{
    parser p = {.file = layer, .begin = at, .at = at, .end = at + bytes, .err = err};
    return read_layer(&p);
}
