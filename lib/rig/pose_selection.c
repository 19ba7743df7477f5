#include "rig/pose_selection.h"

#include "core/memory.h"
#include "geometry/box.h"
#include "geometry/mat3.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOOR (1.0 / 50) /* of the largest scale * range */

/* ---- scales ---- */

static int64_t find_name(const su_anim *anim, const char *key, int64_t count, const char *name, size_t length)
{
    for (int64_t i = 0; i < count; i++) {
        const char *other = su_file_name(&anim->file, key, i);
        if (other && strlen(other) == length && memcmp(other, name, length) == 0) return i;
    }
    return -1;
}

static int is_below(const su_anim *anim, int64_t bone, int64_t above)
{
    for (int64_t steps = 0; bone >= 0 && bone != above && steps < anim->B; steps++) bone = anim->bone_parent[bone];
    return bone == above;
}

/* RMS over the skin of what hangs on the bone and the bones below it: lever arms, or plain weights. */
static double carried(const su_anim *anim, int64_t bone, int with_lever, uint8_t *below)
{
    const double *rest = anim->bone_rest + 16 * bone, head[3] = {rest[3], rest[7], rest[11]};
    double sum = 0.0;
    for (int64_t b = 0; b < anim->B; b++) below[b] = (uint8_t)is_below(anim, b, bone);
    for (int64_t v = 0; v < anim->nbar; v++) {
        double weight = 0.0, lever = with_lever ? su_distance3(anim->neutral + 3 * v, head) : 1.0;
        for (int64_t b = 0; b < anim->B; b++)
            if (below[b]) weight += (double)anim->weights[v * anim->B + b];
        sum += weight * weight * lever * lever;
    }
    return sqrt(sum / (double)anim->nbar);
}

/* Displacement of the skin by one unit of the parameter, as a part of the diagonal; 0 where the name says nothing. */
static double known_scale(const su_anim *anim, const char *name, double diagonal, uint8_t *below)
{
    int64_t shape = anim->morphs ? find_name(anim, "morph_names", anim->K, name, strlen(name)) : -1;
    if (shape >= 0) {
        double sum = 0.0;
        const double *offset = anim->morphs + 3 * anim->nbar * shape;
        for (int64_t i = 0; i < 3 * anim->nbar; i++) sum += offset[i] * offset[i];
        return sqrt(sum / (double)anim->nbar) / diagonal;
    }
    const char *dot = strrchr(name, '.');
    if (!dot || strlen(dot) != 3 || !strchr("rts", dot[1]) || !anim->weights || !anim->bone_rest || !anim->bone_parent)
        return 0.0;
    int64_t bone = find_name(anim, "bone_names", anim->B, name, (size_t)(dot - name));
    if (bone < 0) return 0.0;
    if (dot[1] == 't') return carried(anim, bone, 0, below); /* translations count in diagonals already */
    return carried(anim, bone, 1, below) / diagonal;
}

su_status su_parameter_scales(const su_anim *anim, int64_t s, const char *const *names, const double *range,
                              double *scale, su_error *err)
{
    su_arena arena = {0};
    uint8_t *below = su_arena_alloc(&arena, anim->B, 1);
    double diagonal = su_box_diagonal(anim->nbar, anim->neutral), largest = 0.0;
    if (!below) return su_fail(err, SU_AGAIN, "not enough memory for the scales of the parameters");
    for (int64_t k = 0; k < s; k++) {
        scale[k] = diagonal > 0.0 ? known_scale(anim, names[k], diagonal, below) : 0.0;
        largest = fmax(largest, scale[k] * range[k]);
    }
    if (!(largest > 0.0)) largest = 1.0;
    for (int64_t k = 0; k < s; k++) {
        double spread = fmax(range[k], 1e-12);
        if (scale[k] == 0.0 && find_name(anim, "bone_names", anim->B, names[k], strcspn(names[k], ".")) < 0)
            scale[k] = largest / spread;
        scale[k] = fmax(scale[k], FLOOR * largest / spread);
    }
    su_arena_free(&arena);
    return SU_OK;
}

/* ---- selection ---- */

static double distance_of(int64_t s, const double *p, const double *q, const double *scale)
{
    double sum = 0.0;
    for (int64_t k = 0; k < s; k++) {
        double d = (p[k] - (q ? q[k] : 0.0)) * scale[k];
        sum += d * d;
    }
    return sqrt(sum);
}

double su_nearest_pose(int64_t m, int64_t s, const double *params, const double *scale, const double *p, int64_t *which)
{
    double best = INFINITY;
    for (int64_t i = 0; i < m; i++) {
        double d = distance_of(s, p, params + i * s, scale);
        if (d >= best) continue;
        best = d;
        if (which) *which = i;
    }
    return best;
}

su_status su_select_poses(const su_pose_candidates *from, int64_t given_count, const int64_t *given, int64_t most,
                          double stop, su_chosen_poses *out, su_error *err)
{
    int64_t count = from->count, s = from->s, *m = &out->m;
    const double *params = from->params, *scale = from->scale;
    double *nearest, farthest = 0.0;
    SU_TRY(SU_ALLOC(&nearest, count, "distances of the frames", err));
    su_status status = SU_OK;
    out->picked[0] = -1, out->distance[0] = 0.0, *m = 1;
    for (int64_t i = 0; i < count; i++) {
        nearest[i] = distance_of(s, params + i * s, NULL, scale);
        farthest = fmax(farthest, nearest[i]);
    }
    while (*m < most) {
        int64_t next = -1;
        if (*m <= given_count) {
            next = given[*m - 1];
            if (nearest[next] < SU_SAME_POSE) {
                status = su_fail(err, SU_INPUT,
                                 "pose %lld of the list is the same as one before it (distance %.3g); drop it",
                                 (long long)*m, nearest[next]);
                break;
            }
        } else {
            double limit = fmax(SU_SAME_POSE, stop * farthest);
            for (int64_t i = 0; i < count; i++)
                if (nearest[i] > limit) next = i, limit = nearest[i];
            if (next < 0) break;
        }
        out->picked[*m] = next, out->distance[(*m)++] = nearest[next];
        for (int64_t i = 0; i < count; i++)
            nearest[i] = fmin(nearest[i], distance_of(s, params + i * s, params + next * s, scale));
    }
    free(nearest);
    return status;
}

double su_pose_spacing(int64_t m, int64_t s, const double *params, const double *scale)
{
    double spacing = 0.0;
    for (int64_t i = 0; i < m; i++) {
        double nearest = INFINITY;
        for (int64_t j = 0; j < m; j++)
            if (j != i) nearest = fmin(nearest, su_nearest_pose(1, s, params + j * s, scale, params + i * s, NULL));
        if (isfinite(nearest)) spacing = fmax(spacing, nearest);
    }
    return spacing;
}
