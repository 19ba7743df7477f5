/* Carried displacements by tets in vector lanes in plain C, for any processor. */
#include "fem/transport_lanes.h"

#include "core/vector_begin.h"

#include "fem/transport_lanes_body.h"

#include "core/vector_end.h"
