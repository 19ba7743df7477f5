#include "runtime/skinning/skinning_shot.h"

#include "core/memory.h"
#include "geometry/mat3.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct su_skinning_shot {
    su_skinning_rig rig;
    const su_shot *shot;
    double *frames; /* (F,width) */
    double *second; /* (F,width) of their splines */
    int threads;
    su_skinning_work **works; /* (threads) */
    su_arena arena;
};

void su_skinning_shot_free(su_skinning_shot *of)
{
    if (!of) return;
    for (int k = 0; of->works && k < of->threads; k++) su_skinning_work_free(of->works[k]);
    free(of->works);
    su_arena_free(&of->arena);
    free(of);
}

/* The rig at an instant into the work's room. */
static void sample(const su_skinning_shot *of, int64_t frame, double fraction, su_skinning_work *own, double Q[9],
                   double c[3])
{
    su_shot_sample(of->shot, frame, fraction, su_shot_skin(of->shot), NULL, own->skin, own->p, Q, c);
    su_rig_weights(&of->rig.space, own->p, own->w);
}

su_status su_skinning_shot_create(const su_skinning_model *model, const su_shot *shot, const su_sim_settings *settings,
                                  int threads, su_skinning_shot **out, su_error *err)
{
    su_status status;
    su_skinning_shot *of = NULL;
    int64_t F = su_shot_frames(shot);
    SU_GO(SU_ALLOC(&of, 1, "shot", err));
    of->rig = su_skinning_rig_of(model, settings), of->shot = shot, of->threads = threads > 0 ? threads : 1;
    int64_t width = of->rig.width;
    of->frames = su_arena_alloc(&of->arena, F * width, sizeof *of->frames);
    of->second = su_arena_alloc(&of->arena, F * width, sizeof *of->second);
    if (of->arena.failed) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the frames of the shot");
        goto done;
    }
    SU_GO(SU_ALLOC(&of->works, of->threads, "frames", err));
    for (int k = 0; k < of->threads; k++) SU_GO(su_skinning_work_create(&of->rig, of->works + k, err));
#pragma omp parallel for schedule(dynamic, 1) num_threads(of->threads)
    for (int64_t k = 0; k < F; k++) {
        su_skinning_work *own = of->works[omp_get_thread_num()];
        sample(of, k, 0, own, NULL, NULL);
        su_skinning_rig_numbers(&of->rig, own, of->frames + k * width);
    }
    su_shot_spline(shot, width, of->frames, of->second);
    *out = of;
    of = NULL;
done:
    su_skinning_shot_free(of);
    return status;
}

void su_skinning_shot_at(const su_skinning_shot *of, int64_t frame, double fraction, su_skinning_instant *out)
{
    su_shot_sample(of->shot, frame, fraction, 0, NULL, NULL, NULL, out->Q, out->c);
    su_shot_blend(su_shot_segment_at(of->shot, frame, fraction), of->rig.width, of->frames, of->second, out->N);
    su_skinning_instant_finish(of->rig.model, out);
}

void su_skinning_shot_weights(const su_skinning_shot *of, int64_t frame, double *w)
{
    double *p = of->works[0]->p;
    su_shot_sample(of->shot, frame, 0, 0, NULL, NULL, p, NULL, NULL);
    su_rig_weights(&of->rig.space, p, w);
}

void su_skinning_rig_energy(const su_skinning_shot *of, const double *h, double frame_seconds, double *energy)
{
    const su_model *source = of->rig.model->source;
#pragma omp parallel for schedule(dynamic, 1) num_threads(of->threads)
    for (int64_t k = 0; k < su_shot_frames(of->shot); k++) {
        su_skinning_work *own = of->works[omp_get_thread_num()];
        double Q[2][9], c[2][3], *x[2] = {own->x, own->other};
        energy[k] = 0;
        if (!(h[k] > 0)) continue;
        for (int i = 0; i < 2; i++) {
            sample(of, k - i, i ? 1 - h[k] / frame_seconds : 0, own, Q[i], c[i]);
            su_skinning_rig_rest(&of->rig, own, x[i]);
        }
        for (int64_t v = 0; v < source->n; v++) {
            double a[3], b[3], square = 0;
            su_mulv3(Q[0], x[0] + 3 * v, a), su_mulv3(Q[1], x[1] + 3 * v, b);
            for (int d = 0; d < 3; d++) {
                double speed = (a[d] + c[0][d] - b[d] - c[1][d]) / h[k];
                square += speed * speed;
            }
            energy[k] += 0.5 * of->rig.model->vertex_mass[v] * square;
        }
    }
}
