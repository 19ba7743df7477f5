/* Poses that a host knows before it takes their steps, as it does those of a clip; for hosts inside the project. */
#ifndef SU_RUNTIME_FORESEE_H
#define SU_RUNTIME_FORESEE_H

#include "runtime/supple_runtime.h"

/* As many at once. */
enum { SUPPLE_AHEAD = 8 };

/* count poses in the order of their steps. What takes most of a pose is made for all of them in the lanes of vectors,
 * to the same bits as by supple_set_pose. parameters (count,s), points (count,needed,3), roots (count,16). 0: taken; 1:
 * not started, or too little memory, which the first call asks for. */
int supple_foresee(supple_runtime *runtime, int64_t count, const double *parameters, const double *points,
                   const double *roots);
/* Sets the next of them; supple_set_pose, supple_start_moving and supple_restart forget what is left. 1: none was. */
int supple_next_pose(supple_runtime *runtime);

#endif
