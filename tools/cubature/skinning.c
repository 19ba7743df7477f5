/* supple cubature with skinning modes: clusters, and the model. */
#include "cubature.h"

#include "core/choice.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "fem/elastic.h"
#include "reduce/cubature/clusters.h"
#include "reduce/cubature/model_build.h"
#include "reduce/modes/skinning_frequency.h"

#include <math.h>
#include <stdlib.h>

/* The factor on Young's modulus with which skinning modes swing as slowly as the fit says of the flesh: what the rig's
 * own motions leave is stiffer than all of it. */
static su_status find_stiffness(su_tool *tool, const job *j, double *factor)
{
    const su_fit *fit = &j->fit;
    const su_tet *tet = &j->tet;
    double wanted = 2 * M_PI * su_meta_number(fit->file.meta, "frequency", 0), value = 0;
    su_elastic elastic = {0};
    bool held = json_is_true(json_object_get(j->skinning.file.meta, "held"));
    *factor = 1;
    if (!(wanted > 0)) return SU_OK;
    su_status status = su_elastic_create(&elastic,
                                         &(su_elastic_body){.mesh = {tet->n, tet->t, tet->vertices, tet->tets},
                                                            .held_count = held ? tet->fixed_count : 0,
                                                            .held = tet->fixed,
                                                            .material = SU_COROTATIONAL,
                                                            .young = fit->young,
                                                            .poisson = fit->poisson,
                                                            .density = fit->density},
                                         &tool->err);
    if (status == SU_OK)
        status = su_skinning_frequency(&elastic, tet->vertices, j->skinning.k, j->skinning.weights, tool->threads,
                                       &value, &tool->err);
    su_elastic_free(&elastic);
    if (status != SU_OK || !(value > 0)) return status;
    *factor = wanted * wanted / value;
    su_stats_number(tool, "frequency_as_fitted", sqrt(value) / (2 * M_PI));
    su_stats_number(tool, "stiffness", *factor);
    su_note(tool, "the modes' lowest frequency is %.2f Hz with the fit's moduli; these times %.3g make it %.2f Hz",
            sqrt(value) / (2 * M_PI), *factor, wanted / (2 * M_PI));
    return SU_OK;
}

su_status skinning_save(su_tool *tool, const settings *set, const job *j)
{
    const char *paths[] = {j->tet_path, j->poses_path, j->fit_paths[0], j->skinning_path};
    su_error *err = &tool->err;
    su_model model = {0};
    su_cluster_report report;
    int32_t *cluster = NULL;
    int64_t count;
    double started = su_seconds(), stiffness = 1;
    su_status status;
    if (j->skinning.n != j->tet.n)
        return su_fail(err, SU_INPUT, "%s: has %lld flesh vertices, %s has %lld; they must belong together",
                       j->skinning_path, (long long)j->skinning.n, j->tet_path, (long long)j->tet.n);
    const su_cluster_problem problem = {.n = j->tet.n,
                                        .t = j->tet.t,
                                        .k = j->skinning.k,
                                        .vertices = j->tet.vertices,
                                        .tets = j->tet.tets,
                                        .weights = j->skinning.weights,
                                        .eigenvalues = j->skinning.eigenvalues,
                                        .wanted = set->clusters,
                                        .seed = (uint64_t)set->seed,
                                        .threads = tool->threads};
    SU_GO(SU_ALLOC(&cluster, j->tet.t, "clusters", err));
    SU_GO(su_clusters_create(&problem, cluster, &count, &report, err));
    su_stats_stage(tool, "clusters", su_seconds() - started);
    su_stats_integer(tool, "clusters", count);
    su_stats_integer(tool, "means", report.means);
    su_stats_integer(tool, "iterations", report.iterations);
    su_stats_number(tool, "spread", report.spread);
    su_note(
        tool, "%lld modes, %lld tets in %lld clusters of %lld means; what the modes do varies by %.1f %% within them",
        (long long)j->skinning.k, (long long)j->tet.t, (long long)count, (long long)report.means, 100 * report.spread);
    if (!set->as_fitted) SU_GO(find_stiffness(tool, j, &stiffness));
    if (tool->dry_run) goto done;
    SU_GO(su_model_of_skinning(&j->tet, &j->poses, &j->fit, &j->skinning, cluster, stiffness, &model, err));
    json_t *meta = su_tool_meta(tool, su_model_schema.kind, su_model_schema.version, paths, 4);
    if (!meta) {
        status = err->status ? err->status : su_fail(err, SU_AGAIN, "not enough memory");
        goto done;
    }
    model.file.meta = meta;
    su_model_carry_meta(j->fit.file.meta, NULL, meta);
    json_object_set_new(meta, "stiffness", json_real(stiffness));
    json_object_set_new(meta, "subspace", json_string("skinning"));
    json_object_set_new(meta, "force", json_string("clusters"));
    json_object_set_new(meta, "rest", su_choice_json(REST_NAMES, set->rest));
    json_object_set_new(meta, "clusters", json_integer(count));
    SU_GO(su_model_save(tool->output, &model, err));
    su_progress_finish(&tool->progress);
done:
    su_model_free(&model);
    free(cluster);
    return status;
}
