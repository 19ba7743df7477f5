/* A made-up character for measurements: a bending ellipsoid of about 16,000 tets with overlapping regions along its
 * axis and a random smooth basis, in the sizes of PSSD Table 3. */
#ifndef BENCH_CHARACTER_H
#define BENCH_CHARACTER_H

#include "io/stage/anim.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "io/stage/tet.h"
#include "rig/shot.h"

typedef struct character_sizes {
    int cells; /* along each axis: 6 cells^3 tets; 14 gives 16,464 */
    int skin;  /* skin vertices */
    int r, regions, m;
    int tets, points; /* cubature */
    int frames;
    double fps;
} character_sizes;

typedef struct character {
    character_sizes sizes;
    su_tet tet;
    su_fit fit;
    su_model model;
    su_anim anim;
    su_shot *shot;
    double *basis; /* (m,r,n,3) */
    double *mass;  /* (n) */
    su_arena arena;
} character;

/* Aborts on failure. The struct must not move afterwards. */
void character_create(character *c, const character_sizes *sizes);
void character_free(character *c);

/* Median and spread (half the distance of the quartiles, over the median) of count values; sorts them. */
double bench_median(int count, double *values, double *spread);

#endif
