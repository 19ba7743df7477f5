/* What stepping reads of a model, packed once: rows of the bases at the corners of cubature tets and at inertia
 * vertices
 * ("points"), points and tets sorted by the set of regions that they lie in, Gram matrices, materials. Instants keep
 * rows of the points that the step asks for: inertia vertices, and one corner of each tet, from which its strain leads
 * to the others. */
#ifndef SU_RUNTIME_PACKED_MODEL_H
#define SU_RUNTIME_PACKED_MODEL_H

#include "core/error.h"
#include "physics/material.h"
#include "io/stage/model.h"
#include "rig/rig_space.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/kernels_pose.h"
#include "runtime/subspace/reduced_basis.h"
#include "runtime/subspace/rest_lanes.h"
#include "runtime/subspace/rest_patch.h"

#include <stdint.h>

/* Panels are padded to this many columns, so that vector loops have no remainders. */
enum { SU_PANEL = 8 };
/* Tets that stand abreast, as derivatives of stresses have lanes. */
enum { SU_ABREAST = SU_DERIVATIVE_LANES };

/* Points or tets that lie in the same regions: their matrices have the same columns of U. */
typedef struct su_panel {
    int64_t first, count; /* in the sorted order of points or tets */
    int64_t columns;
    int64_t stride;   /* columns, padded to SU_PANEL */
    int32_t *modes;   /* (stride) columns of U; padding repeats r, one past the last */
    int64_t offset;   /* of the first row among all panels of the kind, in entries for one row a member; a multiple
                       * of SU_PANEL, with a gap of 8 rows behind the panel that kernels may read. Panels abreast have
                       * `columns` entries a member and no gap, multiples of SU_ABREAST */
    int64_t before;   /* strides of the panels before it */
    int32_t *regions; /* region_count */
    int64_t region_count;
} su_panel;

/* out (stride) = a panel's columns of q; its padding reads q[r] = 0. */
static inline void su_panel_gather(const su_panel *panel, const double *q, double *out)
{
    for (int64_t j = 0; j < panel->stride; j++) out[j] = q[panel->modes[j]];
}

/* q (lead) += a panel's columns. */
static inline void su_panel_scatter(const su_panel *panel, const double *from, double *q)
{
    for (int64_t j = 0; j < panel->columns; j++) q[panel->modes[j]] += from[j];
}

/* Two regions that overlap: their block of a Gram matrix, rows of the left by columns of the right, padded to stride.
 */
typedef struct su_gram_pair {
    int32_t left, right;
    int64_t rows, stride;
    int64_t offset; /* of the block among all blocks, a multiple of SU_GRAM */
} su_gram_pair;

/* Gram matrices U'MU, blocks of overlapping regions: read by the subspace. */
typedef struct su_model_gram {
    int64_t *region_offset; /* (d+1) of each region in a vector whose regions are padded to SU_PANEL */
    int64_t pairs;
    su_gram_pair *pair; /* ordered pairs of overlapping regions, rising */
    int64_t entries;    /* sum of rows * stride, each padded to SU_GRAM, and a gap of 8 rows */
    float *source;      /* [entry / SU_GRAM][j][i][SU_GRAM]: U^_i' M U^_j */
    float *fixed;       /* (entries) the same at all instants, where there is one basis; else NULL */
} su_model_gram;

/* Points: flesh vertices whose rows of the basis are read, corners of tets and inertia vertices. Kept points have rows
 * in every instant: inertia vertices, extra vertices and one corner of each tet, its base. The other corners' rows last
 * only while B is made, in rooms that later points take over; corners of tets abreast need none, their tets hold rows
 * of their own. Read by the pose part and the subspace. */
typedef struct su_model_points {
    int64_t count, kept; /* the first `kept` of them */
    int64_t kept_padded; /* kept + 1 padded to SU_PANEL: entry `kept` is that of what never moves, 0 */
    int64_t chosen;      /* points and unmoving corners */
    int64_t with_rows;   /* the first points, whose rows are made: those kept, and corners of tets not abreast */
    int64_t panels, kept_panels, row_panels;
    su_panel *panel;         /* those of kept points first */
    int32_t *panel_of;       /* (count) */
    float *rows;             /* the first row_panels: (points of the panel, bases, 3, stride) */
    int64_t row_entries;     /* of one pose: sum of count * 3 * stride */
    int64_t all_row_entries; /* the same of all panels */
    int64_t kept_entries;    /* the same of kept points: entries of one instant's rows */
    int64_t rooms;           /* for rows of points that are not kept */
    int64_t room_size;       /* entries of one */
    int32_t *room;           /* (count) of each that is not kept, from the first tet that needs it to the last */
    int64_t extra;           /* further vertices asked for; their points come first */
    int32_t *extra_point;    /* (extra) their points, -1: never moves */
    int32_t *extra_place;    /* (extra) their numbers among the chosen, those that never move too */
    int64_t chosen_padded;
} su_model_points;

/* The panel of a point. */
static inline const su_panel *su_panel_of(const su_model_points *points, int64_t point)
{
    return points->panel + points->panel_of[point];
}

/* Cubature tets: read by the pose part, which makes B, and by the force. Those abreast stand sixteen in the lanes of
 * vectors, the others' B stand row by row. */
typedef struct su_model_tets {
    int64_t count;   /* cubature tets that move at all, and fillers */
    int64_t padded;  /* to whole vectors */
    int64_t abreast; /* the first of them, filled by fillers panel by panel */
    uint8_t *filler; /* (count) 1: repeats the tet before it, with no weight */
    int64_t panels, panels_abreast;
    su_panel *panel;         /* those abreast first */
    int64_t B_entries;       /* sum of count * 9 * stride; of columns abreast */
    float *abreast_rows;     /* panels abreast, at 12 bases times their offset: basis rows of corners,
                                [sixteen][column][corner][bases][3][16] */
    int64_t abreast_entries; /* of one corner, component and pose */
    int32_t *corner;         /* (count,4) among the chosen vertices, first the base: one that is kept or never moves */
    int32_t *base;      /* (padded) the base among the kept points; `kept` where it never moves and in the padding */
    int32_t *tap_start; /* into taps: tet after tet, for each 8 columns of its panel, for each corner; + 1 */
    int64_t *tap_first; /* (count) where each tet starts in tap_start */
    su_tap *taps;       /* where columns of a tet stand in its corners' rows (kernels_pose.h) */
    float *masks;       /* (256,8) what taps point at */
    double *neutral_inverse; /* (count,9) inverse edge matrix of the neutral shape */
    double *neutral_volume;  /* (count) m^3 */
    double *weight;          /* (m,count) cubature weights */
    double *young, *poisson; /* (m,count) Pa, 1 */
} su_model_tets;

/* Vertices of the inertia cubature: read by the subspace. */
typedef struct su_model_inertia {
    int64_t count, padded;
    int32_t *point; /* (count) ascending */
    double *mass;   /* (count) weight times lumped mass, kg */
} su_model_inertia;

typedef struct su_runtime_model {
    const su_kernels *kernels;
    const su_pose_kernels *pose_kernels;
    su_reduced_basis basis;
    su_material material;
    int64_t m, s, r;
    int64_t bases;   /* m, or 1 */
    int64_t size;    /* r padded to SU_PANEL: the system that is factored */
    int64_t lead;    /* of its rows and of all vectors q; entries from r on are 0. Blocks of the last region may reach
                      * beyond `size` */
    double diagonal; /* of the flesh's bounding box, m */
    su_model_points points;
    su_model_tets tets;
    su_model_inertia inertia;
    su_model_gram gram;
    float *linear;       /* D, what tets lack of the linear force, packed as linear_force.h says; NULL: nothing */
    su_rest_patch patch; /* its chosen vertices: the points, those kept first, then corners of tets that never move */
    su_rest_lanes lanes; /* of the patch */
    su_rig_space rig;    /* borrowed */
    su_arena arena;
} su_runtime_model;

#endif
