/* A displacement carried from one rest shape to the next: what keeps the strain of every tet while the tet turns.
 * Turned vertex by vertex, u would be strained by as much as the rotations of neighbours differ, times its size: little
 * where flesh bends, as good as everything where a rig turns it inside out and the nearest rotations jump. */
#ifndef SU_FEM_TRANSPORT_H
#define SU_FEM_TRANSPORT_H

#include "fem/elastic.h"

typedef struct su_transport su_transport;

/* Of a body's displacements, 0 at its held vertices, weighted by the shear moduli that it has now; the body is
 * borrowed. */
su_status su_transport_create(const su_elastic *body, int threads, su_transport **out, su_error *err);
void su_transport_free(su_transport *transport);

/* turned (n,3): in, R_to R_from' u vertex by vertex, of u (n,3) on a rest shape whose tets are turned by R0 (t,9) and
 * one with R1 (the mean rotations of their corners); out, where the strain that is missing in it has more than a
 * twentieth of the energy of u and of `motion`, J, the displacement that minimizes sum_e mu_e V_e |grad out - R1 R0'
 * grad u|^2, gradients by the neutral shape (docs/design.md, eq. 7). */
su_status su_transport_mend(su_transport *transport, const double *R0, const double *R1, double motion, const double *u,
                            double *turned, su_error *err);

#endif
