/* What the prims of a crate take from elsewhere. Internal to lib/io. */
#ifndef SU_IO_USDC_ARCS_H
#define SU_IO_USDC_ARCS_H

#include "io/usd/usd_layer.h"

/* Enters the arcs that a field of a spec says ("references", ...); other fields are none. SU_INPUT. */
su_status su_crate_arcs(su_usd_layer *layer, int64_t *room, su_usd_text field, su_usd_value value, su_error *err);

#endif
