#include "reduce/modes/carrying_mode.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "reduce/modes/modes.h"

#include <math.h>
#include <stdlib.h>

enum { MODES = 12, MOST_ROUNDS = 12 };
/* Tips are stiffened a bit beyond the mode that carries, and by so much at least, that rounds end. */
#define BEYOND 1.3
#define LEAST_FACTOR 2.0
/* A tet belongs to what swings where its strain energy density or squared displacement is above this part of the
 * largest; below that the factor fades with the ratio. */
#define MOVES 0.03

/* The part of the soft flesh that moves in a mode: 1 where all of it moves alike. soft (n). */
static double carried(const su_elastic *elastic, const double *soft, const double *mode)
{
    double whole = 0, second = 0, fourth = 0;
    for (int64_t v = 0; v < elastic->n; v++) {
        double size = su_dot3(mode + 3 * v, mode + 3 * v);
        whole += soft[v], second += soft[v] * size, fourth += soft[v] * size * size;
    }
    return fourth > 0 ? second * second / (whole * fourth) : 0;
}

/* Soft flesh of vertices (n): free volume, each tet's by the inverse of its Young's modulus; what is hard by its joint
 * or for it is thin is none that a body could be expected to move. share: of it, what the largest connected part has;
 * no mode of a body in pieces carries more. */
static su_status soft_flesh(const su_elastic *elastic, const double *young, double *soft, double *share, su_error *err)
{
    int32_t *part = NULL;
    double *of_part = NULL, whole = 0, most = 0;
    int64_t parts;
    su_status status;
    SU_GO(SU_ALLOC(&part, elastic->t, "flesh parts", err));
    SU_GO(su_tet_parts(elastic->t, elastic->tets, part, &parts, err));
    SU_GO(SU_ALLOC(&of_part, parts, "flesh parts", err));
    for (int64_t e = 0; e < elastic->t; e++)
        for (int c = 0; c < 4; c++) {
            int32_t v = elastic->tets[4 * e + c];
            if (elastic->free_index[v] < 0) continue;
            double corner = 0.25 * elastic->neutral_volume[e] / young[e];
            soft[v] += corner, of_part[part[e]] += corner, whole += corner;
        }
    for (int64_t p = 0; p < parts; p++) most = fmax(most, of_part[p]);
    *share = whole > 0 ? most / whole : 1;
done:
    free(part), free(of_part);
    return status;
}

/* Squared strain times stiffness of a tet's own part of the mode, and its mean squared displacement. */
static void activity(const su_elastic *elastic, int64_t e, const double *mode, double *energy, double *motion)
{
    const int32_t *tet = elastic->tets + 4 * e;
    double G[9];
    *motion = 0;
    for (int c = 0; c < 4; c++) *motion += 0.25 * su_dot3(mode + 3 * (int64_t)tet[c], mode + 3 * (int64_t)tet[c]);
    su_displacement_gradient(elastic, mode, e, G);
    double trace = G[0] + G[4] + G[8], strain = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            double s = 0.5 * (G[3 * i + k] + G[3 * k + i]);
            strain += s * s;
        }
    *energy = elastic->mu[e] * strain + 0.5 * elastic->lambda[e] * trace * trace;
}

/* The tets that move in the mode, `factor` times as stiff; of several modes the largest factor counts. */
static void mark(const su_elastic *elastic, const double *mode, double factor, double *scratch, double *log_factor)
{
    double most_energy = 0, most_motion = 0;
    for (int64_t e = 0; e < elastic->t; e++) {
        activity(elastic, e, mode, scratch + 2 * e, scratch + 2 * e + 1);
        most_energy = fmax(most_energy, scratch[2 * e]), most_motion = fmax(most_motion, scratch[2 * e + 1]);
    }
    for (int64_t e = 0; e < elastic->t; e++) {
        double part = fmax(scratch[2 * e] / most_energy, scratch[2 * e + 1] / most_motion) / MOVES;
        log_factor[e] = fmax(log_factor[e], fmin(part, 1) * log(factor));
    }
}

su_status su_carrying_mode_find(su_elastic *elastic, const double *x, double *young, const double *poisson, int threads,
                                const su_progress *progress, su_carrying_mode *out, su_error *err)
{
    int64_t modes = 3 * elastic->free_count < MODES ? 3 * elastic->free_count : MODES;
    double *shapes = NULL, *value = NULL, *scratch = NULL, *factor = NULL, *soft = NULL, body;
    su_status status;
    *out = (su_carrying_mode){0};
    SU_GO(SU_ALLOC_ALL("modes", err, SU_WANT(shapes, modes * 3 * elastic->n), SU_WANT(value, modes),
                       SU_WANT(scratch, 2 * elastic->t), SU_WANT(factor, elastic->t), SU_WANT(soft, elastic->n)));
    SU_GO(soft_flesh(elastic, young, soft, &body, err));
    su_mode_problem problem = {.elastic = elastic, .x = x, .progress = progress};
    for (;; out->rounds++) {
        int64_t first = 0, most = 0;
        SU_GO(su_modes_solve(&problem, modes, modes, value, shapes, NULL, threads, err));
        double share[MODES];
        for (int64_t k = 0; k < modes; k++) {
            share[k] = carried(elastic, soft, shapes + 3 * k * elastic->n);
            if (share[k] > share[most]) most = k;
        }
        while (first < modes && share[first] < SU_CARRIES * body) first++;
        if (first == 0 || out->rounds == MOST_ROUNDS) {
            if (first == modes) first = most; /* a body of tips alone: the largest of them */
            out->value = value[first], out->share = share[first], out->lower = (int)first;
            break;
        }
        double target = BEYOND * value[first < modes ? first : modes - 1];
        for (int64_t e = 0; e < elastic->t; e++) factor[e] = 0;
        for (int64_t k = 0; k < first; k++)
            mark(elastic, shapes + 3 * k * elastic->n, fmax(target / value[k], LEAST_FACTOR), scratch, factor);
        for (int64_t e = 0; e < elastic->t; e++) young[e] *= exp(factor[e]);
        su_elastic_set_material(elastic, young, poisson);
    }
done:
    free(shapes), free(value), free(scratch), free(factor), free(soft);
    return status;
}
