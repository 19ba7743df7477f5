#include "skins.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void skin_free(skin *s)
{
    free(s->x);
    free(s->triangles);
    memset(s, 0, sizeof *s);
}

static skin make(const char *name, int64_t n, int64_t t)
{
    return (skin){name, n, t, calloc((size_t)(3 * n + 1), sizeof(double)),
                  calloc((size_t)(3 * t + 1), sizeof(int32_t))};
}

static void put(skin *s, int64_t k, int64_t a, int64_t b, int64_t c)
{
    s->triangles[3 * k] = (int32_t)a, s->triangles[3 * k + 1] = (int32_t)b, s->triangles[3 * k + 2] = (int32_t)c;
}

/* Latitudes 1..rings-1 of 2 rings longitudes, and two poles; y up. stretch is added to the upper half's y. */
static skin round_body(const char *name, double radius, double stretch, int rings)
{
    int around = 2 * rings;
    skin s = make(name, (int64_t)(rings - 1) * around + 2, (int64_t)2 * around * (rings - 1));
    int64_t k = 0, last = s.n - 1;
    for (int i = 1; i < rings; i++)
        for (int j = 0; j < around; j++) {
            double *x = s.x + 3 * ((int64_t)(i - 1) * around + j), a = M_PI * i / rings, b = 2.0 * M_PI * j / around;
            x[0] = radius * sin(a) * cos(b), x[1] = radius * cos(a) + (2 * i < rings ? stretch : 0.0),
            x[2] = -radius * sin(a) * sin(b);
        }
    s.x[3 * (last - 1) + 1] = radius + stretch;
    s.x[3 * last + 1] = -radius;
    for (int j = 0; j < around; j++) {
        int64_t next = (j + 1) % around, low = (int64_t)(rings - 2) * around;
        put(&s, k++, last - 1, j, next);
        put(&s, k++, last, low + next, low + j);
        for (int i = 0; i + 2 < rings; i++) {
            int64_t a = (int64_t)i * around;
            put(&s, k++, a + j, a + around + j, a + around + next);
            put(&s, k++, a + j, a + around + next, a + next);
        }
    }
    return s;
}

static skin join(const char *name, skin a, skin b)
{
    skin s = make(name, a.n + b.n, a.t + b.t);
    memcpy(s.x, a.x, (size_t)(3 * a.n) * sizeof *s.x);
    memcpy(s.x + 3 * a.n, b.x, (size_t)(3 * b.n) * sizeof *s.x);
    memcpy(s.triangles, a.triangles, (size_t)(3 * a.t) * sizeof *s.triangles);
    for (int64_t k = 0; k < 3 * b.t; k++) s.triangles[3 * a.t + k] = b.triangles[k] + (int32_t)a.n;
    skin_free(&a);
    skin_free(&b);
    return s;
}

static void flip(skin *s, int64_t k)
{
    int32_t swap = s->triangles[3 * k + 1];
    s->triangles[3 * k + 1] = s->triangles[3 * k + 2], s->triangles[3 * k + 2] = swap;
}

static void shift(skin *s, double x, double y, double z)
{
    for (int64_t v = 0; v < s->n; v++) s->x[3 * v] += x, s->x[3 * v + 1] += y, s->x[3 * v + 2] += z;
}

skin skin_sphere(double radius, int rings) { return round_body("sphere", radius, 0.0, rings); }

skin skin_capsule(double radius, double length, int rings) { return round_body("capsule", radius, length, rings); }

skin skin_nested(double outer, double inner, int inward)
{
    skin a = skin_sphere(outer, 20), b = skin_sphere(inner, 14);
    for (int64_t k = 0; inward && k < b.t; k++) flip(&b, k);
    return join(inward ? "sphere with a cavity" : "nested shells", a, b);
}

skin skin_half_ear(void)
{
    skin s = round_body("half ear", 0.05, 0.0, 16);
    int64_t kept = 0;
    for (int64_t v = 0; v < s.n; v++) s.x[3 * v + 2] *= 0.4;
    for (int64_t k = 0; k < s.t; k++) {
        double z = 0;
        for (int i = 0; i < 3; i++) z += s.x[3 * (int64_t)s.triangles[3 * k + i] + 2];
        if (z < 0.0) memmove(s.triangles + 3 * kept++, s.triangles + 3 * k, 3 * sizeof *s.triangles);
    }
    s.t = kept; /* the other half's vertices stay, without triangles */
    return s;
}

/* A sheet that stands on an edge of the sphere: three triangles meet there. */
skin skin_fin(void)
{
    skin s = round_body("non-manifold fin", 0.1, 0.0, 12), f = make("fin", s.n + 24, s.t + 24);
    memcpy(f.x, s.x, (size_t)(3 * s.n) * sizeof *f.x);
    memcpy(f.triangles, s.triangles, (size_t)(3 * s.t) * sizeof *f.triangles);
    int64_t v = s.n, k = s.t, ring = 5 * 24;
    for (int j = 0; j < 12; j++) {
        for (int i = 0; i < 3; i++) f.x[3 * (v + j) + i] = 1.7 * s.x[3 * (ring + j) + i];
        if (!j) continue;
        put(&f, k++, ring + j - 1, ring + j, v + j);
        put(&f, k++, ring + j - 1, v + j, v + j - 1);
    }
    f.n = v + 12, f.t = k, f.name = s.name;
    skin_free(&s);
    return f;
}

skin skin_crossing_limbs(void)
{
    skin a = skin_capsule(0.05, 0.4, 14), b = skin_capsule(0.05, 0.4, 14);
    for (int64_t v = 0; v < b.n; v++) {
        double *x = b.x + 3 * v, y = x[1];
        x[1] = x[0] + 0.2, x[0] = 0.2 - y;
    }
    return join("self-intersecting limbs", a, b);
}

skin skin_components(int count)
{
    skin all = skin_sphere(0.05, 8);
    for (int k = 1; k < count; k++) {
        skin s = skin_sphere(0.05, 8);
        shift(&s, 0.11 * (k % 5), 0.11 * (k / 5 % 4), 0.11 * (k / 20));
        all = join("separate components", all, s);
    }
    return all;
}

skin skin_degenerate(void)
{
    skin s = skin_sphere(0.1, 12), d = make("zero-area triangles", s.n + 1, s.t + 20);
    memcpy(d.x, s.x, (size_t)(3 * s.n) * sizeof *d.x);
    memcpy(d.triangles, s.triangles, (size_t)(3 * s.t) * sizeof *d.triangles);
    for (int i = 0; i < 3; i++) d.x[3 * s.n + i] = 0.5 * (s.x[3 * 10 + i] + s.x[3 * 11 + i]);
    for (int k = 0; k < 20; k++) put(&d, s.t + k, 5 * k, k % 2 ? 5 * k : 5 * k + 1, 5 * k + 1);
    put(&d, s.t, 10, 11, s.n); /* a needle: its corners lie on one line */
    skin_free(&s);
    return d;
}

skin skin_repeated(void)
{
    skin a = skin_sphere(0.1, 12), b = skin_sphere(0.1, 12);
    for (int64_t k = 0; k < b.t; k += 3) flip(&b, k);
    return join("duplicates", a, b);
}

skin skin_membrane(void)
{
    enum { N = 24 };
    skin s = make("thin membrane", N * N, 2 * (N - 1) * (N - 1));
    int64_t k = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double *x = s.x + 3 * (i * N + j);
            x[0] = 0.02 * i, x[2] = 0.02 * j, x[1] = 0.03 * sin(0.3 * i) * cos(0.2 * j);
            if (i + 1 == N || j + 1 == N) continue;
            put(&s, k++, i * N + j, i * N + j + 1, (i + 1) * N + j + 1);
            put(&s, k++, i * N + j, (i + 1) * N + j + 1, (i + 1) * N + j);
        }
    return s;
}

skin skin_scan(int rings)
{
    skin s = round_body("scan-like surface", 1.0, 0.0, rings);
    uint64_t seed = 1;
    for (int64_t v = 0; v < s.n; v++) {
        double *x = s.x + 3 * v;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double noise = (double)(seed >> 40) / (1 << 24) - 0.5;
        double r =
            0.3 * (1.0 + 0.2 * sin(5.0 * x[0] + 1.0) * cos(4.0 * x[1]) + 0.15 * sin(9.0 * x[2]) + 0.2 / rings * noise);
        for (int i = 0; i < 3; i++) x[i] *= r;
    }
    return s;
}

skin skin_soup(void)
{
    skin a = skin_sphere(0.1, 14), s = make("soup without shared vertices", 3 * a.t, a.t);
    uint64_t seed = 7;
    for (int64_t k = 0; k < 3 * a.t; k++) {
        s.triangles[k] = (int32_t)k;
        for (int i = 0; i < 3; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            s.x[3 * k + i] = a.x[3 * (int64_t)a.triangles[k] + i] + 2e-4 * ((double)(seed >> 40) / (1 << 24) - 0.5);
        }
    }
    skin_free(&a);
    return s;
}

skin skin_turned_around(void)
{
    skin s = skin_sphere(0.1, 12);
    for (int64_t k = 0; k < s.t; k++)
        if (k % 7) flip(&s, k);
    s.name = "turned around";
    return s;
}

/* ---- boxes: the boundary of a set of cells of an uneven grid ---- */

typedef struct grid {
    int size[3];
    double at[3][64];
    uint8_t solid[64][64][64];
} grid;

static skin grid_boundary(const char *name, const grid *g)
{
    int nx = g->size[0] + 1, ny = g->size[1] + 1, nz = g->size[2] + 1;
    int32_t *number = malloc((size_t)(nx * ny * nz) * sizeof *number);
    skin s = make(name, (int64_t)nx * ny * nz, (int64_t)12 * g->size[0] * g->size[1] * g->size[2]);
    memset(number, -1, (size_t)(nx * ny * nz) * sizeof *number);
    s.n = s.t = 0;
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                if (!g->solid[i][j][k]) continue;
                for (int axis = 0; axis < 3; axis++)
                    for (int side = 0; side < 2; side++) {
                        int c[3] = {i, j, k}, u = (axis + 1) % 3, v = (axis + 2) % 3;
                        int32_t quad[4];
                        c[axis] += side ? 1 : -1;
                        if (c[axis] >= 0 && c[axis] < g->size[axis] && g->solid[c[0]][c[1]][c[2]]) continue;
                        for (int q = 0; q < 4; q++) {
                            int p[3] = {i, j, k};
                            p[axis] += side, p[u] += q == 1 || q == 2, p[v] += q >= 2;
                            int32_t *id = &number[(p[0] * ny + p[1]) * nz + p[2]];
                            if (*id < 0) {
                                *id = (int32_t)s.n++;
                                for (int m = 0; m < 3; m++) s.x[3 * (int64_t)*id + m] = g->at[m][p[m]];
                            }
                            quad[side ? q : 3 - q] = *id;
                        }
                        put(&s, s.t++, quad[0], quad[1], quad[2]);
                        put(&s, s.t++, quad[0], quad[2], quad[3]);
                    }
            }
    free(number);
    return s;
}

skin skin_cube(double edge, int cells)
{
    grid *g = calloc(1, sizeof *g);
    for (int axis = 0; axis < 3; axis++) {
        g->size[axis] = cells;
        for (int k = 0; k <= cells; k++) g->at[axis][k] = edge * k / cells;
    }
    for (int k = 0; k < cells * cells * cells; k++) g->solid[k % cells][k / cells % cells][k / cells / cells] = 1;
    skin s = grid_boundary("cube", g);
    free(g);
    return s;
}

skin skin_fingers(double gap)
{
    grid *g = calloc(1, sizeof *g);
    g->size[0] = 9, g->size[1] = 32, g->size[2] = 4;
    for (int k = 0; k <= 9; k++) g->at[0][k] = k <= 4 ? 0.0025 * k : 0.0025 * (k - 1) + gap;
    for (int k = 0; k <= 32; k++) g->at[1][k] = 0.0025 * k;
    for (int k = 0; k <= 4; k++) g->at[2][k] = 0.0025 * k;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 32; j++)
            for (int k = 0; k < 4; k++) g->solid[i][j][k] = j < 8 || i != 4;
    skin s = grid_boundary("fingers", g);
    free(g);
    return s;
}
