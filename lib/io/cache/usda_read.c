#include "io/cache/usda_read.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/order.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 256 };

typedef struct parser {
    su_usda *file;
    const char *at, *end;
    int64_t prim_room, attribute_room;
    su_error *err;
} parser;

static su_status refuse(parser *p, const char *what)
{
    int64_t line = 1;
    for (const char *c = p->file->map; c < p->at && c < p->end; c++) line += *c == '\n';
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
static su_usda_text word(parser *p)
{
    skip_space(p);
    su_usda_text out = {p->at, 0};
    while (p->at < p->end && is_word(*p->at)) p->at++;
    out.size = p->at - out.at;
    return out;
}

/* "text", 'text', """text""", '''text''', @asset@, @@@asset@@@, <path>: with its ends. */
static su_status quoted(parser *p, su_usda_text *out)
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
static su_status bracketed(parser *p, su_usda_text *out)
{
    char open[DEEPEST];
    int depth = 0;
    su_usda_text inner;
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

static su_status value(parser *p, su_usda_text *out)
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

bool su_usda_is(su_usda_text text, const char *word)
{
    size_t length = strlen(word);
    return text.size == (int64_t)length && memcmp(text.at, word, length) == 0;
}

su_usda_text su_usda_token(su_usda_text v)
{
    if (v.size >= 2 && (is_quote(v.at[0]))) v.at++, v.size -= 2;
    return v;
}

/* ---- metadata in parentheses ---- */

typedef struct metadata {
    su_usda_text interpolation, active, up, meters, codes, rate;
    const char *arc;
} metadata;

static su_status read_metadata(parser *p, metadata *out)
{
    static const char *const arcs[] = {"references", "payload", "inherits", "specializes", "variantSets", "subLayers"};
    if (!take(p, '(')) return SU_OK;
    while (!take(p, ')')) {
        su_usda_text key, v = {0};
        if (next_is(p, '"') || next_is(p, '\'')) { /* a comment */
            SU_TRY(quoted(p, &v));
            continue;
        }
        key = word(p);
        if (!key.size) return refuse(p, "metadata cannot be read");
        if (su_usda_is(key, "prepend") || su_usda_is(key, "append") || su_usda_is(key, "add") ||
            su_usda_is(key, "delete") || su_usda_is(key, "reorder"))
            key = word(p);
        if (!take(p, '=')) continue;
        SU_TRY(value(p, &v));
        if (su_usda_is(key, "payload") && next_is(p, '<')) SU_TRY(quoted(p, &v));
        skip_space(p);
        if (p->at < p->end && *p->at == '<') SU_TRY(quoted(p, &v)); /* @asset@</prim> */
        if (next_is(p, '(')) SU_TRY(bracketed(p, &v));              /* (offset = 1) behind a sublayer */
        if (su_usda_is(key, "interpolation")) out->interpolation = su_usda_token(v);
        if (su_usda_is(key, "active")) out->active = v;
        if (su_usda_is(key, "upAxis")) out->up = su_usda_token(v);
        if (su_usda_is(key, "metersPerUnit")) out->meters = v;
        if (su_usda_is(key, "timeCodesPerSecond")) out->codes = v;
        if (su_usda_is(key, "framesPerSecond")) out->rate = v;
        for (size_t i = 0; i < sizeof arcs / sizeof *arcs; i++)
            if (su_usda_is(key, arcs[i]) && !su_usda_is(v, "None")) out->arc = arcs[i];
    }
    return SU_OK;
}

/* ---- prims and attributes ---- */

static su_status grow(parser *p, void *array, int64_t count, int64_t *room, size_t size)
{
    void *old, *grown;
    if (count < *room) return SU_OK;
    *room = 2 * *room + 16;
    memcpy(&old, array, sizeof old);
    if (!(grown = realloc(old, (size_t)*room * size)))
        return su_fail(p->err, SU_AGAIN, "%s: out of memory", p->file->path);
    memcpy(array, &grown, sizeof grown);
    return SU_OK;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const su_usda_sample *)a)->time, y = ((const su_usda_sample *)b)->time;
    return (x > y) - (x < y);
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

static su_status read_samples(parser *p, su_usda_attribute *attribute)
{
    int64_t room = 0;
    free(attribute->sample);
    attribute->sample = NULL, attribute->samples = 0;
    if (!take(p, '{')) return refuse(p, "time samples are missing");
    while (!take(p, '}')) {
        su_usda_text v;
        double number;
        if (!read_time(p, &number) || !take(p, ':')) return refuse(p, "a time is no number, or has no value");
        SU_TRY(value(p, &v));
        take(p, ',');
        if (su_usda_is(v, "None")) continue;
        SU_TRY(grow(p, &attribute->sample, attribute->samples, &room, sizeof *attribute->sample));
        attribute->sample[attribute->samples++] = (su_usda_sample){number, v};
    }
    if (attribute->samples > 1)
        su_sort(attribute->sample, (size_t)attribute->samples, sizeof *attribute->sample, by_time);
    return SU_OK;
}

/* The attribute of that name, entered where it is new: its default and its time samples are two statements. */
static su_status attribute_of(parser *p, int64_t prim, su_usda_text type, su_usda_text name, su_usda_attribute **out)
{
    su_usda *file = p->file;
    for (int64_t i = file->prim[prim].attribute; i >= 0; i = file->attribute[i].next)
        if (file->attribute[i].name.size == name.size &&
            memcmp(file->attribute[i].name.at, name.at, (size_t)name.size) == 0) {
            *out = &file->attribute[i];
            return SU_OK;
        }
    SU_TRY(grow(p, &file->attribute, file->attributes, &p->attribute_room, sizeof *file->attribute));
    *out = &file->attribute[file->attributes];
    **out = (su_usda_attribute){.type = type, .name = name, .next = file->prim[prim].attribute};
    file->prim[prim].attribute = file->attributes++;
    return SU_OK;
}

static bool ends_with(su_usda_text text, const char *end)
{
    int64_t length = (int64_t)strlen(end);
    return text.size > length && memcmp(text.at + text.size - length, end, (size_t)length) == 0;
}

/* "uniform token[] name.timeSamples = ... ( metadata )", its first word read. */
static su_status read_attribute(parser *p, int64_t prim, su_usda_text type)
{
    su_usda_text name, v = {0};
    su_usda_attribute *attribute;
    metadata meta = {0};
    while (su_usda_is(type, "custom") || su_usda_is(type, "uniform") || su_usda_is(type, "varying") ||
           su_usda_is(type, "config") || su_usda_is(type, "prepend") || su_usda_is(type, "append") ||
           su_usda_is(type, "add") || su_usda_is(type, "delete"))
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
    if (!samples && !connection && v.size && !su_usda_is(v, "None")) attribute->value = v;
    SU_TRY(read_metadata(p, &meta));
    if (meta.interpolation.size) attribute->interpolation = meta.interpolation;
    return SU_OK;
}

static su_status read_prim(parser *p, bool defined, int64_t parent, int depth);

static su_status read_body(parser *p, int64_t prim, int depth)
{
    su_usda_text skipped;
    if (!take(p, '{')) return refuse(p, "a prim without a body");
    while (!take(p, '}')) {
        su_usda_text first = word(p);
        if (!first.size) return refuse(p, "something that is no part of a prim");
        if (su_usda_is(first, "def") || su_usda_is(first, "over") || su_usda_is(first, "class")) {
            SU_TRY(read_prim(p, p->file->prim[prim].defined && su_usda_is(first, "def"), prim, depth + 1));
        } else if (su_usda_is(first, "variantSet")) {
            p->file->arc = "variants";
            SU_TRY(value(p, &skipped));
            if (!take(p, '=')) return refuse(p, "a variant set without variants");
            SU_TRY(value(p, &skipped));
        } else if (su_usda_is(first, "reorder")) {
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
    su_usda *file = p->file;
    su_usda_text type = word(p), name;
    metadata meta = {0};
    if (depth > DEEPEST) return refuse(p, "prims are nested too deeply");
    if (!next_is(p, '"') && !next_is(p, '\'')) return refuse(p, "a prim without a name");
    SU_TRY(quoted(p, &name));
    SU_TRY(read_metadata(p, &meta));
    if (meta.arc) file->arc = meta.arc;
    SU_TRY(grow(p, &file->prim, file->prims, &p->prim_room, sizeof *file->prim));
    int64_t at = file->prims++;
    file->prim[at] = (su_usda_prim){.name = su_usda_token(name),
                                    .type = type,
                                    .parent = parent,
                                    .attribute = -1,
                                    .defined = defined,
                                    .inactive = su_usda_is(meta.active, "false") || su_usda_is(meta.active, "0") ||
                                                (parent >= 0 && file->prim[parent].inactive)};
    return read_body(p, at, depth);
}

static su_status read_layer(parser *p)
{
    su_usda *file = p->file;
    metadata meta = {0};
    double number;
    skip_space(p); /* "#usda 1.0" is a comment like others */
    SU_TRY(read_metadata(p, &meta));
    file->meters = 0.01, file->codes_per_second = 24.0, file->up = 'Y', file->arc = meta.arc;
    if (meta.meters.size && su_usda_numbers(meta.meters, 1, &number) == 1 && number > 0.0)
        file->meters = number, file->says_meters = true;
    if (meta.rate.size && su_usda_numbers(meta.rate, 1, &number) == 1 && number > 0.0) file->codes_per_second = number;
    if (meta.codes.size && su_usda_numbers(meta.codes, 1, &number) == 1 && number > 0.0)
        file->codes_per_second = number;
    if (su_usda_is(meta.up, "Z")) file->up = 'Z';
    for (skip_space(p); p->at < p->end; skip_space(p)) {
        su_usda_text first = word(p), skipped;
        if (su_usda_is(first, "reorder")) {
            (void)word(p);
            if (!take(p, '=')) return refuse(p, "an order without names");
            SU_TRY(value(p, &skipped));
            continue;
        }
        bool defined = su_usda_is(first, "def");
        if (!defined && !su_usda_is(first, "over") && !su_usda_is(first, "class"))
            return refuse(p, "something that is no prim");
        SU_TRY(read_prim(p, defined, -1, 0));
    }
    return SU_OK;
}

su_status su_usda_open(const char *path, su_usda *file, su_error *err)
{
    struct stat info;
    *file = (su_usda){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot open: %s", path, strerror(errno));
    su_status status = SU_OK;
    if (!(file->path = strdup(path)))
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
    else if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 10)
        status = su_fail(err, SU_INPUT, "%s: is no USD layer", path);
    else {
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            status = su_fail(err, SU_AGAIN, "%s: cannot map: %s", path, strerror(errno));
        else
            file->map = map, file->bytes = (size_t)info.st_size;
    }
    close(fd);
    if (status == SU_OK && memcmp(file->map, "PXR-USDC", 8) == 0)
        status =
            su_fail(err, SU_INPUT, "%s: is a binary layer; make a text of it: usdcat -o layer.usda %s", path, path);
    else if (status == SU_OK && memcmp(file->map, "#usda ", 6) != 0)
        status = su_fail(err, SU_INPUT, "%s: is no USD text layer", path);
    if (status == SU_OK) {
        parser p = {.file = file, .at = file->map, .end = file->map + file->bytes, .err = err};
        status = read_layer(&p);
    }
    if (status != SU_OK) su_usda_close(file);
    return status;
}

void su_usda_close(su_usda *file)
{
    for (int64_t i = 0; i < file->attributes; i++) free(file->attribute[i].sample);
    free(file->attribute), free(file->prim), free(file->path);
    if (file->map) munmap((void *)file->map, file->bytes);
    *file = (su_usda){0};
}

/* ---- what is there ---- */

const su_usda_attribute *su_usda_find(const su_usda *file, int64_t prim, const char *name)
{
    for (int64_t i = file->prim[prim].attribute; i >= 0; i = file->attribute[i].next)
        if (su_usda_is(file->attribute[i].name, name)) return &file->attribute[i];
    return NULL;
}

su_usda_text su_usda_value(const su_usda_attribute *attribute)
{
    if (!attribute) return (su_usda_text){0};
    return attribute->value.size || !attribute->samples ? attribute->value : attribute->sample[0].value;
}

int64_t su_usda_at(const su_usda *file, su_usda_text path)
{
    int64_t at = -1;
    path = su_usda_token(path);
    while (path.size > 0 && path.at[0] == '/') {
        int64_t length = 1, found = -1;
        while (length < path.size && path.at[length] != '/') length++;
        for (int64_t i = at + 1; i < file->prims && found < 0; i++)
            if (file->prim[i].parent == at && file->prim[i].name.size == length - 1 &&
                memcmp(file->prim[i].name.at, path.at + 1, (size_t)length - 1) == 0)
                found = i;
        if (found < 0) return -1;
        at = found, path.at += length, path.size -= length;
    }
    return at;
}

int64_t su_usda_numbers(su_usda_text v, int64_t most, double *out)
{
    if (v.size == 0) return 0;
    const char *at = v.at, *end = v.at + v.size;
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

bool su_usda_next_token(su_usda_text *list, su_usda_text *token)
{
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
