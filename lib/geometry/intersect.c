#include "geometry/intersect.h"

#include "core/memory.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>

static double orient(const double *a, const double *b, const double *c, const double *d)
{
    double m[9];
    su_tet_edges(a, b, c, d, m);
    return su_det3(m);
}

bool su_segment_meets_triangle(const double *p, const double *q, const double *a, const double *b, const double *c,
                               double *s)
{
    double dp = orient(a, b, c, p), dq = orient(a, b, c, q);
    if ((dp > 0 && dq > 0) || (dp < 0 && dq < 0) || dp == dq) return false;
    double u = orient(p, q, a, b), v = orient(p, q, b, c), w = orient(p, q, c, a);
    if (!((u >= 0 && v >= 0 && w >= 0) || (u <= 0 && v <= 0 && w <= 0))) return false;
    *s = dp / (dp - dq);
    return true;
}

/* Do two triangles meet? Coplanar ones do not count. */
static bool triangles_meet(const double *x, const int32_t *a, const int32_t *b)
{
    const double *p[3], *q[3];
    double s;
    for (int i = 0; i < 3; i++) p[i] = x + 3 * (int64_t)a[i], q[i] = x + 3 * (int64_t)b[i];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        if (su_segment_meets_triangle(p[i], p[j], q[0], q[1], q[2], &s)) return true;
        if (su_segment_meets_triangle(q[i], q[j], p[0], p[1], p[2], &s)) return true;
    }
    return false;
}

typedef struct pair_list {
    const su_surface *surface;
    int32_t self;
    int64_t limit, count, capacity;
    int32_t *pairs;
    bool wanted, failed;
} pair_list;

static bool add_pair(void *context, int32_t other)
{
    pair_list *list = context;
    if (other <= list->self) return true;
    const int32_t *a = list->surface->triangles + 3 * (int64_t)list->self,
                  *b = list->surface->triangles + 3 * (int64_t)other;
    for (int i = 0; i < 9; i++)
        if (a[i / 3] == b[i % 3]) return true;
    if (!triangles_meet(list->surface->x, a, b)) return true;
    if (list->wanted) {
        if (list->count == list->capacity) {
            int64_t capacity = 2 * list->capacity + 256;
            int32_t *grown = realloc(list->pairs, (size_t)capacity * 2 * sizeof *grown);
            if (!grown) return !(list->failed = true);
            list->pairs = grown, list->capacity = capacity;
        }
        list->pairs[2 * list->count] = list->self, list->pairs[2 * list->count + 1] = other;
    }
    list->count++;
    return !list->limit || list->count < list->limit;
}

su_status su_surface_intersections(const su_surface *surface, const su_boxtree *tree, int64_t limit, int64_t *count,
                                   int32_t **pairs, su_error *err)
{
    pair_list list = {.surface = surface, .limit = limit, .wanted = pairs != NULL};
    for (int64_t k = 0; k < surface->t && !list.failed && (!limit || list.count < limit); k++) {
        const int32_t *t = surface->triangles + 3 * k;
        double low[3], high[3];
        for (int i = 0; i < 3; i++) {
            double a = surface->x[3 * (int64_t)t[0] + i], b = surface->x[3 * (int64_t)t[1] + i],
                   c = surface->x[3 * (int64_t)t[2] + i];
            low[i] = fmin(a, fmin(b, c)), high[i] = fmax(a, fmax(b, c));
        }
        list.self = (int32_t)k;
        su_boxtree_overlap(tree, low, high, add_pair, &list);
    }
    if (list.failed) {
        free(list.pairs);
        return su_fail(err, SU_AGAIN, "out of memory for %lld intersections", (long long)list.count);
    }
    *count = list.count;
    if (pairs) *pairs = list.pairs;
    return SU_OK;
}
