#include "geometry/tetgen.h"

#include "core/file.h"
#include "core/memory.h"
#include "geometry/mat3.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* TetGen works on the skin moved to the origin and scaled to this diagonal: its bounds are printed in plain decimals.
 */
static const double WORK_DIAGONAL = 100.0;

enum { COULD_NOT_LOAD = 127 }; /* status of a program whose libraries could not be loaded */

static su_status write_smesh(const su_surface *s, const char *path, su_error *err)
{
    double scale = WORK_DIAGONAL / s->diagonal;
    FILE *f = fopen(path, "w");
    if (!f) return su_fail(err, SU_AGAIN, "%s: %s", path, strerror(errno));
    fprintf(f, "%lld 3 0 0\n", (long long)s->n);
    for (int64_t v = 0; v < s->n; v++) {
        const double *x = s->x + 3 * v;
        fprintf(f, "%lld %.17g %.17g %.17g\n", (long long)v, (x[0] - s->low[0]) * scale, (x[1] - s->low[1]) * scale,
                (x[2] - s->low[2]) * scale);
    }
    fprintf(f, "%lld 0\n", (long long)s->t);
    for (int64_t k = 0; k < s->t; k++)
        fprintf(f, "3 %d %d %d\n", s->triangles[3 * k], s->triangles[3 * k + 1], s->triangles[3 * k + 2]);
    fprintf(f, "0\n0\n");
    int failed = ferror(f);
    if (fclose(f) || failed) return su_fail(err, SU_AGAIN, "%s: cannot write (%s)", path, strerror(errno));
    return SU_OK;
}

static su_status cannot_read(const char *path, su_error *err)
{
    return su_fail(err, SU_AGAIN, "%s: cannot read what TetGen made: %s", path, strerror(EIO));
}

/* First line of .node and .ele: a count and the width of a row. */
static su_status open_table(const char *path, FILE **out, long long *count, su_error *err)
{
    FILE *f = fopen(path, "r");
    if (!f) return su_fail(err, su_file_status(errno, SU_FAILED), "TetGen left no %s file", strrchr(path, '.'));
    char line[200];
    if (!fgets(line, sizeof line, f) || sscanf(line, "%lld", count) != 1) *count = 0;
    if (ferror(f)) {
        fclose(f);
        return cannot_read(path, err);
    }
    if (*count < 1 || *count > INT32_MAX / 4) {
        fclose(f);
        return su_fail(err, SU_FAILED, "TetGen left an empty %s file", strrchr(path, '.'));
    }
    *out = f;
    return SU_OK;
}

static su_status read_result(const char *nodes, const char *elements, su_tets *out, su_error *err)
{
    su_status status = SU_OK;
    FILE *f = NULL;
    long long n, t, index;
    SU_GO(open_table(nodes, &f, &n, err));
    SU_GO(SU_ALLOC(&out->x, 3 * n, "flesh vertices", err));
    for (out->n = 0; out->n < n; out->n++) {
        double *x = out->x + 3 * out->n;
        if (fscanf(f, "%lld %lf %lf %lf%*[^\n]", &index, x, x + 1, x + 2) != 4 || index != out->n) {
            status = su_fail(err, SU_FAILED, "TetGen's vertex list ends at %lld of %lld", (long long)out->n, n);
            goto done;
        }
    }
    fclose(f), f = NULL;
    SU_GO(open_table(elements, &f, &t, err));
    SU_GO(SU_ALLOC(&out->tets, 4 * t, "tets", err));
    for (out->t = 0; out->t < t; out->t++) {
        int32_t *e = out->tets + 4 * out->t;
        int got = fscanf(f, "%lld %d %d %d %d%*[^\n]", &index, e, e + 1, e + 2, e + 3);
        for (int i = 0; got == 5 && i < 4; i++)
            if (e[i] < 0 || e[i] >= n) got = 0;
        if (got != 5) {
            status = su_fail(err, SU_FAILED, "TetGen's tet list ends at %lld of %lld", (long long)out->t, t);
            goto done;
        }
    }
done:
    if (f && ferror(f)) status = cannot_read(elements, err);
    if (f) fclose(f);
    return status;
}

/* Own coordinates back in place (the text form loses the last bit), orientation by our convention, checks. */
static su_status settle_result(const su_surface *s, su_tets *mesh, su_error *err)
{
    if (mesh->n < s->n) return su_fail(err, SU_FAILED, "TetGen dropped vertices of the skin");
    double scale = s->diagonal / WORK_DIAGONAL;
    for (int64_t k = 3 * s->n; k < 3 * mesh->n; k++) mesh->x[k] = mesh->x[k] * scale + s->low[k % 3];
    memcpy(mesh->x, s->x, (size_t)(3 * s->n) * sizeof *s->x);
    double total = 0.0;
    for (int64_t e = 0; e < mesh->t; e++) {
        int32_t *tet = mesh->tets + 4 * e;
        double volume = su_tet_volume(mesh->x, tet);
        if (volume < 0.0) {
            int32_t swap = tet[2];
            tet[2] = tet[3], tet[3] = swap;
            volume = -volume;
        }
        if (!(volume > 0.0)) return su_fail(err, SU_FAILED, "TetGen made a flat tet (%lld)", (long long)e);
        total += volume;
    }
    /* TetGen joins nearly coplanar triangles before it meshes them, which moves the boundary by a hair */
    if (fabs(total - s->volume) > 1e-4 * fabs(s->volume))
        return su_fail(err, SU_FAILED, "TetGen's tets fill %.6g m^3, the skin holds %.6g", total, s->volume);
    return SU_OK;
}

/* Last line of the child's talk that says something. */
static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length && (text[length - 1] == '\n' || text[length - 1] == ' ')) text[--length] = 0;
    char *line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

/* TetGen does not notice when its files are cut short. */
static bool disk_full(const char *folder)
{
    struct statvfs disk;
    return statvfs(folder, &disk) == 0 && (disk.f_bavail == 0 || (disk.f_files > 0 && disk.f_favail == 0));
}

/* What to call a failure, from how the child ended. Signals from outside and a full disk are worth another try. TetGen
 * does not say that memory was short: it throws a number, or follows a null pointer. */
static su_status explain(const su_child_limits *limits, su_child_result *end, const char *folder, su_status status,
                         su_error *err)
{
    bool killed = end->end == SU_CHILD_KILLED;
    if (disk_full(folder)) return su_fail(err, SU_AGAIN, "%s: the disk is full, TetGen's files do not fit", folder);
    if (status == SU_FAILED && !killed && end->code == COULD_NOT_LOAD)
        return su_fail(err, SU_AGAIN, "TetGen could not be started (%s)", last_line(end->tail));
    if (killed && limits->memory_bytes > 0 && 2 * end->peak_bytes > limits->memory_bytes)
        return su_fail(err, SU_NUMERICS, "TetGen ran out of memory (limit %.3g GiB)",
                       (double)limits->memory_bytes / 1073741824.0);
    if (su_child_was_killed(end)) return su_fail(err, SU_AGAIN, "TetGen was killed (signal %d)", end->code);
    if (killed) return su_fail(err, SU_FAILED, "TetGen died of signal %d (%s)", end->code, last_line(end->tail));
    return status;
}

/* What TetGen is known to write goes by name, which takes neither memory nor a descriptor: there may be none left. */
static void remove_folder(const char *folder)
{
    static const char *const names[] = {"skin.smesh", "skin.1.node", "skin.1.ele", "skin.1.face", "skin.1.edge"};
    char path[460];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    if (rmdir(folder) == 0 || errno != ENOTEMPTY) return;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) unlinkat(dirfd(list), entry->d_name, 0);
    if (list) closedir(list);
    rmdir(folder);
}

#define FOLDER "supple-tetgen-"

/* Runs that were killed leave their folders behind, unlocked. */
static void sweep(const char *base)
{
    DIR *list = opendir(base);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        char path[400];
        struct stat about;
        if (strncmp(entry->d_name, FOLDER, strlen(FOLDER)) != 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", base, entry->d_name) >= (int)sizeof path) continue;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        if (fstat(fd, &about) == 0 && about.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
            remove_folder(path);
        close(fd);
    }
    if (list) closedir(list);
}

/* A new folder (room for 400 bytes), locked for as long as *fd is open. Where the disk knows no locks, there is nothing
 * that sweeps, either. */
static su_status make_folder(const char *base, char *folder, int *fd, su_error *err)
{
    enum { TRIES = 100 };
    struct stat locked, named;
    for (int k = 0; k < TRIES; k++) {
        snprintf(folder, 400, "%s/" FOLDER "XXXXXX", base);
        if (!mkdtemp(folder)) break;
        *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (*fd < 0 && errno != ENOENT) {
            rmdir(folder);
            break;
        }
        if (*fd < 0) continue; /* swept before it was locked */
        flock(*fd, LOCK_SH);
        if (fstat(*fd, &locked) == 0 && stat(folder, &named) == 0 && locked.st_ino == named.st_ino) return SU_OK;
        close(*fd);
    }
    return su_fail(err, SU_AGAIN, "%s: cannot make a temporary folder (%s)", folder, strerror(errno));
}

su_status su_tetgen_run(const su_surface *surface, const su_tetgen_settings *settings, su_tets *out, su_error *err)
{
    su_status status = SU_OK;
    su_tets mesh = {0};
    su_child_result end = {0};
    const char *base = settings->folder ? settings->folder : "/tmp";
    double scale = WORK_DIAGONAL / surface->diagonal;
    char folder[400], path[460], nodes[460], elements[460], flags[100], volume[40] = "";
    int lock = -1;
    sweep(base);
    SU_TRY(make_folder(base, folder, &lock, err));
    snprintf(path, sizeof path, "%s/skin.smesh", folder);
    snprintf(nodes, sizeof nodes, "%s/skin.1.node", folder);
    snprintf(elements, sizeof elements, "%s/skin.1.ele", folder);
    status = write_smesh(surface, path, err);
    if (status) {
        if (disk_full(folder))
            status = su_fail(err, SU_AGAIN, "%s: the disk is full, the skin does not fit for TetGen", folder);
        goto done;
    }
    if (settings->volume_bound > 0.0)
        snprintf(volume, sizeof volume, "a%.12f", settings->volume_bound * scale * scale * scale);
    /* -B -F: no boundary files */
    snprintf(flags, sizeof flags, "-pq%.4f/%.2f%sBFQ", settings->radius_edge, settings->dihedral, volume);
    const char *argv[] = {settings->program ? settings->program : "tetgen", flags, "skin.smesh", NULL};
    SU_GO(su_child_run(argv, folder, &settings->limits, &end, err));
    if (end.end == SU_CHILD_STOPPED) {
        status = su_fail(err, SU_AGAIN, "stopped while TetGen ran");
        goto done;
    }
    if (end.end == SU_CHILD_TIMEOUT) {
        status = su_fail(err, SU_NUMERICS, "TetGen did not end within %g s", settings->limits.seconds);
        goto done;
    }
    status = read_result(nodes, elements, &mesh, err);
    if (!status) status = settle_result(surface, &mesh, err);
    if (status) {
        status = explain(&settings->limits, &end, folder, status, err);
        goto done;
    }
    *out = mesh;
    memset(&mesh, 0, sizeof mesh);
done:
    remove_folder(folder);
    close(lock);
    su_tets_free(&mesh);
    return status;
}
