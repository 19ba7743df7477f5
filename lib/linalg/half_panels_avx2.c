/* Products with panels in bfloat16 for AVX2 and FMA; elsewhere the same in plain C, which nobody chooses. */
#include "linalg/half_panels.h"

#define SU_AVX2
#include "core/vector_begin.h"

#include "linalg/half_panels_body.h"

#include "core/vector_end.h"
