#include "core/threads.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 256 };

static int from_environment(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text) return 0;
    long value = strtol(text, &end, 10); /* OMP_NUM_THREADS may be a list "4,2": the outermost level counts */
    return end != text && (*end == '\0' || *end == ',') && value > 0 && value <= MAX_THREADS ? (int)value : 0;
}

/* CPUs that the CPU controller of one cgroup folder allows; INFINITY where there is no limit. */
static double quota_at(const char *folder, int version)
{
    char path[1200];
    double quota = -1, period = 0;
    snprintf(path, sizeof path, "%s/%s", folder, version == 2 ? "cpu.max" : "cpu.cfs_quota_us");
    FILE *file = fopen(path, "r");
    if (!file) return INFINITY;
    int found = fscanf(file, version == 2 ? "%lf %lf" : "%lf", &quota, &period);
    fclose(file);
    if (version == 2) return found == 2 && quota > 0 && period > 0 ? quota / period : INFINITY;
    if (found != 1 || quota <= 0) return INFINITY;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!(file = fopen(path, "r"))) return INFINITY;
    found = fscanf(file, "%lf", &period);
    fclose(file);
    return found == 1 && period > 0 ? quota / period : INFINITY;
}

/* The tightest limit from this process's cgroup up to the root. */
static double cgroup_cpus(void)
{
    double cpus = INFINITY;
    char line[1000];
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file) return cpus;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        controllers++;
        int version = controllers[0] == '\0' ? 2 : strstr(controllers, "cpu") && !strstr(controllers, "cpuset") ? 1 : 0;
        if (!version) continue;
        for (;;) {
            char folder[1100];
            snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s", version == 2 ? "" : "/cpu", group);
            cpus = fmin(cpus, quota_at(folder, version));
            char *slash = strrchr(group, '/');
            if (!slash || !*group) break;
            *slash = '\0';
        }
    }
    fclose(file);
    return cpus;
}

int su_thread_count(int requested)
{
    static const char *const variables[] = {"OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK", "CUE_THREADS"};
    int count = requested;
    for (size_t i = 0; count <= 0 && i < sizeof variables / sizeof *variables; i++)
        count = from_environment(variables[i]);
    if (count <= 0) {
        cpu_set_t set;
        count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
        double cpus = ceil(cgroup_cpus() - 1e-9);
        if (cpus < count) count = (int)cpus;
    }
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
}

double su_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
