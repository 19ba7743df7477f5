/* Vertex caches out to other programs: one interface, one format behind it by the name's extension. Frames stream, with
 * memory for the topology and a few frames; a cache appears under its final name only when whole. */
#ifndef SU_IO_CACHE_H
#define SU_IO_CACHE_H

#include "core/error.h"
#include "io/cache/cache_layout.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum su_cache_format {
    SU_CACHE_AUTO, /* by extension */
    SU_CACHE_ABC,  /* Alembic: a PolyMesh an object */
    SU_CACHE_USD,  /* .usda: a Mesh an object */
    SU_CACHE_PC2,
    SU_CACHE_MDD,
    SU_CACHE_OBJ, /* numbered files: run.%04d.obj */
    SU_CACHE_NPY, /* (frames,vertices,3) f32 */
    SU_CACHE_GLB, /* binary glTF: principal shapes as morph targets; positions in the root frame, m, y up */
    SU_CACHE_VAT, /* vertex-animation textures beside a .json that describes them */
    SU_CACHE_USDC,      /* the same as .usda in binary */
    SU_CACHE_USD_EITHER /* .usd, which may hold both: as .usdc */
} su_cache_format;
#define SU_CACHE_FORMATS "auto|abc|usda|pc2|mdd|obj|npy|glb|vat|usdc|usd"

static inline bool su_cache_is_usd(su_cache_format format)
{
    return format == SU_CACHE_USD || format == SU_CACHE_USDC || format == SU_CACHE_USD_EITHER;
}

typedef struct su_cache_writer su_cache_writer;

/* What a format that approximates leaves, in units of the positions. */
typedef struct su_cache_report {
    bool approximated;           /* false: the format is exact, and the rest is 0 */
    int64_t targets;             /* morph targets */
    double rms, largest, motion; /* of what is left; RMS of the motion that the targets carry */
    double bound;                /* that rms was to keep; 0: none */
    int64_t joints;              /* of the skin that was kept; 0: none */
    int64_t reduced;             /* skin vertices with more joints than were kept */
    double cut;                  /* the largest share of their weight that fell away */
} su_cache_report;

/* The format a path stands for; SU_CACHE_AUTO where its extension is not known. */
su_cache_format su_cache_format_of(const char *path, su_cache_format wanted);

/* SU_USAGE where the extension is not known, the format has no samples around frames or the pattern of an OBJ sequence
 * is missing; else as the formats fail. */
su_status su_cache_create(const char *path, su_cache_format format, const su_cache_layout *layout,
                          su_cache_writer **out, su_error *err);
/* Next frame: points (vertices,3), velocities (vertices,3; units/s), normals (vertices,3). */
su_status su_cache_frame(su_cache_writer *writer, const float *points, const float *velocities, const float *normals,
                         su_error *err);
/* For formats that approximate: the motion, RMS over frames and vertices in units of the positions, that the error is
 * held against (default: the motion of what is approximated). To be called before the commit. */
void su_cache_motion(su_cache_writer *writer, double rms);
/* Frees the writer in every case. SU_FAILED where frames are missing. report may be NULL. */
su_status su_cache_commit(su_cache_writer *writer, su_cache_report *report, su_error *err);
/* Drops everything written. NULL is fine. */
void su_cache_abandon(su_cache_writer *writer);

#endif
