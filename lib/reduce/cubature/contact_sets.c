#include "reduce/cubature/contact_training_internal.h"

#include "core/memory.h"
#include "core/order.h"
#include "linalg/principal.h"
#include "runtime/forces/trained_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Growing lists of what is written. */
typedef struct lists {
    int64_t *key;            /* (s) */
    int32_t *local, *global; /* (n) number of a flesh vertex + 1, 0: none; (v) */
    int32_t *triangle;       /* (k) of the body */
    int32_t *tet;            /* (t) of the body */
    uint8_t *corner;         /* (n) scratch: of tets that held a vertex */
    uint8_t *mark;           /* (b) scratch: the triangles of the set at hand */
    int64_t room, tet_room;
} lists;

/* Triangles of a set's pairs and rings around, ascending, behind l->triangle[*count]. */
static su_status add_triangles(su_contact_training *t, lists *l, int64_t key, int64_t pose, int64_t *count,
                               su_error *err)
{
    const su_contact_body *body = &t->body;
    memset(l->mark, 0, (size_t)body->b);
    for (int64_t k = 0; k < t->count; k++)
        if (t->met[k].key == key && t->met[k].pose == pose && t->met[k].weight > 0)
            l->mark[t->met[k].triangle] = l->mark[body->nearest[t->met[k].tet]] = 1;
    for (int ring = 1; ring <= t->plan->rings; ring++)
        for (int64_t f = 0; f < body->b; f++) {
            if (l->mark[f] != ring) continue;
            for (int64_t j = body->beside_start[f]; j < body->beside_start[f + 1]; j++)
                if (!l->mark[body->beside[j]]) l->mark[body->beside[j]] = (uint8_t)(ring + 1);
        }
    for (int64_t f = 0; f < body->b; f++) {
        if (!l->mark[f]) continue;
        SU_TRY(su_grow(&l->triangle, *count, &l->room, sizeof *l->triangle, "contact triangles", err));
        l->triangle[(*count)++] = (int32_t)f;
    }
    return SU_OK;
}

/* Of the tets from which the way out leads to one of those triangles those that held a vertex at the pose, and those
 * around them; ascending, behind l->tet[*count]. */
static su_status add_tets(su_contact_training *t, lists *l, int64_t key, int64_t pose, int64_t *count, su_error *err)
{
    const su_contact_body *body = &t->body;
    memset(l->corner, 0, (size_t)body->n);
    for (int64_t k = 0; k < t->count; k++)
        for (int i = 0; i < 4 && t->met[k].key == key && t->met[k].pose == pose; i++)
            l->corner[body->tets[4 * (int64_t)t->met[k].tet + i]] = 1;
    for (int64_t e = 0; e < body->t; e++) {
        const int32_t *c = body->tets + 4 * e;
        if (body->nearest[e] < 0 || !l->mark[body->nearest[e]]) continue;
        if (!l->corner[c[0]] && !l->corner[c[1]] && !l->corner[c[2]] && !l->corner[c[3]]) continue;
        SU_TRY(su_grow(&l->tet, *count, &l->tet_room, sizeof *l->tet, "contact tets", err));
        l->tet[(*count)++] = (int32_t)e;
    }
    return SU_OK;
}

static su_status number_vertices(su_contact_training *t, lists *l, int64_t triangles, int64_t tets, su_pair_sets *out,
                                 su_error *err)
{
    for (int64_t k = 0; k < 3 * triangles; k++) l->local[t->body.surface[3 * (int64_t)l->triangle[k / 3] + k % 3]] = 1;
    for (int64_t k = 0; k < 4 * tets; k++) l->local[t->body.tets[4 * (int64_t)l->tet[k / 4] + k % 4]] = 1;
    for (int64_t k = 0; k < t->count; k++)
        if (t->met[k].weight > 0) l->local[t->met[k].vertex] = 1;
    for (int64_t k = 0; k < t->D * SU_CONTACT_PROBES; k++) l->local[t->probe[k]] = 1;
    for (int64_t v = 0; v < t->n; v++)
        if (l->local[v]) l->global[out->v++] = (int32_t)v, l->local[v] = (int32_t)out->v;
    out->v1 = out->v + 1;
    for (int64_t i = 0; i < out->v; i++)
        for (int64_t j = t->body.ring_start[l->global[i]]; j < t->body.ring_start[l->global[i] + 1]; j++)
            out->e += l->local[t->body.ring[j]] > 0;
    SU_TRY(SU_FILE_ALLOC_ALL(&out->file, err, SU_WANT(out->vertices, out->v), SU_WANT(out->stiffness, out->v),
                             SU_WANT(out->area, out->v), SU_WANT(out->related_start, out->v1),
                             SU_WANT(out->related, out->e)));
    int32_t entries = 0;
    for (int64_t i = 0; i < out->v; i++) {
        int32_t v = l->global[i];
        out->vertices[i] = v, out->stiffness[i] = t->k[v], out->area[i] = t->body.area[v];
        for (int64_t j = t->body.ring_start[v]; j < t->body.ring_start[v + 1]; j++)
            if (l->local[t->body.ring[j]]) out->related[entries++] = l->local[t->body.ring[j]] - 1;
        out->related_start[i + 1] = entries;
    }
    return SU_OK;
}

/* Where the second domain was in the first one's frame, and its principal axes over the poses (ASC section 4.3). */
static su_status find_axes(su_contact_training *t, int64_t s, su_pair_sets *out, su_error *err)
{
    int64_t c3 = out->c3, a = out->domain_pair[2 * s], b = out->domain_pair[2 * s + 1];
    int32_t number[2 * SU_CONTACT_PROBES];
    double *mean = out->pose_mean + c3 * s, *axes = out->pose_axes + SU_PAIR_COORDINATES * c3 * s;
    double *places = out->set_pose + SU_PAIR_COORDINATES * s * t->T, *at = NULL, *neutral = NULL;
    float *values = NULL;
    su_principal principal = {0};
    su_status status;
    SU_GO(SU_ALLOC_ALL("poses of domains", err, SU_WANT(at, c3 * t->T), SU_WANT(values, c3 * t->T),
                       SU_WANT(neutral, 3 * t->D * SU_CONTACT_PROBES)));
    for (int32_t k = 0; k < 2 * SU_CONTACT_PROBES; k++)
        number[k] = (int32_t)((k < SU_CONTACT_PROBES ? a : b) * SU_CONTACT_PROBES) + k % SU_CONTACT_PROBES;
    su_domain_pose pose = {out->c, number, number + SU_CONTACT_PROBES, mean, axes};
    for (int64_t k = 0; k < t->D * SU_CONTACT_PROBES; k++)
        memcpy(neutral + 3 * k, t->body.neutral + 3 * (int64_t)t->probe[k], 3 * sizeof *neutral);
    for (int64_t i = 0; i < t->T; i++) {
        su_domain_probes(&pose, neutral, t->probes + 3 * t->D * SU_CONTACT_PROBES * i, at + c3 * i);
        for (int64_t k = 0; k < c3; k++) mean[k] += at[c3 * i + k] / (double)t->T;
    }
    for (int64_t k = 0; k < c3 * t->T; k++) values[k] = (float)(at[k] - mean[k % c3]);
    SU_GO(su_principal_shapes(t->T, c3, values, SU_PAIR_COORDINATES, 0, &principal, err));
    for (int64_t k = 0; k < principal.count; k++) {
        double size = 0;
        for (int64_t j = 0; j < c3; j++)
            size += (double)principal.shapes[k * c3 + j] * (double)principal.shapes[k * c3 + j];
        for (int64_t j = 0; j < c3 && size > 0; j++) axes[k * c3 + j] = principal.shapes[k * c3 + j] / sqrt(size);
    }
    for (int64_t i = 0; i < t->T; i++) su_domain_coordinates(&pose, at + c3 * i, places + SU_PAIR_COORDINATES * i);
    for (int64_t i = 0; i < t->T && t->T > 1; i++) {
        double nearest = INFINITY;
        for (int64_t j = 0; j < t->T; j++) {
            double square = 0;
            for (int k = 0; k < SU_PAIR_COORDINATES; k++) {
                double d = places[SU_PAIR_COORDINATES * i + k] - places[SU_PAIR_COORDINATES * j + k];
                square += d * d;
            }
            if (j != i) nearest = fmin(nearest, sqrt(square));
        }
        out->reach[s] = fmax(out->reach[s], nearest);
    }
done:
    su_principal_free(&principal);
    free(at), free(values), free(neutral);
    return status;
}

/* Where a number of the body stands in a part of an ascending list, from its beginning. */
static int32_t place_of(const int32_t *list, int32_t first, int32_t end, int32_t number)
{
    const int32_t *found = bsearch(&number, list + first, (size_t)(end - first), sizeof *list, su_order_int32);
    return (int32_t)(found - list);
}

static su_status write_sets(su_contact_training *t, lists *l, su_pair_sets *out, su_error *err)
{
    int64_t triangles = 0, tets = 0, pairs = 0;
    out->z = out->s * t->T, out->z1 = out->z + 1;
    SU_TRY(SU_FILE_ALLOC_ALL(&out->file, err, SU_WANT(out->set_pair, out->z),
                             SU_WANT(out->set_pose, SU_PAIR_COORDINATES * out->z), SU_WANT(out->set_start, out->z1),
                             SU_WANT(out->triangle_start, out->z1), SU_WANT(out->tet_start, out->z1)));
    for (int64_t k = 0; k < t->count; k++) out->p += t->met[k].weight > 0;
    SU_TRY(SU_FILE_ALLOC_ALL(&out->file, err, SU_WANT(out->pair_vertex, out->p), SU_WANT(out->pair_triangle, out->p),
                             SU_WANT(out->pair_tet, out->p), SU_WANT(out->pair_weight, out->p)));
    for (int64_t z = 0; z < out->z; z++) {
        int64_t key = l->key[z / t->T], pose = z % t->T;
        out->set_pair[z] = (int32_t)(z / t->T);
        SU_TRY(add_triangles(t, l, key, pose, &triangles, err));
        SU_TRY(add_tets(t, l, key, pose, &tets, err));
        out->triangle_start[z + 1] = (int32_t)triangles, out->tet_start[z + 1] = (int32_t)tets;
    }
    out->k = triangles, out->t = tets;
    SU_TRY(number_vertices(t, l, triangles, tets, out, err));
    SU_TRY(SU_FILE_ALLOC_ALL(&out->file, err, SU_WANT(out->triangles, 3 * triangles), SU_WANT(out->tets, 4 * tets),
                             SU_WANT(out->tet_triangle, tets)));
    for (int64_t k = 0; k < 3 * triangles; k++)
        out->triangles[k] = l->local[t->body.surface[3 * (int64_t)l->triangle[k / 3] + k % 3]] - 1;
    for (int64_t k = 0; k < 4 * tets; k++)
        out->tets[k] = l->local[t->body.tets[4 * (int64_t)l->tet[k / 4] + k % 4]] - 1;
    for (int64_t z = 0; z < out->z; z++) {
        int32_t begin = out->triangle_start[z], end = out->triangle_start[z + 1];
        for (int32_t e = out->tet_start[z]; e < out->tet_start[z + 1]; e++)
            out->tet_triangle[e] = place_of(l->triangle, begin, end, t->body.nearest[l->tet[e]]);
        for (int64_t k = 0; k < t->count; k++) {
            const su_contact_met *m = t->met + k;
            if (m->key != l->key[z / t->T] || m->pose != z % t->T || !(m->weight > 0)) continue;
            out->pair_vertex[pairs] = l->local[m->vertex] - 1;
            out->pair_triangle[pairs] = place_of(l->triangle, begin, end, m->triangle);
            out->pair_tet[pairs] = place_of(l->tet, out->tet_start[z], out->tet_start[z + 1], m->tet);
            out->pair_weight[pairs++] = m->weight;
        }
        out->set_start[z + 1] = (int32_t)pairs;
    }
    return SU_OK;
}

su_status su_contact_sets_write(su_contact_training *t, su_pair_sets *out, su_error *err)
{
    lists l = {0};
    su_status status;
    SU_GO(SU_ALLOC_ALL("contact", err, SU_WANT(l.key, t->D * t->D), SU_WANT(l.local, t->n), SU_WANT(l.global, t->n),
                       SU_WANT(l.mark, t->body.b), SU_WANT(l.corner, t->n)));
    for (int64_t k = 0; k < t->count; k++)
        if (t->met[k].weight > 0) l.key[t->met[k].key] = 1;
    for (int64_t key = 0; key < t->D * t->D; key++)
        if (l.key[key]) l.key[out->s++] = key; /* none stands behind its own place */
    out->d = t->D, out->c = SU_CONTACT_PROBES, out->c3 = 3 * SU_CONTACT_PROBES;
    SU_GO(write_sets(t, &l, out, err));
    SU_GO(SU_FILE_ALLOC_ALL(&out->file, err, SU_WANT(out->probe, out->d * out->c),
                            SU_WANT(out->domain_pair, 2 * out->s), SU_WANT(out->pose_mean, out->s * out->c3),
                            SU_WANT(out->pose_axes, out->s * SU_PAIR_COORDINATES * out->c3),
                            SU_WANT(out->reach, out->s)));
    for (int64_t k = 0; k < out->d * out->c; k++) out->probe[k] = l.local[t->probe[k]] - 1;
    for (int64_t s = 0; s < out->s; s++) {
        out->domain_pair[2 * s] = (int32_t)(l.key[s] / t->D), out->domain_pair[2 * s + 1] = (int32_t)(l.key[s] % t->D);
        SU_GO(find_axes(t, s, out, err));
    }
done:
    free(l.key), free(l.local), free(l.global), free(l.triangle), free(l.tet), free(l.mark), free(l.corner);
    return status;
}
