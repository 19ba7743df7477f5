/* What the fit of a pose depends on, as digests: poses of an earlier run that depend on the same are taken from it. */
#include "job.h"

#include "core/choice.h"
#include "core/file.h"
#include "io/stage/schema.h"
#include "physics/material.h"
#include "reduce/modes/parts.h"

#include <math.h>
#include <string.h>

/* docs/formats.md, convention 16: what the fit of one pose depends on. */
static su_status pose_digest(const job *j, int64_t k, char hex[33])
{
    const settings *set = j->set;
    const su_poses *poses = &j->poses;
    size_t skin = 3 * (size_t)poses->nbar * sizeof(double);
    double numbers[] = {set->material, set->gamma,   set->residual, set->frequency, set->young,
                        set->poisson,  set->density, set->paint,    set->deepest};
    su_digest *digest = su_digest_begin();
    if (!digest) return su_fail(&j->tool->err, SU_AGAIN, "out of memory");
    su_digest_add(digest, numbers, sizeof numbers);
    su_digest_add(digest, j->tet.vertices, 3 * (size_t)j->tet.n * sizeof(double));
    su_digest_add(digest, j->tet.tets, 4 * (size_t)j->tet.t * sizeof(int32_t));
    su_digest_add(digest, j->tet.fixed, (size_t)j->tet.fixed_count * sizeof(int32_t));
    if (j->tet.fixed_bone) su_digest_add(digest, j->tet.fixed_bone, (size_t)j->tet.fixed_count * sizeof(int32_t));
    su_digest_add(digest, j->tet.embed_tet, (size_t)j->tet.nbar * sizeof(int32_t));
    su_digest_add(digest, j->tet.embed_bary, 4 * (size_t)j->tet.nbar * sizeof(double));
    su_digest_add(digest, j->tet.shepard_index, (size_t)(j->tet.ties * j->tet.n) * sizeof(int32_t));
    su_digest_add(digest, j->tet.shepard_weight, (size_t)(j->tet.ties * j->tet.n) * sizeof(double));
    su_digest_add(digest, poses->neutral, skin);
    su_digest_add(digest, j->area, (size_t)poses->nbar * sizeof(double));
    su_digest_add(digest, poses->shapes + 3 * j->fit.pose[k] * poses->nbar, skin);
    if (poses->bones && poses->bone_rest) {
        size_t bones = 16 * (size_t)poses->B * sizeof(double);
        su_digest_add(digest, poses->bone_rest, bones);
        su_digest_add(digest, poses->bones + 16 * j->fit.pose[k] * poses->B, bones);
    }
    materials_digest(&j->paint, poses, j->fit.pose[k], j->tet.t, digest);
    su_digest_end(digest, hex);
    return SU_OK;
}

/* Everything of a report that a later run with --reuse would print. */
static json_t *pack_report(const su_fit_report *r)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:i}", "residual", r->residual, "largest", r->largest,
                     "gamma", r->gamma, "held_off", r->held_off, "deepest", r->deepest, "collapsed",
                     (json_int_t)r->collapsed, "inverted", (json_int_t)r->inverted, "newton_steps", r->iterations);
}

static su_fit_report unpack_report(const json_t *pack)
{
    return (su_fit_report){.residual = su_meta_number(pack, "residual", 0),
                           .largest = su_meta_number(pack, "largest", 0),
                           .gamma = su_meta_number(pack, "gamma", 0),
                           .held_off = su_meta_number(pack, "held_off", 0),
                           .deepest = su_meta_number(pack, "deepest", 0),
                           .collapsed = (int64_t)su_meta_number(pack, "collapsed", 0),
                           .inverted = (int64_t)su_meta_number(pack, "inverted", 0),
                           .iterations = (int)su_meta_number(pack, "newton_steps", 0)};
}

/* Poses of an earlier run that depend on the same things and are not there yet. */
static su_status take_from(job *j, const char *path, int64_t *taken)
{
    su_fit old = {0}, *fit = &j->fit;
    su_status status;
    int64_t size = 3 * fit->n;
    SU_GO(su_fit_load(path, &old, &j->tool->err));
    const json_t *reports = json_object_get(old.file.meta, "pose_reports");
    for (int64_t k = 0; k < fit->k; k++) {
        char hex[33];
        if (j->reused[k]) continue;
        SU_GO(pose_digest(j, k, hex));
        int64_t at = su_pose_of_digest(&old.file, hex);
        if (at < 0 || at >= old.k || old.n != fit->n || at >= (int64_t)json_array_size(reports)) continue;
        memcpy(fit->shapes + k * size, old.shapes + at * size, (size_t)size * sizeof(double));
        memcpy(fit->corrections + k * size, old.corrections + at * size, (size_t)size * sizeof(double));
        j->reports[k] = unpack_report(json_array_get(reports, (size_t)at));
        j->reused[k] = true, ++*taken;
    }
done:
    su_fit_free(&old);
    return status;
}

/* --reuse: of several earlier runs the first that has a pose gives it. */
su_status take_reused(job *j)
{
    const su_list *files = &j->set->reuse;
    int64_t taken = 0;
    if (files->count == 0) return SU_OK;
    for (int i = 0; i < files->count; i++) SU_TRY(take_from(j, files->items[i], &taken));
    su_note(j->tool, "%lld of %lld poses are in %s%s", (long long)taken, (long long)j->fit.k,
            su_base_name(files->items[0]), files->count > 1 ? " and the others" : "");
    su_stats_integer(j->tool, "reused_poses", taken);
    return SU_OK;
}

su_status make_meta(job *j)
{
    su_tool *tool = j->tool;
    const settings *set = j->set;
    json_t *meta = su_tool_meta(tool, "supple.fit", 2, tool->inputs.items, tool->inputs.count), *digests = json_array(),
           *reports = json_array();
    j->fit.file.meta = meta;
    if (!meta || !digests || !reports) {
        json_decref(digests), json_decref(reports);
        return meta ? su_fail(&tool->err, SU_AGAIN, "out of memory") : tool->err.status;
    }
    for (int64_t k = 0; k < j->fit.k; k++) {
        char hex[33];
        if (pose_digest(j, k, hex) != SU_OK) {
            json_decref(digests), json_decref(reports);
            return tool->err.status;
        }
        json_array_append_new(digests, json_string(hex));
        json_array_append_new(reports, pack_report(&j->reports[k]));
    }
    json_object_set_new(meta, "pose_digests", digests);
    json_object_set_new(meta, "pose_reports", reports);
    json_object_set_new(meta, "material", su_choice_json(SU_MATERIAL_NAMES, set->material));
    json_object_set_new(meta, "rest", su_choice_json(REST_NAMES, set->rest));
    if (set->rest == REST_TURNED) json_object_set_new(meta, "smoothing", json_real(set->smoothing));
    json_object_set_new(meta, "gamma", json_real(set->gamma));
    if (set->deepest > 0) json_object_set_new(meta, "deepest", json_real(set->deepest));
    json_object_set_new(meta, "residual", json_real(set->residual));
    json_object_set_new(meta, "young", json_real(j->young));
    json_object_set_new(meta, "frequency", json_real(sqrt(j->lowest) / (2 * M_PI)));
    json_object_set_new(meta, "poisson", json_real(set->poisson));
    json_object_set_new(meta, "density", json_real(set->density));
    json_t *names = json_object_get(j->poses.file.meta, "param_names");
    if (names) json_object_set(meta, "param_names", names);
    return SU_OK;
}
