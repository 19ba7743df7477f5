/* Skins to mesh, good and bad, made for tests. */
#ifndef SU_TESTS_SKINS_H
#define SU_TESTS_SKINS_H

#include <stdint.h>

typedef struct skin {
    const char *name;
    int64_t n, t;
    double *x;          /* (n,3) */
    int32_t *triangles; /* (t,3) outward */
} skin;

void skin_free(skin *s);

skin skin_sphere(double radius, int rings); /* 2 rings^2 vertices or so; unwelded nowhere */
skin skin_cube(double edge, int cells);
skin skin_capsule(double radius, double length, int rings); /* along y */
skin skin_nested(double outer, double inner, int inward);   /* inward: the inner shell bounds a cavity */
skin skin_half_ear(void);                                   /* an open bowl */
skin skin_fin(void);                                        /* a sphere with a sheet on an edge of three triangles */
skin skin_crossing_limbs(void);                             /* two capsules through each other */
skin skin_components(int count);                            /* small spheres apart */
skin skin_degenerate(void);                                 /* a sphere with triangles of no area */
skin skin_repeated(void);                                   /* triangles and vertices given twice */
skin skin_membrane(void);                                   /* a wavy open sheet */
skin skin_scan(int rings);                                  /* a rough sphere of 4 rings^2 triangles */
skin skin_soup(void);                                       /* a sphere whose triangles share nothing, with cracks */
skin skin_fingers(double gap); /* two fingers on a palm, metres: 10 x 10 x 60 mm, gap wide apart */
skin skin_turned_around(void); /* a sphere inside out, some triangles again the other way */

#endif
