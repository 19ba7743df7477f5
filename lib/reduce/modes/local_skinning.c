#include "reduce/modes/local_skinning.h"

#include "core/memory.h"
#include "core/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct found_mode {
    double eigenvalue;
    int64_t at; /* its column among all, region by region */
    int32_t region;
} found_mode;

static int by_eigenvalue(const void *a, const void *b)
{
    const found_mode *x = a, *y = b;
    if (x->eigenvalue != y->eigenvalue) return x->eigenvalue < y->eigenvalue ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static void add_report(su_skinning_report *sum, const su_skinning_report *one)
{
    sum->free_vertices += one->free_vertices, sum->rows += one->rows;
    sum->steps += one->steps, sum->applications += one->applications;
    sum->residual = fmax(sum->residual, one->residual);
    sum->seconds_assembly += one->seconds_assembly, sum->seconds_factor += one->seconds_factor;
    sum->seconds_eigen += one->seconds_eigen;
}

/* Modes of one region: all else is held in problem. */
static su_status solve_region(const su_skinning_problem *problem, const su_local_rig *rig, int64_t modes,
                              double *eigenvalues, double *W, su_skinning_report *report, su_error *err)
{
    su_complementarity rows = {0};
    su_skinning_problem of = *problem;
    su_status status = SU_OK;
    if (rig) SU_GO(su_complementarity_create(rig->motions, of.vertices, rig->mass, rig->leak, of.held, &rows, err));
    of.rig = rig ? &rows : NULL;
    status = su_skinning_modes(&of, modes, eigenvalues, W, report, err);
done:
    su_complementarity_free(&rows);
    return status;
}

su_status su_local_skinning_modes(const su_skinning_problem *problem, const su_local_rig *rig,
                                  const su_skinning_regions *regions, double *eigenvalues, double *weights,
                                  int32_t *region, su_skinning_report *report, su_error *err)
{
    int64_t n = problem->n, k = 0, most = 0, at = 0;
    su_skinning_report sum = {0};
    su_skinning_problem inside = *problem;
    double *values = NULL, *W = NULL, *all = NULL;
    uint8_t *outside = NULL;
    found_mode *found = NULL;
    su_status status;
    for (int64_t g = 0; g < regions->count; g++) {
        k += regions->modes[g];
        most = regions->modes[g] > most ? regions->modes[g] : most;
    }
    SU_GO(SU_ALLOC_ALL("skinning modes", err, SU_WANT(values, most), SU_WANT(W, n * most), SU_WANT(all, n * k),
                       SU_WANT(found, k), SU_WANT(outside, n)));
    inside.held = outside;
    for (int64_t g = 0; g < regions->count; g++) {
        int64_t modes = regions->modes[g];
        su_skinning_report one;
        for (int64_t v = 0; v < n; v++)
            outside[v] = !(regions->weight[g * n + v] > 0) || (problem->held && problem->held[v]);
        status = solve_region(&inside, rig, modes, values, W, &one, err);
        if (status != SU_OK) {
            su_error_context(err, "region %lld: ", (long long)g + 1);
            goto done;
        }
        for (int64_t c = 0; c < modes; c++, at++) {
            found[at] = (found_mode){values[c], at, (int32_t)g};
            for (int64_t v = 0; v < n; v++) all[at * n + v] = W[v * modes + c];
        }
        add_report(&sum, &one);
    }
    su_sort(found, (size_t)k, sizeof *found, by_eigenvalue);
    for (int64_t c = 0; c < k; c++) {
        eigenvalues[c] = found[c].eigenvalue;
        if (region) region[c] = found[c].region;
        for (int64_t v = 0; v < n; v++) weights[v * k + c] = all[found[c].at * n + v];
    }
    if (report) *report = sum;
done:
    free(values), free(W), free(all), free(outside), free(found);
    return status;
}
