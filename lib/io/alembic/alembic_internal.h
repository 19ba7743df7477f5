/* What the files that read Alembic caches share: an opened file. alembic_read finds its meshes and their times,
 * alembic_contents reads what is in them. */
#ifndef SU_IO_ALEMBIC_INTERNAL_H
#define SU_IO_ALEMBIC_INTERNAL_H

#include "io/alembic/abc_archive.h"
#include "io/alembic/abc_xform.h"
#include "io/alembic/alembic.h"

/* A geometry parameter: values by point, by corner or one for all, with indices or without. */
typedef struct su_alembic_param {
    su_abc_samples values, indices;
    char scope; /* 'f' a value per corner, 'v' per point, 'c' one; 0: there is none */
    bool indexed;
    int64_t count; /* values */
} su_alembic_param;

typedef struct su_alembic_source {
    su_alembic_mesh mesh;
    su_abc_samples p, face_counts, face_indices;
    su_alembic_param uv, color;
    const su_abc_node **face_sets; /* (mesh.face_sets) */
    char *path;
    int xform_count;
    su_abc_xform **xforms; /* from the mesh up to the root; owned by the file */
} su_alembic_source;

struct su_alembic {
    su_abc_tree tree;
    su_abc_xform **node_xforms; /* (nodes) NULL where a node is no transform */
    int mesh_count, other_count;
    su_alembic_source *meshes;
};

/* Places that a parameter of this scope has values for. */
static inline int64_t su_alembic_places(const su_alembic_mesh *m, char scope)
{
    return scope == 'f' ? m->corners : scope == 'v' ? m->points : 1;
}

#endif
