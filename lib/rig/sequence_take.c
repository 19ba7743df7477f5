#include "rig/sequence_take.h"

#include "core/json_text.h"
#include "geometry/affine.h"
#include "geometry/polygon.h"
#include "rig/character.h"
#include "rig/root_frame.h"
#include "rig/weld.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WELD_DISTANCE 4e-6 /* of the diagonal */

enum { PROBES = 8, DEFAULT_RATE = 24 };

static su_status take_memory(su_file *file, void *out, int64_t count, size_t size, su_error *err)
{
    return su_file_allocate(file, out, count, size, "the sequence", err);
}

#define TAKE(file, pointer, count) SU_TRY(take_memory(file, &(pointer), count, sizeof *(pointer), err))

/* ---- times ---- */

/* No sample a cache has by mistake, far from all others, shall make frames by the million: more than LONG frames,
 * SPARSE of them a sample, want to be asked for. LONG is an hour at 30 a second. */
static const double LONG = 108000.0, SPARSE = 100.0;

static su_status choose_times(su_sequence_take *t, const char *path, const su_sequence_options *o, su_error *err)
{
    const su_sequence *s = t->sequence;
    su_anim *anim = &t->anim;
    double rate = s->timed ? s->fps : o->rate > 0.0 ? o->rate : DEFAULT_RATE;
    TAKE(&anim->file, t->times, s->frames);
    for (int64_t k = 0; k < s->frames; k++) {
        t->times[k] = s->timed ? s->times[k] : s->times[k] / rate;
        if (!isfinite(t->times[k]) || (k && t->times[k] <= t->times[k - 1]))
            return su_fail(err, SU_INPUT, "%s: its times do not ascend at frame %lld", path, (long long)k);
    }
    t->fps = o->fps > 0.0 ? o->fps : rate > 0.0 ? rate : DEFAULT_RATE;
    double start = isnan(o->first) ? t->times[0] : fmax(o->first / t->fps, t->times[0]);
    double whole =
        ceil(t->times[0] * t->fps - 1e-3); /* samples around frames, for motion blur, begin before the first */
    for (int64_t k = 0; k < s->frames && s->timed && isnan(o->first) && t->times[k] * t->fps < whole + 1e-3; k++)
        if (fabs(t->times[k] * t->fps - whole) < 1e-3) start = t->times[k];
    double end = isnan(o->last) ? t->times[s->frames - 1] : fmin(o->last / t->fps, t->times[s->frames - 1]);
    if (!(end >= start - 1e-6))
        return su_fail(err, SU_INPUT, "%s has frames %.6g to %.6g: nothing of it is left", path, t->times[0] * t->fps,
                       t->times[s->frames - 1] * t->fps);
    double count = floor((end - start) * t->fps + 1e-3) + 1.0;
    if (!(count <= 1e7)) return su_fail(err, SU_INPUT, "%s would have %.0f frames", path, count);
    if (count > LONG && count > SPARSE * (double)s->frames && isnan(o->first) && isnan(o->last))
        return su_fail(
            err, SU_INPUT,
            "%s: its %lld samples reach from %.6g to %.6g s, %.0f frames: one of them lies far off; --start and "
            "--end take a part",
            path, (long long)s->frames, t->times[0], t->times[s->frames - 1], count);
    anim->F = (int64_t)count;
    double number = start * t->fps;
    t->frame_start = isnan(o->number) ? fabs(number - round(number)) < 1e-2 ? round(number) : number : o->number;
    t->start = start;
    double shift = isnan(o->number) ? 0.0 : o->number / t->fps - start;
    TAKE(&anim->file, anim->times, anim->F);
    for (int64_t f = 0; f < anim->F; f++) anim->times[f] = start + shift + (double)f / t->fps;
    return SU_OK;
}

/* ---- topology ---- */

static su_status read_frame(su_sequence_take *t, int64_t frame, double *points, su_error *err)
{
    SU_TRY(su_sequence_read(t->sequence, frame, points, err));
    for (int64_t v = 0; v < t->sequence->vertices; v++) {
        if (!isfinite(points[3 * v] + points[3 * v + 1] + points[3 * v + 2]))
            return su_fail(err, SU_INPUT, "frame %lld: the position of vertex %lld is not a finite number",
                           (long long)frame, (long long)v);
        su_affine_point(t->convert, points + 3 * v, points + 3 * v);
    }
    return SU_OK;
}

/* Unit and axes from the neutral pose (N,3), which is converted. */
static su_status convert_neutral(su_sequence_take *t, const char *path, const su_sequence_options *o, double *neutral,
                                 su_error *err)
{
    static const double turn[3][9] = {
        {0, -1, 0, 1, 0, 0, 0, 0, 1}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 0, 0, 0, 0, 1, 0, -1, 0}};
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, extent = 0.0, m[9];
    const double none[3] = {0, 0, 0};
    for (int64_t k = 0; k < t->sequence->corners; k++)
        for (int i = 0; i < 3; i++) {
            double x = neutral[3 * (int64_t)t->sequence->face_indices[k] + i];
            low[i] = fmin(low[i], x), high[i] = fmax(high[i], x);
        }
    for (int i = 0; i < 3; i++) extent = fmax(extent, high[i] - low[i]);
    if (!(extent > 0.0) || !isfinite(extent)) return su_fail(err, SU_INPUT, "%s: the mesh has no size", path);
    t->unit = o->unit > 0.0 ? o->unit : su_choose_unit(t->sequence->unit, extent, &t->unit_guessed);
    if (o->scale > 0.0) t->unit *= o->scale;
    t->up = o->up;
    for (int i = 0; i < 9; i++) m[i] = t->unit * turn[o->up][i];
    su_affine_set(m, none, t->convert);
    su_affine_point(t->convert, low, low);
    su_affine_point(t->convert, high, high);
    t->diagonal = su_distance3(low, high);
    double far = 0.0;
    for (int i = 0; i < 3; i++) {
        t->size[i] = fabs(high[i] - low[i]);
        far = fmax(far, fabs(0.5 * (low[i] + high[i])));
    }
    for (int i = 0; i < 3; i++) t->shift[i] = far > 100.0 * t->diagonal ? -0.5 * (low[i] + high[i]) : 0.0;
    for (int64_t v = 0; v < t->sequence->vertices; v++) {
        su_affine_point(t->convert, neutral + 3 * v, neutral + 3 * v);
        for (int i = 0; i < 3; i++) neutral[3 * v + i] += t->shift[i];
    }
    return SU_OK;
}

/* Vertices that share a place in the neutral pose and at a few frames are welded; then every frame is looked at, and
 * those that part anywhere stay apart. */
static su_status weld(su_sequence_take *t, const double *neutral, su_progress *progress, su_error *err)
{
    const su_sequence *s = t->sequence;
    su_anim *anim = &t->anim;
    su_arena scratch = {0};
    su_status status = SU_OK;
    int64_t N = s->vertices, probes = s->frames < PROBES ? s->frames : PROBES;
    double *points = su_arena_alloc(&scratch, 3 * N, sizeof *points),
           *offsets = su_arena_alloc(&scratch, 3 * N * probes, sizeof *offsets);
    uint8_t *apart = su_arena_alloc(&scratch, N, 1);
    int32_t *renumber = su_arena_alloc(&scratch, N, sizeof *renumber);
    if (!points || !offsets || !apart || !renumber) {
        status = su_fail(err, SU_AGAIN, "not enough memory to weld %lld vertices", (long long)N);
        goto done;
    }
    double reach = 0.0;
    for (int64_t i = 0; i < probes; i++) {
        SU_GO(read_frame(t, i * (s->frames - 1) / (probes > 1 ? probes - 1 : 1), points, err));
        for (int64_t k = 0; k < 3 * N; k++) {
            offsets[3 * N * i + k] = points[k] - neutral[k];
            reach = fmax(reach, fabs(points[k]));
        }
    }
    /* Single-precision files cannot say it finer than that. */
    double distance = fmax(WELD_DISTANCE * t->diagonal, 4.0 * FLT_EPSILON * reach);
    su_weld_input in = {N, neutral, s->object_ids, NULL, probes, offsets, distance};
    SU_GO(su_weld(&in, anim->source_vertex, t->first, &anim->nbar, err));
    for (int64_t f = 0; f < s->frames; f++) {
        SU_GO(read_frame(t, f, points, err));
        for (int64_t v = 0; v < N; v++) {
            int64_t first = t->first[anim->source_vertex[v]];
            if (first != v && su_distance3(points + 3 * v, points + 3 * first) > 2.0 * distance) apart[v] = 1;
        }
        SU_GO(su_progress_update(progress, (double)(f + 1) / (double)s->frames, err));
    }
    int64_t count = 0;
    for (int64_t v = 0; v < N; v++) { /* welded vertices are numbered by their first source vertex, those too */
        int32_t w = anim->source_vertex[v];
        t->moved_apart += apart[v];
        if (apart[v] || t->first[w] == v) {
            if (!apart[v]) renumber[w] = (int32_t)count;
            anim->source_vertex[v] = (int32_t)count++;
        } else {
            anim->source_vertex[v] = renumber[w];
        }
    }
    for (int64_t v = N - 1; v >= 0; v--) t->first[anim->source_vertex[v]] = (int32_t)v;
    anim->nbar = count;
done:
    su_arena_free(&scratch);
    return status;
}

static su_status copy_topology(su_sequence_take *t, const char *path, su_error *err)
{
    const su_sequence *s = t->sequence;
    su_anim *anim = &t->anim;
    if (!s->face_counts || s->faces == 0)
        return su_fail(err, SU_INPUT, "%s: has no faces of its own; give the mesh by --neutral FILE.obj", path);
    anim->P = s->faces, anim->corners = s->corners, anim->N = s->vertices, anim->objects = s->objects, anim->s = 0;
    anim->face_counts = s->face_counts, anim->face_indices = s->face_indices;
    if (s->uv && s->uv_indices) anim->uv = s->uv, anim->uv_indices = s->uv_indices, anim->uvs = s->uvs;
    anim->object_ids = s->object_ids, anim->color = s->color;
    if (s->looks.material) {
        anim->face_material = s->looks.material, anim->materials = s->looks.materials;
        anim->material_color = s->looks.color, anim->material_surface = s->looks.surface;
    }
    if (s->looks.sets) {
        anim->face_set_start = s->looks.start, anim->sets1 = s->looks.sets + 1;
        anim->face_set_faces = s->looks.face, anim->set_faces = s->looks.set_faces;
    }
    TAKE(&anim->file, anim->source_vertex, anim->N);
    TAKE(&anim->file, t->first, anim->N);
    TAKE(&anim->file, anim->triangles, 3 * (anim->corners - 2 * anim->P));
    TAKE(&anim->file, anim->root, 16 * anim->F);
    TAKE(&anim->file, anim->params, 1);
    for (int64_t f = 0; f < anim->F; f++) su_affine_identity(anim->root + 16 * f);
    return SU_OK;
}

/* Transforms of the objects at every frame, where one moves. */
static su_status follow_objects(su_sequence_take *t, su_error *err)
{
    su_anim *anim = &t->anim;
    int64_t n = 16 * anim->objects;
    double *now;
    TAKE(&anim->file, now, n);
    for (int64_t f = 0; f < anim->F; f++) {
        double *to = anim->object_frames ? anim->object_frames + n * f : now;
        SU_TRY(su_sequence_xforms(t->sequence, t->start + (double)f / t->fps, to, err));
        for (int64_t i = 0; i < anim->objects; i++) su_affine_multiply(t->convert, to + 16 * i, to + 16 * i);
        if (anim->object_frames || memcmp(to, anim->object_xform, (size_t)n * sizeof *to) == 0) continue;
        TAKE(&anim->file, anim->object_frames, anim->F * n);
        for (int64_t k = 0; k <= f; k++)
            memcpy(anim->object_frames + n * k, k < f ? anim->object_xform : to, (size_t)n * sizeof *to);
    }
    return SU_OK;
}

/* Vertices without triangles and those of the named objects only follow. */
static su_status mark_rigid(su_sequence_take *t, const char *path, const su_sequence_options *options, su_error *err)
{
    su_anim *anim = &t->anim;
    uint8_t *rigid;
    int any = 0, all = 1;
    TAKE(&anim->file, rigid, anim->nbar);
    memset(rigid, 1, (size_t)anim->nbar);
    for (int64_t k = 0; k < 3 * anim->T; k++) rigid[anim->triangles[k]] = 0;
    for (int i = 0; i < options->rigid_count; i++) {
        bool found = false;
        for (int64_t object = 0; object < t->sequence->objects && anim->object_ids; object++) {
            if (!su_sequence_is_object(t->sequence, object, options->rigid[i])) continue;
            found = true;
            for (int64_t v = 0; v < anim->N; v++)
                if (anim->object_ids[v] == object) rigid[anim->source_vertex[v]] = 1;
        }
        if (!found)
            return su_fail(err, SU_INPUT, "%s: no object is called '%s'; --list names them", path, options->rigid[i]);
    }
    for (int64_t v = 0; v < anim->nbar; v++) any |= rigid[v], all &= rigid[v];
    if (all) return su_fail(err, SU_INPUT, "%s: every vertex is rigid: nothing is left to simulate", path);
    if (any) anim->rigid = rigid;
    return SU_OK;
}

su_status su_sequence_take_create(su_sequence *sequence, const char *path, const su_sequence_options *options,
                                  su_progress *progress, su_sequence_take *out, su_error *err)
{
    su_status status = SU_OK;
    su_anim *anim = &out->anim;
    double *neutral = NULL;
    int64_t wanted = options->neutral_frame;
    memset(out, 0, sizeof *out);
    out->sequence = sequence;
    su_affine_identity(out->convert);
    if (wanted >= sequence->frames)
        return su_fail(err, SU_USAGE, "%s: has %lld frames, none is frame %lld", path, (long long)sequence->frames,
                       (long long)wanted);
    SU_GO(choose_times(out, path, options, err));
    SU_GO(copy_topology(out, path, err));
    SU_GO(SU_FILE_ALLOC(&anim->file, &neutral, 3 * anim->N, err));
    if (wanted < 0 && sequence->neutral)
        memcpy(neutral, sequence->neutral, (size_t)(3 * anim->N) * sizeof *neutral);
    else
        SU_GO(read_frame(out, wanted < 0 ? 0 : wanted, neutral, err));
    SU_GO(convert_neutral(out, path, options, neutral, err));
    SU_GO(weld(out, neutral, progress, err));
    if (sequence->object_xform) {
        SU_GO(SU_FILE_ALLOC(&anim->file, &anim->object_xform, 16 * anim->objects, err));
        for (int64_t i = 0; i < anim->objects; i++)
            su_affine_multiply(out->convert, sequence->object_xform + 16 * i, anim->object_xform + 16 * i);
        SU_GO(follow_objects(out, err));
    }
    SU_GO(SU_FILE_ALLOC(&anim->file, &anim->neutral, 3 * anim->nbar, err));
    for (int64_t v = 0; v < anim->nbar; v++)
        memcpy(anim->neutral + 3 * v, neutral + 3 * (int64_t)out->first[v], 3 * sizeof(double));
    SU_GO(su_polygons_triangulate(&(su_polygons){anim->P, anim->face_counts, anim->face_indices}, anim->source_vertex,
                                  anim->neutral, anim->triangles, &anim->T, &out->degenerate, err));
    if (anim->T == 0) {
        status = su_fail(err, SU_INPUT, "the mesh has no triangle with area");
        goto done;
    }
    SU_GO(mark_rigid(out, path, options, err));
done:
    if (status != SU_OK) su_sequence_take_free(out);
    return status;
}

void su_sequence_take_free(su_sequence_take *take)
{
    su_schema_free(&su_anim_schema, &take->anim);
    memset(take, 0, sizeof *take);
}

/* ---- saving ---- */

/* Four frames around a time, read once each as the time goes on. */
typedef struct window {
    su_sequence_take *take;
    int64_t frame[4];  /* -1: empty */
    double *points[4]; /* (nbar,3) welded */
    double *source;    /* (N,3) scratch */
    double *now;       /* (nbar,3) */
    float *out;        /* (nbar,3) */
    su_progress *progress;
} window;

static su_status load(window *w, int64_t frame, const double **points, su_error *err)
{
    const su_anim *anim = &w->take->anim;
    int slot = 0;
    for (int i = 0; i < 4; i++) {
        if (w->frame[i] == frame) {
            *points = w->points[i];
            return SU_OK;
        }
        if (w->frame[i] < w->frame[slot]) slot = i; /* the oldest goes */
    }
    SU_TRY(read_frame(w->take, frame, w->source, err));
    for (int64_t v = 0; v < anim->nbar; v++)
        memcpy(w->points[slot] + 3 * v, w->source + 3 * (int64_t)w->take->first[v], 3 * sizeof(double));
    w->frame[slot] = frame;
    *points = w->points[slot];
    return SU_OK;
}

/* Factors of four positions on the cubic between the middle two, f of the way: its slopes there are those of the
 * parabolas through three positions (Catmull-Rom's where times are even), at an end the slope of the chord. before and
 * after: the distances in time to the outer two, over that between the middle two; 0: there is none. */
static void spline(double f, double before, double after, double c[4])
{
    double f2 = f * f, f3 = f2 * f, slope = f3 - 2.0 * f2 + f, next = f3 - f2;
    double a = before > 0.0 ? slope / (before * (1.0 + before)) : 0.0,
           b = after > 0.0 ? next / (after * (1.0 + after)) : 0.0;
    double chord =
        (before > 0.0 ? slope * before / (1.0 + before) : slope) + (after > 0.0 ? next * after / (1.0 + after) : next);
    c[0] = -a;
    c[1] = 2.0 * f3 - 3.0 * f2 + 1.0 + a - chord;
    c[2] = 3.0 * f2 - 2.0 * f3 - b + chord;
    c[3] = b;
}

/* Positions at a time: the frame itself, or a spline through the four around it. */
static su_status positions_at(window *w, double time, su_error *err)
{
    const su_sequence_take *t = w->take;
    int64_t last = t->sequence->frames - 1, k = 0, n = 3 * t->anim.nbar;
    const double *p[4];
    for (int64_t high = last; high - k > 1;) {
        int64_t middle = k + (high - k) / 2;
        if (t->times[middle] <= time)
            k = middle;
        else
            high = middle;
    }
    double f = last > 0 ? (time - t->times[k]) / (t->times[k + 1] - t->times[k]) : 0.0;
    if (f > 1.0 - 1e-5) k++, f = 0.0;
    if (f < 1e-5) {
        SU_TRY(load(w, k, &p[0], err));
        memcpy(w->now, p[0], (size_t)n * sizeof *w->now);
        return SU_OK;
    }
    for (int i = 0; i < 4; i++) {
        int64_t frame = k + i - 1;
        SU_TRY(load(w, frame < 0 ? 0 : frame > last ? last : frame, &p[i], err));
    }
    double before = k > 0 ? t->times[k] - t->times[k - 1] : 0.0, here = t->times[k + 1] - t->times[k],
           after = k + 2 <= last ? t->times[k + 2] - t->times[k + 1] : 0.0, c[4];
    spline(f, before / here, after / here, c);
    for (int64_t i = 0; i < n; i++) w->now[i] = c[0] * p[0][i] + c[1] * p[1][i] + c[2] * p[2][i] + c[3] * p[3][i];
    return SU_OK;
}

/* The root is written after the points, so it may be found on the way. */
static su_status write_points(void *context, su_npz_writer *writer, su_error *err)
{
    window *w = context;
    su_anim *anim = &w->take->anim;
    for (int64_t f = 0; f < anim->F; f++) {
        double *root = anim->root + 16 * f, inverse[16], p[3];
        SU_TRY(positions_at(w, w->take->start + (double)f / w->take->fps, err));
        su_root_from_points(anim->nbar, anim->neutral, w->now, root);
        su_rigid_inverse(root, inverse);
        for (int64_t v = 0; v < anim->nbar; v++) {
            su_affine_point(inverse, w->now + 3 * v, p);
            for (int i = 0; i < 3; i++) {
                w->out[3 * v + i] = (float)p[i];
                if (!isfinite(w->out[3 * v + i]))
                    return su_fail(err, SU_INPUT, "frame %lld: vertex %lld lies too far away to be stored",
                                   (long long)f, (long long)v);
            }
        }
        SU_TRY(su_npz_append(writer, w->out, 3 * anim->nbar, err));
        SU_TRY(su_progress_update(w->progress, (double)(f + 1) / (double)anim->F, err));
    }
    return SU_OK;
}

static int add_names(json_t *meta, const char *key, int64_t count, char *const *names)
{
    int bad = 0;
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) {
        char number[40];
        snprintf(number, sizeof number, "name%lld", (long long)i);
        bad |= json_array_append_new(list, su_json_text(names[i], number));
    }
    return bad | json_object_set_new(meta, key, list);
}

static su_status describe(const su_sequence_take *t, const char *clip, json_t *meta, su_error *err)
{
    int bad = 0;
    static const char *const axis[] = {"x", "y", "z"};
    json_t *names = json_array();
    char number[40];
    for (int64_t i = 0; i < t->sequence->objects; i++) {
        snprintf(number, sizeof number, "object%lld", (long long)i);
        bad |= json_array_append_new(
            names, su_json_text(t->sequence->object_names ? t->sequence->object_names[i] : NULL, number));
    }
    bad |= json_object_set_new(meta, "clip", json_string(clip));
    bad |= json_object_set_new(meta, "fps", json_real(t->fps));
    bad |= json_object_set_new(meta, "frame_start", json_real(t->frame_start));
    bad |= json_object_set_new(meta, "source_unit", json_real(t->unit));
    bad |= json_object_set_new(meta, "source_up", json_string(axis[t->up]));
    json_t *params = json_array();
    for (int64_t k = 0; k < t->anim.s && t->param_names; k++) {
        snprintf(number, sizeof number, "p%lld", (long long)k);
        bad |= json_array_append_new(params, su_json_text(t->param_names[k], number));
    }
    bad |= json_object_set_new(meta, "param_names", params);
    bad |= json_object_set_new(meta, "object_names", names);
    const su_looks *looks = &t->sequence->looks;
    if (t->sequence->object_paths)
        bad |= add_names(meta, "object_paths", t->sequence->objects, t->sequence->object_paths);
    if (looks->materials) bad |= add_names(meta, "material_names", looks->materials, looks->material_names);
    if (looks->sets) bad |= add_names(meta, "face_set_names", looks->sets, looks->set_names);
    return bad ? su_fail(err, SU_AGAIN, "out of memory for meta") : SU_OK;
}

su_status su_sequence_take_save(su_sequence_take *take, const char *path, const char *clip, json_t *meta,
                                su_progress *progress, su_error *err)
{
    su_anim *anim = &take->anim;
    su_arena scratch = {0};
    su_status status = SU_OK;
    window w = {.take = take, .frame = {-1, -1, -1, -1}, .progress = progress};
    w.source = su_arena_alloc(&scratch, 3 * anim->N, sizeof *w.source);
    w.now = su_arena_alloc(&scratch, 3 * anim->nbar, sizeof *w.now);
    w.out = su_arena_alloc(&scratch, 3 * anim->nbar, sizeof *w.out);
    int missing = !w.source || !w.now || !w.out;
    for (int i = 0; i < 4; i++) {
        w.points[i] = su_arena_alloc(&scratch, 3 * anim->nbar, sizeof(double));
        missing |= !w.points[i];
    }
    if (missing) {
        status = su_fail(err, SU_AGAIN, "not enough memory for frames of %lld vertices", (long long)anim->nbar);
        goto done;
    }
    su_field_stream stream = {"points", write_points, &w};
    SU_GO(describe(take, clip, meta, err));
    anim->file.meta = meta;
    status = su_schema_save_streamed(&su_anim_schema, path, anim, &stream, err);
    anim->file.meta = NULL;
done:
    su_arena_free(&scratch);
    return status;
}
