#include "estimate/reduced_motion.h"

#include "rig/rbf.h"

#include <string.h>

su_status su_reduced_motion_create(const su_model *model, const su_shot *shot, su_reduced_motion *motion, su_error *err)
{
    *motion = (su_reduced_motion){.model = model, .shot = shot};
    return su_reduced_basis_create(model, SU_COROTATED, &motion->basis, err);
}

void su_reduced_motion_free(su_reduced_motion *motion) { su_reduced_basis_free(&motion->basis); }

int64_t su_reduced_motion_scratch(const su_reduced_motion *motion)
{
    return motion->model->s + 2 * motion->model->m + motion->model->r;
}

void su_reduced_motion_at(const su_reduced_motion *motion, int64_t frame, double fraction, const double *q, double *back,
                          double *scratch)
{
    const su_model *model = motion->model;
    const su_reduced_basis *basis = &motion->basis;
    double *p = scratch, *w = p + model->s, *b = w + model->m, *scale = b + model->m;
    if (basis->m > 1) {
        su_shot_sample(motion->shot, frame, fraction, 0, NULL, NULL, p, NULL, NULL);
        su_rbf_weights(model->m, model->s, model->params, model->param_scale, model->rbf, p, w);
        su_basis_weights(model->m, model->s, model->params, model->param_scale, model->columns, model->basis_rbf, p, w, b);
    }
    su_reduced_basis_scale(basis, b, scale);
    memset(back, 0, (size_t)(3 * basis->n) * sizeof *back);
    for (int64_t g = 0; g < basis->d; g++) {
        int64_t first = basis->first_mode[g], modes = basis->first_mode[g + 1] - first, count = basis->vertex_count[g];
        const float *block = basis->blocks[g];
        for (int64_t i = 0; i < basis->m; i++)
            for (int64_t k = 0; k < modes; k++, block += 3 * count) {
                double c = (basis->m == 1 ? 1 : b[i]) * scale[first + k] * q[first + k];
                for (int64_t v = 0; v < count; v++) {
                    double *to = back + 3 * (int64_t)basis->vertices[g][v];
                    for (int a = 0; a < 3; a++) to[a] += c * block[3 * v + a];
                }
            }
    }
}

void su_reduced_motion_project(const su_reduced_motion *motion, const double *weight, const double *back, double *coordinates)
{
    const su_reduced_basis *basis = &motion->basis;
    for (int64_t g = 0; g < basis->d; g++) {
        int64_t first = basis->first_mode[g], modes = basis->first_mode[g + 1] - first, count = basis->vertex_count[g];
        const float *block = basis->blocks[g];
        for (int64_t k = 0; k < modes; k++, block += 3 * count) {
            double sum = 0;
            for (int64_t v = 0; v < count; v++) {
                int64_t at = basis->vertices[g][v];
                const double *x = back + 3 * at;
                sum += (weight ? weight[at] : 1) * (block[3 * v] * x[0] + block[3 * v + 1] * x[1] + block[3 * v + 2] * x[2]);
            }
            coordinates[first + k] = sum;
        }
    }
}
