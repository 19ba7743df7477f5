/* Tets in vector lanes for AVX2 and FMA; elsewhere the same in plain C, which nobody chooses. */
#include "fem/tet_lanes.h"

#define SU_AVX2
#include "core/vector_begin.h"

#include "fem/tet_lanes_body.h"

#include "core/vector_end.h"
