/* Skinning modes of local support (docs/skinning.md, eq. 38; in place of the sparsity of FCD section 9.5). */
#ifndef SU_REDUCE_LOCAL_SKINNING_H
#define SU_REDUCE_LOCAL_SKINNING_H

#include "core/progress.h"
#include "reduce/modes/skinning_modes.h"

#include <stdint.h>

/* All pointers borrowed. */
typedef struct su_skinning_regions {
    int64_t count;
    const double *weight; /* (count,n) a region is where it is > 0 (reduce/modes/regions.h) */
    const int64_t *modes; /* (count) of each, at least 1 */
} su_skinning_regions;

/* What the rows that the rig has in each region are made of; all borrowed. */
typedef struct su_local_rig {
    const su_rig_motions *motions;
    const double *mass, *leak; /* (n) kg; D */
} su_local_rig;

/* The lowest skinning modes of each region, which vanish outside of it, under the rows that the rig has there:
 * altogether k = sum of regions->modes. eigenvalues (k) rad^2/s^2, ascending over all regions; weights (n,k), each of
 * length 1 in the lumped mass, those of one region orthogonal; region (k): that of each mode, or NULL. problem->rig is
 * not read: the rows are those of `rig` (NULL: none). The report sums up over
 * regions, its residual is the largest; it may be NULL. SU_INPUT where a region has fewer free vertices than modes and
 * rows. */
su_status su_local_skinning_modes(const su_skinning_problem *problem, const su_local_rig *rig,
                                  const su_skinning_regions *regions, double *eigenvalues, double *weights,
                                  int32_t *region, su_skinning_report *report, su_error *err);

#endif
