/* The kernels in plain C, for any processor. */
#include "runtime/kernels/kernel_set.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include "core/vector_begin.h"

enum { TILE_I = 4, TILE_J = 2, GROUPS = 1 };
#include "runtime/kernels/kernels_set_body.h"

#include "core/vector_end.h"
