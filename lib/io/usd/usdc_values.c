#include "io/usd/usdc_values.h"

#include "io/usd/usdc_file.h"
#include "io/usd/usdc_packed.h"

#include <math.h>
#include <stdlib.h>

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
    TIME_CODE = 56
};

#define IS_ARRAY ((uint64_t)1 << 63)
#define IS_PACKED ((uint64_t)1 << 61)

static su_usd_text token_of(const struct su_usd_crate *c, uint64_t index)
{
    return index < (uint64_t)c->tokens ? c->token[index] : (su_usd_text){0};
}

su_usd_text su_crate_token(su_usd_value value)
{
    const struct su_usd_crate *c = value.crate;
    uint64_t index = value.word & SU_CRATE_PAYLOAD;
    int type = su_crate_type(value.word);
    if (!(value.word & SU_CRATE_INLINED)) return (su_usd_text){0};
    if (type == SU_USDC_TOKEN || type == ASSET) return token_of(c, index);
    if (type != SU_USDC_STRING || index >= (uint64_t)c->strings) return (su_usd_text){0};
    return token_of(c, su_crate_number(c->string + 4 * index, 4));
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
    uint64_t bits = su_crate_number(at, size_of(kind));
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
    uint64_t payload = word & SU_CRATE_PAYLOAD;
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
            entries = (int64_t)su_crate_number(at, 4);
            at += 4, bytes -= 4;
            if (entries > bytes / size) return false;
            table = at;
            at += entries * size, bytes -= entries * size;
        }
    }
    if (bytes < 8 || su_crate_number(at, 8) > (uint64_t)(bytes - 8)) return false;
    bytes = (int64_t)su_crate_number(at, 8), at += 8;
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
    uint64_t offset = word & SU_CRATE_PAYLOAD;
    int head = c->minor < RANKED ? 8 : c->minor < WIDE ? 4 : 8;
    if (offset > (uint64_t)c->bytes || (uint64_t)c->bytes - offset < (uint64_t)head) return false;
    uint64_t size = su_crate_number(c->at + offset + (c->minor < RANKED ? 4 : 0), c->minor < WIDE ? 4 : 8);
    if (size > INT32_MAX) return false;
    *count = (int64_t)size, *at = c->at + offset + head, *bytes = c->bytes - (int64_t)offset - head;
    return true;
}

int64_t su_crate_numbers(su_usd_value value, int64_t most, double *out)
{
    enum { SHORTEST = 16 }; /* arrays below are never packed, whatever is said of them */
    const struct su_usd_crate *c = value.crate;
    layout l = layout_of(su_crate_type(value.word));
    const uint8_t *at;
    int64_t bytes, count = 1;
    if (!l.kind) return -1;
    if (value.word & SU_CRATE_INLINED) return inlined(value.word, l, most, out);
    if (value.word & IS_ARRAY) {
        if (!(value.word & SU_CRATE_PAYLOAD)) return 0;
        if (!array_at(c, value.word, &at, &bytes, &count)) return -1;
    } else {
        uint64_t offset = value.word & SU_CRATE_PAYLOAD;
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
    if (su_crate_type(list->word) != SU_USDC_TOKEN || !(list->word & IS_ARRAY) || !(list->word & SU_CRATE_PAYLOAD) ||
        !array_at(c, list->word, &at, &bytes, &count) || list->next >= count || count > bytes / 4)
        return false;
    *token = token_of(c, su_crate_number(at + 4 * list->next++, 4));
    return token->size > 0;
}

/* Lists of paths: a byte says which lists there are, explicit items, then added, and then others. */
int su_crate_target(su_usd_value value, int64_t number, int most, su_usd_text *names)
{
    enum { ADDED = 4, PREPENDED = 32, APPENDED = 64, EXPLICIT_ITEMS = 2 };
    const struct su_usd_crate *c = value.crate;
    uint64_t offset = value.word & SU_CRATE_PAYLOAD, count;
    int depth = 0;
    if (su_crate_type(value.word) != SU_USDC_PATH_LIST || value.word & SU_CRATE_INLINED || offset >= (uint64_t)c->bytes)
        return -1;
    if (!(c->at[offset] & (EXPLICIT_ITEMS | ADDED | PREPENDED | APPENDED)) || !su_crate_word(c, offset + 1, &count) ||
        count <= (uint64_t)number || ((uint64_t)c->bytes - offset - 9) / 4 <= (uint64_t)number)
        return -1;
    uint64_t index = su_crate_number(c->at + offset + 9 + 4 * (uint64_t)number, 4);
    if (index >= (uint64_t)c->paths || c->path[index].parent < 0 || c->path[index].property) return -1;
    for (int32_t i = (int32_t)index; c->path[i].parent >= 0; i = c->path[i].parent)
        depth += *c->token[c->path[i].token].at != '{'; /* variants are no part of it */
    if (depth < 1 || depth > most) return -1;
    for (int32_t i = (int32_t)index, k = depth; c->path[i].parent >= 0; i = c->path[i].parent)
        if (*c->token[c->path[i].token].at != '{') names[--k] = c->token[c->path[i].token];
    return depth;
}

void su_crate_free(struct su_usd_crate *crate)
{
    if (!crate) return;
    su_arena_free(&crate->arena);
    free(crate);
}
