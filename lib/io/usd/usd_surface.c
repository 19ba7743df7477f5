#include "io/usd/usd_surface.h"

void su_usd_surface(const su_usd_layer *layer, int64_t material, float color[4], float surface[2])
{
    const struct {
        const char *name;
        int width;
        float *to;
    } inputs[] = {{"inputs:diffuseColor", 3, color},
                  {"inputs:opacity", 1, color + 3},
                  {"inputs:metallic", 1, surface},
                  {"inputs:roughness", 1, surface + 1}};
    for (int64_t i = material + 1; i < layer->prims && layer->prim[i].parent >= material; i++) {
        if (layer->prim[i].parent != material || !su_usd_is(layer->prim[i].type, "Shader")) continue;
        for (int k = 0; k < 4; k++) {
            double v[3];
            const su_usd_attribute *a = su_usd_find(layer, i, inputs[k].name);
            if (!a || su_usd_numbers(su_usd_first(a), 3, v) != inputs[k].width) continue;
            for (int c = 0; c < inputs[k].width; c++) inputs[k].to[c] = (float)v[c];
        }
    }
}
