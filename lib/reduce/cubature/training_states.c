#include "reduce/cubature/training_states.h"

#include "core/memory.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

double su_state_displacement(const su_basis *basis, const double *q)
{
    enum { SOME = 256 }; /* vertices at once: a column's numbers stand beside each other */
    double most = 0, u[3 * SOME];
    for (int64_t from = 0; from < basis->n; from += SOME) {
        int64_t count = basis->n - from < SOME ? basis->n - from : SOME;
        memset(u, 0, sizeof u);
        for (int64_t k = 0; k < basis->r; k++)
            for (int64_t i = 0; i < 3 * count; i++) u[i] += q[k] * basis->basis[3 * (k * basis->n + from) + i];
        for (int64_t v = 0; v < count; v++) most = fmax(most, su_dot3(u + 3 * v, u + 3 * v));
    }
    return sqrt(most);
}

/* Where states are taken from, and how far they are enlarged: what a shot that nobody has seen does may be many times
 * as large as what trained it. */
typedef struct chooser {
    const su_basis *basis;
    int64_t sizes;
    double reach; /* m */
    su_chosen_states *out;
} chooser;

/* State `from` of the basis, enlarged by `step` of sizes - 1. */
static void take_state(const chooser *choose, int64_t from, int64_t step, double *q)
{
    const su_basis *basis = choose->basis;
    const double *own = basis->state_q + from * basis->r;
    double size = su_state_displacement(basis, own);
    double last = (double)(choose->sizes - 1);
    double factor = size > 0 && last > 0 ? pow(fmax(choose->reach / size, 1), (double)step / last) : 1;
    for (int64_t k = 0; k < basis->r; k++) q[k] = factor * own[k];
}

void su_chosen_states_free(su_chosen_states *chosen)
{
    free(chosen->places.shot), free(chosen->places.frame), free(chosen->states.place), free(chosen->states.q);
    *chosen = (su_chosen_states){0};
}

/* Places `at` and on: `count` of the states [first, first + f). */
static void choose_from(const chooser *choose, bool known, int64_t first, int64_t f, int64_t count, int64_t at)
{
    enum { SHIFT = 7 }; /* the far state wanders by so many frames, so that cycles do not pair the same phases */
    const su_basis *basis = choose->basis;
    su_chosen_states *out = choose->out;
    int64_t r = basis->r;
    for (int64_t a = 0; a < count; a++, at++) {
        int64_t own = (2 * a + 1) * f / (2 * count), other = (own + f / 2 + a % SHIFT) % f;
        double *q = out->states.q + SU_STATES_A_PLACE * at * r;
        out->places.shot[at] = basis->state_shot[first + own], out->places.frame[at] = basis->state_frame[first + own];
        out->states.place[2 * at] = out->states.place[2 * at + 1] = at;
        take_state(choose, first + own, known ? 0 : a % choose->sizes, q);
        take_state(choose, first + other, (a + choose->sizes / 2) % choose->sizes, q + r);
    }
}

su_status su_choose_states(const su_basis *basis, int motions, double diagonal, const su_training_plan *plan,
                           su_chosen_states *out, su_error *err)
{
    const chooser choose = {basis, plan->state_sizes, plan->state_reach * diagonal, out};
    int64_t r = basis->r, wanted = plan->states, f = basis->f, places = wanted < f ? wanted : f, own = 0;
    su_status status;
    *out = (su_chosen_states){0};
    if (!basis->state_q || f == 0) return su_fail(err, SU_INPUT, "the basis holds no states to train on");
    while (own < f && basis->state_shot[own] < motions) own++; /* states go shot by shot */
    int64_t known = own == 0 ? places : own == f ? 0 : places / 2;
    if (known > f - own) known = f - own;
    if (places - known > own) places = known + own;
    out->places.count = places, out->states.count = SU_STATES_A_PLACE * places;
    SU_GO(SU_ALLOC_ALL("states", err, SU_WANT(out->places.shot, places), SU_WANT(out->places.frame, places),
                       SU_WANT(out->states.place, out->states.count), SU_WANT(out->states.q, out->states.count * r)));
    choose_from(&choose, false, 0, own, places - known, 0);
    choose_from(&choose, true, own, f - own, known, places - known);
done:
    if (status != SU_OK) su_chosen_states_free(out);
    return status;
}
