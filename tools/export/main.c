/* supple export: a simulated shot as a vertex cache on the artist's own mesh. Frames are rebuilt in blocks. */
#include "core/file.h"
#include "core/memory.h"
#include "core/npz.h"
#include "core/threads.h"
#include "core/tool.h"
#include "geometry/bind.h"
#include "io/anim.h"
#include "io/cache.h"
#include "io/model.h"
#include "io/obj.h"
#include "io/sim.h"
#include "rig/shot.h"
#include "runtime/expand.h"
#include "runtime/frame_window.h"
#include "runtime/reconstruct.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WHAT_POINTS, WHAT_DISPLACEMENT };

typedef struct settings {
    int format, space, up, what, morphs, texture, samples;
    const char *frames, *amplitude, *bind, *shutter;
    double unit, offset;
    bool velocities, normals, rig;
} settings;

typedef struct job {
    settings set;
    const char *anim_path;
    su_model model;
    su_anim anim;
    su_sim sim;
    bool has_model, has_sim;
    su_shot *shot;
    su_reconstruct *reconstruct;
    su_expand expand;
    double fps, number;                 /* of the shot: frames a second, number of its first frame */
    int64_t first, last, step;          /* frames of the shot that are written */
    const char **names;                 /* (objects) */
    su_cache_layout layout;
    su_obj carried;                     /* --bind: a mesh that rides on the skin */
    su_bind bind;
    double *carried_points;             /* (carried.vertices,3) root frame, m */
    double *points, *displacement;      /* (block,nbar,3) */
    su_frame_window *window;            /* of (N,3) */
    double *offsets;                    /* (samples) frames */
    bool *cut;                          /* (F) a jump before this frame; NULL: none */
    float *between, *normals, *velocities;   /* (N,3) */
    double *scratch;                    /* (nbar,3), of a bound mesh (vertices,3) */
    double *root;                       /* (frames,4,4) of the frames that are written: glb */
    float *amplitude;                   /* (nbar) largest |A u| of each vertex, m */
    double largest;                     /* of all */
    su_cache_report report;
    double rebuild_seconds, write_seconds;
} job;

static void job_free(job *j)
{
    su_expand_free(&j->expand);
    su_bind_free(&j->bind);
    su_obj_free(&j->carried);
    free(j->carried_points);
    su_reconstruct_free(j->reconstruct);
    su_shot_free(j->shot);
    su_sim_free(&j->sim);
    su_anim_free(&j->anim);
    su_model_free(&j->model);
    su_frame_window_free(j->window);
    free(j->offsets), free(j->cut), free(j->between), free(j->normals), free(j->velocities), free(j->scratch);
    free(j->names), free(j->points), free(j->displacement), free(j->root), free(j->amplitude);
}

/* ---- loading ---- */

static su_status open_shot(su_tool *tool, job *j)
{
    const su_model *model = &j->model;
    json_t *unknown = NULL;
    su_shot_target target = {.nbar = model->nbar, .s = model->s, .a = model->a, .neutral = model->neutral,
                             .params = model->params, .param_scale = model->param_scale,
                             .param_names = json_object_get(model->file.meta, "param_names"),
                             .psd_params = model->psd_params, .psd_shapes = model->psd_shapes, .psd_rbf = model->psd_rbf,
                             .param_mean = model->param_mean, .param_basis = model->param_basis, .frames_only = true};
    su_status status = su_shot_create(&j->anim, j->anim_path, &target, 0, NULL, &j->shot, &unknown, &tool->err);
    size_t index;
    json_t *name;
    json_array_foreach(unknown, index, name)
        su_warn(tool, "%s: parameter '%s' moves, but the model does not know it", j->anim_path, json_string_value(name));
    json_decref(unknown);
    return status;
}

static su_status load_sim(su_tool *tool, job *j, const char *path)
{
    su_error *err = &tool->err;
    const su_model *model = &j->model;
    const su_sim *sim = &j->sim;
    SU_TRY(su_sim_load(path, &j->sim, err));
    j->has_sim = true;
    if (sim->F != j->anim.F)
        return su_fail(err, SU_INPUT, "%s: has %lld frames, %s has %lld: not a run of this shot", path, (long long)sim->F,
                       j->anim_path, (long long)j->anim.F);
    if (fabs(sim->times[0] - j->anim.times[0]) > 1e-6 || fabs(sim->times[sim->F - 1] - j->anim.times[sim->F - 1]) > 1e-6)
        return su_fail(err, SU_INPUT, "%s: runs from %.6g to %.6g s, %s from %.6g to %.6g s: not a run of this shot", path,
                       sim->times[0], sim->times[sim->F - 1], j->anim_path, j->anim.times[0], j->anim.times[sim->F - 1]);
    if (!sim->q == !sim->u) return su_fail(err, SU_INPUT, "%s: holds neither or both of q and u", path);
    if ((sim->q && (sim->r != model->r || sim->m != model->m)) || (sim->u && sim->n != model->n))
        return su_fail(err, SU_INPUT, "%s: made with another model: %lld modes, %lld poses, %lld flesh vertices, not %lld, %lld, %lld",
                       path, (long long)sim->r, (long long)sim->m, (long long)sim->n, (long long)model->r, (long long)model->m,
                       (long long)model->n);
    int64_t failed = 0;
    for (int64_t k = 0; k < sim->F; k++) failed += sim->status[k] >= 3;
    if (failed) su_warn(tool, "%s: %lld frames were marked as failed by the simulator", path, (long long)failed);
    return su_reconstruct_create(model, su_sim_interpolation(sim), model->nbar, NULL, tool->threads, &j->reconstruct, err);
}

static su_status load(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const su_list *inputs = &tool->inputs;
    if (inputs->count < 3 && !j->set.rig)
        return su_fail(err, SU_USAGE, "give MODEL ANIM SIM, or --rig with ANIM or MODEL ANIM for the rig alone");
    if (inputs->count == 3 && j->set.rig) return su_fail(err, SU_USAGE, "--rig takes no SIM file");
    if (j->set.rig && j->set.what == WHAT_DISPLACEMENT) return su_fail(err, SU_USAGE, "the rig alone has no displacement");
    j->anim_path = inputs->items[inputs->count == 1 ? 0 : 1];
    if (inputs->count > 1) {
        SU_TRY(su_model_load(inputs->items[0], &j->model, err));
        j->has_model = true;
    }
    SU_TRY(su_anim_load(j->anim_path, &j->anim, err));
    if (j->anim.F < 1) return su_fail(err, SU_INPUT, "%s: has no frames", j->anim_path);
    if (j->anim.N < 1 || j->anim.P < 1) return su_fail(err, SU_INPUT, "%s: has no polygons to write", j->anim_path);
    if (j->has_model) SU_TRY(open_shot(tool, j));
    if (inputs->count == 3) SU_TRY(load_sim(tool, j, inputs->items[2]));
    return SU_OK;
}

/* ---- what is written ---- */

/* "A", "A-B" or "A-BxS" in the shot's own frame numbers. */
static su_status choose_frames(su_tool *tool, job *j)
{
    double a = j->number, b = j->number + (double)(j->anim.F - 1);
    j->first = 0, j->last = j->anim.F - 1, j->step = 1;
    if (!j->set.frames) return SU_OK;
    char *end;
    const char *text = j->set.frames;
    double from = strtod(text, &end), to = from;
    long long step = 1;
    bool good = end != text;
    if (good && *end == '-') to = strtod(text = end + 1, &end), good = end != text;
    if (good && *end == 'x') step = strtoll(text = end + 1, &end, 10), good = end != text && step > 0;
    if (!good || *end || !(from <= to))
        return su_fail(&tool->err, SU_USAGE, "--frames %s: write 10, 10-20 or 10-20x2", j->set.frames);
    if (from < a - 0.5 || to > b + 0.5)
        return su_fail(&tool->err, SU_USAGE, "--frames %s: %s has frames %.9g-%.9g", j->set.frames, j->anim_path, a, b);
    j->first = llround(from - a), j->last = llround(to - a), j->step = step;
    j->last -= (j->last - j->first) % step;
    return SU_OK;
}

/* Samples for motion blur, spread over the time in which the shutter is open. */
static su_status choose_samples(su_tool *tool, job *j)
{
    if (j->set.samples < 2) {
        j->set.samples = 0;
        return j->set.shutter ? su_fail(&tool->err, SU_USAGE, "--shutter goes with --samples 2 or more") : SU_OK;
    }
    const char *text = j->set.shutter ? j->set.shutter : "-0.25,0.25";
    char *end;
    double open = strtod(text, &end), close = open;
    bool good = end != text && *end == ',';
    if (good) close = strtod(text = end + 1, &end), good = end != text && !*end;
    if (!good || !(open > -1.0 && close < 1.0 && open < close && close - open < 1.0))
        return su_fail(&tool->err, SU_USAGE, "--shutter %s: write when it opens and closes, in frames less than one apart: -0.25,0.25",
                       j->set.shutter);
    SU_TRY(SU_ALLOC(&j->offsets, j->set.samples, "samples", &tool->err));
    for (int i = 0; i < j->set.samples; i++) j->offsets[i] = open + (close - open) * i / (j->set.samples - 1);
    return SU_OK;
}

/* The frames before which the run says the rig jumps. */
static su_status find_cuts(su_tool *tool, job *j)
{
    const json_t *list = j->has_sim ? json_object_get(j->sim.file.meta, "teleports") : NULL, *item;
    size_t index;
    if (!json_array_size(list)) return SU_OK;
    SU_TRY(SU_ALLOC(&j->cut, j->anim.F, "teleports", &tool->err));
    json_array_foreach(list, index, item) {
        json_int_t k = json_integer_value(item);
        if (k > 0 && k < j->anim.F) j->cut[k] = true;
    }
    return SU_OK;
}

static su_status object_names(su_tool *tool, job *j)
{
    SU_TRY(SU_ALLOC(&j->names, j->anim.objects ? j->anim.objects : 1, "names", &tool->err));
    for (int64_t o = 0; o < (j->anim.objects ? j->anim.objects : 1); o++) {
        const char *name = su_file_name(&j->anim.file, "object_names", o);
        j->names[o] = name ? name : "mesh";
    }
    return SU_OK;
}

/* glTF is in metres with y up, and its morph targets would have to follow the root's turns: a node carries these. */
static su_status prepare_glb(su_tool *tool, job *j)
{
    if (j->set.space == SU_SPACE_LOCAL) return su_fail(&tool->err, SU_USAGE, "glb: --space world or root");
    int64_t frames = (j->last - j->first) / j->step + 1;
    j->set.unit = 1.0, j->set.up = 2;
    if (j->set.space == SU_SPACE_WORLD) SU_TRY(SU_ALLOC(&j->root, 16 * frames, "root motion", &tool->err));
    for (int64_t k = 0; k < frames && j->root; k++)
        memcpy(j->root + 16 * k, j->anim.root + 16 * (j->first + k * j->step), 16 * sizeof *j->root);
    j->set.space = SU_SPACE_ROOT;
    return SU_OK;
}

/* Games think as glTF does; a mesh that is lit wants normals. */
static su_status prepare_vat(su_tool *tool, job *j)
{
    if (j->set.space == SU_SPACE_LOCAL) return su_fail(&tool->err, SU_USAGE, "textures: --space world or root");
    if (!(j->set.unit > 0.0)) j->set.unit = 1.0;
    if (!j->set.up) j->set.up = 2;
    j->set.normals = j->set.what == WHAT_POINTS;
    return SU_OK;
}

/* The other mesh stands in the source's world at the neutral pose; its topology takes the place of the source's. */
static su_status bind_mesh(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    su_obj *obj = &j->carried;
    if (j->set.space == SU_SPACE_LOCAL || j->set.what == WHAT_DISPLACEMENT)
        return su_fail(err, SU_USAGE, "--bind goes with neither --space local nor --what displacement");
    SU_TRY(su_obj_load(j->set.bind, obj, err));
    if (obj->faces < 1) return su_fail(err, SU_INPUT, "%s: has no faces", j->set.bind);
    SU_TRY(SU_ALLOC(&j->carried_points, 3 * obj->vertices, "a bound mesh", err));
    for (int64_t v = 0; v < obj->vertices; v++) su_expand_back(&j->expand, obj->points + 3 * v, j->carried_points + 3 * v);
    SU_TRY(su_bind_create(obj->vertices, j->carried_points, j->anim.nbar, j->anim.neutral, j->anim.T, j->anim.triangles, &j->bind, err));
    su_note(tool, "%s: %lld vertices, at most %.4g m from the skin", j->set.bind, (long long)obj->vertices, j->bind.farthest);
    su_cache_layout *l = &j->layout;
    l->vertices = obj->vertices, l->faces = obj->faces, l->corners = obj->corners, l->uvs = obj->uvs, l->objects = obj->objects;
    l->face_counts = obj->face_counts, l->face_indices = obj->face_indices, l->uv = obj->uv, l->uv_indices = obj->uv_indices;
    l->object_ids = obj->object_ids, l->object_names = (const char *const *)obj->object_names, l->object_xform = NULL;
    return SU_OK;
}

static su_status describe(su_tool *tool, job *j)
{
    const su_anim *anim = &j->anim;
    const json_t *meta = anim->file.meta;
    static const char axes[] = {0, 'x', 'y', 'z'};
    double step = anim->F > 1 ? (anim->times[anim->F - 1] - anim->times[0]) / (double)(anim->F - 1) : 1.0 / 24.0;
    j->fps = su_meta_number(meta, "fps", 1.0 / step);
    if (!(j->fps > 0.0)) return su_fail(&tool->err, SU_INPUT, "%s: %g frames a second", j->anim_path, j->fps);
    j->number = su_meta_number(meta, "frame_start", anim->times[0] * j->fps);
    SU_TRY(choose_frames(tool, j));
    su_cache_format format = su_cache_format_of(tool->output, (su_cache_format)j->set.format);
    if (format == SU_CACHE_GLB) SU_TRY(prepare_glb(tool, j));
    if (format == SU_CACHE_VAT) SU_TRY(prepare_vat(tool, j));
    if (j->set.what == WHAT_DISPLACEMENT && j->set.normals) return su_fail(&tool->err, SU_USAGE, "displacements have no normals");
    double unit = j->set.unit > 0.0 ? j->set.unit : su_meta_number(meta, "source_unit", 1.0);
    char up = j->set.up ? axes[j->set.up] : (char)tolower((unsigned char)su_meta_text(meta, "source_up", "y")[0]);
    if (!(unit > 0.0) || !isfinite(unit)) return su_fail(&tool->err, SU_INPUT, "%s: source_unit %g", j->anim_path, unit);
    SU_TRY(su_expand_create(anim, (su_space)j->set.space, unit, up, &j->expand, &tool->err));
    SU_TRY(object_names(tool, j));
    SU_TRY(choose_samples(tool, j));
    SU_TRY(find_cuts(tool, j));
    int64_t frames = (j->last - j->first) / j->step + 1;
    j->layout = (su_cache_layout){
        .frames = frames * (j->set.samples ? j->set.samples : 1), .vertices = anim->N, .faces = anim->P, .corners = anim->corners,
        .uvs = anim->uv && anim->uv_indices ? anim->uvs : 0, .objects = anim->objects ? anim->objects : 1,
        .face_counts = anim->face_counts, .face_indices = anim->face_indices, .uv = anim->uv_indices ? anim->uv : NULL,
        .uv_indices = anim->uv ? anim->uv_indices : NULL, .object_ids = anim->objects ? anim->object_ids : NULL,
        .object_names = j->names, .object_xform = j->expand.object_xform, .fps = j->fps,
        .frame_start = j->number + (double)j->first + j->set.offset, .frame_step = (double)j->step,
        .samples = j->set.samples, .shutter = j->offsets, .velocities = j->set.velocities, .normals = j->set.normals, .unit = unit, .up = up, .root = j->root,
        .morphs = j->set.morphs, .texture = j->set.texture, .displacement = j->set.what == WHAT_DISPLACEMENT, .clip = su_meta_text(meta, "clip", NULL), .application = "supple " SU_VERSION};
    return j->set.bind ? bind_mesh(tool, j) : SU_OK;
}

/* One line: the command and the digests of what went in. Caller frees. */
static char *provenance(su_tool *tool)
{
    json_t *meta = su_tool_meta(tool, "supple.cache", 1, tool->inputs.items, tool->inputs.count), *input;
    if (!meta) return NULL;
    size_t size = 1 << 16, used, index;
    char *text = malloc(size);
    if (text) {
        used = (size_t)snprintf(text, size, "%s: %s", su_meta_text(meta, "tool", ""), su_meta_text(meta, "command", ""));
        json_array_foreach(json_object_get(meta, "inputs"), index, input)
            if (used < size)
                used += (size_t)snprintf(text + used, size - used, ", %s %s", su_meta_text(input, "name", ""),
                                         su_meta_text(input, "digest", ""));
    }
    json_decref(meta);
    return text;
}

/* ---- frames ---- */

/* Points of frames first .. first + count - 1 in the root frame, or displacements alone. */
static su_status rebuild(su_tool *tool, job *j, int64_t first, int64_t count)
{
    int64_t columns = 3 * j->anim.nbar;
    if (j->has_sim) {
        bool points = j->set.what == WHAT_POINTS;
        SU_TRY(su_reconstruct_shot(j->reconstruct, j->shot, &j->sim, first, count, NULL, j->displacement,
                                   points ? j->points : NULL, &tool->err));
        for (int64_t i = 0; i < count * j->anim.nbar; i++) {
            const double *d = j->displacement + 3 * i;
            double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if (!isfinite(square))
                return su_fail(&tool->err, SU_NUMERICS, "%s: frame %lld: vertex %lld has no finite displacement", tool->inputs.items[2],
                               (long long)(first + i / j->anim.nbar), (long long)(i % j->anim.nbar));
            int64_t frame = first + i / j->anim.nbar;
            if (frame < j->first || frame > j->last) continue;   /* only there for its neighbours */
            float *amplitude = &j->amplitude[i % j->anim.nbar];
            if (square > (double)*amplitude * (double)*amplitude) *amplitude = (float)sqrt(square);
            if (square > j->largest * j->largest) j->largest = sqrt(square);
        }
        if (!points) memcpy(j->points, j->displacement, (size_t)(count * columns) * sizeof *j->points);
    } else if (j->has_model) {
        for (int64_t k = 0; k < count; k++)
            su_shot_sample(j->shot, first + k, 0.0, j->anim.nbar, NULL, j->points + k * columns, NULL, NULL, NULL);
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
    for (int64_t i = 0; i < 3 * j->layout.vertices && j->set.velocities; i++) j->velocities[i] *= (float)j->fps;
    if (j->set.normals)
        su_expand_normals(j->layout.vertices, j->set.bind ? NULL : j->anim.source_vertex, j->layout.faces, j->layout.face_counts,
                          j->layout.face_indices, points, j->scratch, j->normals);
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

static su_status write_frames(su_tool *tool, job *j, su_cache_writer *writer, int64_t block)
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

static su_status allocate(su_tool *tool, job *j, int64_t block)
{
    su_error *err = &tool->err;
    SU_TRY(SU_ALLOC(&j->points, block * 3 * j->anim.nbar, "frames", err));
    if (j->has_sim) SU_TRY(SU_ALLOC(&j->displacement, block * 3 * j->anim.nbar, "frames", err));
    SU_TRY(SU_ALLOC(&j->amplitude, j->anim.nbar, "amplitudes", err));
    int reach = j->set.samples ? SU_REACH_SPLINE : j->set.velocities ? SU_REACH_DIFFERENCES : 0;
    SU_TRY(su_frame_window_create(3 * j->layout.vertices, reach, &j->window, err));
    if (j->set.samples) SU_TRY(SU_ALLOC(&j->between, 3 * j->layout.vertices, "samples", err));
    if (j->set.velocities) SU_TRY(SU_ALLOC(&j->velocities, 3 * j->layout.vertices, "velocities", err));
    if (j->set.normals) {
        SU_TRY(SU_ALLOC(&j->normals, 3 * j->layout.vertices, "normals", err));
        SU_TRY(SU_ALLOC(&j->scratch, 3 * (j->set.bind ? j->layout.vertices : j->anim.nbar), "normals", err));
    }
    return SU_OK;
}

/* Where and how much the flesh moves: a map for paint tools. */
static su_status save_amplitude(su_tool *tool, job *j)
{
    float *map = NULL;
    const int64_t shape[1] = {j->anim.N};
    SU_TRY(SU_ALLOC(&map, j->anim.N, "amplitudes", &tool->err));
    for (int64_t v = 0; v < j->anim.N; v++) map[v] = j->amplitude[j->anim.source_vertex[v]];
    su_status status = su_npy_save(j->set.amplitude, SU_F32, 1, shape, map, &tool->err);
    free(map);
    return status;
}

static void report(su_tool *tool, const job *j)
{
    int64_t frames = (j->last - j->first) / j->step + 1;
    su_stats_integer(tool, "frames", frames);
    su_stats_integer(tool, "vertices", j->layout.vertices);
    su_stats_number(tool, "largest_displacement", j->largest);
    su_stats_number(tool, "frames_per_second", (double)frames / (j->rebuild_seconds > 0 ? j->rebuild_seconds : 1e-9));
    su_stats_stage(tool, "rebuild", j->rebuild_seconds);
    su_stats_stage(tool, "write", j->write_seconds);
    char motion[64] = "the rig alone";
    if (j->has_sim) snprintf(motion, sizeof motion, "flesh moves up to %.4g m", j->largest);
    su_note(tool, "%s: frames %.9g-%.9g, %lld vertices; %s", su_base_name(tool->output), j->layout.frame_start,
            j->layout.frame_start + (double)(j->last - j->first), (long long)j->layout.vertices, motion);
    if (!j->report.shapes) return;
    double whole = j->report.motion > 0.0 ? j->report.motion : 1.0;
    su_stats_integer(tool, "morphs", j->report.shapes);
    su_stats_number(tool, "morph_error_rms", j->report.rms);
    su_stats_number(tool, "morph_error_largest", j->report.largest);
    su_note(tool, "%lld morph targets leave %.3g m (RMS, %.2g %% of the motion about the mean), %.3g m at most", (long long)j->report.shapes,
            j->report.rms, 100.0 * j->report.rms / whole, j->report.largest);
}

static su_status run(su_tool *tool, job *j)
{
    SU_TRY(load(tool, j));
    SU_TRY(describe(tool, j));
    if (tool->dry_run) return SU_OK;
    int64_t bytes = 48 * j->anim.nbar, block = bytes > 0 ? (64 << 20) / bytes : 1;
    block = block < 1 ? 1 : block > SU_RECONSTRUCT_BLOCK ? SU_RECONSTRUCT_BLOCK : block;
    SU_TRY(allocate(tool, j, block));
    char *text = provenance(tool);
    if (!text) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "out of memory");
    su_cache_writer *writer = NULL;
    j->layout.provenance = text;
    su_status status = su_cache_create(tool->output, (su_cache_format)j->set.format, &j->layout, &writer, &tool->err);
    if (status == SU_OK) {
        status = write_frames(tool, j, writer, block);
        if (status == SU_OK) status = su_cache_commit(writer, &j->report, &tool->err);
        else su_cache_abandon(writer);
    }
    free(text);
    if (status != SU_OK) return status;
    if (j->set.amplitude) SU_TRY(save_amplitude(tool, j));
    report(tool, j);
    return SU_OK;
}

int main(int argc, char **argv)
{
    job j = {.set = {.morphs = 8}};
    settings *set = &j.set;
    const su_option options[] = {
        {.name = "format", .kind = SU_OPT_CHOICE, .target = &set->format, .argument = "FORMAT", .choices = SU_CACHE_FORMATS,
         .help = "By the name's extension (auto, default), or this: abc Alembic, usda, pc2, mdd, obj (numbered files: "
                 "run.%04d.obj), npy (frames, vertices, 3), glb (glTF with morph targets; always metres, y up), vat (.json: "
                 "vertex-animation textures for games, their description and their mesh)."},
        {.name = "space", .kind = SU_OPT_CHOICE, .target = &set->space, .argument = "SPACE", .choices = "world|root|local",
         .help = "world (default); root: without the motion of the root frame; local: of each object, whose transform is "
                 "kept where the format has one (abc, usda)."},
        {.name = "frames", .kind = SU_OPT_TEXT, .target = &set->frames, .argument = "A-B",
         .help = "Only these frames, in the shot's own numbers: 10, 1001-1048, 1-49x2 (default: all)."},
        {.name = "offset", .kind = SU_OPT_NUMBER, .target = &set->offset, .argument = "N", .low = -1e9, .high = 1e9,
         .help = "Added to all frame numbers (default 0)."},
        {.name = "velocities", .kind = SU_OPT_FLAG, .target = &set->velocities,
         .help = "Also write velocities, units a second, for motion blur (abc, usda)."},
        {.name = "samples", .kind = SU_OPT_INT, .target = &set->samples, .argument = "N", .low = 1, .high = 64,
         .help = "Samples around every frame, for motion blur that bends (abc, usda; default 1: the frame itself), on the cubic "
                 "spline through the frames."},
        {.name = "shutter", .kind = SU_OPT_TEXT, .target = &set->shutter, .argument = "OPEN,CLOSE",
         .help = "When the first and the last sample are taken, in frames from each frame (default -0.25,0.25)."},
        {.name = "normals", .kind = SU_OPT_FLAG, .target = &set->normals, .help = "Also write point normals (abc, usda; glb and vat have them always)."},
        {.name = "what", .kind = SU_OPT_CHOICE, .target = &set->what, .argument = "WHAT", .choices = "points|displacement",
         .help = "points (default); displacement: what the flesh adds to the rig's vertices, as vectors."},
        {.name = "rig", .kind = SU_OPT_FLAG, .target = &set->rig,
         .help = "The rig alone, without simulated flesh: with MODEL ANIM corrected by its sculpted shapes, with ANIM as it is."},
        {.name = "morphs", .kind = SU_OPT_INT, .target = &set->morphs, .argument = "K", .low = 1, .high = 1000,
         .help = "Morph targets of a glb: principal shapes of the clip in the root frame (default 8, what every viewer plays)."},
        {.name = "texture", .kind = SU_OPT_CHOICE, .target = &set->texture, .argument = "KIND", .choices = "float|half|png",
         .help = "Texels of vertex-animation textures: float (default) or half OpenEXR, or PNG of 16 bits."},
        {.name = "amplitude", .kind = SU_OPT_TEXT, .target = &set->amplitude, .argument = "FILE.npy",
         .help = "Also write the largest displacement of each vertex over these frames, m (vertices)."},
        {.name = "bind", .kind = SU_OPT_TEXT, .target = &set->bind, .argument = "MESH.obj",
         .help = "Write this mesh instead, carried along by the skin; it stands in the source's world at the neutral pose."},
        {.name = "unit", .kind = SU_OPT_NUMBER, .target = &set->unit, .argument = "M", .low = 1e-9, .high = 1e9,
         .help = "Metres of one unit in the output (default: as the source; textures: 1)."},
        {.name = "up", .kind = SU_OPT_CHOICE, .target = &set->up, .argument = "AXIS", .choices = "source|x|y|z",
         .help = "Up axis of the output (default: as the source; textures: y)."},
    };
    const su_program program = {.name = "supple-export",
                                .summary = "write a simulated shot as a vertex cache",
                                .usage = "MODEL ANIM SIM -o CACHE",
                                .description = "Puts the simulated flesh on the artist's own mesh: its polygons, vertex order, UVs, object "
                                               "names, units and up axis, and the shot's own frame numbers.",
                                .example = "supple export fox.model.npz run.anim.npz run.sim.npz -o run.abc",
                                .options = options,
                                .option_count = sizeof options / sizeof *options,
                                .min_inputs = 1,
                                .max_inputs = 3,
                                .needs_output = true};
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
