#include "contact/contact_patch.h"

#include "geometry/mat3.h"
#include "geometry/tetmesh.h"

#include <stdlib.h>
#include <string.h>

enum { WALK = 32 }; /* tets on the way to a vertex: where some are inside out it may go in circles */

void su_contact_patch_free(su_contact_patch *patch)
{
    su_contact_body_free(&patch->body);
    su_arena_free(&patch->arena);
    memset(patch, 0, sizeof *patch);
}

static bool shares_edge(const int32_t *t, int32_t a, int32_t b)
{
    bool has_a = t[0] == a || t[1] == a || t[2] == a, has_b = t[0] == b || t[1] == b || t[2] == b;
    return has_a && has_b;
}

/* rim (n): scratch, 0 */
static void find_rim(su_contact_patch *patch, uint8_t *rim)
{
    const su_contact_body *body = &patch->body;
    for (int64_t t = 0; t < body->b; t++)
        for (int i = 0; i < 3; i++) {
            int32_t p = body->surface[3 * t + (i + 1) % 3], q = body->surface[3 * t + (i + 2) % 3];
            bool shared = false;
            for (int64_t j = body->beside_start[t]; j < body->beside_start[t + 1]; j++)
                shared = shared || shares_edge(body->surface + 3 * (int64_t)body->beside[j], p, q);
            if (!shared) patch->open[t] |= (uint8_t)(1 << i), rim[p] = rim[q] = 1;
        }
    for (int64_t t = 0; t < 3 * body->b; t++)
        if (rim[body->surface[t]]) patch->open[t / 3] |= (uint8_t)(1 << (3 + t % 3));
}

su_status su_contact_patch_create(const su_contact_piece *piece, su_contact_patch *out, su_error *err)
{
    su_contact_patch patch = {0};
    uint8_t *rim = NULL;
    su_status status;
    SU_GO(su_contact_body_of_patch(piece->n, piece->b, piece->surface, piece->related_start, piece->related,
                                   &patch.body, err));
    patch.body.t = piece->t, patch.body.tets = piece->tets, patch.body.neutral = piece->neutral;
    SU_GO(SU_TAKE_ALL(&patch.arena, "contact", err, SU_WANT(patch.neighbour, 4 * piece->t),
                      SU_WANT(patch.body.nearest, piece->t), SU_WANT(patch.open, piece->b)));
    for (int64_t e = 0; e < piece->t; e++) patch.body.nearest[e] = piece->nearest[e] - piece->first;
    SU_GO(SU_ALLOC(&rim, piece->n, "contact", err));
    SU_GO(su_tet_neighbours(piece->t, piece->tets, patch.neighbour, err));
    find_rim(&patch, rim);
    *out = patch;
    memset(&patch, 0, sizeof patch);
done:
    free(rim);
    su_contact_patch_free(&patch);
    return status;
}

/* ---- which tet holds a vertex ---- */

/* Barycentrics of p in a tet, times six of its volumes, which are returned. */
static double coordinates(const double *y, const int32_t *tet, const double p[3], double bary[4])
{
    double a[3], b[3], c[3], d[3], ab[3], cd[3];
    su_sub3(y + 3 * (int64_t)tet[0], p, a), su_sub3(y + 3 * (int64_t)tet[1], p, b);
    su_sub3(y + 3 * (int64_t)tet[2], p, c), su_sub3(y + 3 * (int64_t)tet[3], p, d);
    su_cross3(a, b, ab), su_cross3(c, d, cd);
    bary[0] = su_dot3(cd, b), bary[1] = -su_dot3(cd, a), bary[2] = su_dot3(ab, d), bary[3] = -su_dot3(ab, c);
    return bary[0] + bary[1] + bary[2] + bary[3];
}

/* From a tet towards the vertex, through the face that it is farthest beyond of those that lead to another one, and not
 * back. Tets that are inside out or related to the vertex hold nothing, as in su_contact_find. */
static bool walk(const su_contact_patch *patch, const double *y, int32_t vertex, int32_t *at, double bary[4])
{
    int32_t before = -1;
    for (int step = 0; step < WALK; step++) {
        const int32_t *tet = patch->body.tets + 4 * (int64_t)*at, *next = patch->neighbour + 4 * (int64_t)*at;
        double volume = coordinates(y, tet, y + 3 * (int64_t)vertex, bary);
        bool inside = volume > 0;
        int way = -1;
        for (int i = 0; i < 4; i++) {
            bary[i] /= volume;
            inside = inside && bary[i] >= -SU_CONTACT_SEAM;
            if (bary[i] < 0 && next[i] >= 0 && next[i] != before && (way < 0 || bary[i] < bary[way])) way = i;
        }
        if (inside && !su_contact_related(&patch->body, vertex, tet, 4)) return true;
        if (way < 0) return false;
        before = *at, *at = next[way];
    }
    return false;
}

/* ---- its way out ---- */

static bool at_rim(const su_contact_patch *patch, const su_contact_pair *pair)
{
    bool zero[3] = {!(pair->bary[0] > 0), !(pair->bary[1] > 0), !(pair->bary[2] > 0)};
    int zeros = zero[0] + zero[1] + zero[2], open = patch->open[pair->triangle];
    for (int i = 0; i < 3; i++)
        if (zeros == 1 ? zero[i] && open >> i & 1 : zeros == 2 && !zero[i] && open >> (3 + i) & 1) return true;
    return false;
}

/* From where the way of a pair that presses ended last, whatever tet its vertex has gone to; from the neutral shape
 * else. */
static bool find_way(const su_contact_patch *patch, const double *y, int32_t tet, const double bary[4],
                     su_contact_pair *pair)
{
    if (pair->depth > 0) {
        su_contact_follow(&patch->body, y, 1, pair);
        if (pair->depth > 0 && !su_contact_far_beside(pair)) return true;
    }
    pair->tet = tet, pair->triangle = patch->body.nearest[tet];
    return su_contact_way(&patch->body, y, bary, pair);
}

bool su_contact_patch_look(const su_contact_patch *patch, const double *y, su_contact_pair *pair)
{
    double bary[4];
    int32_t tet = pair->tet;
    bool inside = walk(patch, y, pair->vertex, &tet, bary);
    if (!inside || !find_way(patch, y, tet, bary, pair) || at_rim(patch, pair)) pair->depth = 0;
    pair->tet = tet;
    return inside;
}
