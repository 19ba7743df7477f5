#include "estimate/reduced_motion.h"

#include "core/vector_clones.h"
#include "rig/rig_space.h"

#include <string.h>

su_status su_reduced_motion_create(const su_model *model, const su_shot *shot, const su_sim_settings *settings,
                                   const su_sim *sim, su_reduced_motion *s, su_error *err)
{
    *s = (su_reduced_motion){.model = model, .shot = shot, .settings = settings, .sim = sim};
    double **arrays[] = {&s->p, &s->w, &s->b, &s->scale, &s->q, &s->sum};
    const int64_t sizes[] = {model->s, model->m, model->m, model->r, model->r, 3 * model->n};
    su_status status;
    SU_GO(su_reduced_basis_create(model, SU_COROTATED, &s->basis, err));
    for (int i = 0; i < 6; i++)
        if (!(*arrays[i] = su_arena_alloc(&s->arena, sizes[i] + 1, sizeof(double)))) {
            status = su_fail(err, SU_AGAIN, "no memory for the motion of %lld flesh vertices", (long long)model->n);
            goto done;
        }
done:
    if (status != SU_OK) su_reduced_motion_free(s);
    return status;
}

void su_reduced_motion_free(su_reduced_motion *s)
{
    su_reduced_basis_free(&s->basis);
    su_arena_free(&s->arena);
    *s = (su_reduced_motion){0};
}

static bool starts(const su_reduced_motion *s, int64_t frame) { return frame == 0 || su_shot_cut(s->shot, frame); }

/* s->q at an instant. */
static void set_coordinates(su_reduced_motion *s, int64_t instant)
{
    const su_sim *sim = s->sim;
    int64_t substeps = s->settings->substeps, frame = instant > 0 ? (instant + substeps - 1) / substeps : 0,
            before = frame * substeps - instant;
    if (!starts(s, frame)) {
        const double *q = sim->path + ((frame + 1) * substeps - 1 - before) * sim->r;
        memcpy(s->q, q, (size_t)sim->r * sizeof *q);
        return;
    }
    for (int64_t k = 0; k < sim->r; k++)
        s->q[k] = sim->q[frame * sim->r + k] - (double)before * s->settings->step * sim->qdot[frame * sim->r + k];
}

/* U^ = sum_i b_i U^_i Y at an instant: b and Y. */
static void set_basis(su_reduced_motion *s, int64_t instant)
{
    const su_rig_space rig = su_rig_of_model(s->model);
    int64_t substeps = s->settings->substeps, at = instant > 0 ? instant : 0, frame = at / substeps,
            substep = at % substeps;
    if (substep == 0 && !starts(s, frame)) frame--, substep = substeps; /* the end of the segment before */
    s->b[0] = 1;
    if (s->basis.m > 1) {
        su_shot_sample(s->shot, frame, (double)substep / (double)substeps, s->p, NULL, NULL);
        su_rig_weights(&rig, s->p, s->w);
        su_rig_basis_weights(&rig, s->p, s->w, s->b);
    }
    su_reduced_basis_scale(&s->basis, s->b, s->scale);
}

/* Modes that are added in one pass over the vertices: the sum is in memory once for all of them. */
enum { TOGETHER = 4 };

/* sum (size) += the columns (some,size) times c. */
SU_CLONES static void add_columns(int64_t size, int64_t some, const float *columns, const double *c, double *sum)
{
    if (some == TOGETHER)
        for (int64_t v = 0; v < size; v++)
            sum[v] += c[0] * columns[v] + c[1] * columns[size + v] + c[2] * columns[2 * size + v] +
                      c[3] * columns[3 * size + v];
    else
        for (int64_t j = 0; j < some; j++)
            for (int64_t v = 0; v < size; v++) sum[v] += c[j] * columns[j * size + v];
}

void su_reduced_motion_at(su_reduced_motion *s, int64_t instant, double *back)
{
    const su_reduced_basis *basis = &s->basis;
    double *sum = s->sum;
    set_coordinates(s, instant);
    set_basis(s, instant);
    memset(back, 0, (size_t)(3 * s->model->n) * sizeof *back);
    for (int64_t g = 0; g < basis->d; g++) {
        int64_t first = basis->first_mode[g], modes = basis->first_mode[g + 1] - first, count = basis->vertex_count[g];
        memset(sum, 0, (size_t)(3 * count) * sizeof *sum);
        for (int64_t i = 0; i < basis->m; i++)
            for (int64_t k = 0; k < modes; k += TOGETHER) {
                double c[TOGETHER];
                int64_t some = modes - k < TOGETHER ? modes - k : TOGETHER;
                for (int64_t j = 0; j < some; j++) c[j] = s->b[i] * s->scale[first + k + j] * s->q[first + k + j];
                add_columns(3 * count, some, basis->blocks[g] + (i * modes + k) * 3 * count, c, sum);
            }
        for (int64_t v = 0; v < count; v++)
            for (int a = 0; a < 3; a++) back[3 * (int64_t)basis->vertices[g][v] + a] += sum[3 * v + a];
    }
}
