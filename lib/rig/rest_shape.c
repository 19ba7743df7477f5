#include "rig/rest_shape.h"

/* x (3) of vertex v. */
static void evaluate(const su_rest_shape *shape, int64_t v, const double *skin, const double *w, double x[3])
{
    const int32_t *index = shape->shepard_index + shape->ties * v;
    const double *weight = shape->shepard_weight + shape->ties * v;
    double at[3];
    for (int c = 0; c < 3; c++) at[c] = shape->vertices[3 * v + c];
    for (int64_t j = 0; j < shape->ties; j++) {
        const double *now = skin + 3 * (int64_t)index[j], *then = shape->neutral + 3 * (int64_t)index[j];
        for (int c = 0; c < 3; c++) at[c] += weight[j] * (now[c] - then[c]);
    }
    if (shape->corrections)
        for (int64_t i = 0; i < shape->m; i++) {
            const double *delta = shape->corrections + 3 * (i * shape->n + v);
            for (int c = 0; c < 3; c++) at[c] += w[i] * delta[c];
        }
    for (int c = 0; c < 3; c++) x[c] = at[c];
}

void su_rest_shape_evaluate(const su_rest_shape *shape, int64_t count, const int32_t *list, const double *skin,
                            const double *w, double *x)
{
    for (int64_t k = 0; k < count; k++) evaluate(shape, list ? list[k] : k, skin, w, x + 3 * k);
}

void su_rest_shape_evaluate_all(const su_rest_shape *shape, const double *skin, const double *w, int threads, double *x)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t v = 0; v < shape->n; v++) evaluate(shape, v, skin, w, x + 3 * v);
}
