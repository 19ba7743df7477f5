/* What bones hold of flesh whose thickness is measured for that. */
#ifndef SU_TESTS_HELD_FLESH_H
#define SU_TESTS_HELD_FLESH_H

#include "geometry/held.h"
#include "geometry/thickness.h"

#include <stdlib.h>

/* Caller frees. */
static inline su_held held_by(const su_tets *mesh, const su_held_bones *bones, int threads)
{
    su_held held;
    su_error err = {0};
    double *depth = malloc((size_t)mesh->n * sizeof *depth), *half = malloc((size_t)mesh->n * sizeof *half);
    assert_int_equal(su_flesh_thickness(mesh, threads, depth, half, &err), SU_OK);
    assert_int_equal(su_held_find(mesh, depth, half, bones, NULL, &held, &err), SU_OK);
    free(depth), free(half);
    return held;
}

#endif
