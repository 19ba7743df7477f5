/* The matrices of the eigenproblem, for other solvers. */
#ifndef SU_MODES_MATRICES_H
#define SU_MODES_MATRICES_H

#include "core/tool.h"
#include "io/stage/fit.h"
#include "io/stage/tet.h"

/* Writes K of the rest shape and materials in row `row` of the fit and the lumped M, both on the free dofs: `indptr`
 * (size + 1), `indices`, `data` of the lower triangle of K in compressed columns; `mass` (size); `free_vertex` (size /
 * 3), the flesh vertex of dofs 3f, 3f + 1, 3f + 2. */
su_status matrices_write(su_tool *tool, const char *path, const su_tet *tet, const su_fit *fit, int64_t row,
                         int material);

#endif
