#include "geometry/secant_pairs.h"

#include "geometry/vector.h"

/* Curvature of a pair, relative, below which it is rounding. */
static const double LEAST_CURVATURE = 1e-12;

su_status su_secant_pairs_take(su_secant_pairs *pairs, su_arena *arena, int64_t room, int64_t size, su_error *err)
{
    *pairs = (su_secant_pairs){.size = size, .room = room};
    return SU_TAKE_ALL(arena, "a quasi-Newton method", err, SU_WANT(pairs->steps, room * size),
                       SU_WANT(pairs->changes, room * size));
}

void su_secant_pairs_forget(su_secant_pairs *pairs) { pairs->count = pairs->next = 0; }

void su_secant_pairs_add(su_secant_pairs *pairs, double length, const double *d, const double *before,
                         const double *after)
{
    double *s = pairs->steps + pairs->next * pairs->size, *y = pairs->changes + pairs->next * pairs->size;
    for (int64_t k = 0; k < pairs->size; k++) s[k] = length * d[k], y[k] = after[k] - before[k];
    double curvature = su_dot(pairs->size, s, y);
    if (!(curvature > LEAST_CURVATURE * su_norm(pairs->size, s) * su_norm(pairs->size, y))) return;
    pairs->inverse[pairs->next] = 1 / curvature;
    pairs->next = (pairs->next + 1) % pairs->room;
    if (pairs->count < pairs->room) pairs->count++;
}

/* Where the pair stands that is `age` older than the newest. */
static int64_t place(const su_secant_pairs *pairs, int64_t age)
{
    return (pairs->next - 1 - age + 2 * pairs->room) % pairs->room;
}

double su_secant_pairs_scale(const su_secant_pairs *pairs)
{
    if (pairs->count == 0) return 1;
    const double *y = pairs->changes + place(pairs, 0) * pairs->size;
    return 1 / (pairs->inverse[place(pairs, 0)] * su_dot(pairs->size, y, y));
}

void su_secant_pairs_before(su_secant_pairs *pairs, double *d)
{
    for (int64_t age = 0; age < pairs->count; age++) {
        int64_t k = place(pairs, age);
        pairs->along[k] = pairs->inverse[k] * su_dot(pairs->size, pairs->steps + k * pairs->size, d);
        for (int64_t i = 0; i < pairs->size; i++) d[i] -= pairs->along[k] * pairs->changes[k * pairs->size + i];
    }
}

void su_secant_pairs_after(const su_secant_pairs *pairs, double *d)
{
    for (int64_t age = pairs->count - 1; age >= 0; age--) {
        int64_t k = place(pairs, age);
        double back = pairs->inverse[k] * su_dot(pairs->size, pairs->changes + k * pairs->size, d);
        for (int64_t i = 0; i < pairs->size; i++) d[i] += (pairs->along[k] - back) * pairs->steps[k * pairs->size + i];
    }
}
