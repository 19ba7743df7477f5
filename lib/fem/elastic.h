/* Elasticity of a whole tet mesh about a rest shape: energy, force, tangent stiffness on the free degrees of freedom.
 */
#ifndef SU_FEM_ELASTIC_H
#define SU_FEM_ELASTIC_H

#include "core/error.h"
#include "geometry/tetmesh.h"
#include "io/stage/fit.h"
#include "io/stage/tet.h"
#include "physics/material.h"
#include "linalg/sparse.h"

#include <stdint.h>

/* Mesh, rest shape and materials. Held vertices have no degrees of freedom; free vertex f has dofs 3f..3f+2. Free
 * vertices are numbered in an order in which neighbours are near (geometry/bisection.h). */
typedef struct su_elastic {
    int64_t n, t, free_count;
    const int32_t *tets;  /* (t,4) borrowed */
    int32_t *free_index;  /* (n) number among the free vertices, -1: held */
    int32_t *free_vertex; /* (free_count) */
    su_material material;
    double *neutral_inverse; /* (t,9) inverse edge matrix of the neutral shape */
    double *neutral_volume;  /* (t) m^3 */
    double *inverse;         /* (t,9) inverse edge matrix D_m^-1 of the stress-free shapes now set */
    double *volume;          /* (t) their volumes, m^3 */
    double *offset;      /* (t,9) what the edges of a tet's stress-free shape have more than those of the rest shape */
    double *mu, *lambda; /* (t) Pa */
    double *mass;        /* (n) lumped, kg: density * neutral volume / 4 a corner (docs/formats.md, convention 4) */
    int64_t collapsed;   /* tets of the rest shape below 0.1 of their neutral volume (docs/formats.md, convention 8) */
    su_sparse pattern;   /* lower triangle of K on the free dofs, values unset */
    /* private to elastic.c */
    struct su_block_place *scatter; /* (t,10) where each 3x3 block of a tet goes in the pattern */
    int32_t *corner;                /* (t,4) as tets, free vertices by their free_index, then the held ones */
    double *energy;                 /* (t) J, and room for a group */
} su_elastic;

/* What a piece of flesh is. All arrays are borrowed for the call, but for the tets, which the result keeps. */
typedef struct su_elastic_body {
    su_tet_mesh mesh; /* neutral */
    int64_t held_count;
    const int32_t *held; /* vertices without dofs; NULL with 0: all are free */
    su_material material;
    const double *young, *poisson, *density; /* (t) Pa, -, kg/m^3 */
} su_elastic_body;

/* Fails with SU_INPUT on a tet without positive volume (its index in the message) and on materials that are none. The
 * rest shape starts as neutral. */
su_status su_elastic_create(su_elastic *elastic, const su_elastic_body *body, su_error *err);
/* The flesh of the files: held vertices of the mesh, the neutral pose's materials. */
su_status su_elastic_of_fit(su_elastic *elastic, const su_tet *tet, const su_fit *fit, su_material material,
                            su_error *err);
void su_elastic_free(su_elastic *elastic);
/* The free degrees of freedom of a field (n,3), and back; held vertices keep what they have. */
void su_elastic_gather(const su_elastic *elastic, const double *field, double *free_dofs);
void su_elastic_scatter(const su_elastic *elastic, const double *free_dofs, double *field);
void su_elastic_set_material(su_elastic *elastic, const double *young, const double *poisson);
/* The rest shape x, rest (n,3), and what is free of stress there.
 * turn (n,4): rotations of the vertices (geometry/rotation_field.h). Stress is measured from each tet's neutral shape,
 * turned by R_e, the mean rotation of its corners: F = 1 + edges(y - x) D_X^-1 R_e' over its neutral volume
 * (docs/design.md, "Rest shape and rotations"). turn NULL: from x itself, as in PSSD; where a tet has less than 0.1 of
 * its neutral volume, R_e times its neutral shape is used, R_e from its own gradient (docs/formats.md, convention 8).
 */
void su_elastic_set_rest(su_elastic *elastic, const double *rest, const double *turn, int threads);
/* The same with R_e (t,9) at hand. */
void su_elastic_set_turned_rest(su_elastic *elastic, const double *rest, const double *R, int threads);

/* F of tet e at positions y (n,3): the identity at the rest shape; the displacement from it acts on the stress-free
 * shape. */
void su_elastic_gradient(const su_elastic *elastic, const double *y, int64_t e, double F[9]);
/* Gradient of displacements u (n,3) on tet e of the stress-free shape. */
void su_displacement_gradient(const su_elastic *elastic, const double *u, int64_t e, double G[9]);
/* Force of a stress on the corners of tet e. */
void su_tet_force(const su_elastic *elastic, int64_t e, const double P[9], double f[12]);

/* y (n,3) deformed positions. Energy in J; force (n,3) is the INTERNAL force f_int = dE/dy (N), zero at the rest shape.
 * Results do not depend on the number of threads. */
double su_elastic_energy(const su_elastic *elastic, const double *y, int threads);
void su_elastic_force(const su_elastic *elastic, const double *y, double *force, int threads);
/* Tangent stiffness on the free dofs into K, which has elastic->pattern (su_sparse_clone_pattern). project: element
 * Hessians made semidefinite (docs/formats.md, convention 18). */
void su_elastic_stiffness(const su_elastic *elastic, const double *y, bool project, su_sparse *K, int threads);
/* The same with a further energy density of tets, a function of their volume ratio det F: by_ratio (t,2) has its first
 * and second derivative, Pa. The element Hessians of the sum are projected. */
void su_elastic_stiffness_with(const su_elastic *elastic, const double *by_ratio, const double *y, bool project,
                               su_sparse *K, int threads);

/* K += c_ab I for the corners a, b of tet e: couplings that treat x, y and z alike, c (4,4) symmetric. */
void su_elastic_add_couplings(const su_elastic *elastic, int64_t e, const double c[16], su_sparse *K);
/* The same with weight times what the gradients of the corners' shape functions in the neutral shape have in common:
 * the Laplacian of tet e. */
void su_elastic_add_laplacian(const su_elastic *elastic, int64_t e, double weight, su_sparse *K);
/* force (n,3) += what a further energy density of tet e, a function of its F with stress P, adds. */
void su_elastic_add_stress(const su_elastic *elastic, int64_t e, const double P[9], double *force);

/* Tet e alone, by the formulas of material.h, at positions y (n,3): f[12] internal force, K[144] tangent of its
 * corners; each may be NULL. */
void su_tet_elastic(const su_elastic *elastic, const double *y, int64_t e, bool project, double f[12], double K[144],
                    double *energy);
/* D_m^-1 and volume of one rest tet with the collapsed-tet rule; returns true where the rule was applied. */
bool su_tet_rest(const double neutral_corners[12], const double rest_corners[12], double inverse[9], double *volume);

#endif
