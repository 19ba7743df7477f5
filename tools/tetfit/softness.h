/* Stiffness of each tet by the body's shape and joints, where nobody has painted any. */
#ifndef SU_TETFIT_SOFTNESS_H
#define SU_TETFIT_SOFTNESS_H

#include "core/tool.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"

typedef enum softness_kind { SOFTNESS_AUTO, SOFTNESS_BODY, SOFTNESS_EVEN } softness_kind;

typedef struct softness_options {
    int kind;      /* softness_kind; auto: by the body where nothing is painted */
    su_list stiff; /* JOINT=FACTOR; the joint may be a pattern */
    su_list soft;  /* the same, divided */
} softness_options;

/* factor (t) on Young's modulus, 1 in soft flesh. body: by thickness and joints' names; else 1 but for --stiff and
 * --soft. */
su_status softness_factors(su_tool *tool, const softness_options *options, bool body, const su_tet *tet,
                           const su_poses *poses, double *factor);

#endif
