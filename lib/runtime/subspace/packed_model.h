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

/* Two regions that overlap: their block of a Gram matrix, rows of the left by columns of the right, padded to stride.
 */
typedef struct su_gram_pair {
    int32_t left, right;
    int64_t rows, stride;
    int64_t offset; /* of the block among all blocks, a multiple of SU_GRAM */
} su_gram_pair;

typedef struct su_runtime_model {
    const su_kernels *kernels;
    const su_pose_kernels *pose_kernels;
    su_reduced_basis basis;
    su_material material;
    int64_t m, s, r;
    int64_t bases;          /* m, or 1 */
    int64_t size;           /* r padded to SU_PANEL: the system that is factored */
    int64_t lead;           /* of its rows and of all vectors q; entries from r on are 0. Blocks of the last region may
                             * reach beyond `size` */
    int64_t *region_offset; /* (d+1) of each region in a vector whose regions are padded to SU_PANEL */
    int64_t pairs;
    su_gram_pair *pair;   /* ordered pairs of overlapping regions, rising */
    int64_t pair_entries; /* sum of rows * stride, each padded to SU_GRAM, and a gap of 8 rows */
    float *pair_gram;     /* [entry / SU_GRAM][j][i][SU_GRAM]: U^_i' M U^_j */
    float *gram;          /* (pair_entries) the same at all instants, where there is one basis; else NULL */
    su_rest_patch patch;  /* its chosen vertices: the points, those kept first, then corners of tets that never move */
    su_rest_lanes lanes;  /* of the patch */

    int64_t points, kept; /* the first `kept` keep their rows; those of others last while B is made */
    int64_t chosen;       /* points and unmoving corners */
    int64_t
        rowed; /* the first points, whose rows are made: those kept, and corners of tets that do not stand abreast */
    int64_t point_panels, kept_panels, row_panels;
    su_panel *point_panel;   /* those of kept points first */
    int32_t *panel_of_point; /* (points) */
    float *point_rows;       /* the first row_panels: (points of the panel, bases, 3, stride) */
    int64_t row_entries;     /* of one pose: sum of count * 3 * stride */
    int64_t all_row_entries; /* the same of all panels */
    int64_t kept_entries;    /* the same of kept points: entries of one instant's rows */
    int64_t slots;           /* rooms for rows of points that are not kept */
    int64_t slot_size;       /* entries of one */
    int32_t *slot;           /* (points) room of each that is not kept, from the first tet that needs it to the last */

    int64_t kept_padded; /* kept + 1, tets, inertia: padded to SU_PANEL */
    int64_t tets_padded, inertia_padded;
    int64_t tets;    /* cubature tets that move at all, and fillers */
    int64_t abreast; /* the first of them stand abreast, sixteen in the lanes of vectors, filled by fillers panel by
                        panel */
    uint8_t *filler; /* (tets) 1: repeats the tet before it, with no weight */
    int64_t tet_panels, panels_abreast;
    su_panel *tet_panel;     /* those abreast first */
    int64_t B_entries;       /* sum of count * 9 * stride; of columns abreast */
    float *abreast_rows;     /* panels abreast, at 12 bases times their offset: basis rows of corners,
                                [sixteen][column][corner][bases][3][16] */
    int64_t abreast_entries; /* of one corner, component and pose */
    int32_t *corner;         /* (tets,4) among the chosen vertices, first one that is kept or never moves */
    int32_t *base; /* (tets_padded) that one among the kept points; `kept` where it never moves and in the padding */
    int32_t *tap_start; /* into taps: tet after tet, for each 8 columns of its panel, for each corner; + 1 */
    int64_t *tap_first; /* (tets) where each tet starts in tap_start */
    su_tap *taps;
    float *masks;            /* (masks,8) what taps point at */
    double *neutral_inverse; /* (tets,9) inverse edge matrix of the neutral shape */
    double *neutral_volume;  /* (tets) m^3 */
    double *tet_weight;      /* (m,tets) cubature weights */
    double *young, *poisson; /* (m,tets) */

    int64_t inertia;        /* inertia vertices */
    int32_t *inertia_point; /* (inertia) ascending */
    double *inertia_mass;   /* (inertia) weight times lumped mass, kg */

    float *linear; /* D, what tets lack of the linear force, packed as linear_force.h says; NULL: nothing */

    int64_t extra;        /* further vertices asked for */
    int32_t *extra_point; /* (extra) their points, -1: never moves */

    su_rig_space rig; /* borrowed */
    double diagonal;  /* of the flesh's bounding box, m */
    su_arena arena;
} su_runtime_model;

#endif
