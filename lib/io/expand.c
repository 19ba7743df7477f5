#include "io/expand.h"

#include "geometry/affine.h"

#include <string.h>

/* Turns y up into the wanted axis: z up about x, x up about z (import turns the other way). */
static void turn_up(char up, double r[9])
{
    static const double y[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, z[9] = {1, 0, 0, 0, 0, -1, 0, 1, 0},
                        x[9] = {0, 1, 0, -1, 0, 0, 0, 0, 1};
    memcpy(r, up == 'z' ? z : up == 'x' ? x : y, sizeof y);
}

static const double *object_at(const su_anim *anim, int64_t object, int64_t frame)
{
    return anim->object_frames ? anim->object_frames + 16 * (anim->objects * frame + object)
                               : anim->object_xform + 16 * object;
}

static su_status place_objects(su_expand *e, su_error *err)
{
    const su_anim *anim = e->anim;
    if (!anim->object_xform || !anim->object_ids)
        return su_fail(err, SU_INPUT, "the animation does not hold its objects' transforms: object space is not known");
    int64_t frames = anim->object_frames ? anim->F : 1, count = frames * anim->objects;
    double *xform = su_arena_alloc(&e->arena, 16 * count, sizeof *xform), unused[16];
    if (!xform) return su_fail(err, SU_AGAIN, "out of memory");
    for (int64_t v = 0; v < anim->N; v++)
        if (anim->object_ids[v] < 0 || anim->object_ids[v] >= anim->objects)
            return su_fail(err, SU_INPUT, "source vertex %lld belongs to object %d of %lld", (long long)v,
                           anim->object_ids[v], (long long)anim->objects);
    for (int64_t i = 0; i < count; i++) {
        const double *x = object_at(anim, i % anim->objects, i / anim->objects);
        if (su_affine_inverse(x, unused) == 0.0)
            return su_fail(err, SU_INPUT, "object %lld is flattened by its transform: it has no space of its own",
                           (long long)(i % anim->objects));
        su_affine_multiply(e->convert, x, xform + 16 * i);
    }
    if (anim->object_frames) e->object_frames = xform;
    e->object_xform = xform;
    return SU_OK;
}

su_status su_expand_create(const su_anim *anim, su_space space, double unit, char up, su_expand *e, su_error *err)
{
    static const double origin[3] = {0, 0, 0};
    double linear[9];
    *e = (su_expand){.anim = anim, .space = space};
    turn_up(up, linear);
    for (int i = 0; i < 9; i++) linear[i] /= unit;
    su_affine_set(linear, origin, e->convert);
    if (space != SU_SPACE_OBJECT) return SU_OK;
    su_status status = place_objects(e, err);
    if (status != SU_OK) su_expand_free(e);
    return status;
}

void su_expand_free(su_expand *e)
{
    su_arena_free(&e->arena);
    *e = (su_expand){0};
}

void su_expand_frame(const su_expand *e, int64_t frame, const double *points, bool vectors, float *out)
{
    const su_anim *anim = e->anim;
    double all[16], one[16];
    const double *root = anim->root + 16 * frame, *m = all;
    if (e->space == SU_SPACE_ROOT)
        memcpy(all, e->convert, sizeof all);
    else
        su_affine_multiply(e->convert, root, all);
    int32_t object = -1;
    for (int64_t v = 0; v < anim->N; v++) {
        if (e->space == SU_SPACE_OBJECT && anim->object_ids[v] != object) { /* objects stand together in most files */
            object = anim->object_ids[v];
            su_affine_inverse(object_at(anim, object, frame), one);
            su_affine_multiply(one, root, one);
            m = one;
        }
        const double *p = points + 3 * (int64_t)anim->source_vertex[v];
        for (int i = 0; i < 3; i++)
            out[3 * v + i] =
                (float)(m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + (vectors ? 0.0 : m[4 * i + 3]));
    }
}

void su_expand_points(const su_expand *e, int64_t frame, int64_t count, const double *points, float *out)
{
    double m[16];
    if (e->space == SU_SPACE_ROOT)
        memcpy(m, e->convert, sizeof m);
    else
        su_affine_multiply(e->convert, e->anim->root + 16 * frame, m);
    for (int64_t v = 0; v < count; v++) {
        double p[3];
        su_affine_point(m, points + 3 * v, p);
        for (int i = 0; i < 3; i++) out[3 * v + i] = (float)p[i];
    }
}

void su_expand_back(const su_expand *e, const double *point, double *out)
{
    double m[16];
    if (su_affine_inverse(e->convert, m) != 0.0) su_affine_point(m, point, out);
}
