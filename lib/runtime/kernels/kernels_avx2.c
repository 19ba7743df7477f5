/* The kernels for AVX2 and FMA; elsewhere the same in plain C, which nobody chooses. */
#include "runtime/kernels/kernel_set.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"

#define SU_AVX2
#include "core/vector_begin.h"

enum { TILE_I = 4, TILE_J = 3, GROUPS = 2 };
#include "runtime/kernels/kernels_set_body.h"

#include "core/vector_end.h"
