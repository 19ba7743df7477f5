/* supple fit: rest shapes and materials of the flesh at the example poses. */
#include "core/choice.h"
#include "core/progress.h"
#include "core/threads.h"
#include "core/tool.h"
#include "fem/fit_poses.h"
#include "fem/smooth_weights.h"
#include "physics/material.h"
#include "check_shots.h"
#include "job.h"

#include <math.h>
#include <stdlib.h>

#define PER_CENT 0.01
/* Flesh that misses the skin by less than this is not worth a warning, whatever --residual asks for: of the diagonal,
 * the default of --residual, which no eye sees. */
#define USUAL_RESIDUAL (0.2 * PER_CENT)
/* How a run's progress is divided: materials, fitting; the shots and the file come after. */
static const double calibrated = 0.1, fitted = 0.9;

static void report(const job *j)
{
    su_tool *tool = j->tool;
    double worst = 0, largest = 0, off = 0, deepest = 0, gamma = j->set->gamma;
    int64_t collapsed = 0, iterations = 0, missed = 0, deep = 0;
    for (int64_t k = 0; k < j->fit.k; k++) {
        const su_fit_report *r = &j->reports[k];
        worst = fmax(worst, r->residual), largest = fmax(largest, r->largest), off = fmax(off, r->held_off);
        if (r->gamma > 0) gamma = fmin(gamma, r->gamma); /* pose 0 is not fitted */
        collapsed += r->collapsed, iterations += r->iterations;
        su_detail(tool,
                  "pose %d: residual %.4f %% of the diagonal (largest %.3f %%) at gamma %.1e, %d Newton steps, "
                  "%lld collapsed tets, held vertices at most %.3f %% off their bones",
                  (int)j->fit.pose[k], 100 * r->residual, 100 * r->largest, r->gamma, r->iterations,
                  (long long)r->collapsed, 100 * r->held_off);
        if (r->collapsed)
            su_warn(tool,
                    "pose %d: %lld tets keep less than a tenth of their volume (%lld inverted); they act with their "
                    "neutral shape",
                    (int)j->fit.pose[k], (long long)r->collapsed, (long long)r->inverted);
        deepest = fmax(deepest, r->deepest), deep += r->deepest > PER_CENT * j->set->deepest;
        missed += r->residual > fmax(USUAL_RESIDUAL, PER_CENT * j->set->residual);
    }
    if (missed)
        su_warn(
            tool,
            "at %lld of %lld poses the flesh misses the skin, by %.2f %% of the diagonal at most, for it may not fold "
            "where the skin does; supple mesh --tets with a larger number follows it better",
            (long long)missed, (long long)j->fit.k, 100 * worst);
    if (deep)
        su_warn(tool, "at %lld of %lld poses flesh stays inside itself, %.2f %% of the diagonal deep at most",
                (long long)deep, (long long)j->fit.k, 100 * deepest);
    su_stats_number(tool, "residual", worst);
    if (j->set->deepest > 0) su_stats_number(tool, "deepest", deepest);
    su_stats_number(tool, "largest_distance", largest);
    su_stats_number(tool, "smallest_gamma", gamma);
    su_stats_number(tool, "held_off", off);
    su_stats_integer(tool, "collapsed", collapsed);
    su_stats_integer(tool, "newton_steps", iterations);
    su_stats_number(tool, "young", j->young);
    su_stats_number(tool, "lowest_frequency", sqrt(j->lowest) / (2 * M_PI));
    su_note(tool,
            "%lld poses, residual at most %.4f %% of the diagonal, %lld collapsed tets; E = %.4g Pa, lowest %.2f Hz",
            (long long)j->fit.k, 100 * worst, (long long)collapsed, j->young, sqrt(j->lowest) / (2 * M_PI));
}

static su_status fit_all(job *j)
{
    const settings *set = j->set;
    const su_pose_fits poses = {.tet = &j->tet,
                                .poses = &j->poses,
                                .tet_path = j->tool->inputs.items[0],
                                .poses_path = j->tool->inputs.items[1],
                                .area = j->area,
                                .diagonal = j->diagonal,
                                .gamma = set->gamma,
                                .residual = PER_CENT * set->residual,
                                .poisson = set->poisson,
                                .deepest = PER_CENT * set->deepest,
                                .done = j->reused};
    return su_fit_poses(&poses, &j->fit, j->reports, j->tool->threads, &j->tool->progress, &j->tool->err);
}

static su_status run(su_tool *tool, const settings *set)
{
    job j = {.tool = tool, .set = set};
    su_status status;
    if (set->suggest && !set->shots.count)
        return su_fail(&tool->err, SU_USAGE, "--suggest names frames of --shots, and there are none");
    SU_GO(load_inputs(&j));
    SU_GO(copy_poses(&j));
    su_note(tool, "%lld tets, %lld vertices (%lld held), %lld of %lld poses", (long long)j.tet.t, (long long)j.tet.n,
            (long long)j.tet.fixed_count, (long long)j.fit.k, (long long)j.fit.m);
    if (tool->dry_run) goto done;
    double started = su_seconds();
    su_progress_stage(&tool->progress, 0, calibrated);
    SU_GO(set_materials(&j));
    SU_GO(set_smoothing(&j));
    su_stats_stage(tool, "calibrate", su_seconds() - started), started = su_seconds();
    SU_GO(take_reused(&j));
    su_progress_stage(&tool->progress, calibrated, fitted);
    SU_GO(fit_all(&j));
    su_progress_stage(&tool->progress, fitted, 1);
    su_stats_stage(tool, "fit", su_seconds() - started), started = su_seconds();
    report(&j);
    if (set->shots.count && j.fit.k < j.fit.m) {
        su_warn(tool, "--shots needs all poses in one file; not checked");
    } else if (set->shots.count) {
        shot_check check = {.tet = &j.tet,
                            .poses = &j.poses,
                            .fit = &j.fit,
                            .area = j.area,
                            .diagonal = j.diagonal,
                            .suggest = set->suggest};
        SU_GO(check_shots(tool, &check, &set->shots));
    }
    su_stats_stage(tool, "shots", su_seconds() - started);
    SU_GO(make_meta(&j));
    SU_GO(su_fit_save(tool->output, &j.fit, &tool->err));
    su_progress_finish(&tool->progress);
done:
    su_tet_free(&j.tet);
    su_poses_free(&j.poses);
    su_fit_free(&j.fit);
    materials_free(&j.paint);
    free(j.area), free(j.reports), free(j.reused);
    return status;
}

/* What is asked for; holds the defaults until the command line is read. */
static settings set = {.material = SU_TISSUE,
                       .smoothing = SU_SMOOTHING_LENGTH,
                       .gamma = 1e-3,
                       .residual = 0.2,
                       .frequency = 3.5,
                       .poisson = 0.45,
                       .density = 1000};

static const su_option options[] = {
    {.name = "frequency",
     .kind = SU_OPT_NUMBER,
     .target = &set.frequency,
     .argument = "HZ",
     .low = 1e-3,
     .high = 1e4,
     .help = "lowest frequency of the flesh at the neutral pose; the stiffness follows from it (default: 3.5 Hz)."},
    {.name = "softness",
     .kind = SU_OPT_CHOICE,
     .target = &set.softness.kind,
     .argument = "HOW",
     .choices = "auto|body|even",
     .help = "where the flesh is soft: body: where it is thick; thin parts are stiffer by the square of what they "
             "are thinner, and so are heads, hands, feet, hair and what is carried, by the names of joints; "
             "--frequency "
             "is then that of the lowest motion that carries a twentieth of the flesh, and tips that swing below it "
             "are made stiffer; even: alike everywhere (default: auto, body where nothing is painted)."},
    {.name = "stiff",
     .kind = SU_OPT_LIST,
     .target = &set.softness.stiff,
     .argument = "JOINT=FACTOR",
     .help = "makes the flesh of a joint FACTOR times as stiff as it would be; * and ? stand for any letters. May be "
             "repeated."},
    {.name = "soft",
     .kind = SU_OPT_LIST,
     .target = &set.softness.soft,
     .argument = "JOINT=FACTOR",
     .help = "the same, FACTOR times as soft."},
    {.name = "young",
     .kind = SU_OPT_NUMBER,
     .target = &set.young,
     .argument = "PA",
     .low = 0,
     .high = 1e15,
     .help = "Young's modulus of soft flesh, instead of --frequency (default: 0, by frequency)."},
    {.name = "poisson",
     .kind = SU_OPT_NUMBER,
     .target = &set.poisson,
     .argument = "NU",
     .low = 0,
     .high = 0.499,
     .help = "Poisson's ratio (default: 0.45)."},
    {.name = "density",
     .kind = SU_OPT_NUMBER,
     .target = &set.density,
     .argument = "KG/M3",
     .low = 1e-3,
     .high = 1e6,
     .help = "mass density (default: 1000 kg/m^3)."},
    {.name = "paint",
     .kind = SU_OPT_CHOICE,
     .target = &set.paint,
     .argument = "HOW",
     .choices = "relative|absolute",
     .help = "what painted and per-tet values of stiffness mean: factors on the stiffness that --frequency or --young "
             "set, or Pa; of density: factors on --density, or kg/m^3. Poisson's ratios are always themselves "
             "(default: relative)."},
    {.name = "young-tets",
     .kind = SU_OPT_TEXT,
     .target = &set.files.young,
     .argument = "FILE",
     .help = "stiffness of each tet instead of what POSES has painted on the skin: NPY or CSV, (t) for all poses or "
             "(m,t) for each."},
    {.name = "poisson-tets",
     .kind = SU_OPT_TEXT,
     .target = &set.files.poisson,
     .argument = "FILE",
     .help = "Poisson's ratio of each tet, likewise."},
    {.name = "density-tets",
     .kind = SU_OPT_TEXT,
     .target = &set.files.density,
     .argument = "FILE",
     .help = "density of each tet, (t)."},
    {.name = "material",
     .kind = SU_OPT_CHOICE,
     .target = &set.material,
     .argument = "NAME",
     .choices = SU_MATERIAL_NAMES,
     .help = "material of the flesh (default: tissue, which\n"
             "stiffens as it is strained)."},
    {.name = "rest",
     .kind = SU_OPT_CHOICE,
     .target = &set.rest,
     .argument = "SHAPE",
     .choices = REST_NAMES,
     .help = "what is free of stress at a pose: each tet's neutral shape, turned by a smooth field of rotations, "
             "or the posed shape "
             "itself, folds and all, as in the paper (default: turned)."},
    {.name = "smoothing",
     .kind = SU_OPT_NUMBER,
     .target = &set.smoothing,
     .argument = "SHARE",
     .low = 1e-3,
     .high = 1,
     .help = "length over which those rotations are smoothed, as a part of the flesh's diagonal (default: 4%)."},
    {.name = "gamma",
     .kind = SU_OPT_NUMBER,
     .target = &set.gamma,
     .argument = "G",
     .low = 1e-9,
     .high = 1e3,
     .help = "weight of the strain energy against the distance to the skin, dimensionless (default: 1e-3)."},
    {.name = "residual",
     .kind = SU_OPT_NUMBER,
     .target = &set.residual,
     .argument = "PERCENT",
     .low = 0,
     .high = 100,
     .help = "wanted RMS distance to the skin, as a part of its diagonal: --gamma is made smaller pose by pose, at "
             "most "
             "1000 times, until it is met; 0 leaves --gamma alone (default: 0.2 %)."},
    {.name = "deepest",
     .kind = SU_OPT_NUMBER,
     .target = &set.deepest,
     .argument = "PERCENT",
     .low = 0,
     .high = 100,
     .help =
         "how deep flesh may be inside itself at a pose, as a part of the skin's diagonal: what is deeper is pushed "
         "apart; 0 leaves it as the skin has it (default: 0)."},
    {.name = "pose",
     .kind = SU_OPT_LIST,
     .target = &set.poses,
     .argument = "N",
     .greedy = true,
     .help = "only these poses, so that a farm can make one a job (default: all)."},
    {.name = "reuse",
     .kind = SU_OPT_LIST,
     .target = &set.reuse,
     .argument = "FIT...",
     .greedy = true,
     .transient = true,
     .help = "poses that these files of earlier runs already have are taken from them, where nothing they depend on "
             "has changed; the result is the same. So a farm's jobs, one a pose, are put together."},
    {.name = "shots",
     .kind = SU_OPT_LIST,
     .target = &set.shots,
     .argument = "ANIM...",
     .greedy = true,
     .transient = true,
     .help = "shots along which collapsed tets are counted and the distance to the skin is measured, at every frame."},
    {.name = "suggest",
     .kind = SU_OPT_INT,
     .target = &set.suggest,
     .argument = "N",
     .low = 0,
     .high = 64,
     .transient = true,
     .help = "with --shots, name up to N frames whose tets collapse most, to be added as example poses with supple "
             "poses "
             "--at (default: 0)."},
};

static const su_program program = {
    .name = "supple-fit",
    .summary = "fit the flesh to the skin of each example pose and set its materials",
    .usage = "TET POSES -o FIT",
    .description =
        "For each example pose the flesh takes the shape that follows the skin with least strain; at run time "
        "the fitted shapes correct a simple interpolation from the skin.",
    .example = "supple fit fox.tet.npz fox.poses.npz --shots run.anim.npz -o fox.fit.npz",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .min_inputs = 2,
    .max_inputs = 2,
    .needs_output = true,
};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    return su_tool_end(&tool, run(&tool, &set));
}
