/* The codecs of EXT_meshopt_compression and KHR_meshopt_compression, after the extensions' public specifications
 * (Appendix A, bitstream, both versions of attributes; Appendix B, filters but the octahedral one, which is for normals
 * and tangents: we read neither). Internal to lib/io. */
#ifndef SU_IO_MESHOPT_H
#define SU_IO_MESHOPT_H

#include <stddef.h>
#include <stdint.h>

typedef enum su_meshopt_mode { SU_MESHOPT_ATTRIBUTES, SU_MESHOPT_TRIANGLES, SU_MESHOPT_INDICES } su_meshopt_mode;

typedef enum su_meshopt_filter {
    SU_MESHOPT_NONE,
    SU_MESHOPT_QUATERNION,
    SU_MESHOPT_EXPONENTIAL,
    SU_MESHOPT_COLOR
} su_meshopt_filter;

/* Decodes `count` elements of `stride` bytes into out (count,stride). 0 for success; 1 where stride, filter and mode do
 * not go together or the bytes are not such a stream: nothing outside `data` is read. */
int su_meshopt_decode(su_meshopt_mode mode, su_meshopt_filter filter, const uint8_t *data, size_t size, int64_t count,
                      int64_t stride, uint8_t *out);

#endif
