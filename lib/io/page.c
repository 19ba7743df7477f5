#include "io/page.h"

#include "core/file.h"
#include "core/json_text.h"
#include "core/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct su_page {
    uint8_t *data;
    size_t count, capacity;
    json_t *arrays; /* name: [type, offset, elements]; of motions, width too */
};

static const char marker[] = "SUPPLE-DATA";
static const size_t sizes[] = {4, 2, 4, 1, 1, 4, 8, 8};
static const char *const type_names[] = {"f32", "i16", "u32", "u8", "i8", "i32", "f64", "i64"};

su_status su_page_create(su_page **out, su_error *err)
{
    su_page *page = NULL;
    SU_TRY(SU_ALLOC(&page, 1, "a page", err));
    if (!(page->arrays = json_object())) {
        free(page);
        return su_fail(err, SU_AGAIN, "out of memory for a page");
    }
    *out = page;
    return SU_OK;
}

static void *extend(su_page *page, const char *name, su_page_type type, int64_t count, su_error *err)
{
    size_t bytes = ((size_t)count * sizes[type] + 7) & ~(size_t)7; /* the next array stays aligned */
    if (bytes > page->capacity - page->count) {
        size_t capacity = page->count + page->capacity + bytes;
        uint8_t *grown = realloc(page->data, capacity);
        if (!grown) {
            su_fail(err, SU_AGAIN, "out of memory for a page");
            return NULL;
        }
        page->data = grown, page->capacity = capacity;
    }
    void *at = page->data + page->count;
    memset(at, 0, bytes);
    if (json_object_set_new(page->arrays, name,
                            json_pack("[s, I, I]", type_names[type], (json_int_t)page->count, (json_int_t)count))) {
        su_fail(err, SU_AGAIN, "out of memory for a page");
        return NULL;
    }
    page->count += bytes;
    return at;
}

/* The low bytes of all, then the next ones; the machine's order is little-endian, as everywhere in supple's files. */
static void spread(su_page_type type, int64_t count, const void *values, uint8_t *out)
{
    const uint8_t *from = values;
    for (size_t b = 0; b < sizes[type]; b++)
        for (int64_t i = 0; i < count; i++) *out++ = from[(size_t)i * sizes[type] + b];
}

su_status su_page_add(su_page *page, const char *name, su_page_type type, int64_t count, const void *values,
                      su_error *err)
{
    void *at = extend(page, name, type, count, err);
    if (!at) return SU_AGAIN;
    spread(type, count, values, at);
    return SU_OK;
}

su_status su_page_add_doubles(su_page *page, const char *name, int64_t count, const double *values, su_error *err)
{
    float *narrow = NULL;
    SU_TRY(SU_ALLOC(&narrow, count, "a page", err));
    for (int64_t i = 0; i < count; i++) narrow[i] = (float)values[i];
    su_status status = su_page_add(page, name, SU_PAGE_F32, count, narrow, err);
    free(narrow);
    return status;
}

/* Value k of frame f, 0 before the first. */
static uint32_t of_frame(su_page_type type, const void *values, int64_t width, int64_t f, int64_t k)
{
    if (f < 0) return 0;
    return type == SU_PAGE_I16 ? (uint32_t)((const int16_t *)values)[f * width + k]
                               : (uint32_t)((const int32_t *)values)[f * width + k];
}

su_status su_page_add_motion(su_page *page, const char *name, su_page_type type, int64_t frames, int64_t width,
                             const void *values, su_error *err)
{
    int64_t count = frames * width;
    uint8_t *at = extend(page, name, type, count, err);
    if (!at) return SU_AGAIN;
    for (int64_t f = 0; f < frames; f++)
        for (int64_t k = 0; k < width; k++) {
            uint32_t second = of_frame(type, values, width, f, k) - 2 * of_frame(type, values, width, f - 1, k) +
                              of_frame(type, values, width, f - 2, k);
            for (size_t b = 0; b < sizes[type]; b++)
                at[(int64_t)b * count + f * width + k] = (uint8_t)(second >> 8 * b);
        }
    json_t *entry = json_object_get(page->arrays, name);
    if (json_array_append_new(entry, json_integer(width))) return su_fail(err, SU_AGAIN, "out of memory for a page");
    return SU_OK;
}

/* zlib's: of the hound's Stop (16.7 MB) 6 leaves 7.38 MB after 0.5 s, 9 leaves 7.31 MB after 4.7 s. */
enum { LEVEL = 6 };

/* gzip with fixed header fields: the same bytes again. */
static su_status compress_data(const su_page *page, uint8_t **out, size_t *size, su_error *err)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return su_fail(err, SU_AGAIN, "out of memory for a page");
    if (page->count > UINT32_MAX / 2) {
        deflateEnd(&stream);
        return su_fail(err, SU_FAILED, "the page's data are too large: %zu bytes", page->count);
    }
    uLong bound = deflateBound(&stream, (uLong)page->count);
    uint8_t *data = malloc(bound);
    stream.next_in = page->data, stream.avail_in = (uInt)page->count;
    stream.next_out = data, stream.avail_out = (uInt)bound;
    int end = data ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
    *size = stream.total_out;
    deflateEnd(&stream);
    if (end != Z_STREAM_END) {
        free(data);
        return su_fail(err, SU_AGAIN, "out of memory for a page");
    }
    *out = data;
    return SU_OK;
}

static su_status write_base64(su_output *out, const uint8_t *data, size_t count, su_error *err)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4096];
    for (size_t at = 0, used = 0; at < count; at += 3) {
        size_t left = count - at;
        uint32_t word = (uint32_t)data[at] << 16 | (uint32_t)(left > 1 ? data[at + 1] : 0) << 8 |
                        (uint32_t)(left > 2 ? data[at + 2] : 0);
        text[used++] = digits[word >> 18];
        text[used++] = digits[word >> 12 & 63];
        text[used++] = left > 1 ? digits[word >> 6 & 63] : '=';
        text[used++] = left > 2 ? digits[word & 63] : '=';
        if (used == sizeof text || left <= 3) {
            SU_TRY(su_output_write(out, text, used, err));
            used = 0;
        }
    }
    return SU_OK;
}

static su_status read_template(const char *path, char **out, su_error *err)
{
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return su_fail(err, su_file_status(errno, SU_FAILED), "%s: cannot read the page's template: %s", path,
                       strerror(errno));
    char *text = NULL;
    long size = fseek(stream, 0, SEEK_END) == 0 ? ftell(stream) : -1;
    su_status status = SU_OK;
    rewind(stream);
    if (size < 0 || !(text = malloc((size_t)size + 1)) || fread(text, 1, (size_t)size, stream) != (size_t)size)
        status = su_fail(err, SU_AGAIN, "%s: cannot read the page's template", path);
    fclose(stream);
    if (status == SU_OK) {
        text[size] = 0;
        *out = text;
    } else {
        free(text);
    }
    return status;
}

/* JSON inside a script element: "</" would end it. */
static su_status write_json(su_output *out, const json_t *value, su_error *err)
{
    char *text = su_json_dump(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9) | JSON_ESCAPE_SLASH);
    if (!text) return su_fail(err, SU_AGAIN, "out of memory for a page");
    su_status status = su_output_write(out, text, strlen(text), err);
    free(text);
    return status;
}

static su_status write_text(su_output *out, const char *text, su_error *err)
{
    return su_output_write(out, text, strlen(text), err);
}

su_status su_page_save(su_page *page, const char *template_path, const json_t *info, const char *path, su_error *err)
{
    char *text = NULL;
    uint8_t *data = NULL;
    size_t size = 0;
    su_output out = {0};
    json_t *all = json_pack("{s:O, s:O}", "arrays", page->arrays, "info", (json_t *)info);
    su_status status;
    SU_GO(read_template(template_path, &text, err));
    char *at = strstr(text, marker);
    if (!at) {
        status = su_fail(err, SU_FAILED, "%s: not a template of a page: no %s in it", template_path, marker);
        goto done;
    }
    SU_GO(compress_data(page, &data, &size, err));
    SU_GO(su_output_open(&out, path, err));
    SU_GO(su_output_write(&out, text, (size_t)(at - text), err));
    SU_GO(write_text(&out, "<script type=\"application/json\" id=\"supple-info\">", err));
    SU_GO(write_json(&out, all, err));
    SU_GO(write_text(&out, "</script>\n<script type=\"text/plain\" id=\"supple-data\">", err));
    SU_GO(write_base64(&out, data, size, err));
    SU_GO(write_text(&out, "</script>\n", err));
    SU_GO(write_text(&out, at + sizeof marker - 1, err));
    SU_GO(su_output_commit(&out, err));
done:
    su_output_abandon(&out);
    json_decref(all);
    free(text);
    free(data);
    return status;
}

void su_page_free(su_page *page)
{
    if (!page) return;
    json_decref(page->arrays);
    free(page->data);
    free(page);
}
