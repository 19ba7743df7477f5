/* The writer of .npz archives: plain ZIP, stored members only. Sizes are known when a member begins, so its local
 * header is final except for the CRC, which is patched at the end of the member. An extra field pads the local header
 * so that array data begin on a 64-byte boundary of the file and can be used from a memory map. */
#include "core/json_text.h"
#include "core/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20,
    DOS_DATE = 0x21, /* 1980-01-01, the same for every file */
    EXTRA_ZIP64 = 0x0001,
    EXTRA_ALIGN = 0xd935, /* the padding field that zipalign introduced */
    NAME_MAX_BYTES = 200
};
#define LIMIT32 0xffffffffu

typedef struct written {
    char name[NAME_MAX_BYTES + 8];
    uint32_t crc;
    uint64_t size, offset;
    bool zip64; /* the local header has 64-bit sizes */
} written;

struct su_npz_writer {
    su_output out;
    written *members;
    int count, room;
    uint64_t position;
    bool force_zip64;
    /* the member that is open */
    bool open;
    su_dtype type;
    int64_t elements_left;
};

static void put16(unsigned char **at, unsigned value)
{
    *(*at)++ = (unsigned char)(value & 0xff);
    *(*at)++ = (unsigned char)(value >> 8);
}

static void put32(unsigned char **at, uint32_t value)
{
    put16(at, value & 0xffff);
    put16(at, value >> 16);
}

static void put64(unsigned char **at, uint64_t value)
{
    put32(at, (uint32_t)value);
    put32(at, (uint32_t)(value >> 32));
}

su_status su_npz_create(const char *path, su_npz_writer **out, su_error *err)
{
    su_npz_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
    su_status status = su_output_open(&writer->out, path, err);
    if (status != SU_OK) {
        free(writer);
        return status;
    }
    *out = writer;
    return SU_OK;
}

void su_npz_force_zip64(su_npz_writer *writer) { writer->force_zip64 = true; }

void su_npz_abandon(su_npz_writer *writer)
{
    if (!writer) return;
    su_output_abandon(&writer->out);
    free(writer->members);
    free(writer);
}

static su_status emit(su_npz_writer *writer, const void *bytes, size_t count, su_error *err)
{
    SU_TRY(su_output_write(&writer->out, bytes, count, err));
    writer->position += count;
    return SU_OK;
}

/* Member content: written and summed. */
static su_status emit_content(su_npz_writer *writer, const void *bytes, size_t count, su_error *err)
{
    written *member = &writer->members[writer->count - 1];
    if (count == 0) return SU_OK; /* zlib would start the sum anew at a NULL pointer */
    member->crc = (uint32_t)crc32_z(member->crc, bytes, count);
    return emit(writer, bytes, count, err);
}

static su_status member_begin(su_npz_writer *writer, const char *name, uint64_t size, su_error *err)
{
    if (strlen(name) > NAME_MAX_BYTES) return su_fail(err, SU_FAILED, "%s: array name too long", writer->out.path);
    if (writer->count == writer->room) {
        int room = writer->room ? 2 * writer->room : 32;
        written *grown = realloc(writer->members, (size_t)room * sizeof *grown);
        if (!grown) return su_fail(err, SU_AGAIN, "%s: out of memory", writer->out.path);
        writer->members = grown;
        writer->room = room;
    }
    written *member = &writer->members[writer->count++];
    memset(member, 0, sizeof *member);
    strcpy(member->name, name);
    member->crc = (uint32_t)crc32_z(0, NULL, 0);
    member->size = size;
    member->offset = writer->position;
    member->zip64 = size >= LIMIT32 || writer->force_zip64;

    size_t length = strlen(name), extra = (member->zip64 ? 20 : 0) + 4;
    size_t padding = (size_t)(-(writer->position + LOCAL_SIZE + length + extra)) % SU_NPY_ALIGN;
    unsigned char header[LOCAL_SIZE + NAME_MAX_BYTES + 24 + SU_NPY_ALIGN] = {0}, *at = header;
    put32(&at, 0x04034b50);
    put16(&at, member->zip64 ? 45 : 20); /* version needed */
    put16(&at, 0);                       /* flags */
    put16(&at, 0);                       /* stored */
    put16(&at, 0);                       /* time */
    put16(&at, DOS_DATE);
    put32(&at, 0); /* CRC, patched in member_end */
    put32(&at, member->zip64 ? LIMIT32 : (uint32_t)size);
    put32(&at, member->zip64 ? LIMIT32 : (uint32_t)size);
    put16(&at, (unsigned)length);
    put16(&at, (unsigned)(extra + padding));
    memcpy(at, name, length);
    at += length;
    if (member->zip64) {
        put16(&at, EXTRA_ZIP64);
        put16(&at, 16);
        put64(&at, size);
        put64(&at, size);
    }
    put16(&at, EXTRA_ALIGN);
    put16(&at, (unsigned)padding);
    at += padding;
    return emit(writer, header, (size_t)(at - header), err);
}

static su_status member_end(su_npz_writer *writer, su_error *err)
{
    const written *member = &writer->members[writer->count - 1];
    FILE *stream = writer->out.stream;
    unsigned char crc[4], *at = crc;
    put32(&at, member->crc);
    if (fseeko(stream, (off_t)member->offset + 14, SEEK_SET) != 0 || fwrite(crc, 1, sizeof crc, stream) != sizeof crc ||
        fseeko(stream, (off_t)writer->position, SEEK_SET) != 0)
        return su_fail(err, SU_AGAIN, "%s: writing failed: %s", writer->out.path, strerror(errno));
    return SU_OK;
}

su_status su_npz_begin(su_npz_writer *writer, const char *name, su_dtype type, int dimensions, const int64_t *shape,
                       su_error *err)
{
    char header[SU_NPY_HEADER_MAX], file_name[NAME_MAX_BYTES + 8];
    size_t size = su_dtype_size(type);
    int64_t elements = dimensions <= SU_MAX_DIMENSIONS ? su_npy_elements(dimensions, shape, size) : -1;
    if (writer->open) return su_fail(err, SU_FAILED, "%s: array '%s' begins inside another", writer->out.path, name);
    if (elements < 0) return su_fail(err, SU_FAILED, "%s: array '%s' is too large", writer->out.path, name);
    for (int i = 0; i < writer->count; i++)
        if (strncmp(writer->members[i].name, name, strlen(name)) == 0 &&
            strcmp(writer->members[i].name + strlen(name), ".npy") == 0)
            return su_fail(err, SU_FAILED, "%s: array '%s' is written twice", writer->out.path, name);
    if (snprintf(file_name, sizeof file_name, "%s.npy", name) >= (int)sizeof file_name)
        return su_fail(err, SU_FAILED, "%s: array name too long", writer->out.path);

    size_t length = su_npy_format(header, type, dimensions, shape);
    SU_TRY(member_begin(writer, file_name, length + (uint64_t)elements * size, err));
    writer->open = true;
    writer->type = type;
    writer->elements_left = elements;
    return emit_content(writer, header, length, err);
}

su_status su_npz_append(su_npz_writer *writer, const void *data, int64_t elements, su_error *err)
{
    if (!writer->open || elements < 0 || elements > writer->elements_left)
        return su_fail(err, SU_FAILED, "%s: more elements than the array's shape holds", writer->out.path);
    writer->elements_left -= elements;
    return emit_content(writer, data, (size_t)elements * su_dtype_size(writer->type), err);
}

su_status su_npz_end(su_npz_writer *writer, su_error *err)
{
    if (!writer->open || writer->elements_left != 0)
        return su_fail(err, SU_FAILED, "%s: fewer elements than the array's shape holds", writer->out.path);
    writer->open = false;
    return member_end(writer, err);
}

su_status su_npz_add(su_npz_writer *writer, const char *name, su_dtype type, int dimensions, const int64_t *shape,
                     const void *data, su_error *err)
{
    SU_TRY(su_npz_begin(writer, name, type, dimensions, shape, err));
    SU_TRY(su_npz_append(writer, data, writer->elements_left, err));
    return su_npz_end(writer, err);
}

static su_status write_meta(su_npz_writer *writer, const json_t *meta, su_error *err)
{
    char *text = su_json_dump(meta, JSON_SORT_KEYS | JSON_INDENT(1) | JSON_ENSURE_ASCII);
    if (!text) return su_fail(err, SU_AGAIN, "%s: out of memory for meta.json", writer->out.path);
    size_t length = strlen(text);
    su_status status = SU_OK;
    SU_GO(member_begin(writer, "meta.json", length + 1, err));
    SU_GO(emit_content(writer, text, length, err));
    SU_GO(emit_content(writer, "\n", 1, err));
    SU_GO(member_end(writer, err));
done:
    free(text);
    return status;
}

static su_status write_central(su_npz_writer *writer, const written *member, su_error *err)
{
    unsigned char header[CENTRAL_SIZE + NAME_MAX_BYTES + 40] = {0}, *at = header;
    size_t length = strlen(member->name);
    bool far = member->offset >= LIMIT32 || writer->force_zip64;
    unsigned extra = (member->zip64 ? 16u : 0u) + (far ? 8u : 0u);
    put32(&at, 0x02014b50);
    put16(&at, 3 << 8 | 45); /* made on Unix: external attributes are a file mode */
    put16(&at, extra ? 45 : 20);
    put16(&at, 0);
    put16(&at, 0);
    put16(&at, 0);
    put16(&at, DOS_DATE);
    put32(&at, member->crc);
    put32(&at, member->zip64 ? LIMIT32 : (uint32_t)member->size);
    put32(&at, member->zip64 ? LIMIT32 : (uint32_t)member->size);
    put16(&at, (unsigned)length);
    put16(&at, extra ? extra + 4 : 0);
    put16(&at, 0); /* comment */
    put16(&at, 0); /* disk */
    put16(&at, 0); /* internal attributes */
    put32(&at, 0100644u << 16);
    put32(&at, far ? LIMIT32 : (uint32_t)member->offset);
    memcpy(at, member->name, length);
    at += length;
    if (extra) {
        put16(&at, EXTRA_ZIP64);
        put16(&at, extra);
        if (member->zip64) {
            put64(&at, member->size);
            put64(&at, member->size);
        }
        if (far) put64(&at, member->offset);
    }
    return emit(writer, header, (size_t)(at - header), err);
}

static su_status write_directory(su_npz_writer *writer, su_error *err)
{
    uint64_t start = writer->position;
    for (int i = 0; i < writer->count; i++) SU_TRY(write_central(writer, &writer->members[i], err));
    uint64_t size = writer->position - start, count = (uint64_t)writer->count;
    bool zip64 = start >= LIMIT32 || size >= LIMIT32 || count >= 0xffff || writer->force_zip64;
    unsigned char record[END64_SIZE + LOCATOR_SIZE + END_SIZE], *at = record;
    if (zip64) {
        uint64_t end64 = writer->position;
        put32(&at, 0x06064b50);
        put64(&at, END64_SIZE - 12);
        put16(&at, 3 << 8 | 45);
        put16(&at, 45);
        put32(&at, 0);
        put32(&at, 0);
        put64(&at, count);
        put64(&at, count);
        put64(&at, size);
        put64(&at, start);
        put32(&at, 0x07064b50); /* locator */
        put32(&at, 0);
        put64(&at, end64);
        put32(&at, 1);
    }
    put32(&at, 0x06054b50);
    put16(&at, 0);
    put16(&at, 0);
    put16(&at, zip64 ? 0xffff : (unsigned)count);
    put16(&at, zip64 ? 0xffff : (unsigned)count);
    put32(&at, zip64 ? LIMIT32 : (uint32_t)size);
    put32(&at, zip64 ? LIMIT32 : (uint32_t)start);
    put16(&at, 0);
    return emit(writer, record, (size_t)(at - record), err);
}

su_status su_npz_commit(su_npz_writer *writer, const json_t *meta, su_error *err)
{
    su_status status = SU_OK;
    if (writer->open) {
        status = su_fail(err, SU_FAILED, "%s: an array is not finished", writer->out.path);
        goto done;
    }
    SU_GO(write_meta(writer, meta, err));
    SU_GO(write_directory(writer, err));
    SU_GO(su_output_commit(&writer->out, err));
done:
    su_npz_abandon(writer);
    return status;
}
