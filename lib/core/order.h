/* Ascending order of numbers, for qsort and bsearch. */
#ifndef SU_CORE_ORDER_H
#define SU_CORE_ORDER_H

#include <stdint.h>

static inline int su_order_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline int su_order_int32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

#endif
