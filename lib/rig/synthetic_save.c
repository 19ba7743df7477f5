#include "core/order.h"
#include "rig/synthetic_motion_internal.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOVES                                                                                                          \
    1e-3 /* a parameter moves in the clips where its range is wider: what keys in single precision leave is less */

/* ---- points ---- */

static void blend_points(const su_synthetic *m, double time, double *points)
{
    int64_t frame[8], n = 3 * m->anim.nbar;
    double weight[8];
    int count = su_path_terms(&m->path, time, frame, weight);
    for (int64_t i = 0; i < n; i++) points[i] = 0.0;
    for (int k = 0; k < count; k++) {
        int32_t s = 0;
        while (frame[k] >= m->source[s].first + m->source[s].frames) s++;
        const float *from = m->clip[s].anim->points + n * (frame[k] - m->source[s].first);
        for (int64_t i = 0; i < n; i++) points[i] += weight[k] * (double)from[i];
    }
}

static void frame_points(const su_synthetic *m, int64_t frame, double *room, double *points)
{
    const double *bones = m->anim.bones + 16 * m->anim.B * frame, *shapes = m->shape_weights + m->anim.K * frame;
    if (m->why)
        blend_points(m, (double)frame / m->options.fps, points);
    else
        su_clip_rig_points(&m->rig, bones, shapes, m->options.threads, room, points);
}

su_status su_synthetic_points(const su_synthetic *m, int64_t frame, double *points, su_error *err)
{
    double *room;
    SU_TRY(SU_ALLOC(&room, su_clip_rig_room(&m->rig), "room for skinning", err));
    frame_points(m, frame, room, points);
    free(room);
    return SU_OK;
}

/* ---- report ---- */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Appends the angular speeds of moving joints from frame to frame. */
static int64_t joint_speeds(const su_synthetic *m, int64_t F, double fps, const double *bones, double *out)
{
    int64_t count = 0, B = m->joints.B;
    for (int64_t b = 0; b < B; b++) {
        int64_t above = m->joints.above[b];
        if (!(m->joints.speed[b] > 0.0)) continue;
        double q[2][4];
        for (int64_t f = 0; f < F; f++) {
            double local[16], linear[9], r[9], dot = 0.0;
            memcpy(local, bones + 16 * (B * f + b), sizeof local);
            if (above >= 0 && su_affine_inverse(bones + 16 * (B * f + above), local) != 0.0)
                su_affine_multiply(local, bones + 16 * (B * f + b), local);
            su_affine_linear(local, linear);
            su_nearest_rotation(linear, r);
            su_quaternion_of(r, q[f % 2]);
            for (int i = 0; i < 4; i++) dot += q[0][i] * q[1][i];
            if (f > 0) out[count++] = 2.0 * acos(fmin(1.0, fabs(dot))) * fps;
        }
    }
    return count;
}

static double percentile_99(int64_t count, double *values)
{
    if (count == 0) return 0.0;
    su_sort(values, (size_t)count, sizeof *values, compare_numbers);
    return values[(int64_t)(0.99 * (double)(count - 1))];
}

su_status su_synthetic_measure(const su_synthetic *m, su_synthetic_report *report, su_error *err)
{
    int64_t most = m->anim.F, count = 0, moving = 0;
    double *values, sum = 0.0;
    *report = (su_synthetic_report){0};
    for (int i = 0; i < m->clips; i++) most += m->clip[i].anim->F;
    SU_TRY(SU_ALLOC(&values, most * m->joints.B, "speeds", err));
    if (m->joints.B && !m->why) {
        for (int i = 0; i < m->clips; i++)
            count += joint_speeds(m, m->clip[i].anim->F, m->source[i].fps, m->clip[i].anim->bones, values + count);
        report->clip_speed = percentile_99(count, values);
        report->speed = percentile_99(joint_speeds(m, m->anim.F, m->options.fps, m->anim.bones, values), values);
    }
    free(values);
    for (int64_t k = 0; k < m->anim.s; k++) {
        double low = INFINITY, high = -INFINITY, first = INFINITY, last = -INFINITY;
        for (int i = 0; i < m->clips; i++) {
            const su_anim *a = m->clip[i].anim;
            int64_t from = su_param_number(&a->file, a->s, m->names[k]);
            for (int64_t f = 0; f < a->F && from >= 0; f++) {
                low = fmin(low, a->params[a->s * f + from]);
                high = fmax(high, a->params[a->s * f + from]);
            }
        }
        for (int64_t f = 0; f < m->anim.F; f++)
            first = fmin(first, m->anim.params[m->anim.s * f + k]),
            last = fmax(last, m->anim.params[m->anim.s * f + k]);
        if (!(high - low > MOVES)) continue;
        moving++;
        sum += fmax(0.0, fmin(high, last) - fmax(low, first)) / (high - low);
    }
    report->covered = moving ? sum / (double)moving : 0.0;
    return SU_OK;
}

/* ---- saving ---- */

typedef struct point_stream {
    const su_synthetic *m;
    su_progress *progress;
} point_stream;

static su_status write_points(void *context, su_npz_writer *writer, su_error *err)
{
    const point_stream *s = context;
    const su_synthetic *m = s->m;
    su_arena arena = {0};
    su_status status = SU_OK;
    int64_t n = 3 * m->anim.nbar;
    double *room = su_arena_alloc(&arena, su_clip_rig_room(&m->rig), sizeof *room);
    double *points = su_arena_alloc(&arena, n, sizeof *points);
    float *single = su_arena_alloc(&arena, n, sizeof *single);
    if (!room || !points || !single) {
        status = su_fail(err, SU_AGAIN, "not enough memory for a frame of %lld vertices", (long long)m->anim.nbar);
        goto done;
    }
    for (int64_t f = 0; f < m->anim.F; f++) {
        frame_points(m, f, room, points);
        for (int64_t i = 0; i < n; i++) {
            single[i] = (float)points[i];
            if (isfinite(single[i])) continue;
            status = su_fail(err, SU_NUMERICS, "frame %lld: vertex %lld has no finite position", (long long)f,
                             (long long)(i / 3));
            goto done;
        }
        SU_GO(su_npz_append(writer, single, n, err));
        SU_GO(su_progress_update(s->progress, (double)(f + 1) / (double)m->anim.F, err));
    }
done:
    su_arena_free(&arena);
    return status;
}

static su_status describe(const su_synthetic *m, json_t *meta, su_error *err)
{
    int bad = 0;
    static const char *const carried[] = {"skinning",     "source",     "source_unit", "source_up",
                                          "object_names", "bone_names", "morph_names", "corrected"};
    json_t *names = json_array();
    for (int64_t k = 0; k < m->anim.s; k++) bad |= json_array_append_new(names, json_string(m->names[k]));
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++) {
        json_t *value = json_object_get(m->clip[0].anim->file.meta, carried[i]);
        if (value) bad |= json_object_set(meta, carried[i], value);
    }
    bad |= json_object_set_new(meta, "param_names", names);
    bad |= json_object_set_new(meta, "clip", json_string("motion"));
    bad |= json_object_set_new(meta, "fps", json_real(m->options.fps));
    bad |= json_object_set_new(meta, "frame_start", json_real(0.0));
    bad |= json_object_set_new(meta, "motion", json_string(m->why ? "frames" : "joints"));
    bad |= json_object_set_new(meta, "seconds", json_real(m->options.seconds));
    bad |= json_object_set_new(meta, "seed", json_integer((json_int_t)m->options.seed));
    bad |= json_object_set_new(meta, "range", json_real(m->options.share));
    return bad ? su_fail(err, SU_AGAIN, "out of memory for meta") : SU_OK;
}

su_status su_synthetic_save(const su_synthetic *m, const char *path, json_t *meta, su_progress *progress, su_error *err)
{
    su_anim anim = m->anim;
    point_stream points = {m, progress};
    su_field_stream stream = {"points", write_points, &points};
    SU_TRY(describe(m, meta, err));
    anim.file.meta = meta; /* borrowed: all of this struct is */
    return su_schema_save_streamed(&su_anim_schema, path, &anim, &stream, err);
}
