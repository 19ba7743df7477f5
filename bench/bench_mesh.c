/* Meshing: 100 k triangles to 50 k tets, growth up to 1 M tets (`bench_mesh 1000000` runs up to that; the default stops
 * at 250 k). */
#include "geometry/flesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Processor time of all threads: other work on the machine does not count. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A bumpy, slightly rough ball of 4 rings^2 triangles, about 0.6 m across. */
static su_surface ball(int rings)
{
    int across = 2 * rings, width = across + 1;
    int64_t n = (int64_t)(rings + 1) * width, t = 0;
    double *x = malloc((size_t)(3 * n) * sizeof *x);
    int32_t *triangles = malloc((size_t)(12 * rings * rings) * sizeof *triangles);
    for (int64_t v = 0; v < n; v++) {
        double a = M_PI * (double)(v / width) / rings, b = 2.0 * M_PI * (double)(v % width % across) / across;
        double d[3] = {sin(a) * cos(b), cos(a), -sin(a) * sin(b)};
        if (v / width == 0 || v / width == rings) d[0] = d[2] = 0.0, d[1] = v / width ? -1.0 : 1.0;
        double r = 0.3 * (1.0 + 0.2 * sin(5.0 * d[0] + 1.0) * cos(4.0 * d[1]) + 0.15 * sin(9.0 * d[2]) +
                          0.05 / rings * sin(1e4 * (d[0] + 2 * d[1])));
        for (int i = 0; i < 3; i++) x[3 * v + i] = r * d[i];
    }
    for (int i = 0; i < rings; i++)
        for (int j = 0; j < across; j++) {
            int32_t a = i * width + j, b = a + width, quad[6] = {a, b, b + 1, a, b + 1, a + 1};
            for (int k = 0; k < 6; k++) triangles[3 * t + k] = quad[k];
            t += 2;
        }
    su_surface surface;
    su_error err = {0};
    if (su_surface_create(n, x, t, triangles, NULL, &surface, &err)) puts(err.text), exit(1);
    free(x), free(triangles);
    return surface;
}

int main(int argc, char **argv)
{
    int64_t most = argc > 1 ? atoll(argv[1]) : 250000;
    su_error err = {0};
    su_surface scan = ball(158);
    static const int64_t wanted[] = {15000, 50000, 100000, 250000, 500000, 1000000};
    for (int k = 0; k < 6 && wanted[k] <= most; k++) {
        su_flesh_settings settings = su_flesh_defaults();
        su_flesh flesh;
        settings.method = SU_MESH_SDF, settings.tets = wanted[k];
        double start = seconds();
        if (su_flesh_build(&scan, &settings, &flesh, &err)) return puts(err.text), 1;
        double t = seconds() - start;
        printf("flesh: %lld triangles to %7lld tets: %6.2f s, %5.1f us a tet, dihedral angles from %.1f, volume %.3f\n",
               (long long)scan.t, (long long)flesh.mesh.t, t, 1e6 * t / (double)flesh.mesh.t,
               flesh.quality.dihedral_min, flesh.quality.volume / scan.volume);
        su_flesh_free(&flesh);
    }
    su_surface_free(&scan);
    return 0;
}
