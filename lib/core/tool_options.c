#include "core/choice.h"
#include "core/tool_internal.h"
#include "core/file.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LONG = 1000, HELP = 900, VERSION = 901 };

void su_common_table(su_common *common, su_option table[SU_COMMON_OPTIONS])
{
    const su_option rows[SU_COMMON_OPTIONS] = {
        {"output", 'o', SU_OPT_TEXT, &common->output, "FILE", "Where the result goes.", 0, 0, NULL, false, false},
        {"threads", 'j', SU_OPT_INT, &common->threads, "N",
         "Threads (default: OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, CUE_THREADS, else what this machine allows).", 1, 256,
         NULL, false, false},
        {"quiet", 'q', SU_OPT_FLAG, &common->quiet, NULL, "Say nothing but warnings and errors.", 0, 0, NULL, false,
         false},
        {"verbose", 'v', SU_OPT_FLAG, &common->verbose, NULL, "Say more.", 0, 0, NULL, false, false},
        {"progress", 0, SU_OPT_CHOICE, &common->progress, "HOW",
         "Progress on stderr: a bar on a terminal (tty), whole-number lines for farm managers (lines, alf, openjd), or "
         "none. Default: auto, tty on a terminal, else lines.",
         0, 0, "none|tty|lines|alf|openjd|auto", false, false},
        {"stats", 0, SU_OPT_TEXT, &common->stats, "FILE",
         "Write timings, sizes, warnings and peak memory as JSON, also where the run fails.", 0, 0, NULL, false, false},
        {"dry-run", 'n', SU_OPT_FLAG, &common->dry_run, NULL, "Check everything, write nothing.", 0, 0, NULL, false,
         false},
        {"strict", 0, SU_OPT_FLAG, &common->strict, NULL,
         "The same bytes on every processor that has AVX2: kernels are not chosen by what this one can.", 0, 0, NULL,
         false, false},
        {NULL, 0, SU_OPT_FLAG, NULL, NULL, NULL, 0, 0, NULL, false, false},
    };
    memcpy(table, rows, sizeof rows);
}

/* ---- values ---- */

static su_status bad_value(su_tool *tool, const su_option *option, const char *text, const char *wanted)
{
    return su_fail(&tool->err, SU_USAGE, "--%s: '%s' is not %s", option->name, text, wanted);
}

static su_status check_bounds(su_tool *tool, const su_option *option, double value, const char *text)
{
    if ((option->low == 0 && option->high == 0) || (value >= option->low && value <= option->high)) return SU_OK;
    if (isinf(option->high) || option->high >= 1e300)
        return su_fail(&tool->err, SU_USAGE, "--%s: %s is out of range; at least %g is wanted", option->name, text,
                       option->low);
    return su_fail(&tool->err, SU_USAGE, "--%s: %s is out of range; %g to %g is wanted", option->name, text,
                   option->low, option->high);
}

static su_status set_number(su_tool *tool, const su_option *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0) {
        value /= 100;
        end++;
    }
    if (end == text || *end || !isfinite(value)) return bad_value(tool, option, text, "a number");
    SU_TRY(check_bounds(tool, option, value, text));
    *(double *)option->target = value;
    return SU_OK;
}

static su_status set_integer(su_tool *tool, const su_option *option, const char *text)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end) return bad_value(tool, option, text, "a whole number");
    if (errno || value < INT_MIN || value > INT_MAX) return bad_value(tool, option, text, "a number of usual size");
    SU_TRY(check_bounds(tool, option, (double)value, text));
    *(int *)option->target = (int)value;
    return SU_OK;
}

static su_status set_choice(su_tool *tool, const su_option *option, const char *text)
{
    int index = su_choice_find(option->choices, text, -1);
    if (index >= 0) {
        *(int *)option->target = index;
        return SU_OK;
    }
    return su_fail(&tool->err, SU_USAGE, "--%s: '%s' is none of %s", option->name, text, option->choices);
}

static su_status set_vector(su_tool *tool, const su_option *option, const char *text)
{
    double *out = option->target, value[3];
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        char *end;
        value[i] = strtod(at, &end);
        if (end == at || *end != (i < 2 ? ',' : '\0') || !isfinite(value[i]))
            return bad_value(tool, option, text, "three numbers x,y,z");
        at = end + 1;
    }
    memcpy(out, value, sizeof value);
    return SU_OK;
}

static su_status list_add(su_tool *tool, su_list *list, const char *text)
{
    const char **grown = realloc(list->items, ((size_t)list->count + 1) * sizeof *grown);
    if (!grown) return su_fail(&tool->err, SU_AGAIN, "out of memory");
    list->items = grown;
    list->items[list->count++] = text;
    return SU_OK;
}

static su_status set_option(su_tool *tool, const su_option *option, const char *text)
{
    switch (option->kind) {
    case SU_OPT_FLAG:
        *(bool *)option->target = true;
        return SU_OK;
    case SU_OPT_INT:
        return set_integer(tool, option, text);
    case SU_OPT_NUMBER:
        return set_number(tool, option, text);
    case SU_OPT_TEXT:
        *(const char **)option->target = text;
        return SU_OK;
    case SU_OPT_LIST:
        return list_add(tool, option->target, text);
    case SU_OPT_CHOICE:
        return set_choice(tool, option, text);
    case SU_OPT_VECTOR:
        return set_vector(tool, option, text);
    }
    return SU_OK;
}

/* ---- the command as it goes into files: no output names, no threads, no folders of this machine ---- */

static su_status command_add(su_tool *tool, const char *prefix, const char *text)
{
    int count = 0;
    while (tool->command && tool->command[count]) count++;
    char **grown = realloc(tool->command, ((size_t)count + 2) * sizeof *grown);
    char *copy = malloc(strlen(prefix) + strlen(text) + 1);
    if (grown) tool->command = grown;
    if (!grown || !copy) {
        free(copy);
        if (grown) grown[count] = NULL;
        return su_fail(&tool->err, SU_AGAIN, "out of memory");
    }
    strcat(strcpy(copy, prefix), text);
    grown[count] = copy;
    grown[count + 1] = NULL;
    return SU_OK;
}

static bool names_file(const su_option *option, const char *text)
{
    const char *argument = option->argument ? option->argument : "";
    return strstr(argument, "FILE") || strstr(argument, "ANIM") || strstr(argument, "DIR") ||
           strstr(argument, "FOLDER") || text[0] == '/' || strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0;
}

static su_status remember(su_tool *tool, const su_option *option, const char *text, bool named)
{
    if (option->transient) return SU_OK;
    if (named) SU_TRY(command_add(tool, "--", option->name));
    if (!text) return SU_OK;
    return command_add(tool, "", names_file(option, text) ? su_base_name(text) : text);
}

/* ---- parsing ---- */

typedef struct table {
    const su_option *options; /* the program's, then the common ones */
    int count, own;
    struct option *longs;
    char *shorts;
} table;

static void table_free(table *t)
{
    free((void *)(uintptr_t)t->options);
    free(t->longs);
    free(t->shorts);
}

static su_status table_make(su_tool *tool, su_common *common, table *t)
{
    const su_program *program = tool->program;
    su_option *options = calloc((size_t)program->option_count + SU_COMMON_OPTIONS, sizeof *options);
    t->own = program->option_count;
    t->count = t->own + SU_COMMON_OPTIONS - 1;
    t->options = options;
    t->longs = calloc((size_t)t->count + 3, sizeof *t->longs);
    t->shorts = calloc((size_t)t->count + 1, 2);
    if (!options || !t->longs || !t->shorts) return su_fail(&tool->err, SU_AGAIN, "out of memory");
    if (t->own) memcpy(options, program->options, (size_t)t->own * sizeof *options);
    su_common_table(common, options + t->own);
    char *at = t->shorts;
    *at++ = '-'; /* keep the order of words, for lists that take all words up to the next option */
    for (int i = 0; i < t->count; i++) {
        bool flag = options[i].kind == SU_OPT_FLAG;
        t->longs[i] = (struct option){options[i].name, flag ? no_argument : required_argument, NULL, FIRST_LONG + i};
        if (!options[i].letter) continue;
        *at++ = options[i].letter;
        if (!flag) *at++ = ':';
    }
    t->longs[t->count] = (struct option){"help", optional_argument, NULL, HELP};
    t->longs[t->count + 1] = (struct option){"version", no_argument, NULL, VERSION};
    return SU_OK;
}

static const su_option *option_of(const table *t, int code)
{
    if (code >= FIRST_LONG && code < FIRST_LONG + t->count) return &t->options[code - FIRST_LONG];
    for (int i = 0; i < t->count; i++)
        if (t->options[i].letter && t->options[i].letter == code) return &t->options[i];
    return NULL;
}

static su_status unknown(su_tool *tool, const table *t, char **argv)
{
    /* optopt is set for a known option that lacks its argument, and for short ones */
    const su_option *option = option_of(t, optopt);
    const char *word = optind > 0 ? argv[optind - 1] : "";
    if (optopt == HELP) return su_fail(&tool->err, SU_USAGE, "%s: --help takes only =man", word);
    if (option && option->kind != SU_OPT_FLAG && !strchr(word, '='))
        return su_fail(&tool->err, SU_USAGE, "--%s wants an argument, %s; see --help", option->name,
                       option->argument ? option->argument : "VALUE");
    if (option) return su_fail(&tool->err, SU_USAGE, "--%s takes no argument", option->name);
    if (optopt) return su_fail(&tool->err, SU_USAGE, "unknown option -%c; see --help", optopt);
    return su_fail(&tool->err, SU_USAGE, "unknown option %s; see --help", word);
}

static su_status parse_words(su_tool *tool, su_common *common, const table *t, int argc, char **argv)
{
    const su_option *greedy = NULL;
    int code;
    optind = 0;
    opterr = 0;
    while ((code = getopt_long(argc, argv, t->shorts, t->longs, NULL)) != -1) {
        if (code == 1) {
            if (greedy) {
                SU_TRY(list_add(tool, greedy->target, optarg));
                SU_TRY(remember(tool, greedy, optarg, false));
            } else {
                SU_TRY(list_add(tool, &tool->inputs, optarg));
                SU_TRY(command_add(tool, "", su_base_name(optarg)));
            }
            continue;
        }
        greedy = NULL;
        if (code == HELP) {
            bool man = optarg && strcmp(optarg, "man") == 0, rows = optarg && strcmp(optarg, "options") == 0;
            if (optarg && !man && !rows)
                return su_fail(&tool->err, SU_USAGE, "--help=%s: only --help=man is known", optarg);
            *(man ? &common->man : rows ? &common->table : &common->help) = true;
            return SU_OK;
        }
        if (code == VERSION) {
            common->version = true;
            return SU_OK;
        }
        const su_option *option = code == '?' ? NULL : option_of(t, code);
        if (!option) return unknown(tool, t, argv);
        SU_TRY(set_option(tool, option, optarg));
        if (option - t->options < t->own) SU_TRY(remember(tool, option, optarg, true));
        if (option->kind == SU_OPT_LIST && option->greedy) greedy = option;
    }
    for (; optind < argc; optind++) { /* after "--" */
        SU_TRY(list_add(tool, &tool->inputs, argv[optind]));
        SU_TRY(command_add(tool, "", su_base_name(argv[optind])));
    }
    return SU_OK;
}

su_status su_parse_options(su_tool *tool, su_common *common, int argc, char **argv)
{
    const su_program *program = tool->program;
    table t = {0};
    su_status status = SU_OK;
    SU_GO(table_make(tool, common, &t));
    SU_GO(command_add(tool, "", program->name));
    SU_GO(parse_words(tool, common, &t, argc, argv));
    if (su_only_tells(common)) goto done;
    if (tool->inputs.count < program->min_inputs)
        status = su_fail(&tool->err, SU_USAGE, "%s; usage: %s %s",
                         tool->inputs.count ? "more input files are wanted" : "an input file is wanted", program->name,
                         program->usage);
    else if (program->max_inputs >= 0 && tool->inputs.count > program->max_inputs)
        status = su_fail(&tool->err, SU_USAGE, "'%s' is one input too many; usage: %s %s",
                         tool->inputs.items[program->max_inputs], program->name, program->usage);
    else if (program->needs_output && !common->output && !common->dry_run)
        status = su_fail(&tool->err, SU_USAGE, "-o is missing; usage: %s %s", program->name, program->usage);
    else if (common->output && strcmp(common->output, "-") == 0 && !program->text_output)
        status = su_fail(&tool->err, SU_USAGE, "-o -: this output is not text; give a file name");
done:
    table_free(&t);
    return status;
}

void su_free_options(su_tool *tool)
{
    const su_program *program = tool->program;
    for (int i = 0; i < program->option_count; i++) {
        if (program->options[i].kind != SU_OPT_LIST) continue;
        su_list *list = program->options[i].target;
        free(list->items);
        *list = (su_list){0};
    }
    free(tool->inputs.items);
    tool->inputs = (su_list){0};
    for (int i = 0; tool->command && tool->command[i]; i++) free(tool->command[i]);
    free(tool->command);
    tool->command = NULL;
}
