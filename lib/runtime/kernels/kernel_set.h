/* All kernels of one instruction set, and how a set is chosen. One file compiles each: kernels_base.c, kernels_avx2.c,
 * kernels_avx512.c. */
#ifndef SU_RUNTIME_KERNEL_SET_H
#define SU_RUNTIME_KERNEL_SET_H

#include "core/error.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/kernels_clusters.h"
#include "runtime/kernels/kernels_frames.h"
#include "runtime/kernels/kernels_pose.h"

typedef struct su_kernel_set {
    const char *name; /* "base", "avx2" or "avx512" */
    su_kernels step;
    su_pose_kernels pose;
    su_frame_kernels frames;
    su_cluster_kernels clusters;
} su_kernel_set;

extern const su_kernel_set su_kernel_set_base, su_kernel_set_avx2, su_kernel_set_avx512;

/* The set of that name; NULL where there is none or this processor cannot run it. name NULL: the one that the
 * environment variable SUPPLE_KERNELS names, or the fastest that this processor runs where that is not set or empty. */
const su_kernel_set *su_kernel_set_choose(const char *name);

/* The same for a model to use (name NULL). SU_USAGE where SUPPLE_KERNELS asks for what cannot run. */
su_status su_kernel_set_find(const su_kernel_set **out, su_error *err);

#endif
