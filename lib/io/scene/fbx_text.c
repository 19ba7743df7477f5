#include "io/scene/fbx_text.h"

#include "io/scene/fbx_records.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEEPEST = 64,      /* nested records */
    BITS_SINCE = 7200, /* from this version on text has the bits of KeyAttrDataFloat as whole numbers */
    NARROW = 7400,     /* version of the file that is written, whose offsets have 32 bits */
    NULL_RECORD = 13   /* bytes, which close what a record nests */
};

static const char UTF8_MARK[] = "\xef\xbb\xbf"; /* some editors put it before UTF-8 */

typedef struct writer {
    const char *at; /* in the text */
    unsigned char *data;
    size_t size, room;
    long version;
    bool object; /* a record of Objects is read: a number, its name and kind */
    bool broken, no_memory;
} writer;

/* ---- bytes ---- */

static void put(writer *w, const void *bytes, size_t count)
{
    if (w->broken) return;
    if (w->size + count > w->room) {
        size_t room = 2 * (w->size + count);
        unsigned char *more = realloc(w->data, room);
        if (!more) w->broken = w->no_memory = true;
        if (!more) return;
        w->data = more, w->room = room;
    }
    memcpy(w->data + w->size, bytes, count);
    w->size += count;
}

static void put_whole(writer *w, int64_t value, int bytes)
{
    unsigned char out[8];
    su_fbx_put_little(out, (uint64_t)value, bytes);
    put(w, out, (size_t)bytes);
}

static void put_real(writer *w, double value, int bytes)
{
    float single = (float)value;
    uint32_t half;
    uint64_t bits;
    memcpy(&half, &single, sizeof half);
    memcpy(&bits, &value, sizeof bits);
    put_whole(w, bytes == 4 ? (int64_t)half : (int64_t)bits, bytes);
}

static void patch(writer *w, size_t at, size_t value)
{
    if (value > UINT32_MAX) w->broken = true;
    if (!w->broken) su_fbx_put_little(w->data + at, value, 4);
}

/* ---- types ---- */

static bool is_one_of(const char *name, size_t length, size_t count, const char *const *list)
{
    for (size_t i = 0; i < count; i++)
        if (su_fbx_key_is(name, length, list[i])) return true;
    return false;
}

#define IS_ONE_OF(name, length, list) is_one_of(name, length, sizeof(list) / sizeof *(list), list)

/* Of an array by its key: whole numbers of 32 and 64 bits, single and double precision. */
static char array_type(const char *key, size_t length)
{
    static const char *const whole[] = {"Indexes", "Materials", "KeyAttrFlags", "KeyAttrRefCount",
                                        "Edges",   "Smoothing", "TextureId",    "Visibility"};
    static const char *const single[] = {"KeyValueFloat", "KeyAttrDataFloat"};
    if (su_fbx_key_is(key, length, "KeyTime")) return 'l';
    if (IS_ONE_OF(key, length, single)) return 'f';
    bool index = length > 5 && memcmp(key + length - 5, "Index", 5) == 0;
    return index || IS_ONE_OF(key, length, whole) ? 'i' : 'd';
}

/* Of the values of a property: by the word that stands second. */
static char property_type(const char *kind, size_t length)
{
    static const char *const whole[] = {"bool", "Bool", "int", "Int", "enum", "Enum", "Integer"};
    static const char *const wide[] = {"KTime", "ULongLong"};
    return IS_ONE_OF(kind, length, whole) ? 'I' : IS_ONE_OF(kind, length, wide) ? 'L' : 'D';
}

/* Of a number outside of P: 0 where it says by itself whether it is whole. */
static char number_type(const writer *w, const char *key, size_t length, int64_t index)
{
    static const char *const real[] = {"DeformPercent", "Link_DeformAcuracy", "ModelUVTranslation", "ModelUVScaling",
                                       "Alphas"};
    if (IS_ONE_OF(key, length, real)) return 'D';
    bool number = su_fbx_key_is(key, length, "C") ? index > 0 : w->object && index == 0;
    return number ? 'L' : 0;
}

/* ---- the text ---- */

static void skip_blanks(writer *w)
{
    for (;;) {
        w->at += strspn(w->at, " \t\r\n");
        if (*w->at != ';') return;
        w->at += strcspn(w->at, "\n");
    }
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '-' || at[length] == '|') length++;
    return length;
}

/* Behind a number: of "1.#IND" all is passed over. */
static void end_number(writer *w, const char *end)
{
    if (end == w->at) w->broken = true;
    w->at = end + strcspn(end, ",} \t\r\n");
}

/* inf and nan among them, information not. */
static bool is_number(const char *at)
{
    char *end;
    strtod(at, &end);
    return end > at && (!isalpha((unsigned char)*at) || (size_t)(end - at) >= word_length(at));
}

/* Has a number a point, an exponent, or no value? */
static bool is_real(const char *at, const char *end)
{
    for (; at < end; at++)
        if (*at == '.' || isalpha((unsigned char)*at)) return true;
    return false;
}

static void put_element(writer *w, char type, bool bits)
{
    char *end;
    double value = strtod(w->at, &end);
    int bytes = type == 'd' || type == 'l' ? 8 : 4;
    if (type == 'd' || (type == 'f' && (!bits || is_real(w->at, end))))
        put_real(w, value, bytes);
    else
        put_whole(w, strtoll(w->at, NULL, 10), bytes);
    end_number(w, end);
}

/* *N { a: x,y,... } */
static void read_array(writer *w, const char *key, size_t length)
{
    char *end, type = array_type(key, length);
    bool bits = w->version >= BITS_SINCE && su_fbx_key_is(key, length, "KeyAttrDataFloat");
    long long count = strtoll(w->at + 1, &end, 10);
    w->at = end;
    skip_blanks(w);
    if (*w->at != '{' || count < 0 || count > UINT32_MAX / 8) w->broken = true;
    if (w->broken) return;
    w->at++, skip_blanks(w);
    if (strncmp(w->at, "a:", 2) == 0) w->at += 2;
    const char kind[1] = {type};
    put(w, kind, 1), put_whole(w, count, 4), put_whole(w, 0, 4);
    put_whole(w, count * (type == 'd' || type == 'l' ? 8 : 4), 4);
    for (long long k = 0; k < count && !w->broken; k++) {
        put_element(w, type, bits);
        skip_blanks(w);
        if (*w->at == ',') w->at++, skip_blanks(w);
    }
    if (*w->at == '}')
        w->at++;
    else
        w->broken = true;
}

/* "Model::hip" is "hip", 0, 1, "Model" in binary files. */
static void put_name(writer *w, const char *text, size_t length)
{
    size_t kind = 0;
    while (kind + 1 < length && memcmp(text + kind, "::", 2) != 0) kind++;
    bool named = kind + 1 < length;
    size_t own = named ? length - kind - 2 : length;
    put_whole(w, (int64_t)length, 4);
    put(w, text + (length - own), own);
    if (named) put(w, "\0\1", 2), put(w, text, kind);
}

static void put_text(writer *w, const char *text, size_t length, bool name)
{
    put(w, "S", 1);
    if (name) {
        put_name(w, text, length);
        return;
    }
    put_whole(w, (int64_t)length, 4);
    put(w, text, length);
}

/* type: of a number; 0: whole where it looks so. */
static void put_number(writer *w, char type)
{
    char *end;
    double value = strtod(w->at, &end);
    int64_t whole = strtoll(w->at, NULL, 10);
    if (type == 0) type = is_real(w->at, end) ? 'D' : whole >= INT32_MIN && whole <= INT32_MAX ? 'I' : 'L';
    put(w, &type, 1);
    if (type == 'D')
        put_real(w, value, 8);
    else
        put_whole(w, whole, type == 'L' ? 8 : 4);
    end_number(w, end);
}

/* The values behind a key, up to what is nested or the next key; returns how many. */
static int64_t read_values(writer *w, const char *key, size_t length)
{
    const bool property = su_fbx_key_is(key, length, "P");
    char type = 0; /* of a property's values */
    int64_t count = 0;
    for (;; count++) {
        skip_blanks(w);
        if (*w->at == '*') {
            read_array(w, key, length);
        } else if (*w->at == '"') {
            const char *text = w->at + 1;
            size_t own = strcspn(text, "\"");
            if (text[own] != '"') w->broken = true;
            if (w->broken) return count;
            if (property && count == 1) type = property_type(text, own);
            put_text(w, text, own, w->object && count == 1);
            w->at = text + own + 1;
        } else if (is_number(w->at)) {
            put_number(w, property ? type : number_type(w, key, length, count));
        } else if (isalpha((unsigned char)*w->at)) {
            size_t own = word_length(w->at);
            if (w->at[own] == ':') return count; /* the next record */
            put_text(w, w->at, own, false);
            w->at += own;
        } else if (*w->at == ',') {
            count--; /* nothing stands before it */
        } else {
            return count;
        }
        skip_blanks(w);
        if (w->broken || *w->at != ',') return count + 1;
        w->at++;
    }
}

static void read_records(writer *w, int depth, bool objects);

/* KEY: values { records } */
static void read_record(writer *w, int depth, bool object)
{
    const char *key = w->at;
    size_t length = word_length(key), start = w->size;
    static const char none[NULL_RECORD];
    if (length == 0 || length > UINT8_MAX || key[length] != ':') w->broken = true;
    if (w->broken) return;
    w->at += length + 1;
    const unsigned char letters = (unsigned char)length;
    put(w, none, 12), put(w, &letters, 1), put(w, key, length);
    size_t properties = w->size;
    w->object = object;
    int64_t count = read_values(w, key, length);
    patch(w, start + 4, (size_t)count), patch(w, start + 8, w->size - properties);
    skip_blanks(w);
    if (*w->at == '{' && !w->broken) {
        w->at++;
        read_records(w, depth + 1, depth == 0 && su_fbx_key_is(key, length, "Objects"));
        if (*w->at != '}') w->broken = true;
        if (!w->broken) w->at++;
        put(w, none, NULL_RECORD);
    }
    patch(w, start, w->size);
    if (su_fbx_key_is(key, length, "Content")) w->size = start; /* a picture */
    if (su_fbx_key_is(key, length, "FBXVersion") && !w->broken) w->version = strtol(key + length + 1, NULL, 10);
}

static void read_records(writer *w, int depth, bool objects)
{
    if (depth > DEEPEST) w->broken = true;
    for (skip_blanks(w); !w->broken && *w->at && *w->at != '}'; skip_blanks(w)) read_record(w, depth, objects);
}

char *su_fbx_binary(char *data, size_t *size, su_arena *arena)
{
    static const char magic[23] = "Kaydara FBX Binary  \0\x1a", none[NULL_RECORD];
    writer w = {.at = data};
    if (su_fbx_is_binary(data, *size)) return data;
    if (strncmp(data, UTF8_MARK, strlen(UTF8_MARK)) == 0) w.at += strlen(UTF8_MARK);
    put(&w, magic, sizeof magic), put_whole(&w, NARROW, 4);
    read_records(&w, 0, false);
    put(&w, none, NULL_RECORD);
    if (*w.at) w.broken = true;
    char *out = w.broken ? NULL : su_arena_alloc(arena, (int64_t)w.size + 1, 1);
    if (out) memcpy(out, w.data, w.size), *size = w.size;
    if (w.no_memory) arena->failed = true;
    free(w.data);
    return out;
}
