#include "runtime/subspace/shot_lanes.h"

#include <string.h>

enum { LANES = SU_REST_FRAMES, MOST = SU_SAMPLED };

/* Distinct frames beside the instants, ascending, so that a lane's sum does not depend on the others, and their
 * coefficients in each lane. */
typedef struct frame_list {
    int64_t count, frame[MOST];
    float c[MOST][2][LANES] __attribute__((aligned(64)));
} frame_list;

static void enter(frame_list *list, int64_t frame)
{
    int64_t k = list->count;
    while (k > 0 && list->frame[k - 1] >= frame) k--;
    if (k < list->count && list->frame[k] == frame) return;
    memmove(list->frame + k + 1, list->frame + k, (size_t)(list->count++ - k) * sizeof *list->frame);
    list->frame[k] = frame;
}

static void weigh(frame_list *list, int64_t frame, int lane, double own, double second)
{
    int64_t k = 0;
    while (list->frame[k] != frame) k++;
    list->c[k][0][lane] += (float)own, list->c[k][1][lane] += (float)second;
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

void su_shot_lanes(const su_shot *shot, const su_rest_patch *patch, const su_pose_kernels *kernels, int64_t count,
                   const su_shot_instant *instants, float *moved)
{
    frame_list list = {.count = 0};
    const float *positions[MOST], *seconds[MOST];
    su_shot_segment segments[LANES];
    for (int f = 0; f < LANES; f++) {
        const su_shot_instant *i = instants + (f < count ? f : count - 1);
        segments[f] = su_shot_segment_at(shot, i->frame, i->fraction);
        enter(&list, segments[f].frame);
        enter(&list, segments[f].next);
    }
    memset(list.c, 0, (size_t)list.count * sizeof *list.c);
    for (int f = 0; f < LANES; f++) {
        weigh(&list, segments[f].frame, f, segments[f].here, segments[f].here_second);
        if (segments[f].next != segments[f].frame)
            weigh(&list, segments[f].next, f, segments[f].there, segments[f].there_second);
    }
    for (int64_t k = 0; k < list.count; k++) {
        positions[k] = su_shot_points(shot, list.frame[k]);
        seconds[k] = su_shot_points_second(shot, list.frame[k]);
        if (!seconds[k]) seconds[k] = positions[k]; /* times zero */
    }
    kernels->sample(patch->skin_count, patch->skin, patch->shape.neutral, list.count, positions, seconds,
                    &list.c[0][0][0], moved);
    for (int f = 0; f < count; f++) add_sculpts(shot, patch, f, instants[f].p, 3 * su_shot_skin(shot), moved);
}
