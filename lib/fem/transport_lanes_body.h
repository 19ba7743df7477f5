/* Displacements that are carried along, by tets in vector lanes, for one set of vector units (core/vector_begin.h). */

#include "geometry/svd_lanes.h"

/* 2E of a displacement gradient C, squared and summed */
SU_INLINE lanes twice_strain(const lanes C[9])
{
    lanes sum = {0};
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            lanes E = C[3 * i + j] + C[3 * j + i] + column_dot(C, i, j);
            sum += i == j ? E * E : 2.0 * E * E;
        }
    return sum;
}

/* Of tets [first, to), as many as there are lanes or less: the gradient that u has, turned with the tet, and `turned`
 * lacks. measure: its size and that of the strain into out (.,2); else what pulls the corners (.,12). */
SU_INLINE void carried(const su_carried *w, int64_t first, int64_t to, bool measure, double *out)
{
    int64_t some = to - first < LANES ? to - first : LANES;
    lanes g[12], x[12], y[12], R0[9], R1[9], mu = {0}, H[9] = {0}, G[9] = {0}, C[9], off = {0};
    for (int64_t l = 0; l < LANES; l++) {
        int64_t e = first + (l < some ? l : 0);
        const int32_t *tet = w->tets + 4 * e;
        for (int i = 0; i < 12; i++) {
            int64_t at = 3 * (int64_t)tet[i / 3] + i % 3;
            x[i][l] = w->u[at], y[i][l] = w->turned[at];
        }
        for (int i = 0; i < 9; i++) g[3 + i][l] = w->inverse[9 * e + i];
        for (int i = 0; i < 9; i++) R0[i][l] = w->R0[9 * e + i], R1[i][l] = w->R1[9 * e + i];
        mu[l] = w->weight[e];
    }
    for (int a = 1; a < 4; a++)
        for (int i = 0; i < 9; i++) {
            H[i] += (x[3 * a + i / 3] - x[i / 3]) * g[3 * a + i % 3];
            G[i] += (y[3 * a + i / 3] - y[i / 3]) * g[3 * a + i % 3];
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = R0[i] * H[j] + R0[3 + i] * H[3 + j] + R0[6 + i] * H[6 + j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            G[3 * i + j] = R1[3 * i] * C[j] + R1[3 * i + 1] * C[3 + j] + R1[3 * i + 2] * C[6 + j] - G[3 * i + j];
            off += G[3 * i + j] * G[3 * i + j];
        }
    if (measure) {
        lanes all = 0.25 * mu * twice_strain(C);
        off *= mu;
        for (int64_t l = 0; l < some; l++) out[2 * (first + l)] = all[l], out[2 * (first + l) + 1] = off[l];
        return;
    }
    for (int i = 0; i < 3; i++) {
        lanes sum = {0};
        for (int a = 1; a < 4; a++) {
            const lanes *row = G + 3 * i, *at = g + 3 * a;
            x[3 * a + i] = mu * (row[0] * at[0] + row[1] * at[1] + row[2] * at[2]), sum -= x[3 * a + i];
        }
        x[i] = sum;
    }
    for (int64_t l = 0; l < some; l++)
        for (int i = 0; i < 12; i++) out[12 * (first + l) + i] = x[i][l];
}

static void sizes(const su_carried *w, int64_t first, int64_t to, double *out)
{
    for (; first < to; first += LANES) carried(w, first, to, true, out);
}

static void pulls(const su_carried *w, int64_t first, int64_t to, double *out)
{
    for (; first < to; first += LANES) carried(w, first, to, false, out);
}

const su_carried_kernels SU_IN_SET(su_carried_kernels) = {sizes, pulls};
