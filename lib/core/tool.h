/* What every program shares: option tables, --help and man page from one source, messages, exit status, statistics,
 * provenance. Only tools/ and tests include this header. */
#ifndef SU_CORE_TOOL_H
#define SU_CORE_TOOL_H

#include "core/error.h"
#include "core/json_text.h"
#include "core/progress.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define SU_VERSION "0.1.0"

typedef enum su_option_kind {
    SU_OPT_FLAG,   /* bool *: set to true */
    SU_OPT_INT,    /* int *: within [low, high] */
    SU_OPT_NUMBER, /* double *: within [low, high]; a '%' suffix divides by 100 */
    SU_OPT_TEXT,   /* const char ** */
    SU_OPT_LIST,   /* su_list *: may be repeated; for an option marked `greedy`, also all words up to the next option */
    SU_OPT_CHOICE, /* int *: index into `choices` ("auto|direct|sdf") */
    SU_OPT_VECTOR  /* double[3] *: "x,y,z" */
} su_option_kind;

typedef struct su_list {
    const char **items; /* borrowed from argv */
    int count;
} su_list;

typedef struct su_option {
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    su_option_kind kind;
    void *target;         /* holds the default before parsing */
    const char *argument; /* shown in --help: "N", "FILE", "HZ"; NULL for flags */
    const char *help;     /* one or more sentences; the default and unit belong in it */
    double low, high;     /* INT, NUMBER; both 0: no bound */
    const char *choices;  /* CHOICE: names separated by '|' */
    bool greedy;          /* LIST */
    bool transient;       /* says how the run goes, not what it makes: left out of the recorded command */
} su_option;

typedef struct su_program {
    const char *name;        /* "supple-mesh" */
    const char *summary;     /* one line */
    const char *usage;       /* arguments after the options: "POSES -o TET" */
    const char *description; /* paragraphs separated by blank lines; NULL: none */
    const char *example;     /* one command line */
    const su_option *options;
    int option_count;
    int min_inputs, max_inputs; /* positional arguments; max -1: any number */
    bool needs_output;          /* -o is required */
    bool text_output;           /* -o - means standard output */
} su_program;

/* Everything about this run. Strings are borrowed from argv. */
typedef struct su_tool {
    const su_program *program;
    const char *output; /* -o; NULL: none */
    int threads;        /* resolved */
    int verbosity;      /* -1 quiet, 0, 1 verbose */
    bool dry_run;
    const char *stats_path; /* --stats */
    su_progress progress;
    su_list inputs; /* positional arguments */
    json_t *stats;  /* object; add to it by su_stats_*; written by su_tool_end */
    su_error err;
    double started;        /* su_seconds() at the start */
    bool output_is_stdout; /* -o - */
    char **command;        /* argv without -j -v -q --progress --stats -o, inputs by base name; NULL-terminated */
} su_tool;

/* Parses the command line. Returns false when the program must end at once with *status (--help, --version, a usage
 * error; everything was printed). Installs handlers for SIGTERM, SIGUSR1 and SIGINT that ask for a stop (a
 * signal a second or more after the first ends the process at once), and sets OpenBLAS to one thread. */
bool su_tool_begin(su_tool *tool, const su_program *program, int argc, char **argv, int *status);
/* Prints the message of a failed run, writes --stats, frees; returns the exit status for main. */
int su_tool_end(su_tool *tool, su_status status);

/* Talk on stderr, prefixed with the program's name: a note (-q drops it), detail (-v shows it), a warning (always
 * shown, and kept in stats.warnings). */
void su_note(su_tool *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));
void su_detail(su_tool *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));
void su_warn(su_tool *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Statistics: flat keys; "stages" holds seconds by name. */
void su_stats_number(su_tool *tool, const char *key, double value);
void su_stats_integer(su_tool *tool, const char *key, int64_t value);
void su_stats_text(su_tool *tool, const char *key, const char *value);
void su_stats_stage(su_tool *tool, const char *stage, double seconds);

/* Meta for an output of this run: kind, version, tool, command, inputs (name and digest of each of the files). New
 * reference, the caller adds settings as flat keys. NULL and err on failure. */
json_t *su_tool_meta(su_tool *tool, const char *kind, int version, const char *const *inputs, int input_count);

#endif
