/* supple.played (docs/formats.md). What shots do to the flesh, for the modes of each example pose. */
#ifndef SU_IO_PLAYED_H
#define SU_IO_PLAYED_H

#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_played {
    su_file file;
    int64_t l;       /* loads */
    int64_t n;       /* flesh vertices */
    int64_t f;       /* frames */
    double *loads;   /* (l,n,3) m/s^2; NULL where there are none */
    double *shapes;  /* (f,n,3) m; NULL where there are none */
    double *weights; /* (f) 1; with shapes */
} su_played;

extern const su_schema su_played_schema;

/* As su_schema_load, _save and _free. */
su_status su_played_load(const char *path, su_played *played, su_error *err);
su_status su_played_save(const char *path, const su_played *played, su_error *err);
void su_played_free(su_played *played);

#endif
