/* Rotations of many matrices for AVX-512 (F, DQ, VL); elsewhere the same in plain C, which nobody chooses. */
#include "geometry/rotation_lanes.h"

#include "geometry/rotation.h"

#include <float.h>

#define SU_AVX512
#include "core/vector_begin.h"

#include "geometry/rotation_lanes_body.h"

#include "core/vector_end.h"
