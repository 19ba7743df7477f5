/* supple.tet (docs/formats.md). The flesh: tets, what is held, and how skin and flesh are tied. */
#ifndef SU_IO_TET_H
#define SU_IO_TET_H

#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_tet {
    su_file file;
    int64_t n;              /* flesh vertices */
    int64_t t;              /* tets */
    int64_t b;              /* boundary triangles */
    int64_t fixed_count;    /* held vertices */
    int64_t ties;           /* skin vertices that each flesh vertex follows */
    int64_t nbar;           /* skin vertices n̄ */
    double *vertices;       /* (n,3) neutral pose, m */
    int32_t *tets;          /* (t,4) */
    int32_t *surface;       /* (b,3) outward */
    int32_t *fixed;         /* (fixed_count) ascending */
    int32_t *embed_tet;     /* (nbar) tet that holds each skin vertex */
    double *embed_bary;     /* (nbar,4) A */
    int32_t *shepard_index; /* (n,ties) skin vertices */
    double *shepard_weight; /* (n,ties) rows sum to 1 */
    int32_t *fixed_bone;    /* (fixed_count) optional: bone that carries each held vertex, -1: follows Shepard */
} su_tet;

extern const su_schema su_tet_schema;

/* As su_schema_load, _save and _free. */
su_status su_tet_load(const char *path, su_tet *tet, su_error *err);
su_status su_tet_save(const char *path, const su_tet *tet, su_error *err);
void su_tet_free(su_tet *tet);

#endif
