/* Frames of supple export: rebuilt in blocks, expanded to the source's mesh, sampled, written. */
#include "export.h"

#include "core/threads.h"
#include "geometry/polygon.h"

#include <math.h>
#include <string.h>

/* Points of frames first .. first + count - 1 in the root frame, or displacements alone. */
static su_status rebuild(su_tool *tool, job *j, int64_t first, int64_t count)
{
    int64_t columns = 3 * j->anim.nbar;
    if (j->has_sim) {
        bool points = j->set.what == WHAT_POINTS;
        SU_TRY(su_reconstruct_shot(
            j->reconstruct, j->shot, &j->sim, first, count,
            &(su_shot_motion){.displacement = j->displacement, .points = points ? j->points : NULL}, &tool->err));
        for (int64_t i = 0; i < count * j->anim.nbar; i++) {
            const double *d = j->displacement + 3 * i;
            double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if (!isfinite(square))
                return su_fail(&tool->err, SU_NUMERICS, "%s: frame %lld: vertex %lld has no finite displacement",
                               tool->inputs.items[2], (long long)(first + i / j->anim.nbar),
                               (long long)(i % j->anim.nbar));
            int64_t frame = first + i / j->anim.nbar;
            if (frame < j->first || frame > j->last) continue; /* only there for its neighbours */
            float *amplitude = &j->amplitude[i % j->anim.nbar];
            if (square > (double)*amplitude * (double)*amplitude) *amplitude = (float)sqrt(square);
            if (square > j->largest * j->largest) j->largest = sqrt(square);
            if ((frame - j->first) % j->step == 0) j->square += square * j->copies[i % j->anim.nbar];
        }
        if (!points) memcpy(j->points, j->displacement, (size_t)(count * columns) * sizeof *j->points);
    } else if (j->has_model) {
        for (int64_t k = 0; k < count; k++)
            su_shot_sample_skin(j->shot, first + k, 0.0, 0, NULL, 1, j->points + k * columns);
    } else {
        for (int64_t i = 0; i < count * columns; i++) j->points[i] = (double)j->anim.points[first * columns + i];
    }
    return SU_OK;
}

/* One sample: a frame, or the motion some way between two. */
static su_status write_sample(su_tool *tool, job *j, su_cache_writer *writer, int64_t frame, double offset)
{
    const float *points = su_frame_window_frame(j->window, frame);
    if (offset != 0.0) points = j->between;
    if (offset != 0.0 || j->set.velocities)
        su_frame_window_sample(j->window, frame, offset, offset != 0.0 ? j->between : NULL, j->velocities);
    int64_t vertices = export_whole(j);
    for (int64_t i = 0; i < 3 * vertices && j->set.velocities; i++) j->velocities[i] *= (float)j->fps;
    const su_polygons polygons = j->set.bind
                                     ? (su_polygons){j->layout.faces, j->layout.face_counts, j->layout.face_indices}
                                     : (su_polygons){j->anim.P, j->anim.face_counts, j->anim.face_indices};
    if (j->set.normals)
        su_polygons_normals(vertices, j->set.bind ? NULL : j->anim.source_vertex, &polygons, points, j->scratch,
                            j->normals);
    const float *const all[3] = {points, j->velocities, j->normals};
    for (int i = 0; i < 3 && j->chosen.kept; i++)
        for (int64_t v = 0; v < j->layout.vertices && all[i]; v++)
            memcpy(j->chosen.frame[i] + 3 * v, all[i] + 3 * (int64_t)j->chosen.kept[v], 3 * sizeof *points);
    if (j->chosen.kept)
        return su_cache_frame(writer, j->chosen.frame[0], j->chosen.frame[1], j->chosen.frame[2], &tool->err);
    return su_cache_frame(writer, points, j->velocities, j->normals, &tool->err);
}

/* The frames that are due and whose neighbours are there. */
static su_status write_due(su_tool *tool, job *j, su_cache_writer *writer, int64_t *due, int64_t newest)
{
    double start = su_seconds();
    for (; *due <= newest && *due <= j->last; *due += j->step)
        for (int i = 0; i < (j->set.samples ? j->set.samples : 1); i++)
            SU_TRY(write_sample(tool, j, writer, *due, j->set.samples ? j->offsets[i] : 0.0));
    j->write_seconds += su_seconds() - start;
    return SU_OK;
}

su_status export_frames(su_tool *tool, job *j, su_cache_writer *writer, int64_t block)
{
    int64_t columns = 3 * j->anim.nbar, F = j->anim.F, margin = su_frame_window_delay(j->window), due = j->first;
    int64_t low = j->first >= margin ? j->first - margin : 0, high = j->last + margin < F ? j->last + margin : F - 1;
    for (int64_t at = low; at <= high; at += block) {
        int64_t count = high - at + 1 < block ? high - at + 1 : block;
        double start = su_seconds();
        SU_TRY(rebuild(tool, j, at, count));
        j->rebuild_seconds += su_seconds() - start;
        for (int64_t k = at; k < at + count; k++) {
            float *to = su_frame_window_push(j->window, low, j->cut && j->cut[k]);
            start = su_seconds();
            if (j->set.bind) {
                su_bind_apply(&j->bind, j->points + (k - at) * columns, j->carried_points);
                su_expand_points(&j->expand, k, j->carried.vertices, j->carried_points, to);
            } else {
                su_expand_frame(&j->expand, k, j->points + (k - at) * columns, j->set.what == WHAT_DISPLACEMENT, to);
            }
            j->rebuild_seconds += su_seconds() - start;
            SU_TRY(write_due(tool, j, writer, &due, k - margin));
        }
        SU_TRY(su_progress_update(&tool->progress, (double)(at + count - low) / (double)(high - low + 1), &tool->err));
    }
    return write_due(tool, j, writer, &due, high);
}
