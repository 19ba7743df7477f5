/* The step and the pose part, as DESIGN section 6 defines them, on a made-up character of PSSD's gorilla's sizes; the dense
 * product of a stacked basis on the same core beside it. Medians of batches. */
#include "character.h"
#include "runtime/model_runtime.h"
#include "runtime/pose_part.h"
#include "runtime/step.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 21, BLOCK = 16 };

extern char *openblas_get_corename(void);

/* Processor time of this thread: other work on the machine does not count. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double dense_product(void)
{
    enum { R = 100, K = 1296 };
    double *A = su_calloc(R * K, 8), *C = su_calloc(R * R, 8), times[BATCHES];
    for (int i = 0; i < R * K; i++) A[i] = 1.0 / (i + 1);
    for (int b = 0; b < BATCHES; b++) {
        double start = seconds();
        for (int k = 0; k < 20; k++)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, R, R, K, 1, A, K, A, K, 0, C, R);
        times[b] = (seconds() - start) / 20;
    }
    free(A), free(C);
    return bench_median(BATCHES, times, NULL);
}

/* One row: r, m, material. Returns the step with one solve in seconds. */
static double measure(const character_sizes *sizes, const char *material, double *pose_out)
{
    character c;
    character_create(&c, sizes);
    json_object_set_new(c.model.file.meta, "material", json_string(material));
    su_runtime_model model;
    su_error err = {0};
    if (su_runtime_model_create(&c.model, SU_COROTATED, &model, &err) != SU_OK) abort();
    su_pose poses[BLOCK];
    su_pose_input inputs[BLOCK];
    su_pose_work work;
    su_blend trail[2];
    double steps[3], pose, spread = 0, h = 1.0 / sizes->fps / 2, times[BATCHES], g[3] = {0, 0, 0};
    for (int k = 0; k < BLOCK; k++)
        if (su_pose_create(&model, poses + k, &err) != SU_OK || su_pose_input_create(&model, inputs + k, &err) != SU_OK) abort();
    if (su_pose_work_create(&model, &work, &err) != SU_OK) abort();
    for (int k = 0; k < 2; k++)
        if (su_blend_create(&model, trail + k, &c.arena, &err) != SU_OK) abort();
    double columns = 0, pads = 0;
    for (int64_t p = 0; p < model.tet_panels; p++) {
        columns += (double)(model.tet_panel[p].count * model.tet_panel[p].columns);
        pads += (double)(model.tet_panel[p].count * model.tet_panel[p].stride);
    }
    for (int newton = 1; newton <= 3; newton++) {
        su_stepper stepper;
        su_step_settings settings = {.beta = 0.008, .stiffness = 1, .newton = newton};
        if (su_stepper_create(&model, &settings, &stepper, &err) != SU_OK) abort();
        double pose_times[BATCHES];
        for (int b = -1; b < BATCHES; b++) {
            for (int k = 0; k < BLOCK; k++) {
                int at = (b + 1) * BLOCK + k;
                su_shot_sample(c.shot, at / 2, 0.5 * (at % 2), model.patch.skin_count, model.patch.skin, inputs[k].skin,
                               inputs[k].p, inputs[k].Q, inputs[k].c);
            }
            double start = seconds();
            for (int k = 0; k < BLOCK; k++) su_blend_evaluate(&model, inputs[k].p, (b + 1) * BLOCK + k + 1, &poses[k].blend);
            const su_blend *older[BLOCK][2];
            for (int k = 0; k < BLOCK; k++) {
                older[k][0] = k > 0 ? &poses[k - 1].blend : &trail[0];
                older[k][1] = k > 1 ? &poses[k - 2].blend : &trail[1 - k];
            }
            for (int k = 0; k < BLOCK; k += SU_FRAMES)
                su_pose_evaluate(&model, SU_FRAMES, inputs + k, older + k, &work, poses + k);
            for (int k = 0; k < 2; k++) su_blend_copy(&model, &poses[BLOCK - 1 - k].blend, trail + k);
            double middle = seconds();
            if (b < 0) su_stepper_start(&stepper, poses, NULL, NULL, NULL, h);
            for (int k = 0; k < BLOCK; k++)
                if (su_stepper_advance(&stepper, poses + k, h, g, 0) != SU_STEP_OK) fprintf(stderr, "step failed\n");
            if (b < 0) continue;
            times[b] = (seconds() - middle) / BLOCK;
            pose_times[b] = (middle - start) / BLOCK;
        }
        double s;
        steps[newton - 1] = bench_median(BATCHES, times, &s);
        if (newton == 1) spread = s;
        pose = bench_median(BATCHES, pose_times, NULL);
        su_stepper_free(&stepper);
    }
    printf("  %4lld %3lld %-13s %7.1f %7.1f %7.1f   %7.1f   ±%2.0f %%   %5.1f /%3.0f  %5lld  %5.1f MB\n", (long long)model.r,
           (long long)model.m, material, 1e6 * steps[0], 1e6 * steps[1], 1e6 * steps[2], 1e6 * pose, 100 * spread,
           columns / (double)model.tets, pads / (double)model.tets, (long long)model.points,
           (double)su_runtime_model_bytes(&model) / 1e6);
    fflush(stdout);
    for (int k = 0; k < BLOCK; k++) su_pose_free(poses + k), su_pose_input_free(inputs + k);
    su_pose_work_free(&work);
    su_runtime_model_free(&model);
    character_free(&c);
    *pose_out = pose;
    return steps[0];
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    character_sizes sizes = {.cells = 14, .skin = 16002, .r = 100, .regions = 6, .m = 4, .tets = 144, .points = 119,
                             .frames = 200, .fps = 45};
    double pose, gemm = dense_product();
    printf("one core; OpenBLAS core type %s; dense 100 x 100 x 1296 dgemm %.1f us\n", openblas_get_corename(), 1e6 * gemm);
    printf("     r   m material       1 solve  2       3 solves  pose part us        columns/padded points  memory\n");
    double step = measure(&sizes, "neohookean", &pose);
    printf("  step with one solve / dgemm: %.2f; step and pose part: %.0f a second\n", step / gemm, 1 / (step + pose));
    if (quick) return 0;
    measure(&sizes, "stvk", &pose);
    measure(&sizes, "corotational", &pose);
    sizes.r = 96;
    measure(&sizes, "neohookean", &pose);
    sizes.r = 100, sizes.m = 16;
    measure(&sizes, "neohookean", &pose);
    sizes.m = 4;
    for (int k = 0; k < 3; k++) {
        sizes.r = k == 0 ? 50 : k == 1 ? 25 : 10;
        sizes.regions = k == 2 ? 1 : 6;
        measure(&sizes, "neohookean", &pose);
    }
    return 0;
}
