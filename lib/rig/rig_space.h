/* The pose space of a rig, as one value: example poses and their weights, sculpts, principal coordinates. supple.poses,
 * supple.fit and supple.model hold the same arrays; every function that wants them takes this. */
#ifndef SU_RIG_RIG_SPACE_H
#define SU_RIG_RIG_SPACE_H

#include "core/error.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "io/stage/poses.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Borrowed from the file that it was taken of. Names and meanings as in docs/formats.md. */
typedef struct su_rig_space {
    int64_t m, s, a;           /* example poses, parameters, sculpted poses with the neutral (0: none) */
    double *params;            /* (m,s) row 0 is the neutral pose */
    double *param_scale;       /* (s) */
    double *rbf;               /* (m,m); NULL in supple.poses, where weights are not trained yet */
    int64_t columns;           /* 0 where bases are blended by w */
    double *basis_rbf;         /* (m,columns), columns = m + 1 + s; NULL: b = w */
    int64_t nbar;              /* skin vertices of sculpts */
    double *psd_params;        /* (a,s); NULL where nothing is sculpted, as the next two */
    double *psd_shapes;        /* (a,nbar,3) m */
    double *psd_rbf;           /* (a,a) */
    int64_t mean_size;         /* 3 nbar where parameters are principal coordinates */
    double *param_mean;        /* (mean_size) m; NULL: none */
    double *param_basis;       /* (s,mean_size) 1/m; NULL: none */
    const json_t *param_names; /* array of s strings; NULL: parameters match by position */
} su_rig_space;

/* rad, parts of the diagonal, or the unit of a parameter of one's own: what stays as near as that to the neutral pose
 * is still. Keys are 32-bit, and noise must not count as a pose. */
#define SU_STILL_PARAMETER 1e-4

/* Does a parameter (frames values, `stride` apart) move, and away from the neutral pose? Example poses know those that
 * do. */
bool su_parameter_moves(int64_t frames, int64_t stride, const double *column);

su_rig_space su_rig_of_poses(const su_poses *poses);
su_rig_space su_rig_of_fit(const su_fit *fit);
su_rig_space su_rig_of_model(const su_model *model);

/* Copies of all arrays, owned by the file's arena; names stay borrowed. */
su_status su_rig_copy(const su_rig_space *rig, su_file *file, su_rig_space *out, su_error *err);
/* Arrays and counts into a file struct, which owns nothing more by it (su_rig_copy first); names are its meta's. */
void su_rig_into_fit(const su_rig_space *rig, su_fit *fit);
void su_rig_into_model(const su_rig_space *rig, su_model *model);

/* The same example poses and weights; the same sculpted corrections. */
bool su_rig_same_poses(const su_rig_space *a, const su_rig_space *b);
bool su_rig_same_sculpts(const su_rig_space *a, const su_rig_space *b);

/* Weights at parameters p (s), by rbf.h: biharmonic w (m), those of the sculpts (a). Those that blend bases b (m):
 * cubic kernel plus linear polynomial, drawn back to w where it overshoots (docs/formats.md, convention 7). */
void su_rig_weights(const su_rig_space *rig, const double *p, double *w);
void su_rig_basis_weights(const su_rig_space *rig, const double *p, const double *w, double *b);
void su_rig_sculpt_weights(const su_rig_space *rig, const double *p, double *weights);

#endif
