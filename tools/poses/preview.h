/* What supple-poses says about its choice. */
#ifndef POSES_PREVIEW_H
#define POSES_PREVIEW_H

#include "clips.h"
#include "io/stage/poses.h"
#include "rig/pose_selection.h"

typedef struct selection {
    su_chosen_poses poses; /* out of the frames of all clips */
    double *scale;         /* (s) */
} selection;

/* "run:12", "neutral" or the name of a sculpt. */
void preview_pose_name(const su_tool *tool, const clips *c, int64_t frame, char *out, size_t room);
/* Tables of the poses and of the clips and shots, and warnings: for frames that leave the space of the poses, farther
 * from all of them than any of them is from its nearest other one, and for parameters that move but are not known. */
su_status preview(su_tool *tool, clips *c, const selection *chosen, const su_poses *poses, const su_list *shots);

#endif
