/* MDD point caches (LightWave): i32 samples, i32 points, f32 time of each sample (s), then f32 xyz. Big-endian. */
#ifndef SU_IO_MDD_H
#define SU_IO_MDD_H

#include "core/error.h"
#include "core/file.h"

#include <stdint.h>

typedef struct su_mdd_writer {
    su_output out;
    int64_t points, samples, written;
    uint32_t *swapped; /* (points,3) */
} su_mdd_writer;

/* times (samples) s. */
su_status su_mdd_create(su_mdd_writer *writer, const char *path, int64_t points, int64_t samples, const double *times,
                        su_error *err);
/* points (points,3) of the next sample. */
su_status su_mdd_frame(su_mdd_writer *writer, const float *points, su_error *err);
/* Fails when fewer samples came than announced. Closes in every case. */
su_status su_mdd_commit(su_mdd_writer *writer, su_error *err);
void su_mdd_abandon(su_mdd_writer *writer);

typedef struct su_mdd {
    char *path;
    int fd;
    int64_t points, samples;
    double *times; /* (samples) s */
} su_mdd;

/* Checks the header against the file's size. */
su_status su_mdd_open(su_mdd *file, const char *path, su_error *err);
su_status su_mdd_read(const su_mdd *file, int64_t sample, float *points, su_error *err);
void su_mdd_close(su_mdd *file);

#endif
