/* supple-motion: a motion of the rig's own, to train a model on. */
#include "core/threads.h"
#include "core/tool.h"
#include "rig/synthetic_motion.h"

#include <stdlib.h>

typedef struct options {
    double seconds, fps, range;
    int seed;
} options;

static su_status load(su_tool *tool, su_poses *poses, su_anim *anims, su_synthetic_clip *clips, int *loaded)
{
    SU_TRY(su_poses_load(tool->inputs.items[0], poses, &tool->err));
    for (int i = 1; i < tool->inputs.count; i++) {
        SU_TRY(su_anim_load(tool->inputs.items[i], &anims[i - 1], &tool->err));
        clips[i - 1] = (su_synthetic_clip){&anims[i - 1], tool->inputs.items[i]};
        *loaded = i;
    }
    return SU_OK;
}

static su_status tell(su_tool *tool, const su_synthetic *motion)
{
    const su_anim *anim = su_synthetic_anim(motion);
    const char *why;
    su_synthetic_report report;
    SU_TRY(su_synthetic_measure(motion, &report, &tool->err));
    su_stats_integer(tool, "frames", anim->F);
    su_stats_integer(tool, "params", anim->s);
    su_stats_number(tool, "covered", report.covered);
    if (su_synthetic_of_joints(motion, &why)) {
        su_note(
            tool,
            "%lld frames; 99 %% of joint speeds are below %.2f rad/s (in the clips %.2f); %.0f %% of the clips' ranges "
            "are covered",
            (long long)anim->F, report.speed, report.clip_speed, 100.0 * report.covered);
        su_stats_text(tool, "motion", "joints");
        su_stats_number(tool, "joint_speed", report.speed);
        su_stats_number(tool, "clip_joint_speed", report.clip_speed);
    } else {
        su_note(tool, "%lld frames, a walk through those of the clips: %s", (long long)anim->F, why);
        su_stats_text(tool, "motion", "frames");
        su_stats_text(tool, "motion_why", why);
    }
    return SU_OK;
}

/* What is asked for; holds the defaults until the command line is read. */
static options o = {.seconds = 20.0, .fps = 24.0, .range = 0.25, .seed = 1};

static const su_option table[] = {
    {.name = "seconds",
     .kind = SU_OPT_NUMBER,
     .target = &o.seconds,
     .argument = "S",
     .low = 0.1,
     .high = 3600.0,
     .help = "Length of the motion, s. Default 20."},
    {.name = "fps",
     .kind = SU_OPT_NUMBER,
     .target = &o.fps,
     .argument = "HZ",
     .low = 10.0,
     .high = 1000.0,
     .help = "Frames per second. Default 24."},
    {.name = "range",
     .kind = SU_OPT_NUMBER,
     .target = &o.range,
     .argument = "X",
     .low = 0.0,
     .high = 1.0,
     .help = "Noise of every joint axis and blend shape about the clips' own motion, as a part of half its range. "
             "Default 0.25."},
    {.name = "seed",
     .kind = SU_OPT_INT,
     .target = &o.seed,
     .argument = "N",
     .low = 0,
     .high = 2147483647,
     .help = "Another number gives another motion. Default 1."},
};

static const su_program program = {
    .name = "supple-motion",
    .summary = "make a motion of the rig's own, to train a model on",
    .usage = "POSES ANIM... -o ANIM",
    .description =
        "Walks from example pose to example pose and frame to frame, plays the clips from random frames at about "
        "their own speed, turn by turn, and adds smooth noise to every joint within its own range and to the root. "
        "Ranges and speeds are those of the clips and poses.\n\n"
        "Where the bones do not carry the skin (mesh sequences, rigs with parameters of their own) it walks "
        "through "
        "the clips' frames instead, forwards and backwards, faster and slower.\n\n"
        "The result is an animation as any other.",
    .example = "supple motion fox.poses.npz run.anim.npz walk.anim.npz -o motion.anim.npz",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .min_inputs = 2,
    .max_inputs = -1,
    .needs_output = true,
};

static su_status run(su_tool *tool)
{
    int loaded = 0;
    su_status status = SU_OK;
    su_poses poses = {0};
    su_synthetic *motion = NULL;
    json_t *meta = NULL;
    su_arena arena = {0};
    su_anim *anims = su_arena_alloc(&arena, tool->inputs.count, sizeof *anims);
    su_synthetic_clip *clips = su_arena_alloc(&arena, tool->inputs.count, sizeof *clips);
    if (!anims || !clips) {
        status = su_fail(&tool->err, SU_AGAIN, "not enough memory");
        goto done;
    }
    SU_GO(load(tool, &poses, anims, clips, &loaded));
    double started = su_seconds();
    const su_synthetic_options how = {
        .seconds = o.seconds, .fps = o.fps, .share = o.range, .seed = (uint64_t)o.seed, .threads = tool->threads};
    SU_GO(su_synthetic_create(&poses, tool->inputs.items[0], loaded, clips, &how, &motion, &tool->err));
    SU_GO(tell(tool, motion));
    su_stats_stage(tool, "motion", su_seconds() - started);
    if (tool->dry_run) goto done;
    if (!(meta = su_tool_meta(tool, "supple.anim", 1, tool->inputs.items, tool->inputs.count))) {
        status = tool->err.status;
        goto done;
    }
    started = su_seconds();
    SU_GO(su_synthetic_save(motion, tool->output, meta, &tool->progress, &tool->err));
    su_stats_stage(tool, "skin", su_seconds() - started);
done:
    json_decref(meta);
    su_synthetic_free(motion);
    for (int i = 0; i < loaded; i++) su_anim_free(&anims[i]);
    su_poses_free(&poses);
    su_arena_free(&arena);
    return status;
}

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    return su_tool_end(&tool, run(&tool));
}
