/* The two 128-bit hashes of Alembic files: MurmurHash3 x64 (keys of samples) and SpookyHash V2 (objects, properties).
 * Each digest is two words in the order in which files store them. Little-endian hosts. */
#ifndef SU_IO_ABC_HASH_H
#define SU_IO_ABC_HASH_H

#include <stddef.h>
#include <stdint.h>

/* MurmurHash3 x64 128 with seed 0 (Appleby, public description). */
void su_murmur3(const void *bytes, size_t count, uint64_t digest[2]);

/* SpookyHash V2 128 with seeds 0 (Jenkins, public description). */
void su_spooky(const void *bytes, size_t count, uint64_t digest[2]);

/* SpookyHash's short finisher mixes digest d into h: (h0, h1) = first words of E(h0, h1, d0, d1). */
void su_spooky_mix(uint64_t h[2], const uint64_t d[2]);

#endif
