#include "rig/psd.h"

#include "core/memory.h"
#include "geometry/mat3.h"

#include <stdlib.h>
#include <string.h>

void su_psd_correction(const su_rig_space *rig, const double *p, double *w, double *out)
{
    int64_t size = 3 * rig->nbar;
    su_rig_sculpt_weights(rig, p, w);
    memset(out, 0, (size_t)size * sizeof *out);
    for (int64_t j = 0; j < rig->a; j++)
        for (int64_t i = 0; i < size; i++) out[i] += w[j] * rig->psd_shapes[size * j + i];
}

su_status su_weld_sculpt(int64_t count, const double *points, int64_t N, const int32_t *source_vertex, int64_t nbar,
                         double *welded, double *spread, su_error *err)
{
    *spread = 0.0;
    if (count != N && count != nbar)
        return su_fail(err, SU_INPUT, "has %lld vertices; the character has %lld in its file and %lld welded",
                       (long long)count, (long long)N, (long long)nbar);
    if (count != N) {
        memcpy(welded, points, (size_t)(3 * nbar) * sizeof *welded);
        return SU_OK;
    }
    int32_t *share;
    SU_TRY(SU_ALLOC(&share, nbar, "sculpted vertices", err));
    memset(welded, 0, (size_t)(3 * nbar) * sizeof *welded);
    for (int64_t v = 0; v < N; v++) share[source_vertex[v]]++;
    for (int64_t v = 0; v < N; v++)
        for (int i = 0; i < 3; i++)
            welded[3 * (int64_t)source_vertex[v] + i] += points[3 * v + i] / share[source_vertex[v]];
    for (int64_t v = 0; v < N; v++) {
        double d = su_distance3(points + 3 * v, welded + 3 * (int64_t)source_vertex[v]);
        if (d > *spread) *spread = d;
    }
    free(share);
    return SU_OK;
}
