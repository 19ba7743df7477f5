#include "linalg/lane_kernels.h"

const su_lane_kernels *su_lane_kernels_of(su_vector_set set) { return SU_OF_SET(su_lane_kernels, set); }
