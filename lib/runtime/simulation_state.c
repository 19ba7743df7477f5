#include "runtime/simulate_internal.h"

#include <string.h>

/* Walks over the state: copies count numbers to or from *at (NULL: only counts them). */
static void walk(double **at, bool save, void *data, int64_t count, int64_t *total)
{
    *total += count;
    if (!*at) return;
    if (save)
        memcpy(*at, data, (size_t)count * sizeof(double));
    else
        memcpy(data, *at, (size_t)count * sizeof(double));
    *at += count;
}

static void walk_integer(double **at, bool save, int64_t *value, int64_t *total)
{
    double number = (double)*value; /* serials stay far below 2^53 */
    walk(at, save, &number, 1, total);
    if (*at && !save) *value = (int64_t)number;
}

static int64_t walk_state(su_simulation *s, double *at, bool save)
{
    const su_runtime_model *model = s->model;
    int64_t total = 0;
    for (int k = 0; k < 2; k++) {
        su_state *state = k ? s->stepper.before : s->stepper.now;
        walk(&at, save, state->q, model->lead, &total);
        walk(&at, save, state->subspace, s->stepper.subspace.state_size, &total);
        walk(&at, save, state->force, s->stepper.force.state_size, &total);
        walk(&at, save, &state->h, 1, &total);
        walk(&at, save, s->trail[k].w, su_blend_size(model), &total);
        walk_integer(&at, save, &s->trail[k].serial, &total);
    }
    su_step_system *system = &s->stepper.system;
    if (s->stepper.settings.newton == 0) { /* what the next step is solved with */
        su_secant_pairs *pairs = &system->pairs;
        int64_t kept = system->kept;
        walk_integer(&at, save, &kept, &total);
        system->kept = kept != 0;
        walk(&at, save, system->A, model->lead * model->lead, &total);
        walk(&at, save, system->inverse, model->lead, &total);
        walk_integer(&at, save, &pairs->count, &total);
        walk_integer(&at, save, &pairs->next, &total);
        walk(&at, save, pairs->inverse, pairs->room, &total);
        walk(&at, save, pairs->steps, pairs->room * pairs->size, &total);
        walk(&at, save, pairs->changes, pairs->room * pairs->size, &total);
    }
    if (s->loads.external) walk(&at, save, s->loads.now, 3 * s->loads.external->points, &total);
    for (int k = 0; k < s->stepper.contacts; k++)
        walk(&at, save, s->stepper.contact[k].state, s->stepper.contact[k].state_size, &total);
    walk_integer(&at, save, &s->serial, &total);
    walk_integer(&at, save, &s->probe_serial, &total);
    return total;
}

int64_t su_simulation_state_size(const su_simulation *s) { return walk_state((su_simulation *)s, NULL, true); }

void su_simulation_get_state(su_simulation *s, double *state) { walk_state(s, state, true); }

void su_simulation_set_state(su_simulation *s, const double *state, int64_t done)
{
    walk_state(s, (double *)state, false); /* only read */
    s->done = done;
    s->planned = (su_shot_place){done > 0 ? done - 1 : 0, 0};
}
