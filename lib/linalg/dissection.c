#include "linalg/dissection.h"

#include "core/memory.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Parts of this size are not cut any further: their fill is a small share, and supernodes would become tiny. */
enum { LEAF = 24 };
/* Parts from this size on are cut on trial along each axis; below it along the widest alone. */
enum { TRIALS = 200 };
/* An axis is tried where the part is at least this wide along it, as a share of the widest. */
#define TRIED_WIDTH 0.4

typedef struct dissection {
    const double *points;
    int64_t *start; /* (size + 1) neighbours of each row, both directions */
    int32_t *to;
    int32_t *part;           /* (size) the part that a row is in now, or which side of a trial cut */
    int32_t *item, *scratch; /* (size) rows, a part being a range */
    double *key;             /* (size) for the median */
    int32_t parts;
} dissection;

static su_status make_graph(const su_sparse *pattern, dissection *d, su_error *err)
{
    int64_t n = pattern->size, *fill = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&d->start, n + 1, "ordering", err));
    SU_GO(SU_ALLOC(&fill, n, "ordering", err));
    for (int64_t j = 0; j < n; j++)
        for (int64_t e = pattern->start[j]; e < pattern->start[j + 1]; e++)
            if (pattern->row[e] != j) d->start[j + 1]++, d->start[pattern->row[e] + 1]++;
    for (int64_t j = 0; j < n; j++) d->start[j + 1] += d->start[j], fill[j] = d->start[j];
    SU_GO(SU_ALLOC(&d->to, d->start[n], "ordering", err));
    for (int64_t j = 0; j < n; j++)
        for (int64_t e = pattern->start[j]; e < pattern->start[j + 1]; e++) {
            int64_t i = pattern->row[e];
            if (i != j) d->to[fill[i]++] = (int32_t)j, d->to[fill[j]++] = (int32_t)i;
        }
done:
    free(fill);
    return status;
}

/* The k-th smallest of a (count), which is partly sorted (Hoare). */
static double kth(double *a, int64_t count, int64_t k)
{
    for (int64_t low = 0, high = count - 1; low < high;) {
        double pivot = a[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i > j) break;
            double swap = a[i];
            a[i++] = a[j], a[j--] = swap;
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            return a[k];
    }
    return a[k];
}

/* A cut of the rows item[0..count): coordinate below `at` along `axis` is left. The separator is what of one side
 * touches the other, of the side where that is less. */
typedef struct cut {
    int axis;
    double at;
    int64_t left, separator;
    bool of_left; /* the separator is taken from the left side */
} cut;

enum { LEFT_SEPARATOR = 1, RIGHT_SEPARATOR = 2 };

/* Which separators row v belongs to under a cut: it has a neighbour in its part across the cut. */
static int touches(const dissection *d, const cut *c, int32_t v)
{
    bool left = d->points[3 * (int64_t)v + c->axis] < c->at;
    for (int64_t e = d->start[v]; e < d->start[v + 1]; e++) {
        int32_t w = d->to[e];
        if (d->part[w] == d->part[v] && (d->points[3 * (int64_t)w + c->axis] < c->at) != left)
            return left ? LEFT_SEPARATOR : RIGHT_SEPARATOR;
    }
    return 0;
}

static cut try_cut(const dissection *d, const int32_t *item, int64_t count, int axis)
{
    cut c = {.axis = axis};
    int64_t left_touches = 0, right_touches = 0;
    for (int64_t k = 0; k < count; k++) d->key[k] = d->points[3 * (int64_t)item[k] + axis];
    c.at = kth(d->key, count, count / 2);
    for (int64_t k = 0; k < count; k++) {
        int side = touches(d, &c, item[k]);
        c.left += d->points[3 * (int64_t)item[k] + axis] < c.at;
        left_touches += side == LEFT_SEPARATOR, right_touches += side == RIGHT_SEPARATOR;
    }
    /* The smaller side keeps its vertices where both separators are equal. */
    c.of_left = left_touches < right_touches || (left_touches == right_touches && 2 * c.left > count);
    c.separator = c.of_left ? left_touches : right_touches;
    return c;
}

/* Cost of a cut: its separator, and more the less even the halves are. */
static double cost(const cut *c, int64_t count)
{
    double small = (double)(c->left < count - c->left ? c->left : count - c->left) / (double)count;
    return small <= 0 ? DBL_MAX : (double)c->separator / (small * (1 - small));
}

static bool best_cut(const dissection *d, const int32_t *item, int64_t count, cut *best)
{
    double low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX}, least = DBL_MAX, widest = 0;
    int wide = 0;
    for (int64_t k = 0; k < count; k++)
        for (int c = 0; c < 3; c++) {
            double x = d->points[3 * (int64_t)item[k] + c];
            low[c] = fmin(low[c], x), high[c] = fmax(high[c], x);
        }
    for (int c = 0; c < 3; c++)
        if (high[c] - low[c] > widest) widest = high[c] - low[c], wide = c;
    for (int c = 0; c < 3; c++) {
        if (c != wide && (count < TRIALS || high[c] - low[c] < TRIED_WIDTH * widest)) continue;
        cut now = try_cut(d, item, count, c);
        if (cost(&now, count) < least) least = cost(&now, count), *best = now;
    }
    return least < DBL_MAX; /* all at one place: nothing to cut */
}

/* Orders item[0..count) in place. */
static void dissect(dissection *d, int32_t *item, int64_t count)
{
    cut c = {0};
    while (count > LEAF && best_cut(d, item, count, &c)) {
        int64_t left = 0, right = 0, separator = 0;
        int32_t *other = d->scratch;
        int32_t halves = d->parts;
        /* Left stays in front; right and, from the end, the separator go to the scratch. */
        for (int64_t k = 0; k < count; k++) {
            int32_t v = item[k];
            if (touches(d, &c, v) == (c.of_left ? LEFT_SEPARATOR : RIGHT_SEPARATOR))
                other[count - ++separator] = v;
            else if (d->points[3 * (int64_t)v + c.axis] < c.at)
                item[left++] = v;
            else
                other[right++] = v;
        }
        memcpy(item + left, other, (size_t)right * sizeof *item);
        for (int64_t k = 0; k < separator; k++) item[left + right + k] = other[count - 1 - k];
        d->parts += 3;
        for (int64_t k = 0; k < count; k++)
            d->part[item[k]] = k < left ? halves : k < left + right ? halves + 1 : halves + 2;
        dissect(d, item, left);
        item += left, count = right; /* the right half in this loop */
    }
}

su_status su_dissection_order(const su_sparse *pattern, const double *points, int64_t *order, su_error *err)
{
    dissection d = {.points = points};
    int64_t n = pattern->size;
    su_status status;
    SU_GO(make_graph(pattern, &d, err));
    SU_GO(SU_ALLOC(&d.part, n, "ordering", err));
    SU_GO(SU_ALLOC(&d.item, n, "ordering", err));
    SU_GO(SU_ALLOC(&d.scratch, n, "ordering", err));
    SU_GO(SU_ALLOC(&d.key, n, "ordering", err));
    for (int64_t k = 0; k < n; k++) d.item[k] = (int32_t)k;
    d.parts = 1;
    dissect(&d, d.item, n);
    for (int64_t k = 0; k < n; k++) order[k] = d.item[k];
done:
    free(d.start), free(d.to), free(d.part), free(d.item), free(d.scratch), free(d.key);
    return status;
}
