#include "reduce/modes/rigid_motions.h"

#include "core/memory.h"
#include "geometry/vector.h"
#include "linalg/eigen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STILL                                                                                                          \
    1e-12 /* a motion whose mean square over the held vertices is below this share of its own size leaves them */

static int32_t root_of(int32_t *parent, int32_t v)
{
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

/* part (n): number of the connected part of each vertex. */
static su_status connected_parts(const su_elastic *elastic, int32_t *part, int64_t *count, su_error *err)
{
    int32_t *parent;
    int64_t n = elastic->n;
    SU_TRY(SU_ALLOC(&parent, n, "connected parts", err));
    for (int64_t v = 0; v < n; v++) parent[v] = (int32_t)v;
    for (int64_t e = 0; e < elastic->t; e++)
        for (int a = 1; a < 4; a++) {
            int32_t p = root_of(parent, elastic->tets[4 * e]), q = root_of(parent, elastic->tets[4 * e + a]);
            if (p < q)
                parent[q] = p;
            else
                parent[p] = q;
        }
    *count = 0;
    for (int64_t v = 0; v < n; v++) { /* roots come first: they are the smallest of their part */
        int32_t root = root_of(parent, (int32_t)v);
        part[v] = root == v ? (int32_t)(*count)++ : part[root];
    }
    free(parent);
    return SU_OK;
}

enum { MOTIONS = 6 }; /* of a rigid part */

typedef struct frame {
    double centre[3], radius; /* of a part: mean, and root mean square distance from it */
    int64_t count, free_count, held_count;
    double gram[MOTIONS * MOTIONS]; /* of the motions over the held vertices; then its eigenvectors */
    int still;                      /* so many of them, the first ones, leave those vertices where they are */
} frame;

/* Motion k of a part at x: translations, then rotations about its centre that move its radius by 1. */
static void motion(const frame *f, const double *x, int k, double u[3])
{
    int i = k % 3, a = (i + 1) % 3, b = (i + 2) % 3;
    u[0] = u[1] = u[2] = 0;
    if (k < 3) {
        u[i] = 1;
        return;
    }
    u[b] = (x[a] - f->centre[a]) / f->radius, u[a] = -(x[b] - f->centre[b]) / f->radius;
}

static su_status frames(const su_elastic *elastic, const double *x, int64_t parts, const int32_t *part, frame *f,
                        su_error *err)
{
    for (int64_t v = 0; v < elastic->n; v++) {
        frame *p = &f[part[v]];
        for (int i = 0; i < 3; i++) p->centre[i] += x[3 * v + i];
        p->count++, p->free_count += elastic->free_index[v] >= 0, p->held_count += elastic->free_index[v] < 0;
    }
    for (int64_t k = 0; k < parts; k++)
        for (int i = 0; i < 3; i++) f[k].centre[i] /= (double)f[k].count;
    for (int64_t v = 0; v < elastic->n; v++)
        for (int i = 0; i < 3; i++) f[part[v]].radius += pow(x[3 * v + i] - f[part[v]].centre[i], 2);
    for (int64_t k = 0; k < parts; k++) {
        f[k].radius = sqrt(f[k].radius / (double)f[k].count);
        if (!(f[k].radius > 0)) f[k].radius = 1;
    }
    for (int64_t v = 0; v < elastic->n; v++) {
        if (elastic->free_index[v] >= 0) continue;
        frame *p = &f[part[v]];
        double u[MOTIONS][3];
        for (int k = 0; k < MOTIONS; k++) motion(p, x + 3 * v, k, u[k]);
        for (int k = 0; k < MOTIONS; k++)
            for (int l = 0; l < MOTIONS; l++)
                for (int i = 0; i < 3; i++) p->gram[MOTIONS * k + l] += u[k][i] * u[l][i] / (double)p->held_count;
    }
    for (int64_t k = 0; k < parts; k++) {
        double values[MOTIONS];
        if (f[k].free_count == 0) continue;
        SU_TRY(su_eigen_symmetric(MOTIONS, f[k].gram, values, err));
        while (f[k].still < MOTIONS && values[f[k].still] < STILL) f[k].still++;
    }
    return SU_OK;
}

/* Gram-Schmidt, twice, among the motions of one part; which are the only ones that overlap. */
static void orthonormalize(int64_t size, const double *mass, int64_t count, double *motions)
{
    for (int64_t k = 0; k < count; k++)
        for (int pass = 0; pass < 2; pass++) {
            double *u = motions + k * size, norm = 0;
            for (int64_t l = 0; l < k; l++) {
                double dot = su_weighted_dot(size, mass, u, motions + l * size);
                for (int64_t i = 0; i < size; i++) u[i] -= dot * motions[l * size + i];
            }
            for (int64_t i = 0; i < size; i++) norm += u[i] * u[i] * mass[i];
            norm = sqrt(norm);
            for (int64_t i = 0; i < size; i++) u[i] /= norm;
        }
}

su_status su_rigid_motions(const su_elastic *elastic, const double *x, const double *mass, int64_t *count,
                           double **motions, su_error *err)
{
    int64_t size = elastic->pattern.size, parts = 0, total = 0;
    int32_t *part = NULL;
    frame *f = NULL;
    double *out = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&part, elastic->n, "connected parts", err));
    SU_GO(connected_parts(elastic, part, &parts, err));
    SU_GO(SU_ALLOC(&f, parts, "connected parts", err));
    SU_GO(frames(elastic, x, parts, part, f, err));
    for (int64_t k = 0; k < parts; k++) total += f[k].still;
    if (total) SU_GO(SU_ALLOC(&out, total * size, "rigid motions", err));
    for (int64_t k = 0, at = 0; k < parts; at += f[k++].still) {
        if (f[k].still == 0) continue;
        for (int64_t d = 0; d < elastic->free_count; d++) {
            int64_t v = elastic->free_vertex[d];
            if (part[v] != k) continue;
            for (int j = 0; j < MOTIONS; j++) {
                double u[3];
                motion(&f[k], x + 3 * v, j, u);
                for (int m = 0; m < f[k].still; m++)
                    for (int i = 0; i < 3; i++) out[(at + m) * size + 3 * d + i] += f[k].gram[MOTIONS * m + j] * u[i];
            }
        }
        orthonormalize(size, mass, f[k].still, out + at * size);
    }
    *count = total, *motions = out;
    out = NULL;
done:
    free(part), free(f), free(out);
    return status;
}
