/* An arm of two bones in round flesh (SP section 7): a tube of rings of vertices, as many a ring as one likes, so that
 * tets get finer towards the surface as steeply as one likes. The bones lie on the axis, the elbow at the origin. */
#ifndef SU_BENCH_ARM_H
#define SU_BENCH_ARM_H

#include <stdint.h>

typedef struct arm_shape {
    double length, radius; /* m; of the whole arm, of its flesh */
    double core;           /* share of the radius that the bones take */
    double gap;            /* m on each side of the elbow where they hold nothing */
    int layers;            /* along the arm */
    int rings, around[32]; /* vertices of each ring, from the inside out; the axis has one more */
} arm_shape;

typedef struct arm {
    arm_shape shape;
    int64_t n, t, b, outer;            /* outer: boundary vertices that are free */
    double *x;                         /* (n,3) straight along x */
    int32_t *tets, *surface, *bone_of; /* (t,4), (b,3), (n): 0 or 1 held by that bone, -1 free */
    uint8_t *held, *is_outer;
    double *young, *poisson;
} arm;

/* The paper's arms: 0 the one of 220 k tets, refined aggressively; 1 the one of 259 k. scale < 1: coarser. */
arm_shape arm_of_paper(int which, double scale);
/* Aborts without memory. */
arm arm_create(const arm_shape *shape);
void arm_free(arm *a);
/* The forearm (bone 1, x > 0) bent by angle (rad) about z: quaternions (2,4) of the bones, x (n,3) by dual-quaternion
 * weights w (n) of the forearm, held vertices exactly with their bone. */
void arm_bend(const arm *a, double angle, const double *w, double *quaternions, double *x);

#endif
