#include "io/alembic/ogawa.h"

#include "core/file.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 16, FROZEN_AT = 5, ROOT_AT = 8 };
static const uint8_t magic[5] = {'O', 'g', 'a', 'w', 'a'};

/* ---- writing ---- */

struct su_ogawa_writer {
    su_output out;
    uint64_t end; /* where the next block goes */
};

su_status su_ogawa_create(const char *path, su_ogawa_writer **out, su_error *err)
{
    su_ogawa_writer *writer = NULL;
    SU_TRY(SU_ALLOC(&writer, 1, "an Ogawa file", err));
    su_status status = su_output_open(&writer->out, path, err);
    if (status == SU_OK) {
        uint8_t header[HEADER_BYTES] = {0};
        memcpy(header, magic, sizeof magic);
        header[7] = 1; /* container version 1, high byte first */
        status = su_output_write(&writer->out, header, sizeof header, err);
    }
    if (status != SU_OK) {
        su_ogawa_abandon(writer);
        return status;
    }
    writer->end = HEADER_BYTES;
    *out = writer;
    return SU_OK;
}

su_status su_ogawa_put_data(su_ogawa_writer *writer, const void *head, size_t head_size, const void *body,
                            size_t body_size, su_ogawa_ref *ref, su_error *err)
{
    uint64_t size = (uint64_t)head_size + body_size;
    *ref = SU_OGAWA_EMPTY_DATA;
    if (size == 0) return SU_OK;
    SU_TRY(su_output_write(&writer->out, &size, sizeof size, err));
    if (head_size) SU_TRY(su_output_write(&writer->out, head, head_size, err));
    if (body_size) SU_TRY(su_output_write(&writer->out, body, body_size, err));
    *ref = writer->end | SU_OGAWA_DATA;
    writer->end += sizeof size + size;
    return SU_OK;
}

su_status su_ogawa_put_group(su_ogawa_writer *writer, uint64_t count, const su_ogawa_ref *children, su_ogawa_ref *ref,
                             su_error *err)
{
    *ref = SU_OGAWA_EMPTY_GROUP;
    if (count == 0) return SU_OK;
    SU_TRY(su_output_write(&writer->out, &count, sizeof count, err));
    SU_TRY(su_output_write(&writer->out, children, count * sizeof *children, err));
    *ref = writer->end;
    writer->end += (1 + count) * sizeof count;
    return SU_OK;
}

static su_status patch(su_ogawa_writer *writer, long at, const void *bytes, size_t count, su_error *err)
{
    if (fseeko(writer->out.stream, at, SEEK_SET) != 0)
        return su_fail(err, SU_AGAIN, "%s: cannot seek: %s", writer->out.path, strerror(errno));
    return su_output_write(&writer->out, bytes, count, err);
}

su_status su_ogawa_commit(su_ogawa_writer *writer, su_ogawa_ref root, su_error *err)
{
    static const uint8_t frozen = 0xff;
    su_status status = patch(writer, ROOT_AT, &root, sizeof root, err);
    if (status == SU_OK) status = patch(writer, FROZEN_AT, &frozen, 1, err);
    if (status == SU_OK) status = su_output_commit(&writer->out, err);
    su_ogawa_abandon(writer);
    return status;
}

void su_ogawa_abandon(su_ogawa_writer *writer)
{
    if (!writer) return;
    su_output_abandon(&writer->out);
    free(writer);
}

/* ---- reading ---- */

struct su_ogawa {
    int fd;
    uint64_t size;
    su_ogawa_ref root;
    char *path;
};

/* All reads come through here: a file that shrinks meanwhile is an error, not a fault. */
static su_status read_at(const su_ogawa *file, uint64_t at, void *bytes, uint64_t count, su_error *err)
{
    if (at > file->size || count > file->size - at)
        return su_fail(err, SU_INPUT,
                       "%s: truncated or damaged: a block at byte %llu reaches beyond the end of the file", file->path,
                       (unsigned long long)at);
    uint8_t *p = bytes;
    while (count > 0) {
        ssize_t got = pread(file->fd, p, count < (1u << 30) ? count : (1u << 30), (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return su_fail(err, SU_AGAIN, "%s: cannot read: %s", file->path, strerror(errno));
        if (got == 0) return su_fail(err, SU_INPUT, "%s: truncated at byte %llu", file->path, (unsigned long long)at);
        p += got, at += (uint64_t)got, count -= (uint64_t)got;
    }
    return SU_OK;
}

static su_status read_header(su_ogawa *file, su_error *err)
{
    uint8_t header[HEADER_BYTES];
    static const uint8_t hdf5[4] = {0x89, 'H', 'D', 'F'};
    if (file->size < HEADER_BYTES) return su_fail(err, SU_INPUT, "%s: too short for an Alembic file", file->path);
    SU_TRY(read_at(file, 0, header, sizeof header, err));
    if (memcmp(header, hdf5, sizeof hdf5) == 0)
        return su_fail(err, SU_INPUT, "%s: an Alembic file of the old HDF5 kind; convert it to Ogawa", file->path);
    if (memcmp(header, magic, sizeof magic) != 0 || header[6] != 0 || header[7] != 1)
        return su_fail(err, SU_INPUT, "%s: not an Alembic (Ogawa) file", file->path);
    if (header[FROZEN_AT] != 0xff)
        return su_fail(err, SU_INPUT, "%s: was not closed by the program that wrote it; write it again", file->path);
    memcpy(&file->root, header + ROOT_AT, sizeof file->root);
    if (file->root & SU_OGAWA_DATA || file->root < HEADER_BYTES)
        return su_fail(err, SU_INPUT, "%s: damaged: no root group", file->path);
    return SU_OK;
}

su_status su_ogawa_open(const char *path, su_ogawa **out, su_error *err)
{
    su_ogawa *file = NULL;
    struct stat info;
    SU_TRY(SU_ALLOC(&file, 1, "an Ogawa file", err));
    su_status status = SU_OK;
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &info) != 0) {
        status = su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot open: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        status = su_fail(err, SU_INPUT, "%s: not a regular file", path);
    } else if (!(file->path = strdup(path))) {
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
    } else {
        file->size = (uint64_t)info.st_size;
        status = read_header(file, err);
    }
    if (status != SU_OK) {
        su_ogawa_close(file);
        return status;
    }
    *out = file;
    return SU_OK;
}

void su_ogawa_close(su_ogawa *file)
{
    if (!file) return;
    if (file->fd >= 0) close(file->fd);
    free(file->path);
    free(file);
}

const char *su_ogawa_path(const su_ogawa *file) { return file->path; }

su_ogawa_ref su_ogawa_root(const su_ogawa *file) { return file->root; }

su_status su_ogawa_group(const su_ogawa *file, su_ogawa_ref ref, uint64_t *count, su_ogawa_ref **children,
                         su_error *err)
{
    uint64_t n = 0;
    *count = 0, *children = NULL;
    if (ref & SU_OGAWA_DATA) return su_fail(err, SU_INPUT, "%s: damaged: data where a group belongs", file->path);
    if (ref == SU_OGAWA_EMPTY_GROUP) return SU_OK;
    SU_TRY(read_at(file, ref, &n, sizeof n, err));
    if (n == 0) return SU_OK;
    /* ref is inside the file, or reading the count had failed */
    if (n > (file->size - ref - sizeof n) / sizeof(su_ogawa_ref))
        return su_fail(err, SU_INPUT, "%s: truncated or damaged: a group at byte %llu claims %llu children", file->path,
                       (unsigned long long)ref, (unsigned long long)n);
    su_ogawa_ref *list = NULL;
    SU_TRY(SU_ALLOC(&list, n, "the children of an Ogawa group", err));
    su_status status = read_at(file, ref + sizeof n, list, n * sizeof *list, err);
    if (status != SU_OK) {
        free(list);
        return status;
    }
    *count = n, *children = list;
    return SU_OK;
}

su_status su_ogawa_size(const su_ogawa *file, su_ogawa_ref ref, uint64_t *size, su_error *err)
{
    *size = 0;
    if (!(ref & SU_OGAWA_DATA)) return su_fail(err, SU_INPUT, "%s: damaged: a group where data belongs", file->path);
    if (ref == SU_OGAWA_EMPTY_DATA) return SU_OK;
    uint64_t at = ref & ~SU_OGAWA_DATA, n;
    SU_TRY(read_at(file, at, &n, sizeof n, err));
    if (n > file->size - at - sizeof n)
        return su_fail(err, SU_INPUT, "%s: truncated or damaged: a block at byte %llu claims %llu bytes", file->path,
                       (unsigned long long)at, (unsigned long long)n);
    *size = n;
    return SU_OK;
}

su_status su_ogawa_read(const su_ogawa *file, su_ogawa_ref ref, uint64_t offset, void *bytes, uint64_t count,
                        su_error *err)
{
    uint64_t size;
    SU_TRY(su_ogawa_size(file, ref, &size, err));
    if (offset > size || count > size - offset)
        return su_fail(err, SU_INPUT, "%s: damaged: a block of %llu bytes is too short", file->path,
                       (unsigned long long)size);
    if (count == 0) return SU_OK;
    return read_at(file, (ref & ~SU_OGAWA_DATA) + sizeof(uint64_t) + offset, bytes, count, err);
}
