/* PC2 point caches: "POINTCACHE2\0", i32 version 1, i32 points, f32 start frame, f32 sample rate (frames a sample), i32
 * samples; then f32 xyz. Little-endian. */
#ifndef SU_IO_PC2_H
#define SU_IO_PC2_H

#include "core/error.h"
#include "core/file.h"

#include <stdint.h>

typedef struct su_pc2_writer {
    su_output out;
    int64_t points, samples, written;
} su_pc2_writer;

su_status su_pc2_create(su_pc2_writer *writer, const char *path, int64_t points, int64_t samples, double start_frame,
                        double frames_per_sample, su_error *err);
/* points (points,3) of the next sample. */
su_status su_pc2_frame(su_pc2_writer *writer, const float *points, su_error *err);
/* Fails when fewer samples came than announced. Closes in every case. */
su_status su_pc2_commit(su_pc2_writer *writer, su_error *err);
void su_pc2_abandon(su_pc2_writer *writer);

typedef struct su_pc2 {
    char *path;
    int fd;
    int64_t points, samples;
    double start_frame, frames_per_sample;
} su_pc2;

/* Checks the header against the file's size. */
su_status su_pc2_open(su_pc2 *file, const char *path, su_error *err);
su_status su_pc2_read(const su_pc2 *file, int64_t sample, float *points, su_error *err);
void su_pc2_close(su_pc2 *file);

#endif
