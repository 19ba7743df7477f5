/* Products with panels of a matrix in bfloat16, sums in single precision. A panel (height,width) stands in tiles of
 * SU_HALF_ROWS rows, zeros below the last, in each of them two columns behind two columns: a word has an entry of an
 * even column in its lower half and that of the next one in its upper. */
#ifndef SU_LINALG_HALF_PANELS_H
#define SU_LINALG_HALF_PANELS_H

#include "core/vector_set.h"

#include <stdint.h>

/* Rows of a tile: as many single numbers as the widest vectors hold. */
enum { SU_HALF_ROWS = 16 };

/* For one set of vector units; AVX2 and AVX-512 give the same bytes. Vectors of tiles begin at any float. */
typedef struct su_half_panels {
    /* out (tiles,SU_HALF_ROWS) = P y, y (width) */
    void (*multiply)(int width, int tiles, const uint32_t *P, const float *y, float *out);
    /* out (width) = P' y, y (tiles,SU_HALF_ROWS) */
    void (*multiply_transposed)(int width, int tiles, const uint32_t *P, const float *y, float *out);
} su_half_panels;

extern const su_half_panels su_half_panels_base, su_half_panels_avx2, su_half_panels_avx512;

/* Tiles of so many rows, and words of a panel. */
int su_half_tiles(int height);
int64_t su_half_words(int width, int height);
/* P = the panel (height,width) whose columns stand one after the other. */
void su_half_pack(int width, int height, const double *panel, uint32_t *P);

#endif
