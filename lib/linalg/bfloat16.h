/* bfloat16, the upper half of a float: three digits over its whole range. */
#ifndef SU_LINALG_BFLOAT16_H
#define SU_LINALG_BFLOAT16_H

#include <stdint.h>
#include <string.h>

/* The nearest, ties to even. */
static inline uint16_t su_bfloat16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
