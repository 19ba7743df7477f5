/* The reduced flesh of a model with every contact pair that it has with itself, at frames of shots: what contact is
 * trained with. */
#ifndef SU_REDUCE_CONTACT_SCENE_H
#define SU_REDUCE_CONTACT_SCENE_H

#include "io/stage/fit.h"
#include "rig/shot.h"
#include "runtime/forces/all_pairs.h"
#include "runtime/pack_model.h"
#include "runtime/reduced_step.h"

/* Borrowed, for as long as the scene lives. */
typedef struct su_contact_flesh {
    const su_model *model;
    const su_fit *fit;
    double stiffness;   /* factor on that of docs/contact.md */
    bool allow_overlap; /* what the rest shape has overlapping is free of force */
    int threads;
} su_contact_flesh;

typedef struct su_contact_scene {
    su_runtime_model runtime; /* all vertices are its points */
    su_stepper stepper;
    su_pose pose;
    su_pose_work work;
    su_pose_input input;
    const su_contact *contact; /* of the stepper */
    int64_t serial;
} su_contact_scene;

/* Freed by su_contact_scene_free, after errors too. */
su_status su_contact_scene_create(const su_contact_flesh *flesh, const su_step_settings *step, su_contact_scene *out,
                                  su_error *err);
void su_contact_scene_free(su_contact_scene *scene);
/* pose of a frame of a shot, and of a fraction of the way to the next. */
void su_contact_scene_pose(su_contact_scene *scene, const su_shot *shot, int64_t frame, double fraction, su_pose *pose);

#endif
