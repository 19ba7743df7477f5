/* How much softer contact of the flesh with itself has to be in a subspace (docs/contact.md, eq. 6). */
#ifndef SU_REDUCE_CONTACT_SOFTNESS_H
#define SU_REDUCE_CONTACT_SOFTNESS_H

#include "io/stage/basis.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "reduce/cubature/training_places.h"

/* *factor on the stiffness of contact, in (0, 1], with which the pairs at the projected states of the basis exert what
 * they exert in the full ones, in least squares; 1 where nothing touches. The basis has state_contact, the model its
 * modes; shots: those of the basis, in its order. */
su_status su_contact_softness(const su_model *model, const su_fit *fit, const su_basis *basis,
                              const su_shot_list *shots, int threads, double *factor, su_error *err);

#endif
