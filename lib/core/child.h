/* Work that may crash or hang, run in a child process with limits. */
#ifndef SU_CORE_CHILD_H
#define SU_CORE_CHILD_H

#include "core/confine.h"
#include "core/error.h"
#include "core/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct su_child_limits {
    double seconds;              /* wall time; 0: none */
    int64_t memory_bytes;        /* RLIMIT_AS; 0: none */
    const su_progress *progress; /* a stop request kills the child; NULL: none */
    su_confinement confinement;  /* of su_child_run; NULL limits: SU_FREE */
} su_child_limits;

typedef enum su_child_end { SU_CHILD_EXITED, SU_CHILD_KILLED, SU_CHILD_TIMEOUT, SU_CHILD_STOPPED } su_child_end;

typedef struct su_child_result {
    su_child_end end;
    int code;           /* exit code, or signal number when killed */
    int64_t peak_bytes; /* most memory that was resident */
    char tail[2000];    /* last output of the child (stdout and stderr), NUL-terminated */
} su_child_result;

/* In a handler of SIGSEGV: did a library write to NULL right after it was refused memory? Some (OpenBLAS in its
 * products of small matrices, assimp) do not look at what they are given. */
bool su_crashed_for_memory(const siginfo_t *info);

/* Killed by somebody else, the kernel short of memory or a queue manager, and not by what it did: another try may do
 * better. */
bool su_child_was_killed(const su_child_result *result);

/* Runs argv[0] (searched in PATH) in folder (NULL: here); stdin is /dev/null. The child dies with its parent. Status is
 * about running it at all (SU_FAILED: program not found); how it ended is in result. */
su_status su_child_run(const char *const *argv, const char *folder, const su_child_limits *limits,
                       su_child_result *result, su_error *err);

/* Runs body(context, fd) in a forked child that can read files and nothing else (core/confine.h); what it writes to fd
 * comes back in *data (caller frees), *count bytes. The body returns 0 for success. A crash, a limit or a non-zero
 * return is described in result; a crash for want of memory counts as killed by the kernel. */
su_status su_child_call(int (*body)(void *context, int fd), void *context, const su_child_limits *limits, void **data,
                        size_t *count, su_child_result *result, su_error *err);

#endif
