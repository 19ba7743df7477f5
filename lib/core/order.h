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

/* Of ascending a the first in low..high - 1 that is not below value; high where all are. */
static inline int64_t su_first_not_below(const int32_t *a, int64_t low, int64_t high, int32_t value)
{
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (a[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of ascending a (count, 2 at least) the last entry but the last that is not above value; 0 where all are. */
static inline int64_t su_interval(const double *a, int64_t count, double value)
{
    int64_t low = 0, high = count - 1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (a[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
