#include "core/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

/* Other calls' numbers: io_uring does what it is told behind the filter's back. */
static const int outside[] = {SYS_socket, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_io_uring_setup};
static const int changing[] = {SYS_execve,   SYS_execveat,  SYS_openat2, SYS_unlinkat, SYS_renameat2, SYS_mkdirat,
                               SYS_linkat,   SYS_symlinkat, SYS_mknodat, SYS_fchmodat, SYS_fchownat,  SYS_truncate,
                               SYS_renameat,
#ifdef SYS_open /* those that newer machines do without */
                               SYS_creat,    SYS_unlink,    SYS_rename,  SYS_mkdir,    SYS_rmdir,     SYS_link,
                               SYS_symlink,  SYS_chmod,     SYS_chown,   SYS_mknod
#endif
};
enum {
    OUTSIDE = sizeof outside / sizeof *outside,
    CHANGING = sizeof changing / sizeof *changing,
    OPENING = 2,
    MOST = 8 + 2 * OUTSIDE + 2 * CHANGING + 5 * OPENING
};

typedef struct filter {
    struct sock_filter step[MOST];
    unsigned short count;
} filter;

static void add(filter *f, struct sock_filter step) { f->step[f->count++] = step; }

static void load(filter *f, size_t offset)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

/* Call `number`: refused. Every test is followed by its own answer, so that no distance has to be counted. */
static void refuse(filter *f, int number)
{
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1));
    add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES));
}

/* Call `number` whose argument `flags` is that of open: refused where it would write. */
static void refuse_writing(filter *f, int number, int flags)
{
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 4));
    load(f, offsetof(struct seccomp_data, args) + sizeof(unsigned long long) * (size_t)flags); /* its lower half */
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1));
    add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES));
    add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void refuse_calls(su_confinement how)
{
    filter f = {.count = 0};
    load(&f, offsetof(struct seccomp_data, arch));
    add(&f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    add(&f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)); /* another machine's numbers */
    load(&f, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < OUTSIDE; i++) refuse(&f, outside[i]);
    for (int i = 0; how == SU_READ_ONLY && i < CHANGING; i++) refuse(&f, changing[i]);
    if (how == SU_READ_ONLY) refuse_writing(&f, SYS_openat, 2);
#ifdef SYS_open
    if (how == SU_READ_ONLY) refuse_writing(&f, SYS_open, 1);
#endif
    add(&f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog program = {f.count, f.step};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else
static void refuse_calls(su_confinement how) { (void)how; }
#endif

void su_confine(su_confinement how, int keep)
{
    if (how == SU_FREE) return;
    int first = STDERR_FILENO + 1;
    if (keep >= first) {
        if (keep > first) close_range((unsigned)first, (unsigned)keep - 1, 0);
        first = keep + 1;
    }
    close_range((unsigned)first, UINT_MAX, 0);
    struct rlimit none = {0, 0};
    if (how == SU_READ_ONLY) setrlimit(RLIMIT_FSIZE, &none); /* of files; a pipe has no size */
    refuse_calls(how);
}
