/* All groups of kernels for one set of vector units (core/vector_begin.h). Included once by each kernels_<set>.c, which
 * has set TILE_I, TILE_J and GROUPS. */

#include "runtime/kernels/kernels_vector.h"

#include "runtime/kernels/kernels_step_body.h"

#include "runtime/kernels/kernels_pose_body.h"

#include "runtime/kernels/kernels_frames_body.h"

#include "runtime/kernels/kernels_clusters_body.h"

static const char name[] = SU_SET_NAME;
#define OWN(what) .what = what

const su_kernel_set SU_IN_SET(su_kernel_set) = {
    OWN(name),
    .step = {OWN(name), OWN(rows_times), OWN(rows_times_float), OWN(rows_combine), OWN(corners), OWN(turned_strain),
             OWN(respond), OWN(tangent), OWN(gram), OWN(tangent_abreast), OWN(force_abreast), OWN(strain_abreast),
             OWN(strain_abreast_float), OWN(cholesky), OWN(solve), OWN(largest_square), OWN(inertia)},
    .pose = {OWN(scatter), OWN(scatter_floats), OWN(scatter_corners), OWN(moved), OWN(sample), OWN(rest),
             OWN(rotations), OWN(gradients), OWN(node_rotations), OWN(turned_shapes), OWN(shapes), OWN(materials),
             OWN(world), OWN(blend_rows), OWN(build_B), OWN(build_abreast), OWN(gram_block)},
    .frames = {OWN(combine), OWN(combine_one), OWN(weigh), OWN(weigh_one), OWN(turn), OWN(separate), OWN(embed)},
    .clusters = {OWN(name), .gradients = cluster_gradients, .gather = cluster_gather, .rotations = cluster_rotations,
                 .corotational = cluster_corotational, .triple = cluster_triple}};
