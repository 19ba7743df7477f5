#include "core/child.h"
#include "core/file.h"
#include "core/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Address sanitizer reserves terabytes of address space, so that RLIMIT_AS cannot hold under it. */
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_MEMORY 0
#elif defined(__has_feature) /* clang's way to say it */
#if __has_feature(address_sanitizer)
#define LIMIT_MEMORY 0
#endif
#endif
#ifndef LIMIT_MEMORY
#define LIMIT_MEMORY 1
#endif

#ifdef SU_COVERAGE
extern void __gcov_dump(void);
#endif

/* What the parent reads from one pipe: everything, or only the last bytes. */
typedef struct reader {
    int fd; /* -1: closed */
    char *data;
    size_t count, room;
    int everything;
    int failed; /* no memory, or it could not be read */
} reader;

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* In the child; only calls that are safe after fork in a threaded program. */
static void enter_child(pid_t parent, const su_child_limits *limits, int output)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126); /* the parent died before the line above */
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (LIMIT_MEMORY && limits && limits->memory_bytes > 0) {
        struct rlimit memory = {(rlim_t)limits->memory_bytes, (rlim_t)limits->memory_bytes};
        setrlimit(RLIMIT_AS, &memory);
    }
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
}

static void keep_tail(reader *in, const char *bytes, size_t count)
{
    if (count > in->room) {
        bytes += count - in->room;
        count = in->room;
    }
    size_t excess = in->count + count > in->room ? in->count + count - in->room : 0;
    memmove(in->data, in->data + excess, in->count - excess);
    in->count -= excess;
    memcpy(in->data + in->count, bytes, count);
    in->count += count;
}

static void keep_all(reader *in, const char *bytes, size_t count)
{
    if (in->failed) return;
    if (in->count + count > in->room) {
        size_t room = in->room ? in->room : 1 << 16;
        while (room < in->count + count) room *= 2;
        char *grown = realloc(in->data, room);
        if (!grown) {
            in->failed = 1;
            return;
        }
        in->data = grown;
        in->room = room;
    }
    memcpy(in->data + in->count, bytes, count);
    in->count += count;
}

/* Takes what is there without waiting. */
static void drain(reader *in)
{
    char block[1 << 16];
    while (in->fd >= 0) {
        ssize_t got = read(in->fd, block, sizeof block);
        if (got > 0) {
            if (in->everything)
                keep_all(in, block, (size_t)got);
            else
                keep_tail(in, block, (size_t)got);
        } else if (got < 0 && errno == EINTR) {
            continue;
        } else if (got < 0 && errno == EAGAIN) {
            return;
        } else {
            in->failed |= got < 0;
            close_fd(&in->fd);
        }
    }
}

/* Reads until the child has ended, enforcing the limits. The whole process group goes with it. */
static void watch(pid_t pid, const su_child_limits *limits, reader *readers, int count, su_child_result *result)
{
    enum { TICK_MS = 50 };
    double started = su_seconds();
    int wait_status = 0, ended = 0;
    struct rusage used_up = {0};
    result->end = SU_CHILD_EXITED;
    while (!ended) {
        struct pollfd polled[2];
        int used = 0;
        for (int i = 0; i < count; i++)
            if (readers[i].fd >= 0) polled[used++] = (struct pollfd){.fd = readers[i].fd, .events = POLLIN};
        poll(polled, (nfds_t)used, used ? TICK_MS : 5);
        for (int i = 0; i < count; i++) drain(&readers[i]);

        pid_t got = wait4(pid, &wait_status, WNOHANG, &used_up);
        if (got == pid || (got < 0 && errno != EINTR)) {
            ended = 1;
        } else if (limits && limits->seconds > 0 && su_seconds() - started > limits->seconds) {
            result->end = SU_CHILD_TIMEOUT;
        } else if (limits && su_progress_stopped(limits->progress)) {
            result->end = SU_CHILD_STOPPED;
        }
        if (!ended && result->end != SU_CHILD_EXITED) {
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
            while (wait4(pid, &wait_status, 0, &used_up) < 0 && errno == EINTR) {}
            ended = 1;
        }
    }
    result->peak_bytes = 1024 * (int64_t)used_up.ru_maxrss;
    kill(-pid, SIGKILL); /* grandchildren that stayed behind */
    for (int i = 0; i < count; i++) drain(&readers[i]);
    if (WIFSIGNALED(wait_status)) {
        result->code = WTERMSIG(wait_status);
        if (result->end == SU_CHILD_EXITED) result->end = SU_CHILD_KILLED;
    } else {
        result->code = WEXITSTATUS(wait_status);
    }
}

bool su_crashed_for_memory(const siginfo_t *info)
{
    enum { NEVER_MAPPED = 1 << 24 }; /* bytes from NULL on, as far as a small matrix goes */
    return errno == ENOMEM && info->si_signo == SIGSEGV && (uintptr_t)info->si_addr < NEVER_MAPPED;
}

enum { STARVED = 199 }; /* exit status of no body */

static void crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (su_crashed_for_memory(info)) _exit(STARVED);
    signal(number, SIG_DFL); /* and once more */
}

bool su_child_was_killed(const su_child_result *result)
{
    static const int outside[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGXCPU};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (result->end == SU_CHILD_KILLED && result->code == outside[i]) return true;
    return false;
}

static int make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = ends[1] = -1;
        return -1;
    }
    return 0;
}

static void set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

su_status su_child_run(const char *const *argv, const char *folder, const su_child_limits *limits,
                       su_child_result *result, su_error *err)
{
    su_status status = SU_OK;
    int output[2] = {-1, -1}, failure[2] = {-1, -1};
    memset(result, 0, sizeof *result);
    if (make_pipe(output) != 0 || make_pipe(failure) != 0) {
        status = su_fail(err, SU_AGAIN, "%s: cannot start: %s", argv[0], strerror(errno));
        goto done;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        status = su_fail(err, SU_AGAIN, "%s: cannot start: %s", argv[0], strerror(errno));
        goto done;
    }
    if (pid == 0) {
        enter_child(parent, limits, output[1]);
        if (limits) su_confine(limits->confinement, failure[1]);
        if (!folder || chdir(folder) == 0) execvp(argv[0], (char *const *)argv);
        int error = errno;
        (void)!write(failure[1], &error, sizeof error);
        _exit(127);
    }
    setpgid(pid, pid);
    close_fd(&output[1]);
    close_fd(&failure[1]);

    /* The failure pipe closes at a successful exec; otherwise it carries errno. */
    int error = 0;
    ssize_t got;
    while ((got = read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) {}
    if (got == (ssize_t)sizeof error) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
        status = su_fail(err, su_file_status(error, SU_FAILED), "%s: cannot run it: %s", argv[0], strerror(error));
        goto done;
    }
    set_nonblocking(output[0]);
    reader tail = {.fd = output[0], .data = result->tail, .room = sizeof result->tail - 1};
    output[0] = -1;
    watch(pid, limits, &tail, 1, result);
    close_fd(&tail.fd);
    result->tail[tail.count] = '\0';
done:
    close_fd(&output[0]);
    close_fd(&output[1]);
    close_fd(&failure[0]);
    close_fd(&failure[1]);
    return status;
}

su_status su_child_call(int (*body)(void *context, int fd), void *context, const su_child_limits *limits, void **data,
                        size_t *count, su_child_result *result, su_error *err)
{
    su_status status = SU_OK;
    int output[2] = {-1, -1}, channel[2] = {-1, -1};
    memset(result, 0, sizeof *result);
    if (make_pipe(output) != 0 || make_pipe(channel) != 0) {
        status = su_fail(err, SU_AGAIN, "cannot start a child process: %s", strerror(errno));
        goto done;
    }
    fflush(NULL); /* or the child would print buffered text a second time */
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        status = su_fail(err, SU_AGAIN, "cannot start a child process: %s", strerror(errno));
        goto done;
    }
    if (pid == 0) {
        enter_child(parent, limits, output[1]);
        close(output[0]);
        close(channel[0]);
#ifndef SU_COVERAGE /* which writes its counts */
        su_confine(SU_READ_ONLY, channel[1]);
#endif
        struct sigaction crashing = {.sa_sigaction = crash, .sa_flags = SA_SIGINFO};
        sigaction(SIGSEGV, &crashing, NULL);
        int code = body(context, channel[1]);
        fflush(stdout);
        fflush(stderr);
#ifdef SU_COVERAGE /* which _exit would lose */
        __gcov_dump();
#endif
        _exit(code & 0xff);
    }
    setpgid(pid, pid);
    close_fd(&output[1]);
    close_fd(&channel[1]);
    set_nonblocking(output[0]);
    set_nonblocking(channel[0]);
    reader readers[2] = {{.fd = output[0], .data = result->tail, .room = sizeof result->tail - 1},
                         {.fd = channel[0], .everything = 1}};
    output[0] = channel[0] = -1;
    watch(pid, limits, readers, 2, result);
    if (result->end == SU_CHILD_EXITED && result->code == STARVED)
        result->end = SU_CHILD_KILLED, result->code = SIGKILL;
    close_fd(&readers[0].fd);
    close_fd(&readers[1].fd);
    result->tail[readers[0].count] = '\0';
    if (readers[1].failed) {
        free(readers[1].data);
        status = su_fail(err, SU_AGAIN, "the result of a child process could not be taken over");
        goto done;
    }
    *data = readers[1].data;
    *count = readers[1].count;
done:
    close_fd(&output[0]);
    close_fd(&output[1]);
    close_fd(&channel[0]);
    close_fd(&channel[1]);
    return status;
}
