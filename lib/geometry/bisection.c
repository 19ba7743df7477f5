#include "geometry/bisection.h"

#include "core/order.h"
#include "geometry/box.h"

#include <stdbool.h>
#include <string.h>

/* Points that are not cut any further: few beside those of a range (linalg/sparse_product.h) that it would bring closer
 * together. */
enum { LEAF = 32 };

typedef struct cut {
    const double *points;
    int axis;
} cut;

/* Points at one height follow their numbers, so that halves are the same wherever they are cut. */
static bool before(const cut *c, int32_t a, int32_t b)
{
    double x = c->points[3 * (int64_t)a + c->axis], y = c->points[3 * (int64_t)b + c->axis];
    return x < y || (x == y && a < b);
}

/* The axis along which these points spread widest. */
static int widest(const double *points, int64_t n, const int32_t *order)
{
    double low[3], high[3];
    memcpy(low, points + 3 * (int64_t)order[0], sizeof low), memcpy(high, low, sizeof high);
    for (int64_t k = 1; k < n; k++)
        for (int i = 0; i < 3; i++) {
            double x = points[3 * (int64_t)order[k] + i];
            low[i] = su_smaller(low[i], x), high[i] = su_larger(high[i], x);
        }
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (high[i] - low[i] > high[axis] - low[axis]) axis = i;
    return axis;
}

/* The `half` lowest of order (n) come first (Hoare's selection). */
static void select_lowest(const cut *c, int64_t n, int64_t half, int32_t *order)
{
    for (int64_t low = 0, high = n - 1; low < high;) {
        int32_t pivot = order[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (before(c, order[i], pivot)) i++;
            while (before(c, pivot, order[j])) j--;
            if (i > j) break;
            int32_t swap = order[i];
            order[i++] = order[j], order[j--] = swap;
        }
        if (half <= j)
            high = j;
        else if (half >= i)
            low = i;
        else
            return;
    }
}

/* Where so many are cut. */
static int64_t half_of(int64_t n, int wide)
{
    int64_t node = wide;
    if (wide == 0) return n / 2;
    while (wide * node < n) node *= wide;
    int64_t half = (n / 2 + node / 2) / node * node;
    return half < node ? node : half;
}

static void bisect(const double *points, int64_t n, int wide, int32_t *order)
{
    while (n > (wide ? wide : LEAF)) {
        cut c = {points, widest(points, n, order)};
        int64_t half = half_of(n, wide);
        select_lowest(&c, n, half, order);
        bisect(points, half, wide, order);
        order += half, n -= half;
    }
    su_sort(order, (size_t)n, sizeof *order, su_order_int32);
}

void su_bisection_order(int64_t n, const double *points, int wide, int32_t *order)
{
    for (int64_t k = 0; k < n; k++) order[k] = (int32_t)k;
    bisect(points, n, wide, order);
}
