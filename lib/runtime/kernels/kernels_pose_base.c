#include "runtime/kernels/kernels_pose.h"

#include "geometry/rotation.h"
#include "runtime/kernels/kernels.h"

#include <math.h>
#include <string.h>

#define SU_KERNELS su_pose_kernels_base
#define SU_KERNELS_NAME "base"
#include "runtime/kernels/kernels_pose_body.h"

const su_pose_kernels *su_pose_kernels_choose(const char *name)
{
    const char *of = su_kernels_choose(name) ? su_kernels_choose(name)->name : "";
    if (strcmp(of, "avx512") == 0) return &su_pose_kernels_avx512;
    if (strcmp(of, "avx2") == 0) return &su_pose_kernels_avx2;
    return of[0] ? &su_pose_kernels_base : NULL;
}
