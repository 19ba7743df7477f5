#include "geometry/winding.h"

#include "core/memory.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>

typedef struct dipole {
    double centre[3]; /* area-weighted */
    double moment[3]; /* sum of area times normal */
    double area;
    double radius; /* of the node's box around centre */
} dipole;

struct su_winding {
    const su_boxtree *tree;
    const double *x;
    const int32_t *triangles;
    dipole *dipoles;
};

/* Farther than this many radii a node counts as one dipole. */
static const double FAR = 2.5;

/* Children follow their parents, so one backward sweep sums up. */
su_status su_winding_create(const su_boxtree *tree, const double *x, const int32_t *triangles, su_winding **out,
                            su_error *err)
{
    su_status status = SU_OK;
    su_winding *w = NULL;
    SU_GO(SU_ALLOC(&w, 1, "winding numbers", err));
    w->tree = tree, w->x = x, w->triangles = triangles;
    SU_GO(SU_ALLOC(&w->dipoles, tree->node_count, "winding numbers", err));
    for (int64_t k = tree->node_count - 1; k >= 0; k--) {
        const su_boxnode *node = &tree->nodes[k];
        dipole *d = &w->dipoles[k];
        double weighted[3] = {0, 0, 0}, corner[3];
        for (int32_t c = 0; c < node->count; c++) {
            const int32_t *t = triangles + 3 * (int64_t)tree->items[node->first + c];
            const double *p[3] = {x + 3 * (int64_t)t[0], x + 3 * (int64_t)t[1], x + 3 * (int64_t)t[2]};
            double u[3], v[3], n[3];
            su_sub3(p[1], p[0], u), su_sub3(p[2], p[0], v), su_cross3(u, v, n);
            double area = 0.5 * su_norm3(n);
            d->area += area;
            for (int i = 0; i < 3; i++)
                d->moment[i] += 0.5 * n[i], weighted[i] += area * (p[0][i] + p[1][i] + p[2][i]) / 3.0;
        }
        for (int c = 0; c < 2 && !node->count; c++) {
            const dipole *child = &w->dipoles[c ? node->right : k + 1];
            d->area += child->area;
            for (int i = 0; i < 3; i++) d->moment[i] += child->moment[i], weighted[i] += child->area * child->centre[i];
        }
        for (int i = 0; i < 3; i++) {
            d->centre[i] = d->area > 0.0 ? weighted[i] / d->area : 0.5 * (node->low[i] + node->high[i]);
            corner[i] = fmax(d->centre[i] - node->low[i], node->high[i] - d->centre[i]);
        }
        d->radius = su_norm3(corner);
    }
    *out = w;
    w = NULL;
done:
    su_winding_free(w);
    return status;
}

void su_winding_free(su_winding *winding)
{
    if (!winding) return;
    free(winding->dipoles);
    free(winding);
}

/* Solid angle of a triangle seen from p, over 4 pi (Van Oosterom and Strackee 1983). */
static double triangle_angle(const double *p0, const double *p1, const double *p2, const double p[3])
{
    double a[3], b[3], c[3], h[3];
    su_sub3(p0, p, a), su_sub3(p1, p, b), su_sub3(p2, p, c);
    double la = su_norm3(a), lb = su_norm3(b), lc = su_norm3(c);
    su_cross3(b, c, h);
    double numerator = su_dot3(a, h);
    double denominator = la * lb * lc + su_dot3(a, b) * lc + su_dot3(b, c) * la + su_dot3(c, a) * lb;
    if (numerator == 0.0) return 0.0;
    return atan2(numerator, denominator) / (2.0 * M_PI);
}

double su_winding_at(const su_winding *w, const double p[3])
{
    int32_t stack[64];
    int depth = 0;
    double sum = 0.0;
    if (w->tree->node_count) stack[depth++] = 0;
    while (depth) {
        int32_t index = stack[--depth];
        const su_boxnode *node = &w->tree->nodes[index];
        const dipole *d = &w->dipoles[index];
        double r[3];
        su_sub3(d->centre, p, r);
        double squared = su_dot3(r, r);
        if (squared > FAR * FAR * d->radius * d->radius) {
            sum += su_dot3(d->moment, r) / (4.0 * M_PI * squared * sqrt(squared));
            continue;
        }
        for (int32_t c = 0; c < node->count; c++) {
            const int32_t *t = w->triangles + 3 * (int64_t)w->tree->items[node->first + c];
            sum += triangle_angle(w->x + 3 * (int64_t)t[0], w->x + 3 * (int64_t)t[1], w->x + 3 * (int64_t)t[2], p);
        }
        if (node->count) continue;
        stack[depth++] = node->right;
        stack[depth++] = index + 1;
    }
    return sum;
}
