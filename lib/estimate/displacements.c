#include "estimate/displacements.h"

#include <string.h>

static bool starts(const su_displacements *from, int64_t frame)
{
    return frame == 0 || su_shot_cut(from->motion->shot, frame);
}

/* q += weight * coordinates `before` (0, 1 or 2) substeps before a frame. */
static void add_known(const su_displacements *from, int64_t frame, int before, double weight, double *q)
{
    const su_sim *sim = from->sim;
    const double *at = sim->q + frame * sim->r, *rate = sim->qdot + frame * sim->r,
                 *change = sim->qddot + frame * sim->r;
    double h = from->settings->step;
    for (int64_t k = 0; k < sim->r; k++)
        q[k] += weight * (at[k] - before * h * rate[k] + (before > 1 ? h * h * change[k] : 0));
}

static void coordinates(const su_displacements *from, int64_t instant, double *q)
{
    int substeps = from->settings->substeps, count = 0;
    int64_t next = (instant + substeps - 1) / substeps, last = next - 1, known[6];
    memset(q, 0, (size_t)from->sim->r * sizeof *q);
    if (next * substeps - instant < 3) {
        add_known(from, next, (int)(next * substeps - instant), 1, q);
        return;
    }
    for (int before = starts(from, last) ? 0 : 2; before >= 0; before--) known[count++] = last * substeps - before;
    for (int before = 2; before >= 0; before--) known[count++] = next * substeps - before;
    for (int a = 0; a < count; a++) {
        double weight = 1;
        int64_t frame = known[a] > last * substeps ? next : last;
        for (int b = 0; b < count; b++)
            if (b != a) weight *= (double)(instant - known[b]) / (double)(known[a] - known[b]);
        add_known(from, frame, (int)(frame * substeps - known[a]), weight, q);
    }
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
