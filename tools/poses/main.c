/* supple-poses: example poses out of the clips. */
#include "clips.h"
#include "known.h"
#include "preview.h"
#include "core/file.h"
#include "core/tool.h"
#include "geometry/box.h"
#include "io/stage/poses.h"
#include "rig/pose_selection.h"
#include "sculpts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AUTOMATIC = 8, MOST_POSES = 4096 };
#define STOP 0.25 /* automatic: no frame farther from a pose than this part of the clips' reach */

typedef struct options {
    int m, space;
    su_list at, add, sculpt, params, rigged, shots, young, poisson;
    double young_range[2], poisson_range[2];
    const char *known;
} options;

/* Frames of --at, then those of --sculpt that are not among them. */
static su_status list_frames(su_tool *tool, const options *o, clips *c, const sculpts *sculpted, int64_t *given,
                             int *count)
{
    *count = 0;
    for (int i = 0; i < o->at.count; i++)
        SU_TRY(clips_find(c, &tool->inputs, "--at", o->at.items[i], &given[(*count)++], &tool->err));
    for (int i = 0; i < sculpted->count; i++) {
        bool known = false;
        for (int k = 0; k < o->at.count; k++) known |= given[k] == sculpted->frame[i];
        if (!known) given[(*count)++] = sculpted->frame[i];
    }
    return SU_OK;
}

/* Distance of a frame to the nearest of the neutral pose (*which 0) and the given ones (1 on). */
static double pose_before(const clips *c, const double *scale, int64_t count, const int64_t *given, int64_t frame,
                          int64_t *which)
{
    const double *p = c->params + frame * c->s;
    double nearest = INFINITY;
    for (int64_t i = 0; i <= count; i++) {
        double sum = 0.0;
        for (int64_t k = 0; k < c->s; k++) {
            double d = (p[k] - (i > 0 ? c->params[given[i - 1] * c->s + k] : 0.0)) * scale[k];
            sum += d * d;
        }
        if (sqrt(sum) < nearest) nearest = sqrt(sum), *which = i;
    }
    return nearest;
}

static su_status select_poses(clips *c, int64_t given_count, const int64_t *given, int64_t most, double stop,
                              selection *out, su_error *err)
{
    const su_pose_candidates frames = {c->frames, c->s, c->params, out->scale};
    out->poses.picked = su_arena_alloc(&c->arena, most, sizeof *out->poses.picked);
    out->poses.distance = su_arena_alloc(&c->arena, most, sizeof *out->poses.distance);
    if (!out->poses.picked || !out->poses.distance) return su_fail(err, SU_AGAIN, "not enough memory");
    return su_select_poses(&frames, given_count, given, most, stop, &out->poses, err);
}

/* Frames of --add behind those chosen already. */
static su_status choose_more(su_tool *tool, const options *o, clips *c, selection *out)
{
    su_error *err = &tool->err;
    int64_t most = out->poses.m + o->add.count, given_count = 0;
    int64_t *given = su_arena_alloc(&c->arena, most, sizeof *given);
    if (!given) return su_fail(err, SU_AGAIN, "not enough memory");
    for (int64_t i = 1; i < out->poses.m; i++) given[given_count++] = out->poses.picked[i];
    for (int i = 0; i < o->add.count; i++) {
        int64_t frame, which = 0;
        SU_TRY(clips_find(c, &tool->inputs, "--add", o->add.items[i], &frame, err));
        if (pose_before(c, out->scale, given_count, given, frame, &which) >= SU_SAME_POSE)
            given[given_count++] = frame;
        else
            su_note(tool, "--add %s: the same as pose %lld; left out", o->add.items[i], (long long)which);
    }
    return select_poses(c, given_count, given, given_count + 1, 0.0, out, err);
}

static su_status choose(su_tool *tool, const options *o, clips *c, const sculpts *sculpted, selection *out)
{
    su_error *err = &tool->err;
    int64_t most = o->m > 0 ? o->m : MOST_AUTOMATIC, *given;
    int listed;
    given = su_arena_alloc(&c->arena, o->at.count + sculpted->count, sizeof *given);
    if (!given) return su_fail(err, SU_AGAIN, "not enough memory");
    SU_TRY(list_frames(tool, o, c, sculpted, given, &listed));
    if (o->m > 0 && o->m < listed + 1)
        return su_fail(err, SU_USAGE, "-m %d is less than the neutral pose and %d of --at and --sculpt", o->m, listed);
    if (o->m == 0 && o->at.count) most = listed + 1; /* the artist's list as it is */
    if (most < listed + 1) most = listed + 1;
    out->scale = su_arena_alloc(&c->arena, c->s, sizeof *out->scale);
    if (!out->scale) return su_fail(err, SU_AGAIN, "not enough memory");
    if (c->basis)
        for (int64_t k = 0; k < c->s; k++)
            out->scale[k] =
                1.0 / (sqrt((double)c->anim[0].nbar) * su_box_diagonal(c->anim[0].nbar, c->anim[0].neutral));
    else
        SU_TRY(su_parameter_scales(&c->anim[0], c->s, c->names, c->range, out->scale, err));
    SU_TRY(select_poses(c, listed, given, most, o->m > 0 ? 0.0 : STOP, out, err));
    return o->add.count ? choose_more(tool, o, c, out) : SU_OK;
}

/* Copies of the parts of a frame; frame -1 is the neutral pose. */
static void fill_pose(const clips *c, int64_t frame, int64_t i, su_poses *out)
{
    int which = 0, clip = frame < 0 ? 0 : clips_of(c, frame, &which);
    const su_anim *anim = &c->anim[clip < c->count ? clip : 0];
    int64_t k = frame < 0 ? 0 : frame - c->first[clip], n = 3 * out->nbar;
    for (int64_t j = 0; j < n; j++)
        out->shapes[i * n + j] = out->rigged[i * n + j] = frame < 0         ? anim->neutral[j]
                                                          : clip < c->count ? (double)anim->points[k * n + j]
                                                                            : c->named[which].points[j];
    for (int64_t j = 0; j < out->s; j++) out->params[i * out->s + j] = frame < 0 ? 0.0 : c->params[frame * out->s + j];
    for (int64_t j = 0; out->bones && j < 16 * out->B; j++)
        out->bones[16 * out->B * i + j] = frame < 0 ? anim->bone_rest[j] : anim->bones[16 * out->B * k + j];
    for (int64_t j = 0; out->young && j < out->nbar; j++) out->young[i * out->nbar + j] = c->anim[0].young[j];
    for (int64_t j = 0; out->poisson && j < out->nbar; j++) out->poisson[i * out->nbar + j] = c->anim[0].poisson[j];
}

/* Bones of a clip may be used where all clips have the same ones. */
static bool same_bones(const clips *c)
{
    for (int i = 0; i < c->count; i++) {
        const su_anim *a = &c->anim[i];
        if (!a->bones || !a->bone_rest || a->B != c->anim[0].B) return false;
        for (int64_t b = 0; b < a->B; b++) {
            const char *x = su_file_name(&a->file, "bone_names", b),
                       *y = su_file_name(&c->anim[0].file, "bone_names", b);
            if (x && y && strcmp(x, y) != 0) return false;
        }
    }
    return true;
}

/* Named sculpts bring a shape, but no bones. */
static bool shapes_without_bones(const clips *c, const selection *chosen)
{
    for (int64_t i = 0; i < chosen->poses.m; i++)
        if (chosen->poses.picked[i] >= c->first[c->count]) return true;
    return false;
}

static su_status fill(const clips *c, const selection *chosen, su_poses *out, su_error *err)
{
    const su_anim *a = &c->anim[0];
    su_file *file = &out->file;
    out->m = chosen->poses.m, out->nbar = a->nbar, out->T = a->T, out->s = c->s, out->B = a->B, out->K = a->K;
    SU_TRY(SU_FILE_ALLOC(file, &out->params, out->m * out->s, err));
    SU_TRY(SU_FILE_ALLOC(file, &out->shapes, out->m * 3 * out->nbar, err));
    SU_TRY(SU_FILE_ALLOC(file, &out->rigged, out->m * 3 * out->nbar, err));
    if (a->bones && same_bones(c) && !shapes_without_bones(c, chosen))
        SU_TRY(SU_FILE_ALLOC(file, &out->bones, out->m * out->B * 16, err));
    if (a->young) SU_TRY(SU_FILE_ALLOC(file, &out->young, out->m * out->nbar, err));
    if (a->poisson) SU_TRY(SU_FILE_ALLOC(file, &out->poisson, out->m * out->nbar, err));
    out->neutral = a->neutral, out->triangles = a->triangles, out->param_scale = chosen->scale;
    out->weights = a->weights, out->bone_segments = a->bone_segments, out->bone_rest = a->bone_rest;
    out->bone_parent = a->bone_parent, out->morphs = a->morphs, out->rigid = a->rigid;
    if (c->basis) out->mean_size = 3 * out->nbar, out->param_mean = a->neutral, out->param_basis = c->basis;
    for (int64_t i = 0; i < out->m; i++) fill_pose(c, chosen->poses.picked[i], i, out);
    return SU_OK;
}

static su_status describe(su_tool *tool, const clips *c, const selection *chosen, su_poses *poses)
{
    static const char *const carried[] = {"bone_names", "morph_names", "source_unit", "source"};
    json_t *meta = su_tool_meta(tool, "supple.poses", 1, tool->inputs.items, tool->inputs.count);
    if (!meta) return tool->err.status;
    json_t *names = json_array(), *sources = json_array();
    for (int64_t k = 0; k < c->s; k++) json_array_append_new(names, json_string(c->names[k]));
    for (int64_t i = 0; i < chosen->poses.m; i++) {
        char name[260];
        preview_pose_name(tool, c, chosen->poses.picked[i], name, sizeof name);
        json_array_append_new(sources, json_string(name));
    }
    json_object_set_new(meta, "param_names", names);
    json_object_set_new(meta, "pose_sources", sources);
    for (int i = 0; i < 4; i++)
        if (json_object_get(c->anim[0].file.meta, carried[i]))
            json_object_set(meta, carried[i], json_object_get(c->anim[0].file.meta, carried[i]));
    poses->file.meta = meta;
    return SU_OK;
}

/* What is asked for; holds the defaults until the command line is read. */
static options o = {.young_range = {1.0, 0.0}, .poisson_range = {1.0, 0.0}};

static const su_option table[] = {
    {.name = "poses",
     .letter = 'm',
     .kind = SU_OPT_INT,
     .target = &o.m,
     .argument = "N",
     .low = 1,
     .high = MOST_POSES,
     .help = "Number of example poses, the neutral one among them. Default: until every frame is near a pose, at "
             "most 8; "
             "with --at, that list."},
    {.name = "at",
     .kind = SU_OPT_LIST,
     .target = &o.at,
     .argument = "CLIP:FRAME",
     .greedy = true,
     .help = "Take this frame as a pose; CLIP is a clip's name or its file's, FRAME counts as the clip does. May be "
             "repeated. With -m, farthest frames are added up to that number."},
    {.name = "add",
     .kind = SU_OPT_LIST,
     .target = &o.add,
     .argument = "CLIP:FRAME",
     .greedy = true,
     .help = "Take this frame as a pose too, on top of all that is chosen otherwise: what supple align --suggest "
             "names. May be "
             "repeated."},
    {.name = "sculpt",
     .kind = SU_OPT_LIST,
     .target = &o.sculpt,
     .argument = "CLIP:FRAME=MESH",
     .help = "A sculpted shape of the character at that frame (.obj or .ply), with the vertex order of its file. "
             "The frame becomes "
             "a pose; the corrections are interpolated between all sculpts and the neutral pose. NAME=MESH is a "
             "sculpt at "
             "parameters of its own, see --params. May be repeated."},
    {.name = "params",
     .kind = SU_OPT_LIST,
     .target = &o.params,
     .argument = "NAME=FILE",
     .help = "Rig parameters of the sculpt of that name: a .csv with a line of names and a line of values; what it "
             "does not name is as "
             "in the neutral pose."},
    {.name = "rigged",
     .kind = SU_OPT_LIST,
     .target = &o.rigged,
     .argument = "NAME=MESH",
     .help = "What the rig itself shows at the parameters of that sculpt, its root as in the neutral pose. Needed "
             "where no frame of "
             "the clips has them (to 0.001)."},
    {.name = "sculpt-space",
     .kind = SU_OPT_CHOICE,
     .target = &o.space,
     .argument = "SPACE",
     .choices = "world|root",
     .help = "Where sculpts stand: world (default): as the character stands at that frame, in the unit and axes of its "
             "file; root: in the root frame, metres."},
    {.name = "young",
     .kind = SU_OPT_LIST,
     .target = &o.young,
     .argument = "[CLIP:FRAME=]FILE",
     .help = "Painted stiffness, a value per vertex: .csv, .npy, or color.r, .g, .b, .a for the character's vertex "
             "colours; "
             "for all poses, or for one. supple fit says whether values are factors or Pa. May be repeated."},
    {.name = "young-low",
     .kind = SU_OPT_NUMBER,
     .target = &o.young_range[0],
     .argument = "X",
     .low = 0.0,
     .high = 1e15,
     .help = "With --young-high: painted 0 means this, painted 1 means --young-high. Default: values as they are."},
    {.name = "young-high",
     .kind = SU_OPT_NUMBER,
     .target = &o.young_range[1],
     .argument = "X",
     .low = 0.0,
     .high = 1e15,
     .help = "See --young-low."},
    {.name = "poisson",
     .kind = SU_OPT_LIST,
     .target = &o.poisson,
     .argument = "[CLIP:FRAME=]FILE",
     .help = "Painted Poisson's ratio, as --young; 0 to below 0.5."},
    {.name = "poisson-low",
     .kind = SU_OPT_NUMBER,
     .target = &o.poisson_range[0],
     .argument = "X",
     .low = 0.0,
     .high = 0.5,
     .help = "With --poisson-high: painted 0 means this, painted 1 means --poisson-high. Default: values as they are."},
    {.name = "poisson-high",
     .kind = SU_OPT_NUMBER,
     .target = &o.poisson_range[1],
     .argument = "X",
     .low = 0.0,
     .high = 0.5,
     .help = "See --poisson-low."},
    {.name = "shots",
     .kind = SU_OPT_LIST,
     .target = &o.shots,
     .argument = "ANIM",
     .greedy = true,
     .help = "Shots that give no poses: how far their frames lie from the poses is said too, and which parameters "
             "move that no "
             "pose knows. With -n nothing is written: a preview."},
    {.name = "known",
     .kind = SU_OPT_TEXT,
     .target = &o.known,
     .argument = "MODEL",
     .help = "Choose nothing: say how far the clips lie from the poses of this finished model, and which parameters "
             "leave the ranges of these poses and of --shots, which are what it was trained on. Needs no -o."},
};

static const su_program program = {
    .name = "supple-poses",
    .summary = "choose example poses from clips",
    .usage = "ANIM... -o POSES",
    .description =
        "Pose 0 is the neutral pose; the others are frames of the clips, each as far as possible from those "
        "before it. Distances are measured in the rig parameters, weighted by how far each moves the skin: "
        "RMS over the skin as a part of the character's diagonal. The poses, their distances and how far each "
        "shot's "
        "frames lie from the nearest pose are printed; where frames lie farther from all poses than the poses from "
        "each other, a shot leaves the space that they cover, and that is a warning.",
    .example = "supple poses run.anim.npz walk.anim.npz -m 8 -o fox.poses.npz",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .min_inputs = 1,
    .max_inputs = -1,
};

/* Chooses poses out of the clips, puts sculpts and paint on them, and writes them. */
static su_status run(su_tool *tool)
{
    su_status status = SU_OK;
    clips c = {0};
    selection chosen = {0};
    sculpts sculpted = {0};
    su_poses poses = {0};
    if (!tool->output && !tool->dry_run)
        return su_fail(&tool->err, SU_USAGE, "no output: -o is missing; usage: supple-poses ANIM... -o POSES");
    SU_GO(clips_name(tool, &o.sculpt, &o.params, &o.rigged, &c));
    SU_GO(clips_load(tool, o.space == 0, &c));
    SU_GO(sculpts_parse(tool, &o.sculpt, &c, &sculpted));
    SU_GO(choose(tool, &o, &c, &sculpted, &chosen));
    SU_GO(fill(&c, &chosen, &poses, &tool->err));
    SU_GO(sculpts_apply(tool, &c, &sculpted, o.space == 0, &poses));
    const paint young = {"--young", &o.young, {o.young_range[0], o.young_range[1]}, 1e15};
    const paint poisson = {"--poisson", &o.poisson, {o.poisson_range[0], o.poisson_range[1]}, 0.5};
    SU_GO(paint_read(tool, &young, &c, chosen.poses.picked, &poses, &poses.young));
    SU_GO(paint_read(tool, &poisson, &c, chosen.poses.picked, &poses, &poses.poisson));
    SU_GO(preview(tool, &c, &chosen, &poses, &o.shots));
    if (c.s == 0)
        su_warn(tool, "no rig parameter leaves the neutral pose: one pose is all there is");
    else if (o.m > 0 && chosen.poses.m < o.m)
        su_note(tool, "%lld poses: every other frame is one of them", (long long)chosen.poses.m);
    SU_GO(describe(tool, &c, &chosen, &poses));
    if (!tool->dry_run) SU_GO(su_poses_save(tool->output, &poses, &tool->err));
done:
    su_poses_free(&poses);
    clips_free(&c);
    return status;
}

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    return su_tool_end(&tool, o.known ? known(&tool, o.known, &o.shots) : run(&tool));
}
