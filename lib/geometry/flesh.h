/* From a skin to its flesh: which mesher, how fine, and what came out. */
#ifndef SU_GEOMETRY_FLESH_H
#define SU_GEOMETRY_FLESH_H

#include "core/progress.h"
#include "geometry/surface.h"
#include "geometry/tetmesh.h"

typedef enum su_mesh_method { SU_MESH_AUTO, SU_MESH_DIRECT, SU_MESH_SDF } su_mesh_method;
#define SU_MESH_METHODS "auto|direct|sdf"

typedef struct su_flesh_settings {
    su_mesh_method method;
    int64_t tets;         /* wanted count, hit within 20 % */
    double edge_length;   /* > 0: wanted edge length, m, instead of a count */
    double grade;         /* sdf: cells of thin parts may be this much finer than of thick ones; 1: all alike */
    int64_t poses;        /* sdf: shapes of the skin that the flesh will have to follow, and shells part in */
    const double *shapes; /* (poses,source_count,3) borrowed */
    double follow; /* where uniform cells cannot follow those shapes, some may be this much finer; 1: all alike */
    double dihedral_bound; /* smallest dihedral angle that passes, degrees */
    double child_seconds;  /* time limit of TetGen */
    int64_t child_memory;  /* bytes */
    const char *tetgen;    /* program, NULL: from PATH */
    const char *folder;    /* for temporary files, NULL: /tmp */
    int threads;
    su_progress *progress;
    void (*say)(void *context, const char *text); /* told about every mesher that failed; NULL: nobody */
    void *context;
} su_flesh_settings;

typedef struct su_flesh {
    su_tets mesh;
    su_mesh_method method; /* the one that made it */
    int32_t *holder;       /* (surface n) tet that encloses each vertex of the surface. Flesh of parts that are near but
                            * apart may overlap in space, so this cannot be found again from positions alone. */
    uint32_t *layers, *skin_layers; /* sdf, where shells part: bits of the layers (geometry/parting.h) that a flesh
                                     * vertex and a vertex of the surface are in; else NULL */
    su_tet_quality quality;
    int attempts;           /* runs of meshers */
    double cell;            /* sdf: edge of the lattice's cubes, m */
    int64_t parting;        /* sdf: shells of the skin that part from others they cross */
    bool followed;          /* sdf: cells are finer where the shapes ask for it */
    int64_t copies, joined; /* sdf: tets doubled to keep parts apart; copies joined where the skin does not */
} su_flesh;

/* Defaults: auto, 15,000 tets, up to 3 times finer where shapes need it, 5 degrees, 120 s, 4 GiB, one thread. */
su_flesh_settings su_flesh_defaults(void);

/* Every vertex of the surface is enclosed in the result, every tet has positive volume. sdf cannot fail on a skin of
 * finite size; direct fails where the skin is not closed, meets itself, or TetGen gives nothing usable. */
su_status su_flesh_build(const su_surface *surface, const su_flesh_settings *settings, su_flesh *out, su_error *err);
void su_flesh_free(su_flesh *flesh);

#endif
