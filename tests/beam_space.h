/* A beam bent to several angles as a small character: tet, fit and basis files made in memory. */
#ifndef TESTS_BEAM_SPACE_H
#define TESTS_BEAM_SPACE_H

#include "beam.h"
#include "io/stage/basis.h"
#include "io/stage/fit.h"
#include "io/stage/tet.h"

typedef struct beam_space {
    beam shape;
    su_tet tet;     /* no skin: nbar = 0 */
    su_fit fit;     /* one parameter, the angle; no corrections */
    su_basis basis; /* r lowest linear modes at each pose, aligned */
} beam_space;

/* angles[0] = 0. Aborts on failure. */
beam_space beam_space_create(beam shape, int m, const double *angles, int r);
void beam_space_free(beam_space *s);

#endif
