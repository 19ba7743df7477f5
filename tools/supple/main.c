/* supple: the front end. `supple TOOL ...` becomes supple-TOOL, found beside this program. */
#include "core/threads.h"
#include "core/tool.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of the pipeline. */
static const struct {
    const char *name, *summary;
} tools[] = {
    {"bake", "run the whole pipeline on a character"},
    {"farm-job", "hand what is to be made to a queue manager"},
    {"import", "read a character and a clip from glTF or FBX"},
    {"poses", "choose example poses"},
    {"motion", "make a motion of the rig's own, to train a model on"},
    {"mesh", "fill the skin with tets"},
    {"fit", "fit the flesh to the example poses"},
    {"modes", "vibration modes at the example poses"},
    {"align", "align the modes of all poses"},
    {"refine", "add example poses where the aligned modes are too stiff"},
    {"cubature", "choose where forces are evaluated; makes the model"},
    {"contact", "train few pairs to stand for the contact of the flesh with itself"},
    {"sim", "simulate a shot in the subspace"},
    {"fullsim", "simulate a shot without reduction"},
    {"skin", "the flesh in equilibrium at every frame, without dynamics"},
    {"export", "write Alembic, PC2, MDD, USD or OBJ"},
    {"compare", "measure one simulation against another"},
    {"info", "show and check a file"},
    {"report", "describe a finished bake"},
    {"creature", "write the demo character"},
    {"doctor", "say what is installed and what is missing"},
    {"completions", "complete command lines in bash and zsh"},
};

/* The folder this program was started from, links resolved, without a slash at the end. */
static int own_folder(char *out, size_t room)
{
    ssize_t length = readlink("/proc/self/exe", out, room - 1);
    if (length <= 0 || (size_t)length >= room - 1) return -1;
    out[length] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash) return -1;
    *slash = '\0';
    return 0;
}

/* Beside this program; a script also in scripts/ of the source tree that this was built in (bin/ or build/X/bin/). */
static int find(const char *folder, const char *tool, char *out, size_t room)
{
    static const char *const places[] = {"", "/../scripts", "/../../../scripts"};
    if (strchr(tool, '/')) return -1;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int length = snprintf(out, room, "%s%s/supple-%s", folder, places[i], tool);
        if (length > 0 && (size_t)length < room && access(out, X_OK) == 0) return 0;
    }
    return -1;
}

static void list(const char *folder, FILE *stream)
{
    char path[PATH_MAX + 64];
    fprintf(stream,
            "supple %s: physically based soft-tissue motion for rigged characters\n\n"
            "Usage: supple TOOL [options] FILE...\n\nTools:\n",
            SU_VERSION);
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (find(folder, tools[i].name, path, sizeof path) == 0)
            fprintf(stream, "  %-11s %s\n", tools[i].name, tools[i].summary);
    fprintf(stream, "\n`supple TOOL --help` says more. Example:\n  supple bake fox.glb -o out/\n");
}

int main(int argc, char **argv)
{
    char folder[PATH_MAX], path[PATH_MAX + 64];
    if (own_folder(folder, sizeof folder) != 0) {
        fprintf(stderr, "supple: cannot tell where it is installed\n");
        return SU_FAILED;
    }
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        list(folder, stdout);
        return fflush(stdout) == 0 ? SU_OK : SU_AGAIN;
    }
    if (strcmp(argv[1], "--help=man") == 0) {
        printf(".TH supple 1 \"\" \"supple %s\" \"supple\"\n.SH NAME\nsupple \\- physically based soft\\-tissue motion "
               "for rigged characters\n.SH SYNOPSIS\n.B supple\n.I tool\n[options] file...\n.SH TOOLS\n",
               SU_VERSION);
        for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
            printf(".TP\n.BR supple\\-%s (1)\n%s\n", tools[i].name, tools[i].summary);
        return fflush(stdout) == 0 ? SU_OK : SU_AGAIN;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("supple %s\n", SU_VERSION);
        return fflush(stdout) == 0 ? SU_OK : SU_AGAIN;
    }
    if (find(folder, argv[1], path, sizeof path) != 0) {
        fprintf(stderr, "supple: '%s' is not a tool of supple; `supple` alone lists them\n", argv[1]);
        return SU_USAGE;
    }
    setenv("SUPPLE_BIN", folder, 1); /* scripts run the programs beside this one */
    char threads[16];
    snprintf(threads, sizeof threads, "%d", su_thread_count(0));
    setenv("SUPPLE_THREADS", threads, 1); /* and so many at a time */
    /* Idle threads sleep, once they have waited for about as long as waking takes (1000 turns, some 15 us). By default
     * those of libgomp spin for longer, and beside other work (a bake runs several programs, a farm several bakes) take
     * the processor from one that has something to do: a full simulation on two threads of two processors took ten
     * times as long at a load of 7, and 5 % less than so at none. */
    setenv("OMP_WAIT_POLICY", "passive", 0);
    setenv("GOMP_SPINCOUNT", "1000", 0);
    /* Programs use one thread of OpenBLAS (core/tool.c), which else starts one a processor before main, and these spin
     * for some 0.1 s. */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    execv(path, argv + 1);
    fprintf(stderr, "supple: %s: cannot run it: %s\n", path, strerror(errno));
    return SU_FAILED;
}
