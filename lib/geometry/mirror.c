#include "geometry/mirror.h"

#include "core/memory.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 1000 }; /* vertices looked at: the plane is one of nine candidates */

static void area_centroid(const su_surface *s, double out[3])
{
    double total = 0;
    out[0] = out[1] = out[2] = 0;
    for (int64_t k = 0; k < s->t; k++) {
        const double *a = s->x + 3 * (int64_t)s->triangles[3 * k], *b = s->x + 3 * (int64_t)s->triangles[3 * k + 1],
                     *c = s->x + 3 * (int64_t)s->triangles[3 * k + 2];
        double u[3], v[3], normal[3];
        su_sub3(b, a, u), su_sub3(c, a, v);
        su_cross3(u, v, normal);
        double area = su_norm3(normal);
        total += area;
        for (int i = 0; i < 3; i++) out[i] += area * (a[i] + b[i] + c[i]) / 3;
    }
    for (int i = 0; i < 3; i++) out[i] = total > 0 ? out[i] / total : 0;
}

/* Sum over the samples of how far their mirror images are from the skin, at most `near` each; far: how many are that
 * far. */
static double distance_of_images(const su_surface *s, const su_boxtree *tree, su_mirror mirror, double near,
                                 int64_t *samples, int64_t *far)
{
    int64_t step = (s->n + SAMPLES - 1) / SAMPLES;
    double sum = 0;
    *samples = *far = 0;
    for (int64_t v = 0; v < s->n; v += step) {
        double image[3] = {s->x[3 * v], s->x[3 * v + 1], s->x[3 * v + 2]};
        int32_t triangle;
        image[mirror.axis] = 2 * mirror.at - image[mirror.axis];
        double d = su_closest_point(tree, s->x, s->triangles, image, near, &triangle, NULL);
        sum += d, *far += d >= near, (*samples)++;
    }
    return sum;
}

su_status su_mirror_find(const su_surface *surface, su_mirror *out, su_error *err)
{
    double centroid[3], least = INFINITY, near = SU_MIRROR_NEAR * surface->diagonal;
    su_boxtree tree = {0};
    *out = (su_mirror){.axis = -1};
    if (surface->t == 0) return SU_OK;
    SU_TRY(su_boxtree_of_triangles(surface->x, surface->t, surface->triangles, &tree, err));
    area_centroid(surface, centroid);
    for (int axis = 0; axis < 3; axis++) {
        double at[3] = {0, (surface->low[axis] + surface->high[axis]) / 2, centroid[axis]};
        for (int k = 0; k < 3; k++) {
            su_mirror tried = {.axis = axis, .at = at[k]};
            int64_t samples, far;
            double sum = distance_of_images(surface, &tree, tried, near, &samples, &far);
            if (sum >= least || 2 * far >= samples) continue;
            least = sum, *out = tried;
        }
    }
    su_boxtree_free(&tree);
    return SU_OK;
}

/* Number of the point nearest to the mirror image of x_k, which image receives. */
static int64_t nearest_to_image(const su_mirror *mirror, int64_t n, const double *x, int64_t k, double image[3])
{
    int64_t best = k;
    double least = INFINITY;
    for (int i = 0; i < 3; i++) image[i] = x[3 * k + i];
    image[mirror->axis] = 2 * mirror->at - image[mirror->axis];
    for (int64_t j = 0; j < n; j++) {
        double d = su_distance3(x + 3 * j, image);
        if (d < least) least = d, best = j;
    }
    return best;
}

su_status su_mirror_points(const su_mirror *mirror, double limit, int64_t n, double *x, su_error *err)
{
    double *given;
    if (mirror->axis < 0) return SU_OK;
    SU_TRY(SU_ALLOC(&given, 3 * n, "mirrored points", err));
    memcpy(given, x, 3 * (size_t)n * sizeof *x);
    for (int64_t k = 0; k < n; k++) {
        double image[3], back[3];
        int64_t j = nearest_to_image(mirror, n, given, k, image);
        if (su_distance3(given + 3 * j, image) > limit) continue;
        /* points at the place of this one are as good */
        int64_t again = nearest_to_image(mirror, n, given, j, back);
        if (su_distance3(given + 3 * again, given + 3 * k) > 0) continue;
        for (int i = 0; i < 3; i++) {
            double of_partner = i == mirror->axis ? 2 * mirror->at - given[3 * j + i] : given[3 * j + i];
            x[3 * k + i] = (given[3 * k + i] + of_partner) / 2;
        }
    }
    free(given);
    return SU_OK;
}
