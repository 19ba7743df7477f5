/* USD layers of text. Internal to lib/io. */
#ifndef SU_IO_USDA_READ_H
#define SU_IO_USDA_READ_H

#include "io/usd/usd_layer.h"

/* Prims, attributes and samples of the layer; `at` is in its map. SU_INPUT. */
su_status su_usda_read(su_usd_layer *layer, const char *at, size_t bytes, su_error *err);

#endif
