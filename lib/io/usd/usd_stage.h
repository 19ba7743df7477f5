/* What a USD file shows: its layer together with those that it takes from (sublayers, references, payloads, inherited
 * and specialized prims, the variants that are chosen), as one layer without any of that. Text, crates and packages
 * take from one another. */
#ifndef SU_IO_USD_STAGE_H
#define SU_IO_USD_STAGE_H

#include "io/usd/usd_layer.h"

/* Stronger opinions hide weaker ones in the order local, inherits, variants, references, payloads, specializes. Unit,
 * axis and rate are the file's own; time codes of others are put on its clock. A file that cannot be read is left out,
 * as OpenUSD does, and named in layer->missing. SU_INPUT: the file itself cannot be read, or prims lead back to
 * themselves without end. The layer stays where it is until su_usd_close. */
su_status su_usd_open(const char *path, su_usd_layer *layer, su_error *err);

#endif
