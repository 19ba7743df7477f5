/* Rotations of many matrices in plain C, for any processor. */
#include "geometry/rotation_lanes.h"

#include "geometry/rotation.h"

#include <float.h>

#include "core/vector_begin.h"

#include "geometry/rotation_lanes_body.h"

#include "core/vector_end.h"
