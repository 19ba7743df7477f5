/* supple-contact: trains the few contact pairs that stand for all in a reduced simulation. */
#include "core/file.h"
#include "core/tool.h"
#include "io/stage/anim.h"
#include "io/stage/clip_frame.h"
#include "reduce/cubature/contact_training.h"
#include "../open_shot.h"

#include <stdlib.h>
#include <string.h>

/* Error of a pair set above which there is a warning: so many times what was asked for. */
static const double WARN_ERROR = 2;

typedef struct job {
    su_contact_plan plan;
    int poses, which; /* self-contact: 0 new, 1 all */
    su_list at;
    su_tet tet;
    su_fit fit;
    su_model model;
    int shots;
    su_anim *anims;            /* (shots) */
    su_shot **shot;            /* (shots) */
    su_sim_settings *settings; /* (shots) resolved */
    su_clip_frame *frame;      /* of --at */
    su_pair_sets sets;
} job;

static void job_free(job *j)
{
    for (int k = 0; k < j->shots; k++) {
        if (j->shot) su_shot_free(j->shot[k]);
        if (j->anims) su_anim_free(&j->anims[k]);
    }
    free(j->anims), free(j->shot), free(j->frame), free(j->settings);
    su_pair_sets_free(&j->sets);
    su_model_free(&j->model);
    su_fit_free(&j->fit);
    su_tet_free(&j->tet);
}

static su_status load(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const char *const *path = tool->inputs.items;
    SU_TRY(su_tet_load(path[0], &j->tet, err));
    SU_TRY(su_fit_load(path[1], &j->fit, err));
    SU_TRY(su_model_load(path[2], &j->model, err));
    if (j->tet.n != j->model.n || j->tet.t != j->model.t || j->fit.t != j->model.t || j->fit.k < 1)
        return su_fail(err, SU_INPUT, "%s, %s: %lld and %lld tets, the model has %lld", path[0], path[1],
                       (long long)j->tet.t, (long long)j->fit.t, (long long)j->model.t);
    if (j->model.k > 0)
        return su_fail(err, SU_INPUT, "%s: contact is trained for models of bases, not of skinning modes", path[2]);
    int shots = tool->inputs.count - 3;
    SU_TRY(SU_ALLOC(&j->anims, shots, "shots", err));
    SU_TRY(SU_ALLOC(&j->shot, shots, "shots", err));
    SU_TRY(SU_ALLOC(&j->settings, shots, "shots", err));
    su_shot_target target = {.rig = su_rig_of_model(&j->model), .nbar = j->model.nbar, .neutral = j->model.neutral};
    double frequency = su_meta_number(j->model.file.meta, "frequency", 0);
    for (; j->shots < shots; j->shots++) {
        int k = j->shots;
        SU_TRY(su_anim_load(path[3 + k], &j->anims[k], err));
        if (su_open_shot(tool, &j->anims[k], path[3 + k], &target, 0, NULL, "model", &j->shot[k]) != SU_OK) {
            su_anim_free(&j->anims[k]);
            return err->status;
        }
        j->settings[k] = su_sim_defaults();
        if (su_sim_settings_resolve(&j->settings[k], frequency, j->anims[k].F, j->anims[k].times,
                                    su_meta_number(j->anims[k].file.meta, "fps", SU_FILM_FPS), err) != SU_OK) {
            j->shots++;
            return su_error_context(err, "%s: ", path[3 + k]);
        }
    }
    return SU_OK;
}

static su_status read_places(su_tool *tool, job *j)
{
    SU_TRY(SU_ALLOC(&j->frame, j->at.count, "training poses", &tool->err));
    for (int i = 0; i < j->at.count; i++)
        SU_TRY(su_clip_frame_find(j->shots, j->anims, tool->inputs.items + 3, "--at", j->at.items[i], &j->frame[i],
                                  &tool->err));
    j->plan.given = j->at.count, j->plan.frame = j->frame;
    return SU_OK;
}

static su_status describe(su_tool *tool, job *j, const su_contact_trained *t)
{
    json_t *meta = su_tool_meta(tool, su_pair_sets_schema.kind, su_pair_sets_schema.version, tool->inputs.items,
                                tool->inputs.count);
    if (!meta) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "not enough memory");
    j->sets.file.meta = meta;
    json_object_set_new(meta, "self_contact", json_string(j->which ? "all" : "new"));
    json_object_set_new(meta, "tolerance", json_real(j->plan.tolerance));
    json_object_set_new(meta, "error", json_real(t->worst));
    return SU_OK;
}

static void report(su_tool *tool, const job *j, const su_contact_trained *t)
{
    su_stats_integer(tool, "poses", t->poses);
    su_stats_integer(tool, "domains", t->domains);
    su_stats_integer(tool, "domain_pairs", j->sets.s);
    su_stats_integer(tool, "pairs", t->met);
    su_stats_integer(tool, "most_pairs", t->most_met);
    su_stats_integer(tool, "kept", t->kept);
    su_stats_integer(tool, "most_kept", t->most_kept);
    su_stats_integer(tool, "vertices", j->sets.v);
    su_stats_integer(tool, "triangles", j->sets.k);
    su_stats_number(tool, "error", t->worst);
    su_stats_number(tool, "deepest_m", t->deepest);
    su_stats_integer(tool, "unsettled", t->failed);
    if (j->plan.direct) {
        su_stats_integer(tool, "direct_5", t->direct[0]);
        su_stats_number(tool, "direct_5_error", t->direct_error[0]);
        su_stats_integer(tool, "direct_1", t->direct[1]);
        su_stats_number(tool, "direct_1_error", t->direct_error[1]);
        su_stats_integer(tool, "direct_of", t->direct_of);
        su_note(tool, "one set for all poses: %lld pairs for 5 %%, %lld for 1 %%, of %lld", (long long)t->direct[0],
                (long long)t->direct[1], (long long)t->direct_of);
    }
    su_stats_stage(tool, "rest", t->rest_seconds);
    su_stats_stage(tool, "pairs", t->select_seconds);
    su_note(tool, "%lld poses, %lld domains: %lld of %lld pairs, at most %lld of %lld in a pose", (long long)t->poses,
            (long long)t->domains, (long long)t->kept, (long long)t->met, (long long)t->most_kept,
            (long long)t->most_met);
    if (t->met == 0) su_warn(tool, "nothing touches at these poses; shots in which parts meet are wanted");
    if (t->failed > 0) su_warn(tool, "at %lld poses the flesh did not come to rest", (long long)t->failed);
    if (t->worst > WARN_ERROR * j->plan.tolerance)
        su_warn(tool, "a pair set is %.0f %% off the force of all its pairs, %.0f %% were asked for", 100 * t->worst,
                100 * j->plan.tolerance);
}

static su_status run(su_tool *tool, job *j)
{
    su_contact_trained trained;
    SU_TRY(load(tool, j));
    SU_TRY(read_places(tool, j));
    if (tool->dry_run) return SU_OK;
    j->plan.tet = &j->tet, j->plan.fit = &j->fit, j->plan.model = &j->model;
    j->plan.shots = j->shots, j->plan.shot = (const su_shot *const *)j->shot;
    j->plan.settings = j->settings;
    j->plan.poses = j->poses, j->plan.allow_overlap = j->which == 0, j->plan.threads = tool->threads;
    j->plan.progress = &tool->progress;
    SU_TRY(su_contact_train(&j->plan, &j->sets, &trained, &tool->err));
    report(tool, j, &trained);
    SU_TRY(describe(tool, j, &trained));
    return su_pair_sets_save(tool->output, &j->sets, &tool->err);
}

/* What is asked for; holds the defaults until the command line is read. */
static job j = {.plan = {.tolerance = 0.05, .rings = 2}, .poses = 16};

static const su_option options[] = {
    {.name = "poses",
     .letter = 'm',
     .kind = SU_OPT_INT,
     .target = &j.poses,
     .argument = "N",
     .low = 1,
     .high = 10000,
     .help = "Training poses: frames of the shots that lie farthest apart (default 16)."},
    {.name = "at",
     .kind = SU_OPT_LIST,
     .target = &j.at,
     .argument = "CLIP:FRAME",
     .help = "A frame to train on, in place of those; repeat for several. CLIP is a clip's name or its file's, "
             "FRAME a number of the clip's own."},
    {.name = "self-contact",
     .kind = SU_OPT_CHOICE,
     .target = &j.which,
     .argument = "WHICH",
     .choices = "new|all",
     .help = "What the rig's own shape has overlapping is left alone (new, the default) or pushed out too (all)."},
    {.name = "tolerance",
     .kind = SU_OPT_NUMBER,
     .target = &j.plan.tolerance,
     .argument = "SHARE",
     .low = 1e-6,
     .high = 1,
     .help = "How far the force of the pairs of a set may be off that of all it stands for (default 5%)."},
    {.name = "rings",
     .kind = SU_OPT_INT,
     .target = &j.plan.rings,
     .argument = "N",
     .low = 0,
     .high = 50,
     .help = "Rings of triangles around those that a pair was met at, on which its way may end (default 2)."},
    {.name = "direct",
     .kind = SU_OPT_FLAG,
     .target = &j.plan.direct,
     .help = "Also count the pairs that one set for all poses together would need, for comparison."},
};

static const su_program program = {
    .name = "supple-contact",
    .summary = "train contact of the flesh with itself for a reduced model",
    .usage = "TET FIT MODEL ANIM... -o CONTACT",
    .description =
        "At poses of the shots the reduced flesh is brought to rest with all of its contact pairs. For each pose "
        "and "
        "each pair of domains, parts of the skin that one bone is nearest to, a few weighted pairs are kept that "
        "exert what all of them do. supple sim --contact blends those of the two nearest poses.",
    .example = "supple contact fox.tet.npz fox.fit.npz fox.model.npz run.anim.npz -o fox.contact.npz",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .min_inputs = 4,
    .max_inputs = -1,
    .needs_output = true,
};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
