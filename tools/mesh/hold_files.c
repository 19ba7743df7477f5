#include "hold_files.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/npz.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_npy(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, ".npy");
}

/* All numbers of a text file, `width` a line. */
static su_status read_rows(const char *path, int width, int64_t *rows, double **values, su_error *err)
{
    su_status status = SU_OK;
    char line[1000];
    double *data = NULL;
    int64_t count = 0, capacity = 0, number = 0;
    FILE *f = fopen(path, "r");
    if (!f) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, f)) {
        char *at = line + strspn(line, " \t\r\n"), *end;
        number++;
        if (!*at || *at == '#') continue;
        if (count == capacity) {
            capacity = 2 * capacity + 64;
            double *grown = realloc(data, (size_t)(capacity * width) * sizeof *data);
            if (!grown) {
                status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
                goto done;
            }
            data = grown;
        }
        for (int k = 0; k < width; k++, at = end) {
            while (*at == ',' || *at == ' ' || *at == '\t') at++;
            data[count * width + k] = strtod(at, &end);
            if (end == at || !isfinite(data[count * width + k])) {
                status = su_fail(err, SU_INPUT, "%s: line %lld: expected %d numbers", path, (long long)number, width);
                goto done;
            }
        }
        count++;
    }
    if (ferror(f)) {
        status = su_fail(err, su_file_status(errno, SU_INPUT), "%s: %s", path, strerror(errno));
        goto done;
    }
    *rows = count, *values = data, data = NULL;
done:
    free(data);
    fclose(f);
    return status;
}

su_status read_bones(const char *path, int64_t *count, double **segments, su_error *err)
{
    int dimensions;
    int64_t shape[SU_MAX_DIMENSIONS];
    void *data;
    if (!is_npy(path)) return read_rows(path, 6, count, segments, err);
    SU_TRY(su_npy_load(path, SU_F64, &dimensions, shape, &data, err));
    if (dimensions != 3 || shape[1] != 2 || shape[2] != 3) {
        free(data);
        return su_fail(err, SU_INPUT, "%s: bone segments have the shape (B,2,3)", path);
    }
    const double *values = data;
    for (int64_t k = 0; k < 6 * shape[0]; k++)
        if (!isfinite(values[k])) {
            free(data);
            return su_fail(err, SU_INPUT, "%s: bone %lld is not finite", path, (long long)(k / 6));
        }
    *count = shape[0], *segments = data;
    return SU_OK;
}

su_status read_held_skin(const char *path, int64_t nbar, uint8_t **marks, su_error *err)
{
    su_status status = SU_OK;
    int64_t count = 0, shape[SU_MAX_DIMENSIONS];
    double *index = NULL;
    uint8_t *held = NULL;
    if (is_npy(path)) {
        int dimensions;
        void *data;
        SU_TRY(su_npy_load(path, SU_F64, &dimensions, shape, &data, err));
        index = data, count = 1;
        for (int i = 0; i < dimensions; i++) count *= shape[i];
    } else {
        SU_TRY(read_rows(path, 1, &count, &index, err));
    }
    SU_GO(SU_ALLOC(&held, nbar, "held skin vertices", err));
    for (int64_t k = 0; k < count; k++) {
        if (!(index[k] >= 0 && index[k] < nbar && index[k] == floor(index[k]))) {
            status =
                su_fail(err, SU_INPUT, "%s: %g is no skin vertex, there are %lld", path, index[k], (long long)nbar);
            goto done;
        }
        held[(int64_t)index[k]] = 1;
    }
    *marks = held, held = NULL;
done:
    free(index);
    free(held);
    return status;
}
