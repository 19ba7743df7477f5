#include "rig/inherited_scale.h"

#include "geometry/affine.h"
#include "geometry/mat3.h"

#include <math.h>
#include <string.h>

/* A node X under P, with translation t, rotation r and scale s of its own, stands at
 *
 *     P [t | r s]                 all of P's scale comes down (SU_INHERIT_ALL)
 *     U [e t | r s h],  P = U e   where e is the scale that P ends with and U is P without it:
 *                                 h = 1, or what P itself took from above (SU_INHERIT_NOT_PARENT: joints of Maya that
 *                                 compensate for their parent's scale), or e (SU_INHERIT_APART: scales multiply
 *                                 by axes of their own joints, without a shear)
 *
 * with diagonal e and h. As a product of nodes, X is P [t | e^-1 r h s]. */

/* The first of the nodes that stand for node i of the file, its links above it. */
static int64_t top_of(const su_scene *scene, int64_t i)
{
    for (int32_t k = scene->node[i].links; k > 0 && scene->node[i].parent >= 0; k--) i = scene->node[i].parent;
    return i;
}

/* Node i and its links as one transform. */
static void own_transform(const su_scene *scene, const double *local, int64_t i, double out[16])
{
    int64_t top = top_of(scene, i);
    memcpy(out, local + 16 * i, 16 * sizeof *out);
    while (i != top) {
        i = scene->node[i].parent;
        su_affine_multiply(local + 16 * i, out, out);
    }
}

/* Rotation and scale of node i; a mirror stays in the rotation. False: it is flat. */
static bool split(const su_scene *scene, const double *local, int64_t i, double rotation[9], double scale[3])
{
    double own[16];
    own_transform(scene, local, i, own);
    su_affine_linear(own, rotation);
    for (int c = 0; c < 3; c++) {
        scale[c] =
            sqrt(rotation[c] * rotation[c] + rotation[3 + c] * rotation[3 + c] + rotation[6 + c] * rotation[6 + c]);
        if (!(scale[c] > 0.0) || !isfinite(scale[c])) return false;
        for (int r = 0; r < 3; r++) rotation[3 * r + c] /= scale[c];
    }
    return true;
}

/* Multiplies scale by what node i ends with, by its axes, or, where own is false, by what it took from above. */
static bool collect(const su_scene *scene, const double *local, int64_t i, bool own, double scale[3])
{
    double rotation[9], s[3];
    while (i >= 0) {
        if (own) {
            if (!split(scene, local, i, rotation, s)) return false;
            for (int c = 0; c < 3; c++) scale[c] *= s[c];
        }
        if (scene->node[i].inherit == SU_INHERIT_ALL) return true;
        own = scene->node[i].inherit == SU_INHERIT_APART;
        i = scene->node[top_of(scene, i)].parent;
    }
    return true;
}

static void adjust(const su_scene *scene, double *local, int64_t i)
{
    double e[3] = {1.0, 1.0, 1.0}, h[3] = {1.0, 1.0, 1.0}, r[9], s[3], own[16], turn[9], shift[3], t[3], moved[3];
    int64_t top = top_of(scene, i), parent = scene->node[top].parent;
    bool apart = scene->node[i].inherit == SU_INHERIT_APART;
    if (parent < 0 || !collect(scene, local, parent, true, e) || !collect(scene, local, parent, apart, h) ||
        !split(scene, local, i, r, s))
        return;
    bool even = true; /* nothing to do, and not a bit changes */
    for (int c = 0; c < 3; c++) even = even && fabs(e[c] - 1.0) < 1e-9 && fabs(h[c] - 1.0) < 1e-9;
    if (even) return;
    /* [t | e^-1 r h s] = D [t | r s], D = e^-1 r h r^T about t */
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double sum = 0.0;
            for (int c = 0; c < 3; c++) sum += r[3 * a + c] * h[c] * r[3 * b + c];
            turn[3 * a + b] = sum / e[a];
        }
    own_transform(scene, local, i, own);
    su_affine_translation(own, t);
    su_mulv3(turn, t, moved);
    for (int c = 0; c < 3; c++) shift[c] = t[c] - moved[c];
    double before[16];
    su_affine_set(turn, shift, before);
    su_affine_multiply(before, local + 16 * top, local + 16 * top);
}

void su_inherit_scales(const su_scene *scene, double *local)
{
    /* children first: what stands above a node is still as its keys say */
    for (int64_t i = scene->nodes - 1; i >= 0; i--)
        if (scene->node[i].inherit != SU_INHERIT_ALL) adjust(scene, local, i);
}
