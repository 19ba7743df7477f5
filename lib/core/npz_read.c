/* The reader of .npz archives. The file is mapped privately; every offset and size from the file is checked against the
 * file's size before it is used or anything is allocated for it. */
#include "core/file.h"
#include "core/json_text.h"
#include "core/npy.h"
#include "core/order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { LOCAL_SIZE = 30, CENTRAL_SIZE = 46, END_SIZE = 22, END64_SIZE = 56, LOCATOR_SIZE = 20 };
enum { STORED = 0, DEFLATED = 8 };
#define LIMIT32 0xffffffffu
#define META_MAX (256u << 20)

typedef struct member {
    su_npz_entry entry;
    char *name;
    su_npy_header header;
    int method;
    uint32_t crc;
    uint64_t packed, size;        /* bytes in the archive, bytes of the content */
    uint64_t offset;              /* of the local header */
    const unsigned char *content; /* in the map */
    const void *data;             /* cached by su_npz_data */
} member;

struct su_npz {
    char *path;
    unsigned char *map;
    uint64_t size;
    member *members; /* usable arrays first: [0, usable), then refused ones */
    int count, usable;
    json_t *meta;
    su_arena arena; /* decompressed and reordered arrays */
};

static unsigned get16(const unsigned char *p) { return (unsigned)p[0] | (unsigned)p[1] << 8; }
static uint32_t get32(const unsigned char *p) { return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16; }
static uint64_t get64(const unsigned char *p) { return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32; }

static su_status damaged(const su_npz *file, const char *what, su_error *err)
{
    return su_fail(err, SU_INPUT, "%s: damaged .npz (%s); write the file again", file->path, what);
}

/* ---- content of a member ---- */

/* Inflates the first `wanted` bytes of a member. */
static bool inflate_prefix(const member *m, unsigned char *out, uint64_t wanted)
{
    z_stream stream = {0};
    uint64_t read = 0, made = 0;
    int code = Z_OK;
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
    while (code == Z_OK && made < wanted) {
        uint64_t in = m->packed - read, room = wanted - made;
        stream.next_in = (unsigned char *)(uintptr_t)(m->content + read); /* zlib's field is not const */
        stream.avail_in = (uInt)(in < 1u << 30 ? in : 1u << 30);
        stream.next_out = out + made;
        stream.avail_out = (uInt)(room < 1u << 30 ? room : 1u << 30);
        uInt in_before = stream.avail_in, out_before = stream.avail_out;
        code = inflate(&stream, Z_NO_FLUSH);
        read += in_before - stream.avail_in;
        made += out_before - stream.avail_out;
        if (in_before == stream.avail_in && out_before == stream.avail_out) break;
    }
    inflateEnd(&stream);
    return made == wanted && (code == Z_OK || code == Z_STREAM_END);
}

/* The whole content, CRC checked: in the map, or inflated into *owned (64-byte aligned, free()). */
static su_status content(const su_npz *file, const member *m, const unsigned char **bytes, void **owned, su_error *err)
{
    *owned = NULL;
    *bytes = m->content;
    if (m->method == DEFLATED) {
        unsigned char *out = su_calloc((int64_t)m->size, 1);
        if (!out) return su_fail(err, SU_AGAIN, "%s: out of memory for array '%s'", file->path, m->name);
        if (!inflate_prefix(m, out, m->size)) {
            free(out);
            return su_fail(err, SU_INPUT, "%s: array '%s' cannot be decompressed; the file is damaged", file->path,
                           m->name);
        }
        *bytes = out;
        *owned = out;
    }
    if (crc32_z(crc32_z(0, NULL, 0), *bytes, m->size) != m->crc) {
        free(*owned);
        *owned = NULL;
        return su_fail(err, SU_INPUT, "%s: checksum of '%s' is wrong; the file is damaged", file->path, m->name);
    }
    return SU_OK;
}

/* ---- directory ---- */

typedef struct directory {
    uint64_t offset, size, count;
} directory;

static su_status find_directory(const su_npz *file, directory *found, su_error *err)
{
    const unsigned char *map = file->map;
    uint64_t lowest = file->size > END_SIZE + 0xffff ? file->size - END_SIZE - 0xffff : 0;
    uint64_t at = file->size - END_SIZE;
    while (!(get32(map + at) == 0x06054b50 && at + END_SIZE + get16(map + at + 20) == file->size)) {
        if (at == lowest) return damaged(file, "no directory at the end: truncated", err);
        at--;
    }
    *found = (directory){get32(map + at + 16), get32(map + at + 12), get16(map + at + 10)};
    if (get16(map + at + 4) != 0 && get16(map + at + 4) != 0xffff) return damaged(file, "split archive", err);

    uint64_t limit = at;
    bool wants64 = found->offset == LIMIT32 || found->size == LIMIT32 || found->count == 0xffff;
    if (at >= LOCATOR_SIZE && get32(map + at - LOCATOR_SIZE) == 0x07064b50) {
        uint64_t end64 = get64(map + at - LOCATOR_SIZE + 8);
        limit = at - LOCATOR_SIZE;
        if (limit < END64_SIZE || end64 > limit - END64_SIZE || get32(map + end64) != 0x06064b50)
            return damaged(file, "zip64 directory", err);
        *found = (directory){get64(map + end64 + 48), get64(map + end64 + 40), get64(map + end64 + 32)};
        limit = end64;
    } else if (wants64) {
        return damaged(file, "zip64 directory missing", err);
    }
    if (found->offset > limit || found->size > limit - found->offset || found->count > found->size / CENTRAL_SIZE)
        return damaged(file, "directory outside the file", err);
    return SU_OK;
}

/* 64-bit values of the zip64 extra field replace those fields that hold the 32-bit limit, in this order. */
static bool read_zip64(const unsigned char *extra, size_t length, member *m)
{
    bool size = m->size == LIMIT32, packed = m->packed == LIMIT32, offset = m->offset == LIMIT32;
    if (!size && !packed && !offset) return true;
    while (length >= 4) {
        unsigned id = get16(extra);
        size_t bytes = get16(extra + 2);
        if (bytes > length - 4) return false;
        if (id == 1) {
            const unsigned char *at = extra + 4;
            if (bytes < 8 * ((size_t)size + packed + offset)) return false;
            if (size) m->size = get64(at), at += 8;
            if (packed) m->packed = get64(at), at += 8;
            if (offset) m->offset = get64(at);
            return true;
        }
        extra += 4 + bytes;
        length -= 4 + bytes;
    }
    return false;
}

/* Fills m from a central directory entry at *at (relative to the directory) and steps over it. */
static su_status read_central(const su_npz *file, const directory *dir, uint64_t *at, member *m, su_error *err)
{
    const unsigned char *p = file->map + dir->offset + *at;
    if (dir->size - *at < CENTRAL_SIZE || get32(p) != 0x02014b50) return damaged(file, "directory entry", err);
    size_t name = get16(p + 28), extra = get16(p + 30), comment = get16(p + 32);
    if (dir->size - *at - CENTRAL_SIZE < name + extra + comment) return damaged(file, "directory entry", err);
    *at += CENTRAL_SIZE + name + extra + comment;

    m->method = (int)get16(p + 10);
    m->crc = get32(p + 16);
    m->packed = get32(p + 20);
    m->size = get32(p + 24);
    m->offset = get32(p + 42);
    if (!read_zip64(p + CENTRAL_SIZE + name, extra, m)) return damaged(file, "zip64 sizes", err);
    if (memchr(p + CENTRAL_SIZE, '\0', name)) return damaged(file, "member name", err);
    m->name = strndup((const char *)p + CENTRAL_SIZE, name);
    if (!m->name) return su_fail(err, SU_AGAIN, "%s: out of memory", file->path);
    if (get16(p + 8) & 1) return su_fail(err, SU_INPUT, "%s: member '%s' is encrypted", file->path, m->name);
    if (m->method != STORED && m->method != DEFLATED)
        return su_fail(err, SU_INPUT, "%s: member '%s' uses compression method %d; only stored and deflated are read",
                       file->path, m->name, m->method);

    /* The local header has its own name and extra lengths; content follows it and must end before the directory. */
    if (m->offset > dir->offset || dir->offset - m->offset < LOCAL_SIZE) return damaged(file, "member position", err);
    const unsigned char *local = file->map + m->offset;
    if (get32(local) != 0x04034b50) return damaged(file, "member header", err);
    uint64_t start = m->offset + LOCAL_SIZE + get16(local + 26) + get16(local + 28);
    if (start > dir->offset || m->packed > dir->offset - start) return damaged(file, "member outside the file", err);
    if (get16(local + 26) != name || memcmp(local + LOCAL_SIZE, m->name, name) != 0)
        return damaged(file, "member name", err);
    m->content = file->map + start;
    if (m->method == STORED && m->size != m->packed) return damaged(file, "member size", err);
    /* Deflate cannot expand by more than 1032; a larger claim would only serve to exhaust memory. */
    if (m->method == DEFLATED && m->size / 1032 > m->packed + 64) return damaged(file, "member size", err);
    return SU_OK;
}

static int by_offset(const void *a, const void *b)
{
    const member *const *l = a, *const *r = b;
    return ((*l)->offset > (*r)->offset) - ((*l)->offset < (*r)->offset);
}

static int by_name(const void *a, const void *b)
{
    const member *const *l = a, *const *r = b;
    return strcmp((*l)->name, (*r)->name);
}

/* Members that overlap or share a name are how archives lie about their size. */
static su_status check_members(const su_npz *file, member *members, int count, su_error *err)
{
    member **order = malloc(((size_t)count + 1) * sizeof *order);
    if (!order) return su_fail(err, SU_AGAIN, "%s: out of memory", file->path);
    su_status status = SU_OK;
    for (int i = 0; i < count; i++) order[i] = &members[i];
    su_sort(order, (size_t)count, sizeof *order, by_offset);
    for (int i = 1; i < count && status == SU_OK; i++)
        if (order[i - 1]->content + order[i - 1]->packed > file->map + order[i]->offset)
            status = damaged(file, "members overlap", err);
    su_sort(order, (size_t)count, sizeof *order, by_name);
    for (int i = 1; i < count && status == SU_OK; i++)
        if (strcmp(order[i - 1]->name, order[i]->name) == 0)
            status = su_fail(err, SU_INPUT, "%s: member '%s' is there twice", file->path, order[i]->name);
    free(order);
    return status;
}

/* ---- arrays and meta ---- */

static su_status read_header(const su_npz *file, member *m, su_error *err)
{
    unsigned char prefix[12] = {0}, *copy = NULL;
    const unsigned char *bytes = m->content;
    size_t first = m->size < sizeof prefix ? (size_t)m->size : sizeof prefix;
    if (m->method == DEFLATED) {
        if (!inflate_prefix(m, prefix, first)) goto bad;
        bytes = prefix;
    }
    size_t length = su_npy_header_length(bytes, first);
    if (!length || length > m->size) goto bad;
    if (m->method == DEFLATED) {
        if (!(copy = malloc(length))) return su_fail(err, SU_AGAIN, "%s: out of memory", file->path);
        if (!inflate_prefix(m, copy, length)) goto bad;
        bytes = copy;
    }
    if (!su_npy_parse(bytes, length, &m->header)) goto bad;
    free(copy);

    const su_npy_header *header = &m->header;
    if (!header->refused[0] && (uint64_t)header->elements * su_dtype_size(header->type) != m->size - length)
        return su_fail(err, SU_INPUT, "%s: array '%s' holds another number of elements than its header says",
                       file->path, m->name);
    m->entry = (su_npz_entry){
        .name = m->name, .type = header->type, .dimensions = header->dimensions, .elements = header->elements};
    memcpy(m->entry.shape, header->shape, sizeof header->shape);
    return SU_OK;
bad:
    free(copy);
    return su_fail(err, SU_INPUT, "%s: array '%s' has a damaged .npy header", file->path, m->name);
}

static su_status read_meta(su_npz *file, const member *m, su_error *err)
{
    const unsigned char *bytes;
    void *owned;
    json_error_t where;
    if (m->size > META_MAX) return damaged(file, "meta.json too large", err);
    SU_TRY(content(file, m, &bytes, &owned, err));
    file->meta = json_loadb((const char *)bytes, (size_t)m->size, JSON_REJECT_DUPLICATES, &where);
    free(owned);
    if (!file->meta && (!where.text[0] || su_json_missed_memory()))
        return su_fail(err, SU_AGAIN, "%s: out of memory", file->path);
    if (!json_is_object(file->meta))
        return su_fail(err, SU_INPUT, "%s: meta.json is not a JSON object%s%s", file->path, file->meta ? "" : ": ",
                       file->meta ? "" : where.text);
    return SU_OK;
}

static su_status read_directory(su_npz *file, su_error *err)
{
    directory dir = {0};
    SU_TRY(find_directory(file, &dir, err));
    if (dir.count > 100000) return damaged(file, "too many members", err);
    file->members = calloc((size_t)dir.count + 1, sizeof *file->members);
    if (!file->members) return su_fail(err, SU_AGAIN, "%s: out of memory", file->path);
    uint64_t at = 0;
    for (uint64_t i = 0; i < dir.count; i++) {
        member *m = &file->members[file->count++];
        SU_TRY(read_central(file, &dir, &at, m, err));
    }
    SU_TRY(check_members(file, file->members, file->count, err));

    /* Keep arrays only; usable ones come first, in the order of the archive. */
    member *arrays = calloc((size_t)dir.count + 1, sizeof *arrays);
    if (!arrays) return su_fail(err, SU_AGAIN, "%s: out of memory", file->path);
    int refused = file->count;
    su_status status = SU_OK;
    for (int i = 0; i < file->count && status == SU_OK; i++) {
        member *m = &file->members[i];
        size_t length = strlen(m->name);
        if (strcmp(m->name, "meta.json") == 0) status = read_meta(file, m, err);
        if (length <= 4 || strcmp(m->name + length - 4, ".npy") != 0) continue;
        m->name[length - 4] = '\0';
        if (status == SU_OK) status = read_header(file, m, err);
        if (m->header.refused[0])
            arrays[--refused] = *m;
        else
            arrays[file->usable++] = *m;
        m->name = NULL;
    }
    for (int i = 0; i < file->count; i++) free(file->members[i].name);
    memmove(arrays + file->usable, arrays + refused, (size_t)(file->count - refused) * sizeof *arrays);
    file->count = file->usable + file->count - refused;
    free(file->members);
    file->members = arrays;
    if (status == SU_OK && !file->meta && !(file->meta = json_object()))
        status = su_fail(err, SU_AGAIN, "%s: out of memory", file->path);
    return status;
}

su_status su_npz_open(const char *path, su_npz **out, su_error *err)
{
    su_status status = SU_OK;
    struct stat info;
    int fd = -1;
    su_npz *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(path))) {
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
        goto done;
    }
    file->map = MAP_FAILED;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang us */
    if (fd < 0 || fstat(fd, &info) != 0) {
        status = su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot read: %s", path, strerror(errno));
        goto done;
    }
    if (!S_ISREG(info.st_mode)) {
        status = su_fail(err, SU_INPUT, "%s: not a regular file", path);
        goto done;
    }
    file->size = (uint64_t)info.st_size;
    if (file->size < END_SIZE) {
        status = su_fail(err, SU_INPUT, "%s: %s; a .npz file is wanted", path, file->size ? "too short" : "empty file");
        goto done;
    }
    file->map = mmap(NULL, (size_t)file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (file->map == MAP_FAILED) {
        status = su_fail(err, SU_AGAIN, "%s: cannot map: %s", path, strerror(errno));
        goto done;
    }
    if (get32(file->map) != 0x04034b50 && get32(file->map) != 0x06054b50) {
        status =
            su_fail(err, SU_INPUT,
                    "%s: not an .npz file (no ZIP archive); characters and motions are read by supple import", path);
        goto done;
    }
    SU_GO(read_directory(file, err));
    *out = file;
    file = NULL;
done:
    if (fd >= 0) close(fd);
    su_npz_close(file);
    return status;
}

void su_npz_close(su_npz *file)
{
    if (!file) return;
    for (int i = 0; i < file->count; i++) free(file->members[i].name);
    free(file->members);
    json_decref(file->meta);
    su_arena_free(&file->arena);
    if (file->map && file->map != MAP_FAILED) munmap(file->map, (size_t)file->size);
    free(file->path);
    free(file);
}

const char *su_npz_path(const su_npz *file) { return file->path; }
const json_t *su_npz_meta(const su_npz *file) { return file->meta; }
int su_npz_count(const su_npz *file) { return file->usable; }
const su_npz_entry *su_npz_entry_at(const su_npz *file, int index) { return &file->members[index].entry; }

const su_npz_entry *su_npz_find(const su_npz *file, const char *name)
{
    for (int i = 0; i < file->usable; i++)
        if (strcmp(file->members[i].name, name) == 0) return &file->members[i].entry;
    return NULL;
}

const char *su_npz_refused(const su_npz *file, const char *name)
{
    for (int i = file->usable; i < file->count; i++)
        if (strcmp(file->members[i].name, name) == 0) return file->members[i].header.refused;
    return NULL;
}

/* ---- data ---- */

static member *member_of(su_npz *file, const su_npz_entry *entry)
{
    for (int i = 0; i < file->usable; i++)
        if (&file->members[i].entry == entry) return &file->members[i];
    return NULL;
}

su_status su_npz_data(su_npz *file, const su_npz_entry *entry, const void **data, su_error *err)
{
    member *m = member_of(file, entry);
    const unsigned char *bytes;
    void *owned, *copy;
    if (!m) return su_fail(err, SU_FAILED, "%s: entry of another file", file->path);
    if (m->data) {
        *data = m->data;
        return SU_OK;
    }
    SU_TRY(content(file, m, &bytes, &owned, err));
    const su_npy_header *header = &m->header;
    const unsigned char *start = bytes + header->bytes;
    size_t count = (size_t)header->elements * su_dtype_size(header->type);
    for (int64_t i = 0; header->is_signed && i < header->elements; i++) {
        if (start[i] < 128) continue;
        free(owned);
        return su_fail(err, SU_INPUT, "%s: array '%s' holds negative values", file->path, m->name);
    }
    bool transposed = header->fortran && header->dimensions > 1;
    if (!owned && !transposed && (uintptr_t)start % SU_NPY_ALIGN == 0) {
        *data = m->data = start;
        return SU_OK;
    }
    copy = su_arena_alloc(&file->arena, header->elements, su_dtype_size(header->type));
    if (!copy) {
        free(owned);
        return su_fail(err, SU_AGAIN, "%s: out of memory for array '%s'", file->path, m->name);
    }
    if (transposed)
        su_npy_to_c_order(header, start, copy);
    else if (count)
        memcpy(copy, start, count);
    free(owned);
    *data = m->data = copy;
    return SU_OK;
}

su_status su_npz_copy(su_npz *file, const su_npz_entry *entry, su_dtype type, void *data, su_error *err)
{
    const void *stored;
    int64_t where = 0;
    SU_TRY(su_npz_data(file, entry, &stored, err));
    if (!su_npy_convert(entry->type, stored, type, data, entry->elements, &where))
        return su_fail(err, SU_INPUT, "%s: array '%s': element %lld does not fit %s", file->path, entry->name,
                       (long long)where, su_dtype_name(type));
    return SU_OK;
}
