#include "runtime/subspace/shot_lanes.h"

#include <string.h>

enum { LANES = SU_REST_FRAMES, MOST = SU_SAMPLED };
_Static_assert(MOST == LANES * SU_SHOT_FRAMES, "room for instants that share no frame");

/* Distinct frames that the instants are made of, ascending, so that a lane's sum does not depend on the others. */
typedef struct frame_list {
    int64_t count, frame[MOST];
} frame_list;

static void enter(frame_list *list, int64_t frame)
{
    int64_t k = list->count;
    while (k > 0 && list->frame[k - 1] >= frame) k--;
    if (k < list->count && list->frame[k] == frame) return;
    memmove(list->frame + k + 1, list->frame + k, (size_t)(list->count++ - k) * sizeof *list->frame);
    list->frame[k] = frame;
}

static void add_sculpts(const su_shot *shot, const su_rest_patch *patch, int lane, const double *p, int64_t columns,
                        float *moved)
{
    double weights[SU_SHOT_SCULPTS];
    const double *shapes = NULL;
    int64_t sculpts = su_shot_sculpts(shot, p, weights, &shapes);
    for (int64_t j = 0; j < sculpts; j++) {
        if (weights[j] == 0.0) continue;
        for (int64_t k = 0; k < 3 * patch->skin_count; k++)
            moved[LANES * k + lane] +=
                (float)(weights[j] * shapes[j * columns + 3 * (int64_t)patch->skin[k / 3] + k % 3]);
    }
}

/* ---- windows ---- */

su_status su_shot_window_create(const su_shot *shot, const su_rest_patch *patch, int64_t span, su_shot_window *window,
                                su_error *err)
{
    int64_t points = patch->skin_count, frames = span + SU_SHOT_FRAMES;
    *window = (su_shot_window){.shot = shot, .skin = patch->skin, .points = points, .frames = frames};
    su_status status = SU_TAKE_ALL(&window->arena, "skin points of a shot", err, SU_WANT(window->list, points),
                                   SU_WANT(window->frame, frames), SU_WANT(window->positions, frames * 3 * points));
    if (status != SU_OK) {
        su_arena_free(&window->arena);
        return status;
    }
    for (int64_t k = 0; k < points; k++) window->list[k] = (int32_t)(k * frames);
    for (int64_t f = 0; f < frames; f++) window->frame[f] = -1;
    return SU_OK;
}

void su_shot_window_free(su_shot_window *window) { su_arena_free(&window->arena); }

/* That frame of the first point. */
static float *frame_of(const su_shot_window *window, int64_t frame)
{
    return window->positions + frame % window->frames * 3;
}

void su_shot_window_cover(su_shot_window *window, int64_t first, int64_t last)
{
    first -= SU_SHOT_REACH + 1, last += SU_SHOT_REACH + 2;
    if (first < 0) first = 0;
    if (last >= su_shot_frames(window->shot)) last = su_shot_frames(window->shot) - 1;
    for (int64_t f = first; f <= last; f++) {
        const float *points = su_shot_points(window->shot, f);
        float *row = frame_of(window, f);
        if (window->frame[f % window->frames] == f) continue;
        for (int64_t k = 0; k < window->points; k++)
            memcpy(row + 3 * (int64_t)window->list[k], points + 3 * (int64_t)window->skin[k], 3 * sizeof *row);
        window->frame[f % window->frames] = f;
    }
}

/* ---- lanes ---- */

static void add_term(su_shot_terms *terms, int64_t row, const float *weight)
{
    memcpy(terms->weight[terms->count], weight, sizeof terms->weight[0]);
    terms->row[terms->count++] = (int32_t)row;
}

void su_shot_lanes(const su_shot *shot, const su_rest_patch *patch, const su_pose_kernels *kernels,
                   const su_shot_window *window, int64_t count, const su_shot_instant *instants, float *moved)
{
    frame_list list;
    const float *positions[MOST];
    su_shot_weights weights[LANES];
    su_shot_sum sum;
    list.count = 0;
    for (int f = 0; f < LANES; f++) {
        const su_shot_instant *i = instants + (f < count ? f : count - 1);
        weights[f] = su_shot_weights_at(shot, i->frame, i->fraction);
        enter(&list, weights[f].frame);
        enter(&list, weights[f].next);
        for (int64_t n = -1; weights[f].count > 0 && n <= weights[f].count; n++) enter(&list, weights[f].first + n);
    }
    sum.frames = list.count, sum.positions = positions, sum.own.count = sum.bent.count = 0;
    for (int64_t k = 0; k < list.count; k++) {
        int64_t frame = list.frame[k];
        positions[k] = window ? frame_of(window, frame) : su_shot_points(shot, frame);
        float own[LANES], bent[LANES];
        bool is_own = false, is_bent = false;
        for (int f = 0; f < LANES; f++) {
            const su_shot_weights *w = weights + f;
            own[f] = (float)(frame == w->frame ? w->here : 0) +
                     (float)(frame == w->next && w->next != w->frame ? w->there : 0);
            bent[f] = frame >= w->first && frame < w->first + w->count ? (float)w->bend[frame - w->first] : 0;
            is_own |= own[f] != 0, is_bent |= bent[f] != 0;
        }
        if (is_own) add_term(&sum.own, k, own);
        if (is_bent) add_term(&sum.bent, k, bent);
    }
    kernels->sample(patch->skin_count, window ? window->list : patch->skin, patch->shape.neutral, &sum, moved);
    for (int f = 0; f < count; f++) add_sculpts(shot, patch, f, instants[f].p, 3 * su_shot_skin(shot), moved);
}
