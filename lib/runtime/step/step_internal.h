/* The parts of a step, shared by the files that make it up. */
#ifndef SU_RUNTIME_STEP_INTERNAL_H
#define SU_RUNTIME_STEP_INTERNAL_H

#include "runtime/step/step.h"

double su_step_dot(int64_t count, const double *a, const double *b);
bool su_step_all_finite(int64_t count, const double *a);

/* ---- panels (step_panels.c) ---- */

/* q (lead) += a panel's columns */
void su_step_scatter(const su_panel *panel, const double *from, double *q);
/* The record's displacements at its q: of kept points, inertia vertices and tets' corners. Leaves the strain in
 * s->strain. */
void su_step_displace(const su_stepper *s, const su_pose *pose, su_record *record);
/* Largest square of the difference of two records' displacements (b NULL: of a's) among all points. */
double su_step_largest_square(const su_stepper *s, const su_record *a, const su_record *b);
/* gradient (lanes of 9) = B q */
void su_step_strain(const su_stepper *s, const su_pose *pose, const double *q, double *gradient);
/* out (lead) += B' s->stress */
void su_step_add_forces(const su_stepper *s, const su_pose *pose, double *out);

/* What the elastic response is wanted for. */
typedef struct su_step_response {
    const double *strain; /* lanes of 9 */
    float *derivative;    /* lanes of 45; NULL: not wanted */
    bool project;         /* clip negative eigenvalues */
    double linear;        /* stress less linear * D strain */
    double damping;       /* adds beta / h times s->held (strain - s->carried), and its derivative */
} su_step_response;

/* Weighted stress into s->stress, and where wanted the weighted derivative. False where a strain is not finite. */
bool su_step_respond(su_stepper *s, const su_pose *pose, const su_step_response *what);
/* Energy of a strain (lanes of 9), with 1/2 damping (strain - carried)' held (strain - carried). */
double su_step_elastic_energy(const su_stepper *s, const su_pose *pose, const double *strain, double damping);
/* What the tets lack of the linear force, D q (nothing where they stand for all of it): force (lead) += D q + damping D
 * (q - the present q); A += factor * D. Returns the energy of that force. */
double su_step_linear_force(su_stepper *s, const double *q, double damping, double *force);
/* force += factor * D (the present q). */
void su_step_linear_held(su_stepper *s, double factor, double *force);
void su_step_linear_add(const su_stepper *s, double factor, double *A);
/* A = mass * U'MU, upper triangle; 1 on the padding's diagonal. */
void su_step_start_system(const su_stepper *s, const su_pose *pose, double mass, double *A);
/* A += scale * B' D B (upper triangle), D = derivative; force += B' s->stress where that is not NULL. */
void su_step_assemble(su_stepper *s, const su_pose *pose, const float *derivative, double scale, double *A,
                      double *force);

/* ---- solves (step_newton.c) ---- */

/* The linearization at the turned previous state, whose strain is s->carried: [mass G + stiffness K] q = -load -
 * B' (P - stiffness D e) into s->next->q; D stays in s->held. */
su_step_end su_step_first_solve(su_stepper *s, const su_pose *pose, double mass, double stiffness);
/* Newton iterations on s->next->q, until s->iterations reaches the maximum or the residual the tolerance. damping: beta
 * / h. */
su_step_end su_step_iterate(su_stepper *s, const su_pose *pose, double mass, double damping, int max_iterations);
/* Displaces the points. Is the linearization to be trusted? Looked at where points move far; if not, the step is
 * minimized. *leap: square of the largest motion of a point against the rig, at the end. */
su_step_end su_step_check(su_stepper *s, const su_pose *pose, double mass, double damping, double *leap);

/* ---- forces from outside (step_loads.c); nothing happens where the stepper has no loads ---- */

/* Where the load points are, at the state reached. */
void su_step_keep_loads(su_stepper *s, const su_pose *pose, const su_record *record);
/* At the turned previous state u*: lagged friction, rows of the points near a collider; all other points only push,
 * into s->load. h = 0: static, every point may come near. */
void su_step_prepare_loads(su_stepper *s, const su_pose *pose, double h);
/* What near points do at q (NULL: at u*): out (lead) -= (A U)' f, at u* linearized, with H u* too; A (NULL: not wanted)
 * += (A U)' H A U. Returns their energy. */
double su_step_near_loads(su_stepper *s, const double *q, double *out, double *A);

#endif
