/* Files of USD: a layer as text (.usda), as a crate (.usdc), or the first of a package (.usdz), which their first bytes
 * tell. */
#ifndef SU_IO_USD_FILE_H
#define SU_IO_USD_FILE_H

#include "io/usd/usd_layer.h"

/* SU_INPUT says what is wrong and, in text, in which line. The layer stays where it is until it is closed. */
su_status su_usd_open(const char *path, su_usd_layer *layer, su_error *err);
void su_usd_close(su_usd_layer *layer);

#endif
