#include "contact/contact_entry.h"

#include "contact/contact_forces.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"

#include <math.h>
#include <string.h>

enum { MOST_NEAR = 192 };                                  /* triangles that are looked at around the way of a pair */
enum { SEEN_BITS = 12, MOST_SEEN = 3 << (SEEN_BITS - 2) }; /* a dozen lie beside each of them */

/* How far a point is below the plane of a triangle, m; above: negative. NAN where it has no plane. */
static double below(const su_contact_body *body, const double *x, int32_t triangle, const double p[3])
{
    const int32_t *c = body->surface + 3 * (int64_t)triangle;
    double a[3], b[3], normal[3], r[3];
    su_sub3(x + 3 * (int64_t)c[1], x + 3 * (int64_t)c[0], a);
    su_sub3(x + 3 * (int64_t)c[2], x + 3 * (int64_t)c[0], b);
    su_cross3(a, b, normal);
    su_sub3(x + 3 * (int64_t)c[0], p, r);
    return su_dot3(r, normal) / su_norm3(normal);
}

double su_contact_brought(const su_contact_body *body, const double *before, const double *y,
                          const su_contact_pair *pair)
{
    double over = pair->depth - pair->allowed;
    if (!(over > 0)) return 0;
    int32_t corner[4];
    double share[4], work = 0; /* done by the pair's force at y along the step */
    su_contact_corners(body, pair, corner, share);
    for (int i = 0; i < 12; i++) {
        int64_t at = 3 * (int64_t)corner[i / 3] + i % 3;
        work += pair->stiffness * over * pair->normal[i % 3] * share[i / 3] * (y[at] - before[at]);
    }
    return 0.5 * pair->stiffness * over * over + work;
}

/* ---- where it came in ---- */

/* Triangles that were asked about, by hash; -1: none. */
typedef struct seen_set {
    int32_t slot[1 << SEEN_BITS];
    int count;
} seen_set;

/* False where it was there already, or where there is no room. */
static bool add_seen(seen_set *seen, int32_t triangle)
{
    uint32_t at = (uint32_t)triangle * 2654435769u >> (32 - SEEN_BITS); /* Fibonacci hashing */
    if (seen->count == MOST_SEEN) return false;
    while (seen->slot[at] >= 0 && seen->slot[at] != triangle) at = (at + 1) & ((1 << SEEN_BITS) - 1);
    if (seen->slot[at] == triangle) return false;
    seen->slot[at] = triangle;
    return ++seen->count;
}

/* Triangles within `reach` of p at y, from one on over common corners. */
static int list_around(const su_contact_body *body, const double *y, const double p[3], double reach, int32_t from,
                       int32_t near[MOST_NEAR])
{
    int count = 1;
    seen_set seen = {.count = 0};
    memset(seen.slot, -1, sizeof seen.slot);
    add_seen(&seen, near[0] = from);
    for (int at = 0; at < count; at++)
        for (int64_t j = body->beside_start[near[at]]; j < body->beside_start[near[at] + 1] && count < MOST_NEAR; j++) {
            const int32_t *c = body->surface + 3 * (int64_t)body->beside[j];
            double bary[3];
            if (!add_seen(&seen, body->beside[j])) continue;
            double squared =
                su_closest_on_triangle(p, y + 3 * (int64_t)c[0], y + 3 * (int64_t)c[1], y + 3 * (int64_t)c[2], bary);
            if (squared <= reach * reach) near[count++] = body->beside[j];
        }
    return count;
}

/* By how much of a triangle its plane is crossed beside it on the straight ways from `before` to y; INFINITY where it
 * is not crossed inwards. */
static double crossed_beside(const su_contact_body *body, const double *before, const double *y, int32_t vertex,
                             int32_t triangle)
{
    int64_t v = 3 * (int64_t)vertex;
    double first = below(body, before, triangle, before + v), last = below(body, y, triangle, y + v);
    if (!(first <= 0 && last > 0)) return INFINITY;
    double t = first / (first - last), x[12], bary[3], beside = 0;
    int32_t corner[4] = {vertex}; /* a body of its own: the vertex, then the triangle */
    memcpy(corner + 1, body->surface + 3 * (int64_t)triangle, 3 * sizeof *corner);
    for (int i = 0; i < 12; i++) {
        int64_t at = 3 * (int64_t)corner[i / 3] + i % 3;
        x[i] = (1 - t) * before[at] + t * y[at];
    }
    int32_t alone[3] = {1, 2, 3};
    su_contact_body one = {.surface = alone};
    if (!su_contact_foot(&one, x, x, 0, bary)) return INFINITY;
    for (int i = 0; i < 3; i++) beside = fmax(beside, -bary[i]);
    return beside;
}

bool su_contact_enter(const su_contact_body *body, const double *before, const double *y, su_contact_pair *pair)
{
    int64_t v = 3 * (int64_t)pair->vertex;
    /* from where the vertex was over the triangle to where it is now, whatever moved both */
    double bary[3], reach = 2 * pair->depth;
    if (su_contact_foot(body, before, before + v, pair->triangle, bary)) {
        const int32_t *c = body->surface + 3 * (int64_t)pair->triangle;
        double was[3] = {0}, height = -below(body, before, pair->triangle, before + v);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) was[i] += bary[j] * y[3 * (int64_t)c[j] + i];
        reach += su_distance3(was, y + v) + fabs(height);
    }
    int32_t near[MOST_NEAR], through = -1;
    int count = list_around(body, y, y + v, reach, pair->triangle, near);
    double least = SU_CONTACT_BESIDE;
    for (int k = 0; k < count; k++) {
        if (su_contact_related(body, pair->vertex, body->surface + 3 * (int64_t)near[k], 3)) continue;
        double beside = crossed_beside(body, before, y, pair->vertex, near[k]);
        if (beside < least) least = beside, through = near[k];
    }
    if (through < 0) return false;
    pair->triangle = through, pair->held = true;
    su_contact_follow(body, y, 1, pair);
    return true;
}
