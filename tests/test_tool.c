/* Command lines: option tables, lists that take all words, provenance without folders, statistics. */
#include "core/tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static bool flag;
static int count, choice;
static double number, vector[3];
static const char *text;
static su_list list, greedy;

static const su_option options[] = {
    {"flag", 'f', SU_OPT_FLAG, &flag, NULL, "A flag.", 0, 0, NULL, false, false},
    {"count", 'c', SU_OPT_INT, &count, "N", "A count.", 1, 10, NULL, false, false},
    {"number", 0, SU_OPT_NUMBER, &number, "X", "A number.", 0, INFINITY, NULL, false, false},
    {"choice", 0, SU_OPT_CHOICE, &choice, "WHAT", "A choice.", 0, 0, "one|two|three", false, false},
    {"vector", 0, SU_OPT_VECTOR, &vector, "X,Y,Z", "A vector.", 0, 0, NULL, false, false},
    {"text", 0, SU_OPT_TEXT, &text, "WORD", "A text.", 0, 0, NULL, false, false},
    {"list", 0, SU_OPT_LIST, &list, "FILE", "A list.", 0, 0, NULL, false, false},
    {"shots", 0, SU_OPT_LIST, &greedy, "ANIM", "Shots.", 0, 0, NULL, true, false},
};

static const su_program program = {
    .name = "supple-test",
    .summary = "nothing",
    .usage = "A B -o C",
    .example = "supple test",
    .options = options,
    .option_count = 8,
    .min_inputs = 1,
    .max_inputs = 3,
};

/* Runs su_tool_begin with stderr and stdout caught in said. */
static char said[20000];
static bool begin(su_tool *tool, int *status, const char *const *words)
{
    static char *argv[40];
    int argc = 0;
    argv[argc++] = (char *)(uintptr_t) "supple-test";
    for (; *words; words++) argv[argc++] = (char *)(uintptr_t)*words;
    argv[argc] = NULL;
    flag = false;
    count = 5, choice = 0, number = 0.5, text = NULL;

    char path[] = "/tmp/supple-tool-XXXXXX";
    int file = mkstemp(path), old_out = dup(1), old_err = dup(2);
    fflush(stdout);
    dup2(file, 1);
    dup2(file, 2);
    bool ok = su_tool_begin(tool, &program, argc, argv, status);
    fflush(stdout);
    dup2(old_out, 1);
    dup2(old_err, 2);
    close(old_out);
    close(old_err);
    ssize_t got = pread(file, said, sizeof said - 1, 0);
    said[got > 0 ? got : 0] = '\0';
    close(file);
    unlink(path);
    return ok;
}

#define BEGIN(tool, status, ...) begin(tool, status, (const char *const[]){__VA_ARGS__, NULL})

static void test_values(void **state)
{
    (void)state;
    su_tool tool;
    int status = -1;
    assert_true(BEGIN(&tool, &status, "a/in1", "--number=12%", "-fc", "7", "in2", "--choice", "three", "--vector",
                      "1,-2.5,3e2", "--text", "-x", "-j", "3", "-q", "-o", "/tmp/out"));
    assert_true(flag);
    assert_int_equal(count, 7);
    assert_int_equal(choice, 2);
    assert_true(fabs(number - 0.12) < 1e-15);
    assert_true(vector[0] == 1 && vector[1] == -2.5 && vector[2] == 300);
    assert_string_equal(text, "-x");
    assert_int_equal(tool.threads, 3);
    assert_int_equal(tool.verbosity, -1);
    assert_int_equal(tool.inputs.count, 2);
    assert_string_equal(tool.inputs.items[0], "a/in1");
    assert_string_equal(tool.inputs.items[1], "in2");
    assert_string_equal(tool.output, "/tmp/out");
    assert_int_equal(tool.progress.mode, SU_PROGRESS_NONE);
    assert_int_equal(su_tool_end(&tool, SU_OK), 0);
}

static void test_lists(void **state)
{
    (void)state;
    su_tool tool;
    int status = -1;
    assert_true(BEGIN(&tool, &status, "x.npz", "--shots", "p/a.npz", "q/b.npz", "--list", "/home/me/one", "y.npz",
                      "--list", "two", "--shots", "c.npz", "--", "-z.npz"));
    assert_int_equal(greedy.count, 3);
    assert_string_equal(greedy.items[1], "q/b.npz");
    assert_string_equal(greedy.items[2], "c.npz");
    assert_int_equal(list.count, 2);
    assert_int_equal(tool.inputs.count, 3);
    assert_string_equal(tool.inputs.items[1], "y.npz");
    assert_string_equal(tool.inputs.items[2], "-z.npz");

    json_t *meta = su_tool_meta(&tool, "supple.test", 1, NULL, 0);
    assert_string_equal(su_meta_text(meta, "command", ""),
                        "supple-test x.npz --shots a.npz b.npz --list one y.npz --list two --shots c.npz -z.npz");
    assert_string_equal(su_meta_text(meta, "tool", ""), "supple-test " SU_VERSION);
    assert_string_equal(su_meta_text(meta, "absent", "fallback"), "fallback");
    assert_true(su_meta_number(meta, "version", 0) == 1 && su_meta_number(meta, "kind", 7) == 7);
    json_decref(meta);
    su_tool_end(&tool, SU_OK);
    assert_int_equal(greedy.count, 0);
}

/* Threads, verbosity, progress, statistics and output say nothing about the result, so they stay out of it. */
static void test_command_is_reproducible(void **state)
{
    (void)state;
    su_tool tool;
    int status = -1;
    char first[300];
    assert_true(BEGIN(&tool, &status, "/here/in.npz", "-c3", "--text", "it's so"));
    json_t *meta = su_tool_meta(&tool, "supple.test", 1, NULL, 0);
    snprintf(first, sizeof first, "%s", su_meta_text(meta, "command", ""));
    assert_string_equal(first, "supple-test in.npz --count 3 --text 'it'\\''s so'");
    json_decref(meta);
    su_tool_end(&tool, SU_OK);

    assert_true(BEGIN(&tool, &status, "-v", "--threads", "2", "/there/in.npz", "--count=3", "--progress", "alf",
                      "--stats", "/tmp/supple-test-stats.json", "--text", "it's so", "-o", "/tmp/elsewhere"));
    meta = su_tool_meta(&tool, "supple.test", 1, NULL, 0);
    assert_string_equal(su_meta_text(meta, "command", ""), first);
    json_decref(meta);
    su_tool_end(&tool, SU_OK);
    unlink("/tmp/supple-test-stats.json");
}

static void test_usage_errors(void **state)
{
    (void)state;
    static const struct {
        const char *words[4], *wanted;
    } cases[] = {
        {{"in", "--count", "11"}, "1 to 10"},
        {{"in", "--count", "2.5"}, "whole number"},
        {{"in", "--count", "99999999999"}, "usual"},
        {{"in", "--number", "-1"}, "at least 0"},
        {{"in", "--number", "nan"}, "number"},
        {{"in", "--number", "3x"}, "number"},
        {{"in", "--choice", "tw"}, "one|two|three"},
        {{"in", "--vector", "1,2"}, "x,y,z"},
        {{"in", "--nonsense"}, "--nonsense"},
        {{"in", "-z"}, "-z"},
        {{"in", "--text"}, "--text"},
        {{"in", "--flag=yes"}, "--flag"},
        {{NULL}, "usage"},
        {{"a", "b", "c", "d"}, "too many"},
        {{"in", "-o", "-"}, "text"},
        {{"in", "-j", "0"}, "1 to 256"},
        {{"in", "--progress", "often"}, "none|tty"},
        {{"--help=html"}, "man"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        su_tool tool;
        int status = -1;
        const char *words[5] = {cases[i].words[0], cases[i].words[1], cases[i].words[2], cases[i].words[3], NULL};
        assert_false(begin(&tool, &status, words));
        if (status != SU_USAGE || !strstr(said, cases[i].wanted) || strncmp(said, "supple-test: ", 13) != 0 ||
            strchr(said, '\n') != said + strlen(said) - 1)
            fail_msg("case %zu: status %d, said: %s", i, status, said);
    }
}

static void test_help(void **state)
{
    (void)state;
    su_tool tool;
    int status = -1;
    assert_false(BEGIN(&tool, &status, "--help"));
    assert_int_equal(status, 0);
    for (const char *line = said; *line; line = strchr(line, '\n') + 1)
        if (strchr(line, '\n') - line > 80) fail_msg("help is wider than 80: %.100s", line);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) assert_non_null(strstr(said, options[i].name));
    assert_false(BEGIN(&tool, &status, "--help=man"));
    assert_int_equal(status, 0);
    assert_non_null(strstr(said, ".SH OPTIONS"));
    assert_false(BEGIN(&tool, &status, "--version"));
    assert_string_equal(said, "supple-test " SU_VERSION "\n");
}

static void test_stats(void **state)
{
    (void)state;
    su_tool tool;
    int status = -1;
    const char *path = "/tmp/supple-test-tool-stats.json";
    assert_true(BEGIN(&tool, &status, "dir/in", "-q", "--stats", path));
    su_stats_number(&tool, "value", 0.25);
    su_stats_number(&tool, "endless", INFINITY);
    su_stats_integer(&tool, "whole", 7);
    su_stats_text(&tool, "word", "x");
    su_stats_stage(&tool, "first", 1);
    su_stats_stage(&tool, "first", 2);
    assert_int_equal(su_tool_end(&tool, SU_OK), 0);
    json_t *stats = json_load_file(path, 0, NULL);
    assert_non_null(stats);
    assert_true(su_meta_number(stats, "value", 0) == 0.25);
    assert_true(json_is_null(json_object_get(stats, "endless")));
    assert_true(su_meta_number(stats, "whole", 0) == 7);
    assert_true(su_meta_number(json_object_get(stats, "stages"), "first", 0) == 3);
    assert_true(su_meta_number(stats, "exit_status", -1) == 0);
    assert_true(su_meta_number(stats, "peak_memory_bytes", 0) > 1e5);
    assert_string_equal(json_string_value(json_array_get(json_object_get(stats, "inputs"), 0)), "in");
    json_decref(stats);
    unlink(path);
}

/* A signal only sets the flag, and so does another right after it (timeout(1) sends two); the run ends through its
 * ordinary error path, with 75. */
static void test_stop(void **state)
{
    (void)state;
    su_tool tool;
    int status = -1;
    assert_true(BEGIN(&tool, &status, "in", "-q"));
    assert_int_equal(su_progress_update(&tool.progress, 0.1, &tool.err), SU_OK);
    raise(SIGTERM);
    raise(SIGTERM);
    su_status stopped = su_progress_update(&tool.progress, 0.2, &tool.err);
    assert_int_equal(stopped, SU_AGAIN);
    assert_int_equal(su_tool_end(&tool, SU_NUMERICS), SU_AGAIN);
}

/* A signal more than a second after the first ends a process that did not get round to stopping. */
static void test_second_signal(void **state)
{
    (void)state;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        su_tool tool;
        if (!BEGIN(&tool, &status, "in", "-q")) _exit(1);
        raise(SIGTERM);
        usleep(1050000);
        raise(SIGTERM);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* A process that writes to NULL, having been refused memory or not, or reads behind the end of a mapped file. */
static int crash_of(int way)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        su_tool tool;
        char path[] = "/tmp/supple-tool-XXXXXX";
        int file = mkstemp(path);
        volatile char *at = NULL;
        signal(SIGSEGV, SIG_DFL), signal(SIGBUS, SIG_DFL); /* cmocka has its own */
        if (!BEGIN(&tool, &status, "in", "-q")) _exit(1);
        dup2(open("/dev/null", O_WRONLY), 2);
        unlink(path);
        if (way == 2) at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        errno = way == 1 ? ENOMEM : EINVAL;
        *at = 1;
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What may go well next time ends with 75, and other crashes stay what they are. */
static void test_crashes(void **state)
{
    (void)state;
    assert_true(crash_of(0) == 128 + SIGSEGV);
    assert_int_equal(crash_of(1), SU_AGAIN);
    assert_int_equal(crash_of(2), SU_AGAIN);
}

/* A program whose JSON ran out of memory and that then ends with this status: what it found wrong may be what was lost.
 */
static int forgetful(su_status ends, bool loses)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        su_tool tool;
        json_malloc_t take;
        json_free_t give;
        if (!BEGIN(&tool, &status, "in", "-q")) _exit(1);
        dup2(open("/dev/null", O_WRONLY), 2);
        json_get_alloc_funcs(&take, &give);
        volatile size_t too_much = SIZE_MAX / 2;
        if (loses && take(too_much)) _exit(2);
        _exit(su_tool_end(&tool, ends));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_json_without_memory(void **state)
{
    (void)state;
    assert_int_equal(forgetful(SU_INPUT, false), SU_INPUT);
    assert_int_equal(forgetful(SU_INPUT, true), SU_AGAIN);
    assert_int_equal(forgetful(SU_USAGE, true), SU_AGAIN);
    assert_int_equal(forgetful(SU_OK, true), SU_AGAIN);
}

int main(void)
{
    setenv("OPENBLAS_CORETYPE", "Haswell", 0); /* or the first su_tool_begin starts the program anew */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_command_is_reproducible),
        cmocka_unit_test(test_usage_errors),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_json_without_memory), /* before a stop is asked for, which changes statuses, too */
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_second_signal),
        cmocka_unit_test(test_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
