/* Names of prims that both kinds of USD layers give. Internal to lib/io/cache. */
#ifndef SU_IO_USD_NAMES_H
#define SU_IO_USD_NAMES_H

#include "core/error.h"
#include "io/cache/cache_tree.h"

/* A prim name like none of the `count` before it. The caller's, freed by free(); NULL: no memory. */
char *su_usd_prim_name(const char *wanted, int64_t count, char *const *taken);
/* Names of `count` prims beside each other, of those wanted: *names is the caller's, freed by su_usd_names_free. */
su_status su_usd_names_create(int64_t count, char *const *wanted, char ***names, su_error *err);
void su_usd_names_free(int64_t count, char **names);
/* Attributes of a mesh that UsdSkel moves it by; without values it does not. */
enum { SU_USD_SKINNED = 3 };
extern const struct su_usd_skinned {
    const char *name, *type;
    bool uniform;
} su_usd_skinned[SU_USD_SKINNED];
/* The one prim at the top of a tree, below which all stands; -1: there are several, or a mesh stands there. */
int64_t su_usd_single_top(const su_cache_tree *tree);

#endif
