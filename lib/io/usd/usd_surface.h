/* How a material of a USD layer looks: constants of its UsdPreviewSurface. Internal to lib/io. */
#ifndef SU_IO_USD_SURFACE_H
#define SU_IO_USD_SURFACE_H

#include "io/usd/usd_layer.h"

/* color: linear red green blue and opacity; surface: metallic, roughness. What the shaders right below the Material do
 * not say stays. */
void su_usd_surface(const su_usd_layer *layer, int64_t material, float color[4], float surface[2]);

#endif
