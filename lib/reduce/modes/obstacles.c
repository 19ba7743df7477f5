#include "reduce/modes/obstacles.h"

#include "core/memory.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct query {
    const su_obstacle *obstacle;
    const su_contact_settings *settings;
    const double *at, *outward; /* a vertex of the flesh and its normal */
    int32_t triangle;           /* -1: none */
    double distance, side, normal[3];
} query;

static bool look(void *context, int32_t item)
{
    query *q = context;
    const int32_t *v = q->obstacle->triangles + 3 * (int64_t)item;
    const double *a = q->obstacle->x + 3 * (int64_t)v[0], *b = q->obstacle->x + 3 * (int64_t)v[1],
                 *c = q->obstacle->x + 3 * (int64_t)v[2];
    double ab[3], ac[3], normal[3], bary[3], away[3];
    su_sub3(b, a, ab), su_sub3(c, a, ac);
    su_cross3(ab, ac, normal);
    double length = su_norm3(normal), distance = sqrt(su_closest_on_triangle(q->at, a, b, c, bary));
    if (!(length > 0) || su_dot3(normal, q->outward) > SU_CONTACT_OPPOSING * length) return true;
    for (int i = 0; i < 3; i++) away[i] = q->at[i] - bary[0] * a[i] - bary[1] * b[i] - bary[2] * c[i];
    double side = su_dot3(away, normal);
    if (distance > (side < 0 ? q->settings->depth : q->settings->tolerance)) return true;
    if (q->triangle >= 0 && (distance > q->distance || (distance == q->distance && item > q->triangle))) return true;
    q->triangle = item, q->distance = distance, q->side = side;
    for (int i = 0; i < 3; i++) q->normal[i] = normal[i] / length;
    return true;
}

static void append(const su_contact_settings *settings, int32_t v, const double normal[3], bool inside,
                   const uint8_t *held, su_contact_rows *contact)
{
    const double one = 1;
    int64_t before = contact->rows;
    su_contact_bind(contact, 1, &v, &one, su_contact_slides(settings->kind) ? normal : NULL, held);
    contact->contacts += contact->rows > before;
    contact->penetrating += contact->rows > before && inside;
}

su_status su_contact_obstacle(const su_contact_flesh *flesh, const su_obstacle *obstacle,
                              const su_contact_settings *settings, su_contact_rows *contact, su_error *err)
{
    int64_t n = flesh->n, b = flesh->b;
    const double *x = flesh->x;
    const int32_t *surface = flesh->surface;
    su_boxtree tree = {0};
    double *normal = NULL, reach = fmax(settings->tolerance, settings->depth), length = su_norm3(obstacle->normal);
    uint8_t *on_surface = NULL;
    int64_t count = 0;
    su_status status;
    SU_GO(SU_ALLOC(&on_surface, n, "contact", err));
    for (int64_t k = 0; k < 3 * b; k++) count += !on_surface[surface[k]], on_surface[surface[k]] = 1;
    SU_GO(su_contact_reserve(contact, 3 * count, 3 * count, err));
    if (obstacle->triangles) {
        SU_GO(SU_ALLOC(&normal, 3 * n, "contact", err));
        su_contact_normals(n, x, b, surface, NULL, normal);
        SU_GO(su_boxtree_of_triangles(obstacle->x, obstacle->t, obstacle->triangles, &tree, err));
    } else if (!(length > 0))
        SU_GO(su_fail(err, SU_INPUT, "a plane without a normal"));
    for (int64_t v = 0; v < n; v++) {
        if (!on_surface[v]) continue;
        if (obstacle->triangles) {
            query q = {obstacle, settings, x + 3 * v, normal + 3 * v, -1, 0, 0, {0}};
            double low[3], high[3];
            for (int i = 0; i < 3; i++) low[i] = x[3 * v + i] - reach, high[i] = x[3 * v + i] + reach;
            su_boxtree_overlap(&tree, low, high, look, &q);
            if (q.triangle >= 0) append(settings, (int32_t)v, q.normal, q.side < 0, flesh->held, contact);
        } else {
            double away[3], unit[3];
            su_sub3(x + 3 * v, obstacle->point, away);
            for (int i = 0; i < 3; i++) unit[i] = obstacle->normal[i] / length;
            double height = su_dot3(away, unit);
            if (height <= settings->tolerance && height >= -settings->depth)
                append(settings, (int32_t)v, unit, height < 0, flesh->held, contact);
        }
    }
done:
    su_boxtree_free(&tree);
    free(normal), free(on_surface);
    return status;
}
