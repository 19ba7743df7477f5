#include "reduce/modes/motion_basis.h"

#include "core/memory.h"
#include "core/order.h"
#include "reduce/modes/modes.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Errors are relative to the size of a frame's own motion: frames are divided by it and this part of the median size,
 * below which motion is too small to be seen. */
#define MEDIAN_SHARE 0.1
/* Directions shorter than this part of the longest frame are rounding. */
#define SHORTEST 1e-6

/* factor (count): what each frame is multiplied by. sizes (count): mass norms, overwritten. */
static su_status weigh_frames(const su_played_shots *shapes, int shot_count, int known, double *sizes, double *factor,
                              su_error *err)
{
    double *sorted, *energy = NULL;
    su_status status;
    SU_TRY(SU_ALLOC(&sorted, shapes->count, "states", err));
    SU_GO(SU_ALLOC(&energy, shot_count, "states", err));
    memcpy(sorted, sizes, (size_t)shapes->count * sizeof *sorted);
    qsort(sorted, (size_t)shapes->count, sizeof *sorted, su_order_doubles);
    double least = MEDIAN_SHARE * sorted[shapes->count / 2];
    for (int64_t k = 0; k < shapes->count; k++) {
        factor[k] = sizes[k] > 0 ? 1 / (sizes[k] + least) : 0;
        energy[shapes->shot[k]] += factor[k] * factor[k] * sizes[k] * sizes[k];
    }
    for (int64_t k = 0; k < shapes->count; k++) {
        int shot = shapes->shot[k];
        double share = shot < known ? known : shot_count - known;
        if (energy[shot] > 0) factor[k] /= sqrt(energy[shot] * share);
    }
done:
    free(sorted), free(energy);
    return status;
}

su_status su_motion_basis_create(const su_tet *tet, const double *mass, const su_played_shots *shapes, int shot_count,
                                 int known, int64_t linear, int64_t r, double *basis, double *q, int64_t *got,
                                 su_error *err)
{
    int64_t n = tet->n, held = 0, size, count = shapes->count;
    double *free_mass = NULL, *columns = NULL, *modes = NULL, *sizes = NULL, *factor = NULL, *weighted = NULL;
    int32_t *vertex = NULL;
    uint8_t *fixed = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&fixed, n, "states", err));
    SU_GO(SU_ALLOC(&vertex, n, "states", err));
    for (int64_t k = 0; k < tet->fixed_count; k++) fixed[tet->fixed[k]] = 1;
    for (int32_t v = 0; v < n; v++)
        if (!fixed[v]) vertex[held++] = v;
    size = 3 * held;
    SU_GO(SU_ALLOC(&free_mass, size, "states", err));
    SU_GO(SU_ALLOC(&columns, count * size, "states", err));
    SU_GO(SU_ALLOC(&modes, r * size, "modes", err));
    SU_GO(SU_ALLOC(&sizes, count, "states", err));
    SU_GO(SU_ALLOC(&factor, count, "states", err));
    for (int64_t i = 0; i < size; i++) free_mass[i] = mass[vertex[i / 3]];
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < size; i++) columns[k * size + i] = shapes->shapes[3 * (k * n + vertex[i / 3]) + i % 3];
        for (int64_t i = 0; i < size; i++) sizes[k] += free_mass[i] * columns[k * size + i] * columns[k * size + i];
        sizes[k] = sqrt(sizes[k]);
    }
    SU_GO(weigh_frames(shapes, shot_count, known, sizes, factor, err));
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < size; i++) columns[k * size + i] *= factor[k];
    for (int64_t k = 0; k < linear; k++)
        for (int64_t i = 0; i < size; i++) modes[k * size + i] = basis[3 * (k * n + vertex[i / 3]) + i % 3];
    SU_GO(su_mass_pca(size, free_mass, linear, modes, count, columns, r - linear, SHORTEST, got, err));
    *got += linear;
    memset(basis + 3 * linear * n, 0, (size_t)(3 * (r - linear) * n) * sizeof *basis);
    for (int64_t k = linear; k < *got; k++)
        for (int64_t i = 0; i < size; i++) basis[3 * (k * n + vertex[i / 3]) + i % 3] = modes[k * size + i];
    SU_GO(SU_ALLOC(&weighted, 3 * n * count, "states", err));
    for (int64_t i = 0; i < 3 * n * count; i++) weighted[i] = shapes->shapes[i] * mass[i / 3 % n];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)r, (int)(3 * n), 1, weighted, (int)(3 * n),
                basis, (int)(3 * n), 0, q, (int)r);
done:
    free(free_mass), free(columns), free(modes), free(sizes), free(factor), free(weighted), free(vertex), free(fixed);
    return status;
}
