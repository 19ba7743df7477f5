/* supple.contact (docs/formats.md). Contact of the flesh with itself, trained: the few pairs that stand for all of
 * them, by domain pairs and training poses. */
#ifndef SU_IO_PAIR_SETS_H
#define SU_IO_PAIR_SETS_H

#include "io/stage/schema.h"

#include <stdbool.h>
#include <stdint.h>

/* Coordinates of a pose between two domains: as a rigid body has (ASC section 4.3). */
enum { SU_PAIR_COORDINATES = 6 };

typedef struct su_pair_sets {
    su_file file;
    int64_t v, v1;           /* vertices that contact reads, v + 1 */
    int64_t k;               /* triangles */
    int64_t e;               /* entries of related */
    int64_t d, c;            /* domains, probes of each */
    int64_t s;               /* domain pairs */
    int64_t c3;              /* 3 c */
    int64_t z, z1;           /* pair sets, z + 1 */
    int64_t p;               /* pairs */
    int64_t t;               /* tets */
    int32_t *vertices;       /* (v) of the flesh, ascending */
    double *stiffness;       /* (v) N/m^3 */
    double *area;            /* (v) m^2 */
    int32_t *related_start;  /* (v1) */
    int32_t *related;        /* (e) of those vertices, the ones that share a tet with each, itself too; ascending */
    int32_t *triangles;      /* (k,3) of those vertices, outward, by pair sets */
    int32_t *triangle_start; /* (z1) */
    int32_t *tets;           /* (t,4) of those vertices, by pair sets: flesh below the triangles */
    int32_t *tet_start;      /* (z1) */
    int32_t *tet_triangle;   /* (t) of their set, the nearest to each through the flesh */
    int32_t *probe;          /* (d,c) vertices that say where a domain is */
    int32_t *domain_pair;    /* (s,2) */
    double *pose_mean;       /* (s,c3) m: probes of the second domain in the first one's frame */
    double *pose_axes;       /* (s,6,c3) orthonormal */
    double *reach;           /* (s) m: how far apart training poses lie */
    int32_t *set_pair;       /* (z) domain pair of each set, ascending */
    double *set_pose;        /* (z,6) m */
    int32_t *set_start;      /* (z1) */
    int32_t *pair_vertex;    /* (p) */
    int32_t *pair_triangle;  /* (p) */
    int32_t *pair_tet;       /* (p) */
    double *pair_weight;     /* (p) */
} su_pair_sets;

extern const su_schema su_pair_sets_schema;

/* As su_schema_load, _save and _free. */
su_status su_pair_sets_load(const char *path, su_pair_sets *sets, su_error *err);
su_status su_pair_sets_save(const char *path, const su_pair_sets *sets, su_error *err);
void su_pair_sets_free(su_pair_sets *sets);

/* Is what the rest shape has overlapping free of force? Meta `self_contact`: new. */
bool su_pair_sets_allow(const su_pair_sets *sets);

#endif
