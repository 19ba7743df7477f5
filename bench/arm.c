#include "arm.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/tetmesh.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *room(int64_t count, size_t size)
{
    void *p = calloc((size_t)count + 1, size);
    if (!p) abort();
    return p;
}

arm_shape arm_of_paper(int which, double scale)
{
    static const int steep[] = {6, 12, 22, 40, 70, 118}, even[] = {6, 12, 20, 30, 42, 56, 72, 92};
    arm_shape s = {.length = 0.6, .radius = 0.05, .core = 0.3, .gap = 0.03};
    const int *around = which == 0 ? steep : even;
    s.rings = which == 0 ? 6 : 8;
    s.layers = (int)(scale * (which == 0 ? 176 : 152) + 0.5);
    for (int k = 0; k < s.rings; k++)
        s.around[k] = (int)(scale * around[k] + 0.5) > 5 ? (int)(scale * around[k] + 0.5) : 6;
    return s;
}

/* Triangles between two rings (or a ring and the axis) of one cross-section, by whichever next vertex comes first. */
static int64_t fill_ring(int inner, int first_inner, int outer, int first_outer, int32_t *out)
{
    int i = 0, o = 0;
    int64_t count = 0;
    while (i < (inner > 1 ? inner : 0) || o < outer) {
        int32_t *t = out + 3 * count++;
        t[0] = (int32_t)(first_inner + i % inner), t[1] = (int32_t)(first_outer + o % outer);
        bool outward = inner == 1 || (o < outer && (i >= inner || (double)(o + 1) / outer <= (double)(i + 1) / inner));
        if (outward)
            t[2] = (int32_t)(first_outer + ++o % outer);
        else
            t[2] = (int32_t)(first_inner + ++i % inner);
    }
    return count;
}

/* The prism over a triangle as three tets, cut by the order of the vertices, so that neighbours agree. */
static void split_prism(const int32_t triangle[3], int32_t below, int32_t above, const double *x, int32_t *tets)
{
    int32_t v[3] = {triangle[0], triangle[1], triangle[2]};
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < 2; k++)
            if (v[k] > v[k + 1]) {
                int32_t swap = v[k];
                v[k] = v[k + 1], v[k + 1] = swap;
            }
    const int32_t corners[3][4] = {{v[0] + below, v[1] + below, v[2] + below, v[2] + above},
                                   {v[0] + below, v[1] + below, v[1] + above, v[2] + above},
                                   {v[0] + below, v[0] + above, v[1] + above, v[2] + above}};
    for (int k = 0; k < 3; k++) {
        int32_t *tet = tets + 4 * k;
        memcpy(tet, corners[k], sizeof corners[k]);
        if (su_tet_volume(x, tet) > 0) continue;
        tet[0] = corners[k][1], tet[1] = corners[k][0];
    }
}

arm arm_create(const arm_shape *s)
{
    arm a = {.shape = *s};
    int section = 1;
    for (int k = 0; k < s->rings; k++) section += s->around[k];
    int32_t *plane = room(6 * (int64_t)section, sizeof *plane), *owner = NULL;
    int64_t triangles = 0;
    for (int k = 0, inner = 1, first = 0; k < s->rings; k++) {
        triangles += fill_ring(inner, first, s->around[k], first + inner, plane + 3 * triangles);
        first += inner, inner = s->around[k];
    }
    a.n = (int64_t)section * (s->layers + 1), a.t = 3 * triangles * s->layers;
    a.x = room(3 * a.n, sizeof *a.x), a.tets = room(4 * a.t, sizeof *a.tets);
    a.bone_of = room(a.n, sizeof *a.bone_of), a.held = room(a.n, 1), a.is_outer = room(a.n, 1);
    a.young = room(a.t, sizeof *a.young), a.poisson = room(a.t, sizeof *a.poisson);
    for (int l = 0; l <= s->layers; l++) {
        int64_t v = (int64_t)section * l;
        double along = s->length * ((double)l / s->layers - 0.5);
        for (int k = -1; k < s->rings; k++) {
            int count = k < 0 ? 1 : s->around[k];
            double r = s->radius * pow((double)(k + 1) / s->rings, 0.8); /* layers get thinner outward */
            for (int i = 0; i < count; i++, v++) {
                double turn = 2 * M_PI * (i + 0.5 * (l % 2)) / count;
                a.x[3 * v] = along, a.x[3 * v + 1] = r * cos(turn), a.x[3 * v + 2] = r * sin(turn);
                a.bone_of[v] = r <= s->core * s->radius && fabs(along) >= s->gap ? along > 0 : -1;
                a.held[v] = a.bone_of[v] >= 0;
            }
        }
    }
    for (int l = 0; l < s->layers; l++)
        for (int64_t k = 0; k < triangles; k++)
            split_prism(plane + 3 * k, section * l, section * (l + 1), a.x, a.tets + 12 * (triangles * l + k));
    for (int64_t e = 0; e < a.t; e++) a.young[e] = 3e4, a.poisson[e] = 0.4;
    if (su_tet_boundary(a.t, a.tets, &a.b, &a.surface, &owner, NULL) != SU_OK) abort();
    for (int64_t k = 0; k < 3 * a.b; k++) a.is_outer[a.surface[k]] = 1;
    for (int64_t v = 0; v < a.n; v++) a.outer += a.is_outer[v] && !a.held[v];
    free(plane), free(owner);
    return a;
}

void arm_free(arm *a)
{
    free(a->x), free(a->tets), free(a->surface), free(a->bone_of), free(a->held), free(a->is_outer);
    free(a->young), free(a->poisson);
}

void arm_bend(const arm *a, double angle, const double *w, double *quaternions, double *x)
{
    const double still[4] = {1, 0, 0, 0}, bent[4] = {cos(angle / 2), 0, 0, sin(angle / 2)};
    memcpy(quaternions, still, sizeof still), memcpy(quaternions + 4, bent, sizeof bent);
    for (int64_t v = 0; v < a->n; v++) {
        double share = a->bone_of[v] >= 0 ? a->bone_of[v] : w[v], q[4], length = 0, R[9];
        for (int c = 0; c < 4; c++) q[c] = (1 - share) * still[c] + share * bent[c], length += q[c] * q[c];
        for (int c = 0; c < 4; c++) q[c] /= sqrt(length);
        su_quaternion_matrix(q, R); /* the elbow is the origin: bones turn about it, and nothing shifts */
        su_mulv3(R, a->x + 3 * v, x + 3 * v);
    }
}
