/* Parts of supple modes: what is asked for, what is loaded, regions and contact. */
#ifndef SU_TOOLS_MODES_H
#define SU_TOOLS_MODES_H

#include "core/tool.h"
#include "io/stage/fit.h"
#include "io/stage/modes.h"
#include "io/stage/tet.h"
#include "obstacle_files.h"
#include "physics/settings.h"
#include "reduce/modes/contact.h"
#include "reduce/modes/handles.h"
#include "reduce/modes/pose_modes.h"
#include "reduce/modes/regions.h"
#include "reduce/training_plan.h"

enum { CONTACT_NONE }; /* --contact: none, then the kinds of su_contact_kind in order */

enum { KIND_LINEAR, KIND_SKINNING }; /* --kind */

typedef struct settings {
    int r, linear, contact, contact_forces;
    double tolerance, eta;
    const char *handles, *regions, *bones, *region_modes, *matrices, *reuse;
    su_list poses, shots, motion, planes, colliders;
    bool keep_rigid;
    int covariance;   /* of skinning modes, su_covariance */
    int kind, shapes; /* KIND_...; principal shapes of a rig without bones */
    int local;        /* regions of local skinning modes spread over the flesh; 0: none */
    const char *leak;
    bool rigid_body, unconstrained, no_hold;
    su_sim_settings sim; /* of shots that are played */
    int self_contact;    /* in them: SU_SELF_CONTACT_* */
} settings;

typedef struct job {
    su_tool *tool;
    const settings *set;
    su_training_plan plan;
    su_tet tet;
    su_fit fit;
    su_modes modes;
    int64_t *rows;             /* (k) row of each pose in the fit */
    su_mode_report *reports;   /* (k) */
    su_contact_rows *contacts; /* (k) */
    double *done;              /* (k) share of the work of each pose */
    int64_t *converged;        /* (k) eigenvalues of its present region */
    bool *reused;              /* (k) taken from --reuse */
    su_contact_settings touching;
    obstacle_file *obstacles; /* (obstacle_count) */
    int64_t obstacle_count;
    su_mode_setup setup;
    su_handle *handles; /* (handle_count) or NULL: no regions */
    int64_t handle_count;
    const char **names;  /* (d) of regions */
    int64_t *linear, *r; /* (d) */
} job;

/* regions.c: --handles FILE, or --regions of the bones that --bones POSES knows, into handles, names and their number.
 */
su_status read_handles(job *j);
/* Modes of each region, and how many are linear: --region-modes belly=20,ear.L=8 for those named,
 * the others have what would be theirs of -r. */
su_status share_modes(job *j);
/* Weights of the regions into the modes file, and the region of each mode. */
su_status region_weights(job *j);

/* motion.c: one basis for all poses from --motion and --shots, written as a BASIS file. */
su_status motion_run(job *j);

/* skinning.c: skinning eigenmodes of the neutral pose, written as a SKINNING file. */
su_status skinning_run(job *j);

/* contacts.c: what touches at each pose, into the modes file. */
su_status detect_contacts(job *j);

#endif
