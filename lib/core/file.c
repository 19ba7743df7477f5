#include "core/file.h"

#include "core/json_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { MOST_WRITERS = 100 }; /* of one file at a time */

const char *su_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

su_status su_file_status(int error, su_status otherwise)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EINTR:
    case EAGAIN:
    case ESTALE:
    case ETIMEDOUT:
        return SU_AGAIN;
    default:
        return otherwise;
    }
}

/* The place a rename must go to: a link stays a link, its target is replaced. NULL: no memory. */
static char *final_path(const char *path)
{
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        char *target = realpath(path, NULL);
        if (target) return target;
    }
    return strdup(path);
}

/* Is it ours, and still there? Whoever finds it before it is locked takes it for one that nobody writes. Where the file
 * system has no locks nobody removes anything. */
static bool hold(int fd)
{
    struct stat info;
    return flock(fd, LOCK_EX | LOCK_NB) != 0 ? errno != EWOULDBLOCK : fstat(fd, &info) == 0 && info.st_nlink > 0;
}

/* A new file that is locked while it is open. What a process left that was killed in the middle of it is locked no
 * more, and is removed. -1 and errno, EEXIST where another process writes it. */
static int open_temporary(const char *path)
{
    for (int tries = 0; tries < 2; tries++) {
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 && hold(fd)) return fd;
        if (fd >= 0) {
            close(fd);
        } else if (errno != EEXIST) {
            return -1;
        } else if ((fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) >= 0) {
            if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(path);
            close(fd);
        }
    }
    errno = EEXIST;
    return -1;
}

su_status su_output_open(su_output *out, const char *path, su_error *err)
{
    *out = (su_output){0};
    struct stat info;
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return su_fail(err, SU_FAILED, "%s: not a file name; give the output a name", path);
    /* A rename would replace a device or a folder (think of -o /dev/null as root). */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return su_fail(err, SU_FAILED, "%s: exists and is not a regular file; choose another output", path);

    su_output made = {0};
    made.path = final_path(path);
    if (made.path) made.temporary = malloc(strlen(made.path) + 64);
    if (!made.temporary) {
        free(made.path);
        return su_fail(err, SU_AGAIN, "%s: out of memory", path);
    }
    int fd = -1;
    for (int n = 0; fd < 0 && n < MOST_WRITERS; n++) {
        sprintf(made.temporary, "%s.tmp.%d", made.path, n);
        fd = open_temporary(made.temporary);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) {
        su_status status =
            su_fail(err, su_file_status(errno, SU_FAILED), "%s: cannot write here: %s", path, strerror(errno));
        free(made.path);
        free(made.temporary);
        return status;
    }
    made.stream = fdopen(fd, "w+b");
    if (!made.stream) {
        close(fd);
        su_output_abandon(&made);
        return su_fail(err, SU_AGAIN, "%s: out of memory", path);
    }
    setvbuf(made.stream, NULL, _IOFBF, 1 << 16);
    *out = made;
    return SU_OK;
}

static su_status write_error(const su_output *out, int error, su_error *err)
{
    return su_fail(err, SU_AGAIN, "%s: writing failed: %s", out->path, strerror(error ? error : EIO));
}

su_status su_output_write(su_output *out, const void *bytes, size_t count, su_error *err)
{
    if (!out->stream || ferror(out->stream)) return su_fail(err, SU_AGAIN, "%s: writing failed earlier", out->path);
    errno = 0;
    if (count && fwrite(bytes, 1, count, out->stream) != count) return write_error(out, errno, err);
    return SU_OK;
}

su_status su_output_flush(su_output *out, su_error *err)
{
    if (!out->stream) return su_fail(err, SU_FAILED, "nothing to write");
    errno = 0;
    if (ferror(out->stream) || fflush(out->stream) != 0 || fsync(fileno(out->stream)) != 0)
        return write_error(out, errno, err);
    return SU_OK;
}

/* Makes the rename itself durable. Some file systems cannot sync a folder; then there is nothing more to do. */
static void sync_folder(const char *path)
{
    char *folder = strdup(path);
    if (!folder) return;
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
    free(folder);
}

su_status su_output_commit(su_output *out, su_error *err)
{
    su_status status = SU_OK;
    FILE *stream = out->stream;
    if (!stream) return su_fail(err, SU_FAILED, "nothing to write");
    errno = 0;
    bool forgetful = su_json_missed_memory(); /* what was written may lack what it says of itself */
    int bad = forgetful || ferror(stream) || fflush(stream) != 0 || fsync(fileno(stream)) != 0;
    int error = errno;
    out->stream = NULL;
    int lock = fcntl(fileno(stream), F_DUPFD_CLOEXEC, 0); /* held until the file has its name; -1: as it was */
    if (fclose(stream) != 0 && !bad) {
        bad = 1;
        error = errno;
    }
    if (!bad && rename(out->temporary, out->path) != 0) {
        status = su_fail(err, su_file_status(errno, SU_FAILED), "%s: cannot put the finished file in place: %s",
                         out->path, strerror(errno));
        bad = 1;
    } else if (forgetful) {
        status = su_fail(err, SU_AGAIN, "%s: out of memory", out->path);
    } else if (bad) {
        status = write_error(out, error, err);
    }
    if (lock >= 0) close(lock);
    if (!bad) {
        sync_folder(out->path);
        free(out->temporary);
        out->temporary = NULL;
    }
    su_output_abandon(out);
    return status;
}

void su_output_abandon(su_output *out)
{
    if (out->stream) fclose(out->stream);
    if (out->temporary) unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    *out = (su_output){0};
}

struct su_digest {
    XXH3_state_t *state;
};

su_digest *su_digest_begin(void)
{
    su_digest *digest = malloc(sizeof *digest);
    if (!digest) return NULL;
    digest->state = XXH3_createState();
    if (!digest->state) {
        free(digest);
        return NULL;
    }
    XXH3_128bits_reset(digest->state);
    return digest;
}

void su_digest_add(su_digest *digest, const void *bytes, size_t count)
{
    if (count) XXH3_128bits_update(digest->state, bytes, count);
}

void su_digest_end(su_digest *digest, char hex[33])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(digest->state));
    for (size_t i = 0; i < sizeof canonical.digest; i++) sprintf(hex + 2 * i, "%02x", canonical.digest[i]);
    XXH3_freeState(digest->state);
    free(digest);
}

su_status su_file_digest(const char *path, char hex[33], su_error *err)
{
    enum { BLOCK = 1 << 20 };
    su_status status = SU_OK;
    su_digest *digest = NULL;
    unsigned char *block = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot read: %s", path, strerror(errno));

    digest = su_digest_begin();
    block = malloc(BLOCK);
    if (!digest || !block) {
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
        goto done;
    }
    for (;;) {
        ssize_t got = read(fd, block, BLOCK);
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            status = su_fail(err, errno == EISDIR ? SU_INPUT : SU_AGAIN, "%s: cannot read: %s", path, strerror(errno));
            goto done;
        }
        su_digest_add(digest, block, (size_t)got);
    }
done:
    close(fd);
    free(block);
    if (digest) {
        char ignored[33];
        su_digest_end(digest, status == SU_OK ? hex : ignored);
    }
    return status;
}
