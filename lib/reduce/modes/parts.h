/* Files made one pose at a time, put together again: which file holds which pose, and do they belong together
 * (docs/formats.md, convention 16). */
#ifndef SU_REDUCE_PARTS_H
#define SU_REDUCE_PARTS_H

#include "core/error.h"
#include "io/stage/fit.h"
#include "io/stage/modes.h"

#include <stdint.h>

typedef struct su_pose_source {
    int part;      /* number of the file */
    int64_t index; /* row in it */
} su_pose_source;

/* Where each of the m poses stands. A pose may stand in several files when their `pose_digests` are equal (the first
 * one is taken); SU_INPUT where they differ or are not known, and where poses are missing (all named). */
su_status su_modes_sources(int count, const su_modes *parts, const char *const *paths, int64_t m,
                           su_pose_source *sources, su_error *err);

/* Row of the pose with that digest in a fit or modes file; -1 where there is none. */
int64_t su_pose_of_digest(const su_file *file, const char *digest);

/* One fit with all poses in order, in memory of its own; meta is that of the first part with the pose digests merged.
 * SU_INPUT where the parts disagree in mesh, parameters, weights, density or material. */
su_status su_fit_merge(int count, const su_fit *parts, const char *const *paths, su_fit *out, su_error *err);

/* Refuses modes files that disagree in vertices, number of modes, regions or linear modes. */
su_status su_modes_agree(int count, const su_modes *parts, const char *const *paths, su_error *err);

#endif
