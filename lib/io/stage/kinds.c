/* The list of all kinds; apart from schema.c, so that a program that reads few kinds links few. */
#include "io/stage/anim.h"
#include "io/stage/basis.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "io/stage/modes.h"
#include "io/stage/pair_sets.h"
#include "io/stage/poses.h"
#include "io/stage/sim.h"
#include "io/stage/skinning.h"
#include "io/stage/tet.h"

const su_schema *const su_schemas[] = {
    &su_anim_schema,
    &su_poses_schema,
    &su_tet_schema,
    &su_fit_schema,
    &su_modes_schema,
    &su_basis_schema,
    &su_skinning_schema,
    &su_model_schema,
    &su_pair_sets_schema,
    &su_sim_schema,
    NULL,
};
