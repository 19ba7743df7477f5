#include "geometry/bind.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"

#include <stdlib.h>
#include <string.h>

/* Area-weighted vertex normals, not normalized. */
static void vertex_normals(su_bind *b, const double *x)
{
    memset(b->normals, 0, (size_t)b->vertices * 3 * sizeof *b->normals);
    for (int64_t t = 0; t < b->triangle_count; t++) {
        const int32_t *v = b->triangles + 3 * t;
        double e[3], f[3], n[3];
        su_sub3(x + 3 * (int64_t)v[1], x + 3 * (int64_t)v[0], e);
        su_sub3(x + 3 * (int64_t)v[2], x + 3 * (int64_t)v[0], f);
        su_cross3(e, f, n);
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < 3; i++) b->normals[3 * (int64_t)v[c] + i] += n[i];
    }
}

static double normalize(double v[3])
{
    double length = su_norm3(v);
    for (int i = 0; i < 3 && length > 0.0; i++) v[i] /= length;
    return length;
}

/* Foot of a point on its triangle, and the frame there (rows: tangent, normal x tangent, normal). */
static void frame_of(const su_bind *b, const double *x, int64_t point, double foot[3], double frame[9])
{
    const int32_t *v = b->triangles + 3 * (int64_t)b->triangle[point];
    const double *w = b->bary + 3 * point;
    double n[3] = {0, 0, 0}, e[3], f[3], flat[3];
    for (int i = 0; i < 3; i++) {
        foot[i] = 0.0;
        for (int c = 0; c < 3; c++) {
            foot[i] += w[c] * x[3 * (int64_t)v[c] + i];
            n[i] += w[c] * b->normals[3 * (int64_t)v[c] + i];
        }
    }
    su_sub3(x + 3 * (int64_t)v[1], x + 3 * (int64_t)v[0], e);
    su_sub3(x + 3 * (int64_t)v[2], x + 3 * (int64_t)v[0], f);
    su_cross3(e, f, flat);
    if (normalize(n) == 0.0) memcpy(n, flat, sizeof flat), normalize(n); /* normals that cancel: the triangle's own */
    double along = su_dot3(e, n);
    for (int i = 0; i < 3; i++) e[i] -= along * n[i];
    if (normalize(e) == 0.0) { /* no triangle any more: any frame will do, as long as it is one */
        e[0] = n[0] * n[0] < 0.5, e[1] = 1.0 - e[0], e[2] = 0.0;
        along = su_dot3(e, n);
        for (int i = 0; i < 3; i++) e[i] -= along * n[i];
        normalize(e);
    }
    memcpy(frame, e, sizeof e);
    su_cross3(n, e, frame + 3);
    memcpy(frame + 6, n, sizeof n);
}

su_status su_bind_create(int64_t count, const double *points, int64_t vertices, const double *x, int64_t triangle_count,
                         const int32_t *triangles, su_bind *b, su_error *err)
{
    *b = (su_bind){.count = count, .vertices = vertices, .triangle_count = triangle_count, .triangles = triangles};
    su_boxtree tree = {0};
    su_status status;
    if (triangle_count < 1) return su_fail(err, SU_INPUT, "the skin has no triangles to bind to");
    SU_GO(SU_ALLOC(&b->triangle, count, "bound points", err));
    SU_GO(SU_ALLOC(&b->bary, 3 * count, "bound points", err));
    SU_GO(SU_ALLOC(&b->offset, 3 * count, "bound points", err));
    SU_GO(SU_ALLOC(&b->normals, 3 * vertices, "bound points", err));
    SU_GO(su_boxtree_of_triangles(x, triangle_count, triangles, &tree, err));
    vertex_normals(b, x);
    for (int64_t k = 0; k < count; k++) {
        double foot[3], frame[9], d[3];
        double distance =
            su_closest_point(&tree, x, triangles, points + 3 * k, INFINITY, &b->triangle[k], b->bary + 3 * k);
        if (distance > b->farthest) b->farthest = distance;
        frame_of(b, x, k, foot, frame);
        su_sub3(points + 3 * k, foot, d);
        su_mulv3(frame, d, b->offset + 3 * k);
    }
done:
    su_boxtree_free(&tree);
    if (status != SU_OK) su_bind_free(b);
    return status;
}

void su_bind_apply(su_bind *b, const double *x, double *out)
{
    vertex_normals(b, x);
    for (int64_t k = 0; k < b->count; k++) {
        double foot[3], frame[9], d[3];
        frame_of(b, x, k, foot, frame);
        su_tmulv3(frame, b->offset + 3 * k, d);
        for (int i = 0; i < 3; i++) out[3 * k + i] = foot[i] + d[i];
    }
}

void su_bind_free(su_bind *b)
{
    free(b->triangle), free(b->bary), free(b->offset), free(b->normals);
    *b = (su_bind){0};
}
