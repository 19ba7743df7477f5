/* What polygons look like and belong to: one material each, and named sets of any of them. */
#ifndef SU_GEOMETRY_LOOKS_H
#define SU_GEOMETRY_LOOKS_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_looks {
    int64_t materials, sets, set_faces;
    char **material_names; /* (materials) */
    float *color;          /* (materials,4) base colour, linear red green blue and opacity, 0 to 1 */
    float *surface;        /* (materials,2) metallic, roughness, 0 to 1 */
    int32_t *material;     /* (polygons) of each, -1: none; NULL: no polygon has one */
    char **set_names;      /* (sets) */
    int32_t *start;        /* (sets+1) first entry of each set; NULL: no sets */
    int32_t *face;         /* (set_faces) polygons, ascending in each set */
} su_looks;

/* What a material is where nothing is said of it: light grey, no metal, rough. */
#define SU_MATERIAL_GREY 0.8f
#define SU_MATERIAL_ROUGHNESS 0.8f

void su_looks_free(su_looks *looks);

/* Owned copies of everything; polygons: how many `from` is of. */
su_status su_looks_copy(const su_looks *from, int64_t polygons, su_looks *out, su_error *err);

/* The material of a name, entered with the defaults where it is new: *index. */
su_status su_looks_material(su_looks *looks, const char *name, int32_t *index, su_error *err);
/* A set more, of `count` polygons; copied, brought into order, each once. A set of the same name is enlarged. */
su_status su_looks_add_set(su_looks *looks, const char *name, int64_t count, const int32_t *faces, su_error *err);
/* Sets become materials, of polygons without one: those that say so, alone (sets), else those that have no polygon in
 * common with any other. In most caches this is what sets are there for. */
su_status su_looks_materials_of_sets(su_looks *looks, int64_t polygons, const bool *alone, su_error *err);
/* For some polygons of many: new_face (polygons) is the new number of each, ascending, -1 of those that go. Sets and
 * materials that are left without polygons go, too. */
su_status su_looks_keep(su_looks *looks, int64_t polygons, const int32_t *new_face, su_error *err);
/* Materials that no polygon has go. */
su_status su_looks_keep_used(su_looks *looks, int64_t polygons, su_error *err);

#endif
