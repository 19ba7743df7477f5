#include "io/scene/fbx_keys.h"

#include "io/scene/fbx_records.h"

#include <math.h>
#include <stddef.h>

static const double BIAS_UNIT = 100; /* per cent that an automatic tangent is drawn to one side, which it has */
static const double BIAS_MOST = 5,
                    BIAS_RISE = 40; /* so many units beyond it steepens by their square times this, 1/s */

double su_fbx_distance(int64_t from, int64_t to) { return (double)to - (double)from; }

/* What `bias` makes of a slope between those on both sides. All of it 1/tick. */
static double draw(double slope, double left, double right, double bias)
{
    double share = fabs(bias) / BIAS_UNIT, side = bias > 0 ? right : left, beyond = fmax(share - BIAS_MOST, 0);
    double direction = side != slope ? side - slope : bias;
    return slope + share * (side - slope) + copysign(beyond * beyond * BIAS_RISE / SU_FBX_TICKS, direction);
}

/* The slope of an automatic tangent, 1/tick, as programs of Autodesk make it. */
static double automatic(const su_fbx_curve *of, int64_t k, double bias)
{
    const su_fbx_key *own = of->key + k, *before = k > 0 ? own - 1 : own, *after = k + 1 < of->count ? own + 1 : own;
    bool end = before == own || after == own;
    if (before == after || (end && own->flags & SU_FBX_CLAMPED)) return 0;
    if (own->flags & SU_FBX_LEVEL &&
        ((before != own && before->value == own->value) || (after != own && after->value == own->value)))
        return 0;
    double slope = (after->value - before->value) / su_fbx_distance(before->time, after->time);
    if (end && (own->flags & SU_FBX_WHOLE || fabs(bias) <= BIAS_MOST * BIAS_UNIT)) return slope;
    if (end) return draw(slope, slope, slope, bias);
    double rise = (own->value - before->value) / su_fbx_distance(before->time, own->time),
           next = (after->value - own->value) / su_fbx_distance(own->time, after->time);
    if (!(own->flags & SU_FBX_WHOLE)) {
        double share = su_fbx_distance(before->time, own->time) / su_fbx_distance(before->time, after->time);
        slope = draw(0.5 * slope + 0.5 * (rise * (1 - share) + next * share), rise, next, bias);
    }
    if (!(own->flags & SU_FBX_CLAMPED)) return slope;
    double most = fmin(copysign(1, slope) * rise / before->left_length, copysign(1, slope) * next / own->right_length);
    return copysign(fmin(fabs(slope), fmax(most, 0)), slope);
}

/* The slopes towards a key and from it on, 1/tick. */
static void slopes(const su_fbx_curve *of, int64_t k, double *left, double *right)
{
    const su_fbx_key *own = of->key + k, *before = k > 0 ? own - 1 : NULL, *after = k + 1 < of->count ? own + 1 : NULL;
    double said = before ? (double)before->left : 0;
    *left = said / SU_FBX_TICKS, *right = (double)own->right / SU_FBX_TICKS;
    if (!(own->flags & SU_FBX_CUBIC) || (own->flags & SU_FBX_USER && !(own->flags & SU_FBX_TCB))) return;
    if (!(own->flags & SU_FBX_TCB)) {
        *left = automatic(of, k, -said), *right = automatic(of, k, (double)own->right);
        return;
    }
    double rise = before ? (own->value - before->value) / su_fbx_distance(before->time, own->time) : 0,
           next = after ? (after->value - own->value) / su_fbx_distance(own->time, after->time) : 0,
           tight = (before && after ? 0.5 : 1) * (1 - (double)own->right), corner = (double)own->left,
           bias = (double)own->third;
    *left = tight * ((1 + bias) * (1 - corner) * rise + (1 - bias) * (1 + corner) * next);
    *right = tight * ((1 + bias) * (1 + corner) * rise + (1 - bias) * (1 - corner) * next);
}

/* Bézier's cubic from 0 by a and b. */
static double bezier(double a, double b, double end, double u)
{
    double v = 1 - u;
    return 3 * v * v * u * a + 3 * v * u * u * b + u * u * u * end;
}

/* The curve between key k and the next one, at a time there. */
double su_fbx_between(const su_fbx_curve *of, int64_t k, double time)
{
    const su_fbx_key *from = of->key + k, *to = from + 1;
    double length = su_fbx_distance(from->time, to->time), share = (time - (double)from->time) / length,
           rise = to->value - from->value;
    if (from->flags & SU_FBX_CONSTANT) return from->flags & SU_FBX_OF_NEXT ? to->value : from->value;
    if (!(from->flags & SU_FBX_CUBIC)) return from->value + share * rise;
    double a = from->right_length, b = 1 - from->left_length, low = 0, high = 1, u = share;
    for (int i = 0; i < 50 && (a != 1.0 / 3 || b != 2.0 / 3); i++) { /* the place on the curve that has this time */
        u = 0.5 * (low + high);
        if (bezier(a, b, 1, u) < share)
            low = u;
        else
            high = u;
    }
    double start, end, aside;
    slopes(of, k, &aside, &start), slopes(of, k + 1, &end, &aside);
    return from->value + bezier(a * start * length, rise - (1 - b) * end * length, rise, u);
}

double su_fbx_at_key(const su_fbx_curve *of, int64_t k)
{
    const uint32_t of_next = SU_FBX_CONSTANT | SU_FBX_OF_NEXT;
    return of->key[(of->key[k].flags & of_next) == of_next && k + 1 < of->count ? k + 1 : k].value;
}
