#include "skin/contact_springs.h"

#include "contact/contact_forces.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

su_spring *su_spring_next(su_spring_list *list)
{
    if (list->count == list->room) {
        int64_t room = 2 * list->room + 64;
        su_spring *more = realloc(list->spring, (size_t)room * sizeof *more);
        if (!more) return NULL;
        list->spring = more, list->room = room;
    }
    return list->spring + list->count;
}

int64_t su_springs_of_pairs(const su_contact_body *body, int64_t count, const su_contact_pair *pairs, const double *x,
                            su_spring_list *list, double *energy)
{
    int64_t before = list->count;
    *energy += su_contact_energy(count, pairs);
    for (int64_t k = 0; k < count; k++) {
        const su_contact_pair *pair = pairs + k;
        su_spring *spring;
        double K[144];
        if (!su_contact_pressed(pair)) continue;
        if (!(spring = su_spring_next(list))) return -1;
        su_contact_corners(body, pair, spring->vertex, spring->weight);
        for (int c = 0; c < 3; c++)
            spring->force[c] = pair->stiffness * (pair->depth - pair->allowed) * pair->normal[c];
        su_contact_tangent(body, pair, x, true, K);
        for (int i = 0; i < 3; i++) memcpy(spring->H + 3 * i, K + 12 * i, 3 * sizeof *K); /* v_p has share 1 */
        spring->stiffness = pair->stiffness;
        list->count++;
    }
    return list->count - before;
}

int64_t su_springs_of_kept(su_kept_pairs *kept, const double *x, double sideways, su_spring_list *list, double *energy)
{
    int64_t before = list->count;
    su_kept_pairs_follow(kept, x);
    for (int64_t k = 0; k < kept->count; k++) {
        const su_contact_pair *pair = kept->pairs + k, *met = kept->base + k;
        su_spring *spring;
        bool stood = su_contact_pressed(met);
        if (!stood && !su_contact_pressed(pair)) continue;
        if (!(spring = su_spring_next(list))) return -1;
        su_contact_corners(kept->body, pair, spring->vertex, spring->weight);
        double over = fmax(pair->depth - pair->allowed, 0), slip[3], *n = kept->pairs[k].normal, along = 0;
        for (int c = 0; c < 3; c++) { /* since the pair was met, from v_s to v_p */
            slip[c] = met->depth * n[c];
            for (int i = 0; i < 4; i++) slip[c] += spring->weight[i] * x[3 * (int64_t)spring->vertex[i] + c];
            along += slip[c] * n[c];
        }
        double press = over > 0 ? 1 : 0, hold = stood ? sideways : 0;
        for (int c = 0; c < 3; c++) {
            slip[c] -= along * n[c];
            spring->force[c] = pair->stiffness * (over * n[c] - hold * slip[c]);
        }
        for (int i = 0; i < 9; i++)
            spring->H[i] = pair->stiffness * ((press - hold) * n[i / 3] * n[i % 3] + (i % 4 == 0 ? hold : 0));
        *energy += 0.5 * pair->stiffness * (over * over + hold * su_dot3(slip, slip));
        spring->stiffness = 0;
        list->count++;
    }
    return list->count - before;
}
