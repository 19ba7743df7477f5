#include "geometry/shepard.h"

#include "geometry/kdtree.h"

#include <stddef.h>

su_status su_shepard_weights(int64_t n, const double *flesh, int64_t nbar, const double *skin, int threads,
                             int32_t *index, double *weight, su_error *err)
{
    su_kdtree *tree = NULL;
    SU_TRY(su_kdtree_create(nbar, skin, &tree, err));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t v = 0; v < n; v++) {
        double distance[4], sum = 0.0;
        int32_t *at = index + 4 * v;
        double *w = weight + 4 * v;
        int found = su_kdtree_nearest(tree, flesh + 3 * v, 4, at, distance);
        for (int k = 0; k < 4; k++) {
            if (k >= found) at[k] = at[0], distance[k] = -1.0;
            w[k] = distance[0] == 0.0 ? k == 0 : distance[k] < 0.0 ? 0.0 : 1.0 / distance[k];
            sum += w[k];
        }
        for (int k = 0; k < 4; k++) w[k] /= sum;
    }
    su_kdtree_free(tree);
    return SU_OK;
}
