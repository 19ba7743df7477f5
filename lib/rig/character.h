/* One character out of a scene: all its meshes in one skin, in its neutral pose, in metres and y up. */
#ifndef SU_RIG_CHARACTER_H
#define SU_RIG_CHARACTER_H

#include "core/memory.h"
#include "geometry/looks.h"
#include "io/scene/scene.h"
#include "rig/skinning.h"

#include <stdint.h>

typedef struct su_character_options {
    double unit;                /* m; 0: choose (see su_choose_unit) */
    double scale;               /* enlarges everything after the unit; 0: 1 */
    int up;                     /* 0 x, 1 y, 2 z; -1: as the file says, else y */
    const char *const *objects; /* only these, by name; NULL: all that belong to the character */
    int object_count;
    const char *const *rigid; /* objects that only follow the rig, by name */
    int rigid_count;
} su_character_options;

/* A mesh under a node. */
typedef struct su_character_part {
    int32_t node, mesh, object;
    int32_t carrier; /* the joint that it hangs on without skin; -1: none */
    int64_t first;   /* its first source vertex */
    int rigid;       /* no flesh: it hangs on a joint as a whole, or the caller said so */
    double bind[16]; /* mesh space to the neutral pose, m */
} su_character_part;

typedef struct su_morph_source {
    const char *name;
    int32_t part, shape; /* one part that has it: where its weight is read */
} su_morph_source;

/* Owns all arrays but borrows the scene. Symbols as in io/anim.h. "Joint" is a node that carries weight. */
typedef struct su_character {
    su_arena arena;
    const su_scene *scene;
    double unit;              /* m per unit of the file */
    int up, unit_guessed;     /* the file's own unit would give an unlikely size */
    double convert[16];       /* scene to world in metres, y up: a similarity */
    double size[3], diagonal; /* of the neutral skin, m */

    int64_t parts, N, P, corners, uvs, objects, nbar, T, K, B;
    su_character_part *part;
    int32_t *face_counts, *face_indices, *object_ids, *source_vertex, *uv_indices;
    const char **object_names;
    double *object_xform; /* (objects,16) in the node pose */
    float *uv, *color;    /* NULL: none */
    su_looks looks;       /* owned; materials that no polygon has are left out */
    char **object_paths;  /* (objects) names of the nodes from the root down to the mesh, with / between */
    double *neutral;      /* (nbar,3) m */
    int32_t *triangles;
    uint8_t *rigid;         /* (nbar); NULL: none */
    su_morph_source *morph; /* (K) names are unique */
    double *morphs;         /* (K,nbar,3) m */

    const char **bone_names; /* (B) */
    int32_t *bone_node, *bone_parent;
    double *bone_rest;     /* (B,16) rigid */
    double *bone_adjust;   /* (B,16) takes the scale out: bone = convert . node . adjust */
    double *bone_segments; /* (B,2,3); NULL: no skeleton, blend shapes move all of the skin */
    uint8_t *bone_deforms; /* (B) carries flesh, not only rigid parts */
    su_skin skin;          /* over nbar, into bones */

    int64_t linked;       /* joints that carry nothing */
    int32_t *linked_node; /* (linked) */
    double *linked_rest;  /* (linked,16) in the neutral pose */

    int32_t root_node; /* lowest common ancestor of the joints */
    double root_rest[16], root_adjust[16];

    /* what was found on the way */
    int64_t normalized, negative, unweighted; /* source vertices whose weights were changed */
    int64_t degenerate;                       /* triangles left out */
    int64_t left_out;                         /* objects that do not move with the skeleton */
    const char **left_out_names;              /* (left_out) */
    int64_t carried;                          /* objects without skin that are carried by a joint: rigid */
    const char **carried_names;               /* (carried) */
    int64_t hung;            /* objects without skin that are the body, on joints that no skin follows: flesh */
    int64_t props;           /* objects skinned to one joint that are carried by it, too: rigid */
    const char **prop_names; /* (props) */
} su_character;

/* The rule of --unit auto: the file's own unit (metres where it says none), unless the largest extent (in file units)
 * would then lie outside 0.1 to 50 m; then the first of m, cm, mm that brings it inside; else the file's own. */
double su_choose_unit(double file_unit, double extent, int *guessed);

/* SU_INPUT where nothing is left, or objects are named that do not exist. The scene must outlive the character. */
su_status su_character_create(const su_scene *scene, const su_character_options *options, su_character *out,
                              su_error *err);
void su_character_free(su_character *character);

#endif
