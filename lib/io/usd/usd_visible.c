#include "io/usd/usd_visible.h"

/* What a prim is for, as it or the nearest above it that says so has it. */
static su_usd_text purpose(const su_usd_layer *stage, int64_t prim)
{
    su_usd_text said = {0};
    for (; prim >= 0 && !said.size; prim = stage->prim[prim].parent)
        said = su_usd_token(su_usd_first(su_usd_find(stage, prim, "purpose")));
    return said;
}

bool su_usd_has_renders(const su_usd_layer *stage)
{
    for (int64_t i = 0; i < stage->prims; i++) {
        const su_usd_prim *prim = &stage->prim[i];
        if (!prim->defined || prim->inactive || !su_usd_is(prim->type, "Mesh")) continue;
        su_usd_text is_for = purpose(stage, i);
        if (!su_usd_is(is_for, "proxy") && !su_usd_is(is_for, "guide")) return true;
    }
    return false;
}

su_usd_seen su_usd_visibility(const su_usd_layer *stage, int64_t prim, bool renders)
{
    su_usd_seen seen = SU_USD_SHOWN;
    su_usd_text is_for = purpose(stage, prim);
    if (su_usd_is(is_for, "guide") || (renders && su_usd_is(is_for, "proxy"))) return SU_USD_HIDDEN;
    for (int64_t at = prim; at >= 0; at = stage->prim[at].parent) {
        const su_usd_attribute *a = su_usd_find(stage, at, "visibility");
        int64_t hidden = 0;
        if (su_usd_is(stage->prim[at].type, "PointInstancer")) return SU_USD_HIDDEN; /* what is put elsewhere */
        if (!a) continue;
        for (int64_t k = 0; k < a->samples; k++) hidden += su_usd_is(su_usd_token(a->sample[k].value), "invisible");
        if (a->samples ? hidden == a->samples : su_usd_is(su_usd_token(a->value), "invisible")) return SU_USD_HIDDEN;
        if (hidden) seen = SU_USD_HIDDEN_AT_TIMES;
    }
    return seen;
}
