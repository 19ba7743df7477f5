/* Files of USD: a layer as text (.usda), as a crate (.usdc), or in a package of these (.usdz), which their first bytes
 * tell. */
#ifndef SU_IO_USD_FILE_H
#define SU_IO_USD_FILE_H

#include "io/usd/usd_layer.h"

/* One layer by itself. entry: of a package the file of that name, NULL the first. SU_INPUT says what is wrong and, in
 * text, in which line. The layer stays where it is until it is closed. */
su_status su_usd_open_layer(const char *path, const char *entry, su_usd_layer *layer, su_error *err);
/* Closes the layers that it was made from, too. */
void su_usd_close(su_usd_layer *layer);

#endif
