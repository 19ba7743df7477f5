/* What the page of supple report shows, worked out from a bake's files and put into a page. */
#ifndef SU_TOOLS_REPORT_PACK_H
#define SU_TOOLS_REPORT_PACK_H

#include "core/progress.h"
#include "io/stage/anim.h"
#include "io/stage/basis.h"
#include "io/stage/model.h"
#include "io/stage/modes.h"
#include "io/page.h"
#include "io/stage/poses.h"
#include "io/stage/sim.h"
#include "rig/shot.h"
#include "runtime/subspace/reconstruct.h"

typedef struct report_data {
    const su_model *model;
    const su_anim *anim;
    const su_sim *sim;
    const su_poses *poses; /* NULL: modes at the neutral pose alone */
    const su_basis *basis; /* NULL: no angles */
    const su_modes *modes; /* NULL: no frequencies */
    const su_shot *shot;
    su_reconstruct *reconstruct;
    const su_sim *other_sim; /* a second bake of the shot; NULL: none */
    su_reconstruct *other;   /* its own */
    su_progress *progress;
} report_data;

/* Adds everything to page and info (an object). */
su_status report_pack(const report_data *data, su_page *page, json_t *info, su_error *err);
/* Can the page simulate this run (live.c)? *why_not (may be NULL): the reason. */
bool report_is_live(const report_data *data, const char **why_not);
/* What the page needs for that, if it can. */
su_status report_pack_live(const report_data *data, su_page *page, json_t *info, su_error *err);
/* The skin of its shot, into the same (skin.c). */
su_status report_pack_skin(const report_data *data, su_page *page, json_t *live, su_error *err);
/* The points of the reduced model at every pose (points.c). */
su_status report_pack_points(const report_data *data, su_page *page, json_t *info, su_error *err);

#endif
