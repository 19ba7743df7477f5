/* Crates of USD (.usdc, from version 0.4.0 on), reading: the tables behind the values become prims and attributes;
 * values stay where they are. After OpenUSD's description of the format in crateFile.h and crateDataTypes.h. */
#include "core/memory.h"
#include "io/cache/usd_layer.h"
#include "io/cache/usdc_file.h"
#include "io/cache/usdc_packed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Types that the writer does not have. */
enum {
    UCHAR = 2,
    UINT = 4,
    INT64 = 5,
    UINT64 = 6,
    HALF = 7,
    ASSET = 12,
    MATRIX2D = 13,
    MATRIX3D = 14,
    QUATD = 16,
    QUATF = 17,
    QUATH = 18,
    VEC2D = 19,
    VEC4I = 30,
    BLOCK = 51,
    TIME_CODE = 56
};

/* Bits of a value: 48 of payload, a byte of type, and these. */
#define IS_ARRAY ((uint64_t)1 << 63)
#define IS_INLINED ((uint64_t)1 << 62)
#define IS_PACKED ((uint64_t)1 << 61)
#define PAYLOAD (((uint64_t)1 << 48) - 1)
enum { TYPE_SHIFT = 48, DEEPEST = 256 };

typedef struct path {
    int32_t parent, token; /* the root's parent: -1. A property's token is told by `property` */
    int32_t child, next;   /* first child; next of the same parent; -1: none */
    int32_t prim;          /* its number in the layer; -1: none */
    bool property;
    uint8_t spec; /* su_usdc_spec; 0: none */
    int64_t fields;
} path;

struct su_usd_crate {
    const uint8_t *at;
    int64_t bytes;
    int minor; /* of the version 0.minor */
    su_arena arena;
    int64_t tokens, strings, fields, entries, paths;
    su_usd_text *token;
    const uint8_t *string; /* (strings) 32 bits each: a token */
    int64_t *field_name;   /* (fields) a token */
    uint64_t *field_value; /* (fields) */
    int64_t *entry;        /* (entries) fields of all specs, each spec's up to a -1 */
    path *path;            /* (paths) */
    bool *no_memory;       /* once something could not be unpacked for want of it: values are constant */
};

typedef struct reader {
    su_usd_layer *layer;
    struct su_usd_crate *crate;
    int64_t prim_room, attribute_room;
    su_error *err;
} reader;

static su_status refuse(reader *r, const char *what)
{
    return su_fail(r->err, SU_INPUT, "%s: %s", r->layer->path, what);
}

static uint64_t number(const uint8_t *at, int bytes)
{
    uint64_t out = 0;
    memcpy(&out, at, (size_t)bytes); /* little endian, as the machine is */
    return out;
}

static int type_of(uint64_t word) { return (int)(word >> TYPE_SHIFT & 0xff); }

/* A word of 8 bytes at an offset of the file; false: it does not have it. */
static bool word_at(const struct su_usd_crate *c, uint64_t offset, uint64_t *out)
{
    if (offset > (uint64_t)c->bytes || (uint64_t)c->bytes - offset < 8) return false;
    *out = number(c->at + offset, 8);
    return true;
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
    if (!word_at(c, CONTENTS, &contents) || !word_at(c, contents, &count) ||
        count > ((uint64_t)c->bytes - contents - 8) / ROW)
        return refuse(r, "its table of contents is cut off");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = contents + 8 + ROW * i;
        if (strncmp((const char *)c->at + row, name, NAME) != 0) continue;
        if (!word_at(c, row + NAME, &start) || !word_at(c, row + NAME + 8, &size) || start > (uint64_t)c->bytes ||
            size > (uint64_t)c->bytes - start)
            break;
        *out = (section){c->at + start, c->at + start + size};
        return SU_OK;
    }
    return su_fail(r->err, SU_INPUT, "%s: its table %s is missing or cut off", r->layer->path, name);
}

static bool take_word(section *s, int64_t *out)
{
    if (s->end - s->at < 8) return false;
    uint64_t value = number(s->at, 8);
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
        c->path[i] = (path){.parent = -1, .token = -1, .child = -1, .next = -1, .prim = -1};
    for (int64_t i = 0; i < count; i++) parent[i] = i ? -2 : -1; /* -2: nobody has said where it belongs */
    for (int64_t i = 0; i < count; i++) {
        path *p = &c->path[index[i]];
        bool child = jump[i] > 0 || jump[i] == -1, sibling = jump[i] >= 0;
        int64_t next = jump[i] > 0 ? i + jump[i] : i + 1;
        if (parent[i] == -2 || p->token >= 0 || (i == 0 && sibling) || ((child || sibling) && i + 1 >= count) ||
            (sibling && (next >= count || parent[next] != -2)))
            return refuse(r, "its paths are broken");
        p->parent = parent[i], p->property = token[i] < 0, p->token = (int32_t)(token[i] < 0 ? -token[i] : token[i]);
        if (sibling) parent[next] = parent[i];
        if (child) parent[i + 1] = (int32_t)index[i];
        if (p->parent < 0) continue;
        path *above = &c->path[p->parent];
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

/* ---- values ---- */

static su_usd_text token_of(const struct su_usd_crate *c, uint64_t index)
{
    return index < (uint64_t)c->tokens ? c->token[index] : (su_usd_text){0};
}

su_usd_text su_crate_token(su_usd_value value)
{
    const struct su_usd_crate *c = value.crate;
    uint64_t index = value.word & PAYLOAD;
    int type = type_of(value.word);
    if (!(value.word & IS_INLINED)) return (su_usd_text){0};
    if (type == SU_USDC_TOKEN || type == ASSET) return token_of(c, index);
    if (type != SU_USDC_STRING || index >= (uint64_t)c->strings) return (su_usd_text){0};
    return token_of(c, number(c->string + 4 * index, 4));
}

/* Kinds of numbers, how many make a value, and whether a small value has them as bytes. */
typedef struct layout {
    char kind; /* b bool, 1 and 4 and 8 whole, u unsigned, U 8 bytes unsigned, h half, f float, d double; 0: no numbers
                */
    int count;
    bool matrix, quaternion;
} layout;

static layout layout_of(int type)
{
    switch (type) {
    case SU_USDC_BOOL:
        return (layout){'b', 1, false, false};
    case UCHAR:
        return (layout){'1', 1, false, false};
    case SU_USDC_INT:
        return (layout){'4', 1, false, false};
    case UINT:
        return (layout){'u', 1, false, false};
    case INT64:
        return (layout){'8', 1, false, false};
    case UINT64:
        return (layout){'U', 1, false, false};
    case HALF:
        return (layout){'h', 1, false, false};
    case SU_USDC_FLOAT:
        return (layout){'f', 1, false, false};
    case SU_USDC_DOUBLE:
    case TIME_CODE:
        return (layout){'d', 1, false, false};
    case MATRIX2D:
        return (layout){'d', 4, true, false};
    case MATRIX3D:
        return (layout){'d', 9, true, false};
    case SU_USDC_MATRIX4D:
        return (layout){'d', 16, true, false};
    case QUATD:
        return (layout){'d', 4, false, true};
    case QUATF:
        return (layout){'f', 4, false, true};
    case QUATH:
        return (layout){'h', 4, false, true};
    default:
        break;
    }
    static const char kinds[] = {'d', 'f', 'h', '4'}; /* of vectors, two to four numbers long */
    if (type >= VEC2D && type <= VEC4I)
        return (layout){kinds[(type - VEC2D) % 4], 2 + (type - VEC2D) / 4, false, false};
    return (layout){0};
}

static int size_of(char kind)
{
    return kind == 'b' || kind == '1' ? 1 : kind == 'h' ? 2 : kind == '4' || kind == 'u' || kind == 'f' ? 4 : 8;
}

static double half(uint64_t bits)
{
    enum { FRACTION = 10, BIAS = 15, WIDEST = 31 };
    int exponent = (int)(bits >> FRACTION & WIDEST);
    double fraction = (double)(bits & 1023), sign = bits >> 15 & 1 ? -1.0 : 1.0;
    if (exponent == WIDEST) return NAN; /* or infinite: neither is a number here */
    return sign *
           (exponent ? ldexp(1024.0 + fraction, exponent - BIAS - FRACTION) : ldexp(fraction, 1 - BIAS - FRACTION));
}

static double number_of(char kind, const uint8_t *at)
{
    uint64_t bits = number(at, size_of(kind));
    float single;
    double whole;
    switch (kind) {
    case '4':
        return (double)(int32_t)(uint32_t)bits;
    case '8':
        return (double)(int64_t)bits;
    case 'h':
        return half(bits);
    case 'f':
        memcpy(&single, at, sizeof single);
        return (double)single;
    case 'd':
        memcpy(&whole, at, sizeof whole);
        return whole;
    default:
        return (double)bits;
    }
}

/* The value in the word itself. */
static int64_t inlined(uint64_t word, layout l, int64_t most, double *out)
{
    double v[16] = {0};
    uint8_t bytes[8];
    uint64_t payload = word & PAYLOAD;
    memcpy(bytes, &payload, sizeof bytes);
    if (l.quaternion) return -1;
    if (l.matrix) { /* a diagonal */
        int side = l.count == 4 ? 2 : l.count == 9 ? 3 : 4;
        for (int i = 0; i < side; i++) v[(side + 1) * i] = (int8_t)bytes[i];
    } else if (l.count > 1) {
        for (int i = 0; i < l.count; i++) v[i] = (int8_t)bytes[i];
    } else {
        v[0] = number_of(l.kind == 'd' ? 'f' : l.kind == '8' ? '4' : l.kind == 'U' ? 'u' : l.kind, bytes);
    }
    for (int i = 0; i < l.count; i++) {
        if (!isfinite(v[i])) return -1;
        if (out && i < most) out[i] = v[i];
    }
    return l.count;
}

/* Numbers of a packed array, whole ones or floats of which all are whole ('i') or few differ ('t'). */
static bool unpack_numbers(const uint8_t *at, int64_t bytes, char kind, int64_t count, double *out, bool *no_memory)
{
    const uint8_t *table = NULL;
    int64_t entries = 0, size = size_of(kind);
    bool memory = true, whole = strchr("4u8U", kind) != NULL;
    if (!whole) {
        if (bytes < 1 || (*at != 'i' && *at != 't')) return false;
        bool has_table = *at == 't';
        at++, bytes--;
        if (has_table) {
            if (bytes < 4) return false;
            entries = (int64_t)number(at, 4);
            at += 4, bytes -= 4;
            if (entries > bytes / size) return false;
            table = at;
            at += entries * size, bytes -= entries * size;
        }
    }
    if (bytes < 8 || number(at, 8) > (uint64_t)(bytes - 8)) return false;
    bytes = (int64_t)number(at, 8), at += 8;
    if (count / 4 > su_usdc_most_unpacked(bytes)) return false;
    if (!out) return true;
    int64_t *values = malloc((size_t)(count > 0 ? count : 1) * sizeof *values);
    bool good = values && su_usdc_unpack_integers(at, bytes, kind == '8' || kind == 'U', count, values, &memory);
    *no_memory |= !values || !memory;
    for (int64_t i = 0; i < count && good; i++) {
        if (table && (values[i] < 0 || values[i] >= entries)) good = false;
        if (good)
            out[i] = table         ? number_of(kind, table + values[i] * size)
                     : kind == 'u' ? (double)(uint32_t)values[i]
                                   : (double)values[i];
    }
    free(values);
    return good;
}

/* Where the elements of an array begin, and how many there are. */
static bool array_at(const struct su_usd_crate *c, uint64_t word, const uint8_t **at, int64_t *bytes, int64_t *count)
{
    enum {
        RANKED = 5,
        WIDE = 7
    }; /* versions: up to 0.4 a rank stands before the size; from 0.7 on sizes have 8 bytes */
    uint64_t offset = word & PAYLOAD;
    int head = c->minor < RANKED ? 8 : c->minor < WIDE ? 4 : 8;
    if (offset > (uint64_t)c->bytes || (uint64_t)c->bytes - offset < (uint64_t)head) return false;
    uint64_t size = number(c->at + offset + (c->minor < RANKED ? 4 : 0), c->minor < WIDE ? 4 : 8);
    if (size > INT32_MAX) return false;
    *count = (int64_t)size, *at = c->at + offset + head, *bytes = c->bytes - (int64_t)offset - head;
    return true;
}

int64_t su_crate_numbers(su_usd_value value, int64_t most, double *out)
{
    enum { SHORTEST = 16 }; /* arrays below are never packed, whatever is said of them */
    const struct su_usd_crate *c = value.crate;
    layout l = layout_of(type_of(value.word));
    const uint8_t *at;
    int64_t bytes, count = 1;
    if (!l.kind) return -1;
    if (value.word & IS_INLINED) return inlined(value.word, l, most, out);
    if (value.word & IS_ARRAY) {
        if (!(value.word & PAYLOAD)) return 0;
        if (!array_at(c, value.word, &at, &bytes, &count)) return -1;
    } else {
        uint64_t offset = value.word & PAYLOAD;
        if (offset > (uint64_t)c->bytes) return -1;
        at = c->at + offset, bytes = c->bytes - (int64_t)offset;
    }
    int64_t numbers = count * l.count, size = size_of(l.kind);
    if (value.word & IS_PACKED && count >= SHORTEST) {
        if (l.count != 1) return -1;
        double *all = out && numbers > most ? malloc((size_t)numbers * sizeof *all) : out;
        bool good = (all || !out) && unpack_numbers(at, bytes, l.kind, numbers, all, c->no_memory);
        *c->no_memory |= out && !all;
        if (good && all != out) memcpy(out, all, (size_t)most * sizeof *out);
        if (all != out) free(all);
        for (int64_t i = 0; i < numbers && i < most && out && good; i++) good = isfinite(out[i]);
        return good ? numbers : -1;
    }
    if (numbers > bytes / size) return -1;
    for (int64_t i = 0; i < numbers && i < most && out; i++) {
        int64_t from = l.quaternion ? i / 4 * 4 + (i + 3) % 4 : i; /* the real part stands last there */
        out[i] = number_of(l.kind, at + from * size);
        if (!isfinite(out[i])) return -1;
    }
    return numbers;
}

bool su_crate_next_token(su_usd_value *list, su_usd_text *token)
{
    const struct su_usd_crate *c = list->crate;
    const uint8_t *at;
    int64_t bytes, count;
    if (type_of(list->word) != SU_USDC_TOKEN || !(list->word & IS_ARRAY) || !(list->word & PAYLOAD) ||
        !array_at(c, list->word, &at, &bytes, &count) || list->next >= count || count > bytes / 4)
        return false;
    *token = token_of(c, number(at + 4 * list->next++, 4));
    return token->size > 0;
}

/* Lists of paths: a byte says which lists there are, explicit items, then added, and then others. */
bool su_crate_target(const su_usd_layer *layer, su_usd_value value, su_usd_text *name, int64_t *prim)
{
    enum { ADDED = 4, PREPENDED = 32, APPENDED = 64, EXPLICIT_ITEMS = 2 };
    const struct su_usd_crate *c = value.crate;
    uint64_t offset = value.word & PAYLOAD, count;
    (void)layer;
    if (type_of(value.word) != SU_USDC_PATH_LIST || value.word & IS_INLINED || offset >= (uint64_t)c->bytes)
        return false;
    if (!(c->at[offset] & (EXPLICIT_ITEMS | ADDED | PREPENDED | APPENDED)) || !word_at(c, offset + 1, &count) ||
        count == 0 || (uint64_t)c->bytes - offset < 1 + 8 + 4)
        return false;
    uint64_t index = number(c->at + offset + 9, 4);
    if (index >= (uint64_t)c->paths || c->path[index].parent < 0 || c->path[index].property) return false;
    *name = token_of(c, (uint64_t)c->path[index].token);
    *prim = c->path[index].prim;
    return name->size > 0;
}

/* ---- prims ---- */

/* A field of a spec; false: it has none of that name. */
static bool field(const struct su_usd_crate *c, const path *p, const char *name, su_usd_value *out)
{
    for (int64_t i = p->fields; i < c->entries && c->entry[i] >= 0; i++) {
        int64_t at = c->entry[i];
        if (!su_usd_is(c->token[c->field_name[at]], name)) continue;
        *out = (su_usd_value){.crate = c, .word = c->field_value[at]};
        return true;
    }
    return false;
}

static su_usd_text token_field(const struct su_usd_crate *c, const path *p, const char *name)
{
    su_usd_value value;
    return field(c, p, name, &value) ? su_crate_token(value) : (su_usd_text){0};
}

static bool number_field(const struct su_usd_crate *c, const path *p, const char *name, double *out)
{
    su_usd_value value;
    return field(c, p, name, &value) && su_crate_numbers(value, 1, out) == 1;
}

static void note_arcs(reader *r, const path *p)
{
    static const char *const arcs[][2] = {{"references", "references"},       {"payload", "payload"},
                                          {"inheritPaths", "inherits"},       {"specializes", "specializes"},
                                          {"variantSetNames", "variantSets"}, {"subLayers", "subLayers"}};
    su_usd_value value;
    for (size_t i = 0; i < sizeof arcs / sizeof *arcs; i++)
        if (field(r->crate, p, arcs[i][0], &value)) r->layer->arc = arcs[i][1];
}

/* Offsets count from where they stand: to the times, and behind these to the number of values. */
static su_status read_samples(reader *r, su_usd_value samples, su_usd_attribute *attribute)
{
    const struct su_usd_crate *c = r->crate;
    uint64_t at = samples.word & PAYLOAD, jump, word, count;
    int64_t room = 0;
    if (type_of(samples.word) != SU_USDC_SAMPLES || samples.word & IS_INLINED || !word_at(c, at, &jump) ||
        !word_at(c, at += jump, &word) || !word_at(c, at += 8, &jump) || !word_at(c, at += jump, &count))
        return refuse(r, "time samples cannot be read");
    uint64_t times = word & PAYLOAD, number_of_times;
    if (type_of(word) != SU_USDC_DOUBLE_VECTOR || !word_at(c, times, &number_of_times) || number_of_times != count ||
        count > ((uint64_t)c->bytes - times - 8) / 8 || count > ((uint64_t)c->bytes - at - 8) / 8)
        return refuse(r, "time samples cannot be read");
    for (uint64_t k = 0; k < count; k++) {
        su_usd_value value = {.crate = c, .word = number(c->at + at + 8 + 8 * k, 8)};
        double time = number_of('d', c->at + times + 8 + 8 * k);
        if (!isfinite(time)) return refuse(r, "a time is no number");
        if (type_of(value.word) == BLOCK) continue;
        SU_TRY(su_usd_grow(r->layer, &attribute->sample, attribute->samples, &room, sizeof *attribute->sample, r->err));
        attribute->sample[attribute->samples++] = (su_usd_sample){time, value};
    }
    su_usd_sort_samples(attribute);
    return SU_OK;
}

static su_status read_property(reader *r, int64_t prim, const path *p)
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
    layer->prim[prim].attribute = layer->attributes++;
    if ((field(c, p, "default", &value) && type_of(value.word) != BLOCK) || field(c, p, "targetPaths", &value))
        attribute->value = value;
    return field(c, p, "timeSamples", &value) ? read_samples(r, value, attribute) : SU_OK;
}

/* The children of a path in the order that its spec names them: paths are sorted, prims are not. rank (tokens) is 0 and
 * becomes so again. */
static su_status order_children(reader *r, path *above, int32_t *rank)
{
    struct su_usd_crate *c = r->crate;
    su_usd_value value;
    uint64_t count, at;
    int32_t *slot;
    if (!field(c, above, "primChildren", &value) || type_of(value.word) != SU_USDC_TOKEN_VECTOR || above->child < 0)
        return SU_OK;
    at = value.word & PAYLOAD;
    if (!word_at(c, at, &count) || count > ((uint64_t)c->bytes - at - 8) / 4)
        return refuse(r, "names of prims are broken");
    SU_TRY(SU_ALLOC(&slot, count + 1, "prims", r->err));
    for (uint64_t i = 0; i <= count; i++) slot[i] = -1;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t token = number(c->at + at + 8 + 4 * i, 4);
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
        uint64_t token = number(c->at + at + 8 + 4 * i, 4);
        if (token < (uint64_t)c->tokens) rank[token] = 0;
    }
    free(slot);
    return SU_OK;
}

static su_status read_prim(reader *r, path *p, int64_t parent)
{
    enum { DEF = 0 };
    su_usd_layer *layer = r->layer;
    su_usd_value value;
    double active = 1.0;
    bool is_def = field(r->crate, p, "specifier", &value) && type_of(value.word) == SU_USDC_SPECIFIER &&
                  (value.word & PAYLOAD) == DEF;
    SU_TRY(su_usd_grow(layer, &layer->prim, layer->prims, &r->prim_room, sizeof *layer->prim, r->err));
    (void)number_field(r->crate, p, "active", &active);
    p->prim = (int32_t)layer->prims;
    layer->prim[layer->prims++] =
        (su_usd_prim){.name = r->crate->token[p->token],
                      .type = token_field(r->crate, p, "typeName"),
                      .parent = parent,
                      .attribute = -1,
                      .defined = is_def && (parent < 0 || layer->prim[parent].defined),
                      .inactive = active == 0.0 || (parent >= 0 && layer->prim[parent].inactive)};
    note_arcs(r, p);
    for (int32_t k = p->child; k >= 0; k = r->crate->path[k].next) {
        const path *property = &r->crate->path[k];
        if (property->property && (property->spec == SU_USDC_ATTRIBUTE || property->spec == SU_USDC_RELATIONSHIP))
            SU_TRY(read_property(r, p->prim, property));
    }
    return SU_OK;
}

/* Depth first, in the order of the layer. Variants, which are paths, too, are left out with all below them. */
static su_status read_prims(reader *r, int32_t root)
{
    struct su_usd_crate *c = r->crate;
    int32_t *rank = su_arena_alloc(&c->arena, c->tokens, sizeof *rank), at = root;
    if (!rank) return su_fail(r->err, SU_AGAIN, "%s: out of memory", r->layer->path);
    int depth = 0;
    while (at >= 0) {
        path *p = &c->path[at];
        bool inside = at == root;
        if (!inside && !p->property && p->spec == SU_USDC_PRIM) {
            int64_t parent = p->parent == root ? -1 : c->path[p->parent].prim;
            SU_TRY(read_prim(r, p, parent));
            inside = true;
        }
        if (inside) SU_TRY(order_children(r, p, rank));
        if (inside && p->child >= 0) {
            if (++depth > DEEPEST) return refuse(r, "prims are nested too deeply");
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
    const path *p = &c->path[root];
    double value;
    if (p->spec != SU_USDC_LAYER) return refuse(r, "has no layer at its root");
    if (number_field(c, p, "metersPerUnit", &value) && value > 0.0) layer->meters = value, layer->says_meters = true;
    if (number_field(c, p, "framesPerSecond", &value) && value > 0.0) layer->codes_per_second = value;
    if (number_field(c, p, "timeCodesPerSecond", &value) && value > 0.0) layer->codes_per_second = value;
    if (su_usd_is(token_field(c, p, "upAxis"), "Z")) layer->up = 'Z';
    note_arcs(r, p);
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

void su_crate_free(struct su_usd_crate *crate)
{
    if (!crate) return;
    su_arena_free(&crate->arena);
    free(crate);
}
