#include "io/scene/shape_channels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void su_shape_shares(const su_shape_channel *c, double weight, double *share)
{
    /* The two next to the weight, the neutral shape at 0 among them; beyond the last, the last two go on, and where no
     * shape lies on the weight's side of 0, the first of the other side does. */
    int64_t low = -1, high = -1, first = -1; /* -1: the neutral shape */
    for (int64_t k = 0; k < c->shapes; k++) {
        double full = c->full[k];
        share[k] = 0.0;
        if (full != 0.0 && (full > 0.0) != (weight > 0.0) && (first < 0 || fabs(full) < fabs(c->full[first])))
            first = k;
    }
    for (;;) { /* away from 0 */
        int64_t next = -1;
        for (int64_t k = 0; k < c->shapes; k++) {
            double full = c->full[k];
            if (full == 0.0 || (full > 0.0) != (weight > 0.0) || (high >= 0 && fabs(full) <= fabs(c->full[high])))
                continue;
            if (next < 0 || fabs(full) < fabs(c->full[next])) next = k;
        }
        if (next < 0) break;
        low = high, high = next;
        if (fabs(c->full[high]) >= fabs(weight)) break;
    }
    if (high < 0) high = first;
    if (high < 0) return;
    double low_at = low < 0 ? 0.0 : c->full[low], t = (weight - low_at) / (c->full[high] - low_at);
    share[high] = t;
    if (low >= 0) share[low] = 1.0 - t;
}

int su_shape_mix_keys(su_arena *arena, int64_t channels, const su_shape_channel *channel, int64_t shapes,
                      su_scene_morph_channel *c)
{
    int64_t most = c->keys, n = channels;
    for (int64_t k = 0; k < n; k++) most += (c->keys - 1) * (channel[k].shapes + 1);
    double *times = su_arena_alloc(arena, most, sizeof *times);
    double *weights = su_arena_alloc(arena, most * shapes, sizeof *weights);
    double *cuts = su_arena_alloc(arena, most + 2, sizeof *cuts); /* of one stretch, as parts of it */
    if (!times || !weights || !cuts) return 1;
    int64_t keys = 0;
    for (int64_t i = 0; i < c->keys; i++) {
        const double *a = c->weights + i * c->shapes, *b = i + 1 < c->keys ? a + c->shapes : a;
        int64_t count = 0;
        cuts[count++] = 0.0;
        for (int64_t k = 0; k < n && k < c->shapes; k++)
            for (int64_t s = -1; s < channel[k].shapes; s++) {
                double cut = ((s < 0 ? 0.0 : channel[k].full[s]) - a[k]) / (b[k] - a[k]);
                int64_t at = count;
                if (!(cut > 1e-9 && cut < 1.0 - 1e-9)) continue;
                while (at > 0 && cuts[at - 1] > cut) cuts[at] = cuts[at - 1], at--;
                if (at > 0 && cut - cuts[at - 1] < 1e-9) { /* another channel's, too */
                    memmove(cuts + at, cuts + at + 1, (size_t)(count - at) * sizeof *cuts);
                    continue;
                }
                cuts[at] = cut, count++;
            }
        for (int64_t j = 0; j < count; j++, keys++) {
            double *out = weights + keys * shapes;
            times[keys] = i + 1 < c->keys ? c->times[i] + cuts[j] * (c->times[i + 1] - c->times[i]) : c->times[i];
            for (int64_t k = 0; k < n; out += channel[k++].shapes)
                su_shape_shares(&channel[k], k < c->shapes ? a[k] + cuts[j] * (b[k] - a[k]) : channel[k].weight, out);
        }
    }
    c->keys = keys, c->times = times, c->weights = weights, c->shapes = shapes;
    return 0;
}

const char *su_shape_between(su_arena *arena, const char *name, double full)
{
    size_t room = strlen(name) + 32;
    char *made = su_arena_alloc(arena, (int64_t)room, 1);
    if (!made) return name;
    snprintf(made, room, "%s@%.4g", name, 100.0 * full);
    return made;
}
