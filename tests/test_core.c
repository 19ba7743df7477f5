/* Errors, memory, output files, digests, progress, threads and child processes. */
#include "core/child.h"
#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/order.h"
#include "core/progress.h"
#include "core/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/supple-core-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails where a test left a file behind */
}

static const char *in_folder(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void test_error(void **state)
{
    (void)state;
    su_error err = {0};
    assert_int_equal(su_fail(&err, SU_INPUT, "array '%s' is short", "tets"), SU_INPUT);
    assert_int_equal(su_error_context(&err, "%s: ", "fox.npz"), SU_INPUT);
    assert_string_equal(err.text, "fox.npz: array 'tets' is short");
    assert_int_equal(su_fail(NULL, SU_AGAIN, "dropped"), SU_AGAIN);

    /* Overlong text is cut, not overrun. */
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    su_fail(&err, SU_FAILED, "%s", longer);
    su_error_context(&err, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void test_memory(void **state)
{
    (void)state;
    su_error err = {0};
    double *values = NULL;
    assert_int_equal(SU_ALLOC(&values, 1000, "values", &err), SU_OK);
    assert_int_equal((uintptr_t)values % 64, 0);
    for (int i = 0; i < 1000; i++) assert_true(values[i] == 0);
    free(values);

    assert_null(su_calloc(-1, 8));
    assert_null(su_calloc(INT64_MAX / 4, 8));
    void *nothing = su_calloc(0, 8);
    assert_non_null(nothing);
    free(nothing);

    values = (double *)&err;
    assert_int_equal(SU_ALLOC(&values, INT64_MAX / 2, "a great deal", &err), SU_AGAIN);
    assert_ptr_equal(values, &err);
    assert_non_null(strstr(err.text, "a great deal"));
}

static int releases;
static void count_release(void *pointer, size_t length)
{
    assert_int_equal(length, 7);
    free(pointer);
    releases++;
}

static void test_arena(void **state)
{
    (void)state;
    su_arena arena = {0};
    for (int i = 1; i < 50; i++) memset(su_arena_alloc(&arena, i, 8), i, (size_t)i * 8);
    assert_int_equal(su_arena_adopt(&arena, malloc(7), 7, count_release, NULL), SU_OK);
    su_arena_free(&arena);
    assert_int_equal(releases, 1);
    su_arena_free(&arena); /* empty now */
    assert_int_equal(releases, 1);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void read_text(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
}

typedef struct card {
    int32_t value, place;
    char more[5]; /* an odd size */
} card;

static int by_value(const void *a, const void *b) { return su_order_int32(a, b); }

/* Equal elements keep their order, with memory beside the array and without. */
static void sorting_is_stable_with_memory_and_without(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 400; round++) {
        int count = round < 200 ? round % 40 : 50 * round, values = 1 + round % 7 * (1 + round);
        card *list = malloc(((size_t)count + 1) * sizeof *list);
        for (int i = 0; i < count; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            list[i] = (card){(int32_t)(random >> 33) % values, i, "abcd"};
        }
        struct rlimit before, none = {0, 0};
        getrlimit(RLIMIT_AS, &before);
        none.rlim_max = before.rlim_max;
        mallopt(M_MMAP_THRESHOLD, 4096); /* blocks come from the system, which gives none */
        if (round % 2) setrlimit(RLIMIT_AS, &none);
        su_sort(list, (size_t)count, sizeof *list, by_value);
        setrlimit(RLIMIT_AS, &before);
        for (int i = 1; i < count; i++)
            assert_true(list[i - 1].value < list[i].value ||
                        (list[i - 1].value == list[i].value && list[i - 1].place < list[i].place));
        free(list);
    }
    double whole[100]; /* small arrays take none */
    for (int i = 0; i < 100; i++) whole[i] = (i * 37) % 100;
    su_sort(whole, 100, sizeof *whole, su_order_doubles);
    for (int i = 0; i < 100; i++) assert_true(whole[i] == i);
}

static void test_output(void **state)
{
    (void)state;
    su_error err = {0};
    su_output out;
    char text[100];
    const char *path = in_folder("result");
    write_text(path, "old");

    /* Nothing of the new content shows before commit, and abandoning leaves the old file. */
    assert_int_equal(su_output_open(&out, path, &err), SU_OK);
    assert_int_equal(su_output_write(&out, "new", 3, &err), SU_OK);
    read_text(path, text, sizeof text);
    assert_string_equal(text, "old");
    su_output_abandon(&out);
    su_output_abandon(&out);
    read_text(path, text, sizeof text);
    assert_string_equal(text, "old");

    assert_int_equal(su_output_open(&out, path, &err), SU_OK);
    assert_int_equal(su_output_write(&out, "new", 3, &err), SU_OK);
    assert_int_equal(su_output_commit(&out, &err), SU_OK);
    su_output_abandon(&out);
    read_text(path, text, sizeof text);
    assert_string_equal(text, "new");

    /* A link stays a link; its target is replaced. */
    char link_path[220];
    snprintf(link_path, sizeof link_path, "%s.link", path);
    assert_int_equal(symlink("result", link_path), 0);
    assert_int_equal(su_output_open(&out, link_path, &err), SU_OK);
    assert_int_equal(su_output_write(&out, "by link", 7, &err), SU_OK);
    assert_int_equal(su_output_commit(&out, &err), SU_OK);
    struct stat info;
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    read_text(path, text, sizeof text);
    assert_string_equal(text, "by link");
    unlink(link_path);
    unlink(path);
}

/* Names in the folder that begin so. */
static int count_files(const char *start)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir));) count += strncmp(entry->d_name, start, strlen(start)) == 0;
    closedir(dir);
    return count;
}

/* A library that gives up calls abort or exit: whoever ends it, nothing is left of what was being written. */
static void test_output_of_a_process_that_dies(void **state)
{
    (void)state;
    su_error err = {0};
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) {
            su_output out, scratch;
            su_arena arena = {0};
            char *room;
            bool good = su_output_open(&out, in_folder("dying"), &err) == SU_OK &&
                        su_output_write(&out, folder, sizeof folder, &err) == SU_OK &&
                        su_output_flush(&out, &err) == SU_OK &&
                        su_output_open_scratch(&scratch, in_folder("dying"), &err) == SU_OK &&
                        su_scratch_map(&arena, in_folder("dying"), 100000, &room, &err) == SU_OK;
            signal(SIGABRT, SIG_DFL);
            if (good && way == 0) abort();
            if (good && way == 1) kill(getpid(), SIGKILL);
            _exit(good ? 9 : 8);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 8);
        assert_int_equal(count_files("dying"), 0);
    }
}

/* Temporary names: one that nobody holds any more goes, one that another process writes stays. */
static void test_output_beside_others(void **state)
{
    (void)state;
    su_error err = {0};
    su_output out;
    char left[220], held[220];
    const char *path = in_folder("shared");
    snprintf(left, sizeof left, "%s.tmp.0", path);
    snprintf(held, sizeof held, "%s.tmp.1", path);
    for (int lost = 0; lost < 2; lost++) {
        write_text(lost ? held : left, "left");
        int other = open(lost ? left : held, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(su_output_open(&out, path, &err), SU_OK);
        assert_int_equal(su_output_write(&out, "own", 3, &err), SU_OK);
        assert_int_equal(su_output_commit(&out, &err), SU_OK);
        assert_int_equal(access(lost ? left : held, F_OK), 0);
        if (lost == 1) assert_int_equal(access(held, F_OK), -1);
        if (lost == 0) assert_int_equal(access(left, F_OK), -1);
        close(other);
        unlink(left), unlink(held);
    }
    unlink(path);
}

static void test_scratch(void **state)
{
    (void)state;
    su_error err = {0};
    su_arena arena = {0};
    double *room = NULL;
    assert_int_equal(su_scratch_map(&arena, in_folder("big"), 8 * 100000, &room, &err), SU_OK);
    for (int i = 0; i < 100000; i++) assert_true(room[i] == 0);
    for (int i = 0; i < 100000; i++) room[i] = i;
    assert_int_equal(count_files("big"), 0);
    su_arena_free(&arena);
    /* No disk has so much: said now, and not by a signal when it is written to. */
    assert_int_equal(su_scratch_map(&arena, in_folder("big"), INT64_MAX / 4, &room, &err), SU_AGAIN);
    assert_non_null(strstr(err.text, "big"));
    assert_int_equal(su_scratch_map(&arena, in_folder("missing/big"), 1000, &room, &err), SU_FAILED);
    su_arena_free(&arena);
}

static void test_output_refused(void **state)
{
    (void)state;
    su_error err = {0};
    su_output out;
    assert_int_equal(su_output_open(&out, in_folder("missing/result"), &err), SU_FAILED);
    assert_non_null(strstr(err.text, "missing/result"));
    assert_int_equal(su_output_open(&out, folder, &err), SU_FAILED);
    assert_int_equal(su_output_open(&out, "/dev/null", &err), SU_FAILED); /* a rename would replace the device */
    assert_int_equal(su_output_open(&out, "", &err), SU_FAILED);
    su_output_abandon(&out);

    /* A full disk: every write is checked, and the failure sticks. */
    assert_int_equal(su_output_open(&out, in_folder("full"), &err), SU_OK);
    assert_non_null(freopen("/dev/full", "w", out.stream));
    char block[100000] = {0};
    su_status status = su_output_write(&out, block, sizeof block, &err);
    assert_int_equal(status, SU_AGAIN);
    assert_int_equal(su_output_write(&out, block, 1, &err), SU_AGAIN);
    assert_int_equal(su_output_commit(&out, &err), SU_AGAIN);
    assert_int_equal(access(in_folder("full"), F_OK), -1);
}

static void test_digest(void **state)
{
    (void)state;
    su_error err = {0};
    char whole[33], parts[33], empty[33];
    const char *path = in_folder("digest");
    write_text(path, "the quick brown fox");
    assert_int_equal(su_file_digest(path, whole, &err), SU_OK);
    su_digest *digest = su_digest_begin();
    su_digest_add(digest, "the quick ", 10);
    su_digest_add(digest, NULL, 0);
    su_digest_add(digest, "brown fox", 9);
    su_digest_end(digest, parts);
    assert_string_equal(whole, parts);
    su_digest_end(su_digest_begin(), empty);
    assert_string_equal(empty, "99aa06d3014798d86001c324468d497f"); /* XXH3-128 of nothing, as xxhsum prints it */
    unlink(path);
    assert_int_equal(su_file_digest(path, whole, &err), SU_INPUT);
    assert_int_equal(su_file_digest(folder, whole, &err), SU_INPUT);
    assert_string_equal(su_base_name("a/b/c.npz"), "c.npz");
    assert_string_equal(su_base_name("c.npz"), "c.npz");
}

static void test_progress(void **state)
{
    (void)state;
    su_error err = {0};
    char *text = NULL;
    size_t size = 0;
    volatile sig_atomic_t stop = 0;
    FILE *stream = open_memstream(&text, &size);
    su_progress progress = {.mode = SU_PROGRESS_LINES, .stream = stream, .span = 1, .last = -1, .stop = &stop};
    su_progress_stage(&progress, 0.5, 1);
    for (int i = 0; i <= 8; i++) assert_int_equal(su_progress_update(&progress, i / 8.0, &err), SU_OK);
    assert_int_equal(su_progress_update(&progress, 0.1, &err), SU_OK); /* never backwards */
    assert_int_equal(su_progress_update(&progress, 7, &err), SU_OK);   /* never beyond 100 */
    progress.mode = SU_PROGRESS_ALF;
    progress.last = -1;
    assert_int_equal(su_progress_update(&progress, 0, &err), SU_OK);
    progress.mode = SU_PROGRESS_OPENJD;
    progress.last = -1;
    assert_int_equal(su_progress_update(&progress, 0, &err), SU_OK);
    su_progress_finish(&progress);
    fclose(stream);
    assert_string_equal(text,
                        "Progress: 50%\nProgress: 56%\nProgress: 62%\nProgress: 68%\nProgress: 75%\nProgress: 81%\n"
                        "Progress: 87%\nProgress: 93%\nProgress: 100%\nALF_PROGRESS 50%\nopenjd_progress: 50\n");
    free(text);

    stop = 1;
    assert_true(su_progress_stopped(&progress));
    assert_int_equal(su_progress_update(&progress, 0.5, &err), SU_AGAIN);
    assert_int_equal(su_progress_update(NULL, 0.5, &err), SU_OK);
    assert_false(su_progress_stopped(NULL));
}

static void test_threads(void **state)
{
    (void)state;
    unsetenv("OMP_NUM_THREADS");
    unsetenv("SLURM_CPUS_PER_TASK");
    unsetenv("CUE_THREADS");
    int found = su_thread_count(0);
    assert_in_range(found, 1, 256);
    setenv("CUE_THREADS", "3", 1);
    assert_int_equal(su_thread_count(0), 3);
    setenv("SLURM_CPUS_PER_TASK", "5", 1);
    assert_int_equal(su_thread_count(0), 5);
    setenv("OMP_NUM_THREADS", "4,2", 1);
    assert_int_equal(su_thread_count(0), 4);
    setenv("OMP_NUM_THREADS", "many", 1);
    assert_int_equal(su_thread_count(0), 5);
    assert_int_equal(su_thread_count(7), 7);
    assert_int_equal(su_thread_count(100000), 256);
    double before = su_seconds();
    assert_true(su_seconds() >= before);
}

static void test_child_run(void **state)
{
    (void)state;
    su_error err = {0};
    su_child_result result;
    const char *say[] = {"sh", "-c", "pwd; echo talk >&2; exit 7", NULL};
    assert_int_equal(su_child_run(say, folder, NULL, &result, &err), SU_OK);
    assert_int_equal(result.end, SU_CHILD_EXITED);
    assert_int_equal(result.code, 7);
    assert_non_null(strstr(result.tail, folder));
    assert_non_null(strstr(result.tail, "talk"));

    const char *crash[] = {"sh", "-c", "kill -SEGV $$", NULL};
    assert_int_equal(su_child_run(crash, NULL, NULL, &result, &err), SU_OK);
    assert_int_equal(result.end, SU_CHILD_KILLED);
    assert_int_equal(result.code, SIGSEGV);

    const char *missing[] = {"supple-no-such-program", NULL};
    assert_int_equal(su_child_run(missing, NULL, NULL, &result, &err), SU_FAILED);
    assert_non_null(strstr(err.text, "supple-no-such-program"));

    /* The tail of much output is its end. */
    const char *much[] = {"sh", "-c", "seq 100000", NULL};
    assert_int_equal(su_child_run(much, NULL, NULL, &result, &err), SU_OK);
    assert_int_equal(strlen(result.tail), sizeof result.tail - 1);
    assert_non_null(strstr(result.tail, "99999\n100000\n"));
}

static void test_child_limits(void **state)
{
    (void)state;
    su_error err = {0};
    su_child_result result;
    su_child_limits limits = {.seconds = 0.2};
    double started = su_seconds();
    /* The grandchild holds the pipe open; it must go as well. */
    const char *slow[] = {"sh", "-c", "sleep 30 & sleep 30", NULL};
    assert_int_equal(su_child_run(slow, NULL, &limits, &result, &err), SU_OK);
    assert_int_equal(result.end, SU_CHILD_TIMEOUT);
    assert_true(su_seconds() - started < 5);

    volatile sig_atomic_t stop = 1;
    su_progress progress = {.stop = &stop};
    limits = (su_child_limits){.progress = &progress};
    assert_int_equal(su_child_run(slow, NULL, &limits, &result, &err), SU_OK);
    assert_int_equal(result.end, SU_CHILD_STOPPED);

#if !defined(__SANITIZE_ADDRESS__)
    limits = (su_child_limits){.memory_bytes = 64 << 20};
    const char *greedy[] = {"sh", "-c", "head -c 300000000 /dev/zero | tail -n 1 >/dev/null || exit 9", NULL};
    assert_int_equal(su_child_run(greedy, NULL, &limits, &result, &err), SU_OK);
    assert_int_equal(result.code, 9);
#endif
}

static int send_bytes(void *context, int fd)
{
    int count = *(int *)context;
    for (int i = 0; i < count; i++)
        if (write(fd, &i, sizeof i) != (ssize_t)sizeof i) return 1;
    puts("done sending");
    return 0;
}

static int crash_after_bytes(void *context, int fd)
{
    (void)!write(fd, "half", 4);
    raise(*(int *)context);
    return 0;
}

static int refuse(void *context, int fd)
{
    (void)context;
    (void)fd;
    fprintf(stderr, "no, because");
    return 3;
}

static void test_child_call(void **state)
{
    (void)state;
    su_error err = {0};
    su_child_result result;
    void *data = NULL;
    size_t count = 0;
    int numbers = 100000;
    assert_int_equal(su_child_call(send_bytes, &numbers, NULL, &data, &count, &result, &err), SU_OK);
    assert_int_equal(result.end, SU_CHILD_EXITED);
    assert_int_equal(result.code, 0);
    assert_int_equal(count, (size_t)numbers * sizeof(int));
    for (int i = 0; i < numbers; i++) assert_int_equal(((int *)data)[i], i);
    assert_non_null(strstr(result.tail, "done sending"));
    free(data);

    int number = SIGKILL;
    assert_int_equal(su_child_call(crash_after_bytes, &number, NULL, &data, &count, &result, &err), SU_OK);
    assert_int_equal(result.end, SU_CHILD_KILLED);
    assert_int_equal(result.code, SIGKILL);
    free(data);

    assert_int_equal(su_child_call(refuse, NULL, NULL, &data, &count, &result, &err), SU_OK);
    assert_int_equal(result.end, SU_CHILD_EXITED);
    assert_int_equal(result.code, 3);
    assert_string_equal(result.tail, "no, because");
    free(data);
}

/* Bits of what this process may not do: 1 write a file, 2 make a folder, 4 open a socket, 8 run a program, 16 use a
 * descriptor of its parent's; 32: read a file, which it may. */
static int try_all(void *context, int fd)
{
    int may = 0, open_one = *(int *)context;
    char byte;
    if (open("confined.txt", O_WRONLY | O_CREAT, 0666) >= 0) may |= 1;
    if (mkdir("confined", 0777) == 0) may |= 2;
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0) may |= 4;
    if (execl("/bin/true", "true", (char *)NULL) == 0 || errno != EACCES) may |= 8;
    if (fcntl(open_one, F_GETFD) >= 0) may |= 16;
    int readable = open("/proc/self/exe", O_RDONLY);
    if (readable >= 0 && read(readable, &byte, 1) == 1) may |= 32;
    return write(fd, &may, sizeof may) != sizeof may;
}

static void test_child_confined(void **state)
{
    (void)state;
    void *data = NULL;
    size_t count = 0;
    su_child_result result;
    su_error err;
    int open_one = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
#ifndef SU_COVERAGE                             /* where it writes its counts */
    assert_int_equal(su_child_call(try_all, &open_one, NULL, &data, &count, &result, &err), SU_OK);
    assert_int_equal(count, sizeof(int));
    assert_int_equal(*(int *)data, 32);
    free(data);
#else
    (void)try_all, (void)data, (void)count;
#endif
    /* What runs a program of others: no network, nothing of ours open; files it may write. */
    char line[200];
    snprintf(line, sizeof line,
             "[ ! -e /proc/self/fd/%d ] && : >%s/written && ! bash -c ': >/dev/tcp/127.0.0.1/9' 2>&1 | grep -q refused",
             open_one, folder);
    const char *const command[] = {"sh", "-c", line, NULL};
    const su_child_limits limits = {.seconds = 20, .confinement = SU_NO_NETWORK};
    assert_int_equal(su_child_run(command, NULL, &limits, &result, &err), SU_OK);
    assert_int_equal(result.code, 0);
    close(open_one);
    snprintf(line, sizeof line, "%s/written", folder);
    assert_int_equal(unlink(line), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_output),
        cmocka_unit_test(sorting_is_stable_with_memory_and_without),
        cmocka_unit_test(test_output_of_a_process_that_dies),
        cmocka_unit_test(test_output_beside_others),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_output_refused),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_child_run),
        cmocka_unit_test(test_child_limits),
        cmocka_unit_test(test_child_call),
        cmocka_unit_test(test_child_confined),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
