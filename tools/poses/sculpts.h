/* Sculpted shapes and painted materials of supple-poses. */
#ifndef POSES_SCULPTS_H
#define POSES_SCULPTS_H

#include "clips.h"
#include "io/stage/poses.h"

typedef struct sculpts {
    int count;
    int64_t *frame;    /* (count) the frame that each shape corrects, among all */
    const char **path; /* (count) OBJ */
} sculpts;

/* --sculpt CLIP:FRAME=FILE or NAME=FILE, in the order given. */
su_status sculpts_parse(su_tool *tool, const su_list *list, clips *c, sculpts *out);
/* Fills psd_* from the sculpts (poses already holds m, params and rigged) and adds the corrections to all shapes.
 * world: the shapes stand where the character stands at that frame, in the unit and axes of its file; else in the root
 * frame, metres. Pose i of the file shows frame picked[i]. */
su_status sculpts_apply(su_tool *tool, clips *c, const sculpts *s, bool world, su_poses *poses);

/* --young, --poisson: FILE or CLIP:FRAME=FILE or NAME=FILE or color.r to .a (the vertex colours of the character). */
typedef struct paint {
    const char *option;
    const su_list *maps; /* values per source or welded vertex */
    double range[2];     /* to which 0..1 of the maps is taken, where the first is less */
    double below;        /* what values may reach, from 0 */
} paint;

/* Into *values (m,nbar), of the poses that show frames `picked`; nothing where there are no maps. */
su_status paint_read(su_tool *tool, const paint *p, clips *c, const int64_t *picked, su_poses *poses, double **values);

#endif
