/* Errors travel up as values: a status, and one sentence with its context. */
#ifndef SU_CORE_ERROR_H
#define SU_CORE_ERROR_H

/* What went wrong, by what the caller can do about it. The values are the exit statuses of every program. */
typedef enum su_status {
    SU_OK = 0,
    SU_FAILED = 1,   /* could not do it: output not permitted, nothing to do */
    SU_USAGE = 2,    /* wrong command line */
    SU_INPUT = 3,    /* bad input file: missing, unreadable, wrong kind, inconsistent */
    SU_NUMERICS = 4, /* no convergence, not definite, diverged */
    SU_AGAIN = 75    /* try again: disk full, I/O error, memory, time limit, interrupted */
} su_status;

/* The lowest layer that knows the file, frame or index writes the whole sentence; layers above return early. */
typedef struct su_error {
    su_status status;
    char text[1000];
} su_error;

/* Writes the message into err (NULL: dropped) and returns status, so that `return su_fail(...)` reads well.
 * Messages: lower case, no full stop, `file: what is wrong, and what to do`. */
su_status su_fail(su_error *err, su_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts context in front of an existing message ("fox.glb: " + text); status unchanged and returned. */
su_status su_error_context(su_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For threads, one at a time: the first of their failures is kept in *first, which begins with SU_OK, and err (NULL:
 * dropped). own: the error of this status. */
void su_keep_first_error(su_status *first, su_error *err, su_status status, const su_error *own);

/* Returns early with the status of a failed call. Only where nothing is owned yet. */
#define SU_TRY(call)                                                                                                   \
    do {                                                                                                               \
        su_status su_try_status = (call);                                                                              \
        if (su_try_status != SU_OK) return su_try_status;                                                              \
    } while (0)

/* Leaves for the label `done`, with `status` set, when a call fails. */
#define SU_GO(call)                                                                                                    \
    do {                                                                                                               \
        if ((status = (call)) != SU_OK) goto done;                                                                     \
    } while (0)

#endif
