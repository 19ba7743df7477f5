/* Forces from outside as the programs read them: a JSON file, and meshes from any animated file. */
#ifndef SU_PHYSICS_EXTERNAL_FILES_H
#define SU_PHYSICS_EXTERNAL_FILES_H

#include "physics/external.h"

/* The file at path (NULL: none) as in docs/runtime.md, and a mesh collider for each path of colliders, all its settings
 * the defaults. Files that the JSON names are relative to its folder. Meshes are read by
 * io/moving_mesh.h (m, y up). */
su_status su_forces_load(const char *path, int colliders, const char *const *collider_paths, const su_load_skin *skin,
                         su_external *out, su_error *err);

/* Into meta: `forces`, the digest of path (NULL: left out), and `colliders`, digests of what the meshes hold. */
su_status su_forces_describe(const char *path, const su_external *external, json_t *meta, su_error *err);

#endif
