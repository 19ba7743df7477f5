#include "failing_memory.h"

#include <SuiteSparse_config.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    DENSE = 100, /* allocations that fail one by one */
    THINNER = 12 /* behind them the next is a twelfth further on */
};

/* ---- the hooks ---- */

/* By the linker: __real_x is x. */
extern void *__real_malloc(size_t size);
extern void *__real_calloc(size_t count, size_t size);
extern void *__real_realloc(void *pointer, size_t size);
extern void *__real_aligned_alloc(size_t alignment, size_t size);
extern void __real_free(void *pointer);
extern char *__real_strdup(const char *text);
extern char *__real_strndup(const char *text, size_t most);
extern ssize_t __real___getdelim(char **line, size_t *room, int end, FILE *stream);
extern char *__real_realpath(const char *path, char *out);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *pointer);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
ssize_t __wrap_getline(char **line, size_t *room, FILE *stream);
ssize_t __wrap___getdelim(char **line, size_t *room, int end, FILE *stream);
char *__wrap_realpath(const char *path, char *out);
int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Shared with children, whose allocations count as well. */
static struct {
    atomic_long countdown;       /* the allocation that fails is the one that brings it to 0 */
    atomic_bool failed, in_json; /* it has; in jansson, which takes what it has no memory for as an error of its text */
} * shared;
static atomic_long live; /* blocks taken by this process and not yet released */

static int measuring; /* inside gcov, which does not look whether it has memory */

static bool fails(void)
{
    if (!shared || measuring || atomic_fetch_sub(&shared->countdown, 1) != 1) return false;
    atomic_store(&shared->failed, true);
    errno = ENOMEM;
    return true;
}

static void *taken(void *pointer)
{
    if (pointer) atomic_fetch_add(&live, 1);
    return pointer;
}

#ifdef SU_COVERAGE
extern void __real___gcov_dump(void);
extern pid_t __real___gcov_fork(void);
void __wrap___gcov_dump(void);
pid_t __wrap___gcov_fork(void);
void __wrap___gcov_dump(void)
{
    measuring++;
    __real___gcov_dump();
    measuring--;
}
pid_t __wrap___gcov_fork(void) /* what the compiler makes of fork */
{
    measuring++;
    pid_t pid = __real___gcov_fork();
    measuring--;
    return pid;
}
#endif

void *__wrap_malloc(size_t size) { return fails() ? NULL : taken(__real_malloc(size)); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : taken(__real_calloc(count, size)); }
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : taken(__real_aligned_alloc(alignment, size));
}
char *__wrap_strdup(const char *text) { return fails() ? NULL : taken(__real_strdup(text)); }
char *__wrap_strndup(const char *text, size_t most) { return fails() ? NULL : taken(__real_strndup(text, most)); }

void *__wrap_realloc(void *pointer, size_t size)
{
    if (fails()) return NULL;
    void *grown = __real_realloc(pointer, size);
    return pointer ? grown : taken(grown);
}

void __wrap_free(void *pointer)
{
    if (pointer) atomic_fetch_sub(&live, 1);
    __real_free(pointer);
}

/* Where it optimizes, the C library's header makes one of the other. */
ssize_t __wrap___getdelim(char **line, size_t *room, int end, FILE *stream)
{
    bool fresh = !*line;
    if (fails()) return -1;
    ssize_t length = __real___getdelim(line, room, end, stream);
    if (fresh) taken(*line);
    return length;
}
ssize_t __wrap_getline(char **line, size_t *room, FILE *stream) { return __wrap___getdelim(line, room, '\n', stream); }

char *__wrap_realpath(const char *path, char *out)
{
    if (out) return __real_realpath(path, out);
    return fails() ? NULL : taken(__real_realpath(path, NULL));
}

int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list arguments;
    if (fails()) return -1;
    va_start(arguments, format);
    int length = vasprintf(out, format, arguments);
    va_end(arguments);
    if (length >= 0) taken(*out);
    return length;
}

/* ---- results ---- */

static uint64_t result;

void failing_memory_result(const void *bytes, size_t size)
{
    const unsigned char *at = bytes; /* FNV-1a */
    for (size_t i = 0; i < size; i++) result = (result ^ at[i]) * 0x100000001b3u;
}

void failing_memory_file(const char *name)
{
    char bytes[4096];
    ssize_t got;
    int fd = open(own_folder_path(name), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail_msg("%s was not written", name);
    while ((got = read(fd, bytes, sizeof bytes)) > 0) failing_memory_result(bytes, (size_t)got);
    close(fd);
}

/* Number of files in the folder, which is empty afterwards; the name of one. */
static int empty_folder(char one[256])
{
    int count = 0;
    struct dirent *entry;
    DIR *folder = opendir(own_folder);
    if (!folder) fail_msg("%s cannot be listed", own_folder);
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.' && (!entry->d_name[1] || entry->d_name[1] == '.')) continue;
        if (one) snprintf(one, 256, "%s", entry->d_name);
        unlink(own_folder_path(entry->d_name));
        count++;
    }
    closedir(folder);
    return count;
}

/* ---- runs ---- */

static int next_file(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

/* One line on what is wrong with a run, "" where nothing is. */
static void judge(long n, su_status status, const su_error *err, long kept, bool open, uint64_t expected, char why[400])
{
    char left[256] = "";
    int files = empty_folder(left);
    why[0] = '\0';
    if (kept)
        snprintf(why, 400, "%ld blocks are not released (%.300s)", kept, status == SU_OK ? "no error" : err->text);
    else if (open)
        snprintf(why, 400, "a file is left open (%.300s)", status == SU_OK ? "no error" : err->text);
    else if (status == SU_OK) /* where jansson missed memory programs commit nothing (core/json_text.h) */
        snprintf(why, 400, "%s",
                 result == expected || atomic_load(&shared->in_json) ? "" : "no error, and another result");
    else if (n == 0 || err->status != status || !err->text[0] ||
             (!atomic_load(&shared->in_json) && (status != SU_AGAIN || !strstr(err->text, "memory"))))
        snprintf(why, 400, "status %d and '%.300s'", (int)status, err->text);
    else if (files)
        snprintf(why, 400, "%s is left", left);
}

void failing_memory_check(const char *name, failing_call *call, void *context)
{
    uint64_t expected = 0;
    long allocations = 0, runs = 0;
    int files = next_file(), wrong = 0;
    char why[400], last[400] = "";
    empty_folder(NULL);
    for (long n = 0;; n = n < DENSE ? n + 1 : n + n / THINNER) { /* 0: undisturbed */
        su_error err = {0};
        long before = atomic_load(&live);
        result = 0xcbf29ce484222325u;
        atomic_store(&shared->failed, false), atomic_store(&shared->in_json, false),
            atomic_store(&shared->countdown, n);
        su_status status = call(context, 1 + (int)(n % 2), &err);
        if (n == 0) allocations = -atomic_load(&shared->countdown), expected = result;
        atomic_store(&shared->countdown, 0);
        judge(n, status, &err, atomic_load(&live) - before, next_file() != files, expected, why);
        if (why[0]) {
            if (strcmp(why, last) != 0) printf("# %s, allocation %ld fails: %s\n", name, n, why);
            memcpy(last, why, sizeof last);
            wrong++;
        }
        runs++;
        if (n ? !atomic_load(&shared->failed) : status != SU_OK) break;
    }
    printf("# %s: %ld allocations, %ld runs\n", name, allocations, runs);
    if (wrong) fail_msg("%s: %d of %ld runs went wrong", name, wrong, runs);
    if (allocations == 0) fail_msg("%s: no allocation is counted", name);
}

static void *hooked_malloc(size_t size) { return __wrap_malloc(size); }
static void *hooked_json_malloc(size_t size)
{
    bool before = atomic_load(&shared->failed);
    void *pointer = __wrap_malloc(size);
    if (!before && atomic_load(&shared->failed)) atomic_store(&shared->in_json, true);
    return pointer;
}
static void *hooked_calloc(size_t count, size_t size) { return __wrap_calloc(count, size); }
static void *hooked_realloc(void *pointer, size_t size) { return __wrap_realloc(pointer, size); }
static void hooked_free(void *pointer) { __wrap_free(pointer); }

int failing_memory_begin(void **state)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return -1;
    json_set_alloc_funcs(hooked_json_malloc, hooked_free);
    SuiteSparse_config.malloc_func = hooked_malloc, SuiteSparse_config.calloc_func = hooked_calloc;
    SuiteSparse_config.realloc_func = hooked_realloc, SuiteSparse_config.free_func = hooked_free;
    return own_folder_make(state);
}

int failing_memory_end(void **state)
{
    (void)state;
    empty_folder(NULL);
    return rmdir(own_folder);
}
