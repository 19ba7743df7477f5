/* The shot's skin for the page: what its bones make of the neutral skin, and what is left of it in integers. A skin
 * that its bones carry linearly leaves nothing, and is exact. */
#include "pack.h"

#include "core/memory.h"
#include "geometry/affine.h"
#include "geometry/box.h"

#include <math.h>
#include <stdlib.h>

/* Of the neutral skin's diagonal: a point of the skin is half of it off at most. */
static const double UNIT = 2e-6;

/* Weights that are not 0, vertex after vertex, and where each bone takes the neutral skin; as the page reads them. */
typedef struct carried {
    int64_t bones, entries;
    int32_t *start; /* (nbar+1) */
    int32_t *bone;  /* (entries) */
    float *weight;  /* (entries) */
    float *moves;   /* (F,bones,12) rows of 3 x 4 */
} carried;

static void carried_free(carried *c) { free(c->start), free(c->bone), free(c->weight), free(c->moves); }

/* Nothing where the animation has no bones. */
static su_status gather(const su_anim *a, carried *out, su_error *err)
{
    int64_t bones = a->weights && a->bones && a->bone_rest ? a->B : 0;
    SU_TRY(SU_ALLOC(&out->start, a->nbar + 1, "the page", err));
    for (int64_t v = 0; v < a->nbar; v++) {
        out->start[v + 1] = out->start[v];
        for (int64_t b = 0; b < bones; b++) out->start[v + 1] += a->weights[v * bones + b] != 0.0f;
    }
    out->bones = bones, out->entries = out->start[a->nbar];
    SU_TRY(SU_ALLOC(&out->bone, out->entries, "the page", err));
    SU_TRY(SU_ALLOC(&out->weight, out->entries, "the page", err));
    SU_TRY(SU_ALLOC(&out->moves, a->F * bones * 12, "the page", err));
    for (int64_t i = 0, at = 0; i < a->nbar * bones; i++)
        if (a->weights[i] != 0.0f) out->bone[at] = (int32_t)(i % bones), out->weight[at++] = a->weights[i];
    for (int64_t b = 0; b < bones; b++) {
        double back[16], move[16];
        if (su_affine_inverse(a->bone_rest + 16 * b, back) == 0.0) su_affine_identity(back);
        for (int64_t f = 0; f < a->F; f++) {
            su_affine_multiply(a->bones + 16 * (f * bones + b), back, move);
            for (int i = 0; i < 12; i++) out->moves[12 * (f * bones + b) + i] = (float)move[i];
        }
    }
    return SU_OK;
}

/* A vertex at frame f as the bones have it; 0 without them. tools/report/web/data.js does the same. */
static void carry(const carried *c, int64_t f, int64_t v, const double *neutral, double out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (int32_t k = c->start[v]; k < c->start[v + 1]; k++) {
        const float *m = c->moves + 12 * (f * c->bones + c->bone[k]);
        for (int i = 0; i < 3; i++)
            out[i] += (double)c->weight[k] *
                      ((double)m[4 * i] * (double)(float)neutral[3 * v] +
                       (double)m[4 * i + 1] * (double)(float)neutral[3 * v + 1] +
                       (double)m[4 * i + 2] * (double)(float)neutral[3 * v + 2] + (double)m[4 * i + 3]);
    }
}

su_status report_pack_skin(const report_data *d, su_page *page, json_t *live, su_error *err)
{
    const su_anim *anim = d->anim;
    const double *neutral = d->model->neutral;
    int64_t width = 3 * anim->nbar;
    double unit = UNIT * su_box_diagonal(d->model->nbar, neutral);
    carried c = {0};
    int32_t *left = NULL;
    su_status status;
    SU_GO(gather(anim, &c, err));
    SU_GO(SU_ALLOC(&left, anim->F * width, "the page", err));
    for (int64_t f = 0; f < anim->F; f++)
        for (int64_t v = 0; v < anim->nbar; v++) {
            double to[3];
            carry(&c, f, v, neutral, to);
            for (int64_t i = f * width + 3 * v, k = 0; k < 3; k++)
                left[i + k] = (int32_t)lrint(((double)anim->points[i + k] - to[k]) / unit);
        }
    SU_GO(su_page_add_motion(page, "live.skin", SU_PAGE_I32, anim->F, width, left, err));
    SU_GO(su_page_add(page, "live.weight_start", SU_PAGE_I32, anim->nbar + 1, c.start, err));
    SU_GO(su_page_add(page, "live.weight_bone", SU_PAGE_I32, c.entries, c.bone, err));
    SU_GO(su_page_add(page, "live.weight", SU_PAGE_F32, c.entries, c.weight, err));
    SU_GO(su_page_add(page, "live.moves", SU_PAGE_F32, anim->F * c.bones * 12, c.moves, err));
    json_object_set_new(live, "unit", json_real(unit));
done:
    carried_free(&c), free(left);
    return status;
}
