#include "io/cache/mdd.h"

#include "core/memory.h"
#include "io/cache/positions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return __builtin_bswap32(bits);
}

su_status su_mdd_create(su_mdd_writer *writer, const char *path, int64_t points, int64_t samples, const double *times,
                        su_error *err)
{
    *writer = (su_mdd_writer){.points = points, .samples = samples};
    if (points > INT32_MAX || samples > INT32_MAX)
        return su_fail(err, SU_FAILED, "%s: MDD cannot hold %lld points and %lld samples", path, (long long)points,
                       (long long)samples);
    SU_TRY(SU_ALLOC(&writer->swapped, 3 * points, "an MDD frame", err));
    SU_TRY(su_output_open(&writer->out, path, err));
    const uint32_t head[2] = {__builtin_bswap32((uint32_t)samples), __builtin_bswap32((uint32_t)points)};
    SU_TRY(su_output_write(&writer->out, head, sizeof head, err));
    for (int64_t k = 0; k < samples; k++) {
        uint32_t time = float_bits((float)times[k]);
        SU_TRY(su_output_write(&writer->out, &time, sizeof time, err));
    }
    return SU_OK;
}

su_status su_mdd_frame(su_mdd_writer *writer, const float *points, su_error *err)
{
    for (int64_t i = 0; i < 3 * writer->points; i++) writer->swapped[i] = float_bits(points[i]);
    writer->written++;
    return su_output_write(&writer->out, writer->swapped, (size_t)writer->points * 12, err);
}

su_status su_mdd_commit(su_mdd_writer *writer, su_error *err)
{
    su_status status = writer->written == writer->samples
                           ? su_output_commit(&writer->out, err)
                           : su_fail(err, SU_FAILED, "%s: %lld of %lld samples were written", writer->out.path,
                                     (long long)writer->written, (long long)writer->samples);
    su_mdd_abandon(writer);
    return status;
}

void su_mdd_abandon(su_mdd_writer *writer)
{
    su_output_abandon(&writer->out);
    free(writer->swapped);
    writer->swapped = NULL;
}

static int64_t header_bytes(const su_mdd *file) { return 8 + 4 * file->samples; }

static void swap_floats(float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits = __builtin_bswap32(bits);
        memcpy(&values[i], &bits, sizeof bits);
    }
}

static su_status read_times(su_mdd *file, su_error *err)
{
    float *times = NULL;
    SU_TRY(SU_ALLOC(&times, file->samples, "times", err));
    su_status status;
    SU_GO(SU_ALLOC(&file->times, file->samples, "times", err));
    SU_GO(su_positions_read(file->path, file->fd, 8, times, (size_t)file->samples * sizeof *times, err));
    swap_floats(times, file->samples);
    for (int64_t k = 0; k < file->samples; k++) {
        if (!isfinite(times[k])) {
            status = su_fail(err, SU_INPUT, "%s: the time of sample %lld is not finite", file->path, (long long)k);
            goto done;
        }
        file->times[k] = times[k];
    }
done:
    free(times);
    return status;
}

su_status su_mdd_open(su_mdd *file, const char *path, su_error *err)
{
    uint32_t head[2];
    int64_t size;
    *file = (su_mdd){.fd = -1, .path = strdup(path)};
    if (!file->path) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
    su_status status = su_positions_open(path, sizeof head, head, &file->fd, &size, err);
    if (status != SU_OK) {
        su_mdd_close(file);
        return status;
    }
    file->samples = (int32_t)__builtin_bswap32(head[0]);
    file->points = (int32_t)__builtin_bswap32(head[1]);
    if (file->points < 1 || file->samples < 1)
        status = su_fail(err, SU_INPUT, "%s: not an MDD point cache: %lld points and %lld samples", path,
                         (long long)file->points, (long long)file->samples);
    else if ((size - header_bytes(file)) / 12 / file->points < file->samples)
        status = su_fail(err, SU_INPUT,
                         "%s: not an MDD point cache, or truncated: %lld bytes cannot hold %lld samples of %lld points",
                         path, (long long)size, (long long)file->samples, (long long)file->points);
    else
        status = read_times(file, err);
    if (status != SU_OK) su_mdd_close(file);
    return status;
}

su_status su_mdd_read(const su_mdd *file, int64_t sample, float *points, su_error *err)
{
    size_t bytes = (size_t)file->points * 12;
    SU_TRY(su_positions_read(file->path, file->fd, header_bytes(file) + sample * (int64_t)bytes, points, bytes, err));
    swap_floats(points, 3 * file->points);
    return SU_OK;
}

void su_mdd_close(su_mdd *file)
{
    if (file->path && file->fd >= 0) close(file->fd);
    free(file->path);
    free(file->times);
    *file = (su_mdd){.fd = -1};
}
