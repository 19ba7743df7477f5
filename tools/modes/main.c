/* supple modes: the motions that the flesh has at each example pose. */
#include "modes.h"

#include "core/choice.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "matrices.h"
#include "reduce/modes/parts.h"
#include "reduce/modes/weight_stiffness.h"
#include "../sim_options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which of the fit's poses are wanted: all, or those that --pose names. */
static su_status choose_poses(job *j)
{
    const su_list *wanted = &j->set->poses;
    su_error *err = &j->tool->err;
    int64_t count = wanted->count ? wanted->count : j->fit.k;
    SU_TRY(SU_ALLOC(&j->rows, count, "poses", err));
    SU_TRY(SU_FILE_ALLOC(&j->modes.file, &j->modes.pose, count, err));
    j->modes.k = count;
    for (int64_t i = 0; i < count; i++) {
        if (!wanted->count) {
            j->rows[i] = i;
        } else { /* rows of the fit ascend with their poses, and so do those of this file */
            char *end;
            errno = 0;
            long pose = strtol(wanted->items[i], &end, 10);
            if (errno || *end || end == wanted->items[i])
                return su_fail(err, SU_USAGE, "--pose %s: is not a pose number", wanted->items[i]);
            int64_t row = 0;
            while (row < j->fit.k && j->fit.pose[row] != pose) row++;
            if (row == j->fit.k) return su_fail(err, SU_INPUT, "%s: has no pose %ld", j->tool->inputs.items[1], pose);
            int64_t at = i;
            for (; at > 0 && j->rows[at - 1] > row; at--) j->rows[at] = j->rows[at - 1];
            if (at > 0 && j->rows[at - 1] == row) return su_fail(err, SU_USAGE, "--pose %ld is given twice", pose);
            j->rows[at] = row;
        }
    }
    for (int64_t i = 0; i < count; i++) j->modes.pose[i] = j->fit.pose[j->rows[i]];
    return SU_OK;
}

static su_status load(job *j)
{
    su_error *err = &j->tool->err;
    const char *const *paths = j->tool->inputs.items;
    SU_TRY(su_tet_load(paths[0], &j->tet, err));
    SU_TRY(su_fit_load(paths[1], &j->fit, err));
    if (j->fit.n != j->tet.n || j->fit.t != j->tet.t)
        return su_fail(err, SU_INPUT, "%s: is of a mesh with %lld vertices and %lld tets, %s has %lld and %lld",
                       paths[1], (long long)j->fit.n, (long long)j->fit.t, paths[0], (long long)j->tet.n,
                       (long long)j->tet.t);
    const char *name = su_meta_text(j->fit.file.meta, "material", "");
    int material = su_material_from_name(name);
    if (material < 0) return su_fail(err, SU_INPUT, "%s: unknown material '%s'", paths[1], name);
    j->setup.material = (su_material)material;
    return choose_poses(j);
}

/* docs/formats.md, convention 16: what the modes of one pose depend on. */
static su_status pose_digest(const job *j, int64_t i, char hex[33])
{
    int64_t n = j->tet.n, t = j->tet.t, row = j->rows[i];
    int64_t counts[] = {n, t, j->tet.fixed_count, j->setup.d, j->setup.material, j->set->keep_rigid, j->set->contact};
    su_digest *digest = su_digest_begin();
    if (!digest) return su_fail(&j->tool->err, SU_AGAIN, "out of memory");
    su_digest_add(digest, counts, sizeof counts);
    su_digest_add(digest, j->linear, (size_t)j->setup.d * sizeof *j->linear);
    su_digest_add(digest, j->r, (size_t)j->setup.d * sizeof *j->r);
    su_digest_add(digest, j->modes.region_weights, (size_t)(j->setup.d * n) * sizeof(double));
    if (j->set->contact != CONTACT_NONE) {
        double lengths[] = {j->touching.tolerance, j->touching.depth, j->touching.apart};
        su_digest_add(digest, lengths, sizeof lengths);
    }
    su_digest_add(digest, j->tet.vertices, 3 * (size_t)n * sizeof(double));
    su_digest_add(digest, j->tet.tets, 4 * (size_t)t * sizeof(int32_t));
    su_digest_add(digest, j->tet.fixed, (size_t)j->tet.fixed_count * sizeof(int32_t));
    su_digest_add(digest, j->fit.shapes + 3 * row * n, 3 * (size_t)n * sizeof(double));
    su_digest_add(digest, j->fit.young + row * t, (size_t)t * sizeof(double));
    su_digest_add(digest, j->fit.poisson + row * t, (size_t)t * sizeof(double));
    su_digest_add(digest, j->fit.density, (size_t)t * sizeof(double));
    if (j->fit.turn_start) {
        su_digest_add(digest, j->fit.turn_start, (size_t)j->fit.n1 * sizeof *j->fit.turn_start);
        su_digest_add(digest, j->fit.turn_node, (size_t)j->fit.z * sizeof *j->fit.turn_node);
        su_digest_add(digest, j->fit.turn_weight, (size_t)j->fit.z * sizeof *j->fit.turn_weight);
    }
    if (j->obstacle_count && j->contacts[i].rows) { /* poses that touch nothing stay what they were */
        const su_contact_rows *c = &j->contacts[i];
        su_digest_add(digest, c->offsets, (size_t)(c->rows + 1) * sizeof *c->offsets);
        su_digest_add(digest, c->vertices, (size_t)c->entries * sizeof *c->vertices);
        su_digest_add(digest, c->coefficients, 3 * (size_t)c->entries * sizeof *c->coefficients);
    }
    su_digest_end(digest, hex);
    return SU_OK;
}

/* ---- modes ---- */

/* Progress by converged eigenvalues; before the first converge, by the solves that build the first Krylov space. */
static void tell(void *context, int64_t pose, int64_t region, int64_t converged, int64_t wanted, int64_t applications)
{
    job *j = context;
    double built = fmin((double)applications / (double)(2 * wanted + 20), 1), all = 0;
    double here = 0.3 * built + 0.5 * (double)converged / (double)wanted;
#pragma omp critical(modes_progress)
    {
        su_error unused = {0};
        j->done[pose] = fmax(j->done[pose], ((double)region + here) / (double)j->setup.d);
        for (int64_t i = 0; i < j->modes.k; i++) all += j->done[i];
        if (converged > j->converged[pose])
            su_detail(j->tool, "pose %d: %lld of %lld eigenvalues after %lld solves", (int)j->modes.pose[pose],
                      (long long)converged, (long long)wanted, (long long)applications);
        j->converged[pose] = converged;
        (void)su_progress_update(&j->tool->progress, all / (double)j->modes.k,
                                 &unused); /* a stop is seen by the solver */
    }
}

static su_status solve_pose(job *j, int64_t i, int threads, su_error *err)
{
    int64_t row = j->rows[i], n = j->tet.n, t = j->tet.t;
    if (j->reused[i]) return SU_OK;
    su_pose_watch watch = {tell, j, i, &j->tool->progress};
    const su_pose_flesh pose = {j->fit.shapes + 3 * row * n, j->fit.young + row * t, j->fit.poisson + row * t,
                                j->contacts[i].rows ? &j->contacts[i] : NULL};
    su_status status = su_pose_modes(&j->setup, &pose, j->modes.eigenvalues + i * j->modes.linear,
                                     j->modes.modes + 3 * i * j->modes.r * n, &j->reports[i], threads, &watch, err);
    if (status != SU_OK) su_error_context(err, "pose %d: ", (int)j->modes.pose[i]);
    return status;
}

/* --reuse: poses of an earlier run that depend on the same things. */
static su_status take_reused(job *j)
{
    su_modes old = {0}, *modes = &j->modes;
    su_status status;
    int64_t taken = 0;
    if (!j->set->reuse) return SU_OK;
    SU_GO(su_modes_load(j->set->reuse, &old, &j->tool->err));
    for (int64_t i = 0; i < modes->k; i++) {
        char hex[33];
        SU_GO(pose_digest(j, i, hex));
        int64_t at = su_pose_of_digest(&old.file, hex), size = 3 * modes->r * modes->n;
        if (at < 0 || at >= old.k || old.r != modes->r || old.n != modes->n || old.linear != modes->linear) continue;
        memcpy(modes->modes + i * size, old.modes + at * size, (size_t)size * sizeof(double));
        memcpy(modes->eigenvalues + i * modes->linear, old.eigenvalues + at * modes->linear,
               (size_t)modes->linear * sizeof(double));
        j->reused[i] = true, taken++;
    }
    su_note(j->tool, "%lld of %lld poses are in %s", (long long)taken, (long long)modes->k,
            su_base_name(j->set->reuse));
    su_stats_integer(j->tool, "reused_poses", taken);
done:
    su_modes_free(&old);
    return status;
}

/* Poses beside each other where memory allows, each with its share of the threads. */
static su_status solve_all(job *j)
{
    int64_t k = j->modes.k;
    int threads = j->tool->threads, team = j->tet.t > 200000 ? 1 : threads < k ? threads : (int)k;
    su_status first = SU_OK;
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
    for (int64_t i = 0; i < k; i++) {
        su_error err = {0};
        su_status status = solve_pose(j, i, threads / team, &err);
#pragma omp critical(modes_progress)
        {
            double all = 0;
            j->done[i] = 1;
            for (int64_t p = 0; p < k; p++) all += j->done[p];
            if (status == SU_OK) status = su_progress_update(&j->tool->progress, all / (double)k, &err);
            su_keep_first_error(&first, &j->tool->err, status, &err);
        }
    }
    return first;
}

static void report(const job *j)
{
    su_tool *tool = j->tool;
    double factor = 0, eigen = 0, derivatives = 0, pca = 0, residual = 0, lowest = INFINITY;
    for (int64_t i = 0; i < j->modes.k; i++) {
        const su_mode_report *r = &j->reports[i];
        double first = INFINITY, last = 0;
        for (int64_t v = 0; v < j->modes.linear; v++) {
            double value = fmax(j->modes.eigenvalues[i * j->modes.linear + v], 0);
            first = fmin(first, value), last = fmax(last, value);
        }
        lowest = fmin(lowest, first);
        factor += r->seconds_factor, eigen += r->seconds_eigen;
        derivatives += r->seconds_derivatives, pca += r->seconds_pca;
        residual = fmax(residual, r->residual);
        if (j->reused[i]) continue;
        su_detail(tool, "pose %d: %.2f to %.2f Hz, residual %.1e, %lld constraints, %lld solves%s",
                  (int)j->modes.pose[i], sqrt(first) / (2 * M_PI), sqrt(last) / (2 * M_PI), r->residual,
                  (long long)r->constraints, (long long)r->applications,
                  r->projected ? ", stiffness made definite" : "");
        if (r->projected)
            su_warn(tool,
                    "pose %d: the stiffness is indefinite at the rest shape (collapsed tets); its element matrices "
                    "were made definite",
                    (int)j->modes.pose[i]);
    }
    su_stats_stage(tool, "factor", factor);
    su_stats_stage(tool, "eigen", eigen);
    su_stats_stage(tool, "derivatives", derivatives);
    su_stats_stage(tool, "pca", pca);
    su_stats_number(tool, "largest_residual", residual);
    su_stats_integer(tool, "poses", j->modes.k);
    su_stats_integer(tool, "modes", j->modes.r);
    su_stats_integer(tool, "linear_modes", j->modes.linear);
    su_note(tool, "%lld poses, %lld modes (%lld linear), lowest %.2f Hz, residual %.1e, %.0f MB at most",
            (long long)j->modes.k, (long long)j->modes.r, (long long)j->modes.linear, sqrt(lowest) / (2 * M_PI),
            residual, (double)su_peak_memory() / 1e6);
}

static su_status make_meta(job *j)
{
    su_tool *tool = j->tool;
    json_t *meta = su_tool_meta(tool, "supple.modes", 1, tool->inputs.items, tool->inputs.count),
           *digests = json_array();
    j->modes.file.meta = meta;
    if (!meta || !digests) {
        json_decref(digests);
        return meta ? su_fail(&tool->err, SU_AGAIN, "out of memory") : tool->err.status;
    }
    for (int64_t i = 0; i < j->modes.k; i++) {
        char hex[33];
        if (pose_digest(j, i, hex) != SU_OK) {
            json_decref(digests);
            return tool->err.status;
        }
        json_array_append_new(digests, json_string(hex));
    }
    json_object_set_new(meta, "pose_digests", digests);
    json_t *counts = json_array(), *names = json_array();
    for (int64_t h = 0; h < j->setup.d; h++) {
        json_array_append_new(counts, json_integer(j->linear[h]));
        if (j->handles) json_array_append_new(names, json_string(j->names[h]));
    }
    json_object_set_new(meta, "linear_modes", counts);
    if (j->handles) {
        json_object_set(meta, "region_names", names);
        json_object_set_new(meta, "eta", json_real(j->set->eta));
        json_object_set_new(meta, "kappa", json_real(SU_REGION_FADE));
    }
    json_decref(names);
    json_object_set_new(meta, "material", su_choice_json(SU_MATERIAL_NAMES, (int)j->setup.material));
    return SU_OK;
}

static bool has_gravity(const su_sim_settings *sim)
{
    const su_sim_settings usual = su_sim_defaults();
    return sim->gravity_mode != usual.gravity_mode || memcmp(sim->gravity, usual.gravity, sizeof usual.gravity) != 0;
}

/* Options that belong to another kind of result than the one that is asked for. */
static su_status check_use(su_tool *tool, const settings *set)
{
    su_error *err = &tool->err;
    if (set->kind == KIND_SKINNING) return SU_OK;
    if (tool->inputs.count > 2 || set->leak || set->rigid_body || set->unconstrained || set->no_hold ||
        set->covariance || set->local)
        return su_fail(err, SU_USAGE,
                       "a third file, --leak, --rigid-body, --unconstrained, --no-hold, --covariance and --local go "
                       "with --kind skinning");
    if (set->contact_forces && !set->self_contact)
        return su_fail(err, SU_USAGE, "--contact-forces goes with --self-contact: without it there are none");
    const char *of_motion = set->shots.count ? "--shots" : set->self_contact ? "--self-contact" : NULL;
    if (!of_motion && has_gravity(&set->sim)) of_motion = "--gravity";
    if (set->motion.count == 0 && of_motion) return su_fail(err, SU_USAGE, "%s goes with --motion", of_motion);
    if (set->motion.count == 0) return SU_OK;
    if (set->contact_forces && set->contact_forces >= set->r)
        return su_fail(err, SU_USAGE, "--contact-forces %d: leaves nothing of the %d modes for the motion (-r)",
                       set->contact_forces, set->r);
    if (set->contact != CONTACT_NONE || set->handles || set->regions || set->planes.count || set->colliders.count ||
        set->poses.count || set->reuse || set->matrices || set->keep_rigid)
        return su_fail(err, SU_USAGE,
                       "--motion makes one basis for all poses: --shots, -r, --linear and nothing else go with it");
    return SU_OK;
}

static su_status allocate(job *j, su_error *err)
{
    su_modes *modes = &j->modes;
    SU_TRY(SU_FILE_ALLOC(&modes->file, &modes->modes, 3 * modes->k * modes->r * modes->n, err));
    SU_TRY(SU_FILE_ALLOC(&modes->file, &modes->eigenvalues, modes->k * modes->linear, err));
    SU_TRY(SU_FILE_ALLOC(&modes->file, &modes->mode_region, modes->r, err));
    SU_TRY(SU_ALLOC(&j->reports, modes->k, "reports", err));
    SU_TRY(SU_ALLOC(&j->contacts, modes->k, "contacts", err));
    SU_TRY(SU_ALLOC(&j->done, modes->k, "progress", err));
    SU_TRY(SU_ALLOC(&j->converged, modes->k, "progress", err));
    return SU_ALLOC(&j->reused, modes->k, "progress", err);
}

static su_mode_setup setup_of(const job *j)
{
    return (su_mode_setup){.n = j->tet.n,
                           .t = j->tet.t,
                           .held_count = j->tet.fixed_count,
                           .vertices = j->tet.vertices,
                           .tets = j->tet.tets,
                           .held = j->tet.fixed,
                           .density = j->fit.density,
                           .material = j->setup.material,
                           .smoothing = su_fit_smoothing(&j->fit),
                           .d = j->setup.d,
                           .weights = j->modes.region_weights,
                           .linear = j->linear,
                           .r = j->r,
                           .keep_rigid = j->set->keep_rigid};
}

/* The modes of every pose: how many of which kind, what constrains and drives them, the modes themselves, the file. */
static su_status modes_run(job *j)
{
    su_tool *tool = j->tool;
    const settings *set = j->set;
    su_modes *modes = &j->modes;
    su_error *err = &tool->err;
    int64_t free_dofs = 3 * (j->tet.n - j->tet.fixed_count);
    SU_TRY(read_handles(j));
    SU_TRY(obstacles_read(&set->planes, &set->colliders, &j->obstacle_count, &j->obstacles, err));
    SU_TRY(share_modes(j));
    if (modes->r > free_dofs / 2)
        return su_fail(err, SU_INPUT, "%s: %lld degrees of freedom are too few for %lld modes; ask for fewer by -r",
                       tool->inputs.items[0], (long long)free_dofs, (long long)modes->r);
    modes->n = j->tet.n, modes->d = j->setup.d;
    su_note(tool, "%lld tets, %lld free vertices, %lld poses", (long long)j->tet.t, (long long)(free_dofs / 3),
            (long long)modes->k);
    if (tool->dry_run) return SU_OK;
    SU_TRY(allocate(j, err));
    SU_TRY(region_weights(j));
    if (set->contact != CONTACT_NONE || j->obstacle_count) SU_TRY(detect_contacts(j));
    j->setup = setup_of(j);
    if (set->matrices)
        SU_TRY(matrices_write(tool, set->matrices, &j->tet, &j->fit, j->rows[0], (int)j->setup.material));
    SU_TRY(take_reused(j));
    SU_TRY(solve_all(j));
    report(j);
    SU_TRY(make_meta(j));
    double started = su_seconds();
    SU_TRY(su_modes_save(tool->output, modes, err));
    su_stats_stage(tool, "write", su_seconds() - started);
    su_progress_finish(&tool->progress);
    return SU_OK;
}

static void job_free(job *j)
{
    su_tet_free(&j->tet);
    su_fit_free(&j->fit);
    for (int64_t i = 0; j->contacts && i < j->modes.k; i++) su_contact_free(&j->contacts[i]);
    su_modes_free(&j->modes);
    free(j->rows), free(j->reports), free(j->contacts), free(j->done), free(j->converged), free(j->reused);
    obstacles_free(j->obstacle_count, j->obstacles);
    free(j->handles), free(j->names), free(j->linear), free(j->r);
}

static su_status run(su_tool *tool, const settings *set)
{
    job j = {.tool = tool, .set = set};
    su_status status;
    SU_GO(load(&j));
    SU_GO(check_use(tool, set));
    status = set->kind == KIND_SKINNING ? skinning_run(&j) : set->motion.count ? motion_run(&j) : modes_run(&j);
done:
    job_free(&j);
    return status;
}

/* What is asked for; holds the defaults until the command line is read. */
static settings set = {.shapes = 10, .tolerance = 0.005, .eta = 0.1};

static const su_option options[] = {
    {.name = "modes",
     .letter = 'r',
     .kind = SU_OPT_INT,
     .target = &set.r,
     .argument = "N",
     .low = 0,
     .high = 2000,
     .help = "modes of one basis (default: 0, which is 100), of each pose, linear ones and derivatives together (60), "
             "or skinning modes (10)."},
    {.name = "kind",
     .kind = SU_OPT_CHOICE,
     .target = &set.kind,
     .argument = "KIND",
     .choices = "linear|skinning",
     .help = "linear: modes and derivatives, or one basis. skinning: skinning eigenmodes of the neutral pose, each "
             "the weight of an affine map, among what the rig does not do itself; no poses and no training "
             "(default: linear)."},
    {.name = "leak",
     .kind = SU_OPT_TEXT,
     .target = &set.leak,
     .argument = "FILE",
     .help = "skinning: how far flesh is held to the rig, 0 to 1: a number (.csv, .npy) for each flesh or skin "
             "vertex, or none for 1 everywhere. Where it is small, motion of the rig leaks into the flesh "
             "(default: diffusion of the skin inwards)."},
    {.name = "rigid-body",
     .kind = SU_OPT_FLAG,
     .target = &set.rigid_body,
     .help = "skinning: the rig is one rigid handle; no third file."},
    {.name = "unconstrained",
     .kind = SU_OPT_FLAG,
     .target = &set.unconstrained,
     .help = "skinning: motions of the rig stay among those of the flesh; no third file."},
    {.name = "no-hold",
     .kind = SU_OPT_FLAG,
     .target = &set.no_hold,
     .help = "skinning: held vertices move like others."},
    {.name = "covariance",
     .kind = SU_OPT_CHOICE,
     .target = &set.covariance,
     .argument = "WHICH",
     .choices = SU_COVARIANCE_NAMES,
     .help = "skinning: what of the affine maps the weights are made for; scale and shear gather around the middle "
             "of the flesh, for comparison (default: translation)."},
    {.name = "shapes",
     .kind = SU_OPT_INT,
     .target = &set.shapes,
     .argument = "N",
     .low = 0,
     .high = 200,
     .help = "skinning: at most so many principal shapes of a rig that has neither bones nor blend shapes, or of what "
             "these do not make of its skins: dual quaternions, sculpts; 0: none "
             "(default: 10)."},
    {.name = "local",
     .kind = SU_OPT_INT,
     .target = &set.local,
     .argument = "N",
     .low = 0,
     .high = 2000,
     .help = "skinning: modes of local support, -r shared by N overlapping regions that are spread over the flesh; "
             "--handles, or --regions and --bones, say where they are instead (default: 0, modes of the whole flesh)."},
    {.name = "linear",
     .kind = SU_OPT_INT,
     .target = &set.linear,
     .argument = "N",
     .low = 0,
     .high = 2000,
     .help = "how many of them are linear modes; the others are the principal directions of their derivatives "
             "(default: 0, a third; with --motion a sixth)."},
    {.name = "motion",
     .kind = SU_OPT_LIST,
     .target = &set.motion,
     .argument = "ANIM",
     .greedy = true,
     .help = "make one basis for all poses instead, from this motion (supple motion makes one) and from --shots, "
             "played in the full space; "
             "the result is a BASIS file as supple align writes it."},
    {.name = "shots",
     .kind = SU_OPT_LIST,
     .target = &set.shots,
     .argument = "ANIM",
     .greedy = true,
     .help = "with --motion: shots to be baked, whose motion the basis holds as well."},
    {.name = "self-contact",
     .kind = SU_OPT_CHOICE,
     .target = &set.self_contact,
     .argument = "WHICH",
     .choices = SU_SELF_CONTACT_NAMES,
     .help = "with --motion: in what is played flesh does not pass through itself, as in supple fullsim, so that the "
             "modes have room for contact (default: none)."},
    {.name = "contact-forces",
     .kind = SU_OPT_INT,
     .target = &set.contact_forces,
     .argument = "N",
     .low = 0,
     .high = 2000,
     .help = "with --self-contact: the first N modes are how the flesh at rest gives way to the forces of contact "
             "(default: 0)."},
    SU_GRAVITY_OPTIONS(set.sim),
    {.name = "pose",
     .kind = SU_OPT_LIST,
     .target = &set.poses,
     .argument = "N",
     .greedy = true,
     .help = "only these poses, so that a farm can make one a job (default: all in FIT)."},
    {.name = "reuse",
     .kind = SU_OPT_TEXT,
     .target = &set.reuse,
     .argument = "MODES",
     .transient = true,
     .help = "poses that this file of an earlier run already has are taken from it, where nothing they depend on "
             "has changed; "
             "the result is the same."},
    {.name = "handles",
     .kind = SU_OPT_TEXT,
     .target = &set.handles,
     .argument = "FILE",
     .help = "regions, one around each handle: lines name,x,y,z (a point) or name,x,y,z,x,y,z (a segment) at the "
             "neutral pose, m. Handles of one name are one region. Default: one region, the whole flesh."},
    {.name = "regions",
     .kind = SU_OPT_TEXT,
     .target = &set.regions,
     .argument = "LIST",
     .help = "regions around bones instead: names of bones, or region=bone+bone, as head,ear.L=Ear1.L+Ear2.L; * and ? "
             "stand for any letters. Needs --bones."},
    {.name = "bones",
     .kind = SU_OPT_TEXT,
     .target = &set.bones,
     .argument = "POSES",
     .help = "the poses file that knows the bones of --regions."},
    {.name = "region-modes",
     .kind = SU_OPT_TEXT,
     .target = &set.region_modes,
     .argument = "LIST",
     .help = "modes by region, as belly=20,ear.L=8; regions not named take their share of -r: multiples of eight, "
             "which are the "
             "fastest, where these are nearly equal, else equal."},
    {.name = "eta",
     .kind = SU_OPT_NUMBER,
     .target = &set.eta,
     .argument = "W",
     .low = 0,
     .high = 0.99,
     .help = "weight at which a region ends (default: 0.1)."},
    {.name = "contact",
     .kind = SU_OPT_CHOICE,
     .target = &set.contact,
     .argument = "KIND",
     .choices = "none|pairs|sliding|fixed|tied",
     .help = "self-contact at the poses constrains the modes: tied, the kind to take, makes touching surfaces move "
             "as one, which keeps "
             "them apart in motions of any size and costs little more than free modes; pairs binds their motion "
             "along the normal only, so "
             "that they may slide, and in large motions turn and slip into each other; sliding and fixed anchor "
             "their vertices "
             "(default: none)."},
    {.name = "plane",
     .kind = SU_OPT_LIST,
     .target = &set.planes,
     .argument = "[POSE:]X,Y,Z,NX,NY,NZ",
     .help = "a ground plane through a point, m, with its normal towards the flesh, in the root frame of one pose or "
             "of all: "
             "flesh that touches it keeps from moving along the normal (with --contact fixed or tied, from moving)."},
    {.name = "collider",
     .kind = SU_OPT_LIST,
     .target = &set.colliders,
     .argument = "[POSE:]OBJ",
     .help = "a mesh that flesh touches, likewise; its faces are counter-clockwise seen from outside."},
    {.name = "contact-tolerance",
     .kind = SU_OPT_NUMBER,
     .target = &set.tolerance,
     .argument = "SHARE",
     .low = 0,
     .high = 0.2,
     .help = "surfaces nearer than this share of the flesh's diagonal touch (default: 0.005)."},
    {.name = "dump-matrices",
     .kind = SU_OPT_TEXT,
     .target = &set.matrices,
     .argument = "FILE",
     .transient = true,
     .help = "write K and M of the first pose wanted on the free degrees of freedom (.npz: indptr, indices, data "
             "of the "
             "lower triangle in compressed columns; mass; free_vertex), for other solvers."},
    {.name = "keep-rigid",
     .kind = SU_OPT_FLAG,
     .target = &set.keep_rigid,
     .help = "where flesh is held nowhere, its rigid motions count among the modes instead of being left out."},
};

static const su_program program = {
    .name = "supple-modes",
    .summary = "linear modes and modal derivatives of the flesh at each example pose, or one basis for all poses",
    .usage = "TET FIT -o MODES | TET FIT --motion ANIM [--shots ANIM...] -o BASIS | --kind skinning TET FIT "
             "ANIM|POSES -o SKINNING",
    .description =
        "Solves K u = lambda M u at the rest shape of each pose, with that pose's materials, and adds the "
        "leading directions of the modal derivatives, so that large motions stay in the subspace. Handles split "
        "the "
        "flesh into overlapping regions with modes of their own; contact keeps modes from pushing parts into each "
        "other. With --motion: the principal directions of what the flesh does in a motion, turned back to the "
        "neutral "
        "pose; one basis then serves all poses.",
    .example = "supple modes fox.tet.npz fox.fit.npz --pose 3 -o fox.modes.3.npz",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .min_inputs = 2,
    .max_inputs = 3,
    .needs_output = true,
};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    set.sim = su_sim_defaults();
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    if (set.r == 0) set.r = set.kind == KIND_SKINNING ? 10 : set.motion.count > 0 ? 100 : 60;
    return su_tool_end(&tool, run(&tool, &set));
}
