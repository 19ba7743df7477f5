/* The options that supple-sim and supple-fullsim share, one table so that they cannot drift apart. */
#ifndef SU_TOOLS_SIM_OPTIONS_H
#define SU_TOOLS_SIM_OPTIONS_H

#include "core/tool.h"
#include "fem/fullsim.h"
#include "physics/external_files.h"
#include "physics/settings.h"
#include "physics/shot_driver.h"

/* Targets of --forces and --collider. */
typedef struct su_forces_files {
    const char *path;
    su_list colliders;
} su_forces_files;

/* Contact of the flesh with itself: what the rig's own shape has overlapping is left alone (new), or pushed out too. */
#define SU_SELF_CONTACT_NAMES "none|new|all"

/* Rows of a su_option table: gravity, which also what trains on played shots asks for. */
#define SU_GRAVITY_OPTIONS(settings)                                                                                   \
    {.name = "gravity",                                                                                                \
     .kind = SU_OPT_VECTOR,                                                                                            \
     .target = (settings).gravity,                                                                                     \
     .argument = "X,Y,Z",                                                                                              \
     .help = "Gravity in the world, m/s^2 (default 0,-9.81,0)."},                                                      \
    {                                                                                                                  \
        .name = "gravity-mode", .kind = SU_OPT_CHOICE, .target = &(settings).gravity_mode, .argument = "MODE",         \
        .choices = SU_GRAVITY_NAMES,                                                                                   \
        .help = "relative (default): the given shape carries its own weight, and sags where it is turned against it; " \
                "absolute: all of it acts; none."                                                                      \
    }

/* Rows of a su_option table; files: a su_forces_files for su_sim_load_forces. */
#define SU_FORCES_OPTIONS(files)                                                                                       \
    {.name = "forces",                                                                                                 \
     .kind = SU_OPT_TEXT,                                                                                              \
     .target = &(files).path,                                                                                          \
     .argument = "FILE",                                                                                               \
     .help = "Colliders, wind and point forces (JSON, see docs/runtime.md)."},                                         \
    {                                                                                                                  \
        .name = "collider", .kind = SU_OPT_LIST, .target = &(files).colliders, .argument = "MESH",                     \
        .help = "An animated mesh in the world (m, y up) that pushes the skin away: an ANIM file, OBJ or PLY files "   \
                "(ball.%04d.obj), Alembic; --forces has more settings. Repeat for several."                            \
    }

/* Rows of a su_option table. `settings` is a su_sim_settings with the defaults, `teleport` a su_list that the tool
 * hands to su_sim_set_teleports, `files` a su_forces_files for su_sim_load_forces. */
#define SU_SIM_OPTIONS(settings, teleport, files)                                                                      \
    SU_FORCES_OPTIONS(files), SU_GRAVITY_OPTIONS(settings),                                                            \
        {.name = "damping",                                                                                            \
         .kind = SU_OPT_NUMBER,                                                                                        \
         .target = &(settings).damping,                                                                                \
         .argument = "RATIO",                                                                                          \
         .low = 0,                                                                                                     \
         .high = 100,                                                                                                  \
         .help = "Damping ratio at the lowest frequency, by beta alone (default 0.1)."},                               \
        {.name = "decay",                                                                                              \
         .kind = SU_OPT_NUMBER,                                                                                        \
         .target = &(settings).decay,                                                                                  \
         .argument = "S",                                                                                              \
         .low = 0,                                                                                                     \
         .high = 1e6,                                                                                                  \
         .help = "Seconds in which the lowest mode falls to 1/e, in place of --damping."},                             \
        {.name = "alpha",                                                                                              \
         .kind = SU_OPT_NUMBER,                                                                                        \
         .target = &(settings).alpha,                                                                                  \
         .argument = "A",                                                                                              \
         .low = 0,                                                                                                     \
         .high = 1e9,                                                                                                  \
         .help = "Mass-proportional Rayleigh damping, 1/s (default 0)."},                                              \
        {.name = "beta",                                                                                               \
         .kind = SU_OPT_NUMBER,                                                                                        \
         .target = &(settings).beta,                                                                                   \
         .argument = "B",                                                                                              \
         .low = 0,                                                                                                     \
         .high = 1e9,                                                                                                  \
         .help = "Stiffness-proportional Rayleigh damping, s (default: from --damping or --decay)."},                  \
        {.name = "stiffness",                                                                                          \
         .kind = SU_OPT_NUMBER,                                                                                        \
         .target = &(settings).stiffness,                                                                              \
         .argument = "FACTOR",                                                                                         \
         .low = 1e-9,                                                                                                  \
         .high = 1e9,                                                                                                  \
         .help = "Multiplies Young's modulus everywhere (default 1)."},                                                \
        {.name = "substeps",                                                                                           \
         .kind = SU_OPT_INT,                                                                                           \
         .target = &(settings).substeps,                                                                               \
         .argument = "N",                                                                                              \
         .low = 0,                                                                                                     \
         .high = 100000,                                                                                               \
         .help = "Steps a frame (default 0: ceil(90 / fps))."},                                                        \
        {.name = "start",                                                                                              \
         .kind = SU_OPT_CHOICE,                                                                                        \
         .target = &(settings).start,                                                                                  \
         .argument = "HOW",                                                                                            \
         .choices = SU_START_NAMES,                                                                                    \
         .help = "moving (default): the flesh starts with the velocity of the rig; still: at rest in the world."},     \
        {.name = "settle",                                                                                             \
         .kind = SU_OPT_FLAG,                                                                                          \
         .target = &(settings).settle,                                                                                 \
         .help = "Start from the static equilibrium under gravity whatever its mode; relative gravity does so anyway " \
                 "where there is one."},                                                                               \
        {.name = "preroll",                                                                                            \
         .kind = SU_OPT_NUMBER,                                                                                        \
         .target = &(settings).preroll,                                                                                \
         .argument = "S",                                                                                              \
         .low = 0,                                                                                                     \
         .high = 1e4,                                                                                                  \
         .help = "Hold the first frame for S seconds before the shot begins (default 0)."},                            \
    {                                                                                                                  \
        .name = "teleport", .kind = SU_OPT_LIST, .target = &(teleport), .argument = "FRAME",                           \
        .help = "The rig jumps before this frame (the first frame is 0; repeat, or separate by commas): motion "       \
                "restarts there."                                                                                      \
    }

/* The files of --forces and --collider into *external, referred to by settings; nothing where there are none. */
static inline su_status su_sim_load_forces(const su_forces_files *files, int64_t nbar, const double *neutral, int64_t T,
                                           const int32_t *triangles, su_external *external, su_sim_settings *sim,
                                           su_error *err)
{
    if (!files->path && files->colliders.count == 0) return SU_OK;
    SU_TRY(su_forces_load(files->path, files->colliders.count, files->colliders.items,
                          &(su_load_skin){nbar, neutral, T, triangles}, external, err));
    sim->external = external;
    return SU_OK;
}

/* Marked frames (F) as text, "12-40, 55": as many as fit. Returns how many are marked. */
static inline int64_t su_name_frames(int64_t F, const uint8_t *marked, char *text, size_t room)
{
    enum { LONGEST = 48 }; /* two numbers and what stands between them */
    size_t length = 0;
    int64_t count = 0;
    bool full = false;
    text[0] = '\0';
    for (int64_t k = 0; k < F; k++) {
        if (!marked[k]) continue;
        int64_t last = k;
        while (last + 1 < F && marked[last + 1]) last++;
        count += last - k + 1;
        if (!full && length + LONGEST > room)
            full = true, snprintf(text + length, room - length, ", ...");
        else if (!full)
            length += (size_t)snprintf(text + length, room - length, last > k ? "%s%lld-%lld" : "%s%lld",
                                       length ? ", " : "", (long long)k, (long long)last);
        k = last;
    }
    return count;
}

/* A line for the frames that the flesh could not be stepped through, and one for those where its motion was damped
 * away. marked (F): room. help: what else to do, after a comma. Returns how many failed. */
static inline int64_t su_sim_warn_status(su_tool *tool, const char *path, int64_t F, const int32_t *status,
                                         const su_shot_counts *counts, const char *help, uint8_t *marked)
{
    char frames[256], cause[1100] = "";
    int64_t failed = 0;
    if (counts->first_bad_frame >= 0)
        snprintf(cause, sizeof cause, "; after frame %lld %s", (long long)counts->first_bad_frame,
                 counts->first_bad_cause.text);
    for (int which = SU_STATUS_FAILED; which >= SU_STATUS_DAMPED; which--) {
        for (int64_t k = 0; k < F; k++) marked[k] = status[k] == which;
        int64_t count = su_name_frames(F, marked, frames, sizeof frames);
        if (which == SU_STATUS_FAILED) su_stats_text(tool, "failed_at", frames);
        if (which == SU_STATUS_FAILED) su_stats_integer(tool, "failed_frames", failed = count);
        if (which == SU_STATUS_DAMPED) su_stats_integer(tool, "damped_frames", count);
        if (count == 0) continue;
        su_warn(tool,
                "%s: %s at frames %s (%lld of %lld%s); look at the rig there (a jump of it wants --teleport FRAME); "
                "--substeps or more --damping may help%s",
                path,
                which == SU_STATUS_FAILED ? "no step succeeded and the flesh just follows the rig"
                                          : "motion was damped away, for no other step succeeded,",
                frames, (long long)count, (long long)F, cause, help);
        cause[0] = '\0';
    }
    return failed;
}

/* What both programs count of a shot of F frames. */
static inline void su_sim_report_counts(su_tool *tool, const char *path, int64_t F, const su_shot_counts *counts)
{
    su_stats_integer(tool, "frames", F);
    su_stats_integer(tool, "steps", counts->steps);
    su_stats_integer(tool, "solves", counts->solves);
    su_stats_integer(tool, "halved", counts->halved);
    su_stats_integer(tool, "damped", counts->damped);
    su_stats_integer(tool, "failed", counts->failed);
    su_stats_integer(tool, "collapsed_tets", counts->collapsed);
    su_stats_number(tool, "step_ms", 1e3 * counts->step_seconds / (counts->steps > 0 ? (double)counts->steps : 1));
    su_stats_stage(tool, "pose part", counts->pose_seconds);
    su_stats_stage(tool, "steps", counts->step_seconds);
    if (counts->first_bad_frame >= 0)
        su_note(tool, "%s: %lld steps halved, %lld damped, %lld failed; the first after frame %lld: %s", path,
                (long long)counts->halved, (long long)counts->damped, (long long)counts->failed,
                (long long)counts->first_bad_frame, counts->first_bad_cause.text);
}

#endif
