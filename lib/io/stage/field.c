#include "io/stage/field.h"

#include <math.h>
#include <stdlib.h>

su_status su_check_at_least(int64_t value, int64_t least, const char *what, const char *path, su_error *err)
{
    if (value >= least) return SU_OK;
    return su_fail(err, SU_INPUT, "%s: has %lld %s; at least %lld is wanted", path, (long long)value, what,
                   (long long)least);
}

su_status su_check_times(const double *times, int64_t count, const char *path, su_error *err)
{
    if (count < 2) return SU_OK;
    double step = (times[count - 1] - times[0]) / (double)(count - 1);
    if (!(step > 0)) return su_fail(err, SU_INPUT, "%s: array 'times' does not ascend", path);
    for (int64_t k = 0; k < count; k++)
        if (fabs(times[k] - (times[0] + (double)k * step)) > 1e-6 || (k && times[k] <= times[k - 1]))
            return su_fail(err, SU_INPUT, "%s: array 'times' is not uniform at frame %lld; resample the clip", path,
                           (long long)k);
    return SU_OK;
}

su_status su_check_rigid(const double *matrices, int64_t count, const char *name, const char *path, su_error *err)
{
    for (int64_t k = 0; k < count; k++) {
        const double *a = matrices + 16 * k;
        double worst = fabs(a[12]) + fabs(a[13]) + fabs(a[14]) + fabs(a[15] - 1);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double dot = a[i] * a[j] + a[4 + i] * a[4 + j] + a[8 + i] * a[8 + j];
                worst = fmax(worst, fabs(dot - (i == j)));
            }
        double det = a[0] * (a[5] * a[10] - a[6] * a[9]) - a[1] * (a[4] * a[10] - a[6] * a[8]) +
                     a[2] * (a[4] * a[9] - a[5] * a[8]);
        if (worst > 1e-6 || det < 0)
            return su_fail(err, SU_INPUT, "%s: matrix %lld of '%s' is not a rotation and translation", path,
                           (long long)k, name);
    }
    return SU_OK;
}

su_status su_check_row_sums(const double *values, int64_t rows, int64_t columns, double sum, const char *name,
                            const char *path, su_error *err)
{
    for (int64_t i = 0; i < rows; i++) {
        double total = 0;
        for (int64_t j = 0; j < columns; j++) total += values[i * columns + j];
        if (!(fabs(total - sum) <= 1e-6))
            return su_fail(err, SU_INPUT, "%s: row %lld of '%s' sums to %.9g, %g is wanted", path, (long long)i, name,
                           total, sum);
    }
    return SU_OK;
}

su_status su_check_range(const double *values, int64_t count, double low, double high, const char *name,
                         const char *path, su_error *err)
{
    for (int64_t i = 0; i < count; i++)
        if (!(values[i] > low && values[i] < high))
            return su_fail(err, SU_INPUT, "%s: element %lld of '%s' is %.9g; between %g and %g is wanted", path,
                           (long long)i, name, values[i], low, high);
    return SU_OK;
}

su_status su_check_ascending(const int32_t *values, int64_t count, int strictly, const char *name, const char *path,
                             su_error *err)
{
    for (int64_t i = 1; i < count; i++)
        if (values[i] < values[i - 1] || (strictly && values[i] == values[i - 1]))
            return su_fail(err, SU_INPUT, "%s: array '%s' does not ascend at element %lld", path, name, (long long)i);
    return SU_OK;
}

su_status su_check_offsets(const int32_t *offsets, int64_t count, int64_t total, const char *name, const char *path,
                           su_error *err)
{
    if (count < 1 || offsets[0] != 0 || offsets[count - 1] != total)
        return su_fail(err, SU_INPUT, "%s: array '%s' does not run from 0 to %lld", path, name, (long long)total);
    return su_check_ascending(offsets, count, 0, name, path, err);
}

su_status su_check_together(int present, int wanted, const char *names, const char *path, su_error *err)
{
    if (present == 0 || present == wanted) return SU_OK;
    return su_fail(err, SU_INPUT, "%s: %s belong together; some are missing", path, names);
}

su_status su_check_forest(const int32_t *parent, int64_t count, const char *name, const char *path, su_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i, steps = 0;
        while (at >= 0 && at < count && steps <= count) {
            at = parent[at];
            steps++;
        }
        if (at >= count || steps > count)
            return su_fail(err, SU_INPUT, "%s: array '%s' has a cycle or a missing parent at element %lld", path, name,
                           (long long)i);
    }
    return SU_OK;
}

su_status su_check_apart(const double *params, const double *scale, int64_t m, int64_t s, const char *path,
                         su_error *err)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < i; j++) {
            double square = 0;
            for (int64_t k = 0; k < s; k++) {
                double difference = (params[i * s + k] - params[j * s + k]) * scale[k];
                square += difference * difference;
            }
            if (square < 1e-12)
                return su_fail(err, SU_INPUT, "%s: example poses %lld and %lld are the same; leave one out", path,
                               (long long)j, (long long)i);
        }
    }
    return SU_OK;
}

su_smoothing su_smoothing_of(int64_t n, const int32_t *start, const int32_t *node, const double *weight)
{
    su_smoothing out = {.start = start, .node = node, .weight = weight};
    for (int64_t k = 0; start && k < start[n]; k++)
        if (node[k] >= out.nodes) out.nodes = node[k] + 1;
    return out;
}

su_status su_check_smoothing(int64_t n, int64_t n1, int64_t entries, const int32_t *start, const int32_t *node,
                             const double *weight, const char *path, su_error *err)
{
    SU_TRY(su_check_together(!!start + !!node + !!weight, 3, "turn_start, turn_node and turn_weight", path, err));
    if (!start) return SU_OK;
    if (n1 != n + 1)
        return su_fail(err, SU_INPUT, "%s: 'turn_start' has %lld elements for %lld vertices", path, (long long)n1,
                       (long long)n);
    SU_TRY(su_check_offsets(start, n1, entries, "turn_start", path, err));
    SU_TRY(su_check_range(weight, entries, 0, 1.000001, "turn_weight", path, err));
    for (int64_t v = 0; v < n; v++)
        SU_TRY(su_check_row_sums(weight + start[v], 1, start[v + 1] - start[v], 1, "turn_weight", path, err));
    int64_t nodes = su_smoothing_of(n, start, node, weight).nodes, reached = 0;
    uint8_t *seen;
    SU_TRY(SU_ALLOC(&seen, nodes, "nodes", err));
    for (int64_t k = 0; k < entries; k++) reached += !seen[node[k]], seen[node[k]] = 1;
    free(seen);
    return reached == nodes ? SU_OK : su_fail(err, SU_INPUT, "%s: 'turn_node' leaves out nodes", path);
}

su_status su_check_tets(const double *vertices, const int32_t *tets, int64_t t, const char *path, su_error *err)
{
    for (int64_t e = 0; e < t; e++) {
        double edge[3][3];
        const double *a = vertices + 3 * (int64_t)tets[4 * e];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) edge[i][j] = vertices[3 * (int64_t)tets[4 * e + 1 + i] + j] - a[j];
        double det = edge[0][0] * (edge[1][1] * edge[2][2] - edge[1][2] * edge[2][1]) -
                     edge[0][1] * (edge[1][0] * edge[2][2] - edge[1][2] * edge[2][0]) +
                     edge[0][2] * (edge[1][0] * edge[2][1] - edge[1][1] * edge[2][0]);
        if (!(det > 0))
            return su_fail(err, SU_INPUT, "%s: tet %lld is flat or inside out (six times its volume: %.3g m^3)", path,
                           (long long)e, det);
    }
    return SU_OK;
}
