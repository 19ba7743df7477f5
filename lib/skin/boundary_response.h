/* The sparse K_b(0) of SP section 6.3: what forces the boundary answers with to its own displacements while the
 * interior is in balance, near each vertex. */
#ifndef SU_SKIN_BOUNDARY_RESPONSE_H
#define SU_SKIN_BOUNDARY_RESPONSE_H

#include "skin/ex_rotated.h"

/* out: blocks of K_bb - K_bi K_ii^-1 K_ib between boundary vertices at most `rings` edges apart, K (K(0)) given; what
 * lies farther is left out, its absolute values going to the diagonals, which keeps the matrix definite. Made patch by
 * patch, the interior of each reaching `rings` edges beyond it and held there: exact K_ii would take hours of solves on
 * meshes of the paper's size. Patches beside each other on the threads; the result does not depend on them. */
su_status su_boundary_response_create(const su_ex_rotated *body, const su_blocks *K, int rings, int threads,
                                      su_blocks *out, su_error *err);

#endif
