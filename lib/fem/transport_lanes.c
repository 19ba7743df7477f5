#include "fem/transport_lanes.h"

const su_carried_kernels *su_carried_kernels_of(su_vector_set set) { return SU_OF_SET(su_carried_kernels, set); }
