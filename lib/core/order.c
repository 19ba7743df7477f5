/* Merge sort with half of the array beside it. Where there is no memory for that it merges in place, by rotations
 * (Kim and Kutzner, Stable Minimum Storage Merging by Symmetric Comparisons, ESA 2004): the same order, in log n times
 * as long. */
#include "core/order.h"

#include <stdlib.h>
#include <string.h>

enum { STACK_BYTES = 1024 }; /* what small arrays take */

typedef struct sorting {
    size_t size;
    int (*compare)(const void *, const void *);
    char *room; /* of half of the elements; NULL: none */
} sorting;

static char *item(const sorting *s, char *base, size_t k) { return base + k * s->size; }

static void swap_bytes(char *a, char *b, size_t count)
{
    char held[64];
    for (size_t part; count > 0; a += part, b += part, count -= part) {
        part = count < sizeof held ? count : sizeof held;
        memcpy(held, a, part);
        memcpy(a, b, part);
        memcpy(b, held, part);
    }
}

/* a (left), b (right) beside each other become b, a. */
static void rotate(const sorting *s, char *base, size_t left, size_t right)
{
    while (left > 0 && right > 0) {
        size_t few = left < right ? left : right;
        if (left <= right) { /* the left goes to the end of the right, whose end is next */
            swap_bytes(base, item(s, base, right), few * s->size);
            right -= few;
        } else {
            swap_bytes(base, item(s, base, left), few * s->size);
            base = item(s, base, few), left -= few;
        }
    }
}

/* Both parts ascend. The element in the middle of the result splits each of them; what is between the splits changes
 * places, and both halves are such pairs again. */
static void merge_in_place(const sorting *s, char *base, size_t middle, size_t count)
{
    if (middle == 0 || middle == count) return;
    if (count == 2) {
        if (s->compare(base, item(s, base, 1)) > 0) rotate(s, base, 1, 1);
        return;
    }
    size_t half = count / 2, sum = half + middle, low, high;
    if (middle > half)
        low = sum - count, high = half;
    else
        low = 0, high = middle;
    while (low < high) {
        size_t at = low + (high - low) / 2;
        if (s->compare(item(s, base, sum - 1 - at), item(s, base, at)) >= 0)
            low = at + 1;
        else
            high = at;
    }
    size_t end = sum - low;
    if (low < middle && middle < end) rotate(s, item(s, base, low), middle - low, end - middle);
    merge_in_place(s, base, low, half);
    merge_in_place(s, item(s, base, half), end - half, count - half);
}

static void merge_beside(const sorting *s, char *base, size_t middle, size_t count)
{
    char *left = s->room, *left_end = item(s, left, middle), *right = item(s, base, middle),
         *right_end = item(s, base, count), *out = base;
    memcpy(left, base, middle * s->size);
    while (left < left_end && right < right_end) {
        char **from = s->compare(left, right) <= 0 ? &left : &right;
        memcpy(out, *from, s->size);
        *from += s->size, out += s->size;
    }
    memcpy(out, left, (size_t)(left_end - left));
}

static void sort(const sorting *s, char *base, size_t count)
{
    if (count < 2) return;
    size_t middle = count / 2;
    sort(s, base, middle);
    sort(s, item(s, base, middle), count - middle);
    if (s->compare(item(s, base, middle - 1), item(s, base, middle)) <= 0) return;
    if (s->room)
        merge_beside(s, base, middle, count);
    else
        merge_in_place(s, base, middle, count);
}

void su_sort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    char few[STACK_BYTES], *more = NULL;
    size_t bytes = count / 2 * size;
    if (bytes > sizeof few) more = malloc(bytes);
    sorting s = {size, compare, bytes > sizeof few ? more : few};
    sort(&s, base, count);
    free(more);
}
