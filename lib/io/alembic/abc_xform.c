#include "io/alembic/abc_xform.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_TIME 1e-6 /* s: times of one frame in two samplings differ by less, frames by more */

static const int op_channels[7] = {3, 3, 4, 16, 1, 1, 1}; /* scale, translate, rotate, matrix, x, y, z */

void su_abc_xform_free(su_abc_xform *x)
{
    if (!x) return;
    free(x->ops);
    su_abc_samples_close(&x->values);
    free(x);
}

static su_status read_ops(const su_abc_tree *tree, const su_abc_node *node, const su_abc_entry *entry, su_abc_xform *x,
                          su_error *err)
{
    su_abc_samples ops;
    int64_t elements;
    SU_TRY(su_abc_samples_open(tree, entry, &ops, err));
    su_status status;
    SU_GO(su_abc_samples_count(tree, &ops, 0, &elements, err));
    int64_t bytes = elements * ops.extent;
    if (ops.type != SU_ABC_U8 || bytes > 4096) {
        status =
            su_fail(err, SU_INPUT, "%s: transform %s has no valid operations", su_ogawa_path(tree->file), node->name);
        goto done;
    }
    SU_GO(SU_ALLOC(&x->ops, bytes, "operations", err));
    SU_GO(su_abc_samples_read(tree, &ops, 0, elements, x->ops, err));
    x->op_count = (int)bytes;
    for (int i = 0; i < x->op_count; i++) {
        int type = x->ops[i] >> 4;
        if (type > 6) {
            status = su_fail(err, SU_INPUT, "%s: transform %s has an unknown operation %d", su_ogawa_path(tree->file),
                             node->name, type);
            goto done;
        }
        x->channels += op_channels[type];
    }
done:
    su_abc_samples_close(&ops);
    return status;
}

su_status su_abc_xform_open(const su_abc_tree *tree, const su_abc_node *node, su_abc_xform **out, su_error *err)
{
    int count;
    su_abc_entry *entries;
    su_abc_xform *x = NULL;
    su_abc_samples inherits = {0};
    SU_TRY(su_abc_schema_entries(tree, node, ".xform", &count, &entries, err));
    su_status status;
    SU_GO(SU_ALLOC(&x, 1, "a transform", err));
    x->inherits = true;
    const su_abc_entry *ops = su_abc_find(count, entries, ".ops"), *values = su_abc_find(count, entries, ".vals"),
                       *inherit = su_abc_find(count, entries, ".inherits");
    if (inherit && inherit->samples > 0) {
        int64_t elements;
        uint8_t flag = 1;
        SU_GO(su_abc_samples_open(tree, inherit, &inherits, err));
        SU_GO(su_abc_samples_count(tree, &inherits, 0, &elements, err));
        if (elements == 1 && inherits.extent == 1 && inherits.type == SU_ABC_BOOL)
            SU_GO(su_abc_samples_read(tree, &inherits, 0, 1, &flag, err));
        x->inherits = flag != 0;
    }
    if (ops && values && ops->samples > 0 && values->samples > 0) {
        SU_GO(read_ops(tree, node, ops, x, err));
        SU_GO(su_abc_samples_open(tree, values, &x->values, err));
        int64_t elements;
        SU_GO(su_abc_samples_count(tree, &x->values, 0, &elements, err));
        if (x->values.type != SU_ABC_F64 || elements * x->values.extent != x->channels) {
            status = su_fail(err, SU_INPUT, "%s: transform %s: operations and values disagree",
                             su_ogawa_path(tree->file), node->name);
            goto done;
        }
        x->samples = x->values.samples;
    }
    *out = x;
    x = NULL;
done:
    su_abc_xform_free(x);
    su_abc_samples_close(&inherits);
    su_abc_entries_free(count, entries);
    return status;
}

void su_abc_multiply(const double a[16], const double b[16], double out[16])
{
    double c[16];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            c[4 * i + j] = 0.0;
            for (int k = 0; k < 4; k++) c[4 * i + j] += a[4 * i + k] * b[4 * k + j];
        }
    memcpy(out, c, sizeof c);
}

void su_abc_identity(double m[16])
{
    for (int i = 0; i < 16; i++) m[i] = i % 5 == 0;
}

/* Column-vector matrix of one operation. */
static void operation(int type, const double *v, double m[16])
{
    su_abc_identity(m);
    if (type == 0) {
        for (int i = 0; i < 3; i++) m[5 * i] = v[i];
    } else if (type == 1) {
        for (int i = 0; i < 3; i++) m[4 * i + 3] = v[i];
    } else if (type == 3) {
        for (int i = 0; i < 16; i++) m[i] = v[4 * (i % 4) + i / 4];
    } else {
        double axis[3] = {type == 4, type == 5, type == 6}, degrees = type == 2 ? v[3] : v[0];
        if (type == 2) memcpy(axis, v, sizeof axis);
        double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
        if (length == 0.0) return;
        double x = axis[0] / length, y = axis[1] / length, z = axis[2] / length;
        double a = degrees * (M_PI / 180.0), c = cos(a), s = sin(a), t = 1.0 - c;
        const double r[9] = {t * x * x + c,     t * x * y - s * z, t * x * z + s * y, t * x * y + s * z, t * y * y + c,
                             t * y * z - s * x, t * x * z - s * y, t * y * z + s * x, t * z * z + c};
        for (int i = 0; i < 9; i++) m[4 * (i / 3) + i % 3] = r[i];
    }
}

int64_t su_abc_sample_before(const su_abc_time *sampling, int64_t samples, double time, double *fraction)
{
    int64_t low = 0, high = samples - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (su_abc_time_of(sampling, middle) <= time + SAME_TIME)
            low = middle;
        else
            high = middle - 1;
    }
    *fraction = 0.0;
    if (low + 1 >= samples) return low;
    double a = su_abc_time_of(sampling, low), b = su_abc_time_of(sampling, low + 1);
    if (b > a && time > a + SAME_TIME) *fraction = (time - a) / (b - a);
    return low;
}

su_status su_abc_xform_at(const su_abc_tree *tree, const su_abc_xform *x, double time, double m[16], su_error *err)
{
    su_abc_identity(m);
    if (!x->op_count) return SU_OK;
    double *values = NULL, fraction;
    int64_t low = su_abc_sample_before(&tree->times[x->values.time_sampling], x->samples, time, &fraction);
    SU_TRY(SU_ALLOC(&values, 2 * x->channels, "a transform", err));
    su_status status;
    int64_t next = fraction > 0.0 ? low + 1 : low, elements = x->channels / x->values.extent;
    int64_t count;
    for (int k = 0; k < 2; k++) {
        SU_GO(su_abc_samples_count(tree, &x->values, k ? next : low, &count, err));
        if (count != elements) {
            status = su_fail(err, SU_INPUT, "%s: damaged: a transform whose values change in number",
                             su_ogawa_path(tree->file));
            goto done;
        }
        SU_GO(su_abc_samples_read(tree, &x->values, k ? next : low, elements, values + k * x->channels, err));
    }
    for (int i = 0; i < x->channels; i++) {
        if (!isfinite(values[i]) || !isfinite(values[x->channels + i])) {
            status =
                su_fail(err, SU_INPUT, "%s: a transform holds a number that is not finite", su_ogawa_path(tree->file));
            goto done;
        }
        values[i] += fraction * (values[x->channels + i] - values[i]);
    }
    const double *v = values;
    for (int i = 0; i < x->op_count; v += op_channels[x->ops[i] >> 4], i++) {
        double one[16];
        operation(x->ops[i] >> 4, v, one);
        su_abc_multiply(m, one, m); /* the operation written first is applied to the point last */
    }
done:
    free(values);
    return status;
}
