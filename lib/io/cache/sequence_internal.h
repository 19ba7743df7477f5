/* What the files behind a sequence share. */
#ifndef SU_IO_SEQUENCE_INTERNAL_H
#define SU_IO_SEQUENCE_INTERNAL_H

#include "core/memory.h"
#include "io/alembic/alembic.h"
#include "io/cache/mdd.h"
#include "io/cache/pc2.h"
#include "io/cache/sequence.h"
#include "io/cache/sequence_files.h"

#include <math.h>

/* One format behind a sequence. */
typedef struct su_sequence_kind {
    const char *extension;
    su_status (*open)(su_sequence *sequence, const char *path, su_error *err);
    su_status (*read)(su_sequence *sequence, int64_t frame, double *points, su_error *err);
    void (*close)(su_sequence *sequence);
    /* of one object of the file; NULL: transforms do not move */
    su_status (*xform)(su_sequence *sequence, int64_t object, double time, double xform[16], su_error *err);
    /* frames, times and rate of the objects that are not left out; with xform */
    su_status (*times)(su_sequence *sequence, const char *path, su_error *err);
} su_sequence_kind;

struct su_sequence_source {
    const su_sequence_kind *kind;
    float *frame;  /* (vertices of the file,3) scratch of the single-precision formats */
    int64_t all;   /* vertices of the file, where only some are kept; else 0 */
    int32_t *kept; /* (vertices) of the file */
    double *whole; /* (all,3) scratch */
    su_file_list files;
    su_pc2 pc2;
    su_mdd mdd;
    su_alembic *alembic;
    struct su_sequence_usd *usd;
    float *other;         /* Alembic: (vertices of the file,3) scratch */
    double *sample_times; /* Alembic, USD: (frames) s or time codes as the file has them; the sequence's own may be made
                             regular */
    bool *left_out;       /* (objects of the file) not wanted; NULL: none */
    int64_t all_objects;  /* of the file, where only some are kept; else 0 */
    int32_t *kept_object; /* (objects) of the file; NULL: all are kept */
};

/* The file has so many points: room for a frame; SU_INPUT where the neutral mesh has another number. */
static inline su_status su_sequence_count(su_sequence *s, const char *path, int64_t points, su_error *err)
{
    if (s->vertices && s->vertices != points)
        return su_fail(err, SU_INPUT, "%s: has %lld points, its neutral mesh %lld", path, (long long)points,
                       (long long)s->vertices);
    s->vertices = points;
    return SU_ALLOC(&s->source->frame, 3 * points, "a frame", err);
}

static inline su_status su_sequence_finite(int64_t count, const double *points, const char *path, int64_t frame,
                                           su_error *err)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(points[i]))
            return su_fail(err, SU_INPUT, "%s: frame %lld: vertex %lld has no finite position", path, (long long)frame,
                           (long long)(i / 3));
    return SU_OK;
}

/* Alembic: all meshes one after the other. */
su_status su_sequence_abc_open(su_sequence *sequence, const char *path, su_error *err);
su_status su_sequence_abc_read(su_sequence *sequence, int64_t frame, double *points, su_error *err);
void su_sequence_abc_close(su_sequence *sequence);
su_status su_sequence_abc_xform(su_sequence *sequence, int64_t object, double time, double xform[16], su_error *err);
/* Frames, times and rate of the meshes that are not left out. */
su_status su_sequence_abc_times(su_sequence *sequence, const char *path, su_error *err);

/* USD text layers: all meshes one after the other. */
su_status su_sequence_usd_open(su_sequence *sequence, const char *path, su_error *err);
su_status su_sequence_usd_read(su_sequence *sequence, int64_t frame, double *points, su_error *err);
void su_sequence_usd_close(su_sequence *sequence);
su_status su_sequence_usd_xform(su_sequence *sequence, int64_t object, double time, double xform[16], su_error *err);
su_status su_sequence_usd_times(su_sequence *sequence, const char *path, su_error *err);

#endif
