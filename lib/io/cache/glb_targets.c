#include "io/cache/glb_targets.h"

#include "core/memory.h"
#include "geometry/affine.h"
#include "geometry/polygon.h"
#include "linalg/principal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Offsets below this part of the skin's size are rounding of 32-bit positions. */
#define ROUNDING 2e-7
/* No error is asked for below this part of the skin's size. */
#define FINEST 1e-6
/* Principal shapes are counted in the bind pose, their error is measured in the world: times that the bound of the
 * first is tightened for the second. */
enum { TRIES = 6 };

static double size_of(const su_cache_skin *s)
{
    double square = 0.0;
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t v = 0; v < s->vertices; v++)
            low = fmin(low, s->neutral[3 * v + i]), high = fmax(high, s->neutral[3 * v + i]);
        square += (high - low) * (high - low);
    }
    return sqrt(square);
}

static void apply(const double m[12], const double p[3], double out[3])
{
    for (int i = 0; i < 3; i++) out[i] = su_dot3(m + 4 * i, p) + m[4 * i + 3];
}

static void apply_linear(const double m[12], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++) out[i] = su_dot3(m + 4 * i, v);
}

/* The neutral pose as the file holds it. */
static void neutral_of(const su_cache_skin *s, int64_t vertex, double p[3])
{
    for (int i = 0; i < 3; i++) p[i] = (double)(float)s->neutral[3 * s->skin_vertex[vertex] + i];
}

void su_glb_unskin(const su_cache_layout *layout, const su_glb_skin *skin, int64_t frame, const float *points,
                   float *offset, double *left)
{
    const su_cache_skin *s = skin->source;
    double least = ROUNDING * size_of(s);
    for (int64_t v = 0; v < layout->vertices; v++) {
        double m[12], p[3], x[3], there[3], move[3], d[3];
        for (int i = 0; i < 3; i++) x[i] = (double)points[3 * v + i];
        if (layout->root) su_affine_point(layout->root + 16 * frame, x, x);
        su_glb_skin_matrix(skin, s->skin_vertex[v], m);
        neutral_of(s, v, p);
        apply(m, p, there);
        su_sub3(x, there, move);
        double length = su_norm3(move);
        su_glb_skin_solve(m, move, d);
        for (int i = 0; i < 3; i++) offset[3 * v + i] = length > least ? (float)d[i] : 0.0f;
        if (!(length > least)) continue;
        apply_linear(m, d, there);
        su_sub3(move, there, d);
        *left += su_dot3(d, d);
    }
}

/* ---- what all steps share ---- */

typedef struct fit {
    const su_cache_layout *layout;
    su_glb_skin *skin;
    const float *values;
    const su_principal *p;
    su_glb_targets *out;
    float *low, *range;         /* (shapes) of the principal weights */
    float *points, *normals;    /* (vertices,3) of a frame */
    double *sum;                /* (vertices,3) scratch of normals */
    float *constant, *gradient; /* (vertices,3), (shapes,vertices,3): normals against the principal weights */
    su_error *err;
} fit;

/* Principal weights run from low to low + range; with them positions are mean + low . shapes + weights . (range .
 * shapes). */
static void fold(fit *f)
{
    const su_principal *p = f->p;
    su_glb_targets *out = f->out;
    int64_t frames = f->layout->frames, columns = 3 * f->layout->vertices, first = out->count - p->count;
    for (int64_t k = 0; k < p->count; k++) {
        float low = INFINITY, high = -INFINITY;
        for (int64_t t = 0; t < frames; t++)
            low = fminf(low, p->weights[t * p->count + k]), high = fmaxf(high, p->weights[t * p->count + k]);
        f->low[k] = low, f->range[k] = high > low ? high - low : 1.0f;
    }
    for (int64_t t = 0; t < frames; t++) {
        float *weights = out->weights + t * out->count;
        for (int64_t k = 0; k < first; k++) weights[k] = 1.0f;
        for (int64_t k = 0; k < p->count; k++)
            weights[first + k] = fminf(1.0f, fmaxf(0.0f, (p->weights[t * p->count + k] - f->low[k]) / f->range[k]));
    }
    float *still = first ? out->target : out->base;
    for (int64_t c = 0; c < columns; c++) {
        double sum = (double)p->mean[c];
        for (int64_t k = 0; k < p->count; k++) sum += (double)f->low[k] * (double)p->shapes[k * columns + c];
        still[c] = (float)sum;
    }
    for (int64_t k = 0; k < p->count; k++)
        for (int64_t c = 0; c < columns; c++)
            out->target[(first + k) * columns + c] = f->range[k] * p->shapes[k * columns + c];
}

/* Root mean square and largest error of what the file says. */
static void measure(fit *f, double left)
{
    su_glb_targets *out = f->out;
    int64_t vertices = f->layout->vertices, frames = f->layout->frames;
    double sum = left, largest = 0.0, motion = 0.0;
    for (int64_t t = 0; t < frames; t++) {
        const float *weights = out->weights + t * out->count, *values = f->values + 3 * vertices * t;
        if (f->skin) su_glb_skin_pose(f->skin, t);
        for (int64_t v = 0; v < vertices; v++) {
            double error[3], move[3], turned[3], m[12];
            for (int i = 0; i < 3; i++) {
                double held = f->skin ? 0.0 : (double)out->base[3 * v + i];
                for (int64_t k = 0; k < out->count; k++)
                    held += (double)weights[k] * (double)out->target[3 * (k * vertices + v) + i];
                move[i] = (double)values[3 * v + i] - (f->skin ? 0.0 : (double)f->p->mean[3 * v + i]);
                error[i] = (double)values[3 * v + i] - held;
            }
            if (f->skin) {
                su_glb_skin_matrix(f->skin, f->skin->source->skin_vertex[v], m);
                apply_linear(m, error, turned), memcpy(error, turned, sizeof error);
                apply_linear(m, move, turned), memcpy(move, turned, sizeof move);
            }
            sum += su_dot3(error, error), motion += su_dot3(move, move);
            largest = fmax(largest, su_norm3(error));
        }
    }
    double points = (double)(frames * vertices);
    out->rms = sqrt(sum / points), out->largest = largest, out->motion = sqrt(motion / points);
}

/* ---- normals ---- */

static void joined_normals(fit *f)
{
    const su_cache_layout *l = f->layout;
    const su_polygons polygons = {l->faces, l->face_counts, l->face_indices};
    su_polygons_normals(l->vertices, l->joined, &polygons, f->points, f->sum, f->normals);
}

/* Points of a frame as they are in the world, their normals, and these back in the bind pose, minus those there. */
static void frame_normals(fit *f, int64_t frame)
{
    int64_t vertices = f->layout->vertices;
    const float *values = f->values + 3 * vertices * frame;
    double m[12], p[3], x[3];
    if (f->skin) su_glb_skin_pose(f->skin, frame);
    for (int64_t v = 0; v < vertices; v++) {
        for (int i = 0; i < 3; i++) x[i] = (double)values[3 * v + i];
        if (f->skin) {
            neutral_of(f->skin->source, v, p);
            for (int i = 0; i < 3; i++) p[i] += x[i];
            su_glb_skin_matrix(f->skin, f->skin->source->skin_vertex[v], m);
            apply(m, p, x);
        }
        for (int i = 0; i < 3; i++) f->points[3 * v + i] = (float)x[i];
    }
    joined_normals(f);
    for (int64_t v = 0; v < vertices && f->skin; v++) {
        float *n = f->normals + 3 * v;
        for (int i = 0; i < 3; i++) p[i] = (double)n[i];
        su_glb_skin_matrix(f->skin, f->skin->source->skin_vertex[v], m);
        su_glb_skin_solve(m, p, x); /* readers turn normals by the blended matrix itself */
        double length = su_norm3(x);
        for (int i = 0; i < 3; i++)
            n[i] = (float)(length > 0.0 ? x[i] / length - (double)f->out->base_normal[3 * v + i] : 0.0);
    }
}

/* Least squares on the constant 1 and the principal weights, which are orthogonal to it and to each other. */
static void regress(fit *f)
{
    const su_principal *p = f->p;
    int64_t columns = 3 * f->layout->vertices, frames = f->layout->frames;
    for (int64_t t = 0; t < frames; t++) {
        frame_normals(f, t);
        for (int64_t c = 0; c < columns; c++) f->constant[c] += f->normals[c] / (float)frames;
        for (int64_t k = 0; k < p->count; k++) {
            double square = 0.0;
            for (int64_t i = 0; i < frames; i++)
                square += (double)p->weights[i * p->count + k] * (double)p->weights[i * p->count + k];
            float factor = (float)((double)p->weights[t * p->count + k] / square), *to = f->gradient + k * columns;
            for (int64_t c = 0; c < columns; c++) to[c] += factor * f->normals[c];
        }
    }
}

/* Normals of base and targets from the regression. Without a skin the base's must be made a unit: all of a vertex are
 * scaled alike, which turns no normal. */
static void set_normals(fit *f)
{
    su_glb_targets *out = f->out;
    int64_t vertices = f->layout->vertices, shapes = f->p->count, first = out->count - shapes;
    for (int64_t v = 0; v < vertices; v++) {
        double still[3], scale = 1.0;
        for (int i = 0; i < 3; i++) {
            still[i] = (double)f->constant[3 * v + i];
            for (int64_t k = 0; k < shapes; k++)
                still[i] += (double)f->low[k] * (double)f->gradient[3 * (k * vertices + v) + i];
        }
        double length = su_norm3(still);
        if (!first && length > 1e-3) scale = 1.0 / length; /* else it points nowhere, and y is as good */
        float *to = (first ? out->target_normal : out->base_normal) + 3 * v;
        for (int i = 0; i < 3; i++) to[i] = (float)(!first && !(length > 1e-3) ? i == 1 : scale * still[i]);
        for (int64_t k = 0; k < shapes; k++)
            for (int i = 0; i < 3; i++)
                out->target_normal[3 * ((first + k) * vertices + v) + i] =
                    (float)(scale * (double)f->range[k] * (double)f->gradient[3 * (k * vertices + v) + i]);
    }
}

/* ---- all ---- */

static su_status fit_positions(fit *f, su_principal *p, double bound, su_error *err)
{
    const su_cache_layout *l = f->layout;
    su_glb_targets *out = f->out;
    int64_t columns = 3 * l->vertices;
    su_principal_free(p);
    free(out->target), free(out->weights), free(f->low), free(f->range);
    out->target = out->weights = f->low = f->range = NULL;
    SU_TRY(su_principal_shapes(l->frames, columns, f->values, l->morphs, bound, p, err));
    bool still = p->count > 0; /* with a skin: is there anything at all? */
    for (int64_t c = 0; c < columns && !still; c++) still = p->mean[c] != 0.0f;
    out->shapes = p->count, out->count = p->count + (f->skin && still);
    SU_TRY(SU_ALLOC(&out->target, out->count * columns, "morph targets", err));
    SU_TRY(SU_ALLOC(&out->weights, l->frames * out->count, "morph targets", err));
    SU_TRY(SU_ALLOC(&f->low, p->count, "morph targets", err));
    SU_TRY(SU_ALLOC(&f->range, p->count, "morph targets", err));
    if (out->count || !f->skin) fold(f);
    return SU_OK;
}

su_status su_glb_targets_fit(const su_cache_layout *l, su_glb_skin *skin, const float *values, double motion,
                             double left, su_glb_targets *out, su_error *err)
{
    su_principal principal = {0};
    fit f = {.layout = l, .skin = skin, .values = values, .p = &principal, .out = out, .err = err};
    int64_t columns = 3 * l->vertices;
    su_status status;
    *out = (su_glb_targets){0};
    SU_GO(SU_ALLOC(&out->base, columns, "morph targets", err));
    SU_GO(SU_ALLOC(&out->base_normal, columns, "morph targets", err));
    SU_GO(SU_ALLOC(&f.points, columns, "normals", err));
    SU_GO(SU_ALLOC(&f.normals, columns, "normals", err));
    SU_GO(SU_ALLOC(&f.sum, columns, "normals", err));
    for (int64_t v = 0; v < l->vertices && skin; v++)
        for (int i = 0; i < 3; i++)
            f.points[3 * v + i] = out->base[3 * v + i] =
                (float)skin->source->neutral[3 * skin->source->skin_vertex[v] + i];
    if (skin) {
        joined_normals(&f);
        memcpy(out->base_normal, f.normals, (size_t)columns * sizeof *f.normals);
    }
    double bound = 0.0, inner;
    if (l->morph_error > 0.0) {
        if (!(motion > 0.0)) { /* no shapes at all leave the whole motion */
            su_glb_targets none = *out;
            SU_GO(su_principal_shapes(l->frames, columns, values, 0, 0.0, &principal, err));
            none.count = 0;
            f.out = &none;
            measure(&f, 0.0);
            f.out = out, motion = none.motion;
        }
        bound = fmax(l->morph_error * motion, skin ? FINEST * size_of(skin->source) : 0.0);
    }
    inner = out->bound = bound;
    for (int i = 0; i < TRIES; i++) {
        SU_GO(fit_positions(&f, &principal, inner, err));
        measure(&f, left);
        if (!(bound > 0.0) || out->rms <= bound || out->shapes == l->morphs || out->shapes == l->frames) break;
        inner *= 0.95 * bound / out->rms;
    }
    SU_GO(SU_ALLOC(&out->target_normal, out->count * columns, "normals", err));
    SU_GO(SU_ALLOC(&f.constant, columns, "normals", err));
    SU_GO(SU_ALLOC(&f.gradient, principal.count * columns, "normals", err));
    if (out->count || !skin) {
        regress(&f);
        set_normals(&f);
    }
done:
    su_principal_free(&principal);
    free(f.low), free(f.range), free(f.points), free(f.normals), free(f.sum), free(f.constant), free(f.gradient);
    if (status != SU_OK) su_glb_targets_free(out);
    return status;
}

void su_glb_targets_free(su_glb_targets *t)
{
    free(t->base), free(t->base_normal), free(t->target), free(t->target_normal), free(t->weights);
    *t = (su_glb_targets){0};
}
