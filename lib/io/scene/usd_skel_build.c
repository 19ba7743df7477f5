/* What the scene of a USD stage and its clips are made with. */
#include "io/scene/usd_skel_internal.h"

#include <string.h>

const char *su_usd_skel_text(su_usd_skel *b, su_usd_text text)
{
    char *out = su_arena_alloc(b->arena, text.size + 1, 1);
    if (out) memcpy(out, text.at, (size_t)text.size);
    return out ? out : "";
}

su_status su_usd_skel_refuse(su_usd_skel *b, int64_t prim, const char *what)
{
    su_usd_text name = b->layer.prim[prim].name;
    return su_fail(&b->err, SU_INPUT, "%.*s: %s", (int)name.size, name.at, what);
}

su_status su_usd_skel_no_memory(su_usd_skel *b) { return su_fail(&b->err, SU_AGAIN, "not enough memory"); }

bool su_usd_skel_stands(const su_usd_prim *prim, const char *type)
{
    return prim->defined && !prim->inactive && su_usd_is(prim->type, type);
}

su_usd_text *su_usd_skel_tokens(su_usd_skel *b, const su_usd_attribute *a, int64_t *count)
{
    su_usd_value list = su_usd_first(a), again = list;
    su_usd_text token;
    *count = 0;
    while (su_usd_next_token(&list, &token)) (*count)++;
    su_usd_text *out = su_arena_alloc(b->arena, *count, sizeof *out);
    for (int64_t k = 0; out && k < *count && su_usd_next_token(&again, &token); k++) out[k] = token;
    return out;
}

int64_t su_usd_skel_inherited(const su_usd_layer *layer, int64_t prim, const char *name)
{
    su_usd_text path;
    int64_t target;
    for (int64_t at = prim; at >= 0; at = layer->prim[at].parent)
        if (su_usd_target(layer, su_usd_find(layer, at, name), 0, &path, &target)) return target;
    return -1;
}

const su_usd_skeleton *su_usd_skel_of(const su_usd_skel *b, int64_t prim)
{
    int64_t bound = su_usd_skel_inherited(&b->layer, prim, "skel:skeleton");
    for (int64_t k = 0; k < b->skeletons; k++)
        if (b->skeleton[k].prim == bound) return &b->skeleton[k];
    return b->skeletons == 1 ? &b->skeleton[0] : NULL;
}
