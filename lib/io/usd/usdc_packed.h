/* How crates of USD pack numbers: LZ4 blocks, whole numbers as differences, numbers as whole ones or from a table.
 * Internal to lib/io. */
#ifndef SU_IO_USDC_PACKED_H
#define SU_IO_USDC_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No block of so many bytes unpacks to more. */
int64_t su_usdc_most_unpacked(int64_t bytes);
/* Exactly `size` bytes to out; false: the block is broken or has another size. */
bool su_usdc_unpack(const uint8_t *from, int64_t bytes, uint8_t *out, int64_t size);
/* `count` whole numbers of 4 or, `wide`, 8 bytes: each the sum of the differences up to it. False: broken, or no memory
 * (*memory). */
bool su_usdc_unpack_integers(const uint8_t *from, int64_t bytes, bool wide, int64_t count, int64_t *out, bool *memory);

#endif
