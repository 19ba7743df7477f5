/* The kernels in plain C, for any processor. */
#include "runtime/kernels/kernel_set.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <string.h>

#define SU_KERNEL_SET su_kernel_set_base
#define SU_KERNELS_NAME "base"
enum { TILE_I = 4, TILE_J = 2, GROUPS = 1 };
#include "runtime/kernels/kernels_set_body.h"
