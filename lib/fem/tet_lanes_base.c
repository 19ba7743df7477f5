/* Tets in vector lanes in plain C, for any processor. */
#include "fem/tet_lanes.h"

#include "core/vector_begin.h"

#include "fem/tet_lanes_body.h"

#include "core/vector_end.h"
