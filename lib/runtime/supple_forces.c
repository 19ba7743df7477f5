#include "runtime/supple_runtime_internal.h"

#include "geometry/mat3.h"
#include "runtime/forces/trained_pairs.h"

#include <math.h>
#include <string.h>

int64_t supple_contacts(const supple_runtime *r, const int32_t **vertices)
{
    *vertices = r->external.vertex;
    return r->external.points;
}

void supple_contact_areas(const supple_runtime *r, double *areas)
{
    memcpy(areas, r->external.area, (size_t)r->external.points * sizeof *areas);
}

void supple_set_contact_areas(supple_runtime *r, const double *areas)
{
    memcpy(r->external.area, areas, (size_t)r->external.points * sizeof *areas);
}

void supple_contact_positions(const supple_runtime *r, double *positions)
{
    memcpy(positions, r->load->now, (size_t)(3 * r->external.points) * sizeof *positions);
}

int supple_set_colliders(supple_runtime *r, int64_t count, const supple_collider *colliders)
{
    static const su_collider_shape shapes[] = {SU_PLANE, SU_SPHERE, SU_CAPSULE};
    if (count > r->collider_room) return 1;
    for (int64_t k = 0; k < count; k++) {
        const supple_collider *from = colliders + k;
        bool plane = from->shape == SUPPLE_PLANE;
        if (from->shape < SUPPLE_PLANE || from->shape > SUPPLE_CAPSULE || !(from->friction >= 0) ||
            !(plane ? su_dot3(from->b, from->b) > 0 : from->radius > 0))
            return 1;
    }
    for (int64_t k = 0; k < count; k++) {
        su_collider *to = r->external.collider + k;
        const supple_collider *from = colliders + k;
        double size = from->shape == SUPPLE_PLANE ? sqrt(su_dot3(from->b, from->b)) : 1;
        to->shape = shapes[from->shape], to->radius = from->radius, to->friction = from->friction;
        for (int i = 0; i < 3; i++) to->a[i] = from->a[i], to->b[i] = from->b[i] / size;
    }
    r->external.colliders = count;
    return 0;
}

void supple_set_wind(supple_runtime *r, const double *velocity, double drag)
{
    for (int i = 0; i < 3; i++) r->external.wind[i] = velocity ? velocity[i] : 0;
    r->external.drag = velocity ? drag : 0;
}

void supple_set_force(supple_runtime *r, int64_t index, const double force[3])
{
    su_external *e = &r->external;
    int64_t k = 0;
    if (index < 0 || index >= e->points) return;
    while (k < e->forces && e->force[k].point != index) k++;
    bool none = force[0] == 0 && force[1] == 0 && force[2] == 0;
    if (k == e->forces && none) return;
    if (none) {
        e->force[k] = e->force[--e->forces];
        return;
    }
    if (k == e->forces) e->forces++;
    e->force[k] = (su_point_force){index, {force[0], force[1], force[2]}, -INFINITY, INFINITY};
}

void supple_set_self_friction(supple_runtime *r, double coefficient)
{
    if (r->pairs.v > 0) su_trained_pairs_set_friction(r->stepper.contact + r->stepper.contacts - 1, coefficient);
}

void supple_get_self_contact(const supple_runtime *r, supple_self_contact *out)
{
    *out = (supple_self_contact){0};
    if (r->pairs.v == 0) return;
    su_trained_pairs_now now = su_trained_pairs_state(r->stepper.contact + r->stepper.contacts - 1);
    *out = (supple_self_contact){now.tested, now.pressed, now.deepest, now.left};
}

void su_runtime_advance_colliders(supple_runtime *r, double seconds)
{
    r->time += seconds;
    if (r->load) r->load->t = r->time;
    for (int64_t k = 0; k < r->external.colliders; k++) {
        su_collider *c = r->external.collider + k;
        c->key_time[0] = r->time - seconds, c->key_time[1] = r->time;
        for (int i = 0; i < 3; i++) {
            c->key_offset[i] = k < r->known ? r->collider_before[3 * k + i] - c->a[i] : 0;
            c->key_offset[3 + i] = 0;
            r->collider_before[3 * k + i] = c->a[i];
        }
    }
    r->known = r->external.colliders;
}
