/* A character and a shot for tests of the simulators: a beam whose rig bends it, every flesh vertex a skin vertex too, so
 * that rest shapes are exactly what the rig says. One rig parameter, the angle by which the beam bends. */
#ifndef TESTS_SCENE_H
#define TESTS_SCENE_H

#include "beam.h"
#include "io/anim.h"
#include "io/fit.h"
#include "io/tet.h"
#include "rig/shot.h"

typedef struct scene {
    beam mesh;
    su_tet tet;
    su_fit fit;
    su_anim anim;
    su_shot *shot;
    su_arena arena;     /* owns the arrays of tet, fit and anim */
} scene;

/* The rig at time t (s): bend angle (rad) and root (16, row-major; the identity on entry). */
typedef void scene_rig(double t, double *bend, double *root);

/* Example poses at the m bend angles (the first 0), F frames at fps. Teleports: cuts of the shot. The shot
 * points into s, which must not move. Aborts on failure. */
void scene_create(scene *s, int nx, int ny, int nz, int m, const double *angles, int F, double fps, scene_rig *rig,
                   int teleport_count, const int *teleports);
void scene_free(scene *s);

/* Writes folder/s.tet.npz, s.fit.npz and s.anim.npz, as the tools would make them. Aborts on failure. */
void scene_save(scene *s, const char *folder);

#endif
