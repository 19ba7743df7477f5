/* Shells of a skin (triangles joined by shared vertices) that cross at the neutral pose and part at others: boots that
 * overlap, a hand in a hip, wings on each other. Flesh that joined them there would be torn wherever they part. */
#ifndef SU_GEOMETRY_PARTING_H
#define SU_GEOMETRY_PARTING_H

#include "geometry/surface.h"

/* Shells that part from others are a class each, all the rest is class 0. A layer is a set of classes of which none
 * part, and none lies among the others without crossing any; class 0 is in every layer, and classes that cross and do
 * not part share one. Flesh is made layer by layer, and is one where layers have a class in common. */
typedef struct su_parting {
    int32_t classes, layers; /* both 1 where nothing parts */
    int32_t *class_of;       /* (surface t) of each triangle */
    uint32_t *layers_of;     /* (classes) bit l: the class is in layer l */
} su_parting;

enum { SU_MOST_LAYERS = 32 };
/* Way that flesh of one piece may go apart, over the surface's diagonal: a tet of a usual size (two fiftieths, of
 * 15,000) would have to be stretched threefold for more. */
#define SU_PARTING_WAY 0.05

/* shapes (poses,n,3): the surface's vertices at other poses. Two shells part where the middle of what crosses leaves
 * the place: at some pose the mean over their crossing triangles of the distance between what was one point (as a
 * vector) is longer than half the diagonal of the box around those points, and than SU_PARTING_WAY. A hinge does not
 * part, it turns around that middle. More than SU_MOST_LAYERS: nothing parts. */
su_status su_parting_create(const su_surface *surface, int64_t poses, const double *shapes, su_parting *out,
                            su_error *err);
void su_parting_free(su_parting *parting);

#endif
