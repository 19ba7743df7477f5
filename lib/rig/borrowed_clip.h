/* A clip of another file on a rig: characters whose motions come in files of their own. */
#ifndef SU_RIG_BORROWED_CLIP_H
#define SU_RIG_BORROWED_CLIP_H

#include "io/scene/scene.h"

typedef struct su_borrowed {
    int64_t joints;    /* of the rig that the clip moves */
    int64_t missing;   /* nodes that the clip moves and the rig does not have */
    const char *one;   /* the first of these; NULL: none */
    int64_t elsewhere; /* joints that stand by more than SU_ELSEWHERE in another place in their parent, by the body */
    const char *farthest; /* the one that stands farthest; NULL: none */
    int64_t fitted;       /* of these, those that keep their own place; 0 where the other skeleton has other axes */
    bool turned;          /* joints turn in the world as they do there (rig/retarget.h): another skeleton */
    bool human;           /* and are found as bones of a human, not by name */
    double size;          /* of the rig's bones over those of the clip's, the median */
    const char *called;   /* a node whose name differs in front, where they are known by what is behind; NULL: none */
    const char *here;     /* the rig's own name for it */
} su_borrowed;
#define SU_HARDLY_THE_SAME 0.25 /* of the nodes that a clip moves, and of the joints of the rig's skins */
#define SU_ELSEWHERE 0.02       /* of the larger of the two distances to the parent */

/* Tracks of `clip` for the nodes of `scene` that have the same names (or the same behind "namespace:"), the k-th of a
 * name for the k-th. Where none has, programs may have put other words in front of all, and where most have not,
 * numbers behind them (rig/same_names.h): what half of the nodes that move are found by, at least, and the most of
 * them, counts as the same. Where hardly any is found and both skeletons are a human's, its bones count as the same
 * (rig/human_bones.h). Nodes move in their parents as they do there, or, where the other skeleton has other axes, in
 * the world; where the other skeleton has the same axes and other proportions, joints keep the places that they have
 * here in their parents, and ways are taken in the size of the body. Lengths are taken as they are, or in the unit that
 * files and nodes above say, whichever leaves more joints in place. What assimp makes several nodes of
 * (NAME_$AssimpFbx$_...) becomes one, and a key at every key of its parts. The clip is the scene's (its arena), of
 * which the frame rate becomes the other file's. `from` may be freed then. SU_INPUT where no node is found, or hardly
 * any (SU_HARDLY_THE_SAME). */
su_status su_borrow_clip(const su_scene *from, const su_scene_clip *clip, su_scene *scene, su_scene_clip *out,
                         su_borrowed *report, su_error *err);

#endif
