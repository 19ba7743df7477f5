/* A shot with each instruction set that this processor runs: they differ by the rounding of sums in single precision.
 */
#include "near.h"
#include "reduced_scene.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/subspace/reconstruct.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FRAMES = 20, R = 20 };

static const double poses3[] = {0.0, 0.8, -0.8};
static const char *const sets[] = {"base", "avx2", "avx512"};

/* q (FRAMES,R) and the flesh's displacements (FRAMES,n,3), or NULL where the processor cannot run the set. */
static double *run_with(const char *set, scene *s, double **u)
{
    const reduced_options options = {.r = R, .regions = 2, .stride = 2, .lacking = true};
    const su_sim_settings settings = su_sim_defaults();
    const su_step_settings step = {.newton = 1, .tolerance = 1e-8};
    su_error err = {0};
    if (!su_kernel_set_choose(set)) return NULL;
    setenv("SUPPLE_KERNELS", set, 1);
    reduced_scene r;
    reduced_create(&r, s, &options);
    assert_string_equal(r.runtime.kernels->name, set);
    assert_int_equal(reduced_run(&r, &settings, step, 1, NULL), SU_OK);
    double *q = calloc(FRAMES * R, sizeof *q);
    *u = calloc((size_t)(FRAMES * 3 * r.model.n), sizeof **u);
    memcpy(q, r.sim.q, FRAMES * R * sizeof *q);
    su_reconstruct *reconstruct;
    assert_int_equal(su_reconstruct_create(&r.model, SU_COROTATED, 0, NULL, 1, &reconstruct, &err), SU_OK);
    assert_int_equal(su_reconstruct_shot(reconstruct, s->shot, &r.sim, 0, FRAMES, &(su_shot_motion){.u = *u}, &err),
                     SU_OK);
    su_reconstruct_free(reconstruct);
    reduced_free(&r);
    unsetenv("SUPPLE_KERNELS");
    return q;
}

static void instruction_sets_agree(void **unused)
{
    (void)unused;
    scene s;
    double *u[3] = {NULL};
    scene_create(&s, 6, 2, 2, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
    scene_turn_rest(&s, 0.3);
    double *base = run_with(sets[0], &s, &u[0]);
    int64_t size = FRAMES * 3 * s.tet.n;
    assert_non_null(base);
    printf("# largest displacement %.3g m\n", largest(size, u[0]));
    assert_true(largest(size, u[0]) > 1e-3);
    for (int k = 1; k < 3; k++) {
        double *q = run_with(sets[k], &s, &u[k]);
        if (!q) {
            printf("# %s cannot run here\n", sets[k]);
            continue;
        }
        double off = difference(FRAMES * R, base, q) / largest(FRAMES * R, base),
               moved = difference(size, u[0], u[k]) / largest(size, u[0]);
        printf("# %s: coordinates %.1e, displacements %.1e from base\n", sets[k], off, moved);
        /* 24 bits hold 6e-8; sums of some hundred terms and some steps' memory of them. */
        assert_true(off < 1e-5 && moved < 1e-5);
        assert_true(off > 0); /* another set it was */
        free(q);
    }
    free(base), free(u[0]), free(u[1]), free(u[2]);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(instruction_sets_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
