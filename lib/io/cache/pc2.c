#include "io/cache/pc2.h"

#include "io/cache/positions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char magic[12] = "POINTCACHE2";
enum { HEADER_BYTES = 32 };

typedef struct header {
    char magic[12];
    int32_t version, points;
    float start, rate;
    int32_t samples;
} header;

su_status su_pc2_create(su_pc2_writer *writer, const char *path, int64_t points, int64_t samples, double start_frame,
                        double frames_per_sample, su_error *err)
{
    header head = {.version = 1,
                   .points = (int32_t)points,
                   .start = (float)start_frame,
                   .rate = (float)frames_per_sample,
                   .samples = (int32_t)samples};
    memcpy(head.magic, magic, sizeof magic);
    *writer = (su_pc2_writer){.points = points, .samples = samples};
    if (points > INT32_MAX || samples > INT32_MAX)
        return su_fail(err, SU_FAILED, "%s: PC2 cannot hold %lld points and %lld samples", path, (long long)points,
                       (long long)samples);
    SU_TRY(su_output_open(&writer->out, path, err));
    return su_output_write(&writer->out, &head, sizeof head, err);
}

su_status su_pc2_frame(su_pc2_writer *writer, const float *points, su_error *err)
{
    writer->written++;
    return su_output_write(&writer->out, points, (size_t)writer->points * 3 * sizeof *points, err);
}

su_status su_pc2_commit(su_pc2_writer *writer, su_error *err)
{
    su_status status = writer->written == writer->samples
                           ? su_output_commit(&writer->out, err)
                           : su_fail(err, SU_FAILED, "%s: %lld of %lld samples were written", writer->out.path,
                                     (long long)writer->written, (long long)writer->samples);
    su_pc2_abandon(writer);
    return status;
}

void su_pc2_abandon(su_pc2_writer *writer) { su_output_abandon(&writer->out); }

su_status su_pc2_open(su_pc2 *file, const char *path, su_error *err)
{
    header head;
    int64_t size;
    *file = (su_pc2){.fd = -1, .path = strdup(path)};
    if (!file->path) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
    su_status status = su_positions_open(path, sizeof head, &head, &file->fd, &size, err);
    if (status != SU_OK) {
        su_pc2_close(file);
        return status;
    }
    if (memcmp(head.magic, magic, sizeof magic) != 0 || head.version != 1)
        status = su_fail(err, SU_INPUT, "%s: not a PC2 point cache", path);
    else if (head.points < 1 || head.samples < 1 || !isfinite(head.start) || !isfinite(head.rate))
        status = su_fail(err, SU_INPUT, "%s: a PC2 file of %d points and %d samples", path, head.points, head.samples);
    else if ((size - HEADER_BYTES) / 12 / head.points < head.samples)
        status = su_fail(err, SU_INPUT, "%s: truncated: %lld bytes cannot hold %d samples of %d points", path,
                         (long long)size, head.samples, head.points);
    file->points = head.points, file->samples = head.samples;
    file->start_frame = head.start, file->frames_per_sample = head.rate;
    if (status != SU_OK) su_pc2_close(file);
    return status;
}

su_status su_pc2_read(const su_pc2 *file, int64_t sample, float *points, su_error *err)
{
    size_t bytes = (size_t)file->points * 12;
    return su_positions_read(file->path, file->fd, HEADER_BYTES + sample * (int64_t)bytes, points, bytes, err);
}

void su_pc2_close(su_pc2 *file)
{
    if (file->path && file->fd >= 0) close(file->fd);
    free(file->path);
    *file = (su_pc2){.fd = -1};
}
