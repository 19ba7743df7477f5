/* Where the prims of a USD layer stand: their xformOps. Internal to lib/io. */
#ifndef SU_IO_USD_XFORM_H
#define SU_IO_USD_XFORM_H

#include "io/usd/usd_layer.h"

#define SU_USD_SAME_CODE 1e-6 /* of a time code: samples nearer to each other are one */

/* Of a matrix that acts on row vectors, as USD has them, the one that acts on columns. */
void su_usd_matrix(const double rows[16], double m[16]);
/* The time codes at which the own transform of a prim has samples, of each operation with more than one, in no order
 * and more than once: to code (NULL: none is). Returns how many. */
int64_t su_usd_xform_codes(const su_usd_layer *layer, int64_t prim, double *code);
/* m: to the parent at a time code, row-major, acting on columns. *reset: to the world (!resetXformStack!). */
su_status su_usd_local_at(const su_usd_layer *layer, int64_t prim, double code, double m[16], bool *reset,
                          su_error *err);
/* To the world. */
su_status su_usd_world_at(const su_usd_layer *layer, int64_t prim, double code, double m[16], su_error *err);

#endif
