#include "linalg/half_panels.h"

#include "linalg/bfloat16.h"

#include <string.h>

/* Words of a row. */
static int pairs_of(int width) { return (width + 1) / 2; }

int su_half_tiles(int height) { return (height + SU_HALF_ROWS - 1) / SU_HALF_ROWS; }

int64_t su_half_words(int width, int height) { return (int64_t)SU_HALF_ROWS * su_half_tiles(height) * pairs_of(width); }

void su_half_pack(int width, int height, const double *panel, uint32_t *P)
{
    memset(P, 0, (size_t)su_half_words(width, height) * sizeof *P);
    for (int c = 0; c < width; c++)
        for (int r = 0; r < height; r++)
            P[SU_HALF_ROWS * (pairs_of(width) * (r / SU_HALF_ROWS) + c / 2) + r % SU_HALF_ROWS] |=
                (uint32_t)su_bfloat16((float)panel[c * height + r]) << 16 * (c % 2);
}
