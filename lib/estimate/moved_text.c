#include "estimate/moved_text.h"

#include "core/file.h"

/* Of the diagonal: a body that stays below it hardly seems to move. */
static const double HARDLY_MOVES = 0.003;
/* What brings such a body to this is told as an amount (displacements are as amounts where the frequency alone changes,
 * by 1/w^2); a clip that would take more than the largest of them does not shake it. */
static const double SEEN = 0.01, LARGEST_AMOUNT = 8;
/* Of the diagonal: twice what flesh moves in brisk clips (docs/notes, strangers). Where it is thrown farther the rig
 * often jumps: a first frame in the bind pose, several clips behind each other in one. */
static const double THROWN = 0.2;
/* Of the diagonal: flesh that moves farther than in brisk clips (docs/notes, strangers). */
static const double FAR = 0.1;
/* Joints told of. */
enum { JOINTS_TOLD = 5 };

static const char *joint_name(const su_anim *anim, int64_t joint)
{
    const char *name = joint < 0 ? NULL : su_file_name(&anim->file, "bone_names", joint);
    return name ? name : "the skin";
}

static void print(const su_moved *moved, const su_anim *anim, const char *shot, FILE *out)
{
    double per_cent = moved->diagonal > 0 ? 100 / moved->diagonal : 0;
    int64_t told = moved->count < JOINTS_TOLD ? moved->count : JOINTS_TOLD;
    fprintf(out, "%s: largest displacement %.2f %% of the diagonal, at frame %lld, %s\n", shot,
            per_cent * moved->largest, (long long)moved->frame, joint_name(anim, moved->joint));
    for (int64_t i = 0; i < told; i++)
        fprintf(out, "  %-28.60s mean %6.2f %%  largest %6.2f %%\n", joint_name(anim, moved->joint_motion[i].joint),
                per_cent * moved->joint_motion[i].mean, per_cent * moved->joint_motion[i].largest);
    if (moved->largest > THROWN * moved->diagonal && moved->rig_frame > 0)
        fprintf(out,
                "  the flesh is thrown far: the rig goes fastest into frame %lld, by %.0f %% of the diagonal; where it "
                "jumps there, begin behind it (--start), or let the flesh jump along (--teleport %lld)\n",
                (long long)moved->rig_frame, per_cent * moved->rig_step, (long long)moved->rig_frame);
    if (moved->largest > FAR * moved->diagonal)
        fputs("  where that is too far, bake with --look firm or an --amount below 1\n", out);
    if (moved->body >= HARDLY_MOVES * moved->diagonal) return;
    fprintf(out, "  the body stays below %.1f %%", 100 * HARDLY_MOVES);
    if (moved->body * LARGEST_AMOUNT < SEEN * moved->diagonal)
        fputs(": this clip hardly shakes it\n", out);
    else
        fprintf(out, "; bake with --amount %.1f or --look jelly for more\n", SEEN * moved->diagonal / moved->body);
}

su_status su_moved_write(const su_moved *moved, const su_anim *anim, const char *shot, FILE *screen, const char *path,
                         su_error *err)
{
    su_output out = {0};
    if (screen) print(moved, anim, shot, screen);
    if (!path) return SU_OK;
    SU_TRY(su_output_open(&out, path, err));
    print(moved, anim, shot, out.stream);
    su_status status = su_output_commit(&out, err);
    su_output_abandon(&out);
    return status;
}

json_t *su_moved_json(const su_moved *moved, const su_anim *anim)
{
    double share = moved->diagonal > 0 ? 1 / moved->diagonal : 0;
    json_t *joints = json_array();
    for (int64_t i = 0; i < moved->count; i++) {
        const su_moved_joint *joint = moved->joint_motion + i;
        json_array_append_new(joints, json_pack("{s:s, s:f, s:f}", "joint", joint_name(anim, joint->joint), "mean",
                                                share * joint->mean, "largest", share * joint->largest));
    }
    return json_pack("{s:f, s:f, s:I, s:s, s:o}", "largest", share * moved->largest, "body", share * moved->body,
                     "frame", (json_int_t)moved->frame, "joint", joint_name(anim, moved->joint), "joints", joints);
}
