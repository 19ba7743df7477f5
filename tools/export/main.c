/* supple export: a simulated shot as a vertex cache on the artist's own mesh. Frames are rebuilt in blocks. */
#include "export.h"

#include "core/file.h"
#include "core/memory.h"
#include "../open_shot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void job_free(job *j)
{
    for (int64_t o = 0; j->paths && o < (j->anim.objects ? j->anim.objects : 1); o++) free(j->paths[o]);
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
    free(j->node_names), free(j->node_keys), free(j->copies);
    free(j->chosen.kept), free(j->chosen.counts), free(j->chosen.indices), free(j->chosen.uv_indices),
        free(j->chosen.ids);
    free(j->chosen.joined), free(j->chosen.color), su_looks_free(&j->chosen.looks);
    for (int i = 0; i < 3; i++) free(j->chosen.frame[i]);
    free(j->paths), free(j->object_frames), free(j->looks.material_names), free(j->looks.set_names);
}

/* ---- loading ---- */

static su_status open_shot(su_tool *tool, job *j)
{
    const su_model *model = &j->model;
    su_shot_target target = {.rig = su_rig_of_model(model), .nbar = model->nbar, .neutral = model->neutral};
    return su_open_shot(tool, &j->anim, j->anim_path, &target, 0, NULL, "model", &j->shot);
}

static su_status load_sim(su_tool *tool, job *j, const char *path)
{
    su_error *err = &tool->err;
    const su_model *model = &j->model;
    const su_sim *sim = &j->sim;
    SU_TRY(su_sim_load(path, &j->sim, err));
    j->has_sim = true;
    if (sim->F != j->anim.F)
        return su_fail(err, SU_INPUT, "%s: has %lld frames, %s has %lld: not a run of this shot", path,
                       (long long)sim->F, j->anim_path, (long long)j->anim.F);
    if (fabs(sim->times[0] - j->anim.times[0]) > 1e-6 ||
        fabs(sim->times[sim->F - 1] - j->anim.times[sim->F - 1]) > 1e-6)
        return su_fail(err, SU_INPUT, "%s: runs from %.6g to %.6g s, %s from %.6g to %.6g s: not a run of this shot",
                       path, sim->times[0], sim->times[sim->F - 1], j->anim_path, j->anim.times[0],
                       j->anim.times[sim->F - 1]);
    if (!sim->q == !sim->u) return su_fail(err, SU_INPUT, "%s: holds neither or both of q and u", path);
    if ((sim->q && (sim->r != model->r || sim->m != model->m)) || ((sim->u || sim->full_u) && sim->n != model->n))
        return su_fail(err, SU_INPUT,
                       "%s: made with another model: %lld modes, %lld poses, %lld flesh vertices, not %lld, %lld, %lld",
                       path, (long long)sim->r, (long long)sim->m, (long long)sim->n, (long long)model->r,
                       (long long)model->m, (long long)model->n);
    int64_t failed = 0;
    for (int64_t k = 0; k < sim->F; k++) failed += sim->status[k] >= 3;
    if (failed) su_warn(tool, "%s: %lld frames were marked as failed by the simulator", path, (long long)failed);
    return su_reconstruct_create(model, su_sim_interpolation(sim), model->nbar, NULL, tool->threads, &j->reconstruct,
                                 err);
}

static su_status load(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const su_list *inputs = &tool->inputs;
    if (inputs->count < 3 && !j->set.rig)
        return su_fail(err, SU_USAGE, "give MODEL ANIM SIM, or --rig with ANIM or MODEL ANIM for the rig alone");
    if (inputs->count == 3 && j->set.rig) return su_fail(err, SU_USAGE, "--rig takes no SIM file");
    if (j->set.rig && j->set.what == WHAT_DISPLACEMENT)
        return su_fail(err, SU_USAGE, "the rig alone has no displacement");
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

/* One line: the command and the digests of what went in. Caller frees. */
static char *provenance(su_tool *tool)
{
    json_t *meta = su_tool_meta(tool, "supple.cache", 1, tool->inputs.items, tool->inputs.count), *input;
    if (!meta) return NULL;
    size_t size = 1 << 16, used, index;
    char *text = malloc(size);
    if (text) {
        used =
            (size_t)snprintf(text, size, "%s: %s", su_meta_text(meta, "tool", ""), su_meta_text(meta, "command", ""));
        json_array_foreach(json_object_get(meta, "inputs"), index, input) if (used < size) used += (size_t)snprintf(
            text + used, size - used, ", %s %s", su_meta_text(input, "name", ""), su_meta_text(input, "digest", ""));
    }
    json_decref(meta);
    return text;
}

static su_status allocate(su_tool *tool, job *j, int64_t block)
{
    su_error *err = &tool->err;
    SU_TRY(SU_ALLOC(&j->points, block * 3 * j->anim.nbar, "frames", err));
    if (j->has_sim) SU_TRY(SU_ALLOC(&j->displacement, block * 3 * j->anim.nbar, "frames", err));
    SU_TRY(SU_ALLOC(&j->amplitude, j->anim.nbar, "amplitudes", err));
    SU_TRY(SU_ALLOC(&j->copies, j->anim.nbar, "amplitudes", err));
    for (int64_t v = 0; v < j->anim.N; v++) j->copies[j->anim.source_vertex[v]]++;
    int reach = j->set.samples ? SU_REACH_SPLINE : j->set.velocities ? SU_REACH_DIFFERENCES : 0;
    SU_TRY(su_frame_window_create(3 * export_whole(j), reach, &j->window, err));
    if (j->set.samples) SU_TRY(SU_ALLOC(&j->between, 3 * export_whole(j), "samples", err));
    if (j->set.velocities) SU_TRY(SU_ALLOC(&j->velocities, 3 * export_whole(j), "velocities", err));
    if (j->set.normals) {
        SU_TRY(SU_ALLOC(&j->normals, 3 * export_whole(j), "normals", err));
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

/* Root mean square of A u over the source vertices and frames that are written, m. */
static double flesh_motion(const job *j)
{
    return sqrt(j->square / (double)(((j->last - j->first) / j->step + 1) * j->anim.N));
}

static void report_morphs(su_tool *tool, const job *j)
{
    const su_cache_report *r = &j->report;
    double flesh = flesh_motion(j);
    bool of_flesh = j->layout.morph_error > 0.0 && flesh > 0.0;
    double whole = of_flesh ? flesh : r->motion;
    su_stats_integer(tool, "morphs", r->targets);
    su_stats_integer(tool, "joints", r->joints);
    su_stats_number(tool, "morph_error_rms", r->rms);
    su_stats_number(tool, "morph_error_largest", r->largest);
    su_stats_number(tool, "morph_error_relative", whole > 0.0 ? r->rms / whole : 0.0);
    su_note(tool, "%s%lld morph targets leave %.3g m (RMS, %.2g %% of %s), %.3g m at most",
            r->joints ? "the skeleton is kept; " : "", (long long)r->targets, r->rms,
            whole > 0.0 ? 100.0 * r->rms / whole : 0.0,
            of_flesh    ? "the flesh's motion"
            : r->joints ? "what they carry"
                        : "the motion about the mean",
            r->largest);
    if (r->reduced)
        su_warn(
            tool,
            "%lld skin vertices have more than %d joints: the strongest are kept, at most %.2g %% of the weight of a "
            "vertex falls away, and the targets make up for it; --joints keeps more, but few viewers play more than "
            "four",
            (long long)r->reduced, j->set.joints, 100.0 * r->cut);
    if (r->bound > 0.0 && r->rms > 1.001 * r->bound)
        su_warn(tool, "%lld targets do not reach the %.3g %% that were asked for", (long long)r->targets,
                100.0 * j->layout.morph_error);
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
    if (j->report.approximated) report_morphs(tool, j);
}

static su_status write_skin(su_tool *tool, job *j)
{
    char *text = provenance(tool);
    if (!text) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "out of memory");
    j->layout.provenance = text;
    su_status status = export_skin(tool, j);
    free(text);
    return status;
}

static su_status run(su_tool *tool, job *j)
{
    SU_TRY(load(tool, j));
    SU_TRY(export_describe(tool, j));
    if (j->set.weights && j->set.format != FORMAT_SKIN_NUMBER)
        return su_fail(&tool->err, SU_USAGE, "--weights goes with --format skin");
    if (tool->dry_run && j->set.format != FORMAT_SKIN_NUMBER) return SU_OK;
    if (j->set.format == FORMAT_SKIN_NUMBER) return write_skin(tool, j);
    int64_t bytes = 48 * j->anim.nbar, block = bytes > 0 ? (64 << 20) / bytes : 1;
    block = block < 1 ? 1 : block > SU_RECONSTRUCT_BLOCK ? SU_RECONSTRUCT_BLOCK : block;
    SU_TRY(allocate(tool, j, block));
    char *text = provenance(tool);
    if (!text) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "out of memory");
    su_cache_writer *writer = NULL;
    j->layout.provenance = text;
    su_status status = su_cache_create(tool->output, (su_cache_format)j->set.format, &j->layout, &writer, &tool->err);
    if (status == SU_OK) {
        status = export_frames(tool, j, writer, block);
        su_cache_motion(writer, flesh_motion(j));
        if (status == SU_OK)
            status = su_cache_commit(writer, &j->report, &tool->err);
        else
            su_cache_abandon(writer);
    }
    free(text);
    if (status != SU_OK) return status;
    if (j->set.amplitude) SU_TRY(save_amplitude(tool, j));
    report(tool, j);
    return SU_OK;
}

/* What is asked for; holds the defaults until the command line is read. */
static job j = {.set = {.joints = 4}};

static const su_option options[] = {
    {.name = "format",
     .kind = SU_OPT_CHOICE,
     .target = &j.set.format,
     .argument = "FORMAT",
     .choices = SU_CACHE_FORMATS "|" FORMAT_SKIN,
     .help = "By the name's extension (auto, default), or this: abc Alembic, usda, usdc, usd (binary), pc2, mdd, "
             "obj (numbered files: "
             "run.%04d.obj), npy (frames, vertices, 3), glb (glTF with morph targets; always metres, y up), vat "
             "(.json: "
             "vertex-animation textures for games, their description and their mesh); skin (.json: skinning modes for "
             "vertex shaders, of a model that has them)."},
    {.name = "space",
     .kind = SU_OPT_CHOICE,
     .target = &j.set.space,
     .argument = "SPACE",
     .choices = "world|root|object|local",
     .help = "world (default); root: without the motion of the root frame; object: of each object, so that the "
             "points fit the object in its own scene, whatever stands above it; its transform is kept where the "
             "format has one (abc, usda, usdc). local is an older word for it."},
    {.name = "object",
     .kind = SU_OPT_LIST,
     .target = &j.set.objects,
     .argument = "NAME",
     .help = "Only this object; may be repeated. A point cache of one object fits it by --space object (not glb, "
             "vat)."},
    {.name = "flat",
     .kind = SU_OPT_FLAG,
     .target = &j.set.flat,
     .help = "abc, usda, usdc: /NAME/NAMEShape instead of the groups in which the source has its objects."},
    {.name = "under",
     .kind = SU_OPT_TEXT,
     .target = &j.set.under,
     .argument = "PATH",
     .help = "abc, usda, usdc: groups above all objects, /shot/creature."},
    {.name = "over",
     .kind = SU_OPT_FLAG,
     .target = &j.set.over,
     .help = "usda: a layer over the source's own prims: points, extent and velocities alone, in object space unless "
             "--space root is given."},
    {.name = "asset",
     .kind = SU_OPT_TEXT,
     .target = &j.set.asset,
     .argument = "LAYER",
     .help = "usda, usdc: the layer that this one stands over, as its text is to name it; it becomes a sublayer."},
    {.name = "subdivision",
     .kind = SU_OPT_FLAG,
     .target = &j.set.subdivision,
     .help = "abc, usda, usdc: the polygons are the cage of a subdivision surface (Catmull-Clark)."},
    {.name = "frames",
     .kind = SU_OPT_TEXT,
     .target = &j.set.frames,
     .argument = "A-B",
     .help = "Only these frames, in the shot's own numbers: 10, 1001-1048, 1-49x2 (default: all)."},
    {.name = "offset",
     .kind = SU_OPT_NUMBER,
     .target = &j.set.offset,
     .argument = "N",
     .low = -1e9,
     .high = 1e9,
     .help = "Added to all frame numbers (default 0)."},
    {.name = "velocities",
     .kind = SU_OPT_FLAG,
     .target = &j.set.velocities,
     .help = "Also write velocities, units a second, for motion blur (abc, usda, usdc)."},
    {.name = "samples",
     .kind = SU_OPT_INT,
     .target = &j.set.samples,
     .argument = "N",
     .low = 1,
     .high = 64,
     .help = "Samples around every frame, for motion blur that bends (abc, usda, usdc; default 1: the frame "
             "itself), on "
             "the cubic "
             "spline through the frames."},
    {.name = "shutter",
     .kind = SU_OPT_TEXT,
     .target = &j.set.shutter,
     .argument = "OPEN,CLOSE",
     .help = "When the first and the last sample are taken, in frames from each frame (default -0.25,0.25)."},
    {.name = "normals",
     .kind = SU_OPT_FLAG,
     .target = &j.set.normals,
     .help = "Also write point normals (abc, usda, usdc; glb and vat have them always)."},
    {.name = "what",
     .kind = SU_OPT_CHOICE,
     .target = &j.set.what,
     .argument = "WHAT",
     .choices = "points|displacement",
     .help = "points (default); displacement: what the flesh adds to the rig's vertices, as vectors."},
    {.name = "rig",
     .kind = SU_OPT_FLAG,
     .target = &j.set.rig,
     .help = "The rig alone, without simulated flesh: with MODEL ANIM corrected by its sculpted shapes, with ANIM "
             "as it is."},
    {.name = "morphs",
     .kind = SU_OPT_INT,
     .target = &j.set.morphs,
     .argument = "K",
     .low = 1,
     .high = 1000,
     .help = "Shapes behind the morph targets of a glb, at most. Default: as --morph-error asks; 8 without a skin."},
    {.name = "morph-error",
     .kind = SU_OPT_NUMBER,
     .target = &j.set.morph_error,
     .argument = "E",
     .low = 1e-6,
     .high = 1.0,
     .help = "As few morph targets as leave this of the flesh's motion (RMS; default 2%; without a skin: --morphs)."},
    {.name = "joints",
     .kind = SU_OPT_INT,
     .target = &j.set.joints,
     .argument = "N",
     .low = 1,
     .high = 64,
     .help = "The most joints of a vertex in a glb (default 4, what every viewer plays); the targets make up for "
             "others."},
    {.name = "no-skin",
     .kind = SU_OPT_FLAG,
     .target = &j.set.no_skin,
     .help = "Leave skeleton and skin out of a glb: the targets get the whole motion, a node that of the root."},
    {.name = "texture",
     .kind = SU_OPT_CHOICE,
     .target = &j.set.texture,
     .argument = "KIND",
     .choices = "float|half|png",
     .help = "Texels of vertex-animation textures: float (default) or half OpenEXR, or PNG of 16 bits."},
    {.name = "weights",
     .kind = SU_OPT_FLAG,
     .target = &j.set.weights,
     .help = "skin: a weight a mode and vertex, a quarter of the numbers, instead of its product with the place; what "
             "that leaves is printed."},
    {.name = "amplitude",
     .kind = SU_OPT_TEXT,
     .target = &j.set.amplitude,
     .argument = "FILE.npy",
     .help = "Also write the largest displacement of each vertex over these frames, m (vertices)."},
    {.name = "bind",
     .kind = SU_OPT_TEXT,
     .target = &j.set.bind,
     .argument = "MESH.obj",
     .help = "Write this mesh instead, carried along by the skin; it stands in the source's world at the neutral "
             "pose."},
    {.name = "unit",
     .kind = SU_OPT_NUMBER,
     .target = &j.set.unit,
     .argument = "M",
     .low = 1e-9,
     .high = 1e9,
     .help = "Metres of one unit in the output (default: as the source; textures: 1)."},
    {.name = "up",
     .kind = SU_OPT_CHOICE,
     .target = &j.set.up,
     .argument = "AXIS",
     .choices = "source|x|y|z",
     .help = "Up axis of the output (default: as the source; textures: y)."},
};

static const su_program program = {
    .name = "supple-export",
    .summary = "write a simulated shot as a vertex cache",
    .usage = "MODEL ANIM SIM -o CACHE",
    .description = "Puts the simulated flesh on the artist's own mesh: its polygons, vertex order, UVs, materials, "
                   "colours, object names and groups, units and up axis, and the shot's own frame numbers.",
    .example = "supple export fox.model.npz run.anim.npz run.sim.npz -o run.abc",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .min_inputs = 1,
    .max_inputs = 3,
    .needs_output = true};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
