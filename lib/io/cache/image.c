#include "io/cache/image.h"

#include "core/file.h"
#include "core/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHANNELS = 3, BLOCK = 1 << 16, LARGEST = 65535 };

struct su_image_writer {
    su_image_kind kind;
    int64_t width, height, rows;
    su_output out;
    uint8_t *row, *before; /* bytes of a row; before: of the one above (PNG) */
    z_stream deflate;      /* PNG */
    bool deflating, finished;
    uint8_t *packed; /* (BLOCK) */
};

const char *su_image_extension(su_image_kind kind) { return kind == SU_IMAGE_PNG ? ".png" : ".exr"; }

uint16_t su_half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return sign | 0x7e00;  /* not a number */
    if (bits >= 0x477ff000) return sign | 0x7c00; /* rounds to 65,536 or more */
    if (bits < 0x38800000)
        return sign | (uint16_t)lrint(ldexp(fabs((double)value), 24)); /* subnormal: multiples of 2^-24 */
    bits += 0xfff + (bits >> 13 & 1);
    return sign | (uint16_t)((bits >> 13) - (112 << 10));
}

/* ---- PNG ---- */

static void put_big(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static su_status write_chunk(su_image_writer *w, const char type[4], const uint8_t *data, size_t count, su_error *err)
{
    uint8_t head[8], tail[4];
    put_big(head, (uint32_t)count);
    memcpy(head + 4, type, 4);
    uLong sum = crc32(crc32(0, NULL, 0), head + 4, 4);
    if (count) sum = crc32(sum, data, (uInt)count);
    put_big(tail, (uint32_t)sum);
    SU_TRY(su_output_write(&w->out, head, sizeof head, err));
    if (count) SU_TRY(su_output_write(&w->out, data, count, err));
    return su_output_write(&w->out, tail, sizeof tail, err);
}

static su_status begin_png(su_image_writer *w, su_error *err)
{
    static const uint8_t magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t head[13] = {0};
    put_big(head, (uint32_t)w->width), put_big(head + 4, (uint32_t)w->height);
    head[8] = 16, head[9] = 2; /* bits, colour */
    if (deflateInit(&w->deflate, Z_DEFAULT_COMPRESSION) != Z_OK)
        return su_fail(err, SU_AGAIN, "%s: out of memory", w->out.path);
    w->deflating = true;
    SU_TRY(su_output_write(&w->out, magic, sizeof magic, err));
    return write_chunk(w, "IHDR", head, sizeof head, err);
}

/* Compresses bytes into IDAT chunks; the last call, without bytes, ends the stream. */
static su_status pack(su_image_writer *w, const uint8_t *bytes, size_t count, su_error *err)
{
    int result = Z_OK;
    w->deflate.next_in = (Bytef *)bytes, w->deflate.avail_in = (uInt)count;
    do {
        w->deflate.next_out = w->packed, w->deflate.avail_out = BLOCK;
        result = deflate(&w->deflate, bytes ? Z_NO_FLUSH : Z_FINISH);
        size_t made = BLOCK - w->deflate.avail_out;
        if (made) SU_TRY(write_chunk(w, "IDAT", w->packed, made, err));
    } while (w->deflate.avail_out == 0 && result == Z_OK);
    return SU_OK;
}

/* Rows are stored as differences to the row above: frames follow each other down the image. */
static su_status png_row(su_image_writer *w, const float *values, su_error *err)
{
    size_t bytes = (size_t)w->width * CHANNELS * 2;
    static const uint8_t up = 2;
    for (int64_t i = 0; i < w->width * CHANNELS; i++) {
        double x = (double)values[i];
        long level = lrint(65535.0 * (x > 1.0 ? 1.0 : x > 0.0 ? x : 0.0));
        w->row[2 * i] = (uint8_t)(level >> 8), w->row[2 * i + 1] = (uint8_t)level;
    }
    for (size_t i = 0; i < bytes; i++) w->before[i] = (uint8_t)(w->row[i] - w->before[i]);
    SU_TRY(pack(w, &up, 1, err));
    SU_TRY(pack(w, w->before, bytes, err));
    uint8_t *swap = w->before;
    w->before = w->row, w->row = swap;
    return SU_OK;
}

/* ---- OpenEXR: header, offsets of the scan lines, scan lines of all B, all G, all R ---- */

static size_t channel_bytes(const su_image_writer *w) { return w->kind == SU_IMAGE_HALF ? 2 : 4; }

static uint8_t *put_little(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *to++ = (uint8_t)(value >> 8 * i);
    return to;
}

static uint8_t *put_float(uint8_t *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_little(to, bits, 4);
}

static uint8_t *put_text(uint8_t *to, const char *text)
{
    size_t length = strlen(text) + 1;
    memcpy(to, text, length);
    return to + length;
}

static uint8_t *put_attribute(uint8_t *to, const char *name, const char *type, uint32_t size)
{
    return put_little(put_text(put_text(to, name), type), size, 4);
}

static su_status begin_exr(su_image_writer *w, su_error *err)
{
    uint8_t head[512], *to = head;
    const uint64_t right = (uint64_t)w->width - 1, bottom = (uint64_t)w->height - 1;
    to = put_little(to, 20000630, 4), to = put_little(to, 2, 4);
    to = put_attribute(to, "channels", "chlist", CHANNELS * 18 + 1);
    for (int c = 0; c < CHANNELS; c++) {
        const char name[2] = {"BGR"[c], 0};
        to = put_text(to, name);
        to = put_little(to, w->kind == SU_IMAGE_HALF ? 1 : 2, 4);
        to = put_little(to, 0, 4), to = put_little(to, 1, 4), to = put_little(to, 1, 4); /* linear, every texel */
    }
    to = put_little(to, 0, 1);
    to = put_attribute(to, "compression", "compression", 1), to = put_little(to, 0, 1);
    for (int i = 0; i < 2; i++) {
        to = put_attribute(to, i ? "displayWindow" : "dataWindow", "box2i", 16);
        to = put_little(to, 0, 8), to = put_little(to, right, 4), to = put_little(to, bottom, 4);
    }
    to = put_attribute(to, "lineOrder", "lineOrder", 1), to = put_little(to, 0, 1);
    to = put_float(put_attribute(to, "pixelAspectRatio", "float", 4), 1.0f);
    to = put_little(put_attribute(to, "screenWindowCenter", "v2f", 8), 0, 8);
    to = put_float(put_attribute(to, "screenWindowWidth", "float", 4), 1.0f);
    to = put_little(to, 0, 1);
    SU_TRY(su_output_write(&w->out, head, (size_t)(to - head), err));
    uint64_t line = 8 + (uint64_t)w->width * CHANNELS * channel_bytes(w),
             first = (uint64_t)(to - head) + 8 * (uint64_t)w->height;
    for (int64_t y = 0; y < w->height; y++) {
        uint8_t offset[8];
        put_little(offset, first + (uint64_t)y * line, 8);
        SU_TRY(su_output_write(&w->out, offset, sizeof offset, err));
    }
    return SU_OK;
}

static su_status exr_row(su_image_writer *w, const float *values, su_error *err)
{
    size_t bytes = (size_t)w->width * CHANNELS * channel_bytes(w);
    uint8_t *to = put_little(put_little(w->row, (uint64_t)w->rows, 4), bytes, 4);
    for (int c = CHANNELS - 1; c >= 0; c--)
        for (int64_t x = 0; x < w->width; x++) {
            float value = values[CHANNELS * x + c];
            to = w->kind == SU_IMAGE_HALF ? put_little(to, su_half_of(value), 2) : put_float(to, value);
        }
    return su_output_write(&w->out, w->row, 8 + bytes, err);
}

/* ---- both ---- */

su_status su_image_create(const char *path, su_image_kind kind, int64_t width, int64_t height, su_image_writer **out,
                          su_error *err)
{
    su_image_writer *w = NULL;
    su_status status;
    if (width < 1 || height < 1 || width > LARGEST || height > LARGEST)
        return su_fail(err, SU_USAGE, "%s: no image has %lld x %lld texels", path, (long long)width, (long long)height);
    SU_TRY(SU_ALLOC(&w, 1, "an image", err));
    w->kind = kind, w->width = width, w->height = height;
    SU_GO(SU_ALLOC(&w->row, 8 + width * CHANNELS * 4, "an image", err));
    SU_GO(SU_ALLOC(&w->before, width * CHANNELS * 4, "an image", err));
    SU_GO(SU_ALLOC(&w->packed, BLOCK, "an image", err));
    SU_GO(su_output_open(&w->out, path, err));
    SU_GO(kind == SU_IMAGE_PNG ? begin_png(w, err) : begin_exr(w, err));
done:
    if (status != SU_OK)
        su_image_abandon(w);
    else
        *out = w;
    return status;
}

su_status su_image_row(su_image_writer *w, const float *values, su_error *err)
{
    if (w->rows >= w->height)
        return su_fail(err, SU_FAILED, "%s: more than %lld rows", w->out.path, (long long)w->height);
    SU_TRY(w->kind == SU_IMAGE_PNG ? png_row(w, values, err) : exr_row(w, values, err));
    w->rows++;
    return SU_OK;
}

su_status su_image_finish(su_image_writer *w, su_error *err)
{
    if (w->finished) return SU_OK;
    if (w->rows != w->height)
        return su_fail(err, SU_FAILED, "%s: %lld of %lld rows were written", w->out.path, (long long)w->rows,
                       (long long)w->height);
    if (w->kind == SU_IMAGE_PNG) {
        SU_TRY(pack(w, NULL, 0, err));
        SU_TRY(write_chunk(w, "IEND", NULL, 0, err));
    }
    SU_TRY(su_output_flush(&w->out, err));
    w->finished = true;
    return SU_OK;
}

su_status su_image_commit(su_image_writer *w, su_error *err)
{
    su_status status = su_image_finish(w, err);
    if (status == SU_OK) status = su_output_commit(&w->out, err);
    su_image_abandon(w);
    return status;
}

void su_image_abandon(su_image_writer *w)
{
    if (!w) return;
    if (w->deflating) deflateEnd(&w->deflate);
    su_output_abandon(&w->out);
    free(w->row), free(w->before), free(w->packed);
    free(w);
}
