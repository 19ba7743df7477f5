/* What the files of supple fit share: what is asked for, and the job as it grows from stage to stage. */
#ifndef SU_TETFIT_JOB_H
#define SU_TETFIT_JOB_H

#include "core/tool.h"
#include "fem/fit.h"
#include "io/stage/fit.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"
#include "materials.h"
#include "softness.h"

enum rest_kind { REST_TURNED, REST_POSED };
#define REST_NAMES "turned|posed"

typedef struct settings {
    int material;
    int paint;        /* paint_kind */
    int rest;         /* rest_kind */
    double smoothing; /* length, as a part of the flesh's diagonal */
    double gamma, residual, frequency, young, poisson, density, deepest;
    material_files files;
    softness_options softness;
    su_list poses, shots;
    int suggest;
    su_list reuse;
} settings;

typedef struct job {
    su_tool *tool;
    const settings *set;
    su_tet tet;
    su_poses poses;
    su_fit fit;
    materials paint;
    bool body;              /* stiffness follows the body */
    double *area;           /* (nbar) skin area weights */
    double diagonal;        /* of the skin, m */
    double young, lowest;   /* Pa, mean over the volume; rad^2/s^2; at the neutral pose */
    su_fit_report *reports; /* (k) */
    bool *reused;           /* (k) taken from --reuse */
} job;

/* inputs.c: reads TET and POSES, and takes over what later stages need of the poses; which poses are fitted. */
su_status load_inputs(job *j);
su_status copy_poses(job *j);
/* The smoothing of the rotations, where the rest shape is turned by them. */
su_status set_smoothing(job *j);

/* stiffness.c: materials of all poses inside, uniform, by the body, or as painted. */
su_status set_materials(job *j);

/* reuse.c: poses of an earlier run that depend on the same things; what the file tells of itself, digests among it. */
su_status take_reused(job *j);
su_status make_meta(job *j);

#endif
