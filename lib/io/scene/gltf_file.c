#include "io/scene/gltf_file.h"

#include "core/file.h"
#include "core/json_text.h"
#include "io/scene/meshopt.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* An accessor without a buffer view costs no bytes of the file: elements that we believe. */
static const int64_t MOST_ZEROS = (int64_t)1 << 22;

/* meshopt packs no more elements into a byte: 256 of 4 bytes that are all alike. */
static const int64_t MOST_PER_BYTE = 256;

int su_gltf_fail(su_gltf *g, const char *format, ...)
{
    va_list list;
    if (g->message[0]) return 1;
    va_start(list, format);
    vsnprintf(g->message, g->message_size, format, list);
    va_end(list);
    return 1;
}

int su_gltf_no_memory(su_gltf *g)
{
    g->arena->failed = true;
    return su_gltf_fail(g, "not enough memory");
}

/* ---- JSON ---- */

const json_t *su_gltf_item(const su_gltf *g, const char *list, int64_t index)
{
    return index < 0 ? NULL : json_array_get(json_object_get(g->json, list), (size_t)index);
}

int64_t su_gltf_integer(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_real(value) && fabs(json_real_value(value)) < 1e15) return (int64_t)json_real_value(value); /* 3.0 */
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}

int su_gltf_numbers(const json_t *array, size_t count, double *out)
{
    if (json_array_size(array) != count) return 1;
    for (size_t i = 0; i < count; i++)
        if (!json_is_number(json_array_get(array, i))) return 1;
    for (size_t i = 0; i < count; i++) out[i] = json_number_value(json_array_get(array, i));
    return 0;
}

/* ---- the file ---- */

int su_gltf_is(const char *path)
{
    static const char *const endings[] = {".glb", ".gltf", ".vrm", ".vrma"};
    const char *dot = strrchr(path, '.');
    char begin[4] = "";
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0) return 1;
    FILE *in = fopen(path, "rb");
    if (!in) return 0;
    int is = fread(begin, 1, 4, in) == 4 && memcmp(begin, "glTF", 4) == 0;
    fclose(in);
    return is;
}

/* The whole file; without data where it is none or cannot be read. What another try may read counts as what memory
 * lacks. */
static su_gltf_bytes read_whole(su_gltf *g, const char *path)
{
    su_gltf_bytes bytes = {0};
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return bytes; /* to open a pipe could wait for ever */
    FILE *in = fopen(path, "rb");
    if (!in && su_file_status(errno, SU_INPUT) == SU_AGAIN) g->arena->failed = true;
    if (!in) return bytes;
    unsigned char *data = su_arena_alloc(g->arena, (int64_t)about.st_size + 1, 1);
    if (data && fread(data, 1, (size_t)about.st_size, in) == (size_t)about.st_size)
        bytes = (su_gltf_bytes){data, (size_t)about.st_size};
    if (ferror(in)) g->arena->failed = true;
    fclose(in);
    return bytes;
}

static uint32_t little32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

enum {
    GLB_HEADER = 12,
    CHUNK_HEADER = 8,
    CHUNK_JSON = 0x4e4f534a,
    CHUNK_BINARY = 0x004e4942,
};

/* The chunks of a GLB: JSON and what buffer 0 refers to. */
static int cut_chunks(su_gltf *g, const su_gltf_bytes *file, su_gltf_bytes *text)
{
    if (file->size < GLB_HEADER + CHUNK_HEADER) return su_gltf_fail(g, "the file is cut off");
    if (little32(file->data + 4) != 2)
        return su_gltf_fail(g, "it is glTF %u; export it as glTF 2.0", little32(file->data + 4));
    for (size_t at = GLB_HEADER; at + CHUNK_HEADER <= file->size;) {
        size_t length = little32(file->data + at), kind = little32(file->data + at + 4);
        at += CHUNK_HEADER;
        if (length > file->size - at)
            return su_gltf_fail(g, "the file is cut off: a chunk of %zu bytes has %zu", length, file->size - at);
        if (kind == CHUNK_JSON && !text->data) *text = (su_gltf_bytes){file->data + at, length};
        if (kind == CHUNK_BINARY && !g->blob.data) g->blob = (su_gltf_bytes){file->data + at, length};
        at += (length + 3) & ~(size_t)3;
    }
    return text->data ? 0 : su_gltf_fail(g, "it has no JSON chunk");
}

/* Length of the well-formed UTF-8 sequence at text, 0 where there is none. Overlong ones count, jansson says no. */
static size_t sequence(const unsigned char *text, size_t left)
{
    size_t n = text[0] < 0x80 ? 1 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2 : text[0] >= 0xe0 && text[0] < 0xf0 ? 3 : 4;
    if (n > left || (n == 4 && (text[0] < 0xf0 || text[0] > 0xf4))) return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return n;
}

static int parse_json(su_gltf *g, const su_gltf_bytes *text)
{
    json_error_t error;
    size_t skip = text->size >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark */
    const char *begin = (const char *)text->data + skip;
    g->json = json_loadb(begin, text->size - skip, JSON_DISABLE_EOF_CHECK, &error);
    if (!g->json &&
        json_error_code(&error) == json_error_invalid_utf8) { /* names in some other coding: keep the rest */
        unsigned char *clean = su_arena_alloc(g->arena, (int64_t)(text->size - skip), 1);
        if (!clean) return su_gltf_no_memory(g);
        memcpy(clean, begin, text->size - skip);
        for (size_t i = 0; i < text->size - skip;) {
            size_t n = sequence(clean + i, text->size - skip - i);
            if (n == 0) clean[i] = '?';
            i += n ? n : 1;
        }
        g->json = json_loadb((char *)clean, text->size - skip, JSON_DISABLE_EOF_CHECK, &error);
    }
    if (su_json_missed_memory())
        return su_gltf_no_memory(g); /* whatever it says: it may have gone on with half a name */
    if (!g->json) return su_gltf_fail(g, "its JSON is broken at line %d: %s", error.line, error.text);
    return json_is_object(g->json) ? 0 : su_gltf_fail(g, "its JSON is no glTF");
}

/* Extensions that change what we read, and that we read. */
static const char *const known[] = {"KHR_mesh_quantization", "EXT_meshopt_compression", "KHR_meshopt_compression",
                                    "KHR_draco_mesh_compression", NULL};
/* Beginnings of the names of those that only tell how things look, or (VRM) what else may be done with them. */
static const char *const looks[] = {"KHR_materials_", "KHR_texture_",  "KHR_lights_", "KHR_xmp", "EXT_texture_",
                                    "EXT_lights_",    "MSFT_texture_", "VRM",         NULL};

static int check_version(su_gltf *g)
{
    size_t i;
    json_t *name;
    const char *version = json_string_value(json_object_get(json_object_get(g->json, "asset"), "version"));
    if (!version) return su_gltf_fail(g, "it does not say which version of glTF it is");
    if (strncmp(version, "2.", 2) != 0) return su_gltf_fail(g, "it is glTF %.20s; export it as glTF 2.0", version);
    json_array_foreach(json_object_get(g->json, "extensionsRequired"), i, name)
    {
        const char *text = json_string_value(name);
        bool fine = false;
        for (int k = 0; text && known[k]; k++) fine |= strcmp(text, known[k]) == 0;
        for (int k = 0; text && looks[k]; k++) fine |= strncmp(text, looks[k], strlen(looks[k])) == 0;
        if (!fine)
            return su_gltf_fail(g, "it requires the extension %.100s, which is not read; export it without",
                                text ? text : "(no name)");
    }
    return 0;
}

int su_gltf_open(su_gltf *g)
{
    su_gltf_bytes file = read_whole(g, g->path), text = {0};
    g->message[0] = '\0';
    if (!file.data) return g->arena->failed ? su_gltf_no_memory(g) : su_gltf_fail(g, "it cannot be read");
    if (file.size >= 4 && memcmp(file.data, "glTF", 4) == 0) {
        if (cut_chunks(g, &file, &text)) return 1;
    } else {
        text = file;
    }
    if (parse_json(g, &text) || check_version(g)) return 1;
    size_t buffers = json_array_size(json_object_get(g->json, "buffers"));
    size_t views = json_array_size(json_object_get(g->json, "bufferViews"));
    size_t arrays = json_array_size(json_object_get(g->json, "accessors"));
    g->buffer = su_arena_alloc(g->arena, (int64_t)buffers, sizeof *g->buffer);
    g->view = su_arena_alloc(g->arena, (int64_t)views, sizeof *g->view);
    g->array = su_arena_alloc(g->arena, (int64_t)arrays, sizeof *g->array);
    return g->buffer && g->view && g->array ? 0 : su_gltf_no_memory(g);
}

void su_gltf_close(su_gltf *g)
{
    json_decref(g->json);
    g->json = NULL;
}

/* ---- buffers ---- */

static int base64_value(unsigned char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static int decode_base64(su_gltf *g, const char *text, su_gltf_bytes *out)
{
    unsigned char *data = su_arena_alloc(g->arena, (int64_t)(strlen(text) / 4 * 3 + 3), 1);
    size_t count = 0;
    uint32_t bits = 0;
    int have = 0;
    if (!data) return su_gltf_no_memory(g);
    for (; *text && *text != '='; text++) {
        int value = base64_value((unsigned char)*text);
        if (value < 0) return su_gltf_fail(g, "a buffer within the file is not base64");
        bits = bits << 6 | (uint32_t)value, have += 6;
        if (have >= 8) have -= 8, data[count++] = (unsigned char)(bits >> have & 0xff);
    }
    *out = (su_gltf_bytes){data, count};
    return 0;
}

static int hexadecimal(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* A file beside this one. Names in URIs are percent-encoded, though some exporters forget to. */
static int read_beside(su_gltf *g, const char *uri, su_gltf_bytes *out)
{
    const char *slash = strrchr(g->path, '/');
    size_t folder = slash ? (size_t)(slash - g->path) + 1 : 0, at = folder;
    char *name = su_arena_alloc(g->arena, (int64_t)(folder + strlen(uri) + 1), 1);
    if (!name) return su_gltf_no_memory(g);
    if (strstr(uri, "://")) return su_gltf_fail(g, "a buffer lies at %.200s; only files beside this one are read", uri);
    memcpy(name, g->path, folder);
    for (const char *p = uri; *p; p++) {
        int high = *p == '%' ? hexadecimal(p[1]) : -1, low = high >= 0 ? hexadecimal(p[2]) : -1;
        if (low >= 0 && high + low > 0)
            name[at++] = (char)(16 * high + low), p += 2;
        else
            name[at++] = *p;
    }
    name[at] = '\0';
    *out = read_whole(g, name);
    if (!out->data && !g->arena->failed && strchr(uri, '%')) {
        memcpy(name + folder, uri, strlen(uri) + 1);
        *out = read_whole(g, name);
    }
    if (g->arena->failed) return su_gltf_no_memory(g);
    return out->data ? 0 : su_gltf_fail(g, "the file %.300s that belongs to it cannot be read", uri);
}

static const su_gltf_bytes *buffer(su_gltf *g, int64_t index)
{
    const json_t *item = su_gltf_item(g, "buffers", index);
    if (!item) {
        su_gltf_fail(g, "it has no buffer %lld", (long long)index);
        return NULL;
    }
    su_gltf_bytes *bytes = &g->buffer[index];
    const char *uri = json_string_value(json_object_get(item, "uri"));
    if (bytes->data) return bytes;
    if (!uri && index == 0 && g->blob.data) {
        *bytes = g->blob;
    } else if (!uri) {
        su_gltf_fail(g, "buffer %lld has no data", (long long)index);
        return NULL;
    } else if (strncmp(uri, "data:", 5) == 0) {
        const char *comma = strchr(uri, ',');
        if (!comma) su_gltf_fail(g, "a buffer within the file is not base64");
        if (!comma || decode_base64(g, comma + 1, bytes)) return NULL;
    } else if (read_beside(g, uri, bytes)) {
        return NULL;
    }
    return bytes;
}

/* ---- views ---- */

/* The bytes that an object with "buffer", "byteOffset" and "byteLength" names. */
static int slice(su_gltf *g, const json_t *from, int64_t index, su_gltf_bytes *out)
{
    int64_t start = su_gltf_integer(from, "byteOffset", 0), length = su_gltf_integer(from, "byteLength", -1);
    const su_gltf_bytes *whole = buffer(g, su_gltf_integer(from, "buffer", -1));
    if (!whole) return 1;
    if (start < 0 || length < 0 || (size_t)start > whole->size || (size_t)length > whole->size - (size_t)start)
        return su_gltf_fail(g, "buffer view %lld reaches beyond its buffer; the file is cut off or broken",
                            (long long)index);
    *out = (su_gltf_bytes){whole->data + start, (size_t)length};
    return 0;
}

static int one_of(const char *word, const char *const *list)
{
    for (int i = 0; list[i]; i++)
        if (strcmp(word, list[i]) == 0) return i;
    return -1;
}

static int decompress(su_gltf *g, const json_t *from, int64_t index, su_gltf_bytes *out)
{
    static const char *const modes[] = {"ATTRIBUTES", "TRIANGLES", "INDICES", NULL};
    static const char *const filters[] = {"NONE", "QUATERNION", "EXPONENTIAL", "COLOR", NULL};
    const char *mode = json_string_value(json_object_get(from, "mode"));
    const char *filter = json_string_value(json_object_get(from, "filter"));
    int m = one_of(mode ? mode : "", modes), f = one_of(filter ? filter : "NONE", filters);
    int64_t count = su_gltf_integer(from, "count", -1), stride = su_gltf_integer(from, "byteStride", -1);
    su_gltf_bytes packed;
    if (slice(g, from, index, &packed)) return 1;
    if (m < 0 || f < 0 || stride < 1 || stride > 256 || count < 0 || count / MOST_PER_BYTE > (int64_t)packed.size)
        return su_gltf_fail(g, "buffer view %lld: its meshopt compression is broken", (long long)index);
    unsigned char *data = su_arena_alloc(g->arena, count * stride, 1);
    if (!data) return su_gltf_no_memory(g);
    if (su_meshopt_decode((su_meshopt_mode)m, (su_meshopt_filter)f, packed.data, packed.size, count, stride, data))
        return su_gltf_fail(g, "buffer view %lld: its meshopt compression is broken", (long long)index);
    *out = (su_gltf_bytes){data, (size_t)(count * stride)};
    return 0;
}

const su_gltf_bytes *su_gltf_view(su_gltf *g, int64_t index)
{
    const json_t *item = su_gltf_item(g, "bufferViews", index);
    if (!item) {
        su_gltf_fail(g, "it has no buffer view %lld", (long long)index);
        return NULL;
    }
    su_gltf_bytes *view = &g->view[index];
    if (view->data) return view;
    const json_t *extensions = json_object_get(item, "extensions");
    const json_t *packed = json_object_get(extensions, "KHR_meshopt_compression");
    if (!packed) packed = json_object_get(extensions, "EXT_meshopt_compression");
    return (packed ? decompress(g, packed, index, view) : slice(g, item, index, view)) ? NULL : view;
}

/* ---- accessors ---- */

/* Component types of glTF, from 5120: bytes of each, 0: there is none. */
enum { FIRST_TYPE = 5120 };
static const int component_bytes[] = {1, 1, 2, 2, 0, 4, 4};

static double component(const unsigned char *p, int64_t type)
{
    switch (type) {
    case 5120:
        return (int8_t)p[0];
    case 5121:
        return p[0];
    case 5122:
        return (int16_t)(p[0] | p[1] << 8);
    case 5123:
        return p[0] | p[1] << 8;
    case 5125:
        return little32(p);
    default: {
        uint32_t bits = little32(p);
        float v;
        memcpy(&v, &bits, sizeof v);
        return (double)v;
    }
    }
}

double su_gltf_normalized(int64_t type, double value)
{
    static const double largest[] = {127, 255, 32767, 65535};
    int64_t at = type - FIRST_TYPE;
    return at >= 0 && at < 4 ? fmax(value / largest[at], -1.0) : value;
}

int64_t su_gltf_components(const char *type)
{
    static const char *const names[] = {"SCALAR", "VEC2", "VEC3", "VEC4", "MAT4", NULL};
    static const int64_t widths[] = {1, 2, 3, 4, 16};
    int at = one_of(type ? type : "", names);
    return at < 0 ? 0 : widths[at];
}

/* Where `count` items of item_bytes lie, `stride` apart, behind an offset of a view; NULL where they do not fit. */
static const unsigned char *place(su_gltf *g, int64_t view, int64_t offset, int64_t count, int64_t item_bytes,
                                  int64_t *stride)
{
    const su_gltf_bytes *bytes = su_gltf_view(g, view);
    if (!bytes) return NULL;
    *stride = su_gltf_integer(su_gltf_item(g, "bufferViews", view), "byteStride", 0);
    if (*stride == 0) *stride = item_bytes;
    int64_t size = (int64_t)bytes->size;
    if (*stride < item_bytes || *stride > 65536 || offset < 0 || offset > size ||
        (count > 0 && (count - 1) * *stride + item_bytes > size - offset)) {
        su_gltf_fail(g, "an accessor reaches beyond buffer view %lld; the file is cut off or broken", (long long)view);
        return NULL;
    }
    return bytes->data + offset;
}

typedef struct layout {
    int64_t type, count, width;
    bool normalized;
} layout;

static int read_dense(su_gltf *g, const layout *l, int64_t view, int64_t offset, int64_t count, double *out)
{
    int64_t stride, bytes = component_bytes[l->type - FIRST_TYPE];
    const unsigned char *data = place(g, view, offset, count, bytes * l->width, &stride);
    if (!data) return 1;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < l->width; k++) {
            double value = component(data + i * stride + k * bytes, l->type);
            out[i * l->width + k] = l->normalized ? su_gltf_normalized(l->type, value) : value;
        }
    return 0;
}

static int replace_sparse(su_gltf *g, const layout *l, const json_t *sparse, double *out)
{
    const json_t *indices = json_object_get(sparse, "indices"), *values = json_object_get(sparse, "values");
    int64_t count = su_gltf_integer(sparse, "count", -1), type = su_gltf_integer(indices, "componentType", 0);
    layout scalar = {.type = type, .count = count, .width = 1};
    if (count < 0 || count > l->count || (type != 5121 && type != 5123 && type != 5125))
        return su_gltf_fail(g, "a sparse accessor is broken");
    double *at = su_arena_alloc(g->arena, count, sizeof *at);
    double *value = su_arena_alloc(g->arena, count * l->width, sizeof *value);
    if (!at || !value) return su_gltf_no_memory(g);
    if (read_dense(g, &scalar, su_gltf_integer(indices, "bufferView", -1), su_gltf_integer(indices, "byteOffset", 0),
                   count, at) ||
        read_dense(g, l, su_gltf_integer(values, "bufferView", -1), su_gltf_integer(values, "byteOffset", 0), count,
                   value))
        return 1;
    for (int64_t i = 0; i < count; i++) {
        if (!(at[i] < (double)l->count)) return su_gltf_fail(g, "a sparse accessor is broken");
        memcpy(out + (int64_t)at[i] * l->width, value + i * l->width, (size_t)l->width * sizeof *out);
    }
    return 0;
}

const su_gltf_array *su_gltf_accessor(su_gltf *g, int64_t index, int64_t width)
{
    const json_t *a = su_gltf_item(g, "accessors", index), *sparse = json_object_get(a, "sparse");
    if (!a) {
        su_gltf_fail(g, "it has no accessor %lld", (long long)index);
        return NULL;
    }
    su_gltf_array *array = &g->array[index];
    if (!array->value) {
        layout l = {.type = su_gltf_integer(a, "componentType", 0),
                    .count = su_gltf_integer(a, "count", -1),
                    .width = su_gltf_components(json_string_value(json_object_get(a, "type"))),
                    .normalized = json_is_true(json_object_get(a, "normalized"))};
        bool stored = json_object_get(a, "bufferView") != NULL;
        if (l.type < FIRST_TYPE || l.type > SU_GLTF_FLOAT || !component_bytes[l.type - FIRST_TYPE] || l.width == 0 ||
            l.count < 0 || l.count > INT32_MAX || (!stored && l.count > MOST_ZEROS)) {
            su_gltf_fail(g, "accessor %lld is broken", (long long)index);
            return NULL;
        }
        if (stored) { /* before room is made for as many as it says */
            int64_t stride;
            if (!place(g, su_gltf_integer(a, "bufferView", -1), su_gltf_integer(a, "byteOffset", 0), l.count,
                       component_bytes[l.type - FIRST_TYPE] * l.width, &stride))
                return NULL;
        }
        double *value = su_arena_alloc(g->arena, l.count * l.width, sizeof *value);
        if (!value) {
            su_gltf_no_memory(g);
            return NULL;
        }
        if (stored && read_dense(g, &l, su_gltf_integer(a, "bufferView", -1), su_gltf_integer(a, "byteOffset", 0),
                                 l.count, value))
            return NULL;
        if (sparse && replace_sparse(g, &l, sparse, value)) return NULL;
        *array = (su_gltf_array){value, l.count, l.width, l.type != SU_GLTF_FLOAT};
    }
    if (width == 0 || array->width == width) return array;
    su_gltf_fail(g, "accessor %lld has %lld components where %lld are wanted", (long long)index,
                 (long long)array->width, (long long)width);
    return NULL;
}
