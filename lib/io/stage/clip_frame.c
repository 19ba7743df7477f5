#include "io/stage/clip_frame.h"

#include "core/file.h"
#include "core/json_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void su_clip_stem(const char *path, char *out, size_t room)
{
    static const char *const endings[] = {".npz", ".anim"};
    snprintf(out, room, "%s", su_base_name(path));
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(out), cut = strlen(endings[i]);
        if (length > cut && strcmp(out + length - cut, endings[i]) == 0) out[length - cut] = '\0';
    }
}

double su_clip_frame_number(const su_anim *anim, int64_t frame)
{
    return su_meta_number(anim->file.meta, "frame_start", 0.0) + (double)frame;
}

void su_clip_frame_name(const char *path, double number, char *out, size_t room)
{
    su_clip_stem(path, out, room);
    size_t used = strlen(out);
    snprintf(out + used, room - used, ":%.10g", number);
}

static bool same(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

su_status su_clip_frame_find(int count, const su_anim *clips, const char *const *paths, const char *option,
                             const char *text, su_clip_frame *out, su_error *err)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    double number = colon ? strtod(colon + 1, &end) : 0.0;
    if (!colon || colon == text || !end || end == colon + 1 || *end || !isfinite(number))
        return su_fail(err, SU_USAGE, "%s %s: give CLIP:FRAME", option, text);
    size_t length = (size_t)(colon - text);
    for (int i = 0; i < count; i++) {
        char stem[SU_CLIP_FRAME_ROOM];
        su_clip_stem(paths[i], stem, sizeof stem);
        if (!same(su_meta_text(clips[i].file.meta, "clip", ""), text, length) && !same(stem, text, length)) continue;
        double first = su_clip_frame_number(&clips[i], 0), frame = round(number - first);
        if (frame < 0.0 || frame >= (double)clips[i].F)
            return su_fail(err, SU_USAGE, "%s %s: the clip has frames %.6g to %.6g", option, text, first,
                           su_clip_frame_number(&clips[i], clips[i].F - 1));
        *out = (su_clip_frame){i, (int64_t)frame};
        return SU_OK;
    }
    return su_fail(err, SU_USAGE, "%s %s: no input is clip or file '%.*s'", option, text, (int)length, text);
}
