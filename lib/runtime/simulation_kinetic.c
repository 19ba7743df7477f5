#include "runtime/simulate_internal.h"

#include <omp.h>

/* An end of the last step of a frame, or of the first where the flesh started there. */
typedef struct rig_instant {
    double Q[9], c[3];
} rig_instant;

/* Seconds of that step; 0: nothing moves there. */
static double rig_span(const su_simulation *s, int64_t frame)
{
    if (s->last_h[frame] > 0) return s->last_h[frame];
    return s->settings.start == SU_START_STILL ? 0 : s->settings.step;
}

/* Frames from `first`, at most SU_FRAMES: the ends of their steps stand beside each other in lanes. */
static void rig_motion(const su_simulation *s, int64_t first, int64_t count, double *work)
{
    const su_runtime_model *model = s->model;
    double *x[2] = {work, work + SU_POINT_FRAMES * s->whole.vertex_count};
    float *moved = (float *)(x[1] + SU_POINT_FRAMES * s->whole.vertex_count),
          *w = moved + 3 * SU_REST_FRAMES * s->whole.skin_count;
    double *weights = (double *)(w + SU_REST_FRAMES * model->m), *p = weights + model->m;
    su_shot_instant instants[SU_REST_FRAMES];
    rig_instant at[SU_REST_FRAMES];
    for (int k = 0; k < SU_REST_FRAMES; k++, p += model->s) {
        int64_t frame = first + (k / 2 < count ? k / 2 : count - 1);
        bool start = s->last_h[frame] == 0;
        double fraction = start   ? k % 2 * su_shot_fraction(&s->driver, 1)
                          : k % 2 ? 1.0
                                  : 1.0 - s->last_h[frame] / s->settings.frame_seconds;
        instants[k] = (su_shot_instant){start ? frame : frame - 1, fraction, p};
        su_shot_sample(s->shot, instants[k].frame, fraction, p, at[k].Q, at[k].c);
        su_rig_weights(&model->rig, p, weights);
        for (int64_t i = 0; i < model->m; i++) w[SU_REST_FRAMES * i + k] = (float)weights[i];
    }
    su_shot_lanes(s->shot, &s->whole, model->pose_kernels, NULL, SU_REST_FRAMES, instants, moved);
    su_rest_lanes_positions(&s->whole_lanes, SU_REST_FRAMES, moved, w, x, NULL);
    for (int k = 0; k < count; k++) {
        const rig_instant *a = at + 2 * k, *b = a + 1;
        double sum = 0, h = rig_span(s, first + k);
        for (int64_t v = 0; v < s->whole.vertex_count; v++)
            for (int i = 0; i < 3; i++) {
                const double *y = x[2 * k / SU_FRAMES] + SU_POINT_FRAMES * v + 2 * k % SU_FRAMES;
                double d = b->c[i] - a->c[i];
                for (int j = 0; j < 3; j++) d += b->Q[3 * i + j] * y[8 * j + 1] - a->Q[3 * i + j] * y[8 * j];
                sum += model->basis.mass[v] * d * d;
            }
        if (h > 0) s->out->energy[3 * (first + k)] += 0.5 * sum / (h * h);
    }
}

void su_simulation_add_rig_kinetic(su_simulation *s, int64_t from, int64_t to)
{
    enum { STEP = SU_FRAMES };
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int64_t k = from; k < to; k += STEP)
        rig_motion(s, k, to - k < STEP ? to - k : STEP, s->whole_work + omp_get_thread_num() * s->whole_size);
}
