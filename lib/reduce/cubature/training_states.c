#include "reduce/cubature/training_states.h"

#include "core/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* What a shot that nobody has seen does to the flesh may be many times as large as what trained it: states are
 * enlarged, in this many steps of equal ratio from their own size to where their farthest vertex moves by this part of
 * the flesh's diagonal. */
enum { SIZES = 4 };
#define FAR 0.12

/* Largest motion of a vertex in state q, m. */
static double farthest(const su_basis *basis, const double *q)
{
    double most = 0;
    for (int64_t v = 0; v < basis->n; v++) {
        double u[3] = {0};
        for (int64_t k = 0; k < basis->r; k++)
            for (int i = 0; i < 3; i++) u[i] += q[k] * basis->basis[3 * (k * basis->n + v) + i];
        most = fmax(most, u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    }
    return sqrt(most);
}

/* State `from` of the basis, enlarged by `step` of SIZES - 1. */
static void take_state(const su_basis *basis, int64_t from, int64_t step, double far, double *q)
{
    const double *own = basis->state_q + from * basis->r;
    double size = farthest(basis, own);
    double factor = size > 0 ? pow(fmax(far / size, 1), (double)step / (SIZES - 1)) : 1;
    for (int64_t k = 0; k < basis->r; k++) q[k] = factor * own[k];
}

void su_chosen_states_free(su_chosen_states *chosen)
{
    free(chosen->shot), free(chosen->frame), free(chosen->place), free(chosen->q);
    *chosen = (su_chosen_states){0};
}

/* Places `at` and on: `count` of the states [first, first + f). */
static void choose_from(const su_basis *basis, bool known, int64_t first, int64_t f, int64_t count, double far,
                        int64_t at, su_chosen_states *out)
{
    int64_t r = basis->r;
    for (int64_t a = 0; a < count; a++, at++) {
        int64_t own = (2 * a + 1) * f / (2 * count), other = (own + f / 2 + a % 7) % f;
        out->shot[at] = basis->state_shot[first + own], out->frame[at] = basis->state_frame[first + own];
        out->place[2 * at] = out->place[2 * at + 1] = at;
        take_state(basis, first + own, known ? 0 : a % SIZES, far, out->q + 2 * at * r);
        take_state(basis, first + other, (a + SIZES / 2) % SIZES, far, out->q + (2 * at + 1) * r);
    }
}

su_status su_choose_states(const su_basis *basis, int motions, double diagonal, int64_t wanted, su_chosen_states *out,
                           su_error *err)
{
    double far = FAR * diagonal;
    int64_t r = basis->r, f = basis->f, places = wanted < f ? wanted : f, own = 0;
    su_status status;
    *out = (su_chosen_states){.places = places};
    if (!basis->state_q || f == 0) return su_fail(err, SU_INPUT, "the basis holds no states to train on");
    while (own < f && basis->state_shot[own] < motions) own++; /* states go shot by shot */
    int64_t known = own == 0 ? places : own == f ? 0 : places / 2;
    if (known > f - own) known = f - own;
    if (places - known > own) places = out->places = known + own;
    SU_GO(SU_ALLOC(&out->shot, places, "states", err));
    SU_GO(SU_ALLOC(&out->frame, places, "states", err));
    SU_GO(SU_ALLOC(&out->place, 2 * places, "states", err));
    SU_GO(SU_ALLOC(&out->q, 2 * places * r, "states", err));
    choose_from(basis, false, 0, own, places - known, far, 0, out);
    choose_from(basis, true, own, f - own, known, far, places - known, out);
    out->states = (su_training_states){.count = 2 * places, .place = out->place, .q = out->q};
done:
    if (status != SU_OK) su_chosen_states_free(out);
    return status;
}
