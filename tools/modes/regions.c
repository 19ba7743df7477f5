#include "modes.h"

#include "core/memory.h"
#include "core/threads.h"
#include "geometry/mat3.h"
#include "io/stage/poses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

su_status read_handles(job *j)
{
    const settings *set = j->set;
    su_error *err = &j->tool->err;
    if (set->handles && set->regions) return su_fail(err, SU_USAGE, "--handles and --regions cannot both be given");
    if (!set->regions != !set->bones) return su_fail(err, SU_USAGE, "--regions and --bones are given together");
    if (set->region_modes && !set->handles && !set->regions)
        return su_fail(err, SU_USAGE, "--region-modes needs --handles or --regions");
    j->setup.d = 1;
    if (set->handles) SU_TRY(su_handles_read(set->handles, &j->handle_count, &j->handles, err));
    if (set->regions) {
        su_poses poses;
        const char **names = NULL;
        SU_TRY(su_poses_load(set->bones, &poses, err));
        su_status status = SU_ALLOC(&names, poses.B, "bones", err);
        if (status == SU_OK && !poses.bone_segments) status = su_fail(err, SU_INPUT, "%s: has no bones", set->bones);
        for (int64_t b = 0; status == SU_OK && b < poses.B; b++) names[b] = su_file_name(&poses.file, "bone_names", b);
        if (status == SU_OK)
            status =
                su_handles_of_bones(set->regions, "--regions", &(su_bone_segments){poses.B, names, poses.bone_segments},
                                    &j->handle_count, &j->handles, err);
        free(names);
        su_poses_free(&poses);
        if (status != SU_OK) return status;
    }
    if (!j->handles) return SU_OK;
    int32_t *region;
    SU_TRY(SU_FILE_ALLOC(&j->modes.file, &region, j->handle_count, err));
    j->setup.d = su_handle_regions(j->handle_count, j->handles, region);
    SU_TRY(SU_ALLOC(&j->names, j->setup.d, "regions", err));
    for (int64_t h = 0; h < j->handle_count; h++) j->names[region[h]] = j->handles[h].name;
    return SU_OK;
}

su_status share_modes(job *j)
{
    su_error *err = &j->tool->err;
    int64_t d = j->setup.d;
    SU_TRY(SU_ALLOC(&j->r, d, "regions", err));
    SU_TRY(SU_ALLOC(&j->linear, d, "regions", err));
    su_region_shares(j->set->r, d, j->r);
    for (const char *at = j->set->region_modes; at && *at;) {
        size_t length = strcspn(at, "="), h = 0;
        while (h < (size_t)d && (strlen(j->names[h]) != length || strncmp(j->names[h], at, length))) h++;
        if (h == (size_t)d) return su_fail(err, SU_USAGE, "--region-modes: '%.*s' is not a region", (int)length, at);
        char *end;
        long count = at[length] == '=' ? strtol(at + length + 1, &end, 10) : 0;
        if (count < 1 || count > 2000 || (*end != ',' && *end != '\0'))
            return su_fail(err, SU_USAGE, "--region-modes: '%s' is not name=count,name=count", at);
        j->r[h] = count;
        at = *end ? end + 1 : end;
    }
    su_training_case of = {0};
    for (int64_t h = 0; h < d; h++)
        of.modes += j->r[h], of.region_modes = j->r[h] > of.region_modes ? j->r[h] : of.region_modes;
    j->plan = su_training_plan_make(&of);
    if (j->set->linear) j->plan.linear_share = (double)j->set->linear / j->set->r;
    json_object_set_new(j->tool->stats, "plan", su_training_plan_json(&j->plan));
    const double whole = 1e-9; /* of a mode: shares of r that come out whole in decimal are whole */
    j->modes.r = j->modes.linear = 0;
    for (int64_t h = 0; h < d; h++) {
        double share = j->plan.linear_share * (double)j->r[h];
        j->linear[h] = su_modes_least_linear(j->r[h], (int64_t)ceil(share - whole));
        if (j->set->linear && d == 1 && j->linear[h] != j->set->linear)
            return su_fail(err, SU_USAGE, "--linear %d: %d modes need at least %lld linear ones and at most %d",
                           j->set->linear, j->set->r, (long long)su_modes_least_linear(j->set->r, 1), j->set->r);
        j->modes.r += j->r[h], j->modes.linear += j->linear[h];
    }
    return SU_OK;
}

su_status region_weights(job *j)
{
    su_error *err = &j->tool->err;
    int64_t n = j->tet.n, d = j->setup.d;
    double *W, started = su_seconds(), mass_in = 0, mass = 0;
    int32_t *region_of;
    SU_TRY(SU_FILE_ALLOC(&j->modes.file, &j->modes.region_weights, d * n, err));
    W = j->modes.region_weights;
    if (j->handles) {
        SU_TRY(SU_FILE_ALLOC(&j->modes.file, &region_of, n, err));
        SU_TRY(su_handle_vertices(&(su_tet_mesh){n, j->tet.t, j->tet.vertices, j->tet.tets}, j->handle_count,
                                  j->handles, region_of, err));
        int iterations;
        SU_TRY(su_bounded_biharmonic(&(su_tet_mesh){n, j->tet.t, j->tet.vertices, j->tet.tets}, d, region_of, W,
                                     &iterations, j->tool->threads, err));
        su_region_sharpen(d * n, W, j->set->eta, SU_REGION_FADE);
        su_stats_stage(j->tool, "regions", su_seconds() - started);
        su_stats_integer(j->tool, "region_iterations", iterations);
    } else {
        for (int64_t v = 0; v < n; v++) W[v] = 1;
        for (int64_t k = 0; k < j->tet.fixed_count; k++) W[j->tet.fixed[k]] = 0;
    }
    j->setup.weights = W;
    if (!j->handles) return SU_OK;
    for (int64_t e = 0; e < j->tet.t; e++)
        for (int a = 0; a < 4; a++) {
            double edges[9], most = 0;
            const int32_t *v = j->tet.tets + 4 * e;
            const double *X = j->tet.vertices;
            su_tet_edges(X + 3 * (int64_t)v[0], X + 3 * (int64_t)v[1], X + 3 * (int64_t)v[2], X + 3 * (int64_t)v[3],
                         edges);
            for (int64_t h = 0; h < d; h++) most = fmax(most, W[h * n + v[a]]);
            mass += su_det3(edges), mass_in += most > 0 ? su_det3(edges) : 0;
        }
    double bare = 1 - mass_in / mass;
    su_note(j->tool, "%lld regions; %.1f %% of the flesh is in none", (long long)d, 100 * bare);
    su_stats_number(j->tool, "uncovered_share", bare);
    if (bare > 0.05)
        su_warn(j->tool, "%.1f %% of the flesh is in no region and will not move; add handles", 100 * bare);
    for (int64_t h = 0, at = 0; h < d; at += j->r[h++])
        for (int64_t k = 0; k < j->r[h]; k++) j->modes.mode_region[at + k] = (int32_t)h;
    return SU_OK;
}
