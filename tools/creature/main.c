/* supple-creature: writes the demo character. */
#include "creature.h"

#include "core/tool.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    int vertices = 7000, which = CREATURE_CALF;
    double squat = 0;
    const su_option options[] = {
        {"vertices", 0, SU_OPT_INT, &vertices, "N", "Skin vertices, kept to 5 % (default: 7000).", 3000, 150000, NULL,
         false, false},
        {.name = "character",
         .kind = SU_OPT_CHOICE,
         .target = &which,
         .argument = "NAME",
         .choices = "calf|hound",
         .help =
             "calf (default): what documents and benchmarks measure; hound: the demo's, with a larger belly, ears that "
             "hang free, livelier clips, a third one (Scratch) and colours."},
        {.name = "squat",
         .kind = SU_OPT_NUMBER,
         .target = &squat,
         .argument = "D",
         .low = 0,
         .high = 0.25,
         .help = "A third clip of the calf, Squat, in which the body sinks by D metres, belly between the thighs "
                 "(default 0: "
                 "none)."},
    };
    const su_program program = {
        .name = "supple-creature",
        .summary = "write the demo character with its clips",
        .usage = "-o FILE.glb",
        .description =
            "Makes a chubby animal with a hanging belly, long ears, a dewlap and a thick tail from formulas: "
            "a closed skin, a skeleton with smooth weights and two clips, Trot (a loop) and Stop (a run, a "
            "hard stop and a shake), as a binary glTF file.",
        .example = "supple creature -o creature.glb",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .max_inputs = 0,
        .needs_output = true,
    };
    su_tool tool;
    int code;
    if (!su_tool_begin(&tool, &program, argc, argv, &code)) return code;
    su_status status = SU_OK;
    skeleton bones;
    skin mesh = {0};
    skeleton_make((character)which, &bones);
    bones.squat = squat;
    SU_GO(skin_make(bones.body, vertices, &mesh, &tool.err));
    SU_GO(su_progress_update(&tool.progress, 0.7, &tool.err));
    SU_GO(skin_bind(&bones, &mesh, &tool.err));
    SU_GO(su_progress_update(&tool.progress, 0.9, &tool.err));
    su_note(&tool, "%lld vertices, %lld triangles, %d joints, clips Trot and Stop%s%s", (long long)mesh.vertex_count,
            (long long)mesh.triangle_count, bones.count, which == CREATURE_CALF && squat > 0 ? " and Squat" : "",
            which == CREATURE_HOUND ? " and Scratch" : "");
    if (!tool.dry_run) SU_GO(glb_write(tool.output, &bones, &mesh, &tool.err));
done:
    skin_free(&mesh);
    return su_tool_end(&tool, status);
}
