/* Self-contact of the flesh at an example pose, as linear constraints on its motion (PSSD section 6). */
#ifndef SU_REDUCE_CONTACT_H
#define SU_REDUCE_CONTACT_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum su_contact_kind {
    SU_CONTACT_PAIRS,   /* n . (u_v - sum w u_corner) = 0: vertex against triangle, no relative normal motion */
    SU_CONTACT_SLIDING, /* n . u_v = 0: anchored, free to slide (the paper's N_i' S_i u = 0) */
    SU_CONTACT_FIXED,   /* u_v = 0: anchored, three rows (the paper's S_i u = 0) */
    SU_CONTACT_TIED /* u_v - sum w u_corner = 0: vertex and triangle move as one, three rows; of two sides one is tied
                     */
} su_contact_kind;

typedef struct su_contact_settings {
    su_contact_kind kind;
    double tolerance; /* m: surfaces nearer than this touch */
    double depth;     /* m: and so do vertices up to this far inside the other side */
    double apart;     /* m: along the neutral surface the two sides are at least this far from each other */
} su_contact_settings;

/* Flesh at a pose. Borrowed. */
typedef struct su_contact_flesh {
    int64_t n;
    const double *neutral, *x; /* (n,3) */
    int64_t b;
    const int32_t *surface; /* (b,3) */
    const uint8_t *held;    /* (n) 1 where a vertex cannot move */
} su_contact_flesh;

/* Rows C u = 0 of Euclidean norm 1 (docs/formats.md, convention 10). Zero-initialize; owned arrays. */
typedef struct su_contact_rows {
    int64_t rows, entries;
    int32_t *offsets;     /* (rows + 1) */
    int32_t *vertices;    /* (entries) */
    double *coefficients; /* (entries,3) */
    int64_t contacts;     /* vertices in contact */
    int64_t penetrating;  /* of those, inside the other side */
} su_contact_rows;

void su_contact_free(su_contact_rows *contact);

/* Vertices of the surface that touch or penetrate a triangle whose normal opposes theirs (by more than 120 degrees) and
 * that is far apart along the neutral surface. Rows without a free vertex are left out. Rows stand in the order of
 * vertices; redundant ones may be among them. */
su_status su_contact_detect(const su_contact_flesh *flesh, const su_contact_settings *settings, int threads,
                            su_contact_rows *out, su_error *err);

/* Room for so many more rows and entries. */
su_status su_contact_reserve(su_contact_rows *contact, int64_t rows, int64_t entries, su_error *err);
/* Appends one row over `count` vertices, coefficients (count,3), scaled to norm 1; held vertices are left out, and with
 * none left the row. The room must be there. */
void su_contact_append(su_contact_rows *contact, int count, const int32_t *vertices, const double *coefficients,
                       const uint8_t *held);

/* Appends rows by which the sum of the vertices' (count) displacements times weights vanishes along a normal, or, where
 * that is NULL, along each axis. */
void su_contact_bind(su_contact_rows *contact, int count, const int32_t *vertices, const double *weights,
                     const double *normal, const uint8_t *held);

/* Whether a contact acts along its normal alone, and whether it takes the other side along. */
static inline bool su_contact_slides(su_contact_kind kind)
{
    return kind == SU_CONTACT_PAIRS || kind == SU_CONTACT_SLIDING;
}
static inline bool su_contact_pairs(su_contact_kind kind)
{
    return kind == SU_CONTACT_PAIRS || kind == SU_CONTACT_TIED;
}

/* Cosine: surfaces that face each other within 60 degrees. */
#define SU_CONTACT_OPPOSING (-0.5)
/* Unit normals of the surface's vertices (n,3), by area, and of its triangles (b,3; may be NULL), 0 for those without;
 * both hold zeros before. */
void su_contact_normals(int64_t n, const double *x, int64_t b, const int32_t *surface, double *of_triangles,
                        double *of_vertices);
/* Mean edge length of the surface, a scale for the settings. */
double su_contact_edge_length(const double *x, int64_t b, const int32_t *surface);

#endif
