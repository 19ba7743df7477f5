/* Materials of each pose: painted on the skin, or given for each tet (PSSD section 8). */
#ifndef SU_TETFIT_MATERIALS_H
#define SU_TETFIT_MATERIALS_H

#include "core/file.h"
#include "core/tool.h"
#include "io/stage/poses.h"
#include "io/table.h"
#include "io/stage/tet.h"

typedef enum paint_kind { PAINT_RELATIVE, PAINT_ABSOLUTE } paint_kind;

typedef struct material_files {
    const char *young, *poisson, *density; /* per-tet tables or NULL; they replace what is painted on the skin */
} material_files;

/* Zero-initialize; owned. A table or a painted field may be missing, then the material is uniform. */
typedef struct materials {
    su_table young, poisson, density; /* rows: 1 or m poses, columns: t tets; rows = 0: not given */
    double *painted_young;            /* (k + 1,t) of the neutral pose, then of poses; NULL: not painted */
    double *painted_poisson;
} materials;

void materials_free(materials *m);
/* Reads the tables and spreads the paint of the neutral pose and of pose[k]. */
su_status materials_load(su_tool *tool, const material_files *files, const su_tet *tet, const su_poses *poses,
                         int64_t k, const int32_t *pose, materials *out);
/* Values (t) of Young's modulus or a factor on it, of Poisson's ratio, of pose[row]; row -1: the neutral pose. NULL:
 * uniform. */
const double *materials_young(const materials *m, int64_t row, int32_t pose, int64_t t);
const double *materials_poisson(const materials *m, int64_t row, int32_t pose, int64_t t);
/* What they were made of, for pose digests. */
void materials_digest(const materials *m, const su_poses *poses, int32_t pose, int64_t t, su_digest *digest);

#endif
