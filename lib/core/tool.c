#include "core/tool.h"
#include "core/child.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/tool_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Present where OpenBLAS is linked; its results depend on its thread count, so it gets one. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

/* The only globals of the project: neither a signal handler nor what runs at exit can reach anything else. */
static volatile sig_atomic_t stop_requested;
static const char *unfinished; /* name of the program between su_tool_begin and su_tool_end */
static struct timespec stop_requested_at;
static struct sigaction before_crash[2]; /* what SIGSEGV and SIGBUS did */

/* A signal that follows a second or more after the first ends the process at once. One that follows sooner is the same
 * wish told twice: timeout(1) signals its child and then the whole process group, a terminal and a queue manager may
 * each send one. */
static void request_stop(int number)
{
    enum { SAME_WISH_NS = 1000000000 };
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* async-signal-safe, as are signal and raise */
    if (!stop_requested) {
        stop_requested_at = now;
        stop_requested = 1;
    } else if ((now.tv_sec - stop_requested_at.tv_sec) * 1000000000LL + now.tv_nsec - stop_requested_at.tv_nsec >=
               SAME_WISH_NS) {
        signal(number, SIG_DFL);
        raise(number); /* delivered when the handler returns */
    }
}

static void say(const char *text) { (void)!write(STDERR_FILENO, text, strlen(text)); }

/* Two crashes are want of something that may be there next time: memory, which a library did not look for; and what
 * stands behind a mapped file, which was cut short, or whose disk fails. Everything else happens once more, as without
 * this. */
static void crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    bool memory = su_crashed_for_memory(info);
    if (unfinished && (memory || number == SIGBUS)) {
        say(unfinished);
        say(memory ? ": a library ran out of memory; try again\n"
                   : ": a file was cut short while it was read, or its disk fails; try again\n");
        _exit(SU_AGAIN);
    }
    sigaction(number, &before_crash[number == SIGBUS], NULL);
}

static void install_handlers(void)
{
    struct sigaction crashing = {.sa_sigaction = crash, .sa_flags = SA_SIGINFO};
    sigemptyset(&crashing.sa_mask);
    sigaction(SIGSEGV, &crashing, &before_crash[0]);
    sigaction(SIGBUS, &crashing, &before_crash[1]);
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGTERM); /* the handler runs once at a time */
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaddset(&action.sa_mask, SIGINT);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

/* OpenMP's library calls exit where it has no memory or no thread: the status is then ours. A child process shares no
 * exit handler's work: it ends by _exit. */
static void end_unfinished(void)
{
    if (!unfinished) return;
    fprintf(stderr, "%s: a library gave up, most likely for want of memory or threads; try again\n", unfinished);
    _exit(SU_AGAIN);
}

/* ---- messages ---- */

static void vtalk(su_tool *tool, const char *prefix, const char *format, va_list args)
{
    if (tool->progress.mode == SU_PROGRESS_TTY && tool->progress.last >= 0) fputs("\r\033[K", stderr);
    fprintf(stderr, "%s: %s", tool->program->name, prefix);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

static void talk(su_tool *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void talk(su_tool *tool, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vtalk(tool, "", format, args);
    va_end(args);
}

void su_note(su_tool *tool, const char *format, ...)
{
    if (tool->verbosity < 0) return;
    va_list args;
    va_start(args, format);
    vtalk(tool, "", format, args);
    va_end(args);
}

void su_detail(su_tool *tool, const char *format, ...)
{
    if (tool->verbosity < 1) return;
    va_list args;
    va_start(args, format);
    vtalk(tool, "", format, args);
    va_end(args);
}

void su_warn(su_tool *tool, const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    talk(tool, "warning: %s", text);
    json_array_append_new(json_object_get(tool->stats, "warnings"), json_string(text));
}

/* ---- outputs ---- */

/* An output that cannot be written should fail before the work, not after it. */
static su_status check_output(su_tool *tool, const char *path)
{
    struct stat info;
    size_t length = strlen(path);
    char *folder = strdup(path);
    if (!folder) return su_fail(&tool->err, SU_AGAIN, "out of memory");
    while (length > 1 && folder[length - 1] == '/') folder[--length] = '\0';
    su_status status = SU_OK;
    if (stat(folder, &info) == 0) {
        if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
            status = su_fail(&tool->err, SU_FAILED, "%s: not a regular file; choose another output", path);
        else if (access(folder, W_OK) != 0)
            status = su_fail(&tool->err, SU_FAILED, "%s: cannot write here: %s", path, strerror(errno));
    } else if (path[strlen(path) - 1] != '/') {
        char *slash = strrchr(folder, '/');
        if (slash) slash[slash == folder] = '\0';
        if (access(slash ? folder : ".", W_OK | X_OK) != 0)
            status = su_fail(&tool->err, SU_FAILED, "%s: cannot write into its folder: %s", path, strerror(errno));
        else if (slash && stat(folder, &info) == 0 && !S_ISDIR(info.st_mode))
            status = su_fail(&tool->err, SU_FAILED, "%s: cannot write here: %s is not a folder", path, folder);
    }
    free(folder);
    return status;
}

static su_progress_mode progress_mode(const su_common *common)
{
    if (common->progress != SU_PROGRESS_AUTO) return (su_progress_mode)common->progress;
    if (common->quiet) return SU_PROGRESS_NONE;
    return isatty(STDERR_FILENO) ? SU_PROGRESS_TTY : SU_PROGRESS_LINES;
}

/* ---- kernels ---- */

#define STRICT_BLAS "Haswell" /* also what OpenBLAS has for Zen; AVX2 and FMA */
#define STRICT_OWN "avx2"     /* runtime/kernels/kernel_set.h */

static bool has_avx2(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static bool has_avx512(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

/* By the option, or for all programs of a script by SUPPLE_STRICT. Looked for before options are read, for kernels are
 * chosen before main. */
static bool strict_asked(char **argv)
{
    const char *always = getenv("SUPPLE_STRICT");
    if (always && *always) return true;
    for (int i = 1; argv[i] && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--strict") == 0) return true;
    return false;
}

/* OpenBLAS decides before main, so the program starts itself again with the kernels that it is to have: with --strict
 * those that all processors can run; else, for version 0.3.21 takes processors it does not know for old ones
 * ("Prescott" on Emerald Rapids runs dgemm at a quarter of the speed, "Haswell" on Zen 4 at half), those of the
 * processor, unless OPENBLAS_CORETYPE is set. */
static void choose_kernels(char **argv)
{
    static const char *const wide[] = {"SkylakeX", "Cooperlake", "SapphireRapids", NULL};
    static const char *const narrow[] = {"Haswell", "Zen", NULL};
    static const char *const pinned[] = {STRICT_BLAS, NULL};
    bool strict = strict_asked(argv);
    if (!has_avx2()) return;
    if (strict && setenv("SUPPLE_KERNELS", STRICT_OWN, 1) != 0) return;
    if (!openblas_get_corename || (!strict && getenv("OPENBLAS_CORETYPE"))) return;
    const char *const *good = strict         ? pinned
                              : has_avx512() ? wide
                                             : narrow,
                      *now = openblas_get_corename(), *asked = getenv("OPENBLAS_CORETYPE");
    for (int i = 0; good[i]; i++)
        if (strcmp(now, good[i]) == 0) return;
    if (asked && strcmp(asked, good[0]) == 0) return; /* it has been asked for, and is not there */
    if (setenv("OPENBLAS_CORETYPE", good[0], 1) == 0) execv("/proc/self/exe", argv);
}

static su_status check_strict(su_tool *tool)
{
    const char *own = getenv("SUPPLE_KERNELS");
    if (!has_avx2()) return su_fail(&tool->err, SU_FAILED, "--strict: this processor has no AVX2 and FMA");
    if (!own || strcmp(own, STRICT_OWN) != 0 ||
        (openblas_get_corename && strcmp(openblas_get_corename(), STRICT_BLAS) != 0))
        return su_fail(&tool->err, SU_FAILED, "--strict: OpenBLAS cannot be had with its kernels for " STRICT_BLAS);
    return SU_OK;
}

/* ---- begin and end ---- */

static su_status begin(su_tool *tool, su_common *common, int argc, char **argv)
{
    tool->stats = json_object();
    if (!tool->stats || json_object_set_new(tool->stats, "warnings", json_array()) != 0 ||
        json_object_set_new(tool->stats, "stages", json_object()) != 0)
        return su_fail(&tool->err, SU_AGAIN, "out of memory");
    SU_TRY(su_parse_options(tool, common, argc, argv));
    tool->stats_path = common->stats;
    tool->output = common->output;
    tool->output_is_stdout = common->output && strcmp(common->output, "-") == 0;
    tool->threads = su_thread_count(common->threads);
    tool->verbosity = common->quiet ? -1 : common->verbose;
    tool->dry_run = common->dry_run;
    tool->progress = (su_progress){.mode = progress_mode(common),
                                   .stream = stderr,
                                   .label = tool->program->name,
                                   .span = 1,
                                   .last = -1,
                                   .stop = &stop_requested};
    if (su_only_tells(common)) return SU_OK;
    if (common->strict || strict_asked(argv)) SU_TRY(check_strict(tool));
    if (tool->output && !tool->output_is_stdout) SU_TRY(check_output(tool, tool->output));
    return tool->stats_path ? check_output(tool, tool->stats_path) : SU_OK;
}

/* A file must not be opened as standard output or error, or what is said ends up in it. Where one is closed its place
 * is taken by what fails at every use, as a closed one does. */
static void take_standard_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
}

bool su_tool_begin(su_tool *tool, const su_program *program, int argc, char **argv, int *status)
{
    take_standard_places();
    choose_kernels(argv);
    su_json_watch_memory();
    unfinished = program->name;
    atexit(end_unfinished);
    su_common common = {.progress = SU_PROGRESS_AUTO};
    *tool = (su_tool){.program = program, .started = su_seconds()};
    su_status began = begin(tool, &common, argc, argv);
    if (began != SU_OK || su_only_tells(&common)) {
        if (began == SU_OK) {
            tool->stats_path = NULL;
            if (common.help)
                su_print_help(program, stdout);
            else if (common.man)
                su_print_man(program, stdout);
            else if (common.table)
                su_print_table(program, stdout);
            else
                printf("%s %s\n", program->name, SU_VERSION);
        }
        *status = su_tool_end(tool, began);
        return false;
    }
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    omp_set_num_threads(tool->threads);
    install_handlers();
    return true;
}

static json_t *command_text(const su_tool *tool);

static su_status write_stats(su_tool *tool, su_status ended)
{
    su_status status = SU_OK;
    su_output out = {0};
    json_t *stats = tool->stats, *inputs = json_array();
    for (int i = 0; i < tool->inputs.count; i++)
        json_array_append_new(inputs, json_string(su_base_name(tool->inputs.items[i])));
    json_object_set_new(stats, "inputs", inputs);
    json_object_set_new(stats, "tool", json_string(tool->program->name));
    json_object_set_new(stats, "version", json_string(SU_VERSION));
    bool good = json_object_set_new(stats, "command", command_text(tool)) == 0;
    json_object_set_new(stats, "threads", json_integer(tool->threads));
    json_object_set_new(stats, "seconds", json_real(su_seconds() - tool->started));
    json_object_set_new(stats, "peak_memory_bytes", json_integer(su_peak_memory()));
    json_object_set_new(stats, "exit_status", json_integer(ended));
    if (ended != SU_OK) json_object_set_new(stats, "error", json_string(tool->err.text));

    char *text = good ? su_json_dump(stats, JSON_SORT_KEYS | JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
    if (!text) return su_fail(&tool->err, SU_AGAIN, "%s: out of memory", tool->stats_path);
    SU_GO(su_output_open(&out, tool->stats_path, &tool->err));
    SU_GO(su_output_write(&out, text, strlen(text), &tool->err));
    SU_GO(su_output_write(&out, "\n", 1, &tool->err));
    SU_GO(su_output_commit(&out, &tool->err));
done:
    su_output_abandon(&out);
    free(text);
    return status;
}

int su_tool_end(su_tool *tool, su_status status)
{
    unfinished = NULL;
    su_progress_finish(&tool->progress);
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == SU_OK)
        status = su_fail(&tool->err, SU_AGAIN, "standard output: writing failed: %s", strerror(errno));
    /* What fails after that may miss a key that was lost for want of memory: neither input nor words are wrong. */
    if (status != SU_AGAIN && su_json_missed_memory()) status = su_fail(&tool->err, SU_AGAIN, "out of memory");
    if (status != SU_OK && stop_requested) status = SU_AGAIN;
    if (status != SU_OK) talk(tool, "%s", tool->err.text[0] ? tool->err.text : "failed");
    if (tool->stats_path) {
        su_status wrote = write_stats(tool, status);
        if (wrote != SU_OK) talk(tool, "%s", tool->err.text);
        if (status == SU_OK) status = wrote;
    }
    json_decref(tool->stats);
    tool->stats = NULL;
    su_free_options(tool);
    return (int)status;
}

/* ---- statistics ---- */

void su_stats_number(su_tool *tool, const char *key, double value)
{
    json_t *number = json_real(value); /* NULL for NaN and infinity, which JSON cannot hold */
    json_object_set_new(tool->stats, key, number ? number : json_null());
}

void su_stats_integer(su_tool *tool, const char *key, int64_t value)
{
    json_object_set_new(tool->stats, key, json_integer(value));
}

void su_stats_text(su_tool *tool, const char *key, const char *value)
{
    json_object_set_new(tool->stats, key, json_string(value));
}

void su_stats_stage(su_tool *tool, const char *stage, double seconds)
{
    json_t *stages = json_object_get(tool->stats, "stages");
    json_object_set_new(stages, stage, json_real(seconds + json_real_value(json_object_get(stages, stage))));
}

/* ---- provenance ---- */

/* A word as a shell would need it. */
static int append_word(char *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+%@";
    char *at = out;
    if (*word && word[strspn(word, plain)] == '\0') {
        strcpy(at, word);
        return (int)strlen(word);
    }
    *at++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            at += sprintf(at, "'\\''");
        else
            *at++ = *word;
    }
    *at++ = '\'';
    *at = '\0';
    return (int)(at - out);
}

static json_t *command_text(const su_tool *tool)
{
    size_t room = 1;
    for (int i = 0; tool->command && tool->command[i]; i++) room += 4 * strlen(tool->command[i]) + 4;
    char *text = calloc(room, 1), *at = text;
    if (!text) return NULL;
    for (int i = 0; tool->command && tool->command[i]; i++) {
        if (i) *at++ = ' ';
        at += append_word(at, tool->command[i]);
    }
    json_t *value = json_string(text);
    free(text);
    return value;
}

json_t *su_tool_meta(su_tool *tool, const char *kind, int version, const char *const *inputs, int input_count)
{
    char name[100], hex[33];
    json_t *meta = json_object(), *list = json_array();
    snprintf(name, sizeof name, "%s %s", tool->program->name, SU_VERSION);
    json_object_set_new(meta, "kind", json_string(kind));
    json_object_set_new(meta, "version", json_integer(version));
    json_object_set_new(meta, "tool", json_string(name));
    bool good = json_object_set_new(meta, "command", command_text(tool)) == 0;
    for (int i = 0; i < input_count; i++) {
        if (su_file_digest(inputs[i], hex, &tool->err) != SU_OK) {
            json_decref(list);
            json_decref(meta);
            return NULL;
        }
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", su_base_name(inputs[i]), "digest", hex));
    }
    good &= json_object_set_new(meta, "inputs", list) == 0;
    if (!good) {
        su_fail(&tool->err, SU_AGAIN, "out of memory");
        json_decref(meta);
        return NULL;
    }
    return meta;
}
