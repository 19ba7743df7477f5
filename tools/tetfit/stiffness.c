/* How stiff the flesh is: what is painted, given for each tet or told by the body, scaled so that its lowest motion has
 * the frequency that was asked for. */
#include "job.h"

#include "core/memory.h"
#include "fem/elastic.h"
#include "geometry/tetmesh.h"
#include "reduce/modes/carrying_mode.h"
#include "reduce/modes/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether the stiffness of tets comes from the body or its joints, and then the factors, in place of a table. */
static su_status set_softness(job *j)
{
    su_error *err = &j->tool->err;
    const softness_options *how = &j->set->softness;
    int64_t t = j->tet.t;
    bool painted = materials_young(&j->paint, -1, 0, t) != NULL, changed = how->stiff.count + how->soft.count > 0;
    if (painted && (how->kind == SOFTNESS_BODY || changed))
        return su_fail(err, SU_USAGE, "%s: the stiffness is painted or given for each tet",
                       changed ? "--stiff and --soft" : "--softness body");
    j->body = how->kind == SOFTNESS_BODY || (how->kind == SOFTNESS_AUTO && !painted);
    if (!j->body && !changed) return SU_OK;
    su_table *table = &j->paint.young;
    if (!(table->values = su_arena_alloc(&table->arena, t, sizeof *table->values)))
        return su_fail(err, SU_AGAIN, "not enough memory for materials");
    table->rows = 1, table->columns = t;
    return softness_factors(j->tool, how, j->body, &j->tet, &j->poses, table->values);
}

/* E scales K, so one eigenvalue at the neutral pose, of E = 1 or of the factors, calibrates it: the lowest, or, where
 * the body says what is soft, that of the lowest mode that carries flesh. */
static su_status calibrate(job *j, double *young)
{
    su_error *err = &j->tool->err;
    const settings *set = j->set;
    int64_t n = j->tet.n, t = j->tet.t;
    const double *factor = materials_young(&j->paint, -1, 0, t), *ratio = materials_poisson(&j->paint, -1, 0, t);
    double *one = NULL, *mode = NULL, value;
    su_elastic elastic = {0};
    su_status status;
    SU_GO(SU_ALLOC(&one, 2 * t, "materials", err));
    SU_GO(SU_ALLOC(&mode, 3 * n, "materials", err));
    for (int64_t e = 0; e < t; e++) one[e] = factor ? factor[e] : 1, one[t + e] = ratio ? ratio[e] : set->poisson;
    SU_GO(su_elastic_create(&elastic,
                            &(su_elastic_body){.mesh = {n, t, j->tet.vertices, j->tet.tets},
                                               .held_count = j->tet.fixed_count,
                                               .held = j->tet.fixed,
                                               .material = (su_material)set->material,
                                               .young = one,
                                               .poisson = one + t,
                                               .density = j->fit.density},
                            err));
    if (j->body) {
        su_carrying_mode lowest;
        SU_GO(su_carrying_mode_find(&elastic, j->tet.vertices, one, one + t, j->tool->threads, &j->tool->progress,
                                    &lowest, err));
        memcpy(j->paint.young.values, one, (size_t)t * sizeof *one);
        value = lowest.value;
        su_stats_integer(j->tool, "tip_rounds", lowest.rounds);
        su_stats_number(j->tool, "carried_share", lowest.share);
        if (lowest.lower)
            su_warn(j->tool,
                    "%d modes below the lowest that carries flesh (%.1f %% of it) move tips alone; "
                    "--stiff JOINT=FACTOR quiets them",
                    lowest.lower, 100 * lowest.share);
    } else {
        su_mode_problem problem = {.elastic = &elastic, .x = j->tet.vertices, .progress = &j->tool->progress};
        SU_GO(su_modes_solve(&problem, 1, 1, &value, mode, NULL, j->tool->threads, err));
    }
    double target = 2 * M_PI * set->frequency;
    bool absolute = factor && set->paint == PAINT_ABSOLUTE && !j->body;
    *young = absolute ? 1 : set->young > 0 ? set->young : target * target / value;
    j->lowest = value * *young;
    status = SU_OK;
done:
    su_elastic_free(&elastic);
    free(one), free(mode);
    return status;
}

su_status set_materials(job *j)
{
    su_error *err = &j->tool->err;
    const settings *set = j->set;
    int64_t t = j->tet.t;
    double young, mean = 0, volume = 0;
    SU_TRY(materials_load(j->tool, &set->files, &j->tet, &j->poses, j->fit.k, j->fit.pose, &j->paint));
    SU_TRY(set_softness(j));
    if (set->young > 0 && set->paint == PAINT_ABSOLUTE && materials_young(&j->paint, -1, 0, t))
        return su_fail(err, SU_USAGE, "--young %g: Young's modulus is painted and --paint absolute takes it as it is",
                       set->young);
    SU_TRY(SU_FILE_ALLOC(&j->fit.file, &j->fit.young, j->fit.k * t, err));
    SU_TRY(SU_FILE_ALLOC(&j->fit.file, &j->fit.poisson, j->fit.k * t, err));
    SU_TRY(SU_FILE_ALLOC(&j->fit.file, &j->fit.density, t, err));
    for (int64_t e = 0; e < t; e++) {
        double given = j->paint.density.rows ? j->paint.density.values[e] : set->density;
        j->fit.density[e] = j->paint.density.rows && set->paint == PAINT_RELATIVE ? given * set->density : given;
    }
    SU_TRY(calibrate(j, &young));
    for (int64_t k = 0; k < j->fit.k; k++) {
        const double *factor = materials_young(&j->paint, k, j->fit.pose[k], t);
        const double *ratio = materials_poisson(&j->paint, k, j->fit.pose[k], t);
        for (int64_t e = 0; e < t; e++) {
            j->fit.young[k * t + e] = factor ? young * factor[e] : young;
            j->fit.poisson[k * t + e] = ratio ? ratio[e] : set->poisson;
        }
    }
    const double *factor = materials_young(&j->paint, -1, 0, t);
    for (int64_t e = 0; e < t; e++) {
        double V = su_tet_volume(j->tet.vertices, j->tet.tets + 4 * e);
        volume += V, mean += V * (factor ? factor[e] : 1);
    }
    j->young = young * (mean / volume);
    return SU_OK;
}
