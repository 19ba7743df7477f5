#include "reduce/shot_states.h"

#include "core/memory.h"
#include "io/anim.h"

#include <stdlib.h>
#include <string.h>

static su_status params_of(const su_anim *anim, const char *path, int number, const su_shot_target *target, su_shot_states *out,
                           su_error *err)
{
    su_shot *shot;
    SU_TRY(su_shot_create(anim, path, target, 0, NULL, &shot, NULL, err));
    for (int64_t k = 0; k < out->played.count; k++) {
        if (out->played.shot[k] != number) continue;
        int64_t frame = out->played.frame[k];
        bool last = frame + 1 == su_shot_frames(shot) && frame > 0;
        su_shot_sample(shot, last ? frame - 1 : frame, last ? 1 : 0, 0, NULL, NULL, out->params + k * target->s, NULL, NULL);
    }
    su_shot_free(shot);
    return SU_OK;
}

/* Leaves out frames below a hundredth of the root mean square of their shot, of which rounding would be a part. */
static su_status drop_still(int shot_count, int64_t size, su_played_shots *played, su_error *err)
{
    double *square, *mean = NULL;
    int64_t kept = 0;
    su_status status;
    SU_TRY(SU_ALLOC(&square, played->count, "shots", err));
    SU_GO(SU_ALLOC(&mean, 2 * (int64_t)shot_count, "shots", err));
    for (int64_t k = 0; k < played->count; k++) {
        for (int64_t i = 0; i < size; i++) square[k] += played->shapes[k * size + i] * played->shapes[k * size + i];
        mean[2 * played->shot[k]] += square[k], mean[2 * played->shot[k] + 1]++;
    }
    for (int64_t k = 0; k < played->count; k++) {
        const double *all = mean + 2 * (int64_t)played->shot[k];
        if (!(square[k] > 1e-4 * all[0] / all[1])) continue;
        memmove(played->shapes + kept * size, played->shapes + k * size, (size_t)size * sizeof *played->shapes);
        played->shot[kept] = played->shot[k], played->frame[kept] = played->frame[k];
        kept++;
    }
    played->count = kept;
done:
    free(square), free(mean);
    return status;
}

/* False where a damaged file names frames that there are not. */
static bool frames_fit(const su_handed_shapes *handed, int shot_count, const su_anim *anims)
{
    for (int64_t k = 0; k < handed->count; k++)
        if (handed->shot[k] < 0 || handed->shot[k] >= shot_count || handed->frame[k] < 0 || handed->frame[k] >= anims[handed->shot[k]].F)
            return false;
    return true;
}

static su_status take_over(const su_handed_shapes *handed, int64_t size, su_played_shots *out, su_error *err)
{
    SU_TRY(SU_ALLOC(&out->shapes, size * handed->count, "shapes of the shots", err));
    SU_TRY(SU_ALLOC(&out->shot, handed->count, "shapes of the shots", err));
    SU_TRY(SU_ALLOC(&out->frame, handed->count, "shapes of the shots", err));
    for (int64_t i = 0; i < size * handed->count; i++) out->shapes[i] = handed->shapes[i];
    for (int64_t k = 0; k < handed->count; k++) out->shot[k] = handed->shot[k], out->frame[k] = handed->frame[k];
    out->count = handed->count;
    return SU_OK;
}

/* What files carry, bit by bit. */
static void round_to_single(int64_t count, double *values)
{
    for (int64_t i = 0; i < count; i++) values[i] = (float)values[i];
}

su_status su_shot_states_create(const su_tet *tet, const su_fit *fit, const su_shot_target *target, int shot_count,
                                const char *const *shots, int64_t most, const su_handed_shapes *handed, int threads,
                                const su_progress *progress, su_shot_states *out, su_error *err)
{
    su_anim *anims = NULL;
    int loaded = 0;
    char hex[33];
    su_status status;
    *out = (su_shot_states){0};
    SU_GO(SU_ALLOC(&anims, shot_count, "shots", err));
    for (; loaded < shot_count; loaded++) SU_GO(su_anim_load(shots[loaded], &anims[loaded], err));
    if (handed && handed->digest && handed->count > 0) {
        SU_GO(su_shots_digest(tet, fit, shot_count, anims, most, hex, err));
        out->handed_on = strcmp(hex, handed->digest) == 0 && frames_fit(handed, shot_count, anims);
    }
    if (out->handed_on) {
        SU_GO(take_over(handed, 3 * tet->n, &out->played, err));
    } else {
        SU_GO(su_shots_play(tet, fit, shot_count, shots, anims, most, &out->played, threads, progress, err));
        round_to_single(3 * tet->n * out->played.count, out->played.shapes);
    }
    SU_GO(drop_still(shot_count, 3 * tet->n, &out->played, err));
    SU_GO(SU_ALLOC(&out->params, out->played.count * target->s, "shots", err));
    for (int k = 0; k < shot_count; k++) SU_GO(params_of(&anims[k], shots[k], k, target, out, err));
done:
    for (int k = 0; k < loaded; k++) su_anim_free(&anims[k]);
    free(anims);
    if (status != SU_OK) su_shot_states_free(out);
    return status;
}

void su_shot_states_free(su_shot_states *states)
{
    su_played_shots_free(&states->played);
    free(states->params);
    *states = (su_shot_states){0};
}
