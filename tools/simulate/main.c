/* supple sim: a shot through the reduced model. Writes coordinates, not vertices; export rebuilds frames. */
#include "simulate.h"

#include "core/choice.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "io/stage/clip_frame.h"
#include "runtime/pack_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Residual at which steps with --newton are solved, where --tolerance does not say otherwise. */
static const double SOLVED = 1e-8;

static void job_free(job *j)
{
    su_runtime_model_free(&j->runtime);
    su_skinning_bones_free(&j->bones);
    su_anim_free(&j->first);
    su_skinning_model_free(&j->skinning);
    su_model_free(&j->model);
    su_fit_free(&j->fit);
    su_fit_free(&j->materials);
    su_pair_sets_free(&j->pairs);
    su_tet_free(&j->tet);
    su_sim_settings_free(&j->set.sim);
    su_external_free(&j->external);
}

/* What an estimate of the error needs of the full space. Of the paper's interpolation, which is for comparison, there
 * is none. */
static su_status load_full(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const settings *set = &j->set;
    if (set->bound > 0 && set->estimate.count == 0)
        return su_fail(err, SU_USAGE, "--bound goes with --estimate TET FIT");
    if (set->estimate.count == 0) return SU_OK;
    if (set->estimate.count != 2) return su_fail(err, SU_USAGE, "--estimate wants two files, TET and FIT");
    if (j->interpolation == SU_LINEAR || j->skinned) {
        if (j->skinned)
            su_note(tool, "there is no estimate of the error for skinning modes");
        else
            su_warn(tool, "no estimate of the error for linear interpolation");
        return SU_OK;
    }
    j->estimated = true;
    SU_TRY(su_tet_load(set->estimate.items[0], &j->tet, err));
    return su_fit_load(set->estimate.items[1], &j->fit, err);
}

/* Needs the skin's triangles, which the first clip has. */
static su_status load_forces(su_tool *tool, job *j)
{
    su_anim anim;
    if (!j->set.forces.path && j->set.forces.colliders.count == 0) return SU_OK;
    SU_TRY(su_anim_load(tool->inputs.items[1], &anim, &tool->err));
    su_status status = anim.nbar == j->model.nbar
                           ? SU_OK
                           : su_fail(&tool->err, SU_INPUT, "%s: %lld skin vertices, the model has %lld",
                                     tool->inputs.items[1], (long long)anim.nbar, (long long)j->model.nbar);
    if (status == SU_OK)
        status = su_sim_load_forces(&j->set.forces, j->model.nbar, j->model.neutral, anim.T, anim.triangles,
                                    &j->external, &j->set.sim, &tool->err);
    su_anim_free(&anim);
    return status;
}

/* What contact of the flesh with itself is made from. */
static su_status load_contact(su_tool *tool, job *j)
{
    const settings *set = &j->set;
    su_error *err = &tool->err;
    bool any = set->self_contact || set->contact;
    if (set->self_friction > 0 && !any)
        return su_fail(err, SU_USAGE, "--self-friction goes with --contact and with --self-contact");
    if (!any) return SU_OK;
    if (j->skinned) return su_fail(err, SU_USAGE, "contact of the flesh with itself goes with models of bases only");
    if (set->self_contact && set->contact)
        return su_fail(err, SU_USAGE, "--self-contact looks at all pairs and --contact at trained ones: take one");
    if (set->contact) {
        SU_TRY(su_pair_sets_load(set->contact, &j->pairs, err));
        if (j->pairs.v > 0 && j->pairs.vertices[j->pairs.v - 1] >= j->model.n)
            return su_fail(err, SU_INPUT, "%s: is of other flesh than the model", set->contact);
        return SU_OK;
    }
    if (!set->flesh_fit) return su_fail(err, SU_USAGE, "--self-contact goes with --fit FIT, which has the materials");
    SU_TRY(su_fit_load(set->flesh_fit, &j->materials, err));
    if (j->materials.t != j->model.t || j->materials.k < 1)
        return su_fail(err, SU_INPUT, "%s: %lld tets, the model has %lld", set->flesh_fit, (long long)j->materials.t,
                       (long long)j->model.t);
    return SU_OK;
}

/* What stepping reads of the model. */
static su_status create_runtime(job *j, su_error *err)
{
    if (j->skinned) return su_skinning_model_create(&j->model, &j->skinning, err);
    int64_t carriers = 4 * j->external.points, own = j->set.self_contact ? j->model.n : j->set.contact ? j->pairs.v : 0;
    int32_t *carrier = NULL;
    SU_TRY(SU_ALLOC(&carrier, carriers + own, "contact points", err));
    for (int64_t i = 0; i < own; i++) carrier[carriers + i] = j->set.contact ? j->pairs.vertices[i] : (int32_t)i;
    j->contact_first = carriers;
    for (int64_t i = 0; i < carriers; i++)
        carrier[i] = j->model.tets[4 * (int64_t)j->model.embed_tet[j->external.vertex[i / 4]] + i % 4];
    su_status status = su_runtime_model_create(&j->model, j->interpolation, carriers + own, carrier, &j->runtime, err);
    free(carrier);
    return status;
}

static su_status check_crowd(su_tool *tool, const job *j)
{
    const settings *set = &j->set;
    if (!set->crowd) return SU_OK;
    if (!j->skinned)
        return su_fail(&tool->err, SU_USAGE, "--crowd goes with models of skinning modes (supple bake --fast)");
    if (set->checkpoint || set->resume || set->loop || set->moved)
        return su_fail(&tool->err, SU_USAGE, "--crowd goes without --checkpoint, --resume, --loop and --moved");
    return SU_OK;
}

/* Results are called after their clips: two of one name would be one file. */
static su_status check_names(su_tool *tool)
{
    char a[SU_CLIP_FRAME_ROOM], b[SU_CLIP_FRAME_ROOM];
    for (int i = 2; i < tool->inputs.count; i++) {
        su_clip_stem(tool->inputs.items[i], a, sizeof a);
        for (int k = 1; k < i; k++) {
            su_clip_stem(tool->inputs.items[k], b, sizeof b);
            if (strcmp(a, b) == 0)
                return su_fail(&tool->err, SU_USAGE, "%s and %s: both results would be called %s.sim.npz",
                               tool->inputs.items[k], tool->inputs.items[i], a);
        }
    }
    return SU_OK;
}

/* One after the other. */
static su_status run_takes(su_tool *tool, job *j, int64_t *failed, const char **first)
{
    int shots = tool->inputs.count - 1;
    for (int k = 0; k < shots; k++) {
        take t = {.j = j, .path = tool->inputs.items[k + 1], .settings = j->set.sim};
        t.from = (double)k / shots, t.to = (double)(k + 1) / shots;
        su_status status = take_run(tool, &t);
        if (status == SU_OK && t.failed > 0 && *failed == 0) *first = t.path;
        *failed += t.failed;
        take_free(&t);
        SU_TRY(status);
    }
    return SU_OK;
}

static su_status run(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const settings *set = &j->set;
    SU_TRY(su_sim_set_teleports(&j->set.sim, j->set.teleports.count, j->set.teleports.items, err));
    SU_TRY(su_model_load(tool->inputs.items[0], &j->model, err));
    int of_model =
        su_choice_find(SU_INTERPOLATION_NAMES, su_meta_text(j->model.file.meta, "interpolation", NULL), SU_COROTATED);
    j->interpolation = (su_interpolation)(j->set.interpolation ? j->set.interpolation - 1 : of_model);
    j->skinned = su_is_skinning_model(&j->model);
    j->set.skinning.plain = j->set.solver == 1;
    if (j->set.step.tolerance >= 0) j->set.skinning.tolerance = j->set.step.tolerance;
    if (j->set.step.tolerance < 0) j->set.step.tolerance = set->step.newton > 0 ? SOLVED : SU_STEP_TOLERANCE;
    if (j->set.step.newton == 0 && j->set.step.tolerance == 0) /* as near as rounding comes */
        return su_fail(err, SU_USAGE, "--tolerance 0 goes with --newton N, which says how many solves that is");
    SU_TRY(check_crowd(tool, j));
    SU_TRY(check_names(tool));
    SU_TRY(load_full(tool, j));
    SU_TRY(load_forces(tool, j));
    SU_TRY(load_contact(tool, j));
    if (create_runtime(j, err) != SU_OK) return su_error_context(err, "%s: ", tool->inputs.items[0]);
    int shots = tool->inputs.count - 1;
    if (set->moved && shots > 1) return su_fail(err, SU_USAGE, "--moved goes with one shot");
    if (shots > 1 && !tool->dry_run && mkdir(tool->output, 0777) != 0 && errno != EEXIST)
        return su_fail(err, su_file_status(errno, SU_FAILED), "%s: the folder for %d shots cannot be made: %s",
                       tool->output, shots, strerror(errno));
    const char *first = NULL;
    int64_t failed = 0;
    SU_TRY(set->crowd ? crowd_run(tool, j, &failed, &first) : run_takes(tool, j, &failed, &first));
    if (failed > 0 && !j->set.accept)
        return su_fail(err, SU_NUMERICS, "%s: %lld frames failed%s; the result is written, --accept takes it as it is",
                       first, (long long)failed, shots > 1 ? " in this and other shots" : "");
    return SU_OK;
}

/* What is asked for; holds the defaults until the command line is read. */
static job j = {.set = {.self_stiffness = 1,
                        .step = {.tolerance = -1},
                        .skinning = {.iterations = SU_SKINNING_ITERATIONS, .tolerance = SU_SKINNING_TOLERANCE}}};

static const su_option options[] = {
    SU_SIM_OPTIONS(j.set.sim, j.set.teleports, j.set.forces),
    {.name = "newton",
     .kind = SU_OPT_INT,
     .target = &j.set.step.newton,
     .argument = "N",
     .low = 1,
     .high = 1000,
     .help = "Linear solves a step at most, each with a matrix of its own, to --tolerance. Default: as many as the "
             "tolerance takes, with a factor that is kept while it serves."},
    {.name = "tolerance",
     .kind = SU_OPT_NUMBER,
     .target = &j.set.step.tolerance,
     .argument = "T",
     .low = 0,
     .high = 1,
     .help = "Residual, relative to the forces, at which a step is solved (default 1e-4, with --newton 1e-8); with "
             "skinning modes the relative change at which iterations stop (default 1e-4)."},
    {.name = "iterations",
     .kind = SU_OPT_INT,
     .target = &j.set.skinning.iterations,
     .argument = "N",
     .low = 1,
     .high = 100000,
     .help = "With skinning modes: local and global steps at most (default 100)."},
    {.name = "solver",
     .kind = SU_OPT_CHOICE,
     .target = &j.set.solver,
     .argument = "HOW",
     .choices = SOLVER_NAMES,
     .help = "With skinning modes: quasi-newton (default) learns from earlier iterations; local-global is FCD as "
             "printed, for comparison."},
    {.name = "inertia",
     .kind = SU_OPT_CHOICE,
     .target = &j.set.inertia,
     .argument = "HOW",
     .choices = SU_INERTIA_NAMES,
     .help = "consistent (default): what moves in the world is advanced; paper: PSSD eq. 5 as printed, for "
             "comparison."},
    {.name = "interpolation",
     .kind = SU_OPT_CHOICE,
     .target = &j.set.interpolation,
     .argument = "HOW",
     .choices = "model|" SU_INTERPOLATION_NAMES,
     .help = "model (default): as the model was trained; corotated: bases blended in the neutral pose and turned; "
             "linear: PSSD eq. 14, for comparison."},
    {.name = "crowd",
     .kind = SU_OPT_FLAG,
     .target = &j.set.crowd,
     .help = "With skinning modes and rigs of linear blend skinning: poses are made from the bones alone, so that a "
             "step looks at neither skin nor flesh, and clips run beside each other, a thread each. For hundreds of "
             "clips at once; what moved is not measured."},
    {.name = "estimate",
     .kind = SU_OPT_LIST,
     .target = &j.set.estimate,
     .argument = "TET FIT",
     .greedy = true,
     .help = "Find how far the result is from the full simulation, from the flesh and the fit that the model "
             "was made from. Shots with steps that were damped or failed are then played in the full space."},
    {.name = "bound",
     .kind = SU_OPT_NUMBER,
     .target = &j.set.bound,
     .argument = "SHARE",
     .low = 0,
     .high = 10,
     .help = "With --estimate: a shot with a frame that is off by more than this share of the motion (5%) is "
             "that of the full simulation (default 0: none is)."},
    {.name = "contact",
     .kind = SU_OPT_TEXT,
     .target = &j.set.contact,
     .argument = "CONTACT",
     .help = "Flesh does not pass through itself: the pairs that supple contact trained stand for all."},
    {.name = "self-contact",
     .kind = SU_OPT_CHOICE,
     .target = &j.set.self_contact,
     .argument = "WHICH",
     .choices = SU_SELF_CONTACT_NAMES,
     .help = "The same with every pair looked for on all of the flesh, as supple fullsim does, for comparison: what "
             "the rig's own shape has overlapping is left alone (new) or pushed out too (all). Goes with --fit."},
    {.name = "fit",
     .kind = SU_OPT_TEXT,
     .target = &j.set.flesh_fit,
     .argument = "FIT",
     .help = "With --self-contact: the fit that the model was made from."},
    {.name = "self-stiffness",
     .kind = SU_OPT_NUMBER,
     .target = &j.set.self_stiffness,
     .argument = "FACTOR",
     .low = 1e-6,
     .high = 1e6,
     .help = "With --contact and --self-contact: factor on the stiffness of contact (default 1)."},
    {.name = "self-friction",
     .kind = SU_OPT_NUMBER,
     .target = &j.set.self_friction,
     .argument = "MU",
     .low = 0,
     .high = 100,
     .help = "With --contact and --self-contact: coefficient of friction (default 0: skin slides). Pairs trained "
             "without it serve as they are."},
    {.name = "accept",
     .transient = true,
     .kind = SU_OPT_FLAG,
     .target = &j.set.accept,
     .help = "Failed frames, where the flesh follows the rig, are no failure: end with 0 and not with 4. The result "
             "is written either way."},
    {.name = "moved",
     .transient = true,
     .kind = SU_OPT_TEXT,
     .target = &j.set.moved,
     .argument = "FILE",
     .help = "Write what moved, by joint, in % of the character's diagonal, as text, for one shot; it is also in "
             "--stats."},
    {.name = "loop",
     .kind = SU_OPT_FLAG,
     .target = &j.set.loop,
     .help = "The clip is a cycle: repeat it until the flesh repeats too, and write the last cycle. Keeps no "
             "checkpoints."},
    {.name = "checkpoint",
     .transient = true,
     .kind = SU_OPT_INT,
     .target = &j.set.checkpoint,
     .argument = "N",
     .low = 0,
     .high = 100000000,
     .help = "Keep what is done in SIM.checkpoint every N frames, and when told to stop (default 0: never)."},
    {.name = "resume",
     .transient = true,
     .kind = SU_OPT_FLAG,
     .target = &j.set.resume,
     .help = "Go on from SIM.checkpoint where there is one; the result has the same bytes."},
};

static const su_program program = {.name = "supple-sim",
                                   .summary = "simulate a shot in the reduced space",
                                   .usage = "MODEL ANIM... -o SIM",
                                   .description =
                                       "Several clips share the model; -o then names a folder, and each result is "
                                       "called after its clip.",
                                   .example = "supple sim fox.model.npz run.anim.npz -o run.sim.npz",
                                   .options = options,
                                   .option_count = sizeof options / sizeof *options,
                                   .min_inputs = 2,
                                   .max_inputs = -1,
                                   .needs_output = true};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    j.set.sim = su_sim_defaults();
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
