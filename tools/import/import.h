/* What the parts of supple-import share. */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include "core/tool.h"
#include "io/scene/scene.h"
#include "rig/parameters.h"

#include <stdio.h>

#define UNIT_NAMES "auto|m|cm|mm|in|ft"

typedef struct options {
    const char *clip, *neutral, *params, *points; /* clip: the first of clips */
    bool list, degrees;
    double fps, rate, start, end, number, scale;
    int unit, up, skinning, neutral_frame;
    su_list clips, objects, rigid;
} options;

/* m per unit of the file; 0: automatic. */
double import_unit(const options *o);
/* Is the file a sequence of meshes? By its ending, and of USD by whether skeletons move its meshes. */
su_status find_kind(const char *path, bool *sequence, su_error *err);

/* --params: p of every frame, names included, as if the rig had said it; nothing without the option. Frames must agree.
 */
su_status user_parameters(su_tool *tool, const options *o, int64_t frames, su_parameters *out);
su_status import_scene(su_tool *tool, const options *o, const char *path);
su_status import_sequence(su_tool *tool, const options *o, const char *path);
/* Texture coordinates and colours beside the first: exports will not have them. */
void import_say_unread(su_tool *tool, const su_name_list *unread);
/* A file that was to be taken from; NULL or "": none. */
void import_say_missing(su_tool *tool, const char *missing);
void print_scene(FILE *out, const su_scene *scene);

#endif
