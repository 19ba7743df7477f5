/* Joints of two files that stand alike in the world, and unlike in what they hang on. */
#ifndef SU_RIG_PARENT_TURN_H
#define SU_RIG_PARENT_TURN_H

#include <stdbool.h>

/* Where a joint stands, without its clip. Matrices row-major, not kept. */
typedef struct su_stand {
    int up;              /* axis of the file that points up: 0 x, 1 y, 2 z */
    const double *above; /* (16) its parent in the scene; NULL: none */
    const double *local; /* (16) it in its parent */
} su_stand;

/* Programs hang one skeleton on different armatures: turned by 90 degrees for z up, or not turned. turn (9): what takes
 * directions in the parent there to those in the parent here, upright by the axes of both files, where that brings the
 * joint there much nearer to the joint here than taking it in its parent as it is; true then. Else false, and the
 * identity: a character that is turned as a whole keeps its turn. */
bool su_parent_turn(const su_stand *there, const su_stand *here, double turn[9]);

#endif
