#include "job.h"

#include "fem/smooth_weights.h"
#include "geometry/box.h"
#include "rig/rbf_train.h"
#include "rig/rig_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static su_status choose_poses(job *j)
{
    const su_list *wanted = &j->set->poses;
    su_error *err = &j->tool->err;
    int64_t count = wanted->count ? wanted->count : j->poses.m;
    SU_TRY(SU_FILE_ALLOC(&j->fit.file, &j->fit.pose, count, err));
    j->fit.k = count;
    for (int64_t i = 0; i < count; i++) {
        j->fit.pose[i] = (int32_t)i;
        if (!wanted->count) continue;
        char *end;
        errno = 0;
        long pose = strtol(wanted->items[i], &end, 10);
        if (errno || *end || end == wanted->items[i] || pose < 0 || pose >= j->poses.m)
            return su_fail(err, SU_USAGE, "--pose %s: is not one of the %lld poses of %s", wanted->items[i],
                           (long long)j->poses.m, j->tool->inputs.items[1]);
        int64_t at = i; /* the file lists them upwards */
        for (; at > 0 && j->fit.pose[at - 1] > pose; at--) j->fit.pose[at] = j->fit.pose[at - 1];
        if (at > 0 && j->fit.pose[at - 1] == pose) return su_fail(err, SU_USAGE, "--pose %ld is given twice", pose);
        j->fit.pose[at] = (int32_t)pose;
    }
    return SU_OK;
}

su_status load_inputs(job *j)
{
    su_error *err = &j->tool->err;
    const char *const *paths = j->tool->inputs.items;
    SU_TRY(su_tet_load(paths[0], &j->tet, err));
    SU_TRY(su_poses_load(paths[1], &j->poses, err));
    if (j->tet.nbar != j->poses.nbar)
        return su_fail(err, SU_INPUT, "%s: holds a skin of %lld vertices, %s one of %lld", paths[0],
                       (long long)j->tet.nbar, paths[1], (long long)j->poses.nbar);
    j->diagonal = su_box_diagonal(j->poses.nbar, j->poses.neutral);
    SU_TRY(SU_ALLOC(&j->area, j->poses.nbar, "skin areas", err));
    SU_TRY(su_skin_area_weights(j->poses.nbar, j->poses.neutral, j->poses.T, j->poses.triangles, j->poses.rigid,
                                j->area, err));
    return choose_poses(j);
}

su_status copy_poses(job *j)
{
    su_error *err = &j->tool->err;
    const su_poses *from = &j->poses;
    su_fit *fit = &j->fit;
    su_rig_space rig = su_rig_of_poses(from), own;
    fit->n = j->tet.n, fit->t = j->tet.t;
    SU_TRY(su_rig_copy(&rig, &fit->file, &own, err));
    su_rig_into_fit(&own, fit);
    SU_TRY(SU_FILE_ALLOC(&fit->file, &fit->rbf, fit->m * fit->m, err));
    SU_TRY(su_rbf_train(fit->m, fit->s, fit->params, fit->param_scale, fit->rbf, err));
    SU_TRY(SU_FILE_ALLOC(&fit->file, &fit->shapes, 3 * fit->k * fit->n, err));
    SU_TRY(SU_FILE_ALLOC(&fit->file, &fit->corrections, 3 * fit->k * fit->n, err));
    SU_TRY(SU_ALLOC(&j->reused, fit->k, "reports", err));
    return SU_ALLOC(&j->reports, fit->k, "reports", err);
}

su_status set_smoothing(job *j)
{
    su_fit *fit = &j->fit;
    su_error *err = &j->tool->err;
    su_smooth_weights made = {0};
    su_status status;
    if (j->set->rest == REST_POSED) return SU_OK;
    double length = j->set->smoothing * su_box_diagonal(j->tet.n, j->tet.vertices);
    SU_GO(su_smooth_weights_create(&(su_tet_mesh){j->tet.n, j->tet.t, j->tet.vertices, j->tet.tets}, length, length,
                                   j->tool->threads, &made, err));
    fit->n1 = j->tet.n + 1, fit->z = made.entries;
    SU_GO(SU_FILE_ALLOC(&fit->file, &fit->turn_start, fit->n1, err));
    SU_GO(SU_FILE_ALLOC(&fit->file, &fit->turn_node, fit->z, err));
    SU_GO(SU_FILE_ALLOC(&fit->file, &fit->turn_weight, fit->z, err));
    memcpy(fit->turn_start, made.start, (size_t)fit->n1 * sizeof *made.start);
    memcpy(fit->turn_node, made.node, (size_t)fit->z * sizeof *made.node);
    memcpy(fit->turn_weight, made.weight, (size_t)fit->z * sizeof *made.weight);
    su_stats_integer(j->tool, "rotation_nodes", made.nodes);
done:
    su_smooth_weights_free(&made);
    return status;
}
