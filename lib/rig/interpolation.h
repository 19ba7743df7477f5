/* How bases of example poses become the basis at a pose in between. */
#ifndef SU_RIG_INTERPOLATION_H
#define SU_RIG_INTERPOLATION_H

typedef enum su_interpolation {
    SU_COROTATED, /* U(p)_v = R_v(p) sum_i b_i(p) U^_i,v: blended in the neutral pose, turned by the rest shape's
                     rotation */
    SU_LINEAR     /* U(p)_v = sum_i w_i(p) R_i,v U^_i,v: PSSD eq. 14 */
} su_interpolation;
#define SU_INTERPOLATION_NAMES "corotated|linear"

#endif
