/* Robustness as a property: 10,000 frames of rigs that leap, spin, tremble and fold far beyond the examples, fixed
 * seeds. Nothing may become NaN, and the flesh may never hold more than ten times the largest work that its rig has put
 * in within a frame until then. */
#include "geometry/mat3.h"
#include "reduced_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

enum { SEEDS = 20, FRAMES = 500, PART = 40 }; /* another kind of motion every PART frames */

/* Length over which the rotations of turned rests are smoothed, m: several nodes along the beam of 1 m. */
#define SMOOTHING 0.3

static const double poses3[] = {0.0, 0.8, -0.8};
static uint64_t seed;

/* Uniform in [-1, 1), the same for the same numbers. */
static double chance(uint64_t a, uint64_t b)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u + b * 0x94d049bb133111ebu;
    for (int k = 0; k < 3; k++) x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u, x ^= x >> 27;
    return (double)(x >> 11) * 0x1p-52 - 1;
}

static void turn(double angle, double *root)
{
    double c = cos(angle), s = sin(angle);
    root[0] = c, root[1] = -s, root[4] = s, root[5] = c;
}

static void rig_violent(double t, double *bend, double *root)
{
    uint64_t frame = (uint64_t)floor(t * 30 + 0.5), part = frame / PART;
    double local = t - (double)(part * PART) / 30, size = 0.5 + fabs(chance(part, 1));
    switch ((int)(5 * (chance(part, 0) + 1) / 2 * 0.9999)) {
    case 0: /* swings, far outside the example poses */
        *bend = 3 * size * sin((6 + 20 * size) * local);
        turn(size * sin(25 * local), root);
        break;
    case 1: /* teleports that nobody declared */
        *bend = chance(part, 2);
        for (int c = 0; c < 3; c++) root[4 * c + 3] = frame % 7 == 3 ? 30 * size * chance(frame, (uint64_t)c) : 0;
        break;
    case 2: /* trembles: another pose and place every frame */
        *bend = 2.5 * chance(frame, 3);
        for (int c = 0; c < 3; c++) root[4 * c + 3] = 0.5 * size * chance(frame, 4 + (uint64_t)c);
        turn(size * chance(frame, 8), root);
        break;
    case 3: /* spins, and is shot away */
        *bend = 0.5 * chance(part, 2);
        turn(40 * size * local, root);
        root[3] = 100 * size * local * local;
        break;
    default: /* stands still, so that what was put in must come to rest */
        *bend = 0.3 * chance(part, 2);
    }
}

/* put_in (F): what the rig has put in at most within one frame so far. A step that carries flesh along at once takes
 * its kinetic energy, sum m d^2 / 2h^2; a frame puts in the sum of its steps. */
static void rig_energy(const scene *s, const double *mass, int substeps, double *put_in)
{
    int64_t n = s->tet.n;
    double *x[2] = {calloc((size_t)(3 * n), 8), calloc((size_t)(3 * n), 8)}, p[1], Q[9], c[3], most = 0, frame_sum = 0,
           h = 1.0 / 30 / substeps;
    for (int64_t k = 0; k < (s->anim.F - 1) * substeps + 1; k++) {
        int64_t frame = k == (s->anim.F - 1) * substeps ? s->anim.F - 2 : k / substeps;
        double sum = 0, fraction = (double)(k - frame * substeps) / substeps;
        su_shot_sample(s->shot, frame, fraction, p, Q, c);
        su_shot_sample_skin(s->shot, frame, fraction, 0, NULL, 1, x[k % 2]);
        for (int64_t v = 0; v < n; v++) {
            double at[3];
            su_mulv3(Q, x[k % 2] + 3 * v, at);
            for (int i = 0; i < 3; i++) x[k % 2][3 * v + i] = at[i] + c[i];
            double gap = k ? su_distance3(x[0] + 3 * v, x[1] + 3 * v) : 0;
            sum += 0.5 * mass[v] * gap * gap / (h * h);
        }
        frame_sum += sum;
        if (k % substeps) continue;
        most = fmax(most, frame_sum), frame_sum = 0;
        put_in[k / substeps] = most;
    }
    put_in[0] = put_in[1]; /* the flesh starts with the rig's first velocity */
    free(x[0]), free(x[1]);
}

static void energy_stays_bounded(void **unused)
{
    (void)unused;
    int64_t troubled = 0;
    for (seed = 1; seed <= SEEDS; seed++) {
        scene s;
        reduced_scene r;
        scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, rig_violent, 0, NULL);
        const bool one = seed / 2 % 2;
        if (seed / 4 % 2 == one) scene_turn_rest(&s, SMOOTHING);
        reduced_options options = {.r = 12, .regions = 1 + (int)(seed % 2), .stride = 1, .one = one, .lacking = one};
        reduced_create(&r, &s, &options);
        json_object_set_new(r.model.file.meta, "material",
                            json_string(seed % 3 == 0   ? "stvk"
                                        : seed % 3 == 1 ? "neohookean"
                                                        : "corotational"));
        su_runtime_model_free(&r.runtime);
        assert_int_equal(su_runtime_model_create(&r.model, SU_COROTATED, 0, NULL, &r.runtime, NULL), SU_OK);
        double *mass = calloc((size_t)s.tet.n, sizeof *mass);
        beam_mass(&s.mesh, mass);
        su_sim_settings settings = su_sim_defaults();
        if (seed % 4 == 0) settings.gravity_mode = SU_GRAVITY_ABSOLUTE, settings.settle = true, settings.preroll = 0.1;
        if (seed % 5 == 0) settings.substeps = 1; /* three times too long a step */
        su_step_settings step = {.newton = 1 + (int)(seed % 7 == 0)};
        su_shot_counts counts;
        assert_int_equal(reduced_run(&r, &settings, step, 1, &counts), SU_OK);
        double put_in[FRAMES], closest = 0, own = 0;
        rig_energy(&s, mass, settings.substeps ? settings.substeps : 3, put_in);
        for (int64_t v = 0; v < s.tet.n; v++) own += 9.81 * mass[v] * s.mesh.length; /* where only gravity works */
        for (int64_t k = 0; k < FRAMES; k++) {
            for (int64_t i = 0; i < r.sim.r; i++) assert_true(isfinite(r.sim.q[k * r.sim.r + i]));
            for (int e = 0; e < 3; e++) assert_true(isfinite(r.sim.energy[3 * k + e]));
            closest = fmax(closest, (r.sim.energy[3 * k] + r.sim.energy[3 * k + 1]) / fmax(put_in[k], own));
            troubled += r.sim.status[k] != SU_STATUS_OK;
            assert_in_range(r.sim.status[k], SU_STATUS_OK, SU_STATUS_FAILED);
        }
        printf("# seed %d: energy at most %.2g of what was put in; %lld halved, %lld damped, %lld failed\n", (int)seed,
               closest, (long long)counts.halved, (long long)counts.damped, (long long)counts.failed);
        assert_true(closest <= 10);
        if (counts.halved > 0) assert_true(counts.first_bad_frame >= 0);
        free(mass);
        reduced_free(&r);
        scene_free(&s);
    }
    assert_true(troubled > 0); /* or the rigs were not violent */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(energy_stays_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
