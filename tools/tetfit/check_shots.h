/* Is the rest shape x(p) usable between and beyond the example poses? Looks at every frame of the shots to be baked. */
#ifndef SU_TETFIT_CHECK_SHOTS_H
#define SU_TETFIT_CHECK_SHOTS_H

#include "core/tool.h"
#include "io/stage/fit.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"

typedef struct shot_check {
    const su_tet *tet;
    const su_poses *poses;
    const su_fit *fit;  /* all poses */
    const double *area; /* (nbar) skin area weights */
    double diagonal;    /* of the skin, m */
    int suggest;        /* how many frames to name that would help most as example poses */
} shot_check;

/* Counts the tets that keep less than a tenth of their neutral volume, and measures the distance of the embedded skin,
 * at every frame; says so, warns, names frames to add, and puts it all into the statistics. */
su_status check_shots(su_tool *tool, const shot_check *check, const su_list *paths);

#endif
