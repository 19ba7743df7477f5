/* Transforms of Alembic archives: AbcGeom_Xform_v3 objects, and where they are at a time. */
#ifndef SU_IO_ABC_XFORM_H
#define SU_IO_ABC_XFORM_H

#include "io/alembic/abc_archive.h"

typedef struct su_abc_xform {
    int64_t samples; /* of the values; 0: identity */
    int op_count;
    uint8_t *ops;
    bool inherits;
    su_abc_samples values; /* scalar of all channels, or array of single ones; no refs: identity */
    int channels;
} su_abc_xform;

/* The transform of a node of that schema: *out is the caller's. SU_INPUT where its operations and values disagree. */
su_status su_abc_xform_open(const su_abc_tree *tree, const su_abc_node *node, su_abc_xform **out, su_error *err);
void su_abc_xform_free(su_abc_xform *xform); /* NULL is fine */
/* m (4,4) row-major, acting on columns: to the parent at a time (s). Channels are linear between samples. */
su_status su_abc_xform_at(const su_abc_tree *tree, const su_abc_xform *xform, double time, double m[16], su_error *err);

/* out = a b, (4,4) row-major; out may be one of them. */
void su_abc_multiply(const double a[16], const double b[16], double out[16]);
void su_abc_identity(double m[16]);

/* The last of `samples` samples that is not after a time (s), and in *fraction how far the time lies on the way to the
 * next: 0 on a sample, before the first and after the last. */
int64_t su_abc_sample_before(const su_abc_time *sampling, int64_t samples, double time, double *fraction);

#endif
