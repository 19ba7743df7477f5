#include "core/tool_internal.h"

#include <string.h>

enum { WIDTH = 80, COLUMN = 26 };

static const struct {
    int status;
    const char *meaning;
} exits[] = {
    {0, "done"},
    {1, "could not do it (output not permitted, nothing to do)"},
    {2, "wrong command line"},
    {3, "bad input file"},
    {4, "numerics: no convergence, not definite, diverged"},
    {75, "try again: disk full, I/O error, memory, time limit, or stopped by a signal"},
};

/* Prints text wrapped to WIDTH with every further line indented; blank lines separate paragraphs. */
static void wrap(FILE *stream, const char *text, int indent, int column)
{
    while (*text) {
        if (*text == '\n') {
            fputc('\n', stream);
            column = 0;
            text++;
            continue;
        }
        int length = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + length > WIDTH) {
            fputc('\n', stream);
            column = 0;
        }
        if (column == 0)
            column = fprintf(stream, "%*s", indent, "");
        else if (column > indent)
            column += fprintf(stream, " ");
        column += fprintf(stream, "%.*s", length, text);
        text += length;
        while (*text == ' ') text++;
    }
    fputc('\n', stream);
}

static void help_option(FILE *stream, const su_option *option)
{
    int column = option->letter ? fprintf(stream, "  -%c, --%s", option->letter, option->name)
                                : fprintf(stream, "      --%s", option->name);
    if (option->argument) column += fprintf(stream, " %s", option->argument);
    if (option->greedy && !strchr(option->argument, '.')) column += fprintf(stream, "...");
    if (column + 2 > COLUMN) {
        fputc('\n', stream);
        column = 0;
    }
    column += fprintf(stream, "%*s", COLUMN - column, "");
    wrap(stream, option->help ? option->help : "", COLUMN, column);
    if (option->kind == SU_OPT_CHOICE) fprintf(stream, "%*sOne of: %s\n", COLUMN, "", option->choices);
}

void su_print_help(const su_program *program, FILE *stream)
{
    su_common common;
    su_option table[SU_COMMON_OPTIONS];
    su_common_table(&common, table);
    fprintf(stream, "%s: %s\n\nUsage: %s [options] %s\n", program->name, program->summary, program->name,
            program->usage);
    if (program->description) {
        fputc('\n', stream);
        wrap(stream, program->description, 0, 0);
    }
    if (program->option_count) {
        fprintf(stream, "\nOptions:\n");
        for (int i = 0; i < program->option_count; i++) help_option(stream, &program->options[i]);
    }
    fprintf(stream, "\nCommon options:\n");
    for (int i = 0; i < SU_COMMON_OPTIONS - 1; i++) help_option(stream, &table[i]);
    fprintf(stream, "      --help[=man]%*sThis text, or the same as a manual page.\n", COLUMN - 18, "");
    fprintf(stream, "      --version%*sName and version.\n", COLUMN - 15, "");
    if (program->example) fprintf(stream, "\nExample:\n  %s\n", program->example);
    fprintf(stream, "\nExit status: 0 done, 1 could not do it, 2 wrong command line, 3 bad input,\n4 numerics, "
                    "75 try again.\n");
}

/* ---- manual page ---- */

static void roff(FILE *stream, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", stream);
        line_start = *text == '\n';
        if (*text == '\n' && text[1] == '\n') {
            fputs("\n.PP\n", stream);
            while (text[1] == '\n') text++;
        } else if (*text == '-') {
            fputs("\\-", stream);
        } else if (*text == '\\') {
            fputs("\\e", stream);
        } else {
            fputc(*text, stream);
        }
    }
    fputc('\n', stream);
}

static void man_option(FILE *stream, const su_option *option)
{
    fputs(".TP\n.B ", stream);
    if (option->letter) fprintf(stream, "\\-%c\\fR, \\fB", option->letter);
    fputs("\\-\\-", stream);
    for (const char *at = option->name; *at; at++) fprintf(stream, *at == '-' ? "\\-" : "%c", *at);
    if (option->argument)
        fprintf(stream, " \\fI%s\\fR%s", option->argument,
                option->greedy && !strchr(option->argument, '.') ? "..." : "");
    fputc('\n', stream);
    roff(stream, option->help ? option->help : "");
    if (option->kind == SU_OPT_CHOICE) fprintf(stream, "One of: %s\n", option->choices);
}

void su_print_man(const su_program *program, FILE *stream)
{
    su_common common;
    su_option table[SU_COMMON_OPTIONS];
    su_common_table(&common, table);
    fprintf(stream, ".TH %s 1 \"\" \"supple %s\" \"supple\"\n.SH NAME\n", program->name, SU_VERSION);
    fprintf(stream, "%s \\- ", program->name);
    roff(stream, program->summary);
    fprintf(stream, ".SH SYNOPSIS\n.B %s\n[options] ", program->name);
    roff(stream, program->usage);
    if (program->description) {
        fputs(".SH DESCRIPTION\n", stream);
        roff(stream, program->description);
    }
    fputs(".SH OPTIONS\n", stream);
    for (int i = 0; i < program->option_count; i++) man_option(stream, &program->options[i]);
    for (int i = 0; i < SU_COMMON_OPTIONS - 1; i++) man_option(stream, &table[i]);
    fputs(".TP\n.B \\-\\-help\\fR[=man]\nUsage, or this page.\n.TP\n.B \\-\\-version\nName and version.\n", stream);
    fputs(".SH EXIT STATUS\n", stream);
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
        fprintf(stream, ".TP\n%d\n", exits[i].status);
        roff(stream, exits[i].meaning);
    }
    if (program->example) {
        fputs(".SH EXAMPLE\n.nf\n", stream);
        roff(stream, program->example);
        fputs(".fi\n", stream);
    }
    fputs(".SH SEE ALSO\n.BR supple (1)\n", stream);
}

/* ---- for completions ---- */

/* The first sentence, without its full stop. */
static void first_sentence(FILE *stream, const char *text)
{
    for (; *text && !(*text == '.' && (text[1] == ' ' || text[1] == '\n' || text[1] == '\0')); text++)
        fputc(*text == '\n' || *text == '\t' ? ' ' : *text, stream);
}

static const char *kind_name(su_option_kind kind)
{
    switch (kind) {
    case SU_OPT_FLAG:
        return "flag";
    case SU_OPT_INT:
    case SU_OPT_NUMBER:
    case SU_OPT_VECTOR:
        return "number";
    case SU_OPT_CHOICE:
        return "choice";
    case SU_OPT_TEXT:
    case SU_OPT_LIST:
        break;
    }
    return "text";
}

void su_print_table(const su_program *program, FILE *stream)
{
    su_common common;
    su_option table[SU_COMMON_OPTIONS];
    su_common_table(&common, table);
    for (int i = 0; i < program->option_count + SU_COMMON_OPTIONS - 1; i++) {
        const su_option *option = i < program->option_count ? &program->options[i] : &table[i - program->option_count];
        fprintf(stream, "--%s\t", option->name);
        if (option->letter) fprintf(stream, "-%c", option->letter);
        fprintf(stream, "\t%s\t%s\t%s\t", kind_name(option->kind), option->argument ? option->argument : "",
                option->kind == SU_OPT_CHOICE ? option->choices : "");
        first_sentence(stream, option->help ? option->help : "");
        fputc('\n', stream);
    }
    fputs("--help\t\tflag\t\t\tUsage\n--version\t\tflag\t\t\tName and version\n", stream);
}
