/* The demo character with its flesh, modes, bases and cubature as supple's programs make them, with their defaults
 * (bench/train): what the product steps, beside the made-up characters whose points are given. */
#ifndef BENCH_TRAINED_H
#define BENCH_TRAINED_H

#include "io/stage/anim.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "io/stage/tet.h"
#include "rig/shot.h"

typedef struct trained_sizes {
    int skin, tets, m, r, regions; /* vertices and tets as asked for */
    int per_cent; /* 0: cubature by its defaults; else for the whole force, as PSSD, to this training error */
} trained_sizes;

typedef struct trained {
    su_tet tet;
    su_fit fit;
    su_model model;
    su_anim anim; /* the clip Stop */
    su_shot *shot;
    int64_t instants; /* substeps of the shot, of 1/90 s at most */
    int substeps;     /* a frame */
    double h;
} trained;

/* Trains where that has not been done (BUILD/bench/trained keeps it). BIN, BUILD: as for bench/run. Aborts on failure;
 * the struct must not move afterwards. */
void trained_load(trained *t, const trained_sizes *sizes);
void trained_free(trained *t);

#endif
