/* Two runs of one shot, frame by frame: relative L2 errors of u (docs/formats.md, convention 15), of its velocity, and
 * of the skin. */
#ifndef SU_FEM_COMPARE_H
#define SU_FEM_COMPARE_H

#include "core/error.h"

#include <stdint.h>
#include <stdio.h>

typedef struct su_compare_frame {
    double time;                     /* s */
    double u, u_error;               /* RMS over the flesh vertices: of the reference, of the difference; m */
    double relative, relative_mass;  /* |du| / |u| of this frame, plain and weighted by mass; 0 where both are 0 */
    double velocity, velocity_error; /* RMS of the change since the frame before, m/s; 0 at the first frame */
    double skin_error, skin_largest; /* RMS and largest |A du|, m */
} su_compare_frame;

typedef struct su_compare_total {
    double plain, mass, mean_removed, mass_mean_removed; /* relative L2 over frames and vertices; without means 0
                                                          * where the reference leaves its own by less than a
                                                          * thousandth of its displacement */
    double error;                                        /* the largest of the four */
    double velocity;                                     /* relative L2 of velocities */
    double skin_error, skin_largest;                     /* m, over the shot */
    int64_t skin_frame, skin_vertex;                     /* where the largest is */
    double skin_motion;                                  /* largest |A u| of the reference, m */
} su_compare_total;

typedef struct su_compare su_compare;

/* mass (n) kg, borrowed. */
su_status su_compare_create(int64_t n, const double *mass, int64_t nbar, int64_t frames, su_compare **out,
                            su_error *err);
void su_compare_free(su_compare *compare);
/* The next frame: u and skin displacement A u of the run and of the reference, (n,3) and (nbar,3). */
void su_compare_add(su_compare *compare, double time, const double *u, const double *skin, const double *u_reference,
                    const double *skin_reference);
/* Over the frames so far. A reference that never moves gives infinite errors unless the run does not move either. */
su_compare_total su_compare_result(const su_compare *compare);
const su_compare_frame *su_compare_frames(const su_compare *compare, int64_t *count);

/* A heading and one row a frame, in the units of the column names. False where writing failed. */
int su_compare_csv(const su_compare *compare, FILE *stream);

#endif
