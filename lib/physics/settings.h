/* How a shot is simulated: the settings that sim and fullsim share, so that both solve the same equation. Names and
 * defaults of the options stand in tools/sim_options.h. */
#ifndef SU_RUNTIME_SETTINGS_H
#define SU_RUNTIME_SETTINGS_H

#include "core/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { SU_GRAVITY_RELATIVE, SU_GRAVITY_ABSOLUTE, SU_GRAVITY_NONE };
#define SU_GRAVITY_NAMES "relative|absolute|none"
enum { SU_START_MOVING, SU_START_STILL };
#define SU_START_NAMES "moving|still"
enum { SU_STATUS_OK, SU_STATUS_HALVED, SU_STATUS_DAMPED, SU_STATUS_FAILED }; /* supple.sim: status */

typedef struct su_sim_settings {
    double gravity[3]; /* m/s^2, world */
    int gravity_mode;
    double damping;                     /* ratio at the lowest frequency, by beta alone */
    double decay;                       /* s in which the lowest mode falls to 1/e; > 0 replaces damping */
    double alpha, beta;                 /* Rayleigh, 1/s and s; beta < 0: su_sim_beta */
    double stiffness;                   /* factor on Young's modulus */
    int substeps;                       /* a frame; 0: su_sim_substeps */
    int start;                          /* SU_START_*: docs/formats.md, convention 14 */
    bool settle;                        /* u_0 is the static equilibrium whatever the gravity, else an error */
    bool placed;                        /* nothing is settled: another simulation says where the flesh stands */
    double preroll;                     /* s the first frame is held before the shot begins */
    const struct su_external *external; /* forces from outside; borrowed; NULL: none */
    int teleport_count;
    int32_t *teleports; /* frame indices k: the rig jumps between k - 1 and k; ascending. Owned, free with _free */
    /* set by su_sim_settings_resolve */
    double first_time;    /* s, of frame 0 on the clip's clock */
    double frame_seconds; /* of one frame */
    double step;          /* s, of one substep */
    int preroll_steps;    /* substeps of preroll */
} su_sim_settings;

/* All of the above as docs/design.md, section 4, lists it. */
su_sim_settings su_sim_defaults(void);
void su_sim_settings_free(su_sim_settings *settings);

/* Frame indices "12" or "12,80" of each text, sorted, each once. SU_USAGE where one is not a number > 0. */
su_status su_sim_set_teleports(su_sim_settings *settings, int count, const char *const *texts, su_error *err);

/* s between frames: their mean over the F times (s); of a single frame 1/fps. */
double su_sim_frame_seconds(int64_t F, const double *times, double fps);
#define SU_FILM_FPS 24.0 /* of a clip that does not say */
/* Steps that a frame of so many seconds is divided into where no option says otherwise: the fewest that are no longer
 * than 1/90 s (PSSD section 9). Whatever steps through a shot, training too, asks here. */
int su_sim_substeps(double frame_seconds);

/* beta, s, from damping or decay at the lowest frequency (Hz), for steps of h seconds. Implicit Euler damps a mode by
 * (1 + w^2 h^2)^-1/2 a step, to first order as beta = h would; what a step shorter than the usual 1/90 s takes away is
 * given back, so that a motion does not depend on the frames it is sampled at. */
double su_sim_beta(const su_sim_settings *settings, double frequency, double h);

/* Fills what depends on the character and the shot: beta from damping or decay at the lowest frequency (Hz, at the
 * neutral pose with the stiffness factor 1), substeps, step. times (F) s; fps is used for a single frame. */
su_status su_sim_settings_resolve(su_sim_settings *settings, double frequency, int64_t F, const double *times,
                                  double fps, su_error *err);

/* What gravity exerts on a vertex, root frame, m/s^2: acts - R_v carried. Relative: the given shape carries the weight
 * that it has at the neutral pose, turned along with the flesh, so that nothing acts there and flesh sags where it is
 * turned against gravity. Absolute: nothing is carried. */
typedef struct su_gravity {
    double acts[3];    /* Q'g */
    double carried[3]; /* g, or 0 */
} su_gravity;

/* Q (9): rotation from the root frame to the world. */
su_gravity su_sim_gravity(const su_sim_settings *settings, const double Q[9]);

/* Adds the gravity to the meta of what was trained or simulated with it, and reads it from there; what meta (may be
 * NULL) does not tell stays as it is. */
su_status su_sim_gravity_meta(const su_sim_settings *settings, json_t *meta, su_error *err);
void su_sim_read_gravity(const json_t *meta, su_sim_settings *settings);

/* Adds the keys of docs/formats.md, meta.json, to the meta of a supple.sim. */
su_status su_sim_settings_meta(const su_sim_settings *settings, json_t *meta, su_error *err);

#endif
