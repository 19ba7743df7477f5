/* The flesh fitted to the skins of all example poses, poses beside each other (docs/design.md, "Fit"). */
#ifndef SU_FEM_FIT_POSES_H
#define SU_FEM_FIT_POSES_H

#include "core/error.h"
#include "core/progress.h"
#include "fem/fit.h"
#include "io/stage/fit.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"

#include <stdbool.h>

/* All borrowed. */
typedef struct su_pose_fits {
    const su_tet *tet;
    const su_poses *poses;
    const char *tet_path, *poses_path;        /* for messages */
    const double *area;                       /* (nbar) skin area weights, su_skin_area_weights */
    double diagonal;                          /* of the skin, m */
    double gamma, residual, poisson, deepest; /* su_fit_problem */
    const bool *done;                         /* (k) poses whose shape and correction are there already */
} su_pose_fits;

/* shapes and corrections (k,n,3) of the poses fit->pose (k), and reports (k); pose 0 keeps the neutral shape exactly
 * (docs/formats.md, convention 3) and gets no report. A fit starts from the skin's displacement, interpolated, with
 * held vertices where their bones carry them; the correction is what it adds to the interpolation. A pose depends on
 * nothing of the others. SU_INPUT where held vertices follow bones that are not there. */
su_status su_fit_poses(const su_pose_fits *of, su_fit *fit, su_fit_report *reports, int threads, su_progress *progress,
                       su_error *err);

#endif
