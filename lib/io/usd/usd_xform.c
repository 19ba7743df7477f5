#include "io/usd/usd_xform.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void su_usd_matrix(const double rows[16], double m[16])
{
    for (int i = 0; i < 16; i++) m[4 * (i % 4) + i / 4] = rows[i];
}

int64_t su_usd_xform_codes(const su_usd_layer *layer, int64_t prim, double *code)
{
    int64_t count = 0;
    for (int64_t k = layer->prim[prim].attribute; k >= 0; k = layer->attribute[k].next) {
        const su_usd_attribute *a = &layer->attribute[k];
        if (a->samples < 2 || a->name.size <= 8 || memcmp(a->name.at, "xformOp:", 8) != 0) continue;
        for (int64_t i = 0; i < a->samples; i++, count++)
            if (code) code[count] = a->sample[i].time;
    }
    return count;
}

/* Numbers of an attribute at a time code: `count` of them, linear between samples. False: it has others or none. */
static bool numbers_at(const su_usd_attribute *a, double code, int64_t count, double *out)
{
    double next[16];
    int64_t low = 0;
    if (!a || count > 16) return false;
    if (a->samples == 0) return su_usd_numbers(a->value, count, out) == count;
    while (low + 1 < a->samples && a->sample[low + 1].time <= code + SU_USD_SAME_CODE) low++;
    if (su_usd_numbers(a->sample[low].value, count, out) != count) return false;
    double from = a->sample[low].time;
    if (low + 1 == a->samples || code <= from + SU_USD_SAME_CODE) return true;
    if (su_usd_numbers(a->sample[low + 1].value, count, next) != count) return false;
    double f = (code - from) / (a->sample[low + 1].time - from);
    for (int64_t i = 0; i < count; i++) out[i] += f * (next[i] - out[i]);
    return true;
}

static void about(int axis, double degrees, double m[16])
{
    double a = degrees * (M_PI / 180.0), c = cos(a), s = sin(a);
    int i = (axis + 1) % 3, j = (axis + 2) % 3;
    su_affine_identity(m);
    m[5 * i] = m[5 * j] = c, m[4 * i + j] = -s, m[4 * j + i] = s;
}

/* One operation of a transform, "xformOp:rotateXYZ:pivot" and so on. False where it is not known or has no value. */
static bool operation(const su_usd_layer *layer, int64_t prim, su_usd_text op, double code, double m[16])
{
    char name[200], kind[32];
    double v[16], one[16];
    bool inverse = op.size > 8 && memcmp(op.at, "!invert!", 8) == 0;
    if (inverse) op.at += 8, op.size -= 8;
    if (op.size >= (int64_t)sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)op.size, op.at);
    if (sscanf(name, "xformOp:%31[^:]", kind) != 1) return false;
    const su_usd_attribute *a = su_usd_find(layer, prim, name);
    su_affine_identity(m);
    if (strcmp(kind, "translate") == 0) {
        if (!numbers_at(a, code, 3, v)) return false;
        for (int i = 0; i < 3; i++) m[4 * i + 3] = v[i];
    } else if (strcmp(kind, "scale") == 0) {
        if (!numbers_at(a, code, 3, v)) return false;
        for (int i = 0; i < 3; i++) m[5 * i] = v[i];
    } else if (strcmp(kind, "orient") == 0) {
        double length = 0.0, r[9];
        const double none[3] = {0, 0, 0};
        if (!numbers_at(a, code, 4, v)) return false;
        for (int i = 0; i < 4; i++) length += v[i] * v[i];
        if (!(length > 0.0)) return false;
        for (int i = 0; i < 4; i++) v[i] /= sqrt(length);
        su_quaternion_matrix(v, r);
        su_affine_set(r, none, m);
    } else if (strcmp(kind, "transform") == 0) {
        if (!numbers_at(a, code, 16, v)) return false;
        su_usd_matrix(v, m);
    } else if (strncmp(kind, "rotate", 6) == 0 && strlen(kind) == 7 && kind[6] >= 'X' && kind[6] <= 'Z') {
        if (!numbers_at(a, code, 1, v)) return false;
        about(kind[6] - 'X', v[0], m);
    } else if (strncmp(kind, "rotate", 6) == 0 && strlen(kind) == 9) { /* XYZ: about x first */
        if (!numbers_at(a, code, 3, v)) return false;
        for (int k = 6; k < 9; k++) {
            int axis = kind[k] - 'X';
            if (axis < 0 || axis > 2) return false;
            about(axis, v[axis], one);
            su_affine_multiply(one, m, m);
        }
    } else {
        return false;
    }
    return !inverse || su_affine_inverse(m, m) != 0.0;
}

su_status su_usd_local_at(const su_usd_layer *layer, int64_t prim, double code, double m[16], bool *reset,
                          su_error *err)
{
    su_usd_value order = su_usd_first(su_usd_find(layer, prim, "xformOpOrder"));
    su_usd_text op;
    double one[16];
    *reset = false;
    su_affine_identity(m);
    while (su_usd_next_token(&order, &op)) {
        if (su_usd_is(op, "!resetXformStack!")) {
            *reset = true;
            su_affine_identity(m);
            continue;
        }
        if (!operation(layer, prim, op, code, one))
            return su_fail(err, SU_INPUT, "%s: prim %.*s: its transform %.*s cannot be read", layer->path,
                           (int)layer->prim[prim].name.size, layer->prim[prim].name.at, (int)op.size, op.at);
        su_affine_multiply(m, one, m);
    }
    return SU_OK;
}

su_status su_usd_world_at(const su_usd_layer *layer, int64_t prim, double code, double m[16], su_error *err)
{
    bool reset = false;
    su_affine_identity(m);
    for (int64_t at = prim; at >= 0 && !reset; at = layer->prim[at].parent) {
        double local[16];
        SU_TRY(su_usd_local_at(layer, at, code, local, &reset, err));
        su_affine_multiply(local, m, m);
    }
    return SU_OK;
}
