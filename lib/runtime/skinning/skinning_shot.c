#include "runtime/skinning/skinning_shot.h"

#include "core/memory.h"
#include "geometry/mat3.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct su_skinning_shot {
    su_skinning_rig rig;
    const su_shot *shot;
    const su_skinning_bones *bones; /* NULL: of the skin */
    int64_t width;
    const double *frames; /* (F,width) numbers of the rig, or of its bones */
    double *second;       /* (F,width) of their splines */
    double *p;            /* (s) scratch */
    double *entries[2];   /* (bones + 1,3,4) of instants, with bones; */
    double *room;         /* scratch of theirs */
    int threads;
    su_skinning_work **works; /* (threads), without bones */
    su_arena arena;
};

void su_skinning_shot_free(su_skinning_shot *of)
{
    if (!of) return;
    for (int k = 0; of->works && k < of->threads; k++) su_skinning_work_free(of->works[k]);
    su_arena_free(&of->arena);
    free(of);
}

/* What memory is wanted for. */
static const char purpose[] = "the frames of the shot";

/* The rig at an instant into the work's room. */
static void sample(const su_skinning_shot *of, int64_t frame, double fraction, su_skinning_work *own, double Q[9],
                   double c[3])
{
    su_shot_sample(of->shot, frame, fraction, own->p, Q, c);
    su_shot_sample_skin(of->shot, frame, fraction, 0, NULL, 1, own->skin);
    su_rig_weights(&of->rig.space, own->p, own->w);
}

/* Numbers of the rig at all frames, from the skin. */
static su_status take_skins(su_skinning_shot *of, su_error *err)
{
    int64_t F = su_shot_frames(of->shot);
    double *frames;
    SU_TRY(SU_TAKE_ALL(&of->arena, purpose, err, SU_WANT(frames, F * of->width), SU_WANT(of->works, of->threads)));
    of->frames = frames;
    for (int k = 0; k < of->threads; k++) SU_TRY(su_skinning_work_create(&of->rig, of->works + k, err));
#pragma omp parallel for schedule(dynamic, 1) num_threads(of->threads)
    for (int64_t k = 0; k < F; k++) {
        su_skinning_work *own = of->works[omp_get_thread_num()];
        sample(of, k, 0, own, NULL, NULL);
        su_skinning_rig_numbers(&of->rig, own, frames + k * of->width);
    }
    return SU_OK;
}

su_status su_skinning_shot_create(const su_skinning_model *model, const su_shot *shot, const su_sim_settings *settings,
                                  const su_bone_motion *bones, int threads, su_skinning_shot **out, su_error *err)
{
    su_status status;
    su_skinning_shot *of = NULL;
    int64_t F = su_shot_frames(shot);
    SU_GO(SU_ALLOC(&of, 1, "shot", err));
    of->rig = su_skinning_rig_of(model, settings), of->shot = shot, of->threads = threads > 0 ? threads : 1;
    of->bones = bones ? bones->bones : NULL;
    of->width = bones ? 12 * bones->bones->bones : of->rig.width;
    SU_GO(SU_TAKE_ALL(&of->arena, purpose, err, SU_WANT(of->second, F * of->width), SU_WANT(of->p, of->rig.space.s)));
    if (bones) {
        of->frames = bones->frames;
        SU_GO(SU_TAKE_ALL(&of->arena, purpose, err, SU_WANT(of->entries[0], of->width + 12),
                          SU_WANT(of->entries[1], of->width + 12), SU_WANT(of->room, of->bones->room)));
    } else {
        SU_GO(take_skins(of, err));
    }
    su_shot_spline(shot, of->width, of->frames, of->second);
    *out = of;
    of = NULL;
done:
    su_skinning_shot_free(of);
    return status;
}

void su_skinning_shot_at(const su_skinning_shot *of, int64_t frame, double fraction, su_skinning_instant *out)
{
    su_shot_sample(of->shot, frame, fraction, NULL, out->Q, out->c);
    double *to = of->bones ? of->entries[0] : out->N;
    su_shot_blend(su_shot_segment_at(of->shot, frame, fraction), of->width, of->frames, of->second, to);
    if (of->bones)
        su_skinning_bones_pose(of->bones, to, out->Q, out->c, of->room, out);
    else
        su_skinning_instant_finish(of->rig.model, out);
}

void su_skinning_shot_weights(const su_skinning_shot *of, int64_t frame, double *w)
{
    su_shot_sample(of->shot, frame, 0, of->p, NULL, NULL);
    su_rig_weights(&of->rig.space, of->p, w);
}

/* Entries of the bones and of the one that stands still (bones + 1,3,4) at an instant, in the world. */
static void bones_in_world(const su_skinning_shot *of, int64_t frame, double fraction, double *out)
{
    double Q[9], c[3];
    su_shot_sample(of->shot, frame, fraction, NULL, Q, c);
    su_shot_blend(su_shot_segment_at(of->shot, frame, fraction), of->width, of->frames, of->second, out);
    for (int a = 0; a < 12; a++) out[of->width + a] = a % 5 == 0;
    for (double *M = out; M <= out + of->width; M += 12) {
        double turned[12];
        for (int i = 0; i < 3; i++)
            for (int a = 0; a < 4; a++)
                turned[4 * i + a] =
                    Q[3 * i] * M[a] + Q[3 * i + 1] * M[4 + a] + Q[3 * i + 2] * M[8 + a] + (a == 3 ? c[i] : 0);
        memcpy(M, turned, sizeof turned);
    }
}

static void bones_energy(const su_skinning_shot *of, const double *h, double frame_seconds, double *energy)
{
    for (int64_t k = 0; k < su_shot_frames(of->shot); k++) {
        energy[k] = 0;
        if (!(h[k] > 0)) continue;
        bones_in_world(of, k, 0, of->entries[0]);
        bones_in_world(of, k - 1, 1 - h[k] / frame_seconds, of->entries[1]);
        for (int64_t i = 0; i < of->width + 12; i++) of->entries[0][i] = (of->entries[0][i] - of->entries[1][i]) / h[k];
        energy[k] = su_skinning_bones_energy(of->bones, of->entries[0]);
    }
}

void su_skinning_rig_energy(const su_skinning_shot *of, const double *h, double frame_seconds, double *energy)
{
    if (of->bones) {
        bones_energy(of, h, frame_seconds, energy);
        return;
    }
    const su_model *source = of->rig.model->source;
#pragma omp parallel for schedule(dynamic, 1) num_threads(of->threads)
    for (int64_t k = 0; k < su_shot_frames(of->shot); k++) {
        su_skinning_work *own = of->works[omp_get_thread_num()];
        double Q[2][9], c[2][3], *x[2] = {own->x, own->other};
        energy[k] = 0;
        if (!(h[k] > 0)) continue;
        for (int i = 0; i < 2; i++) {
            sample(of, k - i, i ? 1 - h[k] / frame_seconds : 0, own, Q[i], c[i]);
            su_rest_shape_evaluate(&of->rig.shape, source->n, NULL, own->skin, own->w, x[i]);
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
