#include "runtime/kernels/kernels_frames.h"

#include "runtime/kernels/kernels.h"

#include <math.h>
#include <string.h>

#define SU_KERNELS su_frame_kernels_base
#define SU_KERNELS_NAME "base"
#include "runtime/kernels/kernels_frames_body.h"

const su_frame_kernels *su_frame_kernels_choose(const char *name)
{
    const char *of = su_kernels_choose(name) ? su_kernels_choose(name)->name : "";
    if (strcmp(of, "avx512") == 0) return &su_frame_kernels_avx512;
    if (strcmp(of, "avx2") == 0) return &su_frame_kernels_avx2;
    return of[0] ? &su_frame_kernels_base : NULL;
}
