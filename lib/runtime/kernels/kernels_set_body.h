/* All groups of kernels for one instruction set. Included once by each kernels_<set>.c, which has set SU_KERNEL_SET
 * (the name of the object defined here), SU_KERNELS_NAME, SU_AVX2 or SU_AVX512, TILE_I, TILE_J and GROUPS. */

#include "runtime/kernels/kernels_vector.h"

#include "runtime/kernels/kernels_step_body.h"

#include "runtime/kernels/kernels_pose_body.h"

#include "runtime/kernels/kernels_frames_body.h"

#include "runtime/kernels/kernels_clusters_body.h"

const su_kernel_set SU_KERNEL_SET = {.name = SU_KERNELS_NAME,
                                     .step = {.name = SU_KERNELS_NAME,
                                              .rows_times = rows_times,
                                              .rows_times_float = rows_times_float,
                                              .rows_combine = rows_combine,
                                              .corners = corners,
                                              .turned_strain = turned_strain,
                                              .respond = respond,
                                              .tangent = tangent,
                                              .tangent_abreast = tangent_abreast,
                                              .force_abreast = force_abreast,
                                              .strain_abreast = strain_abreast,
                                              .strain_abreast_float = strain_abreast_float,
                                              .cholesky = cholesky,
                                              .solve = solve,
                                              .largest_square = largest_square,
                                              .inertia = inertia},
                                     .pose = {.scatter = scatter,
                                              .scatter_floats = scatter_floats,
                                              .scatter_corners = scatter_corners,
                                              .moved = moved,
                                              .sample = sample,
                                              .rest = rest,
                                              .rotations = rotations,
                                              .gradients = gradients,
                                              .node_rotations = node_rotations,
                                              .turned_shapes = turned_shapes,
                                              .shapes = shapes,
                                              .materials = materials,
                                              .world = world,
                                              .blend_rows = blend_rows,
                                              .build_B = build_B,
                                              .build_abreast = build_abreast,
                                              .gram_block = gram_block},
                                     .frames = {.combine = combine,
                                                .combine_one = combine_one,
                                                .weigh = weigh_frames,
                                                .weigh_one = weigh_one,
                                                .turn = turn_frames,
                                                .separate = separate,
                                                .embed = embed},
                                     .clusters = {.name = SU_KERNELS_NAME,
                                                  .gradients = cluster_gradients,
                                                  .gather = cluster_gather,
                                                  .rotations = cluster_rotations,
                                                  .corotational = cluster_corotational,
                                                  .triple = cluster_triple}};
