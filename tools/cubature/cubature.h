/* Parts of supple cubature: what is asked for, what is loaded, models of skinning modes. */
#ifndef SU_TOOLS_CUBATURE_H
#define SU_TOOLS_CUBATURE_H

#include "core/tool.h"
#include "io/stage/skinning.h"
#include "reduce/cubature/model_training.h"

#define REST_NAMES "turned|neutral" /* of skinning modes */

/* What the options say; 0: as the training plan has it. */
typedef struct settings {
    int tets, vertices, samples, states, seed, frames, memory, check;
    double error, amplitude;
    su_list shots;
    bool flesh, as_fitted;
    int clusters, rest; /* of skinning modes; rest: an index of REST_NAMES */
} settings;

typedef struct job {
    const char *tet_path, *poses_path, *basis_path, *skinning_path, **fit_paths;
    int fit_count;
    su_tet tet;
    su_poses poses;
    su_fit *fits, fit;
    su_basis basis;
    su_skinning skinning;
    su_pose_space space;
    su_training_plan plan;
    su_model_training training;
} job;

/* skinning.c: the model of skinning modes: clusters, and everything that needs no training. */
su_status skinning_save(su_tool *tool, const settings *set, const job *j);

#endif
