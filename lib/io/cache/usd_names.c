#include "io/cache/usd_names.h"

#include "io/usd/usd_primvar.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct su_usd_skinned su_usd_skinned[SU_USD_SKINNED] = {{SU_USD_JOINT_INDICES, "int[]", false},
                                                              {"primvars:skel:jointWeights", "float[]", false},
                                                              {"skel:blendShapes", "token[]", true}};

char *su_usd_prim_name(const char *wanted, int64_t count, char *const *taken)
{
    size_t room = strlen(wanted) + 24;
    char *name = malloc(room);
    if (!name) return NULL;
    snprintf(name, room, "%s%s", isdigit((unsigned char)*wanted) || !*wanted ? "_" : "", wanted);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) || (unsigned char)*p > 126) *p = '_';
    size_t length = strlen(name);
    int number = 1;
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(taken[i], name) != 0) continue;
        snprintf(name + length, room - length, "_%d", number++);
        i = -1; /* the new one may be taken as well */
    }
    return name;
}

su_status su_usd_names_create(int64_t count, char *const *wanted, char ***names, su_error *err)
{
    SU_TRY(SU_ALLOC(names, count, "names", err));
    for (int64_t i = 0; i < count; i++)
        if (!((*names)[i] = su_usd_prim_name(wanted[i], i, *names))) {
            su_usd_names_free(i, *names);
            *names = NULL;
            return su_fail(err, SU_AGAIN, "out of memory for names");
        }
    return SU_OK;
}

void su_usd_names_free(int64_t count, char **names)
{
    for (int64_t i = 0; i < count && names; i++) free(names[i]);
    free(names);
}

int64_t su_usd_single_top(const su_cache_tree *tree)
{
    int64_t tops = 0;
    for (int64_t i = 0; i < tree->count; i++) tops += tree->node[i].parent < 0;
    return tops == 1 && tree->node[0].part < 0 ? 0 : -1;
}
