#include "io/frame_window.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct su_frame_window {
    int64_t values, first,
        count; /* frames first .. first + count - 1 have come; the last `capacity` of them are here */
    int reach, capacity;
    float **frames; /* (capacity) frame k at k mod capacity */
    bool *cut;      /* (capacity) before that frame */
    double *slope;  /* (reach) of the frames 1, 2, ... ahead; minus that of those behind */
};

su_status su_frame_window_create(int64_t values, int reach, su_frame_window **out, su_error *err)
{
    su_frame_window *w = NULL;
    su_status status;
    SU_TRY(SU_ALLOC(&w, 1, "frames", err));
    w->values = values, w->reach = reach, w->capacity = reach > 0 ? 2 * reach + 3 : 1;
    SU_GO(SU_ALLOC_ALL("frames", err, SU_WANT(w->frames, w->capacity), SU_WANT(w->cut, w->capacity),
                       SU_WANT(w->slope, reach)));
    for (int i = 0; i < w->capacity; i++) SU_GO(SU_ALLOC(&w->frames[i], values, "frames", err));
    /* s'(k-1) + 4 s'(k) + s'(k+1) = 3 (f(k+1) - f(k-1)), solved by powers of z, the small root of z^2 + 4 z + 1 */
    const double z = sqrt(3.0) - 2.0;
    double left = 0.5;
    for (int j = 1; j < reach; j++) {
        w->slope[j - 1] = 3.0 * (1.0 - z * z) / (4.0 + 2.0 * z) * pow(z, j - 1);
        left -= j * w->slope[j - 1];
    }
    if (reach > 0) w->slope[reach - 1] = left / reach; /* the last keeps steady motion exact */
done:
    if (status != SU_OK)
        su_frame_window_free(w);
    else
        *out = w;
    return status;
}

void su_frame_window_free(su_frame_window *w)
{
    if (!w) return;
    for (int i = 0; w->frames && i < w->capacity; i++) free(w->frames[i]);
    free(w->frames), free(w->cut), free(w->slope);
    free(w);
}

float *su_frame_window_push(su_frame_window *w, int64_t first, bool cut)
{
    if (w->count == 0) w->first = first;
    int at = (int)(w->count++ % w->capacity);
    w->cut[at] = cut;
    return w->frames[at];
}

int su_frame_window_delay(const su_frame_window *w)
{
    return w->reach > SU_REACH_DIFFERENCES ? w->reach + 1 : w->reach;
}

static int slot(const su_frame_window *w, int64_t frame) { return (int)((frame - w->first) % w->capacity); }

const float *su_frame_window_frame(const su_frame_window *w, int64_t frame) { return w->frames[slot(w, frame)]; }

/* The frames around `frame` without a cut between them, of those that are here. */
static void piece(const su_frame_window *w, int64_t frame, int64_t *low, int64_t *high)
{
    int64_t newest = w->first + w->count - 1, oldest = w->count > w->capacity ? newest - w->capacity + 1 : w->first;
    for (*low = frame; *low > oldest && !w->cut[slot(w, *low)];) --*low;
    for (*high = frame; *high < newest && !w->cut[slot(w, *high + 1)];) ++*high;
}

/* weight[slot] += by * what f(frame) is made of; beyond the piece by reflection at its end, which makes the spline
 * natural. */
static void add_value(const su_frame_window *w, int64_t low, int64_t high, int64_t frame, double by, double *weight)
{
    while (frame < low || frame > high) {
        int64_t end = frame < low ? low : high;
        if (low == high)
            frame = low;
        else
            weight[slot(w, end)] += 2.0 * by, by = -by, frame = 2 * end - frame;
    }
    weight[slot(w, frame)] += by;
}

static void add_slope(const su_frame_window *w, int64_t low, int64_t high, int64_t frame, double by, double *weight)
{
    for (int j = 1; j <= w->reach; j++) {
        add_value(w, low, high, frame + j, by * w->slope[j - 1], weight);
        add_value(w, low, high, frame - j, -by * w->slope[j - 1], weight);
    }
}

static void combine(const su_frame_window *w, const double *weight, float *out)
{
    const float *from[2 * SU_REACH_SPLINE + 3];
    double by[2 * SU_REACH_SPLINE + 3];
    int count = 0;
    for (int i = 0; i < w->capacity; i++)
        if (weight[i] != 0.0) from[count] = w->frames[i], by[count++] = weight[i];
    for (int64_t k = 0; k < w->values; k++) {
        double sum = 0.0;
        for (int i = 0; i < count; i++) sum += by[i] * (double)from[i][k];
        out[k] = (float)sum;
    }
}

void su_frame_window_sample(const su_frame_window *w, int64_t frame, double fraction, float *position, float *velocity)
{
    double place[2 * SU_REACH_SPLINE + 3] = {0}, speed[2 * SU_REACH_SPLINE + 3] = {0};
    int64_t low, high;
    piece(w, frame, &low, &high);
    if (fraction == 0.0) {
        add_value(w, low, high, frame, 1.0, place);
        add_slope(w, low, high, frame, 1.0, speed);
    } else if ((fraction < 0.0 && frame == low) || (fraction > 0.0 && frame == high)) {
        add_value(w, low, high, frame, 1.0, place);
        add_slope(w, low, high, frame, fraction, place);
        add_slope(w, low, high, frame, 1.0, speed);
    } else { /* Hermite between a and a + 1 */
        int64_t a = fraction < 0.0 ? frame - 1 : frame;
        double t = fraction < 0.0 ? 1.0 + fraction : fraction, s = t * t * (3.0 - 2.0 * t), ds = 6.0 * t * (1.0 - t);
        add_value(w, low, high, a, 1.0 - s, place), add_value(w, low, high, a + 1, s, place);
        add_slope(w, low, high, a, t * (1.0 - t) * (1.0 - t), place),
            add_slope(w, low, high, a + 1, t * t * (t - 1.0), place);
        add_value(w, low, high, a, -ds, speed), add_value(w, low, high, a + 1, ds, speed);
        add_slope(w, low, high, a, (1.0 - t) * (1.0 - 3.0 * t), speed),
            add_slope(w, low, high, a + 1, t * (3.0 * t - 2.0), speed);
    }
    if (position) combine(w, place, position);
    if (velocity) combine(w, speed, velocity);
}
