#include "fem/tet_lanes.h"

const su_tet_kernels *su_tet_kernels_of(su_vector_set set) { return SU_OF_SET(su_tet_kernels, set); }
