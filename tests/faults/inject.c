/* inject KIND N REPORT COMMAND...: runs COMMAND, the N-th call of KIND from the start of its main fails, counted over
 * all its processes; N 0: none does. REPORT gets "CALLS FAILED DESCRIPTOR NAME": how many calls there were, whether one
 * failed, on which descriptor (-1: no matter), in which program (-: not known). Ends with the command's status, 128 +
 * signal where one killed it, 126 where this machine lets no filter be set.
 *
 * Kinds: memory (malloc, calloc, realloc, aligned_alloc, posix_memalign: preload.c), and system calls, which a seccomp
 * filter sends here before they happen. So the C library's own are counted as well: what fwrite, fclose and getline do
 * with a file passes no symbol that a preloaded library could stand in for. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 8, NO_FILTER = 126, NO_DESCRIPTOR = -1 };

typedef struct kind {
    const char *name;
    int error;        /* what the failing call says */
    int calls[CALLS]; /* 0: none; read, which is 0, stands first */
    int call_count;
    bool on_descriptor; /* the first argument is one */
} kind;

static const kind kinds[] = {
    {"memory", ENOMEM, {0}, 0, false},
    {"open", EMFILE, {SYS_openat, SYS_open, SYS_creat, SYS_openat2}, 4, false},
    {"read", EIO, {SYS_read, SYS_pread64, SYS_readv, SYS_preadv}, 4, true},
    {"write", ENOSPC, {SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_ftruncate, SYS_fallocate}, 6, true},
    {"sync", EIO, {SYS_fsync, SYS_fdatasync, SYS_msync}, 3, true},
    {"rename", EIO, {SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_linkat}, 5, false},
    {"fork", EAGAIN, {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork}, 4, false},
    {"map", ENOMEM, {SYS_mmap}, 1, false}, /* of files; memory without one is what malloc takes */
};

static int install_filter(const kind *what)
{
    struct sock_filter program[4 + 6 * CALLS + 4];
    int at = 0;
    program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    /* The marks of preload.c come as fsync, whatever is counted. */
    program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 0, 1);
    program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    for (int i = 0; i < what->call_count; i++) {
        bool map = what->calls[i] == SYS_mmap;
        program[at++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)what->calls[i], 0, map ? 3 : 1);
        if (map) { /* without a file it is let through */
            program[at++] =
                (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4]));
            program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffffu, 1, 0);
        }
        program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {(unsigned short)at, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

/* One descriptor over a socket. */
static int hand_over(int socket, int fd)
{
    char nothing = 0, room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec part = {&nothing, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(socket, &message, 0) == 1 ? 0 : -1;
}

static int receive(int socket)
{
    int fd = -1;
    char nothing, room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec part = {&nothing, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

typedef struct judge {
    const kind *what;
    long fails, count;
    int failed, descriptor;
    int inside;    /* mains that have begun and not ended */
    char name[32]; /* of the program */
} judge;

static void name_process(pid_t pid, char *out, size_t room)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    FILE *file = fopen(path, "r");
    if (file && fgets(out, (int)room, file)) out[strcspn(out, "\n")] = '\0';
    if (file) fclose(file);
}

/* Answers one call: it goes on, or fails. */
static void answer(judge *state, int listener)
{
    struct seccomp_notif call = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return; /* its process is gone */
    struct seccomp_notif_resp reply = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    int first = (int)call.data.args[0], mark = call.data.nr == SYS_fsync ? first : 0;
    bool counted = false;
    if (mark == FAULT_MAIN_BEGINS)
        state->inside++;
    else if (mark == FAULT_MAIN_ENDED)
        state->inside--;
    else
        for (int i = 0; i < state->what->call_count; i++) counted = counted || call.data.nr == state->what->calls[i];
    if (counted && state->inside > 0 && ++state->count == state->fails) {
        reply.flags = 0, reply.error = -state->what->error;
        state->failed = 1, state->descriptor = state->what->on_descriptor ? first : NO_DESCRIPTOR;
        name_process((pid_t)call.pid, state->name, sizeof state->name);
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

/* Serves calls until the command has ended; its status. */
static int serve(judge *state, int listener, pid_t pid)
{
    int status = 0;
    for (;;) {
        struct pollfd waiting = {.fd = listener, .events = POLLIN};
        /* At its end the listener hangs up; a process that left children behind is asked for now and then. */
        if (poll(&waiting, 1, 20) > 0 && (waiting.revents & POLLIN)) {
            answer(state, listener);
            continue;
        }
        if (waitpid(pid, &status, WNOHANG) == pid) return status;
        if (waiting.revents & POLLHUP) {
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
            return status;
        }
    }
}

static int fail(const char *what)
{
    fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
    return NO_FILTER;
}

int main(int argc, char **argv)
{
    if (argc < 5) return fputs("usage: inject KIND N REPORT COMMAND...\n", stderr), 2;
    const kind *what = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0) what = &kinds[i];
    if (!what) return fprintf(stderr, "inject: there is no kind '%s'\n", argv[1]), 2;

    char here[4000], preload[4100];
    ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
    if (length < 0) return fail("/proc/self/exe");
    here[length] = '\0';
    snprintf(preload, sizeof preload, "%s/preload.so", dirname(here));
    judge state = {.what = what, .fails = atol(argv[2]), .descriptor = NO_DESCRIPTOR, .name = "-"};

    int page_file = open(argv[3], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), ends[2];
    if (page_file < 0 || ftruncate(page_file, sizeof(fault_page)) != 0) return fail(argv[3]);
    fault_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, page_file, 0);
    if (page == MAP_FAILED) return fail(argv[3]);
    if (what->call_count == 0) atomic_store(&page->fails, state.fails);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail("socketpair");

    char *report = realpath(argv[3], NULL);
    if (!report) return fail(argv[3]);
    pid_t pid = fork();
    if (pid < 0) return fail("fork");
    if (pid == 0) {
        setenv("LD_PRELOAD", preload, 1);
        setenv(FAULT_PAGE, report, 1);
        if (what->call_count) {
            int listener = install_filter(what);
            if (listener < 0 || hand_over(ends[1], listener) != 0) _exit(NO_FILTER);
            close(listener);
        }
        execvp(argv[4], argv + 4);
        _exit(127);
    }
    close(ends[1]);
    int status = 0;
    if (what->call_count) {
        int listener = receive(ends[0]);
        if (listener < 0) return fail("no filter can be set");
        status = serve(&state, listener, pid);
    } else {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        state.count = atomic_load(&page->count), state.failed = (int)atomic_load(&page->failed);
        if (state.failed) memcpy(state.name, page->name, sizeof state.name - 1);
    }
    if (ftruncate(page_file, 0) != 0 ||
        dprintf(page_file, "%ld %d %d %s\n", state.count, state.failed, state.descriptor, state.name) < 0)
        return fail(argv[3]);
    free(report);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
