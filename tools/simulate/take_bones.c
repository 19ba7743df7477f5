/* The bones of a shot of supple sim --crowd. */
#include "simulate.h"

#include "core/memory.h"
#include "geometry/affine.h"
#include "geometry/box.h"

#include <math.h>
#include <string.h>

/* Skin vertices that are held against what the bones make of them. */
enum { LOOKED_AT = 512 };
/* How far off they may be, over the diagonal: positions are stored in single precision. A dual-quaternion rig bent by
 * ten degrees is off by more. */
#define SKIN_IS_LINEAR 1e-4

/* The largest distance of a frame's skin from what its bones make of the neutral one, m. */
static double off_the_bones(const su_anim *a, const double *bones, const float *points)
{
    int64_t every = a->nbar / LOOKED_AT + 1;
    double worst = 0;
    for (int64_t v = 0; v < a->nbar; v += every) {
        double x[3] = {0, 0, 0}, square = 0;
        for (int64_t b = 0; b < a->B; b++) {
            double w = (double)a->weights[v * a->B + b];
            const double *M = bones + 12 * b, *X = a->neutral + 3 * v;
            if (w == 0) continue;
            for (int i = 0; i < 3; i++)
                x[i] += w * (M[4 * i] * X[0] + M[4 * i + 1] * X[1] + M[4 * i + 2] * X[2] + M[4 * i + 3]);
        }
        for (int i = 0; i < 3; i++) square += pow(x[i] - (double)points[3 * v + i], 2);
        worst = fmax(worst, sqrt(square));
    }
    return worst;
}

su_status take_bones(take *t, su_error *err)
{
    const su_anim *a = &t->anim, *first = &t->j->first;
    double limit = SKIN_IS_LINEAR * su_box_diagonal(a->nbar, a->neutral);
    if (!a->weights || !a->bones || !a->bone_rest || a->B != first->B || a->nbar != first->nbar ||
        memcmp(a->weights, first->weights, (size_t)(a->nbar * a->B) * sizeof *a->weights) != 0 ||
        memcmp(a->neutral, first->neutral, (size_t)(3 * a->nbar) * sizeof *a->neutral) != 0)
        return su_fail(err, SU_INPUT, "%s: its skin hangs on the bones in another way than in the first clip", t->path);
    SU_TRY(SU_ALLOC(&t->bones, 12 * a->F * a->B, "bones", err));
    for (int64_t b = 0; b < a->B; b++) {
        double back[16], way[16];
        if (su_affine_inverse(a->bone_rest + 16 * b, back) == 0)
            return su_fail(err, SU_INPUT, "%s: bone %lld is flat at the neutral pose", t->path, (long long)b);
        for (int64_t f = 0; f < a->F; f++) {
            su_affine_multiply(a->bones + 16 * (f * a->B + b), back, way);
            memcpy(t->bones + 12 * (f * a->B + b), way, 12 * sizeof *way);
        }
    }
    for (int64_t f = 0; f < a->F; f++) {
        double off = off_the_bones(a, t->bones + 12 * a->B * f, a->points + 3 * a->nbar * f);
        if (!(off <= limit))
            return su_fail(err, SU_INPUT,
                           "%s: at frame %lld the skin is %.2g of the diagonal away from what its bones make of it "
                           "(blend shapes, dual quaternions, sculpts); do without --crowd",
                           t->path, (long long)f, SKIN_IS_LINEAR * off / limit);
    }
    return SU_OK;
}
