#include "runtime/forces/contact_points.h"

#include "core/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_reduced_contact_count(su_reduced_contact_counts *counts, int64_t count, const su_contact_pair *pairs)
{
    int64_t pressed = 0;
    for (int64_t k = 0; k < count; k++) {
        if (!su_contact_pressed(pairs + k)) continue;
        pressed++;
        counts->deepest = fmax(counts->deepest, pairs[k].depth - pairs[k].allowed);
    }
    counts->pressed += pressed;
    if (pressed > counts->most_pressed) counts->most_pressed = pressed;
}

su_status su_contact_points_create(int64_t n, const int32_t *place, const int32_t *point, const su_subspace *subspace,
                                   su_contact_points *out, su_error *err)
{
    su_contact_points p = {.n = n, .place = place, .point = point, .lead = subspace->lead};
    int32_t *pair = NULL;
    su_status status;
    SU_GO(SU_TAKE_ALL(&p.arena, "contact", err, SU_WANT(p.order, n), SU_WANT(p.vertex, n), SU_WANT(p.chosen, n),
                      SU_WANT(p.packed, 3 * n), SU_WANT(p.q, p.lead)));
    SU_GO(SU_ALLOC(&pair, 2 * n, "contact", err));
    for (int64_t v = 0; v < n; v++) pair[2 * v] = place[v], pair[2 * v + 1] = (int32_t)v;
    su_sort(pair, (size_t)n, 2 * sizeof *pair, su_order_int32); /* by place, which no two vertices share */
    for (int64_t v = 0; v < n; v++) p.order[v] = pair[2 * v + 1];
    su_contact_points_want(&p, NULL);
    *out = p;
    p = (su_contact_points){0};
done:
    free(pair);
    su_contact_points_free(&p);
    return status;
}

void su_contact_points_free(su_contact_points *points)
{
    su_arena_free(&points->arena);
    *points = (su_contact_points){0};
}

void su_contact_points_want(su_contact_points *p, const uint8_t *wanted)
{
    p->count = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int32_t v = p->order[i];
        if (wanted && !wanted[v]) continue;
        p->vertex[p->count] = v, p->chosen[p->count++] = p->place[v];
    }
}

/* y (n,3) of those from number `first` on. */
static void place_from(su_contact_points *p, int64_t first, const double *q, const double *state, double *y)
{
    int64_t count = p->count - first;
    p->subspace->places(p->subspace->self, p->instant, q, state, count, p->chosen + first, p->packed);
    for (int64_t i = 0; i < count; i++)
        for (int c = 0; c < 3; c++) y[3 * (int64_t)p->vertex[first + i] + c] = p->packed[3 * i + c];
}

void su_contact_points_place(su_contact_points *p, const double *q, const double *state, double *y)
{
    place_from(p, 0, q, state, y);
}

void su_contact_points_add(su_contact_points *p, int64_t count, const int32_t *vertex, double *y)
{
    int64_t first = p->count;
    for (int64_t i = 0; i < count; i++) p->vertex[p->count] = vertex[i], p->chosen[p->count++] = p->place[vertex[i]];
    place_from(p, first, p->q, NULL, y);
}

void su_contact_points_enter(su_contact_points *p, const void *instant, const su_subspace *subspace)
{
    p->instant = instant, p->subspace = subspace, p->at_q = false;
}

bool su_contact_points_look(su_contact_points *p, const double *q, double *y)
{
    size_t bytes = (size_t)p->lead * sizeof *q;
    if (p->at_q && memcmp(p->q, q, bytes) == 0) return false;
    su_contact_points_place(p, q, NULL, y);
    memcpy(p->q, q, bytes);
    return p->at_q = true;
}

void su_contact_points_project(su_contact_points *p, const int32_t corner[4], const double share[4],
                               const double axis[3], double *row)
{
    int32_t points[4];
    for (int c = 0; c < 4; c++) points[c] = p->point[corner[c]];
    memset(row, 0, (size_t)p->lead * sizeof *row);
    p->subspace->add_force(p->subspace->self, p->instant, 4, points, share, axis, row);
}

void su_contact_points_row(su_contact_points *p, const su_contact_pair *pair, double *row)
{
    int32_t corner[4];
    double share[4], axis[3];
    su_contact_corners(p->body, pair, corner, share);
    for (int i = 0; i < 3; i++) axis[i] = -pair->normal[i];
    su_contact_points_project(p, corner, share, axis, row);
}
