#include "skin/contact_springs.h"

#include "contact/contact_forces.h"

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

int64_t su_springs_of_pairs(const su_contact_body *body, su_contact_finder *finder, const double *x,
                            su_spring_list *list, double *energy)
{
    const su_contact_pair *pairs;
    int64_t count, before = list->count;
    if (su_contact_find(finder, x, &pairs, &count, NULL) != SU_OK) return -1;
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
