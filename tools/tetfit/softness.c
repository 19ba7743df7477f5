#include "softness.h"

#include "core/memory.h"
#include "fem/body_stiffness.h"
#include "rig/joint_names.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One JOINT=FACTOR of --stiff or --soft. */
static su_status change_joint(su_tool *tool, const su_poses *poses, const char *option, const char *word, bool divide,
                              double *stiffness)
{
    su_error *err = &tool->err;
    const char *equals = strrchr(word, '=');
    char *end = NULL, *pattern;
    double factor = equals ? strtod(equals + 1, &end) : 0;
    int64_t matched = 0;
    if (!equals || equals == word || end == equals + 1 || *end || !(factor >= 1e-3 && factor <= 1e3))
        return su_fail(err, SU_USAGE, "%s %s: is not JOINT=FACTOR with a factor between 0.001 and 1000", option, word);
    if (!poses->weights)
        return su_fail(err, SU_USAGE, "%s: %s has no joints that the skin follows", option, tool->inputs.items[1]);
    if (!(pattern = strndup(word, (size_t)(equals - word)))) return su_fail(err, SU_AGAIN, "out of memory");
    for (int64_t b = 0; b < poses->B; b++) {
        const char *name = su_file_name(&poses->file, "bone_names", b);
        if (!name || fnmatch(pattern, name, 0) != 0) continue;
        stiffness[b] *= divide ? 1 / factor : factor, matched++;
    }
    free(pattern);
    return matched ? SU_OK : su_fail(err, SU_INPUT, "%s %s: no joint is called so", option, word);
}

su_status softness_factors(su_tool *tool, const softness_options *options, bool body, const su_tet *tet,
                           const su_poses *poses, double *factor)
{
    su_error *err = &tool->err;
    double *stiffness = NULL, *carried = NULL;
    const char **names = NULL;
    su_surface surface = {0};
    su_status status;
    SU_GO(SU_ALLOC(&stiffness, poses->B, "joints", err));
    SU_GO(SU_ALLOC(&carried, poses->B, "joints", err));
    SU_GO(SU_ALLOC(&names, poses->B, "joints", err));
    for (int64_t b = 0; b < poses->B; b++) stiffness[b] = 1, names[b] = su_file_name(&poses->file, "bone_names", b);
    if (body && poses->weights) su_joints_carry(poses->nbar, poses->B, poses->weights, carried);
    if (body) su_joint_stiffness(poses->B, names, poses->bone_parent, poses->weights ? carried : NULL, stiffness);
    for (int k = 0; k < options->stiff.count; k++)
        SU_GO(change_joint(tool, poses, "--stiff", options->stiff.items[k], false, stiffness));
    for (int k = 0; k < options->soft.count; k++)
        SU_GO(change_joint(tool, poses, "--soft", options->soft.items[k], true, stiffness));
    su_mirror mirror;
    SU_GO(su_surface_create(poses->nbar, poses->neutral, poses->T, poses->triangles, poses->rigid, &surface, err));
    SU_GO(su_mirror_find(&surface, &mirror, err));
    su_tets mesh = {.n = tet->n, .t = tet->t, .x = tet->vertices, .tets = tet->tets};
    su_body_skin skin = {.nbar = tet->nbar,
                         .bones = poses->B,
                         .embed_tet = tet->embed_tet,
                         .rigid = poses->rigid,
                         .weights = poses->weights,
                         .stiffness = stiffness,
                         .mirror = &mirror};
    status = su_body_stiffness(&mesh, body, &skin, tool->threads, factor, err);
done:
    su_surface_free(&surface);
    free(stiffness), free(carried), free(names);
    return status;
}
