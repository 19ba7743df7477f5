/* What the name of a joint says about the flesh around it. */
#ifndef SU_RIG_JOINT_NAMES_H
#define SU_RIG_JOINT_NAMES_H

#include <stdint.h>

/* Stiffness of a joint's flesh over that of soft flesh, by the words of its name (`mixamorig:LeftHandThumb1`,
 * `DEF-head.001`, `foot_r`): heads, hands, feet, hair and what is carried are stiff, forearms and shins less so,
 * cheeks, ears and bellies soft, also below a head. 0: the name says nothing. */
double su_joint_name_stiffness(const char *name);

/* factor (bones): what the joint's own name says, else that of a head where it carries a face, eyes, ears, hair or a
 * jaw and no other part of a body, or ends the neck of a rig without a head (spine.006), else its parent's factor, else
 * 1; 1 for three heads or more in a row, which are a trunk; that of a hand for the last joint of forearms in a rig
 * without hands that skin follows, or of arms where it has no forearms either, and that of a foot for shins in one
 * without feet. A head that carries next to nothing beside its neck is none: the neck is. Where no name of what skin
 * follows says anything, that of a hand for the last joints of four limbs or more. names (bones) may hold NULL; parent
 * (bones), -1 at roots, or NULL; parents stand before their children; carried (bones): of su_joints_carry, or NULL. */
void su_joint_stiffness(int64_t bones, const char *const *names, const int32_t *parent, const double *carried,
                        double *factor);

/* carried (bones): the sum of each joint's skinning weights (nbar,bones). */
void su_joints_carry(int64_t nbar, int64_t bones, const float *weights, double *carried);

/* out (nbar): the mean of the joints' values (bones), by the skinning weights (nbar,bones); 0 where there are none. */
void su_joint_values_at_skin(int64_t nbar, int64_t bones, const float *weights, const double *value, double *out);

#endif
