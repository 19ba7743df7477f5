/* Characters: chubby four-legged animals with a hanging belly, long ears, a dewlap and a thick tail. `calf` is what
 * documents and benchmarks measure; `hound`, the demo's, has more of everything, no bones in its ears, livelier clips
 * and colours. Made from formulas alone, so that they need no data and no licence. Metres, y up, facing +z, the ground
 * at y = 0. */
#ifndef SU_CREATURE_H
#define SU_CREATURE_H

#include "core/error.h"

#include <stdint.h>

enum { CREATURE_MAX_JOINTS = 48 };

typedef struct joint {
    char name[24];
    int parent;   /* -1: none */
    double at[3]; /* rest position, world */
    int weighted; /* 0 for the carrier and the tips that only end a bone */
} joint;

typedef struct body body; /* the parts of a character, shape.c */

typedef enum character { CREATURE_CALF, CREATURE_HOUND } character;

typedef struct skeleton {
    character character;
    const body *body;
    joint joints[CREATURE_MAX_JOINTS];
    int count;
    double squat; /* m that the body sinks in the clip Squat; 0: no such clip */
} skeleton;

/* ---- shape.c: skeleton and implicit surface ---- */

void skeleton_make(character which, skeleton *out);
int joint_find(const skeleton *s, const char *name);
/* Smooth union of all body parts: negative inside, m. */
double shape_distance(const body *b, const double at[3]);
void shape_gradient(const body *b, const double at[3], double gradient[3]);
/* Distance to the parts of each joint alone (large where it has none). */
void shape_joint_distances(const skeleton *s, const double at[3], double *distances);
/* 0: belly, dewlap, ears and tail, that are meant to wobble; 1: the rest. */
double shape_firmness(const body *b, const double at[3]);
/* Linear red, green, blue; normal of unit length. */
void shape_colour(const skeleton *s, const double at[3], const double normal[3], float colour[3]);
void shape_bounds(const body *b, double low[3], double high[3]);

/* ---- skin.c: the closed triangle mesh on it ---- */

typedef struct skin {
    int64_t vertex_count, triangle_count;
    double *points;     /* (vertex_count,3) m */
    int32_t *triangles; /* (triangle_count,3) outward */
    uint8_t *joints;    /* (vertex_count,4) */
    float *weights;     /* (vertex_count,4) sum to 1 */
} skin;

/* About `vertices` vertices (within 5 %), evenly spread; closed and manifold. */
su_status skin_make(const body *b, int64_t vertices, skin *out, su_error *err);
/* Smooth skinning weights, at most four a vertex. */
su_status skin_bind(const skeleton *s, skin *out, su_error *err);
void skin_free(skin *out);

/* ---- refine.c: flips and tangential smoothing on the surface ---- */

su_status skin_refine(const body *b, skin *mesh, su_error *err);

/* ---- motion.c: the clips ---- */

enum { CREATURE_FPS = 30 };

typedef struct pose {
    double move[3];                          /* of the hips against their rest position */
    double rotation[CREATURE_MAX_JOINTS][4]; /* local, (x,y,z,w) as in glTF */
} pose;

typedef struct clip {
    const char *name;
    int frames;
    void (*at)(const skeleton *s, double seconds, pose *out);
} clip;

/* The clips of a character; Squat where it is wanted. */
const clip *creature_clips(const skeleton *s, int *count);

/* ---- glb.c ---- */

su_status glb_write(const char *path, const skeleton *s, const skin *mesh, su_error *err);

#endif
