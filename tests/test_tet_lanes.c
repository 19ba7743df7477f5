/* Energy, forces and stiffness in vector lanes against the same tet by itself. */
#include "box.h"
#include "fem/elastic.h"
#include "fem/tet_lanes.h"
#include "geometry/mat3.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

static const double rest[12] = {0.1, 0.2, 0, 1.1, 0.1, 0.2, 0.2, 1.2, -0.1, 0.1, 0.3, 1.3};
static const int32_t corners[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* Kinds of deformation: none, small, large, flat, inverted, squashed in two directions, turned, stretched. */
static void deform(int kind, uint64_t *state, double y[12])
{
    double F[9];
    for (int i = 0; i < 9; i++) F[i] = i % 4 == 0;
    double noise = kind == 0 ? 0 : kind == 1 ? 1e-3 : 0.4;
    for (int i = 0; i < 9; i++) F[i] += noise * box_random(state);
    for (int j = 0; j < 3; j++) {
        if (kind == 3) F[6 + j] = 0.3 * F[j] - 0.2 * F[3 + j];
        if (kind == 4) F[6 + j] = -F[6 + j];
        if (kind == 5) F[3 + j] *= 1e-3, F[6 + j] *= 1e-3;
        if (kind == 6) {
            double x = F[j];
            F[j] = -F[3 + j], F[3 + j] = x;
        }
        if (kind == 7) F[j] *= 3;
    }
    for (int v = 0; v < 4; v++) su_mulv3(F, rest + 3 * v, y + 3 * v);
}

static double no_offset[9 * SU_TET_LANES];

/* A tet of each kind. */
typedef struct group {
    double y[12 * SU_TET_LANES], inverse[9 * SU_TET_LANES], volume[SU_TET_LANES], mu[SU_TET_LANES],
        lambda[SU_TET_LANES];
} group;

static group group_of(uint64_t *state)
{
    group g;
    for (int l = 0; l < SU_TET_LANES; l++) {
        deform(l, state, g.y + 12 * l);
        su_tet_rest(rest, rest, g.inverse + 9 * l, g.volume + l);
        g.mu[l] = 2 + box_random(state), g.lambda[l] = 7 + 3 * box_random(state);
    }
    return g;
}

/* Of each set of vector units that this processor has. */
#define EACH_SET(kernels)                                                                                              \
    for (int set = 0; set <= (int)su_vector_set_here(); set++)                                                         \
        for (const su_tet_kernels *kernels = SU_OF_SET(su_tet_kernels, set); kernels; kernels = NULL)

static const int32_t all[SU_TET_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};

static su_lane_tets mesh_of(su_material material, const group *g)
{
    return (su_lane_tets){material, corners, no_offset, g->inverse, g->volume, g->mu, g->lambda};
}

static su_elastic single_of(su_material material, group *g)
{
    return (su_elastic){.material = material,
                        .tets = corners,
                        .offset = no_offset,
                        .inverse = g->inverse,
                        .volume = g->volume,
                        .mu = g->mu,
                        .lambda = g->lambda};
}

/* What a tet gives does not depend on the tets beside it, some of them crushed or turned inside out: to the bit. */
static void a_tet_is_for_itself(void **unused)
{
    (void)unused;
    uint64_t state = 11;
    double *K = aligned_alloc(64, 2 * SU_LANE_STIFFNESS * sizeof *K), *one = K + SU_LANE_STIFFNESS;
    double *f = aligned_alloc(64, 2 * SU_LANE_FORCES * sizeof *f), *alone = f + SU_LANE_FORCES;
    EACH_SET(kernels)
    for (int material = SU_STVK; material <= SU_TISSUE; material++)
        for (int project = 0; project < 2; project++) {
            group g = group_of(&state);
            su_lane_tets mesh = mesh_of(material, &g);
            kernels->stiffness(&mesh, project, SU_TET_LANES, all, g.y, NULL, K);
            kernels->forces(&mesh, SU_TET_LANES, all, g.y, f);
            for (int32_t l = 0; l < SU_TET_LANES; l++) {
                kernels->stiffness(&mesh, project, 1, &l, g.y, NULL, one);
                kernels->forces(&mesh, 1, &l, g.y, alone);
                for (int i = 0; i < SU_LANE_STIFFNESS; i += SU_TET_LANES) assert_true(K[i + l] == one[i]);
                for (int i = 0; i < SU_LANE_FORCES; i += SU_TET_LANES) assert_true(f[i + l] == alone[i]);
            }
        }
    free(K), free(f);
}

static void lanes_agree_with_single_tets(void **unused)
{
    (void)unused;
    uint64_t state = 5;
    double *K = aligned_alloc(64, SU_LANE_STIFFNESS * sizeof *K);
    EACH_SET(kernels)
    for (int material = SU_STVK; material <= SU_TISSUE; material++)
        for (int project = 0; project < 2; project++)
            for (int count = SU_TET_LANES; count > 0; count -= 5) {
                group g = group_of(&state);
                su_lane_tets mesh = mesh_of(material, &g);
                const su_elastic single = single_of(material, &g);
                kernels->stiffness(&mesh, project, count, all, g.y, NULL, K);
                for (int l = 0; l < count; l++) {
                    double one[144], size = 1e-3; /* squashed, all of it may be clipped */
                    su_tet_elastic(&single, g.y, l, project, NULL, one, NULL);
                    for (int i = 0; i < 144; i++) size = fmax(size, fabs(one[i]));
                    int block = 0;
                    for (int a = 0; a < 4; a++)
                        for (int b = a; b < 4; b++, block++)
                            for (int i = 0; i < 3; i++)
                                for (int j = 0; j < 3; j++)
                                    assert_near(K[SU_TET_LANES * (9 * block + 3 * i + j) + l] / size,
                                                one[12 * (3 * a + i) + 3 * b + j] / size, 1e-12);
                }
            }
    free(K);
}

static void energies_and_forces_agree_with_single_tets(void **unused)
{
    (void)unused;
    uint64_t state = 7;
    double *f = aligned_alloc(64, SU_LANE_FORCES * sizeof *f), *energy = aligned_alloc(64, SU_TET_LANES * sizeof *f);
    EACH_SET(kernels)
    for (int material = SU_STVK; material <= SU_TISSUE; material++)
        for (int count = SU_TET_LANES; count > 0; count -= 5) {
            group g = group_of(&state);
            su_lane_tets mesh = mesh_of(material, &g);
            const su_elastic single = single_of(material, &g);
            kernels->forces(&mesh, count, all, g.y, f);
            kernels->energies(&mesh, count, all, g.y, energy);
            for (int l = 0; l < count; l++) {
                double one[12], alone, size = 1e-3;
                su_tet_elastic(&single, g.y, l, false, one, NULL, &alone);
                for (int i = 0; i < 12; i++) size = fmax(size, fabs(one[i]));
                for (int i = 0; i < 12; i++)
                    assert_near(f[SU_TET_LANES * i + l] / size, one[i] / size,
                                1e-11); /* squashed: rotations to 1e-13 / 1e-3 */
                assert_near(energy[l] / fmax(alone, 1e-3), alone / fmax(alone, 1e-3), 1e-12);
            }
        }
    free(f), free(energy);
}

/* A farm's machines give the same bytes, whatever they have beyond AVX2. */
static void sets_with_fused_products_agree(void **unused)
{
    (void)unused;
    uint64_t state = 3;
    if (su_vector_set_here() < SU_VECTORS_AVX512) skip();
    double *K = aligned_alloc(64, 2 * SU_LANE_STIFFNESS * sizeof *K), *other = K + SU_LANE_STIFFNESS;
    double *f = aligned_alloc(64, 2 * SU_LANE_FORCES * sizeof *f), *theirs = f + SU_LANE_FORCES;
    for (int material = SU_STVK; material <= SU_TISSUE; material++)
        for (int project = 0; project < 2; project++) {
            group g = group_of(&state);
            su_lane_tets mesh = mesh_of(material, &g);
            su_tet_kernels_avx2.stiffness(&mesh, project, SU_TET_LANES, all, g.y, NULL, K);
            su_tet_kernels_avx512.stiffness(&mesh, project, SU_TET_LANES, all, g.y, NULL, other);
            assert_memory_equal(K, other, SU_LANE_STIFFNESS * sizeof *K);
            su_tet_kernels_avx2.forces(&mesh, SU_TET_LANES, all, g.y, f);
            su_tet_kernels_avx512.forces(&mesh, SU_TET_LANES, all, g.y, theirs);
            assert_memory_equal(f, theirs, SU_LANE_FORCES * sizeof *f);
        }
    free(K), free(f);
}

/* Where two singular values vanish the projected derivative is not unique; it must stay finite and symmetric. */
static void a_collapsed_tet_stays_finite(void **unused)
{
    (void)unused;
    double *K = aligned_alloc(64, SU_LANE_STIFFNESS * sizeof *K), y[24] = {0}, inverse[18], volume[2];
    double mu[2] = {1, 1}, lambda[2] = {3, 3};
    for (int v = 0; v < 4; v++) y[3 * v] = rest[3 * v]; /* onto a line; the other onto a point */
    for (int l = 0; l < 2; l++) su_tet_rest(rest, rest, inverse + 9 * l, volume + l);
    EACH_SET(kernels)
    for (int material = SU_STVK; material <= SU_TISSUE; material++) {
        su_lane_tets mesh = {material, corners, no_offset, inverse, volume, mu, lambda};
        kernels->stiffness(&mesh, true, 2, all, y, NULL, K);
        for (int l = 0; l < 2; l++)
            for (int i = 0; i < 9 * SU_LANE_BLOCKS; i++) assert_true(isfinite(K[SU_TET_LANES * i + l]));
        for (int l = 0; l < 2; l++)
            for (int i = 0; i < 3; i++) assert_true(K[SU_TET_LANES * (36 + 4 * i) + l] > -1e-9);
    }
    free(K);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_agree_with_single_tets),
        cmocka_unit_test(a_tet_is_for_itself),
        cmocka_unit_test(energies_and_forces_agree_with_single_tets),
        cmocka_unit_test(sets_with_fused_products_agree),
        cmocka_unit_test(a_collapsed_tet_stays_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
