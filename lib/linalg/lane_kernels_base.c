/* Loops over blocks of columns in plain C, for any processor. */
#include "linalg/lane_kernels.h"

#include "core/vector_begin.h"

#include "linalg/lane_kernels_body.h"

#include "core/vector_end.h"
