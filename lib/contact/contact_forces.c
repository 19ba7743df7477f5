#include "contact/contact_forces.h"

#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void corners_of(const su_contact_body *body, int32_t vertex, int32_t triangle, const double bary[3],
                       int32_t corner[4], double share[4])
{
    corner[0] = vertex, share[0] = 1;
    for (int i = 0; i < 3; i++) corner[i + 1] = body->surface[3 * (int64_t)triangle + i], share[i + 1] = -bary[i];
}

void su_contact_corners(const su_contact_body *body, const su_contact_pair *pair, int32_t corner[4], double share[4])
{
    corners_of(body, pair->vertex, pair->triangle, pair->bary, corner, share);
}

double su_contact_energy(int64_t count, const su_contact_pair *pairs)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        double over = fmax(pairs[k].depth - pairs[k].allowed, 0);
        sum += 0.5 * pairs[k].stiffness * over * over;
    }
    return sum;
}

double su_contact_force(const su_contact_body *body, int64_t count, const su_contact_pair *pairs, double *force)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        const su_contact_pair *pair = pairs + k;
        int32_t corner[4];
        double share[4], size = pair->stiffness * (pair->depth - pair->allowed);
        if (!su_contact_pressed(pair)) continue;
        sum += size * size;
        su_contact_corners(body, pair, corner, share);
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3; i++) force[3 * (int64_t)corner[c] + i] -= size * share[c] * pair->normal[i];
    }
    return sqrt(sum);
}

/* ---- tangents ---- */

/* The edges of a feature from its first corner: none at a vertex, one, two. first: that corner of the triangle. */
static int feature_edges(const su_contact_body *body, const su_contact_pair *pair, const double *y, int *first,
                         int other[2], double edge[2][3])
{
    const int32_t *c = body->surface + 3 * (int64_t)pair->triangle;
    const double *bary = pair->bary;
    int count = 0;
    *first = bary[0] > 0 || pair->plane ? 0 : bary[1] > 0 ? 1 : 2;
    for (int i = *first + 1; i < 3; i++) {
        if (!(bary[i] > 0) && !pair->plane) continue;
        su_sub3(y + 3 * (int64_t)c[i], y + 3 * (int64_t)c[*first], edge[count]);
        other[count++] = i;
    }
    return count;
}

/* inverse (count,count) of the Gram matrix of the edges; false where they are parallel. */
static bool invert_gram(int count, double edge[2][3], double inverse[2][2])
{
    double a = su_dot3(edge[0], edge[0]);
    if (count == 1) {
        if (a > 0) inverse[0][0] = 1 / a;
        return a > 0;
    }
    double b = su_dot3(edge[0], edge[1]), c = su_dot3(edge[1], edge[1]), det = a * c - b * b;
    if (!(det > SU_CONTACT_FLAT * a * c)) return false;
    inverse[0][0] = c / det, inverse[1][1] = a / det, inverse[0][1] = inverse[1][0] = -b / det;
    return true;
}

/* d(depth)/dy = -share n. With d = sum share y = -depth n and the feature's coordinates b at their best, depth^2 / 2 is
 * the minimum over b of |d|^2 / 2, whose second derivative is
 *   H = share share' (x) I - B G^-1 B',   B_m = share (x) (-e_m) + d(share)/db_m (x) d
 * with e_m the feature's edges, G their Gram matrix (eq. 3). What is semidefinite in it keeps share e_m of B alone. */
void su_contact_tangent(const su_contact_body *body, const su_contact_pair *pair, const double *y, bool project,
                        double K[144])
{
    int32_t corner[4];
    double share[4], edge[2][3], inverse[2][2], B[2][12];
    const double *n = pair->normal;
    int first, other[2];
    su_contact_corners(body, pair, corner, share);
    int count = feature_edges(body, pair, y, &first, other, edge);
    double bend = project ? 0 : pair->depth, over = 1 - pair->allowed / pair->depth;
    memset(K, 0, 144 * sizeof *K);
    if (!(over > 0)) return;
    bool sound = count == 0 || invert_gram(count, edge, inverse);
    for (int m = 0; m < count; m++)
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3; i++) {
                double turn = c == other[m] + 1 ? -1 : c == first + 1 ? 1 : 0;
                B[m][3 * c + i] = -share[c] * edge[m][i] - turn * bend * n[i];
            }
    for (int a = 0; a < 12; a++)
        for (int b = 0; b < 12; b++) {
            double shares = share[a / 3] * share[b / 3], along = shares * n[a % 3] * n[b % 3];
            double H = a % 3 == b % 3 ? shares : 0;
            for (int m = 0; m < count && sound; m++)
                for (int o = 0; o < count; o++) H -= B[m][a] * inverse[m][o] * B[o][b];
            if (!sound) H = along; /* a flat triangle */
            K[12 * a + b] = pair->stiffness * (over * H + (1 - over) * along);
        }
}

/* ---- friction ---- */

su_contact_grip su_contact_grip_of(const su_contact_body *body, const su_contact_pair *pair, double friction, double h,
                                   const double *before)
{
    su_contact_grip grip = {.vertex = pair->vertex, .triangle = pair->triangle, .hold = SU_CONTACT_HOLD * h};
    if (!su_contact_pressed(pair) || pair->plane ||
        !su_contact_foot(body, before, before + 3 * (int64_t)pair->vertex, pair->triangle, grip.anchor))
        return grip;
    grip.limit = friction * pair->stiffness * (pair->depth - pair->allowed);
    return grip;
}

bool su_contact_grip_all(const su_contact_body *body, int64_t count, const su_contact_pair *pairs, double friction,
                         double h, const double *before, su_contact_grips *grips)
{
    grips->count = 0;
    if (count > grips->room) {
        su_contact_grip *larger = realloc(grips->grip, (size_t)(2 * count) * sizeof *larger);
        if (!larger) return false;
        grips->grip = larger, grips->room = 2 * count;
    }
    for (int64_t k = 0; k < count; k++) {
        su_contact_grip grip = su_contact_grip_of(body, pairs + k, friction, h, before);
        if (grip.limit > 0) grips->grip[grips->count++] = grip;
    }
    return true;
}

/* The slip s = sum (foot - anchor) y of the triangle is a vector in its plane. |s|^2 = |p - a|^2 - height^2, with a the
 * anchor, no rigid motion changes; half of it has the gradient s at p and -anchor s + height (foot - anchor) n at the
 * triangle: the second term turns the triangle by the moment that two forces at a distance of the height exert. */
bool su_contact_grip_slip(const su_contact_body *body, const su_contact_grip *grip, const double *y,
                          su_contact_slip *slip)
{
    double edge[2][3], inverse[2][2], from[3], height = 0, size = 0;
    const double *p = y + 3 * (int64_t)grip->vertex;
    *slip = (su_contact_slip){.secant = 0};
    if (!(grip->limit > 0)) return false;
    corners_of(body, grip->vertex, grip->triangle, grip->anchor, slip->corner, slip->share);
    const double *first = y + 3 * (int64_t)slip->corner[1];
    for (int m = 0; m < 2; m++) su_sub3(y + 3 * (int64_t)slip->corner[m + 2], first, edge[m]);
    if (!invert_gram(2, edge, inverse)) return false;
    su_cross3(edge[0], edge[1], slip->normal);
    double area = su_norm3(slip->normal);
    for (int i = 0; i < 3; i++) {
        slip->normal[i] /= area, from[i] = p[i];
        for (int c = 0; c < 3; c++) from[i] -= grip->anchor[c] * y[3 * (int64_t)slip->corner[c + 1] + i];
        height += (p[i] - first[i]) * slip->normal[i];
    }
    su_span_plane(slip->normal, slip->axis);
    for (int k = 0; k < 2; k++) {
        double along[2] = {su_dot3(edge[0], slip->axis[k]), su_dot3(edge[1], slip->axis[k])}, *couple = slip->couple[k];
        for (int m = 0; m < 2; m++) couple[m + 2] = height * (inverse[m][0] * along[0] + inverse[m][1] * along[1]);
        couple[1] = -couple[2] - couple[3]; /* no force is left over */
        slip->way[k] = su_dot3(from, slip->axis[k]), size += slip->way[k] * slip->way[k];
    }
    slip->energy = su_contact_slip_energy(grip->limit, grip->hold, sqrt(size), &slip->secant);
    return true;
}

double su_contact_grip_evaluate(const su_contact_body *body, const su_contact_grip *grip, const double *y, double f[12],
                                double K[144])
{
    su_contact_slip s;
    su_contact_grip_slip(body, grip, y, &s);
    for (int a = 0; a < 12 && f; a++)
        f[a] = s.secant * (s.way[0] * (s.share[a / 3] * s.axis[0][a % 3] + s.couple[0][a / 3] * s.normal[a % 3]) +
                           s.way[1] * (s.share[a / 3] * s.axis[1][a % 3] + s.couple[1][a / 3] * s.normal[a % 3]));
    for (int a = 0; a < 12 && K; a++)
        for (int b = 0; b < 12; b++)
            K[12 * a + b] =
                s.secant * s.share[a / 3] * s.share[b / 3] * ((a % 3 == b % 3) - s.normal[a % 3] * s.normal[b % 3]);
    return s.energy;
}
