/* Command lines: parsing and help from one table. Shared by the files that make up core/tool.h. */
#ifndef SU_CORE_TOOL_INTERNAL_H
#define SU_CORE_TOOL_INTERNAL_H

#include "core/tool.h"

enum { SU_COMMON_OPTIONS = 9, SU_PROGRESS_AUTO = 5 };

/* Targets of the options every program has. */
typedef struct su_common {
    bool help, man, table, version, quiet, verbose, dry_run, strict;
    const char *output, *stats;
    int threads, progress; /* progress: a su_progress_mode or SU_PROGRESS_AUTO */
} su_common;

/* Only --help, in one of its forms, or --version is asked for. */
static inline bool su_only_tells(const su_common *common)
{
    return common->help || common->man || common->table || common->version;
}

void su_common_table(su_common *common, su_option table[SU_COMMON_OPTIONS]);

/* Parses argv into the targets of program and common, inputs and command of the tool. SU_USAGE with a message in
 * tool->err. Stops early at --help and --version. */
su_status su_parse_options(su_tool *tool, su_common *common, int argc, char **argv);
/* Frees lists, inputs and command. */
void su_free_options(su_tool *tool);

void su_print_help(const su_program *program, FILE *stream);
void su_print_man(const su_program *program, FILE *stream);
/* For completions in shells: a line an option, "--name, -n or nothing, what kind of argument, its word, the choices,
 * the first sentence of the help", parted by tabs. The kind is flag, number, choice or text (which may be a file). */
void su_print_table(const su_program *program, FILE *stream);

#endif
