#include "io/usd/usd_primvar.h"

#include <string.h>

char su_usd_scope(const su_usd_attribute *a)
{
    if (su_usd_is(a->interpolation, "faceVarying")) return 'f';
    if (su_usd_is(a->interpolation, "vertex") || su_usd_is(a->interpolation, "varying")) return 'v';
    return !a->interpolation.size || su_usd_is(a->interpolation, "constant") ? 'c' : 0;
}

const su_usd_attribute *su_usd_find_uv(const su_usd_layer *layer, int64_t prim)
{
    const su_usd_attribute *st = su_usd_find(layer, prim, "primvars:st");
    for (int64_t i = layer->prim[prim].attribute; i >= 0 && !st; i = layer->attribute[i].next) {
        const su_usd_attribute *a = &layer->attribute[i];
        if ((su_usd_is(a->type, "texCoord2f") || su_usd_is(a->name, "primvars:UVMap")) && a->name.size > 9 &&
            memcmp(a->name.at, "primvars:", 9) == 0)
            st = a;
    }
    return st;
}

bool su_usd_has_joints(const su_usd_layer *layer, int64_t prim)
{
    return !su_usd_none(su_usd_first(su_usd_find(layer, prim, SU_USD_JOINT_INDICES)));
}
