/* The rest shape of the flesh at a pose: x(p) = X + interpolated displacement of the corrected skin
 * + sum_i w_i(p) delta_i (PSSD section 4.1; weights of geometry/ties.h). */
#ifndef SU_RIG_REST_SHAPE_H
#define SU_RIG_REST_SHAPE_H

#include <stdint.h>

/* All arrays borrowed; those of supple.tet, supple.fit and supple.model fit as they are. */
typedef struct su_rest_shape {
    int64_t n, m, ties;
    const double *vertices;       /* (n,3) neutral flesh */
    const double *neutral;        /* (nbar,3) neutral skin */
    const int32_t *shepard_index; /* (n,ties) */
    const double *shepard_weight; /* (n,ties) */
    const double *corrections;    /* (m,n,3); NULL: none */
} su_rest_shape;

/* x (count,3) of the flesh vertices `list` (NULL: all, count = n). skin (nbar,3): corrected skin of the frame in the
 * root frame; w (m). */
void su_rest_shape_evaluate(const su_rest_shape *shape, int64_t count, const int32_t *list, const double *skin,
                            const double *w, double *x);
/* The same of all, by several threads. */
void su_rest_shape_evaluate_all(const su_rest_shape *shape, const double *skin, const double *w, int threads,
                                double *x);

#endif
