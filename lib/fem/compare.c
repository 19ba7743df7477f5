#include "fem/compare.h"

#include "core/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Share of the sum of squares: flesh that leaves its mean by less than a thousandth of its displacement stands still.
 * Runs are solved to about that share of the forces, so that no two would agree on such a motion. */
static const double STILL = 1e-6;

struct su_compare {
    int64_t n, nbar, capacity, count;
    const double *mass;
    su_arena arena;
    su_compare_frame *frame;
    double *sum_error, *sum_reference;                   /* (n,3) over the frames: for the frame means */
    double *before_error, *before_reference;             /* (n,3) of the frame before */
    double error, reference, mass_error, mass_reference; /* sums of squares */
    double velocity_error, velocity_reference, skin_squares;
    su_compare_total total;
};

su_status su_compare_create(int64_t n, const double *mass, int64_t nbar, int64_t frames, su_compare **out,
                            su_error *err)
{
    *out = NULL;
    su_compare *c = calloc(1, sizeof *c);
    if (!c) return su_fail(err, SU_AGAIN, "no memory");
    c->n = n, c->nbar = nbar, c->mass = mass, c->capacity = frames;
    c->frame = su_arena_alloc(&c->arena, frames, sizeof *c->frame);
    double **arrays[] = {&c->sum_error, &c->sum_reference, &c->before_error, &c->before_reference};
    bool good = c->frame != NULL;
    for (int i = 0; i < 4; i++) good &= (*arrays[i] = su_arena_alloc(&c->arena, 3 * n, sizeof(double))) != NULL;
    if (!good) {
        su_compare_free(c);
        return su_fail(err, SU_AGAIN, "no memory to compare %lld vertices", (long long)n);
    }
    *out = c;
    return SU_OK;
}

void su_compare_free(su_compare *c)
{
    if (!c) return;
    su_arena_free(&c->arena);
    free(c);
}

/* sqrt(a / b) with 0 / 0 = 0: nothing moves in either. */
static double ratio(double a, double b) { return a == 0.0 ? 0.0 : sqrt(a / b); }

static void add_flesh(su_compare *c, su_compare_frame *frame, double dt, const double *u, const double *reference)
{
    double error = 0, size = 0, mass_error = 0, mass_size = 0, rate_error = 0, rate = 0;
    for (int64_t i = 0; i < 3 * c->n; i++) {
        double d = u[i] - reference[i], r = reference[i], mass = c->mass[i / 3];
        error += d * d, size += r * r;
        mass_error += mass * d * d, mass_size += mass * r * r;
        if (dt > 0.0) {
            double change = d - c->before_error[i], moved = r - c->before_reference[i];
            rate_error += change * change, rate += moved * moved;
        }
        c->sum_error[i] += d, c->sum_reference[i] += r;
        c->before_error[i] = d, c->before_reference[i] = r;
    }
    c->error += error, c->reference += size, c->mass_error += mass_error, c->mass_reference += mass_size;
    double per = 1.0 / (double)(c->n > 0 ? c->n : 1);
    frame->u = sqrt(size * per), frame->u_error = sqrt(error * per);
    frame->relative = ratio(error, size), frame->relative_mass = ratio(mass_error, mass_size);
    if (dt > 0.0) {
        frame->velocity = sqrt(rate * per) / dt, frame->velocity_error = sqrt(rate_error * per) / dt;
        c->velocity_error += rate_error / (dt * dt), c->velocity_reference += rate / (dt * dt);
    }
}

static void add_skin(su_compare *c, su_compare_frame *frame, const double *skin, const double *reference)
{
    double sum = 0.0;
    for (int64_t k = 0; k < c->nbar; k++) {
        double square = 0.0, size = 0.0;
        for (int64_t i = 3 * k; i < 3 * k + 3; i++) {
            square += (skin[i] - reference[i]) * (skin[i] - reference[i]);
            size += reference[i] * reference[i];
        }
        sum += square;
        frame->skin_largest = fmax(frame->skin_largest, sqrt(square));
        c->total.skin_motion = fmax(c->total.skin_motion, sqrt(size));
        if (sqrt(square) > c->total.skin_largest)
            c->total.skin_largest = sqrt(square), c->total.skin_frame = c->count, c->total.skin_vertex = k;
    }
    c->skin_squares += sum;
    frame->skin_error = sqrt(sum / (double)(c->nbar > 0 ? c->nbar : 1));
}

void su_compare_add(su_compare *c, double time, const double *u, const double *skin, const double *u_reference,
                    const double *skin_reference)
{
    if (c->count == c->capacity) return;
    su_compare_frame *frame = c->frame + c->count;
    *frame = (su_compare_frame){.time = time};
    add_flesh(c, frame, c->count > 0 ? time - frame[-1].time : 0.0, u, u_reference);
    add_skin(c, frame, skin, skin_reference);
    c->count++;
}

su_compare_total su_compare_result(const su_compare *c)
{
    su_compare_total total = c->total;
    double frames = (double)(c->count > 0 ? c->count : 1);
    /* sum |d - mean|^2 = sum |d|^2 - |sum d|^2 / F, vertex by vertex */
    double error = c->error, size = c->reference, mass_error = c->mass_error, mass_size = c->mass_reference;
    for (int64_t i = 0; i < 3 * c->n; i++) {
        double d = c->sum_error[i] * c->sum_error[i] / frames, r = c->sum_reference[i] * c->sum_reference[i] / frames;
        error -= d, size -= r;
        mass_error -= c->mass[i / 3] * d, mass_size -= c->mass[i / 3] * r;
    }
    total.plain = ratio(c->error, c->reference);
    total.mass = ratio(c->mass_error, c->mass_reference);
    if (c->count > 1) { /* one frame is its own mean */
        /* a reference that stays where it is has nothing left without its mean; plain says it all */
        if (size > STILL * c->reference) total.mean_removed = ratio(fmax(error, 0.0), size);
        if (mass_size > STILL * c->mass_reference) total.mass_mean_removed = ratio(fmax(mass_error, 0.0), mass_size);
    }
    total.error = fmax(fmax(total.plain, total.mass), fmax(total.mean_removed, total.mass_mean_removed));
    total.velocity = ratio(c->velocity_error, c->velocity_reference);
    total.skin_error = sqrt(c->skin_squares / (frames * (double)(c->nbar > 0 ? c->nbar : 1)));
    return total;
}

const su_compare_frame *su_compare_frames(const su_compare *c, int64_t *count)
{
    *count = c->count;
    return c->frame;
}

int su_compare_csv(const su_compare *c, FILE *stream)
{
    fprintf(stream,
            "frame,time_s,u_rms_mm,error_rms_mm,relative,relative_mass,velocity_rms_mm_s,velocity_error_rms_mm_s,"
            "skin_error_rms_mm,skin_error_max_mm\n");
    for (int64_t k = 0; k < c->count; k++) {
        const su_compare_frame *f = c->frame + k;
        fprintf(stream, "%lld,%.6f,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g\n", (long long)k, f->time, 1e3 * f->u,
                1e3 * f->u_error, f->relative, f->relative_mass, 1e3 * f->velocity, 1e3 * f->velocity_error,
                1e3 * f->skin_error, 1e3 * f->skin_largest);
    }
    return !ferror(stream);
}
