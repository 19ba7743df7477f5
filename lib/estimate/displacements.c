#include "estimate/displacements.h"

#include <string.h>

static bool starts(const su_displacements *from, int64_t frame)
{
    return frame == 0 || su_shot_cut(from->motion->shot, frame);
}

/* q (r) at an instant. */
static void coordinates(const su_displacements *from, int64_t instant, double *q)
{
    const su_sim *sim = from->sim;
    int64_t substeps = from->settings->substeps, frame = (instant + substeps - 1) / substeps,
            before = frame * substeps - instant;
    if (!starts(from, frame)) {
        memcpy(q, sim->path + ((frame + 1) * substeps - 1 - before) * sim->r, (size_t)sim->r * sizeof *q);
        return;
    }
    for (int64_t k = frame * sim->r; k < (frame + 1) * sim->r; k++)
        *q++ = sim->q[k] - (double)before * from->settings->step * sim->qdot[k];
}

void su_displacement(const su_displacements *from, su_instant_basis *basis, int64_t instant, double *back)
{
    int substeps = from->settings->substeps;
    memset(back, 0, (size_t)(3 * from->motion->model->n) * sizeof *back);
    if (instant < 0) return;
    coordinates(from, instant, basis->q);
    int64_t segment = instant / substeps, substep = instant % substeps;
    if (substep == 0 && !starts(from, segment)) segment--, substep = substeps; /* the end of the one before */
    su_reduced_motion_enter(from->motion, segment, (double)substep / substeps, basis);
    su_reduced_motion_add(from->motion, basis, basis->q, back);
}
