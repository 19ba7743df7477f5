/* Sorting, and the ascending order of numbers for it and bsearch. */
#ifndef SU_CORE_ORDER_H
#define SU_CORE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* As qsort, but what compares as equal keeps its order: the result depends on neither the C library nor the memory
 * there is. */
void su_sort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));

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
