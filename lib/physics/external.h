/* Forces from outside as they are written down: colliders, wind, point forces, and the skin points that feel them.
 * loads.h evaluates them. */
#ifndef SU_PHYSICS_EXTERNAL_H
#define SU_PHYSICS_EXTERNAL_H

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

/* The skin that forces act on. Borrowed. */
typedef struct su_load_skin {
    int64_t nbar;
    const double *neutral; /* (nbar,3) */
    int64_t T;
    const int32_t *triangles; /* (T,3) */
} su_load_skin;

/* From JSON as in docs/runtime.md. The skin: for areas and to spread the points.
 * Files of mesh colliders are named only; external_files.h reads them. */
su_status su_external_parse(const json_t *root, const su_load_skin *skin, su_external *out, su_error *err);
su_status su_external_spread(int64_t count, const su_load_skin *skin, su_external *out, su_error *err);
/* For a caller that sets colliders, wind and forces itself: which contact points, and what their areas are of. */
typedef struct su_load_points {
    int64_t count;
    const int32_t *list; /* (count) skin vertices; NULL: count points spread over the skin */
    int64_t nbar;
    const double *neutral; /* (nbar,3) the skin */
    const double *x;       /* with triangles (T,3): the surface whose area the points share, each triangle going to the
                            * nearest */
    int64_t T;
    const int32_t *triangles;
} su_load_points;

/* Those points, with room for colliders (motion of two keys each) and a force on each point; none yet. */
su_status su_external_create(const su_load_points *points, int64_t colliders, su_external *out, su_error *err);
void su_external_free(su_external *external);

#endif
