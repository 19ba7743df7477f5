/* Loops over blocks of columns for AVX-512 (F, DQ, VL); elsewhere the same in plain C, which nobody chooses. */
#include "linalg/lane_kernels.h"

#define SU_AVX512
#include "core/vector_begin.h"

#include "linalg/lane_kernels_body.h"

#include "core/vector_end.h"
