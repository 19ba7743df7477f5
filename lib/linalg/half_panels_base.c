/* Products with panels in bfloat16 in plain C, for any processor. */
#include "linalg/half_panels.h"

#include "core/vector_begin.h"

#include "linalg/half_panels_body.h"

#include "core/vector_end.h"
