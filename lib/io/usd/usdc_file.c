#include "io/usd/usdc_file.h"

#include "core/file.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

/* Bits of a value: 48 of payload, a byte of type, and these. */
#define IS_ARRAY ((uint64_t)1 << 63)
#define IS_INLINED ((uint64_t)1 << 62)
enum { TYPE_SHIFT = 48, HEADER = 88, ALIGNMENT = 8, NAME = 16 };

/* Bits of the head of a list. */
enum { LIST_EXPLICIT = 3, LIST_PREPENDED = 32 }; /* is explicit and has items; has prepended items */

typedef struct path_node {
    int64_t parent;
    uint32_t token;
    bool property, has_spec;
    int64_t first_child, last_child, next; /* -1: none */
} path_node;

typedef struct spec {
    int64_t path, first, count; /* of its fields */
    su_usdc_spec type;
} spec;

typedef struct field {
    uint32_t token;
    uint64_t value;
} field;

typedef struct growing {
    void *data;
    int64_t count, room;
} growing;

struct su_usdc_file {
    su_output out;
    int64_t at; /* bytes written */
    su_status status;
    su_error *err;
    growing tokens;  /* char * */
    growing strings; /* uint32_t: token of each */
    growing paths, specs, fields;
    int64_t *slots; /* hash table of the tokens, number plus 1 */
    int64_t slot_count;
};

static uint64_t value_of(su_usdc_type type, uint64_t flags, uint64_t payload)
{
    return flags | (uint64_t)type << TYPE_SHIFT | payload;
}

/* Room for an element more; NULL where there is none. */
static void *extend(su_usdc_file *f, growing *g, size_t size)
{
    if (f->status != SU_OK) return NULL;
    if (g->count == g->room) {
        int64_t room = 2 * g->room + 64;
        void *grown = realloc(g->data, (size_t)room * size);
        if (!grown) {
            f->status = su_fail(f->err, SU_AGAIN, "%s: out of memory", f->out.path);
            return NULL;
        }
        g->data = grown, g->room = room;
    }
    return (char *)g->data + (size_t)g->count++ * size;
}

static void put(su_usdc_file *f, const void *data, size_t bytes)
{
    if (f->status == SU_OK && bytes) f->status = su_output_write(&f->out, data, bytes, f->err);
    f->at += (int64_t)bytes;
}

static void put_u32(su_usdc_file *f, uint32_t x) { put(f, &x, sizeof x); }
static void put_u64(su_usdc_file *f, uint64_t x) { put(f, &x, sizeof x); }

/* Values begin on whole words, so that readers may use them where they lie. */
static uint64_t place(su_usdc_file *f)
{
    static const char zero[ALIGNMENT] = {0};
    put(f, zero, (size_t)(-f->at & (ALIGNMENT - 1)));
    return (uint64_t)f->at;
}

/* ---- tokens ---- */

static uint64_t hash(const char *text)
{
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

static bool enlarge_slots(su_usdc_file *f)
{
    int64_t count = f->slot_count ? 2 * f->slot_count : 1024;
    int64_t *slots = calloc((size_t)count, sizeof *slots);
    if (!slots) {
        f->status = su_fail(f->err, SU_AGAIN, "%s: out of memory", f->out.path);
        return false;
    }
    for (int64_t i = 0; i < f->tokens.count; i++) {
        int64_t at = (int64_t)(hash(((char **)f->tokens.data)[i]) & (uint64_t)(count - 1));
        while (slots[at]) at = (at + 1) & (count - 1);
        slots[at] = i + 1;
    }
    free(f->slots);
    f->slots = slots, f->slot_count = count;
    return true;
}

static uint32_t token(su_usdc_file *f, const char *text)
{
    if (f->status != SU_OK) return 0;
    if (2 * f->tokens.count >= f->slot_count && !enlarge_slots(f)) return 0;
    int64_t at = (int64_t)(hash(text) & (uint64_t)(f->slot_count - 1));
    for (; f->slots[at]; at = (at + 1) & (f->slot_count - 1))
        if (strcmp(((char **)f->tokens.data)[f->slots[at] - 1], text) == 0) return (uint32_t)(f->slots[at] - 1);
    char **slot = extend(f, &f->tokens, sizeof *slot);
    if (!slot) return 0;
    if (!(*slot = strdup(text))) {
        f->tokens.count--;
        f->status = su_fail(f->err, SU_AGAIN, "%s: out of memory", f->out.path);
        return 0;
    }
    f->slots[at] = f->tokens.count;
    return (uint32_t)f->tokens.count - 1;
}

static uint32_t string(su_usdc_file *f, const char *text)
{
    uint32_t *slot = extend(f, &f->strings, sizeof *slot);
    if (slot) *slot = token(f, text);
    return (uint32_t)f->strings.count - 1;
}

/* ---- values ---- */

su_usdc_value su_usdc_word(su_usdc_file *f, su_usdc_type type, const char *text)
{
    return value_of(type, IS_INLINED, type == SU_USDC_STRING ? string(f, text) : token(f, text));
}

su_usdc_value su_usdc_small(su_usdc_type type, uint32_t bits) { return value_of(type, IS_INLINED, bits); }

su_usdc_value su_usdc_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return value_of(SU_USDC_FLOAT, IS_INLINED, bits);
}

su_usdc_value su_usdc_double(su_usdc_file *f, double x)
{
    float single = (float)x;
    uint32_t bits;
    if ((double)single != x) return su_usdc_single(f, SU_USDC_DOUBLE, &x, sizeof x);
    memcpy(&bits, &single, sizeof bits);
    return value_of(SU_USDC_DOUBLE, IS_INLINED, bits);
}

su_usdc_value su_usdc_single(su_usdc_file *f, su_usdc_type type, const void *data, int64_t bytes)
{
    uint64_t at = place(f);
    put(f, data, (size_t)bytes);
    return value_of(type, 0, at);
}

su_usdc_value su_usdc_array(su_usdc_file *f, su_usdc_type type, int64_t count, const void *data, int64_t bytes)
{
    if (count == 0) return value_of(type, IS_ARRAY, 0);
    uint64_t at = place(f);
    put_u64(f, (uint64_t)count);
    put(f, data, (size_t)(count * bytes));
    return value_of(type, IS_ARRAY, at);
}

su_usdc_value su_usdc_words(su_usdc_file *f, su_usdc_type type, int64_t count, const char *const *texts)
{
    static const uint8_t prepended = LIST_PREPENDED;
    uint64_t at = place(f);
    if (type == SU_USDC_TOKEN_LIST) put(f, &prepended, 1);
    put_u64(f, (uint64_t)count);
    for (int64_t i = 0; i < count; i++)
        put_u32(f, type == SU_USDC_STRING_VECTOR ? string(f, texts[i]) : token(f, texts[i]));
    return value_of(type, type == SU_USDC_TOKEN ? IS_ARRAY : 0, at);
}

su_usdc_value su_usdc_target(su_usdc_file *f, int64_t path)
{
    static const uint8_t is_explicit = LIST_EXPLICIT;
    uint64_t at = place(f);
    put(f, &is_explicit, 1);
    put_u64(f, 1);
    put_u32(f, (uint32_t)path);
    return value_of(SU_USDC_PATH_LIST, 0, at);
}

su_usdc_value su_usdc_times(su_usdc_file *f, int64_t count, const double *times)
{
    uint64_t at = place(f);
    put_u64(f, (uint64_t)count);
    put(f, times, (size_t)count * sizeof *times);
    return value_of(SU_USDC_DOUBLE_VECTOR, 0, at);
}

/* What stands behind an offset may be written in between; here nothing is. */
su_usdc_value su_usdc_samples(su_usdc_file *f, su_usdc_value times, int64_t count, const su_usdc_value *values)
{
    uint64_t at = place(f);
    put_u64(f, sizeof(uint64_t));
    put_u64(f, times);
    put_u64(f, sizeof(uint64_t));
    put_u64(f, (uint64_t)count);
    put(f, values, (size_t)count * sizeof *values);
    return value_of(SU_USDC_SAMPLES, 0, at);
}

su_usdc_value su_usdc_no_offsets(su_usdc_file *f, int64_t count)
{
    const double none[2] = {0.0, 1.0}; /* offset and scale */
    uint64_t at = place(f);
    put_u64(f, (uint64_t)count);
    for (int64_t i = 0; i < count; i++) put(f, none, sizeof none);
    return value_of(SU_USDC_OFFSET_VECTOR, 0, at);
}

su_usdc_value su_usdc_dictionary(su_usdc_file *f, int64_t count, const char *const (*pairs)[2])
{
    uint64_t at = place(f);
    put_u64(f, (uint64_t)count);
    for (int64_t i = 0; i < count; i++) {
        put_u32(f, string(f, pairs[i][0]));
        put_u64(f, sizeof(uint64_t));
        put_u64(f, su_usdc_word(f, SU_USDC_STRING, pairs[i][1]));
    }
    return value_of(SU_USDC_DICTIONARY, 0, at);
}

/* ---- specs ---- */

int64_t su_usdc_path(su_usdc_file *f, int64_t parent, const char *name, bool property)
{
    path_node *node = extend(f, &f->paths, sizeof *node);
    if (!node) return 0;
    int64_t index = f->paths.count - 1;
    *node = (path_node){.parent = parent, .property = property, .first_child = -1, .last_child = -1, .next = -1};
    node->token = token(f, name);
    if (parent < 0) return index;
    path_node *all = f->paths.data;
    if (all[parent].last_child < 0)
        all[parent].first_child = index;
    else
        all[all[parent].last_child].next = index;
    all[parent].last_child = index;
    return index;
}

void su_usdc_begin(su_usdc_file *f, int64_t path, su_usdc_spec type)
{
    spec *s = extend(f, &f->specs, sizeof *s);
    if (!s) return;
    *s = (spec){path, f->fields.count, 0, type};
    ((path_node *)f->paths.data)[path].has_spec = true;
}

void su_usdc_field(su_usdc_file *f, const char *name, su_usdc_value value)
{
    uint32_t word = token(f, name);
    field *add = extend(f, &f->fields, sizeof *add);
    if (!add) return;
    *add = (field){word, value};
    ((spec *)f->specs.data)[f->specs.count - 1].count++;
}

/* ---- the file ---- */

su_status su_usdc_create(const char *path, su_usdc_file **out, su_error *err)
{
    static const char header[HEADER] = {0};
    su_usdc_file *f = NULL;
    SU_TRY(SU_ALLOC(&f, 1, "a USD layer", err));
    f->err = err;
    su_status status = su_output_open(&f->out, path, err);
    if (status == SU_OK) {
        put(f, header, sizeof header); /* its place */
        (void)token(f, ";-)");         /* the number 0 cannot be negated, which marks properties among paths */
        (void)su_usdc_path(f, -1, "", false);
        status = f->status;
    }
    if (status != SU_OK)
        su_usdc_abandon(f);
    else
        *out = f;
    return status;
}

su_status su_usdc_status(const su_usdc_file *f) { return f->status; }

void su_usdc_abandon(su_usdc_file *f)
{
    if (!f) return;
    su_output_abandon(&f->out);
    for (int64_t i = 0; i < f->tokens.count; i++) free(((char **)f->tokens.data)[i]);
    free(f->tokens.data), free(f->strings.data), free(f->paths.data), free(f->specs.data), free(f->fields.data);
    free(f->slots);
    free(f);
}

/* ---- tables ---- */

/* One chunk (0: no further) of one LZ4 block of nothing but literals, with its size in front. */
static void put_packed(su_usdc_file *f, const void *data, size_t bytes)
{
    enum { SHORT = 15, LONG = 255 };
    size_t rest = bytes < SHORT ? 0 : bytes - SHORT;
    uint64_t extra = bytes < SHORT ? 0 : rest / LONG + 1;
    uint8_t head[2] = {0, (uint8_t)((bytes < SHORT ? bytes : SHORT) << 4)};
    put_u64(f, sizeof head + extra + bytes);
    put(f, head, sizeof head);
    for (uint64_t i = 0; i < extra; i++) {
        uint8_t length = (uint8_t)(i + 1 < extra ? LONG : rest % LONG);
        put(f, &length, 1);
    }
    put(f, data, bytes);
}

/* Whole numbers as differences: the common one (here always 0), two bits each that say how wide it is, the others. */
static void put_integers(su_usdc_file *f, int64_t count, const int32_t *values)
{
    enum { COMMON = 0, WIDE = 3 };
    size_t codes = (size_t)(2 * count + 7) / 8, bytes = sizeof(int32_t) + codes;
    uint8_t *data = f->status == SU_OK ? calloc(bytes + 4 * (size_t)count + 1, 1) : NULL;
    if (!data) {
        if (f->status == SU_OK) f->status = su_fail(f->err, SU_AGAIN, "%s: out of memory", f->out.path);
        return;
    }
    int32_t before = 0;
    for (int64_t i = 0; i < count; i++) {
        int32_t change = (int32_t)((uint32_t)values[i] - (uint32_t)before);
        before = values[i];
        data[sizeof(int32_t) + (size_t)i / 4] |= (uint8_t)((change ? WIDE : COMMON) << (2 * (i % 4)));
        if (!change) continue;
        memcpy(data + bytes, &change, sizeof change);
        bytes += sizeof change;
    }
    put_packed(f, data, bytes);
    free(data);
}

typedef struct section {
    char name[NAME];
    int64_t start, size;
} section;

static int32_t *numbers(su_usdc_file *f, int64_t count)
{
    int32_t *out = f->status == SU_OK ? calloc((size_t)(count > 0 ? count : 1), sizeof *out) : NULL;
    if (!out && f->status == SU_OK) f->status = su_fail(f->err, SU_AGAIN, "%s: out of memory", f->out.path);
    return out;
}

static void put_tokens(su_usdc_file *f)
{
    size_t bytes = 0, at = 0;
    for (int64_t i = 0; i < f->tokens.count; i++) bytes += strlen(((char **)f->tokens.data)[i]) + 1;
    char *text = f->status == SU_OK ? malloc(bytes + 1) : NULL;
    if (!text) {
        if (f->status == SU_OK) f->status = su_fail(f->err, SU_AGAIN, "%s: out of memory", f->out.path);
        return;
    }
    for (int64_t i = 0; i < f->tokens.count; i++) {
        size_t length = strlen(((char **)f->tokens.data)[i]) + 1;
        memcpy(text + at, ((char **)f->tokens.data)[i], length);
        at += length;
    }
    put_u64(f, (uint64_t)f->tokens.count);
    put_u64(f, bytes);
    put_packed(f, text, bytes);
    free(text);
}

static void put_fields(su_usdc_file *f)
{
    const field *all = f->fields.data;
    int64_t n = f->fields.count;
    int32_t *names = numbers(f, n);
    uint64_t *values = names ? malloc((size_t)(n > 0 ? n : 1) * sizeof *values) : NULL;
    for (int64_t i = 0; i < n && values; i++) names[i] = (int32_t)all[i].token, values[i] = all[i].value;
    if (names && !values) f->status = su_fail(f->err, SU_AGAIN, "%s: out of memory", f->out.path);
    if (f->status == SU_OK) {
        put_u64(f, (uint64_t)n);
        put_integers(f, n, names);
        put_packed(f, values, (size_t)n * sizeof *values);
    }
    free(names), free(values);
}

static void put_field_sets(su_usdc_file *f)
{
    const spec *specs = f->specs.data;
    int64_t n = f->fields.count + f->specs.count, at = 0;
    int32_t *list = numbers(f, n);
    for (int64_t i = 0; i < f->specs.count && list; i++) {
        for (int64_t k = 0; k < specs[i].count; k++) list[at++] = (int32_t)(specs[i].first + k);
        list[at++] = -1; /* ends a set */
    }
    if (list) put_u64(f, (uint64_t)n), put_integers(f, n, list);
    free(list);
}

/* Depth first. Of each path how far its sibling is: -2 nothing follows from here, -1 only a child, 0 only a sibling,
 * which is next. */
static void put_paths(su_usdc_file *f)
{
    const path_node *node = f->paths.data;
    int64_t n = f->paths.count, count = 0;
    int32_t *order = numbers(f, n), *names = numbers(f, n), *jumps = numbers(f, n), *place_of = numbers(f, n);
    for (int64_t at = 0; at >= 0 && place_of;) {
        place_of[at] = (int32_t)count;
        order[count] = (int32_t)at;
        names[count++] = node[at].property ? -(int32_t)node[at].token : (int32_t)node[at].token;
        if (node[at].first_child >= 0) {
            at = node[at].first_child;
            continue;
        }
        while (at >= 0 && node[at].next < 0) at = node[at].parent;
        if (at >= 0) at = node[at].next;
    }
    for (int64_t i = 0; i < count; i++) {
        const path_node *p = &node[order[i]];
        jumps[i] = p->first_child < 0 ? (p->next < 0 ? -2 : 0) : p->next < 0 ? -1 : place_of[p->next] - (int32_t)i;
    }
    if (f->status == SU_OK) {
        put_u64(f, (uint64_t)n);
        put_u64(f, (uint64_t)count);
        put_integers(f, count, order);
        put_integers(f, count, names);
        put_integers(f, count, jumps);
    }
    free(order), free(names), free(jumps), free(place_of);
}

static void put_specs(su_usdc_file *f)
{
    const spec *specs = f->specs.data;
    int64_t n = f->specs.count, at = 0;
    int32_t *list = numbers(f, n);
    if (list) put_u64(f, (uint64_t)n);
    for (int64_t i = 0; i < n && list; i++) list[i] = (int32_t)specs[i].path;
    if (list) put_integers(f, n, list);
    for (int64_t i = 0; i < n && list; i++) {
        list[i] = (int32_t)at;
        at += specs[i].count + 1;
    }
    if (list) put_integers(f, n, list);
    for (int64_t i = 0; i < n && list; i++) list[i] = (int32_t)specs[i].type;
    if (list) put_integers(f, n, list);
    free(list);
}

/* The names of the children of each spec, as fields of their own: they stand behind those that the spec has. */
static void name_children(su_usdc_file *f)
{
    growing old = f->fields;
    f->fields = (growing){0};
    const char **names = f->status == SU_OK ? malloc((size_t)(f->paths.count + 1) * sizeof *names) : NULL;
    for (int64_t i = 0; i < f->specs.count && names; i++) {
        spec *s = &((spec *)f->specs.data)[i];
        int64_t from = s->first, count = s->count;
        s->first = f->fields.count, s->count = 0;
        for (int64_t k = from; k < from + count; k++) {
            field *copy = extend(f, &f->fields, sizeof *copy);
            if (copy) *copy = ((field *)old.data)[k], s->count++;
        }
        for (int kind = 0; kind < 2; kind++) { /* prims, properties */
            const path_node *all = f->paths.data;
            int64_t children = 0;
            for (int64_t c = all[s->path].first_child; c >= 0; c = all[c].next)
                if (all[c].has_spec && all[c].property == (kind == 1))
                    names[children++] = ((char **)f->tokens.data)[all[c].token];
            if (children == 0) continue;
            su_usdc_value list = su_usdc_words(f, SU_USDC_TOKEN_VECTOR, children, names);
            uint32_t word = token(f, kind ? "properties" : "primChildren");
            field *add = extend(f, &f->fields, sizeof *add);
            if (add) *add = (field){word, list}, ((spec *)f->specs.data)[i].count++;
        }
    }
    if (!names && f->status == SU_OK) f->status = su_fail(f->err, SU_AGAIN, "%s: out of memory", f->out.path);
    free(names), free(old.data);
}

su_status su_usdc_commit(su_usdc_file *f, su_error *err)
{
    static void (*const tables[])(su_usdc_file *) = {put_tokens,     NULL,      put_fields,
                                                     put_field_sets, put_paths, put_specs};
    static const char *const names[] = {"TOKENS", "STRINGS", "FIELDS", "FIELDSETS", "PATHS", "SPECS"};
    enum { SECTIONS = 6 };
    section sections[SECTIONS] = {{{0}, 0, 0}};
    f->err = err;
    name_children(f);
    for (int i = 0; i < SECTIONS; i++) {
        memcpy(sections[i].name, names[i], strlen(names[i]));
        sections[i].start = (int64_t)place(f);
        if (tables[i]) {
            tables[i](f);
        } else {
            put_u64(f, (uint64_t)f->strings.count);
            put(f, f->strings.data, (size_t)f->strings.count * sizeof(uint32_t));
        }
        sections[i].size = f->at - sections[i].start;
    }
    uint64_t contents = place(f);
    put_u64(f, SECTIONS);
    put(f, sections, sizeof sections);
    struct {
        char name[8];
        uint8_t version[8];
        uint64_t contents, reserved[8];
    } header = {"PXR-USDC", {0, 7, 0}, contents, {0}};
    if (f->status == SU_OK && (fflush(f->out.stream) != 0 || fseeko(f->out.stream, 0, SEEK_SET) != 0))
        f->status = su_fail(err, SU_AGAIN, "%s: cannot write", f->out.path);
    put(f, &header, sizeof header);
    su_status status = f->status;
    if (status == SU_OK) {
        status = su_output_commit(&f->out, err);
        f->out = (su_output){0};
    }
    su_usdc_abandon(f);
    return status;
}
