#include "geometry/polygon.h"

#include "core/memory.h"
#include "geometry/mat3.h"

#include <stdlib.h>
#include <string.h>

static void area_vector(const double *points, int32_t a, int32_t b, int32_t c, double out[3])
{
    double u[3], v[3];
    su_sub3(points + 3 * (int64_t)b, points + 3 * (int64_t)a, u);
    su_sub3(points + 3 * (int64_t)c, points + 3 * (int64_t)a, v);
    su_cross3(u, v, out);
}

/* Signed area of the corner seen against the polygon's normal. */
static double corner_area(const double *points, const int32_t *ring, int count, int i, const double normal[3])
{
    double n[3];
    area_vector(points, ring[(i + count - 1) % count], ring[i], ring[(i + 1) % count], n);
    return su_dot3(n, normal);
}

/* Does any other vertex lie inside the triangle at corner i? */
static int ear_is_free(const double *points, const int32_t *ring, int count, int i, const double normal[3])
{
    int32_t a = ring[(i + count - 1) % count], b = ring[i], c = ring[(i + 1) % count];
    for (int k = 0; k < count; k++) {
        int32_t p = ring[k];
        if (p == a || p == b || p == c) continue;
        double n[3];
        area_vector(points, a, b, p, n);
        if (su_dot3(n, normal) < 0.0) continue;
        area_vector(points, b, c, p, n);
        if (su_dot3(n, normal) < 0.0) continue;
        area_vector(points, c, a, p, n);
        if (su_dot3(n, normal) < 0.0) continue;
        return 0;
    }
    return 1;
}

/* The corner to cut off next: free ears first, the one with the shortest cut among them (fewer slivers); else the
 * largest corner, so that broken polygons come to an end too. */
static int choose_ear(const double *points, const int32_t *ring, int count, const double normal[3])
{
    int best = -1, largest = 0;
    double shortest = 0.0, largest_area = 0.0;
    for (int i = 0; i < count; i++) {
        double area = corner_area(points, ring, count, i, normal);
        if (i == 0 || area > largest_area) largest = i, largest_area = area;
        if (!(area > 0.0) || !ear_is_free(points, ring, count, i, normal)) continue;
        double cut = su_distance3(points + 3 * (int64_t)ring[(i + count - 1) % count],
                                  points + 3 * (int64_t)ring[(i + 1) % count]);
        if (best < 0 || cut < shortest * (1.0 - 1e-9)) best = i, shortest = cut;
    }
    return best >= 0 ? best : largest;
}

su_status su_polygons_triangulate(const su_polygons *polygons, const int32_t *remap, const double *points,
                                  int32_t *triangles, int64_t *count, int64_t *dropped, su_error *err)
{
    const int32_t *face_counts = polygons->face_counts, *face_indices = polygons->face_indices;
    int32_t most = 3, *ring = NULL;
    for (int64_t f = 0; f < polygons->count; f++) most = face_counts[f] > most ? face_counts[f] : most;
    SU_TRY(SU_ALLOC(&ring, most, "polygon corners", err));
    int64_t made = 0, left_out = 0;
    for (int64_t f = 0; f < polygons->count; face_indices += face_counts[f++]) {
        int left = face_counts[f];
        double normal[3] = {0, 0, 0};
        for (int i = 0; i < left; i++) ring[i] = remap ? remap[face_indices[i]] : face_indices[i];
        for (int i = 1; i + 1 < left; i++) { /* twice the area vector, whichever way the polygon is cut */
            double n[3];
            area_vector(points, ring[0], ring[i], ring[i + 1], n);
            for (int k = 0; k < 3; k++) normal[k] += n[k];
        }
        while (left >= 3) {
            int ear = left == 3 ? 1 : choose_ear(points, ring, left, normal);
            int32_t a = ring[(ear + left - 1) % left], b = ring[ear], c = ring[(ear + 1) % left];
            double n[3];
            area_vector(points, a, b, c, n);
            if (a == b || b == c || c == a || !(su_dot3(n, n) > 0.0)) {
                left_out++;
            } else {
                triangles[3 * made] = a, triangles[3 * made + 1] = b, triangles[3 * made + 2] = c;
                made++;
            }
            for (int i = ear; i + 1 < left; i++) ring[i] = ring[i + 1];
            left--;
        }
    }
    free(ring);
    *count = made;
    if (dropped) *dropped = left_out;
    return SU_OK;
}

su_status su_polygons_merge_uv(int64_t vertices, int64_t corners, const int32_t *face_indices, int64_t *uvs, float *uv,
                               int32_t *uv_indices, su_error *err)
{
    int32_t *first = NULL, *next = NULL, *number = NULL; /* chains of the corners of a vertex that differ */
    int64_t kept = 0;
    su_status status;
    SU_GO(SU_ALLOC(&first, vertices, "texture coordinates", err));
    SU_GO(SU_ALLOC(&next, corners, "texture coordinates", err));
    SU_GO(SU_ALLOC(&number, *uvs, "texture coordinates", err));
    for (int64_t v = 0; v < vertices; v++) first[v] = -1;
    for (int64_t i = 0; i < *uvs; i++) number[i] = -1;
    for (int64_t k = 0; k < corners; k++) {
        const float *own = uv + 2 * (int64_t)uv_indices[k];
        int32_t at = first[face_indices[k]];
        for (; at >= 0; at = next[at]) {
            const float *other = uv + 2 * (int64_t)uv_indices[at];
            if (own[0] == other[0] && own[1] == other[1]) break;
        }
        if (at < 0)
            next[k] = first[face_indices[k]], first[face_indices[k]] = (int32_t)k;
        else
            uv_indices[k] = uv_indices[at];
        number[uv_indices[k]] = 0;
    }
    for (int64_t i = 0; i < *uvs; i++) {
        if (number[i] < 0) continue;
        memmove(uv + 2 * kept, uv + 2 * i, 2 * sizeof *uv);
        number[i] = (int32_t)kept++;
    }
    for (int64_t k = 0; k < corners; k++) uv_indices[k] = number[uv_indices[k]];
    *uvs = kept;
done:
    free(first), free(next), free(number);
    return status;
}

void su_polygons_normals(int64_t vertices, const int32_t *joined, const su_polygons *polygons, const float *positions,
                         double *sum, float *normals)
{
    const int32_t *face_counts = polygons->face_counts;
    for (int64_t v = 0; v < vertices; v++) memset(sum + 3 * (joined ? joined[v] : v), 0, 3 * sizeof *sum);
    for (int64_t f = 0, at = 0; f < polygons->count; at += face_counts[f], f++) {
        const int32_t *face = polygons->face_indices + at;
        double normal[3] = {0, 0, 0}; /* twice the polygon's area vector: fans from its first corner */
        for (int32_t k = 2; k < face_counts[f]; k++) {
            double a[3], b[3], n[3];
            for (int i = 0; i < 3; i++) {
                a[i] = (double)positions[3 * (int64_t)face[k - 1] + i] - (double)positions[3 * (int64_t)face[0] + i];
                b[i] = (double)positions[3 * (int64_t)face[k] + i] - (double)positions[3 * (int64_t)face[0] + i];
            }
            su_cross3(a, b, n);
            for (int i = 0; i < 3; i++) normal[i] += n[i];
        }
        for (int32_t k = 0; k < face_counts[f]; k++) {
            double *to = sum + 3 * (int64_t)(joined ? joined[face[k]] : face[k]);
            for (int i = 0; i < 3; i++) to[i] += normal[i];
        }
    }
    for (int64_t v = 0; v < vertices; v++) {
        const double *n = sum + 3 * (joined ? joined[v] : v);
        double length = su_norm3(n);
        for (int i = 0; i < 3; i++) normals[3 * v + i] = (float)(length > 0.0 ? n[i] / length : i == 1);
    }
}

void su_polygons_turn_round(int64_t polygons, const int32_t *face_counts, int32_t *corners)
{
    for (int64_t f = 0; f < polygons; corners += face_counts[f], f++)
        for (int32_t k = 0; k < face_counts[f] / 2; k++) {
            int32_t swap = corners[k];
            corners[k] = corners[face_counts[f] - 1 - k];
            corners[face_counts[f] - 1 - k] = swap;
        }
}
