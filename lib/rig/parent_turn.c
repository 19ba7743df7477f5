#include "rig/parent_turn.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/bind_pose.h"

/* Armatures differ by quarters of a turn; the pose of a file that holds nothing but a motion, which may be any of its
 * frames, by less from that of the rig. rad. */
static const double MUCH_NEARER = 0.785;

static void rotation_of(const double m[16], double r[9])
{
    double linear[9];
    su_affine_linear(m, linear);
    su_nearest_rotation(linear, r);
}

/* Directions in the parent to the world, y up. */
static void parent_rotation(const su_stand *stand, double r[9])
{
    double upright[16];
    su_upright(stand->up, upright);
    if (stand->above) su_affine_multiply(upright, stand->above, upright);
    rotation_of(upright, r);
}

bool su_parent_turn(const su_stand *there, const su_stand *here, double turn[9])
{
    double above_there[9], above_here[9], a[9], b[9], turned[9];
    parent_rotation(there, above_there), parent_rotation(here, above_here);
    rotation_of(there->local, a), rotation_of(here->local, b);
    su_tmul33(above_here, above_there, turn);
    su_mul33(turn, a, turned);
    if (su_rotation_angle(turned, b) < su_rotation_angle(a, b) - MUCH_NEARER) return true;
    for (int i = 0; i < 9; i++) turn[i] = i % 4 == 0;
    return false;
}
