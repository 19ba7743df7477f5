/* Progress for people (a bar on a terminal) and for farm managers (whole-number lines that they parse). */
#ifndef SU_CORE_PROGRESS_H
#define SU_CORE_PROGRESS_H

#include "core/error.h"

#include <signal.h>
#include <stdio.h>

typedef enum su_progress_mode {
    SU_PROGRESS_NONE,
    SU_PROGRESS_TTY,   /* one line redrawn */
    SU_PROGRESS_LINES, /* "Progress: 45%" */
    SU_PROGRESS_ALF,   /* "ALF_PROGRESS 45%" */
    SU_PROGRESS_OPENJD /* "openjd_progress: 45" */
} su_progress_mode;

typedef struct su_progress {
    su_progress_mode mode;
    FILE *stream;
    const char *label;                 /* the tool's name; tty only */
    double base, span;                 /* this stage covers [base, base + span] of the whole */
    int last;                          /* last percentage printed, -1 before the first */
    const volatile sig_atomic_t *stop; /* set by a signal handler; NULL: never */
} su_progress;

/* Later updates of 0..1 fill [from, to] of the whole. NULL progress is fine here and below. */
void su_progress_stage(su_progress *progress, double from, double to);
/* Prints when the whole percentage grew. Returns SU_AGAIN with a message when a stop was asked for, so that long loops
 * end through their ordinary error path: `SU_GO(su_progress_update(progress, k / n, err))`. Call from one thread. */
su_status su_progress_update(su_progress *progress, double fraction, su_error *err);
/* True when a stop was asked for; cheap, callable from any thread. */
int su_progress_stopped(const su_progress *progress);
void su_progress_finish(su_progress *progress);

#endif
