/* The lowest mode of the flesh that carries flesh, and tips made stiff until nothing that carries none swings below. */
#ifndef SU_REDUCE_CARRYING_MODE_H
#define SU_REDUCE_CARRYING_MODE_H

#include "core/progress.h"
#include "fem/elastic.h"

#define SU_CARRIES 0.05 /* of the largest connected part: soft flesh that a mode of the body carries */

typedef struct su_carrying_mode {
    double value; /* its eigenvalue, rad^2/s^2 */
    double share; /* of soft flesh s that it carries: (sum s|u|^2)^2 / (sum s, sum s|u|^4), 1 where all moves alike */
    int rounds;   /* how often tips were stiffened */
    int lower;    /* modes below it that still carry less, where stiffening did not end */
} su_carrying_mode;

/* At the rest shape of `elastic`, x (n,3). young (t) is what elastic has, in Pa or as factors: tets that move in a mode
 * below the lowest that carries SU_CARRIES are stiffened in place, also in elastic, until there is none (MOST_ROUNDS
 * times at most). poisson (t). */
su_status su_carrying_mode_find(su_elastic *elastic, const double *x, double *young, const double *poisson, int threads,
                                const su_progress *progress, su_carrying_mode *out, su_error *err);

#endif
