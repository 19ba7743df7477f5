/* supple modes --kind skinning: skinning eigenmodes of the flesh, among what the rig does not do itself. */
#include "modes.h"

#include "core/choice.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "geometry/box.h"
#include "geometry/tetmesh.h"
#include "io/stage/anim.h"
#include "io/stage/poses.h"
#include "io/stage/skinning.h"
#include "io/table.h"
#include "linalg/principal.h"
#include "reduce/modes/complementarity.h"
#include "reduce/modes/local_skinning.h"
#include "reduce/modes/rig_residuals.h"
#include "reduce/modes/skinning_modes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Principal shapes of a rig without bones end where they leave this part of the skin's diagonal. */
#define SHAPES_LEAVE 1e-3

/* Of a rig with bones or blend shapes, what these do not make of its skins is looked for down to this part of the
 * diagonal, which is what `sim --crowd` takes for a skin that bones make by themselves, and in so many frames of a
 * clip at most. */
#define RESIDUALS_LEAVE 1e-4
enum { RESIDUAL_FRAMES = 64 };

/* What an ANIM or a POSES file says of the rig. */
typedef struct skin_rig {
    su_anim anim;
    su_poses poses;
    int64_t nbar, bones, morphs, frames;
    const float *weights;
    const double *morph, *neutral, *shapes; /* shapes (frames,nbar,3) of POSES, points of ANIM */
    const float *points;
} skin_rig;

static void skin_rig_free(skin_rig *s)
{
    su_anim_free(&s->anim);
    su_poses_free(&s->poses);
}

static su_status load_skin(su_tool *tool, const char *path, const su_tet *tet, skin_rig *s)
{
    su_error *err = &tool->err;
    su_npz *file;
    char kind[40] = "";
    SU_TRY(su_npz_open(path, &file, err));
    strncpy(kind, su_meta_text(su_npz_meta(file), "kind", ""), sizeof kind - 1);
    su_npz_close(file);
    if (strcmp(kind, "supple.anim") == 0) {
        SU_TRY(su_anim_load(path, &s->anim, err));
        const su_anim *a = &s->anim;
        s->nbar = a->nbar, s->bones = a->weights ? a->B : 0, s->morphs = a->morphs ? a->K : 0, s->frames = a->F;
        s->weights = a->weights, s->morph = a->morphs, s->points = a->points, s->neutral = a->neutral;
    } else {
        SU_TRY(su_poses_load(path, &s->poses, err));
        const su_poses *p = &s->poses;
        s->nbar = p->nbar, s->bones = p->weights ? p->B : 0, s->morphs = p->morphs ? p->K : 0, s->frames = p->m;
        s->weights = p->weights, s->morph = p->morphs, s->shapes = p->shapes, s->neutral = p->neutral;
    }
    return s->nbar == tet->nbar ? SU_OK
                                : su_fail(err, SU_INPUT, "%s: has %lld skin vertices, the flesh carries %lld", path,
                                          (long long)s->nbar, (long long)tet->nbar);
}

/* Skins (*count,nbar,3) of all poses, or of at most RESIDUAL_FRAMES frames of a clip, evenly. */
static su_status take_skins(const skin_rig *s, int64_t *count, float **skins, su_error *err)
{
    int64_t size = 3 * s->nbar, step = s->points ? (s->frames + RESIDUAL_FRAMES - 1) / RESIDUAL_FRAMES : 1;
    *count = (s->frames + step - 1) / step;
    SU_TRY(SU_ALLOC(skins, *count * size, "skins", err));
    for (int64_t f = 0; f < *count; f++)
        for (int64_t k = 0; k < size; k++)
            (*skins)[f * size + k] = s->points ? s->points[f * step * size + k] : (float)s->shapes[f * step * size + k];
    return SU_OK;
}

/* Shapes (*count,nbar,3): the principal ones of the skins, of a rig that has neither bones nor blend shapes; else the
 * blend shapes, then the principal ones of what bones and these do not make of the skins. */
static su_status find_shapes(const skin_rig *s, int64_t wanted, int64_t *count, double **shapes, su_error *err)
{
    int64_t size = 3 * s->nbar, frames = s->frames;
    bool known = s->bones + s->morphs > 0, residuals = known && frames > 1 && wanted > 0;
    float *points = NULL;
    su_principal principal = {0};
    su_status status;
    if (residuals) {
        SU_GO(take_skins(s, &frames, &points, err));
        SU_GO(su_rig_residuals(
            &(su_rig_skins){s->nbar, s->bones, s->morphs, frames, s->neutral, s->weights, s->morph, points}, points,
            err));
    } else if (!s->points)
        SU_GO(take_skins(s, &frames, &points, err));
    if (!known || residuals)
        SU_GO(su_principal_shapes(frames, size, points ? points : s->points, wanted,
                                  (known ? RESIDUALS_LEAVE : SHAPES_LEAVE) * su_box_diagonal(s->nbar, s->neutral),
                                  &principal, err));
    *count = s->morphs + principal.count;
    SU_GO(SU_ALLOC(shapes, *count * size, "shapes", err));
    if (s->morphs) memcpy(*shapes, s->morph, (size_t)(s->morphs * size) * sizeof **shapes);
    for (int64_t k = 0; k < principal.count * size; k++) (*shapes)[s->morphs * size + k] = (double)principal.shapes[k];
done:
    su_principal_free(&principal);
    free(points);
    return status;
}

static su_status read_rig(job *j, su_rig_motions *motions)
{
    const settings *set = j->set;
    su_error *err = &j->tool->err;
    const char *path = j->tool->inputs.count > 2 ? j->tool->inputs.items[2] : NULL;
    skin_rig skin = {0};
    double *shapes = NULL;
    int64_t count = 0;
    su_status status;
    if (set->rigid_body) return su_rig_motions_rigid(j->tet.n, motions, err);
    if (!path)
        return su_fail(err, SU_USAGE,
                       "--kind skinning needs an animation or a poses file of the rig behind TET FIT (or --rigid-body, "
                       "or --unconstrained)");
    SU_GO(load_skin(j->tool, path, &j->tet, &skin));
    const su_skin_ties ties = {j->tet.n, j->tet.nbar, j->tet.ties, j->tet.shepard_index, j->tet.shepard_weight};
    SU_GO(find_shapes(&skin, set->shapes, &count, &shapes, err));
    if (skin.bones + count == 0) {
        status = su_fail(err, SU_INPUT,
                         "%s: has no bones, no blend shapes and no motion, so that nothing is known of the rig; "
                         "--rigid-body or --unconstrained do without",
                         path);
        goto done;
    }
    su_stats_integer(j->tool, "rig_shapes", count);
    if (skin.bones + skin.morphs && count > skin.morphs)
        su_note(j->tool, "%s: %lld shapes of the rig beside its bones and blend shapes", path,
                (long long)(count - skin.morphs));
    status = su_rig_motions_create(&ties, skin.bones, skin.weights, count, shapes, motions, err);
done:
    skin_rig_free(&skin);
    free(shapes);
    return status;
}

/* D of --leak FILE: a number for each flesh vertex, or for each skin vertex, which the ties carry inwards. */
static su_status read_leak(job *j, double *leak)
{
    const su_tet *tet = &j->tet;
    su_error *err = &j->tool->err;
    const char *path = j->set->leak;
    su_table table;
    SU_TRY(su_table_load(path, &table, err));
    su_status status = SU_OK;
    if (table.columns != 1 || (table.rows != tet->n && table.rows != tet->nbar))
        status =
            su_fail(err, SU_INPUT,
                    "%s: has %lld rows of %lld numbers; one number is wanted for each of %lld flesh vertices or "
                    "of %lld skin vertices",
                    path, (long long)table.rows, (long long)table.columns, (long long)tet->n, (long long)tet->nbar);
    for (int64_t k = 0; k < table.rows && status == SU_OK; k++)
        if (table.values[k] < 0 || table.values[k] > 1)
            status = su_fail(err, SU_INPUT, "%s: row %lld is %g; the leak is from 0 to 1", path, (long long)k + 1,
                             table.values[k]);
    for (int64_t v = 0; v < tet->n && status == SU_OK; v++) {
        double sum = table.rows == tet->n ? table.values[v] : 0;
        for (int64_t k = 0; k < tet->ties && table.rows != tet->n; k++)
            sum += tet->shepard_weight[v * tet->ties + k] * table.values[tet->shepard_index[v * tet->ties + k]];
        leak[v] = fmin(fmax(sum, 0), 1);
    }
    su_table_free(&table);
    return status;
}

static su_status make_leak(job *j, double *leak)
{
    const su_tet *tet = &j->tet;
    if (j->set->leak && strcmp(j->set->leak, "none") != 0) return read_leak(j, leak);
    for (int64_t v = 0; v < tet->n; v++) leak[v] = 1;
    if (j->set->leak || j->set->unconstrained) return SU_OK;
    return su_leak_diffuse(&(su_tet_mesh){tet->n, tet->t, tet->vertices, tet->tets}, tet->b, tet->surface,
                           SU_LEAK_LENGTH * su_box_diagonal(tet->n, tet->vertices), leak, &j->tool->err);
}

static su_status take_rows(su_complementarity *rig, su_skinning *out, su_error *err)
{
    out->rows = rig->motions, out->shapes = rig->shapes;
    if (rig->motions) {
        SU_TRY(SU_FILE_ALLOC(&out->file, &out->rig_rows, rig->motions * out->n, err));
        memcpy(out->rig_rows, rig->rig_rows, (size_t)(rig->motions * out->n) * sizeof *out->rig_rows);
    }
    if (rig->shapes) {
        SU_TRY(SU_FILE_ALLOC(&out->file, &out->rig_shapes, 3 * rig->shapes * out->n, err));
        memcpy(out->rig_shapes, rig->rig_shapes, (size_t)(3 * rig->shapes * out->n) * sizeof *out->rig_shapes);
    }
    return SU_OK;
}

static void report_modes(su_tool *tool, const su_skinning *out, const su_skinning_report *r)
{
    su_stats_stage(tool, "assembly", r->seconds_assembly);
    su_stats_stage(tool, "factor", r->seconds_factor);
    su_stats_stage(tool, "eigen", r->seconds_eigen);
    su_stats_integer(tool, "modes", out->k);
    su_stats_integer(tool, "rows", r->rows);
    su_stats_integer(tool, "steps", r->steps);
    su_stats_number(tool, "largest_residual", r->residual);
    su_note(tool, "%lld skinning modes, %.2f to %.2f Hz, under %lld rows of the rig, error %.0e, %.0f MB at most",
            (long long)out->k, sqrt(out->eigenvalues[0]) / (2 * M_PI), sqrt(out->eigenvalues[out->k - 1]) / (2 * M_PI),
            (long long)r->rows, r->residual, (double)su_peak_memory() / 1e6);
}

static su_status make_skinning_meta(job *j, su_skinning *out)
{
    su_tool *tool = j->tool;
    json_t *meta =
        su_tool_meta(tool, su_skinning_schema.kind, su_skinning_schema.version, tool->inputs.items, tool->inputs.count);
    out->file.meta = meta;
    if (!meta) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "out of memory");
    json_object_set_new(meta, "material", su_choice_json(SU_MATERIAL_NAMES, (int)j->setup.material));
    json_object_set_new(meta, "held", json_boolean(!j->set->no_hold && j->tet.fixed_count > 0));
    return SU_OK;
}

static su_status check_options(const job *j)
{
    const settings *set = j->set;
    if (set->rigid_body && set->unconstrained)
        return su_fail(&j->tool->err, SU_USAGE, "--rigid-body and --unconstrained exclude each other");
    if (set->local && (set->handles || set->regions))
        return su_fail(&j->tool->err, SU_USAGE, "--local excludes --handles and --regions");
    if (set->motion.count || set->shots.count || set->region_modes || set->planes.count || set->colliders.count ||
        set->poses.count || set->reuse || set->linear || set->contact != CONTACT_NONE || set->matrices ||
        set->keep_rigid)
        return su_fail(
            &j->tool->err, SU_USAGE,
            "skinning modes are of the neutral pose: no options of linear modes but -r, --handles, --regions "
            "and --eta go with --kind skinning");
    return SU_OK;
}

/* The pose that is neutral, in the fit. */
static su_status neutral_row(const job *j, int64_t *row)
{
    for (*row = 0; *row < j->fit.k; ++*row)
        if (j->fit.pose[*row] == 0) return SU_OK;
    return su_fail(&j->tool->err, SU_INPUT, "%s: has no pose 0, the neutral one, whose materials the modes are of",
                   j->tool->inputs.items[1]);
}

/* Where local modes live, and how many live where: out->k modes in all. */
typedef struct local_regions {
    su_skinning_regions regions;
    double *weight; /* (count,n) */
    int64_t *modes; /* (count) */
} local_regions;

static void local_regions_free(local_regions *l) { free(l->weight), free(l->modes); }

/* The handles of --local, --handles or --regions and the share of -r that each region has; none without these. */
static su_status find_regions(job *j, const uint8_t *held, local_regions *l, int64_t *k)
{
    su_error *err = &j->tool->err;
    int64_t count;
    SU_TRY(read_handles(j));
    if (j->set->local) {
        SU_TRY(su_handles_spread(j->tet.n, j->tet.vertices, held, j->set->local, &j->handles, err));
        j->handle_count = j->set->local;
    }
    if (!j->handles) return SU_OK;
    count = su_handle_regions(j->handle_count, j->handles, NULL);
    SU_TRY(SU_ALLOC(&l->modes, count, "regions", err));
    for (int64_t g = 0; g < count; g++) /* -r or one each, evenly, the first have what is over */
        l->modes[g] = *k < count ? 1 : *k / count + (g < *k % count);
    *k = *k < count ? count : *k;
    l->regions = (su_skinning_regions){.count = count, .modes = l->modes};
    return SU_OK;
}

static su_status weigh_regions(job *j, local_regions *l)
{
    su_error *err = &j->tool->err;
    const su_tet *tet = &j->tet;
    int64_t count = l->regions.count, bare = 0;
    int32_t *region_of = NULL;
    double started = su_seconds();
    su_status status;
    SU_GO(SU_ALLOC(&region_of, tet->n, "regions", err));
    SU_GO(SU_ALLOC(&l->weight, count * tet->n, "regions", err));
    SU_GO(su_handle_vertices(&(su_tet_mesh){tet->n, tet->t, tet->vertices, tet->tets}, j->handle_count, j->handles,
                             region_of, err));
    SU_GO(su_bounded_biharmonic(&(su_tet_mesh){tet->n, tet->t, tet->vertices, tet->tets}, count, region_of, l->weight,
                                NULL, j->tool->threads, err));
    su_region_sharpen(count * tet->n, l->weight, j->set->eta, SU_REGION_FADE);
    l->regions.weight = l->weight;
    for (int64_t v = 0; v < tet->n; v++) {
        bool in = false;
        for (int64_t g = 0; g < count && !in; g++) in = l->weight[g * tet->n + v] > 0;
        bare += !in;
    }
    su_stats_stage(j->tool, "regions", su_seconds() - started);
    su_stats_integer(j->tool, "regions", count);
    if (bare)
        su_note(j->tool, "%lld regions; %.1f %% of the flesh's vertices are in none and will not move",
                (long long)count, 100 * (double)bare / (double)tet->n);
done:
    free(region_of);
    return status;
}

su_status skinning_run(job *j)
{
    su_tool *tool = j->tool;
    const settings *set = j->set;
    const su_tet *tet = &j->tet;
    su_error *err = &tool->err;
    su_skinning out = {.n = tet->n, .k = set->r};
    su_rig_motions motions = {0};
    su_complementarity rig = {0};
    su_skinning_report report;
    local_regions local = {0};
    uint8_t *held = NULL;
    double *mass = NULL, started = su_seconds();
    int64_t row;
    su_status status;
    SU_GO(check_options(j));
    SU_GO(neutral_row(j, &row));
    SU_GO(SU_ALLOC(&held, tet->n, "held vertices", err));
    SU_GO(SU_ALLOC(&mass, tet->n, "masses", err));
    for (int64_t k = 0; k < tet->fixed_count && !set->no_hold; k++) held[tet->fixed[k]] = 1;
    SU_GO(find_regions(j, held, &local, &out.k));
    SU_GO(SU_FILE_ALLOC(&out.file, &out.weights, out.n * out.k, err));
    SU_GO(SU_FILE_ALLOC(&out.file, &out.eigenvalues, out.k, err));
    SU_GO(SU_FILE_ALLOC(&out.file, &out.leak, out.n, err));
    SU_GO(make_leak(j, out.leak));
    if (!set->unconstrained) {
        SU_GO(read_rig(j, &motions));
        su_lumped_mass(tet->n, tet->vertices, tet->t, tet->tets, j->fit.density, mass);
        SU_GO(su_complementarity_create(&motions, tet->vertices, mass, out.leak, held, &rig, err));
        SU_GO(take_rows(&rig, &out, err));
    }
    su_stats_stage(tool, "rig", su_seconds() - started);
    if (tool->dry_run) goto done;
    const su_skinning_problem problem = {.n = tet->n,
                                         .t = tet->t,
                                         .vertices = tet->vertices,
                                         .tets = tet->tets,
                                         .held = held,
                                         .young = j->fit.young + row * tet->t,
                                         .poisson = j->fit.poisson + row * tet->t,
                                         .density = j->fit.density,
                                         .rig = set->unconstrained ? NULL : &rig,
                                         .covariance = (su_covariance)set->covariance,
                                         .progress = &tool->progress};
    if (local.regions.count) {
        SU_GO(weigh_regions(j, &local));
        const su_local_rig of = {&motions, mass, out.leak};
        SU_GO(su_local_skinning_modes(&problem, set->unconstrained ? NULL : &of, &local.regions, out.eigenvalues,
                                      out.weights, NULL, &report, err));
    } else
        SU_GO(su_skinning_modes(&problem, out.k, out.eigenvalues, out.weights, &report, err));
    report_modes(tool, &out, &report);
    SU_GO(make_skinning_meta(j, &out));
    SU_GO(su_skinning_save(tool->output, &out, err));
    su_progress_finish(&tool->progress);
done:
    su_rig_motions_free(&motions);
    su_complementarity_free(&rig);
    su_skinning_free(&out);
    local_regions_free(&local);
    free(held), free(mass);
    return status;
}
