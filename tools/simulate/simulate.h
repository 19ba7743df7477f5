/* What the files of supple sim share: the run, and one shot of it. */
#ifndef SU_TOOLS_SIMULATE_H
#define SU_TOOLS_SIMULATE_H

#include "core/tool.h"
#include "estimate/what_moved.h"
#include "io/stage/anim.h"
#include "io/stage/model.h"
#include "io/stage/pair_sets.h"
#include "io/stage/sim.h"
#include "io/stage/tet.h"
#include "rig/shot.h"
#include "runtime/simulate.h"
#include "runtime/skinning/skinning_simulation.h"
#include "../sim_options.h"

#define SOLVER_NAMES "quasi-newton|local-global"

typedef struct settings {
    su_sim_settings sim;
    su_step_settings step;
    su_list teleports;
    su_forces_files forces;
    int inertia, interpolation;
    int checkpoint;
    bool resume, loop, accept, crowd;
    su_list estimate;  /* TET FIT */
    double bound;      /* relative; 0: none */
    const char *moved; /* file; NULL: none */
    su_skinning_settings skinning;
    int solver;
    int self_contact; /* SU_SELF_CONTACT_ */
    double self_stiffness, self_friction;
    const char *contact;   /* of trained pairs; NULL: none */
    const char *flesh_fit; /* of the materials that all pairs press with; NULL: none */
} settings;

/* What all shots share. */
typedef struct job {
    settings set;
    su_interpolation interpolation;
    su_model model;
    bool estimated; /* with an estimate of the error: tet and fit are there */
    su_tet tet;
    su_fit fit;
    su_runtime_model runtime;
    bool skinned; /* the model is one of skinning modes, and this is what its steps read */
    su_skinning_model skinning;
    su_skinning_bones bones; /* with --crowd, of the first clip, whose weights all have */
    su_anim first;           /* that clip */
    su_external external;
    su_pair_sets pairs;    /* with --contact */
    su_fit materials;      /* with --self-contact */
    int64_t contact_first; /* where the vertices of contact stand among those asked for */
} job;

/* One shot. */
typedef struct take {
    const job *j;
    const char *path;
    char *output, *checkpoint;
    double from, to;          /* of the run's progress */
    su_sim_settings settings; /* resolved for this shot; teleports are the job's */
    su_anim anim;
    su_shot *shot;
    su_simulation *simulation;
    const su_contact *contact;        /* of the flesh with itself; NULL: none */
    su_skinning_simulation *skinning; /* in its place, with skinning modes */
    double *bones;                    /* (F,B,3,4) with --crowd: from the neutral pose, root frame */
    su_sim sim;
    int cycles;
    uint8_t *marked; /* (F) room for frames to be named */
    int64_t failed;  /* frames */
    su_moved moved;
} take;

/* ---- take.c ---- */

/* A shot from its file to its result: simulated, judged, told of, saved. Of `t` the caller sets j, path, from and to
 * and settings. */
su_status take_run(su_tool *tool, take *t);
void take_free(take *t);
/* The same in two: up to its first frame, and from its last one on. */
su_status take_prepare(su_tool *tool, take *t);
su_status take_finish(su_tool *tool, take *t);

/* ---- take_bones.c ---- */

/* Bones of the shot into t->bones. SU_INPUT where they are not those of the first clip, or are not all that moves the
 * skin. */
su_status take_bones(take *t, su_error *err);

/* ---- crowd.c ---- */

/* All shots, their poses made from their bones: some at a time, a thread each. *failed frames, of *first and others. */
su_status crowd_run(su_tool *tool, job *j, int64_t *failed, const char **first);

/* ---- take_error.c ---- */

/* Where the reduced run ends in the progress of a shot with an estimate of its error; of no consequence. */
static const double SIM_SHARE = 0.2;

/* How far the shot is from the full space; played there where it is too far. */
su_status take_estimate_error(su_tool *tool, take *t);

/* ---- take_report.c ---- */

/* What follows is the part of a shot's progress between these shares of it. */
void take_enter(su_tool *tool, const take *t, double from, double to);
/* Inputs and settings into the meta of the result. */
su_status take_describe(su_tool *tool, take *t);
/* Statistics of the run. */
void take_report(su_tool *tool, const take *t);
/* What went wrong, a line each; reduced frames that go far beyond what the model was trained on. */
void take_warn(su_tool *tool, take *t);
const su_shot_counts *take_counts(const take *t);

#endif
