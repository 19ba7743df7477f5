#include "io/cache/positions.h"

#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

su_status su_positions_read(const char *path, int fd, int64_t offset, void *out, size_t bytes, su_error *err)
{
    char *p = out;
    while (bytes > 0) {
        ssize_t got = pread(fd, p, bytes < (1u << 30) ? bytes : (1u << 30), (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return su_fail(err, SU_AGAIN, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0) return su_fail(err, SU_INPUT, "%s: truncated at byte %lld", path, (long long)offset);
        p += got, offset += got, bytes -= (size_t)got;
    }
    return SU_OK;
}

su_status su_positions_open(const char *path, size_t header_bytes, void *header, int *fd, int64_t *size, su_error *err)
{
    struct stat info;
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot open: %s", path, strerror(errno));
    su_status status;
    if (fstat(opened, &info) != 0 || !S_ISREG(info.st_mode))
        status = su_fail(err, SU_INPUT, "%s: not a regular file", path);
    else
        status = su_positions_read(path, opened, 0, header, header_bytes, err);
    if (status != SU_OK) {
        close(opened);
        return status;
    }
    *fd = opened, *size = (int64_t)info.st_size;
    return SU_OK;
}
