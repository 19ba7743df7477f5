#include "reduce/cubature/sample_states.h"

#include "core/memory.h"
#include "core/random.h"
#include "geometry/mat3.h"
#include "linalg/dense.h"
#include "reduce/cubature/reduced_stiffness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Small states are nearly linear and as much about high modes as about low ones; large ones are not: what mixed states
 * are scaled by after that, one after the other. */
static const double mixed[] = {1, 0.5, 1, 1.4};
enum { MIXED = sizeof mixed / sizeof *mixed };
/* Size of states of one soft mode alone over the others'. */
#define SOFT_SIZE 0.5

/* Largest vertex motion of one state. */
static double largest_motion(int64_t n, const double *u)
{
    double most = 0;
    for (int64_t v = 0; v < n; v++) most = fmax(most, su_dot3(u + 3 * v, u + 3 * v));
    return sqrt(most);
}

void su_states_expand(const su_pose_space *space, int64_t count, const double *q, double *u)
{
    su_multiply(count, 3 * space->n, space->r, q, space->U, u);
}

/* Scales the states to the wanted amplitude, then, where they are mixed, each by its factor. */
static su_status scale_states(const su_pose_space *space, const su_sampling *sampling, double *q, su_error *err)
{
    int64_t size = 3 * space->n, r = space->r;
    double *u, sum = 0;
    SU_TRY(SU_ALLOC(&u, SU_STATES_AT_ONCE * size, "sample states", err));
    for (int64_t from = 0; from < sampling->samples; from += SU_STATES_AT_ONCE) {
        int64_t count = sampling->samples - from < SU_STATES_AT_ONCE ? sampling->samples - from : SU_STATES_AT_ONCE;
        su_states_expand(space, count, q + from * r, u);
        for (int64_t k = 0; k < count; k++) {
            double most = largest_motion(space->n, u + k * size);
            sum += most * most;
        }
    }
    free(u);
    double rms = sqrt(sum / (double)sampling->samples),
           scale = rms > 0 ? sampling->amplitude * space->diagonal / rms : 0;
    for (int64_t k = 0; k < sampling->samples; k++) {
        double factor = sampling->mixed ? mixed[k % MIXED] : 1;
        for (int64_t i = 0; i < r; i++) q[k * r + i] *= scale * factor;
    }
    return SU_OK;
}

/* Motions that resonate answer an error of their stiffness many times over, and random states of all motions hardly
 * show it. V (r,r) eigenvectors as rows; q (soft, r). */
static su_status soft_states(const su_pose_space *space, const su_sampling *sampling, const double *V, double *q,
                             su_error *err)
{
    int64_t r = space->r;
    double *u;
    SU_TRY(SU_ALLOC(&u, 3 * space->n, "sample states", err));
    for (int64_t k = 0; k < sampling->soft; k++) {
        su_states_expand(space, 1, V + k * r, u);
        double most = largest_motion(space->n, u),
               size = most > 0 ? SOFT_SIZE * sampling->amplitude * space->diagonal / most : 0;
        for (int64_t j = 0; j < r; j++) q[k * r + j] = (k % 2 ? -size : size) * V[k * r + j];
    }
    free(u);
    return SU_OK;
}

su_status su_sample_states(su_pose_space *space, const double *rest, const su_sampling *sampling, double *q,
                           su_error *err)
{
    int64_t r = space->r;
    double *V = NULL, *l = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("sample states", err, SU_WANT(V, r * r), SU_WANT(l, r)));
    SU_GO(su_ritz_pairs(space, rest, V, l, err));
    memset(q, 0, (size_t)(sampling->samples * r) * sizeof *q);
    su_random random = su_random_seed(sampling->seed, sampling->stream);
    for (int64_t k = 0; k < sampling->samples; k++)
        for (int64_t i = 0; i < r; i++) {
            double least = fmax(l[i], SU_LEAST_EIGENVALUE * l[r - 1]), z = su_random_normal(&random) / least;
            for (int64_t j = 0; j < r; j++) q[k * r + j] += z * V[i * r + j];
        }
    SU_GO(scale_states(space, sampling, q, err));
    if (sampling->soft) SU_GO(soft_states(space, sampling, V, q + sampling->samples * r, err));
done:
    free(V), free(l);
    return status;
}
