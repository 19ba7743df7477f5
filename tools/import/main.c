/* supple-import: a clip of a rigged character, or a mesh sequence, as a supple.anim. */
#include "import.h"

#include "rig/take.h"

#include <math.h>

/* What is asked for; holds the defaults until the command line is read. */
static options o = {.start = NAN, .end = NAN, .number = NAN, .scale = 1.0, .neutral_frame = -1, .skinning = -1};

static const su_option table[] = {
    {.name = "clip",
     .kind = SU_OPT_LIST,
     .target = &o.clips,
     .argument = "NAME",
     .help =
         "Clip to import. Default: the only one, or the first. May be repeated where a file holds one motion "
         "in several clips "
         "(Blender's glTF keeps shape keys apart from bones), or name all of them, A+B: their tracks play together. "
         "A .csv gives joint "
         "curves instead: a column time (s) or "
         "frame, and JOINT.rx, .ry, .rz (rotation vector about the joint's own axes from its pose in the file, "
         "rad), "
         ".tx .. .tz, .sx .. .sz, or blend-shape names; a row is a key. A rig's file (walk.fbx, or "
         "walk.fbx:NAME) gives the clip of "
         "that file, joint by joint of the same name, or bone by bone of a human."},
    {.name = "degrees", .kind = SU_OPT_FLAG, .target = &o.degrees, .help = "Angles of joint curves are in degrees."},
    {.name = "list",
     .kind = SU_OPT_FLAG,
     .target = &o.list,
     .help = "Print clips, meshes, joints and blend shapes of the file, and stop."},
    {.name = "fps",
     .kind = SU_OPT_NUMBER,
     .target = &o.fps,
     .argument = "HZ",
     .low = 0.01,
     .high = 10000.0,
     .help = "Frames per second. Default: the rate that an FBX says, else that of the clip's own keys where that is 10 "
             "to 240, else 30."},
    {.name = "rate",
     .kind = SU_OPT_NUMBER,
     .target = &o.rate,
     .argument = "HZ",
     .low = 0.01,
     .high = 10000.0,
     .help = "Frames per second of a mesh sequence whose files carry no times (.obj, .ply, .pc2), and of the "
             "column frame in joint curves. Default 24."},
    {.name = "neutral",
     .kind = SU_OPT_TEXT,
     .target = &o.neutral,
     .argument = "MESH",
     .help = "Neutral pose of a mesh sequence: the first frame of an .obj, .ply or .abc. Its faces are those of .pc2 "
             "and .mdd, which need it."},
    {.name = "neutral-frame",
     .kind = SU_OPT_INT,
     .target = &o.neutral_frame,
     .argument = "N",
     .low = -1,
     .high = 1e9,
     .help = "Frame of the sequence, counted from 0, that is its neutral pose. Default: --neutral, else 0."},
    {.name = "start",
     .kind = SU_OPT_NUMBER,
     .target = &o.start,
     .argument = "FRAME",
     .low = -1e9,
     .high = 1e9,
     .help = "First frame, in the clip's own numbers (time times fps). Default: its first key."},
    {.name = "end",
     .kind = SU_OPT_NUMBER,
     .target = &o.end,
     .argument = "FRAME",
     .low = -1e9,
     .high = 1e9,
     .help = "Last frame, in the clip's own numbers. Default: its last key."},
    {.name = "frame-start",
     .kind = SU_OPT_NUMBER,
     .target = &o.number,
     .argument = "N",
     .low = -1e9,
     .high = 1e9,
     .help = "Call the first frame N (studio frames: 1001) and shift the clock with it. Default: its own number."},
    {.name = "skinning",
     .kind = SU_OPT_CHOICE,
     .target = &o.skinning,
     .argument = "WAY",
     .choices = SU_SKINNING_NAMES,
     .help =
         "lbs: linear blend skinning, dqs: dual quaternions (default: as the file says, which FBX does, else lbs)."},
    {.name = "points",
     .kind = SU_OPT_TEXT,
     .target = &o.points,
     .argument = "CACHE",
     .help = "Where the skin of a rigged character really is: a mesh sequence or cache with the file's vertices in "
             "their order, its space and a sample a frame of the clip. For rigs that do more than skinning "
             "(correctives, lattices, muscles); joints and weights are still the file's."},
    {.name = "params",
     .kind = SU_OPT_TEXT,
     .target = &o.params,
     .argument = "FILE",
     .help = "Rig parameters of your own, a row per frame, 0 at the neutral pose: .csv with names in its first "
             "line, or .npy. "
             "They take the place of the joints'."},
    {.name = "unit",
     .kind = SU_OPT_CHOICE,
     .target = &o.unit,
     .argument = "UNIT",
     .choices = UNIT_NAMES,
     .help = "Length unit of the file: auto, m, cm, mm, in or ft. Default auto: the unit the file names (glTF: m), "
             "unless the character's largest side would then lie outside 0.1 to 50 m; then the first of m, cm, mm "
             "that brings it inside."},
    {.name = "scale",
     .kind = SU_OPT_NUMBER,
     .target = &o.scale,
     .argument = "X",
     .low = 1e-6,
     .high = 1e6,
     .help = "Enlarge everything by this factor, after the unit. Default 1."},
    {.name = "up",
     .kind = SU_OPT_CHOICE,
     .target = &o.up,
     .argument = "AXIS",
     .choices = "auto|x|y|z",
     .help = "Axis of the file that points up: auto, x, y or z. Default auto: what the file says, else y."},
    {.name = "object",
     .kind = SU_OPT_LIST,
     .target = &o.objects,
     .argument = "NAME",
     .help = "Take only this object, or all that stands at or below a path in the file (/shot/man). May be repeated. "
             "Default: all that move with the skeleton; of a mesh sequence all."},
    {.name = "rigid",
     .kind = SU_OPT_LIST,
     .target = &o.rigid,
     .argument = "NAME",
     .help = "This object, or what stands below a path, only follows the rig and gets no flesh (eyes, teeth). May be "
             "repeated. Meshes that hang on a "
             "joint without skinning are rigid by themselves, unless they are most of the body."},
};

static const su_program program = {
    .name = "supple-import",
    .summary = "read a clip of a rigged character, or a mesh sequence",
    .usage = "FILE -o ANIM",
    .description =
        "Reads a skinned or morphing character (glTF, VRM, FBX, Collada, UsdSkel and what else assimp knows), "
        "evaluates one "
        "clip frame by frame and writes the skin in its root frame, the rig parameters and the skeleton.\n\n"
        "Reads a mesh sequence too: walk.%04d.obj, walk.####.obj, 'walk.$F4.obj' or 'walk.*.obj' (or .ply), .pc2 "
        "or .mdd with --neutral, .abc. It "
        "has no rig "
        "parameters; supple poses finds some.\n\n"
        "Vertices that the file splits for seams are welded where they move together; weights are normalized; the "
        "result is in metres, y up.",
    .example = "supple import fox.glb --clip Run -o run.anim.npz",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .min_inputs = 1,
    .max_inputs = 1,
};

static su_status run(su_tool *tool)
{
    const char *path = tool->inputs.items[0];
    o.clip = o.clips.count ? o.clips.items[0] : NULL;
    if (!o.list && !tool->output && !tool->dry_run)
        return su_fail(&tool->err, SU_USAGE, "no output: give -o FILE, or --list");
    bool sequence;
    SU_TRY(find_kind(path, &sequence, &tool->err));
    return sequence ? import_sequence(tool, &o, path) : import_scene(tool, &o, path);
}

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    return su_tool_end(&tool, run(&tool));
}
