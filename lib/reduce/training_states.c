#include "reduce/training_states.h"

#include "core/memory.h"

#include <stdlib.h>

/* Played one step a frame, motions lose about a quarter of their size; this gives it back and something beyond. */
#define LARGER 1.5

void su_chosen_states_free(su_chosen_states *chosen)
{
    free(chosen->shot), free(chosen->frame), free(chosen->place), free(chosen->q);
    *chosen = (su_chosen_states){0};
}

su_status su_choose_states(const su_basis *basis, int64_t wanted, su_chosen_states *out, su_error *err)
{
    int64_t r = basis->r, f = basis->f, places = wanted < f ? wanted : f;
    su_status status;
    *out = (su_chosen_states){.places = places};
    if (!basis->state_q || f == 0) return su_fail(err, SU_INPUT, "the basis holds no states to train on");
    SU_GO(SU_ALLOC(&out->shot, places, "states", err));
    SU_GO(SU_ALLOC(&out->frame, places, "states", err));
    SU_GO(SU_ALLOC(&out->place, 2 * places, "states", err));
    SU_GO(SU_ALLOC(&out->q, 2 * places * r, "states", err));
    for (int64_t a = 0; a < places; a++) {
        int64_t own = (2 * a + 1) * f / (2 * places), other = (own + f / 2 + a % 7) % f;
        out->shot[a] = basis->state_shot[own], out->frame[a] = basis->state_frame[own];
        out->place[2 * a] = out->place[2 * a + 1] = a;
        for (int64_t k = 0; k < r; k++) {
            out->q[2 * a * r + k] = (a % 2 ? 1 : LARGER) * basis->state_q[own * r + k];
            out->q[(2 * a + 1) * r + k] = (a % 2 ? LARGER : 1) * basis->state_q[other * r + k];
        }
    }
    out->states = (su_training_states){.count = 2 * places, .place = out->place, .q = out->q};
done:
    if (status != SU_OK) su_chosen_states_free(out);
    return status;
}
