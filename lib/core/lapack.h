/* What LAPACKE says where it has no memory: it takes its work arrays from malloc. */
#ifndef SU_CORE_LAPACK_H
#define SU_CORE_LAPACK_H

#include "core/error.h"

#include <lapacke.h>

/* Status of a call that ended with this info: SU_AGAIN without memory, else `otherwise`. */
static inline su_status su_lapack_status(lapack_int info, su_status otherwise)
{
    return info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR ? SU_AGAIN : otherwise;
}

#endif
