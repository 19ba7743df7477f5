/* Which meshes of a USD stage are there to be seen. Internal to lib/io. */
#ifndef SU_IO_USD_VISIBLE_H
#define SU_IO_USD_VISIBLE_H

#include "io/usd/usd_layer.h"

typedef enum su_usd_seen { SU_USD_SHOWN, SU_USD_HIDDEN, SU_USD_HIDDEN_AT_TIMES } su_usd_seen;

/* Whether a stage has meshes that are no guides and stand for nothing but themselves: proxies are then no more than
 * stand-ins for them. */
bool su_usd_has_renders(const su_usd_layer *stage);
/* A prim is hidden where it or one above it is invisible, below an instancer of points, or by what it is for: guides,
 * and proxies where there are what they stand in for (`renders`). */
su_usd_seen su_usd_visibility(const su_usd_layer *stage, int64_t prim, bool renders);

#endif
