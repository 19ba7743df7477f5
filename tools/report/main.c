/* supple report: one HTML file that plays a bake in the browser and shows its numbers. */
#include "core/child.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/tool.h"
#include "pack.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct job {
    const char *poses_path, *basis_path, *modes_path, *template_path, *png, *view;
    su_list stats;
    su_model model;
    su_anim anim;
    su_sim sim;
    su_poses poses;
    su_basis basis;
    su_modes modes;
    su_shot *shot;
    su_reconstruct *reconstruct;
    su_model other_model; /* of the second bake, where it has one of its own */
    su_sim other_sim;
    su_reconstruct *other;
    su_page *page;
    json_t *info;
} job;

static void job_free(job *j)
{
    su_reconstruct_free(j->reconstruct);
    su_reconstruct_free(j->other);
    su_model_free(&j->other_model);
    su_sim_free(&j->other_sim);
    su_shot_free(j->shot);
    su_page_free(j->page);
    json_decref(j->info);
    su_model_free(&j->model);
    su_anim_free(&j->anim);
    su_sim_free(&j->sim);
    su_poses_free(&j->poses);
    su_basis_free(&j->basis);
    su_modes_free(&j->modes);
}

static su_status check_run(const su_sim *sim, const su_model *model, const su_anim *anim, const char *path,
                           const char *anim_path, su_error *err)
{
    if (sim->F != anim->F || sim->F < 1)
        return su_fail(err, SU_INPUT, "%s: has %lld frames, %s has %lld: not a run of this shot", path,
                       (long long)sim->F, anim_path, (long long)anim->F);
    if (!sim->q == !sim->u || (sim->q && (sim->r != model->r || sim->m != model->m)) ||
        ((sim->u || sim->full_u) && sim->n != model->n))
        return su_fail(err, SU_INPUT, "%s: made with another model", path);
    return SU_OK;
}

/* A second bake of the shot: another run of the model, or another model and its run. */
static su_status load_other(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const char *const *inputs = tool->inputs.items;
    int count = tool->inputs.count;
    if (count < 4) return SU_OK;
    const su_model *model = &j->model;
    if (count == 5) {
        SU_TRY(su_model_load(inputs[3], &j->other_model, err));
        model = &j->other_model;
        if (model->nbar != j->model.nbar)
            return su_fail(err, SU_INPUT, "%s: %lld skin vertices, the first model has %lld: not the same character",
                           inputs[3], (long long)model->nbar, (long long)j->model.nbar);
    }
    SU_TRY(su_sim_load(inputs[count - 1], &j->other_sim, err));
    SU_TRY(check_run(&j->other_sim, model, &j->anim, inputs[count - 1], inputs[1], err));
    return su_reconstruct_create(model, su_sim_interpolation(&j->other_sim), model->nbar, NULL, tool->threads,
                                 &j->other, err);
}

static su_status load(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const char *const *inputs = tool->inputs.items;
    const su_model *model = &j->model;
    SU_TRY(su_model_load(inputs[0], &j->model, err));
    SU_TRY(su_anim_load(inputs[1], &j->anim, err));
    SU_TRY(su_sim_load(inputs[2], &j->sim, err));
    const su_sim *sim = &j->sim;
    SU_TRY(check_run(sim, model, &j->anim, inputs[2], inputs[1], err));
    if (j->poses_path) SU_TRY(su_poses_load(j->poses_path, &j->poses, err));
    if (j->basis_path) SU_TRY(su_basis_load(j->basis_path, &j->basis, err));
    if (j->modes_path) SU_TRY(su_modes_load(j->modes_path, &j->modes, err));
    if (j->poses_path && (j->poses.m != model->m || j->poses.nbar != model->nbar))
        return su_fail(err, SU_INPUT, "%s: %lld poses of %lld vertices, the model has %lld of %lld", j->poses_path,
                       (long long)j->poses.m, (long long)j->poses.nbar, (long long)model->m, (long long)model->nbar);
    if (j->modes_path && j->modes.n != model->n)
        return su_fail(err, SU_INPUT, "%s: %lld flesh vertices, the model has %lld", j->modes_path,
                       (long long)j->modes.n, (long long)model->n);
    su_shot_target target = {.rig = su_rig_of_model(model), .nbar = model->nbar, .neutral = model->neutral};
    SU_TRY(su_shot_create(&j->anim, inputs[1], &target, 0, NULL, &j->shot, NULL, err));
    SU_TRY(su_reconstruct_create(model, su_sim_interpolation(sim), model->nbar, NULL, tool->threads, &j->reconstruct,
                                 err));
    return load_other(tool, j);
}

/* The statistics of the stages: name, seconds, warnings. Files that are not there or no JSON are passed over with a
 * warning. */
static void read_stats(su_tool *tool, job *j)
{
    json_t *list = json_array();
    for (int i = 0; i < j->stats.count; i++) {
        json_t *stats = json_load_file(j->stats.items[i], 0, NULL);
        if (json_is_object(stats))
            json_array_append(list, stats);
        else
            su_warn(tool, "%s: no statistics", j->stats.items[i]);
        json_decref(stats);
    }
    json_object_set_new(j->info, "stages", list);
}

/* The page is bundled by `make viewer`: beside the build's programs, or installed. */
static su_status find_template(su_tool *tool, const job *j, char path[4096])
{
    static const char *const places[] = {"../build/viewer/report.html", "../../viewer/report.html",
                                         "../share/supple/report.html"};
    if (j->template_path) {
        snprintf(path, 4096, "%s", j->template_path);
        return SU_OK;
    }
    char self[2048];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = 0;
        *strrchr(self, '/') = 0;
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            snprintf(path, 4096, "%s/%s", self, places[i]);
            if (access(path, R_OK) == 0) return SU_OK;
        }
    }
    return su_fail(&tool->err, SU_FAILED, "the viewer has not been built; run `make viewer` (it needs npm)");
}

static su_status copy_file(const char *from, const char *to, su_error *err)
{
    char block[1 << 16];
    size_t got;
    su_output out = {0};
    FILE *in = fopen(from, "rb");
    if (!in) return su_fail(err, SU_AGAIN, "%s: cannot read", from);
    su_status status = su_output_open(&out, to, err);
    while (status == SU_OK && (got = fread(block, 1, sizeof block, in)) > 0)
        status = su_output_write(&out, block, got, err);
    if (status == SU_OK && ferror(in)) status = su_fail(err, SU_AGAIN, "%s: cannot read", from);
    fclose(in);
    if (status == SU_OK) status = su_output_commit(&out, err);
    su_output_abandon(&out);
    return status;
}

/* A contact sheet of the page, or the page as wanted, drawn by an installed Chromium. The picture appears under its
 * name only when whole. */
static su_status draw_sheet(su_tool *tool, const job *j)
{
    static const char *const browsers[] = {"chromium", "chromium-browser", "google-chrome", "chrome"};
    su_error *err = &tool->err;
    char *page = realpath(tool->output, NULL), *url = NULL, *shot = NULL, *picture = NULL, *profile = NULL;
    char folder[1024];
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/supple-report.XXXXXX", temporary && *temporary ? temporary : "/tmp");
    su_status status = SU_OK;
    bool made = page && mkdtemp(folder);
    if (!made || asprintf(&url, "file://%s#still&%s", page, j->view ? j->view : "sheet=8") < 0 ||
        asprintf(&picture, "%s/sheet.png", folder) < 0 || asprintf(&shot, "--screenshot=%s", picture) < 0 ||
        asprintf(&profile, "--user-data-dir=%s/profile", folder) < 0) {
        if (made) rmdir(folder);
        free(page), free(url), free(picture), free(shot), free(profile);
        return su_fail(err, SU_AGAIN, "%s: cannot draw it", tool->output);
    }
    const su_child_limits limits = {.seconds = 120, .progress = &tool->progress};
    su_child_result result = {0};
    bool ran = false;
    for (size_t i = 0; i < sizeof browsers / sizeof *browsers && !ran; i++) {
        const char *const argv[] = {browsers[i],
                                    "--headless",
                                    "--no-sandbox",
                                    "--use-gl=angle",
                                    "--use-angle=swiftshader",
                                    "--enable-unsafe-swiftshader",
                                    "--ignore-gpu-blocklist",
                                    "--hide-scrollbars",
                                    "--window-size=1360,1010",
                                    profile,
                                    shot,
                                    url,
                                    NULL};
        ran = su_child_run(argv, NULL, &limits, &result, err) == SU_OK;
    }
    if (!ran)
        status = su_fail(err, SU_FAILED, "%s: no Chromium is installed to draw it", j->png);
    else if (result.end != SU_CHILD_EXITED || result.code != 0 || access(picture, R_OK) != 0)
        status = su_fail(err, SU_AGAIN, "%s: Chromium did not draw it: %.300s", j->png, result.tail);
    else
        status = copy_file(picture, j->png, err);
    const char *const clean[] = {"rm", "-rf", folder, NULL};
    (void)su_child_run(clean, NULL, &limits, &result, NULL);
    free(page), free(url), free(picture), free(shot), free(profile);
    return status;
}

static su_status run(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    char template_path[4096];
    if (j->view && !j->png) return su_fail(err, SU_USAGE, "--view goes with --png");
    for (const char *c = j->view; c && *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789=&,.-", *c))
            return su_fail(err, SU_USAGE, "--view %s: write name=value&name=value", j->view);
    SU_TRY(load(tool, j));
    SU_TRY(find_template(tool, j, template_path));
    if (tool->dry_run) return SU_OK;
    SU_TRY(su_page_create(&j->page, err));
    j->info = json_object();
    const json_t *meta = j->anim.file.meta;
    const char *names[] = {"model", "animation", "run"};
    for (int i = 0; i < 3; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s_file", names[i]);
        json_object_set_new(j->info, key, json_string(su_base_name(tool->inputs.items[i])));
    }
    if (j->other)
        json_object_set_new(j->info, "second_file",
                            json_string(su_base_name(tool->inputs.items[tool->inputs.count - 1])));
    json_object_set_new(j->info, "clip", json_string(su_meta_text(meta, "clip", "")));
    json_object_set_new(j->info, "fps", json_real(su_meta_number(meta, "fps", 24.0)));
    json_object_set_new(j->info, "frame_start", json_real(su_meta_number(meta, "frame_start", 0.0)));
    json_object_set_new(j->info, "supple", json_string(SU_VERSION));
    read_stats(tool, j);
    const report_data data = {.model = &j->model,
                              .anim = &j->anim,
                              .sim = &j->sim,
                              .poses = j->poses_path ? &j->poses : NULL,
                              .basis = j->basis_path ? &j->basis : NULL,
                              .modes = j->modes_path ? &j->modes : NULL,
                              .shot = j->shot,
                              .reconstruct = j->reconstruct,
                              .other_sim = j->other ? &j->other_sim : NULL,
                              .other = j->other,
                              .progress = &tool->progress};
    SU_TRY(report_pack(&data, j->page, j->info, err));
    SU_TRY(su_page_save(j->page, template_path, j->info, tool->output, err));
    if (j->png) SU_TRY(draw_sheet(tool, j));
    return su_progress_update(&tool->progress, 1.0, err);
}

int main(int argc, char **argv)
{
    job j = {0};
    const su_option options[] = {
        {.name = "poses",
         .kind = SU_OPT_TEXT,
         .target = &j.poses_path,
         .argument = "FILE",
         .help = "The example poses: shows the modes and points of each of them, and painted stiffness."},
        {.name = "modes",
         .kind = SU_OPT_TEXT,
         .target = &j.modes_path,
         .argument = "FILE",
         .help = "The modes: shows frequencies and contact points."},
        {.name = "basis",
         .kind = SU_OPT_TEXT,
         .target = &j.basis_path,
         .argument = "FILE",
         .help = "The aligned bases: shows subspace angles and the tree of poses."},
        {.name = "stage",
         .kind = SU_OPT_LIST,
         .target = &j.stats,
         .argument = "FILE",
         .greedy = true,
         .help = "Statistics that stages wrote by --stats: shows their times, their warnings and the error of the "
                 "cubature as it grew; any number."},
        {.name = "png",
         .kind = SU_OPT_TEXT,
         .target = &j.png,
         .argument = "FILE",
         .help = "Also draw a contact sheet of eight frames and the first charts; needs an installed Chromium."},
        {.name = "view",
         .kind = SU_OPT_TEXT,
         .target = &j.view,
         .argument = "STATE",
         .help = "What --png draws instead of the contact sheet: the page as it opens with this behind the # of its "
                 "address: "
                 "frame=48&show=both, show=modes&pose=1&mode=2&points=inertia, colour=young."},
        {.name = "template",
         .kind = SU_OPT_TEXT,
         .target = &j.template_path,
         .argument = "FILE",
         .help = "Another page than the one that `make viewer` builds."},
    };
    const su_program program = {
        .name = "supple-report",
        .summary = "show a bake in the browser",
        .usage = "MODEL ANIM SIM [[MODEL] SIM] -o PAGE",
        .description =
            "Writes one HTML file that needs no network: the rig and the simulated skin, played and scrubbed, "
            "coloured by displacement, the modes, the points of the reduced model, and charts. Where `make viewer` "
            "found "
            "what it needs the page simulates, too: pull at the flesh, change its settings, copy the command that "
            "bakes "
            "what is seen. A second bake of the same shot, by the same model or another, stands beside the first.",
        .example = "supple report fox.model.npz run.anim.npz run.sim.npz --poses fox.poses.npz -o run.html",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .min_inputs = 3,
        .max_inputs = 5,
        .needs_output = true};
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
