/* Products with panels in bfloat16 for AVX-512 (F, DQ, VL); elsewhere the same in plain C, which nobody chooses. */
#include "linalg/half_panels.h"

#define SU_AVX512
#include "core/vector_begin.h"

#include "linalg/half_panels_body.h"

#include "core/vector_end.h"
