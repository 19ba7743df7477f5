#include "core/file.h"

#include "core/json_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
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

/* Makes room for a name: what a process left that was killed in the middle of it is locked no more, and is removed. */
static void remove_left(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(path);
    close(fd);
}

/* A new file that is locked while it is open. -1 and errno, EEXIST where another process writes it. */
static int open_named(const char *path)
{
    for (int tries = 0; tries < 2; tries++) {
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 && hold(fd)) return fd;
        if (fd < 0 && errno != EEXIST) return -1;
        if (fd >= 0)
            close(fd);
        else
            remove_left(path);
    }
    errno = EEXIST;
    return -1;
}

/* The folder's part of a path, to be freed. NULL: no memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

/* A file without a name in the folder of path, locked; -1 where there are none, or no way to name them later. */
static int open_nameless(const char *path)
{
#ifdef O_TMPFILE
    char *folder = folder_of(path);
    if (!folder || access("/proc/self/fd", X_OK) != 0) {
        free(folder);
        return -1;
    }
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    free(folder);
    if (fd >= 0) flock(fd, LOCK_EX | LOCK_NB); /* before anybody can find it */
    return fd;
#else
    (void)path;
    return -1;
#endif
}

static void temporary_name(su_output *out, int n) { sprintf(out->temporary, "%s.tmp.%d", out->path, n); }

/* The first free of its temporary names. */
static bool name_it(su_output *out, int fd)
{
    char own[40];
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    for (int n = 0; n < MOST_WRITERS; n++) {
        temporary_name(out, n);
        for (int tries = 0; tries < 2; tries++) {
            out->named = linkat(AT_FDCWD, own, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW) == 0;
            if (out->named) return true;
            if (errno != EEXIST) return false;
            remove_left(out->temporary);
        }
    }
    errno = EEXIST;
    return false;
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
    int fd = open_nameless(made.path);
    for (int n = 0; fd < 0 && n < MOST_WRITERS; n++) {
        temporary_name(&made, n);
        fd = open_named(made.temporary);
        made.named = fd >= 0;
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

su_status su_output_open_scratch(su_output *out, const char *beside, su_error *err)
{
    SU_TRY(su_output_open(out, beside, err));
    if (out->named) unlink(out->temporary);
    out->named = false;
    return SU_OK;
}

static void release_map(void *pointer, size_t length) { munmap(pointer, length); }

su_status su_scratch_map(su_arena *arena, const char *beside, int64_t bytes, void *out, su_error *err)
{
    su_output file;
    su_status status = SU_OK;
    void *map = MAP_FAILED;
    if (bytes < 1) bytes = 1;
    SU_TRY(su_output_open_scratch(&file, beside, err));
    /* Taken from the disk now: a write to a page that finds no room there would end the process. */
    int error = posix_fallocate(fileno(file.stream), 0, (off_t)bytes);
    if (!error) {
        map = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file.stream), 0);
        error = map == MAP_FAILED ? errno : 0;
    }
    if (error)
        status = su_fail(err, su_file_status(error, SU_FAILED), "%s: no room for %.3g MB beside it: %s", beside,
                         (double)bytes / 1e6, strerror(error));
    else
        status = su_arena_adopt(arena, map, (size_t)bytes, release_map, err);
    su_output_abandon(&file);
    if (status == SU_OK)
        memcpy(out, &map, sizeof map);
    else if (map != MAP_FAILED)
        munmap(map, (size_t)bytes);
    return status;
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
    char *folder = folder_of(path);
    if (!folder) return;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
    int bad = forgetful || ferror(stream) || fflush(stream) != 0 || fsync(fileno(stream)) != 0 ||
              (!out->named && !name_it(out, fileno(stream)));
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
        out->named = false;
    }
    su_output_abandon(out);
    return status;
}

void su_output_abandon(su_output *out)
{
    if (out->stream) fclose(out->stream);
    if (out->named) unlink(out->temporary);
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
