/* supple at run time: soft-tissue motion on a rigged character, step by step, for a game or a plug-in.
 *
 *   1. open a model;  2. ask which skin points it needs;  then for every step
 *   3. set the pose: rig parameters, those skin points as the rig has them, the root frame;
 *   4. step;  5. read the positions of the skin vertices you asked for.
 *
 * After opening nothing is allocated, no file is touched, nothing is locked. A runtime belongs to one thread at a time;
 * several may be used side by side. Units are metres, seconds, kilograms; right-handed, y up; matrices row-major,
 * acting on columns. Link with `pkg-config --libs supple-runtime`, and `--static` before it for the archive. */
#ifndef SUPPLE_RUNTIME_H
#define SUPPLE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Of this header. MAJOR counts changes of what was there before, MINOR what was added since; the shared library's
 * soname has MAJOR. */
#define SUPPLE_RUNTIME_MAJOR 1
#define SUPPLE_RUNTIME_MINOR 0
/* 1000 MAJOR + MINOR of the library in use; a host that loads it by name compares. */
int supple_runtime_version(void);

typedef struct supple_runtime supple_runtime;

enum { SUPPLE_GRAVITY_RELATIVE, SUPPLE_GRAVITY_ABSOLUTE, SUPPLE_GRAVITY_NONE };

/* Zero means the default everywhere. */
typedef struct supple_options {
    double gravity[3];       /* m/s^2, world; 0,0,0: 0,-9.81,0 (for none set the mode) */
    int gravity_mode;        /* relative: the given shape carries its own weight */
    double damping;          /* ratio at the lowest frequency; 0: 0.1 */
    double stiffness;        /* factor on Young's modulus; 0: 1 */
    int newton;              /* linear solves a step; 0: as many as 1e-4 of the forces takes */
    int corrected;           /* not 0: points already contain the sculpted corrections of the model */
    const int32_t *vertices; /* skin vertices whose positions will be read; NULL: all */
    int64_t vertex_count;
    int64_t contact_count;    /* skin points that feel colliders, wind and forces; 0: nothing acts from outside */
    const int32_t *contacts;  /* these skin vertices; NULL: as many spread over the skin (300 are plenty) */
    int64_t collider_count;   /* most colliders at a time */
    double contact_stiffness; /* N/m^3, pressure for each metre of depth; 0: 2e6 */
    const char
        *self_contact; /* a CONTACT file of supple contact: the flesh does not pass through itself; NULL: it does */
} supple_options;

/* NULL on failure, with a sentence in message (size bytes). options NULL: all defaults. */
supple_runtime *supple_open(const char *model_path, const supple_options *options, char *message, size_t size);
/* The same for hosts inside the project, which have the arrays from elsewhere (io/stage/model.h, io/stage/pair_sets.h;
 * contact NULL: flesh passes through itself). Both are taken over, on failure too; the options' self_contact is not
 * looked at. */
struct su_model;
struct su_pair_sets;
__attribute__((visibility("hidden"))) supple_runtime *supple_open_model(struct su_model *model,
                                                                        struct su_pair_sets *contact,
                                                                        const supple_options *options, char *message,
                                                                        size_t size);
void supple_close(supple_runtime *runtime);

/* Rig parameters, in the order in which they are given; the name is NULL where the model stores none. */
int64_t supple_parameters(const supple_runtime *runtime);
const char *supple_parameter_name(const supple_runtime *runtime, int64_t index);

/* Skin vertices of the character, the needed ones (ascending), and the ones whose positions are read. */
int64_t supple_skin_vertices(const supple_runtime *runtime);
int64_t supple_needed(const supple_runtime *runtime, const int32_t **vertices);
int64_t supple_output_vertices(const supple_runtime *runtime, const int32_t **vertices);

/* The pose that the next step leads to. parameters as above; points (needed,3) in the root frame; root (4,4): root
 * frame to world, rigid. The first pose, and the first after supple_restart, is where the flesh starts, at rest on the
 * rig. */
void supple_set_pose(supple_runtime *runtime, const double *parameters, const double *points, const double root[16]);

/* For hosts inside the project that know poses before their steps are taken, as a clip's are: count of them, at most
 * SUPPLE_AHEAD, in the order of the steps. What takes most of a pose is made for all of them in the lanes of vectors,
 * to the same bits as by supple_set_pose. parameters (count,s), points (count,needed,3), roots (count,16). 0: taken;
 * 1: not started, or too little memory, which the first call asks for. */
enum { SUPPLE_AHEAD = 8 };
__attribute__((visibility("hidden"))) int supple_foresee(supple_runtime *runtime, int64_t count,
                                                         const double *parameters, const double *points,
                                                         const double *roots);
/* Sets the next of them; supple_set_pose, supple_start_moving and supple_restart forget what is left. 1: none was. */
__attribute__((visibility("hidden"))) int supple_next_pose(supple_runtime *runtime);

/* After supple_set_pose where the flesh starts: it starts with the velocity of the rig, which reaches this pose
 * `seconds` later, and not at rest in the world. After steps at one pose (a pre-roll) what they led to goes on. */
void supple_start_moving(supple_runtime *runtime, const double *parameters, const double *points, const double root[16],
                         double seconds);

/* From the next step on: factor on Young's modulus, damping ratio (not above 0: as before); gravity and its mode. */
void supple_set_flesh(supple_runtime *runtime, double stiffness, double damping);
void supple_set_gravity(supple_runtime *runtime, const double gravity[3], int mode);

/* ---- forces from outside: colliders, wind and point forces act on the contact points, in the world ---- */

enum { SUPPLE_PLANE, SUPPLE_SPHERE, SUPPLE_CAPSULE };

typedef struct supple_collider {
    int shape;
    double a[3], b[3]; /* plane: a point and the outward normal; sphere: its centre; capsule: its ends */
    double radius, friction;
} supple_collider;

/* The contact points: skin vertices. They are among the needed ones. */
int64_t supple_contacts(const supple_runtime *runtime, const int32_t **vertices);
/* The skin area (m^2) that each contact point stands for. */
void supple_contact_areas(const supple_runtime *runtime, double *areas);
/* Others, where the host knows the skin's faces: by default the points share the surface of the flesh. */
void supple_set_contact_areas(supple_runtime *runtime, const double *areas);
/* Where they are after the last step: (contacts,3) in the world. */
void supple_contact_positions(const supple_runtime *runtime, double *positions);
/* The colliders at the end of the next step, until they are set again; collider k is the same body as collider k of the
 * step before, moved along a straight line, which friction feels. 0: taken; 1: more than collider_count, or no shape:
 * none is. */
int supple_set_colliders(supple_runtime *runtime, int64_t count, const supple_collider *colliders);
/* Wind (m/s); drag, kg/(m^2 s): force = drag * area * (wind - velocity of the skin). NULL: none. */
void supple_set_wind(supple_runtime *runtime, const double *velocity, double drag);
/* A force (N) on contact point `index` until it is set again. */
void supple_set_force(supple_runtime *runtime, int64_t index, const double force[3]);

/* ---- contact of the flesh with itself, where a CONTACT file was given ---- */

typedef struct supple_self_contact {
    int64_t tested, pressed; /* pairs looked at and pairs with a force, in the last step */
    double depth;            /* m, of the deepest of them */
    int untrained;           /* not 0: parts are near each other in a pose that contact was not trained on */
} supple_self_contact;

/* Coefficient of friction from the next step on; 0, as it begins: skin slides on skin. */
void supple_set_self_friction(supple_runtime *runtime, double coefficient);
/* Of the last step; all 0 without a file. */
void supple_get_self_contact(const supple_runtime *runtime, supple_self_contact *out);

/* The flesh starts anew at the next pose: after a cut or a teleport. */
void supple_restart(supple_runtime *runtime);

/* One step of the given length to the pose that was set. 0: done; 1: in halves; 2: damped; 3: failed, the flesh follows
 * the rig. Never leaves anything that is not a number behind. */
int supple_step(supple_runtime *runtime, double seconds);

/* Positions (output,3) in the root frame, at the pose last stepped to (or set, before the first step). */
void supple_positions(supple_runtime *runtime, double *positions);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
