#include "reduce/cubature/training_places.h"

#include "core/json_text.h"
#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "physics/settings.h"
#include "rig/rest_shape.h"
#include "rig/shot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_training_places_free(su_training_places *places)
{
    for (int64_t a = 0; a < places->count; a++) su_place_free(&places->place[a]), su_motion_free(&places->motion[a]);
    free(places->place), free(places->motion), free(places->shot), free(places->frame), free(places->number);
    *places = (su_training_places){0};
}

/* Relative rotation of each vertex from an earlier instant to a later one, in neutral coordinates: (Q1 R1)' (Q0 R0). */
static void relative_turn(int64_t n, const double *later, const double Q1[9], const double *earlier, const double Q0[9],
                          double *turn)
{
    for (int64_t v = 0; v < n; v++) {
        double R1[9], R0[9], P1[9], P0[9], T[9];
        su_quaternion_matrix(later + 4 * v, R1);
        su_quaternion_matrix(earlier + 4 * v, R0);
        su_mul33(Q1, R1, P1);
        su_mul33(Q0, R0, P0);
        su_tmul33(P1, P0, T);
        su_quaternion_of(T, turn + 4 * v);
    }
}

/* ---- shots ---- */

void su_open_shots_free(su_open_shots *all)
{
    for (int k = 0; k < all->count; k++) su_shot_free(all->shot[k]), su_anim_free(&all->anim[k]);
    free(all->anim), free(all->shot);
}

su_status su_shots_open(const su_shot_list *list, su_open_shots *all, su_error *err)
{
    SU_TRY(SU_ALLOC_ALL("shots", err, SU_WANT(all->anim, list->count), SU_WANT(all->shot, list->count)));
    while (all->count < list->count) {
        int k = all->count++;
        const char *path = list->paths[k];
        SU_TRY(su_anim_load(path, &all->anim[k], err));
        SU_TRY(su_shot_create(&all->anim[k], path, &list->target, 0, NULL, &all->shot[k], NULL, err));
    }
    return SU_OK;
}

static double distance2(const su_pose_space *space, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t k = 0; k < space->s; k++) {
        double d = (a[k] - b[k]) * space->fit->param_scale[k];
        sum += d * d;
    }
    return sum;
}

enum { BY_TIME = 3 }; /* every so many frames one is chosen by time */
/* Squared distance in scaled parameters, of order 1, below which frames show the same pose. */
#define SAME_POSE 1e-12

static su_status frames_create(su_shot_frames_list *list, int64_t room, su_arena *arena, su_error *err)
{
    return SU_TAKE_ALL(arena, "shots", err, SU_WANT(list->shot, room), SU_WANT(list->frame, room));
}

/* Farthest points from the example poses and from each other; every BY_TIME-th pick is instead the frame in the middle
 * of the longest stretch of frames not looked at yet, so that the motion along the shots is sampled too. chosen has
 * room for `wanted`. */
static su_status choose_frames(const su_pose_space *space, const su_open_shots *open, int64_t wanted,
                               su_shot_frames_list *chosen, su_error *err)
{
    int64_t s = space->s, frames = 0, *gap;
    su_shot_frames_list all = {0};
    double *nearest, *params;
    su_arena arena = {0};
    su_status status;
    for (int k = 0; k < open->count; k++) frames += su_shot_frames(open->shot[k]);
    SU_GO(frames_create(&all, frames, &arena, err));
    SU_GO(
        SU_TAKE_ALL(&arena, "shots", err, SU_WANT(params, frames * s), SU_WANT(nearest, frames), SU_WANT(gap, frames)));
    for (int k = 0; k < open->count; k++)
        for (int64_t f = 0; f < su_shot_frames(open->shot[k]); f++, all.count++) {
            bool last = f + 1 == su_shot_frames(open->shot[k]) && f > 0;
            all.shot[all.count] = k, all.frame[all.count] = f;
            su_shot_sample(open->shot[k], last ? f - 1 : f, last ? 1 : 0, params + all.count * s, NULL, NULL);
        }
    for (int64_t f = 0; f < frames; f++) {
        nearest[f] = HUGE_VAL;
        gap[f] = frames;
        for (int64_t i = 0; i < space->m; i++)
            nearest[f] = fmin(nearest[f], distance2(space, params + f * s, space->fit->params + i * s));
    }
    while (chosen->count < wanted && chosen->count < frames) {
        int64_t best = 0;
        bool by_time = chosen->count % BY_TIME == BY_TIME - 1;
        for (int64_t f = 1; f < frames; f++)
            if (by_time ? gap[f] > gap[best] : nearest[f] > nearest[best]) best = f;
        if (gap[best] == 0 || (!by_time && nearest[best] <= SAME_POSE)) break;
        chosen->shot[chosen->count] = all.shot[best], chosen->frame[chosen->count++] = all.frame[best];
        for (int64_t f = 0; f < frames; f++) {
            int64_t apart = f > best ? f - best : best - f;
            nearest[f] = fmin(nearest[f], distance2(space, params + f * s, params + best * s));
            if (all.shot[f] == all.shot[best] && apart < gap[f]) gap[f] = apart;
        }
    }
done:
    su_arena_free(&arena);
    return status;
}

/* Rest shape of a shot at `time` in frames, clamped to the shot. */
typedef struct instant {
    double *skin, *p, *w, *x, *rotation;
    double Q[9], c[3];
} instant;

static void sample_instant(su_pose_space *space, const su_rest_shape *shape, const su_shot *shot, double time,
                           instant *at)
{
    int64_t frames = su_shot_frames(shot), frame;
    double last = (double)(frames - 1);
    time = fmin(fmax(time, 0), last);
    frame = (int64_t)time;
    if (frame > frames - 2) frame = frames > 1 ? frames - 2 : 0;
    su_shot_sample(shot, frame, fmin(time - (double)frame, 1), at->p, at->Q, at->c);
    su_shot_sample_skin(shot, frame, fmin(time - (double)frame, 1), 0, NULL, 1, at->skin);
    su_rig_weights(&space->rig, at->p, at->w);
    su_rest_shape_evaluate(shape, space->n, NULL, at->skin, at->w, at->x);
    su_rotation_field_evaluate(space->field, at->x, at->rotation, space->threads);
}

/* Rig acceleration less gravity in the root frame at the latest of three instants h apart, and both relative turns. */
static su_status make_motion(const su_pose_space *space, const instant at[3], double h, su_motion *motion,
                             su_error *err)
{
    int64_t n = space->n;
    su_sim_settings settings = su_sim_defaults(); /* all of gravity, whatever part of it acts in the end */
    su_sim_read_gravity(space->basis->file.meta, &settings);
    SU_TRY(SU_ALLOC_ALL("rotations", err, SU_WANT(motion->acceleration, 3 * n), SU_WANT(motion->turn, 8 * n)));
    motion->accelerations = 1, motion->turns = 2;
    for (int64_t v = 0; v < n; v++) {
        double X[3][3], a[3];
        for (int k = 0; k < 3; k++) {
            su_mulv3(at[k].Q, at[k].x + 3 * v, X[k]);
            for (int i = 0; i < 3; i++) X[k][i] += at[k].c[i];
        }
        for (int i = 0; i < 3; i++) a[i] = (X[0][i] - 2 * X[1][i] + X[2][i]) / (h * h) - settings.gravity[i];
        su_tmulv3(at[0].Q, a, motion->acceleration + 3 * v);
    }
    for (int k = 0; k < 2; k++)
        relative_turn(n, at[0].rotation, at[0].Q, at[k + 1].rotation, at[k + 1].Q, motion->turn + 4 * k * n);
    return SU_OK;
}

static su_status add_frames(su_pose_space *space, const su_shot_target *target, const su_open_shots *all,
                            const su_shot_frames_list *frames, su_training_places *out, su_error *err)
{
    su_rest_shape shape = {space->n,
                           space->m,
                           space->tet->ties,
                           space->tet->vertices,
                           target->neutral,
                           space->tet->shepard_index,
                           space->tet->shepard_weight,
                           space->fit->corrections};
    instant at[3] = {0};
    su_arena arena = {0};
    su_status status = SU_OK;
    for (int k = 0; k < 3; k++)
        SU_GO(SU_TAKE_ALL(&arena, "shots", err, SU_WANT(at[k].skin, 3 * target->nbar), SU_WANT(at[k].p, space->s),
                          SU_WANT(at[k].w, space->m), SU_WANT(at[k].x, 3 * space->n),
                          SU_WANT(at[k].rotation, 4 * space->n)));
    for (int64_t k = 0; k < frames->count; k++) {
        const su_anim *anim = &all->anim[frames->shot[k]];
        const su_shot *shot = all->shot[frames->shot[k]];
        if (!target->neutral) shape.neutral = anim->neutral;
        double seconds = su_sim_frame_seconds(su_shot_frames(shot), anim->times, SU_FILM_FPS);
        double step = 1.0 / su_sim_substeps(seconds), frame = (double)frames->frame[k];
        /* At the start of a shot nothing came before: look at what comes next instead. */
        double time = fmax(frame, fmin(2 * step, (double)(su_shot_frames(shot) - 1)));
        for (int i = 0; i < 3; i++) sample_instant(space, &shape, shot, time - i * step, &at[i]);
        int64_t a = out->count++;
        SU_GO(su_place_create(space, -1, at[0].p, at[0].x, &out->place[a], err));
        out->shot[a] = frames->shot[k], out->frame[a] = frames->frame[k];
        out->number[a] = frame + su_meta_number(anim->file.meta, "frame_start", 0);
        SU_GO(make_motion(space, at, seconds * step, &out->motion[a], err));
        out->spin = fmax(out->spin, su_rotation_angle(at[0].Q, at[1].Q));
    }
done:
    su_arena_free(&arena);
    return status;
}

/* Where the character nearly stands, next to nothing turns. */
static su_status weigh_turns(const su_pose_space *space, su_training_places *places, su_error *err)
{
    const double *mass = space->elastic.mass;
    int64_t n = space->n;
    double largest = 0, all = 0;
    for (int64_t v = 0; v < n; v++) all += mass[v];
    for (int64_t a = 0; a < places->count; a++) {
        su_motion *motion = &places->motion[a];
        SU_TRY(SU_ALLOC(&motion->turn_share, motion->turns, "rotations", err));
        for (int64_t t = 0; t < motion->turns; t++) {
            double sum = 0;
            for (int64_t v = 0; v < n; v++) {
                double turn[3];
                su_quaternion_log(motion->turn + 4 * (t * n + v), turn);
                sum += mass[v] * su_dot3(turn, turn);
            }
            motion->turn_share[t] = sqrt(sum / all);
            largest = fmax(largest, motion->turn_share[t]);
        }
    }
    for (int64_t a = 0; a < places->count; a++)
        for (int64_t t = 0; t < places->motion[a].turns; t++)
            places->motion[a].turn_share[t] = largest > 0 ? places->motion[a].turn_share[t] / largest : 1;
    return SU_OK;
}

static su_status make_room(int64_t most, su_training_places *out, su_error *err)
{
    *out = (su_training_places){0};
    SU_TRY(SU_ALLOC_ALL("training places", err, SU_WANT(out->place, most), SU_WANT(out->motion, most),
                        SU_WANT(out->shot, most), SU_WANT(out->frame, most), SU_WANT(out->number, most)));
    for (int64_t a = 0; a < most; a++) out->shot[a] = -1, out->frame[a] = -1;
    return SU_OK;
}

su_status su_training_places_at(su_pose_space *space, const su_shot_list *shots, const su_training_plan *plan,
                                const su_shot_frames_list *frames, su_training_places *out, su_error *err)
{
    su_open_shots all = {0};
    su_status status;
    SU_GO(make_room(frames->count, out, err));
    SU_GO(su_shots_open(shots, &all, err));
    for (int64_t k = 0; k < frames->count; k++)
        if (frames->frame[k] < 0 || frames->frame[k] >= su_shot_frames(all.shot[frames->shot[k]]))
            SU_GO(su_fail(err, SU_INPUT, "%s: has no frame %lld", shots->paths[frames->shot[k]],
                          (long long)frames->frame[k]));
    SU_GO(add_frames(space, &shots->target, &all, frames, out, err));
    out->spin = fmax(out->spin, plan->least_spin);
    SU_GO(weigh_turns(space, out, err));
done:
    su_open_shots_free(&all);
    if (status != SU_OK) su_training_places_free(out);
    return status;
}

su_status su_training_places_create(su_pose_space *space, const su_shot_list *shots, const su_training_plan *plan,
                                    int64_t wanted, su_training_places *out, su_error *err)
{
    su_open_shots all = {0};
    su_shot_frames_list chosen = {0};
    su_arena arena = {0};
    su_status status;
    SU_GO(make_room(space->m + wanted, out, err));
    for (int64_t i = 0; i < space->m; i++, out->count++) SU_GO(su_place_at_pose(space, i, &out->place[i], err));
    out->spin = plan->default_spin;
    if (shots->count > 0) {
        SU_GO(su_shots_open(shots, &all, err));
        SU_GO(frames_create(&chosen, wanted, &arena, err));
        SU_GO(choose_frames(space, &all, wanted, &chosen, err));
        out->spin = plan->least_spin;
        SU_GO(add_frames(space, &shots->target, &all, &chosen, out, err));
    }
    SU_GO(weigh_turns(space, out, err));
done:
    su_open_shots_free(&all);
    su_arena_free(&arena);
    if (status != SU_OK) su_training_places_free(out);
    return status;
}
