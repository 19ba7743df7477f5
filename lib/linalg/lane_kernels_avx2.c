/* Loops over blocks of columns for AVX2 and FMA; elsewhere the same in plain C, which nobody chooses. */
#include "linalg/lane_kernels.h"

#define SU_AVX2
#include "core/vector_begin.h"

#include "linalg/lane_kernels_body.h"

#include "core/vector_end.h"
