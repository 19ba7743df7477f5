#include "core/npy.h"

#include "core/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    size_t size;
    const char *name, *descr;
} types[] = {
    [SU_F64] = {8, "f64", "<f8"}, [SU_F32] = {4, "f32", "<f4"}, [SU_I32] = {4, "i32", "<i4"},
    [SU_I64] = {8, "i64", "<i8"}, [SU_U8] = {1, "u8", "|u1"},
};

size_t su_dtype_size(su_dtype type) { return types[type].size; }
const char *su_dtype_name(su_dtype type) { return types[type].name; }

int64_t su_npy_elements(int dimensions, const int64_t *shape, size_t size)
{
    int64_t elements = 1, bytes;
    for (int i = 0; i < dimensions; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(elements, shape[i], &elements)) return -1;
    return __builtin_mul_overflow(elements, (int64_t)size, &bytes) ? -1 : elements;
}

/* ---- header ---- */

size_t su_npy_header_length(const unsigned char *bytes, size_t available)
{
    if (available < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3) return 0;
    if (bytes[6] == 1) return 10 + (size_t)bytes[8] + ((size_t)bytes[9] << 8);
    if (available < 12) return 0;
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8 | (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    return length > 65536 ? 0 : 12 + length;
}

/* A cursor over the Python literal {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at)) c->at++;
}

static bool accept(cursor *c, const char *token)
{
    skip_space(c);
    size_t length = strlen(token);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, token, length) != 0) return false;
    c->at += length;
    return true;
}

static bool parse_string(cursor *c, char *out, size_t room)
{
    skip_space(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    size_t count = 0;
    while (c->at < c->end && *c->at != quote) {
        if (count + 1 < room) out[count++] = *c->at;
        c->at++;
    }
    out[count] = '\0';
    return c->at < c->end && *c->at++ == quote;
}

/* A structured type is a list of tuples; it is skipped as a whole. */
static bool skip_list(cursor *c)
{
    int depth = 0;
    char text[4];
    for (;;) {
        skip_space(c);
        if (c->at >= c->end) return false;
        if (*c->at == '\'' || *c->at == '"') {
            if (!parse_string(c, text, sizeof text)) return false;
            continue;
        }
        if (*c->at == '[' || *c->at == '(') depth++;
        if (*c->at == ']' || *c->at == ')') depth--;
        c->at++;
        if (depth <= 0) return depth == 0;
    }
}

static bool parse_shape(cursor *c, su_npy_header *header)
{
    int dimensions = 0;
    if (!accept(c, "(")) return false;
    while (!accept(c, ")")) {
        int64_t value = 0;
        skip_space(c);
        if (c->at >= c->end || !isdigit((unsigned char)*c->at)) return false;
        while (c->at < c->end && isdigit((unsigned char)*c->at)) {
            if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c->at - '0', &value))
                return false;
            c->at++;
        }
        accept(c, "L");
        if (dimensions < SU_MAX_DIMENSIONS) header->shape[dimensions] = value;
        dimensions++;
        if (!accept(c, ",")) {
            if (!accept(c, ")")) return false;
            break;
        }
    }
    header->dimensions = dimensions;
    return true;
}

static void set_type(su_npy_header *header, const char *descr)
{
    for (int type = 0; type < (int)(sizeof types / sizeof *types); type++) {
        if (strcmp(descr, types[type].descr) == 0) {
            header->type = (su_dtype)type;
            return;
        }
    }
    if (strcmp(descr, "|b1") == 0 || strcmp(descr, "|i1") == 0) {
        header->type = SU_U8;
        header->is_signed = descr[1] == 'i';
    } else if (descr[0] == '>') {
        snprintf(header->refused, sizeof header->refused, "is big-endian ('%s'); store it little-endian", descr);
    } else {
        snprintf(header->refused, sizeof header->refused, "has the type '%s'; only f8, f4, i8, i4 and u1 are read",
                 descr);
    }
}

bool su_npy_parse(const unsigned char *bytes, size_t length, su_npy_header *header)
{
    size_t start = length > 6 && bytes[6] == 1 ? 10 : 12;
    char key[20], descr[40] = "";
    bool seen_descr = false, seen_order = false, seen_shape = false;
    *header = (su_npy_header){.bytes = length};
    if (length < start || su_npy_header_length(bytes, length) != length) return false;

    cursor c = {(const char *)bytes + start, (const char *)bytes + length};
    if (!accept(&c, "{")) return false;
    while (!accept(&c, "}")) {
        if (!parse_string(&c, key, sizeof key) || !accept(&c, ":")) return false;
        if (strcmp(key, "descr") == 0) {
            seen_descr = true;
            skip_space(&c);
            if (c.at < c.end && *c.at == '[') {
                if (!skip_list(&c)) return false;
                strcpy(descr, "structured");
            } else if (!parse_string(&c, descr, sizeof descr)) {
                return false;
            }
        } else if (strcmp(key, "fortran_order") == 0) {
            seen_order = true;
            header->fortran = accept(&c, "True");
            if (!header->fortran && !accept(&c, "False")) return false;
        } else if (strcmp(key, "shape") == 0) {
            seen_shape = true;
            if (!parse_shape(&c, header)) return false;
        } else {
            return false;
        }
        if (!accept(&c, ",")) {
            if (!accept(&c, "}")) return false;
            break;
        }
    }
    if (!seen_descr || !seen_order || !seen_shape) return false;

    set_type(header, descr);
    if (header->dimensions > SU_MAX_DIMENSIONS) {
        snprintf(header->refused, sizeof header->refused, "has %d dimensions; at most %d are read", header->dimensions,
                 SU_MAX_DIMENSIONS);
        header->dimensions = 0;
    }
    if (header->refused[0]) return true;
    header->elements = su_npy_elements(header->dimensions, header->shape, su_dtype_size(header->type));
    return header->elements >= 0;
}

size_t su_npy_format(char out[SU_NPY_HEADER_MAX], su_dtype type, int dimensions, const int64_t *shape)
{
    char text[SU_NPY_HEADER_MAX - 128];
    int used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", types[type].descr);
    for (int i = 0; i < dimensions; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, i + 1 < dimensions ? "%lld, " : "%lld",
                         (long long)shape[i]);
    used += snprintf(text + used, sizeof text - (size_t)used, "%s), }", dimensions == 1 ? "," : "");
    size_t length = (10 + (size_t)used + 1 + SU_NPY_ALIGN - 1) / SU_NPY_ALIGN * SU_NPY_ALIGN;
    memset(out, ' ', length);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((length - 10) & 0xff);
    out[9] = (char)((length - 10) >> 8);
    memcpy(out + 10, text, (size_t)used);
    out[length - 1] = '\n';
    return length;
}

/* ---- elements ---- */

static bool to_double(su_dtype type, const void *in, int64_t i, double *value)
{
    int64_t integer;
    switch (type) {
    case SU_F64:
        *value = ((const double *)in)[i];
        return true;
    case SU_F32:
        *value = ((const float *)in)[i];
        return true;
    case SU_I32:
        *value = ((const int32_t *)in)[i];
        return true;
    case SU_U8:
        *value = ((const uint8_t *)in)[i];
        return true;
    case SU_I64:
        integer = ((const int64_t *)in)[i];
        *value = (double)integer;
        return integer >= -(1LL << 53) && integer <= 1LL << 53;
    }
    return false;
}

static bool to_integer(su_dtype type, const void *in, int64_t i, int64_t *value)
{
    if (type == SU_I64) {
        *value = ((const int64_t *)in)[i];
        return true;
    }
    double number = 0;
    to_double(type, in, i, &number);
    if (!(fabs(number) <= 9007199254740992.0) || number != floor(number)) return false;
    *value = (int64_t)number;
    return true;
}

static bool convert_one(su_dtype from, const void *in, su_dtype to, void *out, int64_t i)
{
    double number = 0;
    int64_t integer = 0;
    switch (to) {
    case SU_F64:
        if (!to_double(from, in, i, &number)) return false;
        ((double *)out)[i] = number;
        return true;
    case SU_F32:
        if (!to_double(from, in, i, &number)) return false;
        ((float *)out)[i] = (float)number;
        if (from == SU_F64) return isfinite((float)number) || !isfinite(number);
        return from == SU_F32 || (double)(float)number == number;
    case SU_I32:
        if (!to_integer(from, in, i, &integer) || integer < INT32_MIN || integer > INT32_MAX) return false;
        ((int32_t *)out)[i] = (int32_t)integer;
        return true;
    case SU_I64:
        return to_integer(from, in, i, (int64_t *)out + i);
    case SU_U8:
        if (!to_integer(from, in, i, &integer) || integer < 0 || integer > 255) return false;
        ((uint8_t *)out)[i] = (uint8_t)integer;
        return true;
    }
    return false;
}

bool su_npy_convert(su_dtype from, const void *in, su_dtype to, void *out, int64_t count, int64_t *where)
{
    if (from == to) {
        if (count) memcpy(out, in, (size_t)count * su_dtype_size(to));
        return true;
    }
    if (from == SU_F32 && to == SU_F64) {
        for (int64_t i = 0; i < count; i++) ((double *)out)[i] = ((const float *)in)[i];
        return true;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!convert_one(from, in, to, out, i)) {
            *where = i;
            return false;
        }
    }
    return true;
}

void su_npy_to_c_order(const su_npy_header *header, const void *in, void *out)
{
    size_t size = su_dtype_size(header->type);
    int64_t index[SU_MAX_DIMENSIONS] = {0};
    for (int64_t k = 0; k < header->elements; k++) {
        int64_t source = 0, stride = 1;
        for (int i = 0; i < header->dimensions; i++) {
            source += index[i] * stride;
            stride *= header->shape[i];
        }
        memcpy((char *)out + (size_t)k * size, (const char *)in + (size_t)source * size, size);
        for (int i = header->dimensions - 1; i >= 0 && ++index[i] == header->shape[i]; i--) index[i] = 0;
    }
}

/* ---- single files ---- */

su_status su_npy_load(const char *path, su_dtype type, int *dimensions, int64_t *shape, void **data, su_error *err)
{
    su_status status = SU_OK;
    unsigned char *map = MAP_FAILED;
    void *ordered = NULL, *converted = NULL;
    struct stat info;
    su_npy_header header;
    size_t size = 0, length;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot read: %s", path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        status = su_fail(err, SU_INPUT, "%s: not a regular file", path);
        goto done;
    }
    size = (size_t)info.st_size;
    map = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED) {
        status = su_fail(err, size ? SU_AGAIN : SU_INPUT, "%s: %s", path, size ? strerror(errno) : "empty file");
        goto done;
    }
    length = su_npy_header_length(map, size);
    if (!length || length > size || !su_npy_parse(map, length, &header)) {
        status = su_fail(err, SU_INPUT, "%s: not a NumPy .npy file", path);
        goto done;
    }
    if (header.refused[0]) {
        status = su_fail(err, SU_INPUT, "%s: the array %s", path, header.refused);
        goto done;
    }
    size_t bytes = (size_t)header.elements * su_dtype_size(header.type);
    if (bytes != size - length) {
        status = su_fail(err, SU_INPUT, "%s: truncated or damaged: %zu bytes of data, %zu wanted", path, size - length,
                         bytes);
        goto done;
    }
    /* The header length is arbitrary here, so the data are copied to an aligned place first. */
    ordered = su_calloc(header.elements, su_dtype_size(header.type));
    converted = su_calloc(header.elements, su_dtype_size(type));
    if (!ordered || !converted) {
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
        goto done;
    }
    if (header.fortran)
        su_npy_to_c_order(&header, map + length, ordered);
    else
        memcpy(ordered, map + length, bytes);
    int64_t where = 0;
    bool fits = su_npy_convert(header.type, ordered, type, converted, header.elements, &where);
    for (int64_t i = 0; fits && header.is_signed && i < header.elements; i++) {
        where = i;
        fits = ((const int8_t *)ordered)[i] >= 0;
    }
    if (!fits) {
        status =
            su_fail(err, SU_INPUT, "%s: element %lld does not fit %s", path, (long long)where, su_dtype_name(type));
        goto done;
    }
    *dimensions = header.dimensions;
    memcpy(shape, header.shape, sizeof header.shape);
    *data = converted;
    converted = NULL;
done:
    free(ordered);
    free(converted);
    if (map != MAP_FAILED) munmap(map, size);
    close(fd);
    return status;
}

su_status su_npy_save(const char *path, su_dtype type, int dimensions, const int64_t *shape, const void *data,
                      su_error *err)
{
    su_status status = SU_OK;
    su_output out = {0};
    char header[SU_NPY_HEADER_MAX];
    int64_t elements = su_npy_elements(dimensions, shape, su_dtype_size(type));
    if (elements < 0 || dimensions > SU_MAX_DIMENSIONS) return su_fail(err, SU_FAILED, "%s: array too large", path);
    SU_GO(su_output_open(&out, path, err));
    SU_GO(su_output_write(&out, header, su_npy_format(header, type, dimensions, shape), err));
    SU_GO(su_output_write(&out, data, (size_t)elements * su_dtype_size(type), err));
    SU_GO(su_output_commit(&out, err));
done:
    su_output_abandon(&out);
    return status;
}
