/* What supple mesh says about the connected parts of the flesh and what holds them. */
#ifndef SU_MESH_PARTS_H
#define SU_MESH_PARTS_H

#include "core/tool.h"
#include "geometry/held.h"

/* Prints how much of each part is held (the largest parts; all with -v), and puts all parts into the statistics. Warns,
 * by their places, of parts of which more than half is held, less than half of that for being hard (hard (n): 1, as
 * joints' names or --keep say), and of parts that no bone holds where others have bones. */
su_status report_parts(su_tool *tool, const su_tets *mesh, const su_held *held, const uint8_t *hard);

#endif
