#include "geometry/parting.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/intersect.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two triangles of different shells, and the point where they cross in either. */
typedef struct meeting {
    int32_t shell[2]; /* ascending */
    int32_t triangle[2];
    double bary[2][3];
    double p[3];
} meeting;

/* A point that both triangles have; false where rounding finds none. */
static bool crossing(const su_surface *s, int32_t a, int32_t b, meeting *out)
{
    const int32_t *c[2] = {s->triangles + 3 * (int64_t)a, s->triangles + 3 * (int64_t)b};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 3; i++) {
            const int32_t *own = c[side], *other = c[1 - side];
            const double *p = s->x + 3 * (int64_t)own[i], *q = s->x + 3 * (int64_t)own[(i + 1) % 3];
            double where;
            if (!su_segment_meets_triangle(p, q, s->x + 3 * (int64_t)other[0], s->x + 3 * (int64_t)other[1],
                                           s->x + 3 * (int64_t)other[2], &where))
                continue;
            for (int k = 0; k < 3; k++) out->p[k] = p[k] + where * (q[k] - p[k]);
            for (int k = 0; k < 2; k++)
                su_closest_on_triangle(out->p, s->x + 3 * (int64_t)c[k][0], s->x + 3 * (int64_t)c[k][1],
                                       s->x + 3 * (int64_t)c[k][2], out->bary[k]);
            out->triangle[0] = a, out->triangle[1] = b;
            return true;
        }
    return false;
}

static int by_shells(const void *a, const void *b)
{
    const meeting *p = a, *q = b;
    for (int k = 0; k < 2; k++)
        if (p->shell[k] != q->shell[k]) return p->shell[k] < q->shell[k] ? -1 : 1;
    for (int k = 0; k < 2; k++)
        if (p->triangle[k] != q->triangle[k]) return p->triangle[k] < q->triangle[k] ? -1 : 1;
    return 0;
}

/* Where shells cross, ordered by pairs of them. */
static su_status find_meetings(const su_surface *s, meeting **out, int64_t *count, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree tree = {0};
    int32_t *pairs = NULL;
    meeting *list = NULL;
    int64_t all = 0, kept = 0;
    SU_GO(su_boxtree_of_triangles(s->x, s->t, s->triangles, &tree, err));
    SU_GO(su_surface_intersections(s, &tree, 0, &all, &pairs, err));
    SU_GO(SU_ALLOC(&list, all + 1, "crossing shells", err));
    for (int64_t k = 0; k < all; k++) {
        int32_t a = pairs[2 * k], b = pairs[2 * k + 1];
        if (s->component[a] == s->component[b]) continue;
        if (s->component[a] > s->component[b]) a = pairs[2 * k + 1], b = pairs[2 * k];
        if (!crossing(s, a, b, &list[kept])) continue;
        list[kept].shell[0] = s->component[a], list[kept].shell[1] = s->component[b];
        kept++;
    }
    su_sort(list, (size_t)kept, sizeof *list, by_shells);
    *out = list, *count = kept, list = NULL;
done:
    su_boxtree_free(&tree);
    free(pairs), free(list);
    return status;
}

/* Does the middle of these crossings of two shells leave the place at one of the poses? */
static bool part(const su_surface *s, const meeting *list, int64_t count, int64_t poses, const double *shapes)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, longest = 0;
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) low[i] = fmin(low[i], list[k].p[i]), high[i] = fmax(high[i], list[k].p[i]);
    for (int64_t pose = 0; pose < poses; pose++) {
        const double *x = shapes + 3 * pose * s->n;
        double way[3] = {0};
        for (int64_t k = 0; k < count; k++)
            for (int side = 0; side < 2; side++) {
                const int32_t *c = s->triangles + 3 * (int64_t)list[k].triangle[side];
                for (int j = 0; j < 3; j++)
                    for (int i = 0; i < 3; i++)
                        way[i] +=
                            (side ? -1.0 : 1.0) / (double)count * list[k].bary[side][j] * x[3 * (int64_t)c[j] + i];
            }
        longest = fmax(longest, su_norm3(way));
    }
    return longest > fmax(0.5 * su_distance3(low, high), SU_PARTING_WAY * s->diagonal);
}

/* What is known of classes: pairs that cross, and where each class is. */
typedef struct relations {
    int32_t (*pairs)[2];
    bool *parts; /* of each pair: it parts, or crosses and stays */
    int64_t count;
    double *box; /* (classes,6) low and high corners */
} relations;

typedef enum relation { STRANGERS, STAYS, PARTS } relation;

static relation between(const relations *r, int32_t a, int32_t b)
{
    for (int64_t k = 0; k < r->count; k++)
        if ((r->pairs[k][0] == a && r->pairs[k][1] == b) || (r->pairs[k][0] == b && r->pairs[k][1] == a))
            return r->parts[k] ? PARTS : STAYS;
    return STRANGERS;
}

static bool apart(const double a[6], const double b[6])
{
    for (int i = 0; i < 3; i++)
        if (a[i] > b[3 + i] || b[i] > a[3 + i]) return true;
    return false;
}

/* May class c join the layer? Not what parts from any of it; nor what lies among it as a stranger, such as a strap that
 * another boot has swallowed. */
static bool fits(const relations *r, const su_parting *p, uint32_t bit, int32_t c)
{
    bool stays = false, far = true;
    for (int32_t d = 1; d < p->classes; d++) {
        if (!(p->layers_of[d] & bit) || d == c) continue;
        relation known = between(r, c, d);
        if (known == PARTS) return false;
        stays |= known == STAYS;
        far &= apart(r->box + 6 * c, r->box + 6 * d);
    }
    return stays || far;
}

/* One more layer, that holds classes a and b and what fits to it of those that are in none. */
static void add_layer(const relations *r, int32_t a, int32_t b, su_parting *out)
{
    uint32_t bit = 1u << out->layers++;
    out->layers_of[0] |= bit, out->layers_of[a] |= bit, out->layers_of[b] |= bit;
    for (bool grows = true; grows;) {
        grows = false;
        for (int32_t c = 1; c < out->classes; c++)
            if (!out->layers_of[c] && fits(r, out, bit, c)) out->layers_of[c] = bit, grows = true;
    }
}

/* Layers until every class is in one, and every two that cross and stay are in one together. */
static bool make_layers(const relations *r, su_parting *out)
{
    for (int32_t c = 1; c < out->classes; c++) {
        if (out->layers_of[c]) continue;
        if (out->layers == SU_MOST_LAYERS) return false;
        add_layer(r, c, c, out);
    }
    for (int64_t k = 0; k < r->count; k++) {
        if (r->parts[k] || (out->layers_of[r->pairs[k][0]] & out->layers_of[r->pairs[k][1]])) continue;
        if (out->layers == SU_MOST_LAYERS) return false;
        add_layer(r, r->pairs[k][0], r->pairs[k][1], out);
    }
    return true;
}

/* All of class 0, in one layer. */
static void forget(const su_surface *s, su_parting *out)
{
    memset(out->class_of, 0, (size_t)s->t * sizeof *out->class_of);
    out->classes = out->layers = 1, out->layers_of[0] = 1;
}

/* Numbers the shells of r's parting pairs from 1 in ascending order, the others 0, in r as well. */
static su_status name_classes(const su_surface *s, relations *r, su_parting *out, su_error *err)
{
    int32_t *class_of_shell;
    SU_TRY(SU_ALLOC(&class_of_shell, s->components, "classes of shells", err));
    for (int64_t k = 0; k < r->count; k++)
        if (r->parts[k]) class_of_shell[r->pairs[k][0]] = class_of_shell[r->pairs[k][1]] = 1;
    out->classes = 1;
    for (int64_t c = 0; c < s->components; c++)
        if (class_of_shell[c]) class_of_shell[c] = out->classes++;
    for (int64_t k = 0; k < s->t; k++) out->class_of[k] = class_of_shell[s->component[k]];
    su_status status = SU_ALLOC(&r->box, 6 * out->classes, "classes of shells", err);
    for (int64_t k = 0; k < 6 * out->classes && status == SU_OK; k++) r->box[k] = k % 6 < 3 ? INFINITY : -INFINITY;
    for (int64_t k = 0; k < 9 * s->t && status == SU_OK; k++) {
        double *box = r->box + 6 * out->class_of[k / 9], at = s->x[3 * (int64_t)s->triangles[k / 3] + k % 3];
        box[k % 3] = fmin(box[k % 3], at), box[3 + k % 3] = fmax(box[3 + k % 3], at);
    }
    for (int64_t k = 0; k < r->count; k++)
        for (int i = 0; i < 2; i++) r->pairs[k][i] = class_of_shell[r->pairs[k][i]];
    free(class_of_shell);
    return status;
}

su_status su_parting_create(const su_surface *surface, int64_t poses, const double *shapes, su_parting *out,
                            su_error *err)
{
    su_status status = SU_OK;
    su_parting p = {0};
    relations r = {0};
    meeting *list = NULL;
    int64_t count = 0;
    SU_GO(SU_ALLOC(&p.class_of, surface->t + 1, "classes of shells", err));
    if (poses > 0) SU_GO(find_meetings(surface, &list, &count, err));
    SU_GO(SU_ALLOC(&r.pairs, count + 1, "crossing shells", err));
    SU_GO(SU_ALLOC(&r.parts, count + 1, "crossing shells", err));
    for (int64_t k = 0, run; k < count; k += run) {
        for (run = 1; k + run < count && list[k + run].shell[0] == list[k].shell[0] &&
                      list[k + run].shell[1] == list[k].shell[1];)
            run++;
        memcpy(r.pairs[r.count], list[k].shell, sizeof r.pairs[0]);
        r.parts[r.count++] = part(surface, list + k, run, poses, shapes);
    }
    SU_GO(name_classes(surface, &r, &p, err));
    SU_GO(SU_ALLOC(&p.layers_of, p.classes, "layers of shells", err));
    if (p.classes == 1 || !make_layers(&r, &p)) forget(surface, &p);
    *out = p;
    memset(&p, 0, sizeof p);
done:
    free(r.pairs), free(r.parts), free(r.box), free(list);
    su_parting_free(&p);
    return status;
}

void su_parting_free(su_parting *parting)
{
    free(parting->class_of), free(parting->layers_of);
    memset(parting, 0, sizeof *parting);
}
