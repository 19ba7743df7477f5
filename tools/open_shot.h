/* How programs open a shot: on the parameters of a fit or a model, and with a word on those that these do not know. */
#ifndef SU_TOOLS_OPEN_SHOT_H
#define SU_TOOLS_OPEN_SHOT_H

#include "core/tool.h"
#include "rig/shot.h"

/* As su_shot_create; parameters that move and that `who` (the character, the model) does not know are named. */
static inline su_status su_open_shot(su_tool *tool, const su_anim *anim, const char *path, const su_shot_target *target,
                                     int teleports, const int *teleport, const char *who, su_shot **out)
{
    json_t *unknown = NULL, *name;
    size_t index;
    su_status status = su_shot_create(anim, path, target, teleports, teleport, out, &unknown, &tool->err);
    json_array_foreach(unknown, index, name)
        su_warn(tool, "%s: parameter '%s' moves, but the %s does not know it", path, json_string_value(name), who);
    json_decref(unknown);
    return status;
}

#endif
