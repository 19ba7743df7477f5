#include "fem/body_stiffness.h"

#include "core/memory.h"
#include "core/order.h"
#include "fem/paint.h"
#include "geometry/kdtree.h"
#include "geometry/mat3.h"
#include "geometry/thickness.h"
#include "rig/joint_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THICK_SHARE 0.75 /* of the soft volume is thinner than what counts as thick flesh */
enum { SMOOTHINGS = 4 }; /* means over the tets around a vertex and back; inscribed balls leave edges of bodies out */

typedef struct thick_tet {
    double half, volume;
} thick_tet;

static int by_half(const void *a, const void *b)
{
    const thick_tet *x = a, *y = b;
    return (x->half > y->half) - (x->half < y->half);
}

/* H: the half-thickness that THICK_SHARE of the soft volume stays below: volume by 1/s^2, as squared motion under a
 * load goes, s what its joints make of it (log s in `hard`). A head may be most of a character, and says nothing of its
 * belly. */
static su_status thick_flesh(const su_tets *mesh, const double *half, const double *hard, double *H, su_error *err)
{
    thick_tet *list;
    double total = 0, sum = 0;
    SU_TRY(SU_ALLOC(&list, mesh->t, "flesh thickness", err));
    for (int64_t e = 0; e < mesh->t; e++) {
        list[e] = (thick_tet){half[e], su_tet_volume(mesh->x, mesh->tets + 4 * e) * exp(-2 * hard[e])};
        total += list[e].volume;
    }
    su_sort(list, (size_t)mesh->t, sizeof *list, by_half);
    int64_t at = 0;
    while (at + 1 < mesh->t && (sum += list[at].volume) < THICK_SHARE * total) at++;
    *H = list[at].half;
    free(list);
    return SU_OK;
}

/* Means of a tet's corners' means, weighted by volume. vertex (n), weight (n): scratch. */
static void smooth(const su_tets *mesh, double *value, double *vertex, double *weight)
{
    for (int round = 0; round < SMOOTHINGS; round++) {
        for (int64_t v = 0; v < mesh->n; v++) vertex[v] = weight[v] = 0;
        for (int64_t e = 0; e < mesh->t; e++) {
            double V = su_tet_volume(mesh->x, mesh->tets + 4 * e);
            for (int c = 0; c < 4; c++) {
                vertex[mesh->tets[4 * e + c]] += V * value[e];
                weight[mesh->tets[4 * e + c]] += V;
            }
        }
        for (int64_t e = 0; e < mesh->t; e++) {
            value[e] = 0;
            for (int c = 0; c < 4; c++) {
                int32_t v = mesh->tets[4 * e + c];
                value[e] += 0.25 * vertex[v] / weight[v];
            }
        }
    }
}

/* Tets whose middles are each other's mirror images within this part of their size take the mean of their logarithms:
 * where flesh that overlaps is cut apart on one side alone, thickness differs, and the body does not. */
#define SAME_TET 0.5

static su_status even_out(const su_tets *mesh, const su_mirror *mirror, double *half, su_error *err)
{
    double *middle = NULL, *own = NULL;
    su_kdtree *tree = NULL;
    su_status status = SU_OK;
    if (!mirror || mirror->axis < 0) return SU_OK;
    SU_GO(SU_ALLOC(&middle, 3 * mesh->t, "mirrored tets", err));
    SU_GO(SU_ALLOC(&own, mesh->t, "mirrored tets", err));
    memcpy(own, half, (size_t)mesh->t * sizeof *own);
    for (int64_t k = 0; k < 12 * mesh->t; k++)
        middle[3 * (k / 12) + k % 3] += mesh->x[3 * (int64_t)mesh->tets[k / 3] + k % 3] / 4;
    SU_GO(su_kdtree_create(mesh->t, middle, &tree, err));
    for (int64_t e = 0; e < mesh->t; e++) {
        double image[3], distance;
        int32_t there;
        su_mirror_image(mirror, middle + 3 * e, image);
        su_kdtree_nearest(tree, image, 1, &there, &distance);
        if (distance < SAME_TET * cbrt(su_tet_volume(mesh->x, mesh->tets + 4 * e))) half[e] = sqrt(own[e] * own[there]);
    }
done:
    su_kdtree_free(tree);
    free(middle), free(own);
    return status;
}

/* Adds the logarithms of what thickness asks for to those of the joints in log_factor. Hard is to the part 1 - 1/s what
 * joints make s times as stiff. */
static su_status add_thickness(const su_tets *mesh, const su_mirror *mirror, int threads, double *log_factor,
                               su_error *err)
{
    double *half = NULL, *mean = NULL, *weight = NULL, H;
    su_status status;
    SU_GO(SU_ALLOC(&half, mesh->t, "flesh thickness", err));
    SU_GO(SU_ALLOC(&mean, mesh->n, "flesh thickness", err));
    SU_GO(SU_ALLOC(&weight, mesh->n, "flesh thickness", err));
    SU_GO(su_tet_thickness(mesh, threads, NULL, half, err));
    smooth(mesh, half, mean, weight);
    SU_GO(even_out(mesh, mirror, half, err));
    SU_GO(thick_flesh(mesh, half, log_factor, &H, err));
    for (int64_t e = 0; e < mesh->t; e++) {
        double thinner = 2 * log(H / half[e]), hard = fmax(1 - exp(-log_factor[e]), 0);
        log_factor[e] += thinner > 0 ? fmin(thinner, log(SU_BODY_RANGE)) : fmin(-thinner, log(SU_BODY_RANGE)) * hard;
    }
done:
    free(half), free(mean), free(weight);
    return status;
}

su_status su_body_stiffness(const su_tets *mesh, bool thickness, const su_body_skin *skin, int threads, double *factor,
                            su_error *err)
{
    double *painted = NULL, *logs = NULL;
    su_status status = SU_OK;
    for (int64_t e = 0; e < mesh->t; e++) factor[e] = 0;
    if (skin->weights && skin->stiffness) {
        SU_GO(SU_ALLOC(&painted, skin->nbar, "joint stiffness", err));
        SU_GO(SU_ALLOC(&logs, skin->bones, "joint stiffness", err));
        for (int64_t b = 0; b < skin->bones; b++) logs[b] = log(skin->stiffness[b]);
        su_joint_values_at_skin(skin->nbar, skin->bones, skin->weights, logs, painted);
        SU_GO(su_paint_spread(&(su_tet_mesh){mesh->n, mesh->t, mesh->x, mesh->tets},
                              &(su_paint_skin){skin->nbar, skin->embed_tet, skin->rigid}, SU_PAINT_ZETA, 1, painted,
                              factor, err));
    }
    if (thickness) SU_GO(add_thickness(mesh, skin->mirror, threads, factor, err));
    for (int64_t e = 0; e < mesh->t; e++) factor[e] = exp(factor[e]);
done:
    free(painted), free(logs);
    return status;
}
