/* Forces from outside, on chosen skin points in the world: colliders by penalty with friction, wind, point forces. sim
 * and fullsim evaluate the same potential sum over points k of  kappa a_k d^2 / 2  +  mu N_k phi(|slip|)  -  f_k . y
 * with d the depth below a collider, a_k the skin area that the point stands for, N_k the normal force and the
 * contact's normal where the step begins (lagged friction), phi(s) = s^2 / 2e below e = h * 5 mm/s, s - e/2 above. */
#ifndef SU_RUNTIME_EXTERNAL_H
#define SU_RUNTIME_EXTERNAL_H

#include "core/error.h"
#include "core/memory.h"
#include "physics/collider_mesh.h"

#include <jansson.h>
#include <stdint.h>

typedef enum su_collider_shape { SU_PLANE, SU_SPHERE, SU_CAPSULE, SU_MESH } su_collider_shape;

/* Where a mesh collider's frames come from. */
typedef struct su_mesh_source {
    const char *file;    /* as written */
    const char *neutral; /* faces for PC2 and MDD; NULL: none */
    double rate, start;  /* frames/s and s of the first frame, for files without times */
    double scale;        /* m a unit */
} su_mesh_source;

typedef struct su_collider {
    su_collider_shape shape;
    double a[3], b[3]; /* plane: point and unit normal; sphere: centre; capsule: ends */
    double radius, friction;
    int64_t keys;           /* motion: offsets at times, linear between, held outside; 0: still */
    double *key_time;       /* (keys) s, rising */
    double *key_offset;     /* (keys,3) m */
    su_collider_mesh *mesh; /* SU_MESH: finished by whoever reads `source`, before su_loads_create */
    su_mesh_source source;
} su_collider;

typedef struct su_point_force {
    int64_t point;   /* index into vertex */
    double force[3]; /* N, world */
    double from, to; /* s */
} su_point_force;

typedef struct su_external { /* forward in settings.h */
    int64_t points;
    int32_t *vertex; /* (points) skin vertices */
    double *area;    /* (points) m^2 */
    int64_t colliders, forces;
    su_collider *collider;
    su_point_force *force;
    double stiffness;       /* kappa, N/m^3 */
    double wind[3];         /* m/s */
    double gust, gust_rate; /* share of the wind, Hz */
    double drag;            /* kg/(m^2 s): force = drag * area * (wind - velocity of the point) */
    su_arena arena;
} su_external;

/* From JSON as in docs/runtime.md. neutral (nbar,3), triangles (T,3): the skin, for areas and to spread the points.
 * Files of mesh colliders are named only; external_files.h reads them. */
su_status su_external_parse(const json_t *root, int64_t nbar, const double *neutral, int64_t T,
                            const int32_t *triangles, su_external *out, su_error *err);
/* The points alone, `count` of them, that a file's number of points gives, and the skin areas that they stand for. */
su_status su_external_spread(int64_t count, int64_t nbar, const double *neutral, int64_t T, const int32_t *triangles,
                             su_external *out, su_error *err);
/* For a caller that sets colliders, wind and forces itself: the contact points alone, `list` (count; NULL: count points
 * spread over the skin), with room for colliders (motion of two keys each) and a force on each point; none yet. x,
 * triangles (T,3): the surface whose area the points share, each triangle going to the nearest. */
su_status su_external_create(int64_t count, const int32_t *list, int64_t nbar, const double *neutral, const double *x,
                             int64_t T, const int32_t *triangles, int64_t colliders, su_external *out, su_error *err);
void su_external_free(su_external *external);

/* The points of one body during one step. Belongs to one thread at a time. */
typedef struct su_loads {
    const su_external *external;
    const int32_t *corner;     /* (points,4) flesh vertices that carry them */
    const double *bary;        /* (points,4) */
    double *skin;              /* (points,3) the rig's skin at the instant to reach, root frame */
    double Q[9], c[3];         /* root frame to world there */
    double t, h;               /* s: its time, the step that leads there (0: static) */
    double *now;               /* (points,3) world positions at the state before */
    double *steady;            /* (points,3) forces that do not depend on y, N */
    double *contact;           /* (points,8) lagged: normal (3), mu N, anchor (3), unused */
    int64_t state_count;       /* colliders when this was created; meshes are among those */
    su_collider_state *states; /* (state_count) */
    su_arena arena;
} su_loads;

/* embed_tet (nbar), embed_bary (nbar,4), tets (.,4): the embedding of the skin. */
su_status su_loads_create(const su_external *external, const int32_t *embed_tet, const double *embed_bary,
                          const int32_t *tets, su_loads *loads, su_error *err);
void su_loads_free(su_loads *loads);

/* y = c + Q (skin + a), a (3) the displacement of point k in the root frame. */
void su_loads_place(const su_loads *loads, int64_t k, const double a[3], double y[3]);
/* Before a step, for point k with its guess y (world): lagged friction, steady forces. t, h, now must be set. */
void su_loads_prepare(su_loads *loads, int64_t k, const double y[3]);
/* Energy of point k at y (world); force (3) and the semidefinite H (9) ~ -dforce/dy (NULL: not wanted), root frame. */
double su_loads_evaluate(const su_loads *loads, int64_t k, const double y[3], double force[3], double *H);
/* Depth of y below collider c at loads->t and its outward normal; a mesh farther than margin (m) may give -INFINITY. */
double su_loads_depth(const su_loads *loads, int64_t c, const double y[3], double margin, double normal[3]);

#endif
