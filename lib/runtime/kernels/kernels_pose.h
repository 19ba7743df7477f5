/* Kernels of the pose part: eight frames in the lanes of a vector, so that nothing is gathered and no lane is idle. */
#ifndef SU_RUNTIME_KERNELS_POSE_H
#define SU_RUNTIME_KERNELS_POSE_H

#include <stdbool.h>
#include <stdint.h>

/* Frames in lanes: eight of doubles, sixteen of floats. */
enum { SU_FRAMES = 8, SU_REST_FRAMES = 2 * SU_FRAMES, SU_GRAM = 16, SU_SAMPLED = 28 * SU_REST_FRAMES };
/* Numbers that a vertex, tet or node takes in arrays of eight frames, and of sixteen. */
enum {
    SU_POINT_FRAMES = 3 * SU_FRAMES,     /* a position (3,8) */
    SU_TURN_FRAMES = 9 * SU_FRAMES,      /* a matrix (9,8) */
    SU_GRADIENT_FRAMES = 12 * SU_FRAMES, /* gradients of a tet's four shape functions (12,8) */
    SU_POINT_WIDE = 3 * SU_REST_FRAMES,  /* a position (3,16) */
    SU_TURN_WIDE = 9 * SU_REST_FRAMES    /* a rotation or gradient (9,16) */
};

/* Mean deformation gradients (geometry/rotation_field.h) of the first patch vertices, as sums over their neighbours. */
typedef struct su_ring {
    int64_t points;
    const int32_t *start; /* (points + 1) */
    const int32_t *neighbour;
    const float *coefficient; /* (.,3) 1/m */
} su_ring;

/* Which node gradients make that of a point: rows of a partition of unity (su_smoothing). */
typedef struct su_node_rows {
    int64_t points;
    const int32_t *start; /* (points + 1) */
    const int32_t *node;
    const float *weight;
} su_node_rows;

/* Terms of a sum over frames, one of these for each of its lanes. */
typedef struct su_shot_terms {
    int64_t count;
    int32_t row[SU_SAMPLED]; /* into the frames */
    float weight[SU_SAMPLED][SU_REST_FRAMES] __attribute__((aligned(64)));
} su_shot_terms;

/* Instants of a shot in lanes, each a sum over frames (rig/shot.h, su_shot_weights): of what they are themselves, and
 * of their second differences with the frames that stand before and behind them. Where nothing moves these are 0. */
typedef struct su_shot_sum {
    int64_t frames;                /* at most SU_SAMPLED */
    const float *const *positions; /* (frames) each (.,3) */
    su_shot_terms own, bent;
} su_shot_sum;

/* How vertices follow skin points: x = base + sum of weight * displacement of the point at index + sum over m of w *
 * corrections. What is added to base is of the size of the motion, so that floats give x to 1e-7 of that. */
typedef struct su_rest_ties {
    int64_t count, m, ties;
    const int32_t *order;     /* (count) in which they are evaluated: neighbours on the skin behind each other */
    const int32_t *index;     /* (count,ties) */
    const float *weight;      /* (count,ties) */
    const double *base;       /* (count,3) where the neutral skin puts them, m */
    const float *near;        /* (count,3) the same from the middle of all, m */
    const float *corrections; /* (count,m,3) m */
} su_rest_ties;

/* Where a run of 8 columns of a tet's panel finds its columns in the rows of a corner: row + offset, times mask (8). */
typedef struct su_tap {
    int64_t offset; /* may be negative or reach behind the row; the mask clears what is not meant */
    const float *mask;
} su_tap;

/* What makes the matrices B (9,stride) of one tet in several frames: sum over corners of (R rows) g'. */
typedef struct su_tet_rows {
    int64_t frames, stride;
    const int32_t *tap_start; /* for each 8 columns, for each corner, its taps; + 1 */
    const su_tap *taps;
    float *const *rows[4]; /* (8) of each corner from `at` on, its components row_stride apart */
    int64_t at[4];
    int64_t row_stride[4];
    bool same[4];           /* the corner's columns are the tet's: no taps needed */
    const float *R[4];      /* (9,16), eight of the lanes; NULL: the corner does not move */
    const double *gradient; /* (4,3,8) */
    float *spread;          /* scratch (4,3,stride) */
    float *B[SU_FRAMES];
} su_tet_rows;

/* What makes the matrices B (columns,9,16) of sixteen tets abreast in several frames. */
typedef struct su_abreast_rows {
    int64_t frames, m, columns;
    const float *source;               /* (columns,4,m,3,16) rows of the corners, 0 of those that do not move */
    const float *b;                    /* (m,8) */
    const float *scale[SU_FRAMES];     /* (columns) */
    const float *rotation[SU_FRAMES];  /* (4,9,stride) of the corners, from the first of the sixteen on */
    const double *gradient[SU_FRAMES]; /* (4,3,stride) */
    int64_t stride;
    float *B[SU_FRAMES];
} su_abreast_rows;

/* Blends of one block (rows, stride) of the Gram matrices of pairs of poses, stored [entry / SU_GRAM][j][i][SU_GRAM],
 * for several frames f and three weights on the right (the frame's own, of one and of two instants before): out[k][f] =
 * left_scale[f] (sum_ij left[i][f] right[k][j][f] block_ij) right_scale[k][f] */
typedef struct su_gram_block {
    int64_t frames, m, rows, stride;
    const float *source;
    const float *left, *right[3]; /* (m,8) */
    const double *left_scale[SU_FRAMES], *right_scale[3][SU_FRAMES];
    float *out[3][SU_FRAMES]; /* NULL: not wanted; room up to a multiple of SU_GRAM */
} su_gram_block;

/* Materials of the example poses at tets. */
typedef struct su_tet_materials {
    int64_t count, m;
    const double *weight, *young, *poisson; /* (m,count) -, Pa, - */
} su_tet_materials;

typedef struct su_pose_kernels {

    /* By component: out[lane][i * stride + k] = in (count,entries,8)[k][i][lane], for lanes < frames. */
    void (*scatter)(int64_t frames, int64_t count, int64_t entries, int64_t stride, const double *in,
                    double *const out[SU_FRAMES]);
    /* The same from in (count,entries,16), of which eight lanes from `in` on are meant. */
    void (*scatter_floats)(int64_t frames, int64_t count, int64_t entries, int64_t stride, const float *in,
                           float *const out[SU_FRAMES]);
    /* The same to the corners of tets: out[lane][(9 c + i) stride + k] = in (.,9,16)[corner (count,4)[k][c]][i][lane],
     * 0 where the corner is not below `points`. */
    void (*scatter_corners)(int64_t frames, int64_t count, const int32_t *corner, int64_t points, int64_t stride,
                            const float *in, float *const out[SU_FRAMES]);
    /* moved (count,16) = skins (16 arrays of count numbers) - neutral (count), frames in lanes. */
    void (*moved)(int64_t count, const double *neutral, const double *const skins[SU_REST_FRAMES], float *moved);
    /* The same from a shot's frames: moved (points,3,16) at `list` (points, ascending) of these; neutral (points,3). */
    void (*sample)(int64_t points, const int32_t *list, const double *neutral, const su_shot_sum *sum, float *moved);
    /* x[0], x[1] (kept,3,8): the first `kept` vertices in twice eight frames; each may be NULL. moved (.,3,16):
     * displacements of skin points; w (m,16). near (count,3,16): all vertices, from their middle, in float; NULL: not
     * wanted. Here and in the next three lanes from `frames` on may stay as they are: whole vectors are filled. */
    void (*rest)(int64_t frames, const su_rest_ties *ties, int64_t kept, const float *moved, const float *w,
                 double *const x[2], float *near);
    /* rotation (points,9,16) from x (.,3,16), orthonormal to rounding, its axes good to 1e-6. */
    void (*rotations)(int64_t frames, const su_ring *ring, const float *x, float *rotation);
    /* G (points,9,16) = sum x g' of the nodes of a smoothing: a ring without middles. */
    void (*gradients)(int64_t frames, const su_ring *nodes, const float *x, float *G);
    /* As rotations, from gradients G of nodes. */
    void (*node_rotations)(int64_t frames, const su_node_rows *rows, const float *G, float *rotation);
    /* Neutral shapes of tets (count) turned by the mean rotation of their corners (count,4) in rotation (.,9,16), of
     * which eight lanes are meant: gradient (count,12,8) of the corners' shape functions, volume (count,8).
     * contradicting (count): bit set where the corners' rotations are too far apart for the mean; its gradient is left
     * to the caller. */
    void (*turned_shapes)(int64_t count, const int32_t *corner, const double *neutral_inverse,
                          const double *neutral_volume, const float *rotation, double *gradient, double *volume,
                          uint8_t *contradicting);
    /* Rest shapes of tets with corners (count,4) in x: gradient (count,12,8) of the corners' shape functions, volume
     * (count,8). collapsed (count): bit set where a lane has less than 0.1 of the neutral volume; its numbers are left
     * to the caller. */
    void (*shapes)(int64_t count, const int32_t *corner, const double *neutral_inverse, const double *x,
                   double *gradient, double *volume, uint8_t *collapsed);
    /* By blend (m,8): volume (count,8) *= blended weight; mu, lambda (count,8) of blended E and nu. */
    void (*materials)(const su_tet_materials *of, const double *blend, double *volume, double *mu, double *lambda);
    /* P = Q R (count,9,8) and X = c + Q x (count,3,8) at points (count); rotation (.,9,16), of which eight lanes are
     * meant, Q (9,8), c (3,8). */
    void (*world)(int64_t count, const int32_t *point, const float *rotation, const double *x, const double *Q,
                  const double *c, double *turn, double *world);
    /* size = 3 stride numbers from rows[f] + at = scale (8,size)[f] * sum_i b (m,8)[i][f] * source (m,size). */
    void (*blend_rows)(int64_t frames, int64_t m, int64_t size, const float *source, const float *b, const float *scale,
                       float *const rows[SU_FRAMES], int64_t at);
    void (*build_B)(const su_tet_rows *what);
    void (*build_abreast)(const su_abreast_rows *what);
    void (*gram_block)(const su_gram_block *what);
} su_pose_kernels;

#endif
