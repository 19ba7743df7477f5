#include "preview.h"

#include "core/file.h"
#include "io/stage/clip_frame.h"
#include "rig/pose_selection.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 12, NAME_ROOM = SU_CLIP_FRAME_ROOM };

void preview_pose_name(const su_tool *tool, const clips *c, int64_t frame, char *out, size_t room)
{
    int which = 0, clip = frame < 0 ? 0 : clips_of(c, frame, &which);
    if (frame < 0 || clip == c->count) {
        snprintf(out, room, "%s", frame < 0 ? "neutral" : c->named[which].name);
        return;
    }
    su_clip_frame_name(tool->inputs.items[clip], su_clip_frame_number(&c->anim[clip], frame - c->first[clip]), out,
                       room);
}

/* Each pose with its distance to those before it. */
static void table_of_poses(su_tool *tool, const clips *c, const selection *chosen, const su_poses *poses)
{
    for (int64_t i = 0; i < chosen->poses.m; i++) {
        char name[NAME_ROOM], row[16 * MOST_COLUMNS + 1] = "";
        preview_pose_name(tool, c, chosen->poses.picked[i], name, sizeof name);
        for (int64_t j = 0; j < i && j < MOST_COLUMNS; j++) {
            double d = su_nearest_pose(1, poses->s, poses->params + j * poses->s, poses->param_scale,
                                       poses->params + i * poses->s, NULL);
            snprintf(row + strlen(row), sizeof row - strlen(row), " %.4f", d);
        }
        su_note(tool, "pose %lld: %-20s %.4f from the nearest before%s%s%s", (long long)i, name,
                chosen->poses.distance[i], *row ? ";" : "", row, i > MOST_COLUMNS ? " ..." : "");
    }
}

/* params (anim.F,s). Returns how many frames are not covered. */
static int64_t say_shot(su_tool *tool, const clips *c, const selection *chosen, const char *path, const su_anim *anim,
                        const double *params, const su_poses *poses, double limit)
{
    char name[NAME_ROOM];
    double worst = -1.0, sum = 0.0;
    int64_t beyond = 0, at = 0, nearest = 0;
    for (int64_t f = 0; f < anim->F; f++) {
        int64_t which = 0;
        double d =
            su_nearest_pose(poses->m, poses->s, poses->params, poses->param_scale, params + f * poses->s, &which);
        if (d > worst) worst = d, at = f, nearest = which;
        sum += d, beyond += d > limit;
    }
    preview_pose_name(tool, c, chosen->poses.picked[nearest], name, sizeof name);
    su_note(tool, "%s: at most %.4f from a pose (frame %.6g, from %s), %.4f on average", su_base_name(path), worst,
            su_clip_frame_number(anim, at), name, sum / (double)anim->F);
    if (beyond)
        su_warn(tool,
                "%s: %lld of %lld frames leave the space of the poses: they lie farther from every pose than the poses "
                "from each "
                "other (%.4f), most of all frame %.6g; add it by --at, or take more poses",
                su_base_name(path), (long long)beyond, (long long)anim->F, limit, su_clip_frame_number(anim, at));
    return beyond;
}

su_status preview(su_tool *tool, clips *c, const selection *chosen, const su_poses *poses, const su_list *shots)
{
    double limit = su_pose_spacing(poses->m, poses->s, poses->params, poses->param_scale) * (1.0 + 1e-9);
    int64_t beyond = 0;
    table_of_poses(tool, c, chosen, poses);
    for (int i = 0; i < c->count && poses->m > 1; i++)
        beyond +=
            say_shot(tool, c, chosen, tool->inputs.items[i], &c->anim[i], c->params + c->first[i] * c->s, poses, limit);
    for (int i = 0; i < shots->count; i++) {
        su_anim anim = {0};
        double *params;
        SU_TRY(su_anim_load(shots->items[i], &anim, &tool->err));
        su_status status = clips_map(tool, c, &anim, shots->items[i], &params);
        if (status == SU_OK) beyond += say_shot(tool, c, chosen, shots->items[i], &anim, params, poses, limit);
        su_anim_free(&anim);
        SU_TRY(status);
    }
    su_stats_integer(tool, "poses", chosen->poses.m);
    su_stats_integer(tool, "parameters", c->s);
    su_stats_integer(tool, "frames_not_covered", beyond);
    return SU_OK;
}
