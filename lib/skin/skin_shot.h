/* A shot by Steklov-Poincaré skinning: the flesh in equilibrium at each frame, on its own (`supple skin`). */
#ifndef SU_SKIN_SKIN_SHOT_H
#define SU_SKIN_SKIN_SHOT_H

#include "io/stage/fit.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"
#include "physics/external.h"
#include "rig/shot.h"
#include "skin/equilibrium.h"

typedef enum su_skin_start { SU_SKIN_FROM_RIG, SU_SKIN_FROM_PREVIOUS } su_skin_start;

/* With SU_SKIN_FROM_PREVIOUS a frame begins where the one before ended, turned along; frames that are multiples of this
 * begin from the rig all the same, so that any of them can be had without the whole shot, with the same bytes. */
enum { SU_SKIN_RUN = 12 };

typedef struct su_skin_options {
    su_skin_method method;
    su_skin_start start;
    int rings;        /* of the boundary's preconditioner */
    double tolerance; /* over the diagonal of the flesh */
    double stiffness; /* factor on Young's modulus */
    int threads;
    bool posed; /* free of stress is the rig's shape, so that only contacts move it; else the neutral one, as in SP */
    bool self_contact;           /* flesh is pushed out of itself */
    const su_external *external; /* colliders and what else pushes; borrowed; NULL: none */
} su_skin_options;

typedef struct su_skin_frame {
    double *u; /* (n,3) x_SP - x(p), root frame, m */
    double *w; /* (m) weights of the example poses */
    double elastic;
    int steps, status; /* 0; 1: contacts did not settle; 3: no equilibrium, u is 0 */
    int64_t springs;   /* contacts that press */
    /* m, of contacts with itself at the end: of flesh that can give way, and of what the rig holds inside each other; 0
     * without --self-contact */
    double deepest, deepest_held;
} su_skin_frame;

typedef struct su_skin_shot su_skin_shot;

/* Frames are those of a shot, or the example poses, whose rest shapes are the fit's; all borrowed. */
typedef struct su_skin_source {
    const su_anim *anim;
    const su_shot *shot;
    const su_poses *poses; /* NULL: the shot */
} su_skin_source;

/* tet and fit are borrowed. What the neutral shape has overlapping is the mesher's and counts as no contact. */
su_status su_skin_shot_create(const su_tet *tet, const su_fit *fit, const su_skin_source *source,
                              const su_skin_options *options, su_skin_shot **out, su_error *err);
void su_skin_shot_free(su_skin_shot *s);
/* Do bones turn the tets, or the rest shape? */
bool su_skin_shot_has_bones(const su_skin_shot *s);

/* Frames [from, to), each handed over once, in any order and from any thread, one at a time; done stops early where it
 * is not SU_OK. */
typedef su_status su_skin_done(void *context, int64_t frame, const su_skin_frame *result, su_error *err);
su_status su_skin_shot_run(su_skin_shot *s, int64_t from, int64_t to, su_skin_done *done, void *context,
                           su_pose_counts *counts, su_error *err);

#endif
