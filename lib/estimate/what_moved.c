#include "estimate/what_moved.h"

#include "core/order.h"
#include "fem/fit.h"
#include "geometry/affine.h"
#include "runtime/subspace/reconstruct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 }; /* frames rebuilt at once */

/* Share of the skin's area that may move farther than `body`: tips of hair and ears are less than that. */
static const double TIPS = 0.05;

void su_moved_free(su_moved *moved)
{
    su_arena_free(&moved->arena);
    *moved = (su_moved){0};
}

/* Skin vertices over the shot. */
typedef struct skin_motion {
    double *mean, *most, *area; /* (nbar) m, m, share */
    int64_t *order;             /* (nbar) */
} skin_motion;

static double box_diagonal(int64_t n, const double *x)
{
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t v = 0; v < n; v++) low = fmin(low, x[3 * v + c]), high = fmax(high, x[3 * v + c]);
        if (high > low) sum += (high - low) * (high - low);
    }
    return sqrt(sum);
}

static su_status over_frames(const su_model *model, const su_shot *shot, const su_sim *sim, int threads,
                             skin_motion *skin, su_moved *out, su_error *err)
{
    int64_t nbar = model->nbar;
    su_reconstruct *reconstruct = NULL;
    double *u = NULL;
    su_status status;
    SU_GO(su_reconstruct_create(model, su_sim_interpolation(sim), 0, NULL, threads, &reconstruct, err));
    SU_GO(SU_ALLOC(&u, BLOCK * 3 * nbar, "skin displacements", err));
    for (int64_t first = 0; first < sim->F; first += BLOCK) {
        int64_t count = sim->F - first < BLOCK ? sim->F - first : BLOCK;
        SU_GO(su_reconstruct_shot(reconstruct, shot, sim, first, count, &(su_shot_motion){.displacement = u}, err));
        for (int64_t k = 0; k < count; k++)
            for (int64_t v = 0; v < nbar; v++) {
                const double *d = u + 3 * (k * nbar + v);
                double size = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
                skin->mean[v] += size / (double)sim->F;
                if (size > skin->most[v]) skin->most[v] = size;
                if (size > out->frame_largest[first + k]) out->frame_largest[first + k] = size;
                if (size > out->largest) out->largest = size, out->frame = first + k, out->vertex = v;
            }
    }
done:
    su_reconstruct_free(reconstruct);
    free(u);
    return status;
}

static void rig_steps(const su_anim *anim, su_moved *out)
{
    for (int64_t f = 1; f < anim->F; f++) {
        const float *x = anim->points + 3 * anim->nbar * f;
        double sum = 0;
        for (int64_t v = 0; v < anim->nbar; v++) {
            double way[3] = {0};
            for (int k = 0; k < 2; k++) { /* now, and a frame before */
                const float *p = x + 3 * (v - k * anim->nbar);
                const double local[3] = {p[0], p[1], p[2]}, sign = k ? -1 : 1;
                double world[3];
                su_affine_point(anim->root + 16 * (f - k), local, world);
                for (int c = 0; c < 3; c++) way[c] += sign * world[c];
            }
            sum += way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
        }
        double step = sqrt(sum / (double)anim->nbar);
        if (step > out->rig_step) out->rig_step = step, out->rig_frame = f;
    }
}

/* Vertices by what they move at most, falling; the area that moves more than the next is what counts. */
static double below_by_area(int64_t n, const skin_motion *skin)
{
    double above = 0;
    for (int64_t i = 0; i < n; i++) skin->order[i] = i;
    for (int64_t gap = n / 2; gap > 0; gap /= 2) /* Shell's sort, which needs no context and no room */
        for (int64_t i = gap; i < n; i++) {
            int64_t v = skin->order[i], k = i;
            for (; k >= gap && skin->most[skin->order[k - gap]] < skin->most[v]; k -= gap)
                skin->order[k] = skin->order[k - gap];
            skin->order[k] = v;
        }
    for (int64_t i = 0; i < n; i++) {
        above += skin->area[skin->order[i]];
        if (above > TIPS) return skin->most[skin->order[i]];
    }
    return 0;
}

static int by_mean(const void *a, const void *b)
{
    const su_moved_joint *x = a, *y = b;
    if (x->mean != y->mean) return x->mean < y->mean ? 1 : -1;
    return (x->joint > y->joint) - (x->joint < y->joint);
}

/* Of each joint the vertices that it carries most of all joints; joints that have none are left out, for what their
 * small weights move is another joint's. */
static void by_joint(const su_anim *anim, const skin_motion *skin, su_moved *out)
{
    int64_t *place = skin->order; /* no longer wanted */
    for (int64_t v = 0; v < anim->nbar; v++) {
        int64_t strongest = 0;
        for (int64_t b = 1; b < anim->B; b++)
            if (anim->weights[v * anim->B + b] > anim->weights[v * anim->B + strongest]) strongest = b;
        place[v] = strongest;
        if (v == out->vertex) out->joint = strongest;
    }
    for (int64_t b = 0; b < anim->B; b++) {
        su_moved_joint motion = {.joint = b};
        double carried = 0;
        for (int64_t v = 0; v < anim->nbar; v++) {
            if (place[v] != b) continue;
            carried += skin->area[v], motion.mean += skin->area[v] * skin->mean[v];
            motion.largest = fmax(motion.largest, skin->most[v]);
        }
        if (!(carried > 0)) continue;
        motion.mean /= carried;
        out->joint_motion[out->count++] = motion;
    }
    su_sort(out->joint_motion, (size_t)out->count, sizeof *out->joint_motion, by_mean);
}

su_status su_moved_measure(const su_model *model, const su_anim *anim, const su_shot *shot, const su_sim *sim,
                           int threads, su_moved *out, su_error *err)
{
    int64_t nbar = model->nbar;
    skin_motion skin = {0};
    su_status status;
    *out = (su_moved){.joint = -1, .diagonal = box_diagonal(nbar, model->neutral)};
    if (!(out->frame_largest = su_arena_alloc(&out->arena, sim->F, sizeof *out->frame_largest)) ||
        !(out->joint_motion = su_arena_alloc(&out->arena, anim->B + 1, sizeof *out->joint_motion))) {
        status = su_fail(err, SU_AGAIN, "no memory for what moved");
        goto done;
    }
    SU_GO(SU_ALLOC(&skin.mean, nbar, "skin", err));
    SU_GO(SU_ALLOC(&skin.most, nbar, "skin", err));
    SU_GO(SU_ALLOC(&skin.area, nbar, "skin", err));
    SU_GO(SU_ALLOC(&skin.order, nbar, "skin", err));
    SU_GO(over_frames(model, shot, sim, threads, &skin, out, err));
    if (su_skin_area_weights(nbar, model->neutral, anim->T, anim->triangles, model->rigid, skin.area, NULL) != SU_OK)
        for (int64_t v = 0; v < nbar; v++) skin.area[v] = 1.0 / (double)nbar; /* loose points */
    out->body = below_by_area(nbar, &skin);
    rig_steps(anim, out);
    if (anim->weights && anim->B > 0) by_joint(anim, &skin, out);
done:
    free(skin.mean), free(skin.most), free(skin.area), free(skin.order);
    if (status != SU_OK) su_moved_free(out);
    return status;
}
