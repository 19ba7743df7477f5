/* A character and a shot for tests of the simulators: a beam whose rig bends it, every flesh vertex a skin vertex too,
 * so that rest shapes are exactly what the rig says. One rig parameter, the angle by which the beam bends. */
#ifndef TESTS_SCENE_H
#define TESTS_SCENE_H

#include "beam.h"
#include "fem/fullsim.h"
#include "fem/smooth_weights.h"
#include "io/stage/anim.h"
#include "io/stage/fit.h"
#include "io/stage/tet.h"
#include "rig/shot.h"

typedef struct scene {
    beam mesh;
    su_tet tet;
    su_fit fit;
    su_anim anim;
    su_shot *shot;
    su_smooth_weights smooth;
    su_arena arena; /* owns the arrays of tet, fit and anim */
} scene;

/* The rig at time t (s): bend angle (rad) and root (16, row-major; the identity on entry). */
typedef void scene_rig(double t, double *bend, double *root);

/* Example poses at the m bend angles (the first 0), F frames at fps. Teleports: cuts of the shot. The shot
 * points into s, which must not move. Aborts on failure. */
void scene_create(scene *s, int nx, int ny, int nz, int m, const double *angles, int F, double fps, scene_rig *rig,
                  int teleport_count, const int *teleports);
void scene_free(scene *s);

/* From here on the fit's rest is the turned one, with rotations smoothed over `length` (m); before it is used. */
void scene_turn_rest(scene *s, double length);

/* Root turned about z by angle (rad), its translation as it was. */
void scene_turn(double angle, double *root);
/* Rigs that several tests drive: a beam that swings, turns and moves; the same motion seen by someone turned by
 * scene_other_axis and moved. */
extern const double scene_other_axis[9];
void scene_swing(double t, double *bend, double *root);
void scene_swing_elsewhere(double t, double *bend, double *root);

/* u (F,n,3) of the whole shot through the full simulation with 4 Hz, one thread, Newton to tolerance. energy (F,3),
 * status (F) and counts where wanted (else NULL). Caller frees. Aborts on failure. */
double *scene_full_run(scene *s, const su_sim_settings *settings, double tolerance, double *energy, int *status,
                       su_shot_counts *counts);
/* The same with options of one's own. */
double *scene_full_run_with(scene *s, const su_sim_settings *settings, const su_fullsim_options *options,
                            double *energy, int *status, su_shot_counts *counts);

/* Writes folder/s.tet.npz, s.fit.npz and s.anim.npz, as the tools would make them. Aborts on failure. */
void scene_save(scene *s, const char *folder);

#endif
