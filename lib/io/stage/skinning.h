/* supple.skinning (docs/formats.md). Skinning eigenmodes of the flesh, and the rig's own motions that they leave out.
 */
#ifndef SU_IO_SKINNING_H
#define SU_IO_SKINNING_H

#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_skinning {
    su_file file;
    int64_t n;           /* flesh vertices */
    int64_t k;           /* skinning modes */
    int64_t rows;        /* scalar rig motions R */
    int64_t shapes;      /* shapes of the rig K */
    double *weights;     /* (n,k) W, kg^-1/2 */
    double *eigenvalues; /* (k) rad^2/s^2, ascending */
    double *leak;        /* (n) D: how far a vertex is held to the rig, 0..1 */
    double *rig_rows; /* (rows,n) optional: independent rows s of D M J that hold for each component of u, of norm 1 */
    double *rig_shapes; /* (shapes,n,3) optional: rows of D M J that couple the components, of norm 1 */
} su_skinning;

extern const su_schema su_skinning_schema;

/* As su_schema_load, _save and _free. */
su_status su_skinning_load(const char *path, su_skinning *skinning, su_error *err);
su_status su_skinning_save(const char *path, const su_skinning *skinning, su_error *err);
void su_skinning_free(su_skinning *skinning);

#endif
