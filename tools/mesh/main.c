/* supple-mesh: the flesh of a skin. */
#include "core/choice.h"
#include "core/threads.h"
#include "core/tool.h"
#include "geometry/bridges.h"
#include "geometry/embed.h"
#include "geometry/flesh.h"
#include "geometry/held.h"
#include "geometry/thickness.h"
#include "geometry/ties.h"
#include "hold_files.h"
#include "rig_holds.h"
#include "parts.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD_BODY, HELD_BONES };
#define HELD_NAMES "body|bones"

typedef struct options {
    int method, held;
    int tets;
    double edge_length, grade, follow, seconds, memory;
    const char *bones, *fixed;
    su_list free_bones, keep;
} options;

static void say(void *context, const char *text) { su_note(context, "%s", text); }

/* Rigid vertices lie anywhere: each goes to its nearest tet. */
static su_status embed_rigid(su_tool *tool, const su_poses *poses, const su_tets *mesh, su_tet *tet)
{
    su_status status = SU_OK;
    su_error *err = &tool->err;
    int64_t count = 0, outside;
    double *points = NULL, *bary = NULL;
    int32_t *holder = NULL;
    SU_GO(SU_ALLOC(&points, 3 * poses->nbar, "rigid vertices", err));
    SU_GO(SU_ALLOC(&bary, 4 * poses->nbar, "rigid vertices", err));
    SU_GO(SU_ALLOC(&holder, poses->nbar, "rigid vertices", err));
    for (int64_t v = 0; v < poses->nbar; v++)
        if (poses->rigid[v]) memcpy(points + 3 * count++, poses->neutral + 3 * v, 3 * sizeof *points);
    SU_GO(su_embed_points(mesh, count, points, tool->threads, holder, bary, &outside, err));
    count = 0;
    for (int64_t v = 0; v < poses->nbar; v++) {
        if (!poses->rigid[v]) continue;
        tet->embed_tet[v] = holder[count];
        memcpy(tet->embed_bary + 4 * v, bary + 4 * count++, 4 * sizeof *bary);
    }
done:
    free(points);
    free(bary);
    free(holder);
    return status;
}

/* The arrays that tie flesh and skin. */
static su_status tie(su_tool *tool, const su_poses *poses, const su_surface *surface, const su_flesh *flesh,
                     su_tet *tet)
{
    su_error *err = &tool->err;
    const su_tets *mesh = &flesh->mesh;
    bool some_rigid = false;
    tet->n = mesh->n, tet->t = mesh->t, tet->nbar = poses->nbar;
    SU_TRY(SU_FILE_ALLOC(&tet->file, &tet->embed_tet, tet->nbar, err));
    SU_TRY(SU_FILE_ALLOC(&tet->file, &tet->embed_bary, 4 * tet->nbar, err));
    SU_TRY(SU_FILE_ALLOC(&tet->file, &tet->shepard_index, SU_TIES * tet->n, err));
    SU_TRY(SU_FILE_ALLOC(&tet->file, &tet->shepard_weight, SU_TIES * tet->n, err));
    for (int64_t v = 0; v < tet->nbar; v++) {
        if (surface->vertex[v] < 0) {
            some_rigid = true;
            continue;
        }
        double *bary = tet->embed_bary + 4 * v;
        tet->embed_tet[v] = flesh->holder[surface->vertex[v]];
        su_tet_barycentric(mesh->x, mesh->tets + 4 * (int64_t)tet->embed_tet[v], poses->neutral + 3 * v, bary);
        for (int i = 0; i < 4; i++)
            if (!(bary[i] >= -1e-9))
                return su_fail(err, SU_NUMERICS, "skin vertex %lld lies outside the flesh; try --method sdf",
                               (long long)v);
    }
    if (some_rigid) SU_TRY(embed_rigid(tool, poses, mesh, tet));
    tet->ties = SU_TIES;
    uint32_t *layers = NULL;
    if (flesh->skin_layers) {
        SU_TRY(SU_ALLOC(&layers, tet->nbar, "layers of the skin", err));
        for (int64_t v = 0; v < tet->nbar; v++)
            layers[v] = surface->vertex[v] < 0 ? UINT32_MAX : flesh->skin_layers[surface->vertex[v]];
    }
    const su_tie_skin skin = {tet->nbar, poses->neutral, poses->B, poses->weights, layers};
    su_status status =
        su_ties(tet->n, mesh->x, flesh->layers, &skin, tool->threads, tet->shepard_index, tet->shepard_weight, err);
    free(layers);
    return status;
}

/* Flesh vertices this part of a cell from the mirror image of another are its partner on the other side. */
#define MIRRORED 0.25

static su_status hold(su_tool *tool, const options *o, const su_poses *poses, const su_surface *surface,
                      const su_flesh *flesh, su_tet *tet)
{
    const su_tets *mesh = &flesh->mesh;
    su_error *err = &tool->err;
    su_status status = SU_OK;
    rig_bones rig = {0};
    su_held held = {0};
    uint8_t *skin = NULL, *wanted = NULL, *hard = NULL, *foreign = NULL;
    double *depth = NULL, *half = NULL;
    if (o->bones) {
        if (o->free_bones.count || o->keep.count)
            return su_fail(err, SU_USAGE, "--free and --keep name bones of the rig and cannot go with --bones");
        SU_GO(read_bones(o->bones, &rig.count, &rig.segments, err));
    } else {
        SU_GO(rig_bones_find(tool, poses, surface, &o->free_bones, &rig));
    }
    SU_GO(SU_ALLOC(&wanted, mesh->n, "held vertices", err));
    SU_GO(SU_ALLOC(&hard, mesh->n, "held vertices", err));
    if (o->fixed) {
        SU_GO(read_held_skin(o->fixed, poses->nbar, &skin, err));
        for (int64_t v = 0; v < poses->nbar; v++)
            for (int i = 0; skin[v] && i < 4; i++) wanted[mesh->tets[4 * (int64_t)tet->embed_tet[v] + i]] = 1;
    }
    if (!o->bones) SU_GO(rig_kept_flesh(tool, poses, &rig, &o->keep, tet, hard));
    SU_GO(SU_ALLOC(&depth, mesh->n, "flesh depth", err));
    SU_GO(SU_ALLOC(&half, mesh->n, "flesh thickness", err));
    SU_GO(su_flesh_thickness(mesh, tool->threads, depth, half, err));
    if (!o->bones && o->held == HELD_BODY) SU_GO(rig_hard_cores(tool, poses, &rig, mesh, depth, half, tet, hard));
    for (int64_t v = 0; v < mesh->n; v++) wanted[v] |= hard[v];
    if (!o->bones) SU_GO(rig_foreign_flesh(tool, poses, tet, surface->diagonal, &foreign));
    su_held_bones by = {.count = rig.count,
                        .segments = rig.segments,
                        .holds = rig.holds,
                        .owner = rig.owner,
                        .foreign = foreign,
                        .reach = MIRRORED * flesh->cell};
    /* who says what to hold may mean one side */
    if (o->bones || o->fixed || o->free_bones.count || o->keep.count) by.reach = 0;
    SU_GO(su_mirror_find(surface, &by.mirror, err));
    SU_GO(su_held_find(mesh, depth, half, &by, wanted, &held, err));
    tet->fixed_count = held.count;
    SU_GO(SU_FILE_ALLOC(&tet->file, &tet->fixed, held.count, err));
    int64_t count = 0;
    for (int64_t v = 0; v < mesh->n; v++)
        if (held.fixed[v]) tet->fixed[count++] = (int32_t)v;
    if (poses->bone_segments && !o->bones) { /* indices of the rig's own bones */
        SU_GO(SU_FILE_ALLOC(&tet->file, &tet->fixed_bone, held.count, err));
        for (int64_t k = 0; k < held.count; k++) tet->fixed_bone[k] = held.bone[tet->fixed[k]];
    }
    double share = (double)held.count / (double)mesh->n;
    SU_GO(report_parts(tool, mesh, &held, hard));
    if (share > 0.5)
        su_warn(tool,
                "%.0f %% of the flesh is held and cannot move; more --tets, or --free for bones that should wobble",
                100.0 * share);
    su_stats_number(tool, "held_share", share);
    su_stats_integer(tool, "held", held.count);
done:
    rig_bones_free(&rig);
    free(depth), free(half);
    free(skin);
    free(wanted), free(hard), free(foreign);
    su_held_free(&held);
    return status;
}

static void report(su_tool *tool, const su_surface *surface, const su_flesh *flesh, double seconds)
{
    const su_tet_quality *q = &flesh->quality;
    const char *method = flesh->method == SU_MESH_DIRECT ? "direct" : "sdf";
    double ratio = surface->volume > 0.0 ? q->volume / surface->volume : 0.0;
    su_note(tool,
            "%s: %lld tets, %lld vertices, dihedral angles from %.1f degrees (1st percentile %.1f), %.4g m^3 (%.2f of "
            "the skin's), %.1f s",
            method, (long long)flesh->mesh.t, (long long)flesh->mesh.n, q->dihedral_min, q->dihedral_percentile,
            q->volume, ratio, seconds);
    su_stats_text(tool, "method", method);
    su_stats_integer(tool, "tets", flesh->mesh.t);
    su_stats_integer(tool, "vertices", flesh->mesh.n);
    su_stats_number(tool, "dihedral_min", q->dihedral_min);
    su_stats_number(tool, "dihedral_percentile_1", q->dihedral_percentile);
    su_stats_number(tool, "volume", q->volume);
    su_stats_number(tool, "volume_ratio", ratio);
    su_stats_integer(tool, "attempts", flesh->attempts);
    if (flesh->method == SU_MESH_SDF) {
        su_detail(tool, "sdf: cells of %.3g m, %lld tets doubled to keep near parts apart, %lld joined again",
                  flesh->cell, (long long)flesh->copies, (long long)flesh->joined);
        if (flesh->parting)
            su_note(tool, "sdf: %lld shells of the skin cross others and part from them: flesh of their own",
                    (long long)flesh->parting);
        if (flesh->followed)
            su_note(tool, "sdf: finer tets where the example poses fold or shear the skin (--follow 1: uniform tets)");
        su_stats_integer(tool, "parting", flesh->parting);
        su_stats_integer(tool, "followed", flesh->followed);
        su_stats_number(tool, "cell", flesh->cell);
        su_stats_integer(tool, "doubled", flesh->copies);
    }
    su_stats_stage(tool, "mesh", seconds);
}

/* Skin that is near but not connected is kept apart where the resolution allows; where not, and the example poses part
 * it, the place is named. */
static su_status warn_of_bridges(su_tool *tool, const su_surface *surface, const su_poses *poses, const su_flesh *flesh)
{
    su_bridges found;
    char places[40 * SU_BRIDGE_PLACES] = "";
    SU_TRY(su_bridges_find(surface, &flesh->mesh, flesh->holder, poses->m - 1, poses->shapes + 3 * poses->nbar, &found,
                           &tool->err));
    for (int k = 0; k < found.places; k++) {
        size_t used = strlen(places);
        snprintf(places + used, sizeof places - used, "%s(%.3g, %.3g, %.3g)", k ? ", " : "", found.place[k][0],
                 found.place[k][1], found.place[k][2]);
    }
    if (found.count)
        su_warn(tool,
                "the flesh joins skin that is near but not connected, and that poses take apart, at %s%s; with more "
                "--tets it may stay apart",
                places, found.places == SU_BRIDGE_PLACES ? " and elsewhere" : "");
    su_stats_integer(tool, "bridges", found.count);
    return SU_OK;
}

static void describe(su_tool *tool, const su_surface *s)
{
    su_detail(tool, "skin: %lld vertices, %lld triangles, %lld components, %s, volume %.4g m^3", (long long)s->n,
              (long long)s->t, (long long)s->components, s->closed ? "closed" : "not closed", s->volume);
    if (s->dropped_degenerate || s->dropped_repeated || s->flipped_triangles)
        su_detail(tool, "skin: %lld triangles without area, %lld repeated, %lld turned around",
                  (long long)s->dropped_degenerate, (long long)s->dropped_repeated, (long long)s->flipped_triangles);
}

static su_status save(su_tool *tool, const options *o, const su_flesh *flesh, su_tet *tet)
{
    json_t *meta = su_tool_meta(tool, su_tet_schema.kind, su_tet_schema.version, tool->inputs.items, 1);
    if (!meta) return tool->err.status;
    json_object_set_new(meta, "method", su_choice_json(SU_MESH_METHODS, (int)flesh->method));
    json_object_set_new(meta, "dihedral_min", json_real(flesh->quality.dihedral_min));
    json_object_set_new(meta, "dihedral_percentile_1", json_real(flesh->quality.dihedral_percentile));
    json_object_set_new(meta, "volume", json_real(flesh->quality.volume));
    if (o->free_bones.count) {
        json_t *names = json_array();
        for (int k = 0; k < o->free_bones.count; k++) json_array_append_new(names, json_string(o->free_bones.items[k]));
        json_object_set_new(meta, "free", names);
    }
    tet->file.meta = meta;
    return su_tet_save(tool->output, tet, &tool->err);
}

static su_status run(su_tool *tool, const options *o)
{
    su_error *err = &tool->err;
    su_status status = SU_OK;
    su_poses poses = {0};
    su_surface surface = {0};
    su_flesh flesh = {0};
    su_tet tet = {0};
    int32_t *faces = NULL;
    double started = su_seconds();
    SU_GO(su_poses_load(tool->inputs.items[0], &poses, err));
    status = su_surface_create(poses.nbar, poses.neutral, poses.T, poses.triangles, poses.rigid, &surface, err);
    if (status) {
        su_error_context(err, "%s: ", tool->inputs.items[0]);
        goto done;
    }
    describe(tool, &surface);
    su_stats_stage(tool, "load", su_seconds() - started);
    if (tool->dry_run) goto done;

    su_flesh_settings settings = su_flesh_defaults();
    settings.method = (su_mesh_method)o->method, settings.tets = o->tets, settings.edge_length = o->edge_length;
    settings.grade = o->grade, settings.follow = o->follow;
    settings.poses = poses.m - 1, settings.shapes = poses.shapes + 3 * poses.nbar;
    settings.child_seconds = o->seconds, settings.child_memory = (int64_t)(o->memory * 1073741824.0);
    settings.folder = getenv("TMPDIR");
    settings.threads = tool->threads, settings.progress = &tool->progress;
    settings.say = say, settings.context = tool;
    started = su_seconds();
    su_progress_stage(&tool->progress, 0.0, 0.8);
    status = su_flesh_build(&surface, &settings, &flesh, err);
    if (status) {
        su_error_context(err, "%s: ", tool->inputs.items[0]);
        goto done;
    }
    report(tool, &surface, &flesh, su_seconds() - started);
    SU_GO(warn_of_bridges(tool, &surface, &poses, &flesh));

    started = su_seconds();
    su_progress_stage(&tool->progress, 0.8, 1.0);
    tet.vertices = flesh.mesh.x, tet.tets = flesh.mesh.tets;
    SU_GO(su_tet_boundary(flesh.mesh.t, flesh.mesh.tets, &tet.b, &faces, NULL, err));
    tet.surface = faces;
    SU_GO(tie(tool, &poses, &surface, &flesh, &tet));
    SU_GO(su_progress_update(&tool->progress, 0.5, err));
    SU_GO(hold(tool, o, &poses, &surface, &flesh, &tet));
    su_stats_stage(tool, "tie", su_seconds() - started);
    SU_GO(save(tool, o, &flesh, &tet));
    su_progress_finish(&tool->progress);
done:
    su_tet_free(&tet);
    su_flesh_free(&flesh);
    su_surface_free(&surface);
    su_poses_free(&poses);
    free(faces);
    return status;
}

/* What is asked for; holds the defaults until the command line is read. */
static options o = {.tets = 15000, .grade = 1.0, .follow = 3.0, .seconds = 120.0, .memory = 4.0};

static const su_option table[] = {
    {.name = "method",
     .kind = SU_OPT_CHOICE,
     .target = &o.method,
     .argument = "NAME",
     .choices = SU_MESH_METHODS,
     .help = "direct: TetGen on the skin itself, which must be closed and clean. sdf: any skin, in a mesh around "
             "it. auto: "
             "direct where that gives well-shaped tets, else sdf (default auto)."},
    {.name = "tets",
     .kind = SU_OPT_INT,
     .target = &o.tets,
     .argument = "N",
     .low = 4,
     .high = 20000000,
     .help = "Wanted number of tets, met within 20 % (default 15000)."},
    {.name = "edge-length",
     .kind = SU_OPT_NUMBER,
     .target = &o.edge_length,
     .argument = "M",
     .low = 0,
     .high = 1e6,
     .help = "Wanted edge length in metres, instead of --tets."},
    {.name = "grade",
     .kind = SU_OPT_NUMBER,
     .target = &o.grade,
     .argument = "F",
     .low = 1,
     .high = 16,
     .help = "sdf: tets of thin parts may be up to F times finer than those of thick ones (default 1: all alike)."},
    {.name = "follow",
     .kind = SU_OPT_NUMBER,
     .target = &o.follow,
     .argument = "F",
     .low = 1,
     .high = 16,
     .help = "sdf: where uniform tets could not follow the example poses to 0.2 % of the diagonal, those at folds "
             "and shells that slide "
             "may be up to F times finer than others (default 3; 1: uniform tets)."},
    {.name = "held",
     .kind = SU_OPT_CHOICE,
     .target = &o.held,
     .argument = "WHAT",
     .choices = HELD_NAMES,
     .help = "What is held: bones and the inside of what the names of joints call hard, as skulls, hands and feet "
             "(body, the default), or bones alone (bones)."},
    {.name = "free",
     .kind = SU_OPT_LIST,
     .target = &o.free_bones,
     .argument = "NAME",
     .help = "A bone whose flesh is not held, so that it wobbles; its children neither. May be repeated."},
    {.name = "keep",
     .kind = SU_OPT_LIST,
     .target = &o.keep,
     .argument = "JOINT",
     .help = "A joint whose flesh stays where the rig puts it, to the skin; * and ? stand for any letters. May be "
             "repeated."},
    {.name = "bones",
     .kind = SU_OPT_TEXT,
     .target = &o.bones,
     .argument = "FILE",
     .help = "Bone segments to use instead of the rig's: .npy of shape (B,2,3), or text with six numbers a line. They "
             "alone hold then."},
    {.name = "fixed",
     .kind = SU_OPT_TEXT,
     .target = &o.fixed,
     .argument = "FILE",
     .help = "Skin vertices that are held as well: .npy or text, one index each."},
    {.name = "tetgen-seconds",
     .kind = SU_OPT_NUMBER,
     .target = &o.seconds,
     .argument = "S",
     .low = 0.01,
     .high = 1e6,
     .help = "Time limit of each TetGen run (default 120 s)."},
    {.name = "tetgen-memory",
     .kind = SU_OPT_NUMBER,
     .target = &o.memory,
     .argument = "GIB",
     .low = 0.01,
     .high = 4096,
     .help = "Memory limit of each TetGen run (default 4 GiB)."},
};

static const su_program program = {.name = "supple-mesh",
                                   .summary = "fill a skin with tets: the flesh",
                                   .usage = "POSES -o TET",
                                   .description = "Meshes the space the neutral skin encloses, ties skin and flesh to "
                                                  "each other, and marks the flesh vertices that are held by bones.",
                                   .example = "supple mesh fox.poses.npz --tets 15000 -o fox.tet.npz",
                                   .options = table,
                                   .option_count = sizeof table / sizeof *table,
                                   .min_inputs = 1,
                                   .max_inputs = 1,
                                   .needs_output = true};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    return su_tool_end(&tool, run(&tool, &o));
}
