/* How far shots lie from the poses of a finished model. */
#ifndef POSES_KNOWN_H
#define POSES_KNOWN_H

#include "core/tool.h"

/* For every input: its distance to the poses of the model, as preview has it; which parameters leave the ranges of the
 * poses and of `trained` (animations), and which move that the model does not know. Writes nothing. */
su_status known(su_tool *tool, const char *model, const su_list *trained);

#endif
